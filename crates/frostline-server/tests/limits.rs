//! What the server does not answer: bodies, words, numbers and times beyond its limits, malformed requests, other hosts, and requests
//! at its end.

mod common;

use std::io::{Read as _, Write as _};
use std::time::Duration;

use common::{Running, read_answer};
use frostline_server::ServerLimits;
use serde_json::json;

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// A request line, a header, a body, the status, and a part of the answer.
type Case = (&'static str, &'static str, &'static [u8], u16, &'static str);

const CASES: [Case; 33] = [
    ("GET /none", "", b"", 404, "there is no such path"),
    ("GET /v1/tag", "", b"", 405, "another method"),
    ("POST /health", "", b"", 405, "another method"),
    ("DELETE /models/en", "", b"", 405, "another method"),
    ("POST /models/none", "", br#"{"inputs": "x"}"#, 404, "no model \\\"none\\\"; there are en, bert, other"),
    ("POST /models/en", "", b"", 400, "not JSON"),
    ("POST /models/en", "", b"{\"inputs\": ", 400, "not JSON"),
    ("POST /models/en", "", b"\xff", 400, "not JSON"),
    ("POST /models/en", "", br#"{"parameters": {}}"#, 422, "inputs"),
    ("POST /models/en", "", br#"{"inputs": 7}"#, 422, "expected a text or a list of texts"),
    ("POST /models/en", "", br#"{"inputs": ["a", 7]}"#, 422, "expected a text or a list of texts"),
    (
        "POST /models/en",
        "",
        br#"{"inputs": "a", "parameters": {"aggregation_strategy": "no"}}"#,
        422,
        "one of `none`, `simple`",
    ),
    ("POST /models/en", "", br#"{"inputs": "a", "parameters": {"top_k": 3}}"#, 422, "top_k"),
    ("POST /models/en", "", br#"{"inputs": "a", "parameters": {"stride": -1}}"#, 422, "-1"),
    ("POST /v1/tag", "", b"{}", 422, "none or several"),
    ("POST /v1/tag", "", br#"{"text": "a", "conllu": ""}"#, 422, "none or several"),
    ("POST /v1/tag", "", br#"{"txt": "a"}"#, 422, "txt"),
    ("POST /v1/tag", "", br#"{"text": "a", "models": ["en", "en"]}"#, 422, "named twice"),
    ("POST /v1/tag", "", br#"{"text": "a", "models": ["xx"]}"#, 404, "no model"),
    ("POST /v1/tag", "", br#"{"sentences": [["a", "b\tc"]]}"#, 422, "sentence 1, word 2"),
    ("POST /v1/tag?models=en", "", br#"{"text": "a"}"#, 422, "the address"),
    ("POST /v1/tag?model=en", "", b"", 422, "models=NAME"),
    ("POST /v1/tag", "", b"1\tIce\t_\t_\t_\t_\t_\t_\t_\t_\n\n", 422, "en and bert both fill upos"),
    ("POST /v1/tag?models=en", "", b"1\tIce\n\n", 422, "data:1"),
    ("POST /v1/tag?models=en", "", b"\x1f\x8b\x08\x00", 422, "data: "),
    ("POST /process", "", b"x", 400, "without a Content-Type"),
    ("POST /process", "Content-Type: text/plain", b"x", 400, "text/plain"),
    ("POST /process", "Content-Type: multipart/form-data", b"x", 400, "multipart"),
    ("POST /process", "Content-Type: multipart/form-data; boundary=x", b"--x\r\nnothing", 400, "multipart"),
    ("POST /process", FORM, b"tagger=", 400, "`data` is missing"),
    ("POST /process", FORM, b"data=a&model=none", 404, "no model"),
    ("POST /process", FORM, b"data=a&input=pdf", 400, "input \"pdf\" is unknown"),
    ("POST /process", FORM, b"data=a&tokenizer&parser", 400, "`parser`"),
];

#[test]
fn malformed_requests_are_told_what_is_wrong() {
    let server = Running::start();
    for (line, header, body, status, part) in CASES {
        let headers: &[&str] = if header.is_empty() { &[] } else { &[header] };
        let answer = server.send(line, headers, body);
        let case = format!("{line} {:?}: {answer:?}", String::from_utf8_lossy(body));
        assert_eq!(answer.status, status, "{case}");
        assert!(answer.body.contains(part), "{case}");
        if line.contains("/process") {
            assert!(answer.head.contains("content-type: text/plain"), "{case}");
        } else {
            assert!(answer.json()["error"].is_string() && answer.json()["error_type"].is_string(), "{case}");
        }
    }
    let unknown = server.send("POST /process", &[FORM], b"data=a&tokenizer&output=xml");
    assert_eq!(unknown.status, 400, "{unknown:?}");
    let answer = server.post_json("/v1/tag", &json!({"text": "ice", "models": ["en"]}));
    assert_eq!(answer.status, 200, "the server still answers: {answer:?}");
}

#[test]
fn a_request_for_another_host_gets_no_answer() {
    let server = Running::start();
    let ask = |host: &str| {
        let mut stream = server.connect();
        write!(stream, "GET /health HTTP/1.1\r\n{host}Connection: close\r\n\r\n").expect("a request");
        read_answer(&mut stream).status
    };
    assert_eq!(ask("Host: evil.example\r\n"), 421);
    assert_eq!(ask("Host: 127.0.0.1:8048\r\n"), 200);
    assert_eq!(ask(""), 421);
}

#[test]
fn large_bodies_are_refused_with_and_without_a_length() {
    let limits = ServerLimits { body_bytes: 1000, ..ServerLimits::default() };
    let server = Running::with_limits(limits);
    let text = |size: usize| json!({"text": "a ".repeat(size / 2), "models": ["en"]}).to_string();
    assert_eq!(server.send("POST /v1/tag", &[], text(900).as_bytes()).status, 200);
    let answer = server.send("POST /v1/tag", &[], text(4000).as_bytes());
    assert_eq!((answer.status, answer.json()["error_type"].as_str()), (413, Some("too_large")), "{answer:?}");
    // Many times the limit: the rest is not read.
    let answer = server.send("POST /process", &[FORM], "x".repeat(100_000).as_bytes());
    assert_eq!(answer.status, 413, "{answer:?}");
    let mut stream = server.connect();
    let head =
        "POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("a head");
    for _ in 0..5 {
        write!(stream, "190\r\n{}\r\n", "x".repeat(400)).expect("a chunk");
    }
    stream.write_all(b"0\r\n\r\n").expect("the end");
    assert_eq!(read_answer(&mut stream).status, 413);
}

#[test]
fn too_many_words_are_refused() {
    let limits = ServerLimits { waiting_words: 20, ..ServerLimits::default() };
    let server = Running::with_limits(limits);
    let ask = |words: usize| server.post_json("/v1/tag", &json!({"sentences": [vec!["ice"; words]]}));
    assert_eq!(ask(20).status, 200);
    let answer = ask(21);
    assert_eq!((answer.status, answer.json()["error_type"].as_str()), (413, Some("too_large")), "{answer:?}");
    assert_eq!(ask(20).status, 200, "words count as waiting only while they wait");
}

#[test]
fn one_request_more_than_there_is_room_for_comes_again_later() {
    let limits = ServerLimits { requests: 1, ..ServerLimits::default() };
    let server = Running::with_limits(limits);
    let body = json!({"inputs": "ice"}).to_string();
    let mut first = server.connect();
    let head = format!(
        "POST /models/en HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    first.write_all(head.as_bytes()).expect("a head");
    server.wait_for_metric("frostline_open_requests", 1.0);
    let answer = server.post_json("/models/en", &json!({"inputs": "ice"}));
    assert_eq!(
        (answer.status, answer.json()["error_type"].as_str()),
        (429, Some("overloaded")),
        "{answer:?}"
    );
    assert!(answer.head.contains("retry-after: 1"), "{answer:?}");
    assert_eq!(server.get("/health").status, 200, "supervision has room");
    first.write_all(body.as_bytes()).expect("a body");
    assert_eq!(read_answer(&mut first).status, 200);
    server.wait_for_metric("frostline_open_requests", 0.0);
    assert_eq!(server.post_json("/models/en", &json!({"inputs": "ice"})).status, 200);
}

#[test]
fn a_request_that_takes_too_long_is_given_up() {
    let limits = ServerLimits { time: Duration::from_millis(50), ..ServerLimits::default() };
    let server = Running::with_limits(limits);
    // Its body never comes.
    let mut slow = server.connect();
    let head = "POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{";
    slow.write_all(head.as_bytes()).expect("a head");
    let answer = read_answer(&mut slow);
    assert_eq!(
        (answer.status, answer.json()["error_type"].as_str()),
        (503, Some("unavailable")),
        "{answer:?}"
    );
    assert!(answer.head.contains("retry-after: 1"), "{answer:?}");
    // More words than are tagged in the time; they do not keep others waiting.
    let long = json!({"models": ["bert"], "sentences": vec![vec!["frog"; 40]; 5000]});
    assert_eq!(server.post_json("/v1/tag", &long).status, 503);
    server.wait_for_metric("frostline_waiting_words", 0.0);
    assert_eq!(server.post_json("/v1/tag", &json!({"models": ["en"], "text": "ice"})).status, 200);
}

#[test]
fn a_connection_without_a_request_is_closed() {
    let limits = ServerLimits { head: Duration::from_millis(50), ..ServerLimits::default() };
    let server = Running::with_limits(limits);
    for begun in ["", "GET /hea"] {
        let mut stream = server.connect();
        stream.write_all(begun.as_bytes()).expect("a piece of a head");
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        assert!(!String::from_utf8_lossy(&bytes).contains("200 OK"), "{begun}");
    }
    let mut kept = server.connect();
    write!(kept, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut bytes = Vec::new();
    kept.read_to_end(&mut bytes).expect("an answer, and the end after a while without a second request");
    assert!(String::from_utf8_lossy(&bytes).starts_with("HTTP/1.1 200"), "{bytes:?}");
}

/// The answers are larger than what the system keeps for a connection, so the server has to wait for the client.
#[test]
fn a_client_that_takes_no_answers_is_closed() {
    let limits = ServerLimits { stall: Duration::from_millis(50), ..ServerLimits::default() };
    let server = Running::with_limits(limits);
    let row = "1\tice\t_\t_\t_\t_\t_\t_\t_\t_\n\n";
    let body = format!("# note = {}\n{row}", "x".repeat(3 << 20));
    let head = format!(
        "POST /v1/tag?models=en HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = server.connect();
    let mut send = || stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    let closed = (0..50).find_map(|_| send().err()).expect("the end of the connection");
    let kinds = [std::io::ErrorKind::ConnectionReset, std::io::ErrorKind::BrokenPipe];
    assert!(kinds.contains(&closed.kind()), "{closed}");
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_connection_too_many_waits() {
    let limits = ServerLimits { connections: 1, ..ServerLimits::default() };
    let server = Running::with_limits(limits);
    let mut first = server.connect();
    write!(first, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut byte = [0];
    first.read_exact(&mut byte).expect("an answer");
    let mut second = server.connect();
    second.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
    write!(second, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("a request");
    assert!(second.read(&mut byte).is_err(), "it is answered while the first is open");
    second.set_read_timeout(None).expect("no timeout");
    drop(first);
    assert_eq!(read_answer(&mut second).status, 200);
}

#[test]
fn open_requests_are_answered_at_the_end() {
    let mut server = Running::start();
    let body = json!({"inputs": "ice"}).to_string();
    let mut open = server.connect();
    let head =
        format!("POST /models/en HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    open.write_all(head.as_bytes()).expect("a head");
    server.wait_for_metric("frostline_open_requests", 1.0);
    let mut idle = server.connect();
    server.ask_to_end();
    // The idle connection ends at once, and no new one is accepted.
    let mut bytes = Vec::new();
    let _ = idle.read_to_end(&mut bytes);
    while std::net::TcpStream::connect(server.address).is_ok() {
        std::thread::yield_now();
    }
    open.write_all(body.as_bytes()).expect("a body");
    let answer = read_answer(&mut open);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("connection: close"), "{answer:?}");
    assert_eq!(server.cut_off(), 0);
}

#[test]
fn a_request_that_never_ends_is_cut_off_at_the_end() {
    let limits = ServerLimits { grace: Duration::from_millis(50), ..ServerLimits::default() };
    let server = Running::with_limits(limits);
    let mut open = server.connect();
    open.write_all(b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
        .expect("a head");
    server.wait_for_metric("frostline_open_requests", 1.0);
    assert_eq!(server.cut_off(), 1);
}
