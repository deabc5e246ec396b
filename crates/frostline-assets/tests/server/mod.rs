//! A server on 127.0.0.1 for tests of downloads, with a small treebank or encoder.
#![allow(dead_code)] // Each test program uses a part of it.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use frostline_assets::fetch::{FetchOptions, Hosts, Progress};
use frostline_assets::{Places, sha256};
use sha1::Digest as _;

/// The response of a server at one path.
#[derive(Clone)]
pub struct Page {
    pub status: u16,
    pub body: Vec<u8>,
    /// Close the connection after this many bytes, once.
    pub cut: Option<usize>,
    /// Whether the `Range` header is supported.
    pub ranges: bool,
    /// The `Location` header, for a redirect.
    pub location: Option<String>,
}

/// A request: its path and its `Range` header.
pub type Asked = (String, Option<String>);

/// A function that runs once before a request is answered.
pub type Meanwhile = Box<dyn FnOnce() + Send>;

#[derive(Clone, Default)]
pub struct Server {
    pub pages: Arc<Mutex<HashMap<String, Page>>>,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    meanwhile: Arc<Mutex<HashMap<String, Meanwhile>>>,
    pub address: String,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { address, ..Self::default() };
        let inner = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = inner.clone();
                std::thread::spawn(move || server.answer(&stream));
            }
        });
        server
    }

    pub fn page(&self, path: &str, body: impl Into<Vec<u8>>) {
        let page = Page { status: 200, body: body.into(), cut: None, ranges: true, location: None };
        self.pages.lock().unwrap().insert(path.into(), page);
    }

    pub fn change(&self, path: &str, change: impl FnOnce(&mut Page)) {
        change(self.pages.lock().unwrap().get_mut(path).unwrap());
    }

    pub fn meanwhile(&self, path: &str, happens: impl FnOnce() + Send + 'static) {
        self.meanwhile.lock().unwrap().insert(path.into(), Box::new(happens));
    }

    fn answer(&self, mut stream: &TcpStream) {
        let mut lines = BufReader::new(stream).lines();
        let Some(Ok(first)) = lines.next() else { return };
        let path = first.split(' ').nth(1).unwrap().to_string();
        let headers = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
        let range = headers
            .filter_map(|line| line.to_ascii_lowercase().strip_prefix("range: ").map(String::from))
            .last();
        self.asked.lock().unwrap().push((path.clone(), range.clone()));
        let happens = self.meanwhile.lock().unwrap().remove(&path);
        if let Some(happens) = happens {
            happens();
        }
        let mut pages = self.pages.lock().unwrap();
        let Some(page) = pages.get_mut(&path) else {
            let _ = write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
            return;
        };
        let from = range
            .filter(|_| page.ranges)
            .map_or(0, |range| range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap());
        let (status, all) = (if from > 0 { 206 } else { page.status }, page.body.len());
        let rest = &page.body[from..];
        let sent = &rest[..page.cut.take().unwrap_or(rest.len())];
        let location = page.location.as_ref().map_or(String::new(), |to| format!("Location: {to}\r\n"));
        let _ = write!(
            stream,
            "HTTP/1.1 {status} X\r\n{location}Content-Length: {}\r\nContent-Range: bytes {from}-{}/{all}\r\nConnection: close\r\n\r\n",
            rest.len(),
            all.max(1) - 1
        );
        let _ = stream.write_all(sent);
    }

    pub fn requests(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub fn options(&self, cache: &Path) -> FetchOptions {
        let hosts = Hosts {
            treebank_lists: format!("{}/lists", self.address),
            treebank_files: format!("{}/files", self.address),
            hub: format!("{}/hub", self.address),
            archives: format!("{}/archives", self.address),
        };
        FetchOptions { hosts, ..FetchOptions::new(cache) }
    }
}

pub const LIST: &str = "/lists/repos/UniversalDependencies/UD_Toy-T/contents?ref=r2.16";
pub const TRAIN: &str = "/files/UniversalDependencies/UD_Toy-T/r2.16/xx_t-ud-train.conllu";

pub fn blob_id(body: &[u8]) -> String {
    let mut hasher = sha1::Sha1::new();
    hasher.update(format!("blob {}\0", body.len()));
    hasher.update(body);
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a treebank whose train split is longer than one buffer.
pub fn treebank() -> (Server, BTreeMap<String, Vec<u8>>) {
    treebank_named("UD_Toy-T", "xx_t", &[("README.md", "# Toy")])
}

/// Returns a treebank in release r2.16: its files begin with `code`; the others are given.
pub fn treebank_named(
    treebank: &str,
    code: &str,
    others: &[(&str, &str)],
) -> (Server, BTreeMap<String, Vec<u8>>) {
    let server = Server::start();
    let sentence = "1\tice\tice\tNOUN\t_\t_\t0\troot\t_\t_\n\n";
    let split =
        |split: &str, times| (format!("{code}-ud-{split}.conllu"), sentence.repeat(times).into_bytes());
    let mut files: BTreeMap<String, Vec<u8>> =
        [split("train", 9000), split("dev", 2), split("test", 1)].into();
    files.extend(others.iter().map(|(name, text)| ((*name).into(), text.as_bytes().to_vec())));
    let mut list = vec![r#"{"name":"not-to-release","type":"dir","size":0,"sha":"0"}"#.into()];
    for (name, body) in &files {
        let (bytes, id) = (body.len(), blob_id(body));
        list.push(format!(r#"{{"name":"{name}","type":"file","size":{bytes},"sha":"{id}"}}"#));
        server.page(&format!("/files/UniversalDependencies/{treebank}/r2.16/{name}"), body.clone());
    }
    server.page(&list_of(treebank), format!("[{}]", list.join(",")));
    (server, files)
}

/// Returns the path of a treebank's list.
pub fn list_of(treebank: &str) -> String {
    format!("/lists/repos/UniversalDependencies/{treebank}/contents?ref=r2.16")
}

pub const COMMIT: &str = "c0ffee0000c0ffee0000c0ffee0000c0ffee0000";

/// Returns an encoder of these files at [`COMMIT`]; the first is listed as a large file.
pub fn encoder(files: &[(&str, &[u8])]) -> Server {
    encoder_named("some/encoder", files)
}

/// Returns a hub with one encoder.
pub fn encoder_named(id: &str, files: &[(&str, &[u8])]) -> Server {
    let server = Server::start();
    let mut list = Vec::new();
    for (i, (name, body)) in files.iter().enumerate() {
        let (bytes, blob, large) = (body.len(), blob_id(body), sha256(body));
        let lfs = match i {
            0 => format!(r#","lfs":{{"oid":"{large}","size":{bytes}}}"#),
            _ => String::new(),
        };
        list.push(format!(r#"{{"type":"file","path":"{name}","size":{bytes},"oid":"{blob}"{lfs}}}"#));
        server.page(&format!("/hub/{id}/resolve/{COMMIT}/{name}"), *body);
    }
    server.page(&format!("/hub/api/models/{id}/revision/main"), format!(r#"{{"sha":"{COMMIT}"}}"#));
    server.page(&format!("/hub/api/models/{id}/tree/{COMMIT}"), format!("[{}]", list.join(",")));
    server
}

pub fn quiet(_: Progress<'_>) {}

pub fn cached(cache: &Path) -> Places {
    Places { cache: Some(cache.into()), ..Places::default() }
}
