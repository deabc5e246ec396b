//! Limits for the clients of a server.

use std::time::Duration;

/// Limits for the clients of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Bytes of a request's body; more is answered with 413.
    pub body_bytes: usize,
    /// Words of all requests that wait for tags. A request with more is answered with 413, one more than there is room
    /// for with 429.
    pub waiting_words: usize,
    /// Requests that are read, wait or are answered at the same time; one more is answered with 429.
    pub requests: usize,
    /// The time from a request's head to its answer; after it, the answer is 503.
    pub time: Duration,
    /// Open connections; further ones wait to be accepted.
    pub connections: usize,
    /// The time for a request's head. A connection without a request is closed after this time too.
    pub head: Duration,
    /// The time in which a client may take nothing of an answer. After it the connection is closed.
    pub stall: Duration,
    /// The time that open requests have to be answered once the server ends.
    pub grace: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 20,
            waiting_words: 500_000,
            requests: 512,
            time: Duration::from_secs(60),
            connections: 1024,
            head: Duration::from_secs(30),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}
