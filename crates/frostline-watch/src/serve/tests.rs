//! Tests of the server's answers to browsers, other programs and attackers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::thread;

use frostline_record::{Cell, Plan, Sweep};

use super::*;

/// Writes a folder with a sweep of one cell that no process runs.
pub(super) fn sweep(folder: &Path) -> Cell {
    let plan = "schema = 4\nname = 'x-y'\ntreebanks = { en = 'UD_English-EWT' }\n[grid]\nlang = ['en']\npolicy = ['none']\nseed = [1]\n";
    let plan = Plan::parse(plan, "x.toml").expect("a plan");
    let settings = plan.expand().expect("settings");
    let cells: Vec<Cell> = settings
        .into_iter()
        .map(|settings| Cell::new(settings, Default::default(), "flex", "c0de"))
        .collect();
    let first = cells[0].clone();
    let sweep = Sweep {
        schema: frostline_record::SCHEMA,
        plan,
        overrides: vec![],
        twins: Vec::new(),
        cells,
        reference: None,
        rates: None,
        block_scores: Vec::new(),
        search_continues: false,
        rounds: None,
    };
    sweep.write(folder).expect("written");
    first
}

pub(super) fn served(folder: &Path, names: &[&str], limits: ConnectionLimits) -> Served {
    let hosts = HostNames::new(names.iter().map(ToString::to_string).collect());
    let site = ServedSite::of(WatchedSweep::open_folder(folder).expect("a sweep"), limits.fresh);
    Served { site, gate: Gate::new(hosts, None), limits }
}

/// Starts a server that ends with the test's process.
fn start_server(folder: &Path, names: &[&str]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = listener.local_addr().expect("an address");
    let served = served(folder, names, ConnectionLimits::default());
    thread::spawn(move || serve_connections(listener, served));
    at
}

fn request_status(at: SocketAddr, method: &str, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("a connection");
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn the_page_the_state_and_the_report_are_served_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep(folder.path());
    frostline_files::write(&folder.path().join("secret.txt"), b"secret\n").expect("a file");
    let at = start_server(folder.path(), &[]);
    let get = |path: &str| request_status(at, "GET", path, "localhost");
    assert!(get("/").contains("<title>Frostline</title>"));
    assert!(get("/?a=b").starts_with("HTTP/1.1 200"));
    assert!(get("/live.js").contains("text/javascript"));
    let status = get("/status.json");
    assert!(status.contains(r#""plan":"x-y""#) && status.contains(r#""waiting":1"#), "{status}");
    assert!(get("/report/index.html").contains("<!doctype html>"));
    for path in [
        "/secret.txt",
        "/sweep.json",
        "/report/",
        "/report/../sweep.json",
        "/report/..%2fsweep.json",
        "/../secret.txt",
        "//secret.txt",
        "/report//etc/passwd",
        "/index.html",
    ] {
        let answer = get(path);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
        assert!(!answer.contains("secret\n"));
    }
}

#[test]
fn only_reading_is_possible() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep(folder.path());
    let at = start_server(folder.path(), &[]);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        assert!(request_status(at, method, "/", "localhost").starts_with("HTTP/1.1 405"), "{method}");
    }
    let head = request_status(at, "HEAD", "/", "localhost");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn another_name_gets_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep(folder.path());
    let at = start_server(folder.path(), &["cluster.example.org"]);
    assert!(request_status(at, "GET", "/status.json", "evil.example").starts_with("HTTP/1.1 421"));
    assert!(
        request_status(at, "GET", "/status.json", "cluster.example.org:8047").starts_with("HTTP/1.1 200")
    );
}

#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep(folder.path());
    let at = start_server(folder.path(), &[]);
    for path in ["/", "/status.json", "/report/index.html", "/nothing"] {
        let answer = request_status(at, "GET", path, "localhost");
        for header in
            ["content-security-policy: ", "x-content-type-options: nosniff", "cache-control: no-store"]
        {
            assert!(answer.contains(header), "{path}: {header}");
        }
    }
}
