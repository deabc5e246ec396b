//! A server in this process on a free port, and a client that sends bytes.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use frostline_server::{NamedFolder, ServedModels, Server, ServerLimits, ServerSettings};
use tokio::sync::oneshot;

mod tiny {
    include!("../../../frostline-tagger/tests/readme/model.inc");
}

/// A running server with the models `en`, whose tags are known, and `bert`, whose weights are random.
pub struct Running {
    pub address: SocketAddr,
    folder: PathBuf,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<anyhow::Result<usize>>>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Running {
    pub fn start() -> Self {
        Self::with_limits(ServerLimits::default())
    }

    pub fn with_limits(limits: ServerLimits) -> Self {
        let folder = tiny::model().expect("a model");
        let bert = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../frostline-model/tests/references/bert");
        let named = |name: &str, folder: &PathBuf| NamedFolder {
            name: name.into(),
            folder: folder.clone(),
            target: None,
        };
        let other =
            NamedFolder { target: Some("misc.Other".parse().expect("a target")), ..named("other", &folder) };
        let folders = [named("en", &folder), named("bert", &bert), other];
        let options = frostline_tagger::Options { threads: Some(2), ..Default::default() };
        let models = ServedModels::load(&folders, &options).expect("models");
        let listen = "127.0.0.1:0".parse().expect("an address");
        let server =
            Server::bind(models, ServerSettings { listen, names: vec![], limits }).expect("a free port");
        let address = server.address().expect("an address");
        let (end, ended) = oneshot::channel();
        let thread = std::thread::spawn(move || server.run(ended));
        Self { address, folder, end: Some(end), thread: Some(thread) }
    }

    /// Asks the server to end.
    pub fn ask_to_end(&mut self) {
        drop(self.end.take());
    }

    /// Waits for the end, and returns how many connections were cut off.
    pub fn cut_off(mut self) -> usize {
        self.ask_to_end();
        let thread = self.thread.take().expect("it runs");
        thread.join().expect("no panic").expect("an end")
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream
    }

    /// Sends a request with a body.
    pub fn send(&self, line: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let mut head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        headers.iter().for_each(|header| head += &format!("{header}\r\n"));
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).expect("a sent head");
        // A server that refuses the request may stop reading.
        let _ = stream.write_all(body);
        read_answer(&mut stream)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), &[], b"")
    }

    pub fn post_json(&self, path: &str, body: &serde_json::Value) -> Answer {
        let body = body.to_string();
        self.send(&format!("POST {path}"), &["Content-Type: application/json"], body.as_bytes())
    }

    /// Returns the value of a counter.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").body;
        let line =
            text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
    }

    /// Waits until a counter has a value.
    pub fn wait_for_metric(&self, name: &str, value: f64) {
        while self.metric(name) != value {
            std::thread::yield_now();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ask_to_end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Reads the answer of a connection that is closed after it.
pub fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    let text = String::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.into() }
}
