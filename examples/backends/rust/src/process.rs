//! The process: handshake, TLS, and the end. PROTOCOL.md, sections 1, 2 and 8.

use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;

use crate::device::{Devices, Streams};
use crate::service::Plugin;
use crate::{connection, NAME, PROTOCOL};

type Failed = Box<dyn Error + Send + Sync>;

/// Serves until the host is gone, or without one until it is interrupted.
pub fn run(hosted: bool) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(hosted));
    runtime.shutdown_timeout(Duration::from_millis(100)); // whatever threads are still at work
    result
}

async fn serve(hosted: bool) -> Result<(), Failed> {
    let (end, mut ended) = mpsc::channel(8);
    let folder = socket_folder()?;
    let path = folder.join("s");
    let listener = UnixListener::bind(&path)?;
    let (tls, certificate) = match std::env::var("PLUGIN_CLIENT_CERT") {
        Ok(pem) if hosted && !pem.is_empty() => {
            let (config, der) = tls(&pem)?;
            (Some(TlsAcceptor::from(Arc::new(config))), base64(&der))
        }
        _ => (None, String::new()),
    };
    let devices = Arc::new(Devices::default());
    let incoming = connection::accept(listener, tls, devices.clone(), hosted.then(|| end.clone()));
    let plugin = Plugin { devices, streams: Arc::new(Streams::default()), end: end.clone() };
    let server = tonic::transport::Server::builder().initial_stream_window_size(8 << 20).initial_connection_window_size(8 << 20);
    tokio::spawn(server.serve_with_incoming(plugin, ReceiverStream::new(incoming)));
    let line = if hosted {
        watch(end.clone());
        format!("1|1|unix|{}|grpc|{certificate}\n", path.display())
    } else {
        format!("BURN_REATTACH='{{\"{NAME}\":{{\"pid\":{},\"network\":\"unix\",\"addr\":\"{}\",\"protocol\":{PROTOCOL}}}}}'\n", std::process::id(), path.display())
    };
    std::io::stdout().write_all(line.as_bytes())?;
    std::io::stdout().flush()?;
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if !hosted {
                let _ = end.try_send(());
            }
        }
    });
    ended.recv().await;
    tokio::time::sleep(Duration::from_millis(100)).await; // for the answer of Shutdown
    let _ = std::fs::remove_file(&path);
    let _ = std::fs::remove_dir(&folder);
    Ok(())
}

/// A new folder for the socket, which only this user may enter.
fn socket_folder() -> Result<PathBuf, Failed> {
    use std::os::unix::fs::DirBuilderExt;
    let parent = std::env::var_os("PLUGIN_UNIX_SOCKET_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = Path::new(&parent).join(format!("{NAME}{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// A new certificate for localhost, and a server that shows it and wants one that the host's root has issued.
fn tls(root: &str) -> Result<(ServerConfig, Vec<u8>), Failed> {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_string()])?;
    let der = own.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(root.as_bytes())?)?;
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()?;
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![der.clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok((config, der.to_vec()))
}

/// Base64 without padding.
fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in data.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(*part.get(i).unwrap_or(&0)));
        for i in 0..=part.len() {
            out.push(DIGITS[(bits >> (18 - 6 * i)) as usize & 63] as char);
        }
    }
    out
}

/// Ends the plugin with its host: when standard input ends, or the parent is another process.
fn watch(end: mpsc::Sender<()>) {
    if std::env::var("BURN_HOST_PIPE").as_deref() == Ok("stdin") {
        let end = end.clone();
        std::thread::spawn(move || {
            let mut b = [0; 256];
            while matches!(std::io::stdin().read(&mut b), Ok(n) if n > 0) {}
            let _ = end.blocking_send(());
        });
    }
    if let Some(host) = std::env::var("BURN_HOST_PID").ok().and_then(|s| s.parse::<u32>().ok()) {
        std::thread::spawn(move || {
            while std::os::unix::process::parent_id() == host {
                std::thread::sleep(Duration::from_millis(200));
            }
            let _ = end.blocking_send(());
        });
    }
}
