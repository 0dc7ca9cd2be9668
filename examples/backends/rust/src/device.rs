//! Opened devices, and the streams of the process: what calls and streams share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

use crate::fault::{fault, Fault, Res, CLOSED, PROTOCOL, STALE, UNKNOWN_TENSOR};
use crate::stream::Overtaking;
use crate::tensor::Tensor;

/// A live tensor, or the error that poisons it, encoded.
#[derive(Clone)]
pub enum Slot {
    Value(Arc<Tensor>),
    Poison(Arc<Vec<u8>>),
}

pub struct Device {
    pub generation: u64,
    pub connection: u64,
    pub closed: AtomicBool,
    tensors: Mutex<HashMap<u64, Slot>>,
    streams: Mutex<Vec<Weak<Overtaking>>>,
}

impl Device {
    pub fn new(generation: u64, connection: u64) -> Device {
        Device { generation, connection, closed: AtomicBool::new(false), tensors: Mutex::default(), streams: Mutex::default() }
    }

    pub fn missing(&self, id: u64) -> Fault {
        if id >> 48 != self.generation {
            return Fault { code: STALE, text: format!("t{} of generation {}", id & ((1 << 48) - 1), id >> 48) };
        }
        Fault { code: UNKNOWN_TENSOR, text: format!("t{} is not there", id & ((1 << 48) - 1)) }
    }

    pub fn get(&self, id: u64) -> Res<Slot> {
        self.tensors.lock().unwrap().get(&id).cloned().ok_or_else(|| self.missing(id))
    }

    /// Whether an id may be given to a new tensor.
    pub fn fresh(&self, id: u64) -> Res<()> {
        if id >> 48 != self.generation {
            return Err(self.missing(id));
        }
        if self.tensors.lock().unwrap().contains_key(&id) {
            return fault(PROTOCOL, format!("t{} is there already", id & ((1 << 48) - 1)));
        }
        Ok(())
    }

    /// Makes a tensor, if its id may be one.
    pub fn define(&self, id: u64, slot: Slot) -> Res<()> {
        self.fresh(id)?;
        self.tensors.lock().unwrap().insert(id, slot);
        Ok(())
    }

    pub fn release(&self, id: u64) -> Res<()> {
        self.tensors.lock().unwrap().remove(&id).map(|_| ()).ok_or_else(|| self.missing(id))
    }

    /// Bytes of elements, and live tensors.
    pub fn usage(&self) -> (usize, usize) {
        let tensors = self.tensors.lock().unwrap();
        let bytes = tensors.values().map(|s| if let Slot::Value(t) = s { t.size() } else { 0 }).sum();
        (bytes, tensors.len())
    }

    /// Has a stream told of the end of the device.
    pub fn enter(&self, stream: &Arc<Overtaking>) {
        let mut streams = self.streams.lock().unwrap();
        streams.retain(|s| s.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
        if self.closed.load(Ordering::SeqCst) {
            stream.over.notify_one();
        }
    }

    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        for stream in self.streams.lock().unwrap().drain(..) {
            if let Some(s) = stream.upgrade() {
                s.over.notify_one();
            }
        }
        self.tensors.lock().unwrap().clear();
    }
}

/// The devices by handle.
#[derive(Default)]
pub struct Devices {
    by: Mutex<HashMap<u64, Arc<Device>>>,
}

impl Devices {
    pub fn add(&self, handle: u64, d: Device) -> Res<()> {
        let mut by = self.by.lock().unwrap();
        if handle == 0 || by.contains_key(&handle) {
            return fault(PROTOCOL, format!("handle {handle} is not new"));
        }
        by.insert(handle, Arc::new(d));
        Ok(())
    }

    pub fn find(&self, handle: u64) -> Res<Arc<Device>> {
        let none = || Fault { code: CLOSED, text: format!("no device has handle {handle}") };
        self.by.lock().unwrap().get(&handle).cloned().ok_or_else(none)
    }

    pub fn close(&self, handle: u64) -> Res<()> {
        self.find(handle)?.close();
        self.by.lock().unwrap().remove(&handle);
        Ok(())
    }

    /// Ends the devices that were opened over a connection.
    pub fn close_of(&self, connection: u64) {
        self.by.lock().unwrap().retain(|_, d| {
            if d.connection == connection {
                d.close();
            }
            d.connection != connection
        });
    }
}

/// The open streams by number, each with the number of its last event.
#[derive(Default)]
pub struct Streams {
    by: Mutex<HashMap<u64, Arc<AtomicU64>>>,
    changed: Condvar,
}

impl Streams {
    pub fn add(&self, number: u64) -> Res<Arc<AtomicU64>> {
        let mut by = self.by.lock().unwrap();
        if by.contains_key(&number) {
            return fault(PROTOCOL, format!("there is a stream {number}"));
        }
        let signaled = Arc::new(AtomicU64::new(0));
        by.insert(number, signaled.clone());
        Ok(signaled)
    }

    pub fn remove(&self, number: u64) {
        self.by.lock().unwrap().remove(&number);
        self.changed.notify_all();
    }

    pub fn signal(&self, signaled: &AtomicU64) {
        let _by = self.by.lock().unwrap();
        signaled.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// Waits until a stream has come to its event or has ended, while going is true.
    pub fn wait(&self, number: u64, event: u64, going: impl Fn() -> bool) {
        let mut by = self.by.lock().unwrap();
        while by.get(&number).is_some_and(|s| s.load(Ordering::SeqCst) < event) && going() {
            by = self.changed.wait_timeout(by, Duration::from_millis(200)).unwrap().0;
        }
    }
}
