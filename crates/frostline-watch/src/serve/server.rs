//! The connections of a server, with limits for their number, their time and their requests.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::answer::{HttpAnswer, answer_request};
use super::gate::{Gate, GateEntry};
use super::paced::Paced;
use super::site::ServedSite;

/// Limits for clients of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    /// Open connections. One more closes the oldest that waits for a request, otherwise the oldest.
    pub(super) connections: usize,
    /// Bytes of a request's head; hyper allows no less.
    pub(super) head_bytes: usize,
    /// Lines of a request's head.
    pub(super) head_lines: usize,
    /// The time for a request's head. A connection without a request is closed after this time too.
    pub(super) head: Duration,
    /// The time in which a reader takes 64 KiB of an answer, or the rest.
    pub(super) stall: Duration,
    /// The pause after a connection could not be accepted, for example because all file descriptors are used.
    pub(super) pause: Duration,
    /// How long a look at the folder serves all requests.
    pub(super) fresh: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 256,
            head_bytes: 16 << 10,
            head_lines: 64,
            head: Duration::from_secs(10),
            stall: Duration::from_secs(10),
            pause: Duration::from_millis(100),
            fresh: Duration::from_secs(1),
        }
    }
}

/// A source of connections.
pub(super) trait Listener {
    /// The stream of a connection.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// Returns the next connection.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>>;
}

impl Listener for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&mut self) -> io::Result<Self::Stream> {
        let (stream, _) = Self::accept(self).await?;
        // Otherwise a short answer waits for the reader's confirmation of the one before, for 40 ms.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

/// The data for answering requests.
pub(super) struct Served {
    pub(super) site: ServedSite,
    pub(super) gate: Gate,
    pub(super) limits: ConnectionLimits,
}

/// Answers connections forever, regardless of faults of single connections.
pub(super) async fn run(mut listener: impl Listener, served: Arc<Served>) {
    let mut open = OpenConnections::default();
    loop {
        match listener.accept().await {
            Ok(stream) => {
                open.make_room(served.limits.connections);
                let is_busy = Arc::new(AtomicBool::new(false));
                let task = tokio::spawn(serve_connection(stream, Arc::clone(&served), Arc::clone(&is_busy)));
                open.all.push_back(OpenConnection { task: task.abort_handle(), is_busy });
                // It reads a request that has already arrived, before the next connection can close it.
                tokio::task::yield_now().await;
            }
            // A client that has gone before it was accepted.
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
            Err(_) => {
                // If files cannot be opened, the report could not be read either.
                open.make_room(open.all.len());
                tokio::time::sleep(served.limits.pause).await;
            }
        }
    }
}

/// A connection that is open, or has ended.
struct OpenConnection {
    task: AbortHandle,
    /// Whether the answer to a request is being made.
    is_busy: Arc<AtomicBool>,
}

/// The connections, the oldest first.
#[derive(Default)]
struct OpenConnections {
    all: VecDeque<OpenConnection>,
}

impl OpenConnections {
    /// Leaves room for one more of so many connections: if all of them are open, one is closed.
    fn make_room(&mut self, most: usize) {
        if self.all.len() < most {
            return;
        }
        self.all.retain(|open| !open.task.is_finished());
        if self.all.len() < most {
            return;
        }
        let idle = self.all.iter().position(|open| !open.is_busy.load(Ordering::Relaxed));
        if let Some(open) = self.all.remove(idle.unwrap_or(0)) {
            open.task.abort();
        }
    }
}

/// Answers the requests of a connection one after another, and ends with it. How it ends concerns no other.
pub(super) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    served: Arc<Served>,
    is_busy: Arc<AtomicBool>,
) {
    let limits = served.limits;
    let service = service_fn(|request| {
        let (served, is_busy) = (Arc::clone(&served), Arc::clone(&is_busy));
        async move {
            is_busy.store(true, Ordering::Relaxed);
            let response = respond_to(&request, &served).await;
            is_busy.store(false, Ordering::Relaxed);
            Ok::<_, Infallible>(response)
        }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes)
        .max_headers(limits.head_lines)
        .serve_connection(TokioIo::new(Paced::new(stream, limits.stall)), service)
        .await;
}

async fn respond_to(request: &Request<Incoming>, served: &Served) -> Response<Full<Bytes>> {
    let mut response = match served.gate.check(request) {
        GateEntry::Closed(response) => response,
        GateEntry::Open if !request.body().is_end_stream() => {
            HttpAnswer::text(StatusCode::PAYLOAD_TOO_LARGE, "A request must not have a body.\n")
                .into_response()
        }
        GateEntry::Open => {
            answer_request(request.method(), request.uri().path(), &served.site).await.into_response()
        }
    };
    // Bytes after a head are never read.
    if !request.body().is_end_stream() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
