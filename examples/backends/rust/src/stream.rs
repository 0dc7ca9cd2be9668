//! One stream: commands in order, events, poison. PROTOCOL.md, section 4.

use std::collections::HashSet;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::{mpsc, Notify};

use crate::codec::{Names, Node, Reader, Writer, CHUNK_SIZE, MAX_EVENTS, MAX_FRAME, MAX_INLINE};
use crate::device::{Device, Devices, Slot, Streams};
use crate::fault::{broken, fault, Fault, Res, CANCELED, KERNEL, SHAPE};
use crate::kernels;
use crate::tensor::{room, Desc, Tensor};

const OPEN: u8 = 1;
const CANCEL: u8 = 9;

/// What the receiver of a stream's frames and the worker share.
#[derive(Default)]
pub struct Overtaking {
    canceled: Mutex<HashSet<u64>>,
    pub gone: AtomicBool, // the call was given up
    pub over: Notify,     // the device was closed
}

impl Overtaking {
    /// Takes a CANCEL, and reports whether the frame was one.
    pub fn take(&self, frame: &[u8]) -> bool {
        let mut r = Reader::new(frame, 0);
        match (r.byte(), r.uint()) {
            (Ok(CANCEL), Ok(request)) if !r.more() => {
                self.canceled.lock().unwrap().insert(request);
                true
            }
            _ => false,
        }
    }
}

struct Upload {
    request: u64,
    desc: Desc,
    data: Vec<u8>,
}

/// The worker of a stream.
pub struct Worker {
    pub devices: Arc<Devices>,
    pub streams: Arc<Streams>,
    pub overtaking: Arc<Overtaking>,
    pub replies: mpsc::Sender<Result<Bytes, tonic::Status>>,
}

impl Worker {
    /// Executes frames until they end.
    pub fn run(self, mut frames: mpsc::Receiver<Bytes>) {
        let result = (|| {
            let Some(first) = frames.blocking_recv() else { return Ok(()) };
            let (device, number) = self.open(&first)?;
            let signaled = self.streams.add(number)?;
            device.enter(&self.overtaking);
            self.send(vec![0x81]);
            let mut s = Stream { w: &self, device, number, signaled, names: Names::default(), settled: 0, failures: Vec::new(), upload: None };
            let mut result = Ok(());
            while let Some(frame) = frames.blocking_recv() {
                if !s.going() {
                    break;
                }
                result = s.frame(&frame);
                if result.is_err() {
                    break;
                }
            }
            self.streams.remove(number);
            result
        })();
        if let Err(e) = result {
            let mut w = vec![0x84];
            w.extend(Fault::encode(&e));
            self.send(w);
        }
    }

    fn open(&self, frame: &[u8]) -> Res<(Arc<Device>, u64)> {
        let mut r = Reader::new(frame, 0);
        if !r.more() || r.byte()? != OPEN {
            return broken("the first frame is not OPEN");
        }
        let (handle, number) = (r.uint()?, r.uint()?);
        if r.more() {
            return broken("OPEN does not stand alone");
        }
        Ok((self.devices.find(handle)?, number))
    }

    fn send(&self, reply: Vec<u8>) {
        let _ = self.replies.blocking_send(Ok(Bytes::from(reply))); // an error says that the call was given up
    }
}

struct Stream<'a> {
    w: &'a Worker,
    device: Arc<Device>,
    number: u64,
    signaled: Arc<AtomicU64>,
    names: Names,
    settled: u64,
    failures: Vec<(u64, Vec<u8>)>, // each with the event that it is behind
    upload: Option<Upload>,
}

