//! The connections of the server: their number, the time for a head, and a graceful end.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;

use crate::limits::ServerLimits;
use crate::models::ServedModels;
use crate::router::build_router;
use crate::service::Service;

/// Threads that read requests and write answers; others compute.
const IO_THREADS: usize = 2;

/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;

/// Lines of a request's head.
const HEAD_LINES: usize = 64;

/// The pause after a connection could not be accepted, for example because all file descriptors are used.
const PAUSE: Duration = Duration::from_millis(100);

/// Where a server listens, and what it allows.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// The address and the port; port 0 is any free one.
    pub listen: SocketAddr,
    /// Names of this machine by which clients may ask, besides `localhost` and addresses.
    pub names: Vec<String>,
    /// The limits for clients.
    pub limits: ServerLimits,
}

/// A server that listens, but does not answer yet.
pub struct Server {
    listener: TcpListener,
    service: Arc<Service>,
}

impl Server {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub fn bind(models: ServedModels, settings: ServerSettings) -> Result<Self> {
        let ServerSettings { listen, names, limits } = settings;
        let listener = TcpListener::bind(listen).with_context(|| {
            format!("{listen}: cannot be listened on; give another port, or 0 for any free one")
        })?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, service: Arc::new(Service::new(models, names, limits)) })
    }

    /// Returns the address on which it listens.
    ///
    /// # Errors
    /// If the system does not return it.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Answers requests on this thread and a few others until the future is ready. Then no connection is accepted any more,
    /// and open requests have a while to be answered. Returns how many of them were not.
    ///
    /// # Errors
    /// If the server's threads cannot be started.
    pub fn run<T>(self, until: impl Future<Output = T>) -> Result<usize> {
        let Self { listener, service } = self;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(IO_THREADS).enable_all().build();
        let cut_off = runtime.context("the server cannot be started")?.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let router = build_router(Arc::clone(&service));
            anyhow::Ok(serve_connections(listener, router, service.limits, until).await)
        })?;
        service.batcher.end();
        Ok(cut_off)
    }
}

/// Waits until the program is asked to end: by Ctrl-C, or by SIGTERM.
pub async fn until_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Accepts connections until the future is ready, and returns how many were open after the time that is left then.
async fn serve_connections<T>(
    listener: tokio::net::TcpListener,
    router: Router,
    limits: ServerLimits,
    until: impl Future<Output = T>,
) -> usize {
    let mut connections = JoinSet::new();
    let (end, ended) = watch::channel(());
    let mut until = std::pin::pin!(until);
    loop {
        let has_room = connections.len() < limits.connections;
        tokio::select! {
            _ = &mut until => break,
            accepted = listener.accept(), if has_room => match accepted {
                Ok((stream, _)) => {
                    // Otherwise a short answer waits for the reader's confirmation of the one before, for 40 ms.
                    let _ = stream.set_nodelay(true);
                    connections.spawn(serve_connection(stream, router.clone(), limits, ended.clone()));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
    drop(listener);
    drop(end);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits.grace, all).await;
    connections.len()
}

/// Answers the requests of a connection one after another; once the server ends, only the open one.
async fn serve_connection(
    stream: TcpStream,
    router: Router,
    limits: ServerLimits,
    mut ended: watch::Receiver<()>,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.stall));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEAD_LINES)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    // How a connection ends concerns no other.
    tokio::select! {
        _ = &mut connection => return,
        _ = ended.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
