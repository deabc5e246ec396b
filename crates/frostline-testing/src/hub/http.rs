//! HTTP/1.1 for the server: one request and one answer for each connection.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::{Asked, Fault, HubState};

/// An answer.
#[derive(Debug)]
pub(super) struct HubAnswer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Answers a request.
pub(super) type AnswerRequest = fn(&mut HubState, &Asked) -> HubAnswer;

impl HubAnswer {
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    pub fn json(value: &serde_json::Value) -> Self {
        Self { body: value.to_string().into_bytes(), ..Self::status(200) }
            .with("Content-Type", "application/json")
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Answers every connection in a thread of its own.
pub(super) fn serve(
    listener: &TcpListener,
    server: &'static str,
    state: &Arc<Mutex<HubState>>,
    exchange: AnswerRequest,
) {
    for stream in listener.incoming().flatten() {
        let state = state.clone();
        std::thread::spawn(move || {
            let Some(asked) = read_request(&stream, server) else { return };
            let path = asked.path.split('?').next().unwrap_or_default().to_string();
            let (answer, fault) = {
                let mut state = state.lock().expect("no other exchange failed");
                state.requests.push(asked.clone());
                match state.faults.remove(&path) {
                    Some(Fault::Status(status)) => (HubAnswer::status(status), None),
                    Some(Fault::Redirect(to)) => (HubAnswer::status(302).with("Location", to), None),
                    fault => (exchange(&mut state, &asked), fault),
                }
            };
            send_answer(&stream, &asked, answer, fault);
        });
    }
}

fn read_request(stream: &TcpStream, server: &'static str) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
    }
    if headers.get("expect").is_some_and(|value| value == "100-continue") {
        let mut stream = stream;
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let mut body = Vec::new();
    if let Some(bytes) = headers.get("content-length").and_then(|value| value.parse().ok()) {
        body.resize(bytes, 0);
        reader.read_exact(&mut body).ok()?;
    } else if headers.get("transfer-encoding").is_some_and(|value| value == "chunked") {
        read_chunks(&mut reader, &mut body)?;
    }
    Some(Asked { server, method, path, headers, body })
}

fn read_chunks(reader: &mut BufReader<&TcpStream>, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let bytes = usize::from_str_radix(line.trim_end(), 16).ok()?;
        let mut chunk = vec![0; bytes + 2];
        reader.read_exact(&mut chunk).ok()?;
        if bytes == 0 {
            return Some(());
        }
        body.extend(&chunk[..bytes]);
    }
}

fn send_answer(mut stream: &TcpStream, asked: &Asked, mut answer: HubAnswer, fault: Option<Fault>) {
    let mut stall = false;
    let mut sent = usize::MAX;
    match fault {
        Some(Fault::Damage) => answer.body.iter_mut().for_each(|byte| *byte ^= 1),
        Some(Fault::Cut(bytes)) => sent = bytes,
        Some(Fault::Stall(bytes)) => (sent, stall) = (bytes, true),
        Some(Fault::Status(_) | Fault::Redirect(_)) | None => {}
    }
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", answer.status);
    if !answer.headers.iter().any(|(name, _)| *name == "Content-Length") {
        head += &format!("Content-Length: {}\r\n", answer.body.len());
    }
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let _ = stream.write_all(format!("{head}\r\n").as_bytes());
    if asked.method != "HEAD" {
        let _ = stream.write_all(&answer.body[..answer.body.len().min(sent)]);
    }
    if stall {
        // The client ends, or the test does.
        let _ = stream.read(&mut [0]);
    }
}