impl Stream<'_> {
    fn going(&self) -> bool {
        !self.device.closed.load(Ordering::SeqCst) && !self.w.overtaking.gone.load(Ordering::SeqCst) && !self.w.replies.is_closed()
    }

    fn frame(&mut self, frame: &[u8]) -> Res<()> {
        if frame.is_empty() || frame.len() > MAX_FRAME {
            return broken(format!("a frame of {} bytes", frame.len()));
        }
        let mut r = Reader::new(frame, self.device.generation);
        while r.more() {
            let tag = r.byte()?;
            if self.upload.is_some() && tag != 6 && tag != 13 {
                return broken(format!("command {tag} amid the chunks of a write"));
            }
            match tag {
                2 => {
                    let n = r.node(&mut self.names)?;
                    self.node(&n);
                }
                3 => {
                    for id in r.ids()? {
                        if let Err(e) = self.device.release(id) {
                            self.note(e.encode());
                        }
                    }
                }
                4 => self.write(&mut r)?,
                5 => {
                    let (request, desc) = (r.uint()?, r.desc()?);
                    if r.more() || desc.bytes() == 0 {
                        return broken("BEGIN_WRITE is not the last command of its frame, or of an empty tensor");
                    }
                    self.upload = Some(Upload { request, desc, data: Vec::new() });
                }
                6 => self.chunk(&mut r)?,
                7 => {
                    let (request, id, size) = (r.uint()?, r.id()?, r.uint()?);
                    self.read(request, id, size);
                }
                8 => {
                    if self.signaled() - self.settled >= MAX_EVENTS {
                        return broken("too many events that are not settled");
                    }
                    self.w.streams.signal(&self.signaled);
                }
                12 => {
                    let (stream, event) = (r.uint()?, r.uint()?);
                    if stream != self.number {
                        self.w.streams.wait(stream, event, || self.going());
                    }
                }
                13 => {
                    let (request, event) = (r.uint()?, r.uint()?);
                    self.wait_for(request, event)?;
                }
                _ => return broken(format!("command {tag}")),
            }
        }
        Ok(())
    }

    fn signaled(&self) -> u64 {
        self.signaled.load(Ordering::SeqCst)
    }

    /// Keeps a failure for the next event.
    fn note(&mut self, e: Vec<u8>) {
        if self.failures.len() < 16 {
            self.failures.push((self.signaled(), e));
        }
    }

    fn done(&self, request: u64, error: Option<Vec<u8>>) {
        let mut w = Writer::new();
        w.byte(0x83).uint(request);
        w.bytes.extend(error.unwrap_or_default());
        self.w.send(w.bytes);
    }

    fn canceled(&self, request: u64) -> bool {
        self.w.overtaking.canceled.lock().unwrap().remove(&request)
    }

    fn wait_for(&mut self, request: u64, event: u64) -> Res<()> {
        if event == 0 || event > self.signaled() {
            return broken(format!("event {event} of {}", self.signaled()));
        }
        if self.canceled(request) {
            self.done(request, Some(Fault { code: CANCELED, text: "the await was canceled".into() }.encode()));
            return Ok(());
        }
        let first = self.failures.iter().position(|f| f.0 < event).map(|i| self.failures[i].1.clone());
        self.failures.retain(|f| f.0 >= event);
        self.settled = self.settled.max(event);
        self.done(request, first);
        Ok(())
    }

    // Data.

    fn write(&mut self, r: &mut Reader) -> Res<()> {
        let d = r.desc()?;
        if d.bytes() > MAX_INLINE {
            return broken(format!("WRITE of {} bytes", d.bytes()));
        }
        let data = r.take(d.bytes())?;
        if let Some(e) = self.make(&d, Tensor::read(&d, data)) {
            self.note(e);
        }
        Ok(())
    }

    /// Makes a tensor that was written, or poisons it, and returns the error.
    fn make(&mut self, d: &Desc, t: Res<Tensor>) -> Option<Vec<u8>> {
        let (slot, error) = match t {
            Ok(t) => (Slot::Value(Arc::new(t)), None),
            Err(e) => {
                let e = e.of_node("write", std::slice::from_ref(d));
                (Slot::Poison(Arc::new(e.clone())), Some(e))
            }
        };
        match self.device.define(d.id, slot) {
            Ok(()) => error,
            Err(e) => Some(e.of_node("write", std::slice::from_ref(d))),
        }
    }

    fn chunk(&mut self, r: &mut Reader) -> Res<()> {
        let (request, data) = (r.uint()?, r.rest());
        let Some(mut u) = self.upload.take().filter(|u| u.request == request) else { return broken("CHUNK of no write") };
        let size = u.desc.bytes();
        if data.len() > CHUNK_SIZE || u.data.len() + data.len() > size {
            return broken(format!("CHUNK of {} bytes, {} of {size} are there", data.len(), u.data.len()));
        }
        let tensor = if data.is_empty() {
            fault(CANCELED, "the host gave the write up")
        } else {
            u.data.extend(data);
            if u.data.len() < size {
                self.upload = Some(u);
                return Ok(());
            }
            Tensor::read(&u.desc, &u.data)
        };
        let e = self.make(&u.desc, tensor);
        self.done(request, e);
        Ok(())
    }

    fn read(&mut self, request: u64, id: u64, size: u64) {
        let error = match self.device.get(id) {
            _ if self.canceled(request) => Fault { code: CANCELED, text: "the read was canceled".into() }.encode(),
            Err(e) => e.encode(),
            Ok(Slot::Poison(e)) => e.to_vec(),
            Ok(Slot::Value(t)) if t.size() as u64 != size => {
                Fault { code: SHAPE, text: format!("READ of {size} bytes, the tensor has {}", t.size()) }.encode()
            }
            Ok(Slot::Value(t)) => {
                let data = t.bytes();
                let parts = data.len().div_ceil(CHUNK_SIZE).max(1);
                for i in 0..parts {
                    let mut w = Writer::new();
                    w.byte(0x82).uint(request).byte(u8::from(i + 1 == parts));
                    w.bytes.extend(&data[i * CHUNK_SIZE..data.len().min((i + 1) * CHUNK_SIZE)]);
                    self.w.send(w.bytes);
                }
                return;
            }
        };
        self.done(request, Some(error));
    }

    // Nodes.

    fn node(&mut self, n: &Node) {
        let mut operands = Vec::new();
        let (mut poison, mut error) = (None, None);
        for &id in &n.inputs {
            match self.device.get(id) {
                Ok(Slot::Value(t)) => operands.push(t),
                Ok(Slot::Poison(e)) => poison = poison.or(Some(e)),
                Err(e) => error = error.or(Some(e)),
            }
        }
        let results = match (error, poison) {
            (None, Some(e)) => Err(e), // which is no failure of its own
            (error, _) => error.map_or_else(|| self.compute(n, &operands), Err).map_err(|e| {
                let e = e.of_node(&n.op, &n.outputs);
                self.note(e.clone());
                Arc::new(e)
            }),
        };
        for (i, &id) in n.inputs.iter().enumerate().take(64) {
            if n.drop >> i & 1 != 0 {
                let _ = self.device.release(id);
            }
        }
        let slots: Vec<Slot> = match results {
            Ok(l) => l.into_iter().map(|t| Slot::Value(Arc::new(t))).collect(),
            Err(e) => n.outputs.iter().map(|_| Slot::Poison(e.clone())).collect(),
        };
        for (d, slot) in n.outputs.iter().zip(slots) {
            if let Err(e) = self.device.define(d.id, slot) {
                self.note(e.of_node(&n.op, &n.outputs));
            }
        }
    }

    /// Runs a node. A panic is a bug of the kernel, or an illegal node.
    fn compute(&self, n: &Node, operands: &[Arc<Tensor>]) -> Res<Vec<Tensor>> {
        kernels::check(n, operands)?;
        for d in &n.outputs {
            self.device.fresh(d.id)?;
            room(d.bytes())?;
        }
        let results = catch_unwind(AssertUnwindSafe(|| kernels::run(n, operands))).unwrap_or_else(|_| fault(KERNEL, format!("{} panicked", n.op)))?;
        if results.len() != n.outputs.len() {
            return fault(SHAPE, format!("{} outputs, want {}", n.outputs.len(), results.len()));
        }
        for (t, d) in results.iter().zip(&n.outputs) {
            if t.dtype != d.dtype || t.shape != d.shape {
                return fault(SHAPE, format!("output of type {} and shape {:?}, want {} and {:?}", d.dtype, d.shape, t.dtype, t.shape));
            }
        }
        Ok(results)
    }
}
