//! Connections in memory: a client sends some bytes and then waits for the answers. This tests the whole
//! server, from the parser of requests to the answer, without sockets and clocks.

use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use anyhow::Context as _;
use frostline_sweep::WatchedSweep;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Runtime;

use super::gate::{AccessToken, Gate};
use super::host::HostNames;
use super::server::{ConnectionLimits, Served, serve_connection};
use super::site::ServedSite;

/// The server of a sweep's folder as it was when this was made, without a socket.
pub struct Exchange {
    served: Arc<Served>,
    runtime: Runtime,
}

impl Exchange {
    /// Reads a sweep's folder and computes its report. With a `token` only requests that have it are answered.
    ///
    /// # Errors
    /// If the folder has no sweep, or its report cannot be computed.
    pub fn open(folder: &Path, token: Option<&str>) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.context("the server cannot be started")?;
        // The first look serves all requests, so that each is answered at once.
        let site = ServedSite::of(WatchedSweep::open_folder(folder)?, Duration::MAX);
        runtime.block_on(async { site.status().await.and(site.report().await.map(drop)) })?;
        let gate = Gate::new(HostNames::new(Vec::new()), token.map(AccessToken::given_token));
        Ok(Self { served: Arc::new(Served { site, gate, limits: ConnectionLimits::default() }), runtime })
    }

    /// Returns the bytes that the server sends on one connection to a client that sends these bytes and reads
    /// every answer.
    #[must_use]
    pub fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let _timers = self.runtime.enter();
        let mut answered = Vec::new();
        let stream = InMemory { left: bytes, answered: &mut answered };
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        {
            let mut connection = pin!(serve_connection(stream, Arc::clone(&self.served), Arc::default()));
            // The connection has ended, or waits for more bytes.
            while connection.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
                && woken.0.swap(false, Ordering::Relaxed)
            {}
        }
        answered
    }
}

/// Wakes a connection that can continue.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The client's end.
struct InMemory<'a> {
    left: &'a [u8],
    answered: &'a mut Vec<u8>,
}

impl AsyncRead for InMemory<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left.is_empty() {
            return Poll::Pending;
        }
        let (now, later) = self.left.split_at(self.left.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.left = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for InMemory<'_> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.answered.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::tests::sweep;

    #[test]
    fn a_connection_in_memory_is_answered_as_one_of_a_socket() {
        let folder = tempfile::tempdir().expect("a folder");
        sweep(folder.path());
        let open = |token| Exchange::open(folder.path(), token).expect("a server");
        let (open, closed) = (open(None), open(Some("0123abcd")));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let two = b"GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\nGET /report/index.html HTTP/1.1\r\nHost: [::1]\r\n\r\n";
        let answers = text(open.send(two));
        assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 2);
        assert!(answers.contains(r#""plan":"x-y""#) && answers.contains("<!doctype html>"));
        assert_eq!(text(closed.send(two)).matches("HTTP/1.1 401").count(), 2);
        let cookie = b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: frostline-0123abcd=0123abcd\r\n\r\n";
        assert!(text(closed.send(cookie)).starts_with("HTTP/1.1 200"));
        assert_eq!(text(open.send(b"GET / HTTP/1.1\r\nHost")), "");
        assert!(text(open.send(b"\0\r\n\r\n")).starts_with("HTTP/1.1 400"));
    }
}
