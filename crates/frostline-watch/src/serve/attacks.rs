//! Attacks on a connection and on the list of connections. The clock is tokio's paused one: it advances when nothing else
//! can happen, so that no test waits or depends on the speed of a machine. `tests/serve/attack.py` does the same to the program.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep};

use super::server::{ConnectionLimits, Listener, Served, run, serve_connection};
use super::tests::{served, sweep};

/// Bytes that wait between the ends of a connection.
const PIPE: usize = 4096;

const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 2,
    head_bytes: 8192,
    head_lines: 8,
    head: Duration::from_secs(10),
    stall: Duration::from_secs(20),
    pause: Duration::from_secs(1),
    fresh: Duration::ZERO,
};

const STATUS: &[u8] = b"GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
const REPORT: &[u8] = b"GET /report/index.html HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Runs an attack on a server of a folder with one sweep.
fn run_attack<F: Future<Output = ()>>(attack: impl FnOnce(Arc<Served>) -> F) {
    let folder = tempfile::tempdir().expect("a folder");
    sweep(folder.path());
    let served = Arc::new(served(folder.path(), &[], LIMITS));
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(attack(served));
}

/// Returns the client's end of a connection that is served.
fn connect_client(served: &Arc<Served>) -> DuplexStream {
    let (client, server) = duplex(PIPE);
    tokio::spawn(serve_connection(server, Arc::clone(served), Arc::default()));
    client
}

