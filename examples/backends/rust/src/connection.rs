//! Connections, with and without TLS, and what ends with them.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_rustls::{server::TlsStream, TlsAcceptor};
use tonic::transport::server::Connected;

use crate::device::Devices;

/// What calls are told of their connection: its number.
#[derive(Clone)]
pub struct Info(pub u64);

enum Io {
    Plain(UnixStream),
    Tls(Box<TlsStream<UnixStream>>),
}

pub struct Connection {
    io: Io,
    end: End,
}

/// Ends, when it is dropped, the devices of a connection, and after the last one the plugin, if a host has started it.
struct End {
    number: u64,
    open: Arc<AtomicU64>,
    devices: Arc<Devices>,
    over: Option<mpsc::Sender<()>>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.devices.close_of(self.number);
        if self.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            if let Some(over) = &self.over {
                let _ = over.try_send(());
            }
        }
    }
}

/// Accepts connections. over is told when the last one of some has ended; None: nobody is.
pub fn accept(listener: UnixListener, tls: Option<TlsAcceptor>, devices: Arc<Devices>, over: Option<mpsc::Sender<()>>) -> mpsc::Receiver<io::Result<Connection>> {
    let (out, incoming) = mpsc::channel(16);
    let open = Arc::new(AtomicU64::new(0));
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok((socket, _)) = listener.accept().await {
            number += 1;
            let (tls, out, open, devices, over) = (tls.clone(), out.clone(), open.clone(), devices.clone(), over.clone());
            tokio::spawn(async move {
                let io = match tls {
                    None => Io::Plain(socket),
                    Some(tls) => match tokio::time::timeout(Duration::from_secs(10), tls.accept(socket)).await {
                        Ok(Ok(s)) => Io::Tls(Box::new(s)),
                        _ => return, // somebody else than the host
                    },
                };
                open.fetch_add(1, Ordering::SeqCst);
                let _ = out.send(Ok(Connection { io, end: End { number, open, devices, over } })).await;
            });
        }
    });
    incoming
}

impl Connected for Connection {
    type ConnectInfo = Info;
    fn connect_info(&self) -> Info {
        Info(self.end.number)
    }
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, b: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(s) => Pin::new(s).poll_read(cx, b),
            Io::Tls(s) => Pin::new(s).poll_read(cx, b),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, b: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().io {
            Io::Plain(s) => Pin::new(s).poll_write(cx, b),
            Io::Tls(s) => Pin::new(s).poll_write(cx, b),
        }
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(s) => Pin::new(s).poll_flush(cx),
            Io::Tls(s) => Pin::new(s).poll_flush(cx),
        }
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Io::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
