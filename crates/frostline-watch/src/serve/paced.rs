//! A connection with a minimum speed for its reader.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes that a reader must take within one pause, so that a reader that takes a byte now and then cannot stay
/// forever.
///
/// # Units
/// Bytes.
const LEAST: usize = 64 << 10;

/// A stream that fails if its other end takes too little of an answer for too long.
pub(super) struct Paced<S> {
    stream: S,
    stall: Duration,
    /// Runs while something waits to be sent.
    limit: Pin<Box<Sleep>>,
    waits: bool,
    /// Bytes taken since the limit was set.
    taken: usize,
}

impl<S> Paced<S> {
    /// The reader has to take 64 KiB in each `stall`, or all that there is.
    pub(super) fn new(stream: S, stall: Duration) -> Self {
        Self { stream, stall, limit: Box::pin(sleep_until(Instant::now())), waits: false, taken: 0 }
    }

    fn start_limit(&mut self) {
        (self.waits, self.taken) = (true, 0);
        self.limit.as_mut().reset(Instant::now() + self.stall);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Poll::Ready(written) = Pin::new(&mut this.stream).poll_write(cx, bytes) {
            let written = written?;
            this.taken += written;
            if this.taken >= LEAST {
                this.waits = false;
            }
            return Poll::Ready(Ok(written));
        }
        if !this.waits {
            this.start_limit();
        }
        ready!(this.limit.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Is called once all is written: nothing waits any more.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.waits = false;
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