/// Everything that the server sends until it closes the connection.
async fn read_to_end_of(client: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let _ = client.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_head_that_does_not_end_and_an_idle_connection_are_closed() {
    run_attack(async |served| {
        for begun in [&b""[..], b"G", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "] {
            let (mut client, since) = (connect_client(&served), Instant::now());
            client.write_all(begun).await.expect("sent");
            read_to_end_of(&mut client).await;
            assert_eq!(since.elapsed().as_secs(), LIMITS.head.as_secs(), "{begun:?}");
        }
        // One byte a second does not help.
        let (client, since) = (connect_client(&served), Instant::now());
        let (mut from, mut to) = tokio::io::split(client);
        let drip = tokio::spawn(async move {
            while to.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        read_to_end_of(&mut from).await;
        assert_eq!(since.elapsed().as_secs(), LIMITS.head.as_secs());
        drip.await.expect("it ends");
        // Nor does one request before.
        let (mut client, since) = (connect_client(&served), Instant::now());
        client.write_all(STATUS).await.expect("sent");
        assert!(read_to_end_of(&mut client).await.starts_with("HTTP/1.1 200"));
        assert_eq!(since.elapsed().as_secs(), LIMITS.head.as_secs());
    });
}

#[test]
fn a_head_has_a_largest_size_and_number_of_lines() {
    run_attack(async |served| {
        let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(1 << 20));
        let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(8));
        for head in [long, many] {
            let (mut from, mut to) = tokio::io::split(connect_client(&served));
            let length = head.len();
            let sent = tokio::spawn(async move { to.write_all(head.as_bytes()).await });
            let answer = read_to_end_of(&mut from).await;
            assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
            drop(from);
            // A long head is not read to its end.
            assert_eq!(sent.await.expect("no panic").is_err(), length > LIMITS.head_bytes + PIPE);
        }
    });
}

#[test]
fn a_body_is_not_waited_for_however_long_it_claims_to_be() {
    run_attack(async |served| {
        let bodies = [
            "Content-Length: 1",
            "Content-Length: 100000",
            "Content-Length: 4611686018427387904",
            "Content-Length: 18446744073709551615",
            "Content-Length: 18446744073709551616",
            "Transfer-Encoding: chunked",
        ];
        for (body, method) in bodies.iter().flat_map(|body| [(body, "GET"), (body, "POST")]) {
            let (mut client, since) = (connect_client(&served), Instant::now());
            let head = format!("{method} / HTTP/1.1\r\nHost: localhost\r\n{body}\r\n\r\n");
            client.write_all(head.as_bytes()).await.expect("sent");
            let answer = read_to_end_of(&mut client).await;
            // hyper itself refuses lengths that have no room in its counter.
            assert!(["413", "400", "431"].contains(&&answer[9..12]), "{body}: {answer}");
            assert_eq!(since.elapsed(), Duration::ZERO, "{body}");
        }
    });
}

#[test]
fn a_reader_that_takes_too_little_is_left() {
    run_attack(async |served| {
        let mut client = connect_client(&served);
        client.write_all(REPORT).await.expect("sent");
        // The pipe is full at once; after the stall the server has gone.
        sleep(LIMITS.stall + Duration::from_secs(1)).await;
        assert!(read_to_end_of(&mut client).await.len() <= PIPE);
        // A byte a second is too little as well.
        let mut client = connect_client(&served);
        client.write_all(REPORT).await.expect("sent");
        let mut count = 0;
        while client.read_u8().await.is_ok() {
            count += 1;
            sleep(Duration::from_secs(1)).await;
        }
        assert!(count <= PIPE + LIMITS.stall.as_secs() as usize + 1, "{count} bytes");
        // One who is slow, but not too slow, gets all of it.
        let mut client = connect_client(&served);
        client.write_all(REPORT).await.expect("sent");
        let (mut count, mut part) = (0, [0; PIPE]);
        loop {
            match client.read(&mut part).await {
                Ok(0) | Err(_) => break,
                Ok(read) => count += read,
            }
            sleep(Duration::from_millis(900)).await;
        }
        assert!(count > 10 * PIPE, "the report has {count} bytes");
    });
}

#[test]
fn requests_wait_unread_until_the_answers_before_are_taken() {
    run_attack(async |served| {
        let (mut from, mut to) = tokio::io::split(connect_client(&served));
        let mut sent = 0;
        while let Ok(count) = to.write(STATUS).await {
            sent += count;
        }
        assert!(sent < LIMITS.head_bytes + 3 * PIPE, "{sent} bytes were taken");
        read_to_end_of(&mut from).await;
    });
}

/// Accepts the connections that a test sends.
struct Sent(UnboundedReceiver<io::Result<DuplexStream>>);

impl Listener for Sent {
    type Stream = DuplexStream;

    async fn accept(&mut self) -> io::Result<DuplexStream> {
        match self.0.recv().await {
            Some(next) => next,
            None => std::future::pending().await,
        }
    }
}

#[test]
fn one_connection_too_many_closes_the_oldest() {
    run_attack(async |served| {
        let (to, from) = unbounded_channel();
        let server = tokio::spawn(run(Sent(from), served));
        let since = Instant::now();
        let connect = || {
            let (client, server) = duplex(PIPE);
            to.send(Ok(server)).expect("the server runs");
            client
        };
        let mut idle: Vec<DuplexStream> = (0..1000).map(|_| connect()).collect();
        let mut reader = connect();
        reader.write_all(STATUS).await.expect("sent");
        let mut answer = [0; 12];
        reader.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 200");
        for old in idle.drain(..999) {
            read_to_end_of(&mut { old }).await;
        }
        assert_eq!(since.elapsed(), Duration::ZERO, "nothing had to time out");
        server.abort();
    });
}

#[test]
fn a_request_that_is_being_answered_is_not_closed_for_idle_connections() {
    run_attack(async |served| {
        let (to, from) = unbounded_channel();
        let server = tokio::spawn(run(Sent(from), served));
        let connect = || {
            let (client, server) = duplex(PIPE);
            to.send(Ok(server)).expect("the server runs");
            client
        };
        // The oldest connection requests a report, which another thread computes while all others arrive.
        let mut reader = connect();
        reader.write_all(STATUS).await.expect("sent");
        let idle: Vec<DuplexStream> = (0..100).map(|_| connect()).collect();
        let mut answer = [0; 12];
        reader.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 200");
        drop(idle);
        server.abort();
    });
}

#[test]
fn a_server_without_free_file_descriptors_goes_on() {
    run_attack(async |served| {
        let (to, from) = unbounded_channel();
        let server = tokio::spawn(run(Sent(from), served));
        let (mut idle, its_server) = duplex(PIPE);
        to.send(Ok(its_server)).expect("the server runs");
        // A connection that its client has reset closes no other.
        to.send(Err(io::ErrorKind::ConnectionAborted.into())).expect("the server runs");
        idle.write_all(STATUS).await.expect("sent");
        let mut answer = [0; 12];
        idle.read_exact(&mut answer).await.expect("an answer");
        // EMFILE and ENFILE do.
        for code in [24, 23] {
            to.send(Err(io::Error::from_raw_os_error(code))).expect("the server runs");
        }
        read_to_end_of(&mut idle).await;
        let (mut client, its_server) = duplex(PIPE);
        to.send(Ok(its_server)).expect("the server runs");
        client.write_all(STATUS).await.expect("sent");
        let mut answer = [0; 12];
        client.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 200");
        server.abort();
    });
}
