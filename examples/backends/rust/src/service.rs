//! The gRPC services: PROTOCOL.md, section 3. Messages are raw bytes for tonic, as the frames of a stream are.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder, Streaming};
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::{Request, Response, Status};

use crate::codec::MAX_FRAME;
use crate::connection::Info;
use crate::device::{Device, Devices, Streams};
use crate::fault::{fault, Res, NOT_FOUND};
use crate::messages::*;
use crate::stream::{Overtaking, Worker};
use crate::{kernels, NAME, PROTOCOL};

/// Passes messages on as they are.
#[derive(Clone, Default)]
pub struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;
    fn encoder(&mut self) -> Raw {
        Raw
    }
    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;
    fn encode(&mut self, item: Bytes, dst: &mut EncodeBuf<'_>) -> Result<(), Status> {
        dst.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;
    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let n = src.remaining();
        Ok(Some(src.copy_to_bytes(n)))
    }
}

/// The plugin's state, which all calls share.
#[derive(Clone)]
pub struct Plugin {
    pub devices: Arc<Devices>,
    pub streams: Arc<Streams>,
    pub end: mpsc::Sender<()>,
}

impl Plugin {
    /// Answers an unary call.
    fn answer(&self, path: &str, connection: u64, body: Bytes) -> Result<Vec<u8>, Status> {
        let bad = |e: prost::DecodeError| Status::invalid_argument(e.to_string());
        Ok(match path {
            "/grpc.health.v1.Health/Check" => vec![8, 1],
            "/plugin.GRPCController/Shutdown" => {
                let _ = self.end.try_send(());
                Vec::new()
            }
            "/burn.wire.v1.Backend/Hello" => self.hello(HelloRequest::decode(body).map_err(bad)?).encode_to_vec(),
            "/burn.wire.v1.Backend/Open" => {
                let reply = match self.open(OpenRequest::decode(body).map_err(bad)?, connection) {
                    Ok(()) => OpenReply { error: Vec::new(), capabilities: Some(kernels::capabilities()), extensions: Some(Extensions { memory: true }) },
                    Err(e) => OpenReply { error: e.encode(), ..Default::default() },
                };
                reply.encode_to_vec()
            }
            "/burn.wire.v1.Backend/Close" => {
                let closed = self.devices.close(DeviceRequest::decode(body).map_err(bad)?.handle);
                crate::messages::Status { error: closed.err().map(|e| e.encode()).unwrap_or_default() }.encode_to_vec()
            }
            "/burn.wire.v1.Backend/Memory" => {
                let reply = match self.devices.find(DeviceRequest::decode(body).map_err(bad)?.handle) {
                    Ok(d) => {
                        let (bytes, tensors) = d.usage();
                        MemoryReply { error: Vec::new(), in_use: bytes as i64, reserved: bytes as i64, tensors: tensors as i64 }
                    }
                    Err(e) => MemoryReply { error: e.encode(), ..Default::default() },
                };
                reply.encode_to_vec()
            }
            _ => return Err(Status::unimplemented(path.to_string())),
        })
    }

    fn hello(&self, h: HelloRequest) -> HelloReply {
        let version = if h.protocol_min <= PROTOCOL && PROTOCOL <= h.protocol_max { PROTOCOL } else { 0 };
        let device = Device_ { index: 0, name: "host memory".into(), kind: "cpu".into(), detail: "loops in Rust".into() };
        let info = crate::messages::Info { name: NAME.into(), version: env!("CARGO_PKG_VERSION").into(), vendor: "burn".into(), devices: vec![device] };
        HelloReply { protocol_min: PROTOCOL, protocol_max: PROTOCOL, version, info: Some(info) }
    }

    fn open(&self, o: OpenRequest, connection: u64) -> Res<()> {
        if o.device != 0 {
            return fault(NOT_FOUND, format!("device {}, want 0", o.device));
        }
        self.devices.add(o.handle, Device::new(u64::from(o.generation), connection))
    }

    /// Serves a stream: a task receives, so that what overtakes is seen at once, and a thread computes.
    fn stream(&self, mut frames: Streaming<Bytes>) -> ReceiverStream<Result<Bytes, Status>> {
        let (to_worker, inbox) = mpsc::channel(16);
        let (replies, out) = mpsc::channel(16);
        let overtaking = Arc::new(Overtaking::default());
        let worker = Worker { devices: self.devices.clone(), streams: self.streams.clone(), overtaking: overtaking.clone(), replies };
        std::thread::spawn(move || worker.run(inbox));
        tokio::spawn(async move {
            let mut opened = false;
            loop {
                let message = tokio::select! {
                    message = frames.message() => message,
                    () = overtaking.over.notified() => return,
                };
                match message {
                    Ok(Some(frame)) if opened && overtaking.take(&frame) => {}
                    Ok(Some(frame)) => {
                        opened = true;
                        if to_worker.send(frame).await.is_err() {
                            return;
                        }
                    }
                    Ok(None) => return,
                    Err(_) => {
                        overtaking.gone.store(true, Ordering::SeqCst);
                        return;
                    }
                }
            }
        });
        ReceiverStream::new(out)
    }
}

use crate::messages::Device as Device_;

struct Unary(Plugin, String);

impl UnaryService<Bytes> for Unary {
    type Response = Bytes;
    type Future = std::future::Ready<Result<Response<Bytes>, Status>>;
    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let connection = request.extensions().get::<Info>().map_or(0, |c| c.0);
        std::future::ready(self.0.answer(&self.1, connection, request.into_inner()).map(|b| Response::new(Bytes::from(b))))
    }
}

struct Stream(Plugin);

impl StreamingService<Bytes> for Stream {
    type Response = Bytes;
    type ResponseStream = ReceiverStream<Result<Bytes, Status>>;
    type Future = std::future::Ready<Result<Response<Self::ResponseStream>, Status>>;
    fn call(&mut self, request: Request<Streaming<Bytes>>) -> Self::Future {
        std::future::ready(Ok(Response::new(self.0.stream(request.into_inner()))))
    }
}

impl tower_service::Service<http::Request<Body>> for Plugin {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let plugin = self.clone();
        Box::pin(async move {
            // A frame beyond MAX_FRAME is refused by the stream, with FAIL.
            let mut grpc = Grpc::new(Raw).max_decoding_message_size(4 * MAX_FRAME).max_encoding_message_size(2 * MAX_FRAME);
            let path = request.uri().path().to_string();
            Ok(if path == "/burn.wire.v1.Backend/Stream" {
                grpc.streaming(Stream(plugin), request).await
            } else {
                grpc.unary(Unary(plugin, path), request).await
            })
        })
    }
}
