//! Tests of requests to an MLflow server, to another server, and without a server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;
use crate::tests::{end, point, run};

/// An answer: its status, further headers, and its body.
type Given = (u16, &'static str, String);

/// A server on this machine, with the requests that it received.
struct Fake {
    url: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Fake {
    /// Starts a server that answers each request by a function of the last two path segments and the body.
    fn start(answer: impl Fn(&str, &Value) -> Given + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let kept = Arc::clone(&asked);
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (what, body) = read_request(&stream);
                let (status, headers, text) = answer(&what, &body);
                kept.lock().expect("no panic").push((what, body));
                let head = format!(
                    "HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
                    text.len()
                );
                let _ = (&stream).write_all((head + &text).as_bytes());
            }
        });
        Self { url, asked }
    }

    /// Answers as MLflow does.
    fn mlflow() -> Self {
        Self::start(|what, _| (200, "", mlflow(what)))
    }

    fn requests_to(&self, what: &str) -> Vec<Value> {
        let asked = self.asked.lock().expect("no panic");
        asked.iter().filter(|(name, _)| name == what).map(|(_, body)| body.clone()).collect()
    }
}

fn read_request(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        lines.push(line);
    }
    let length =
        lines.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length:").map(String::from));
    let mut body = vec![0; length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)];
    let _ = reader.read_exact(&mut body);
    let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_string();
    let what = path.strip_prefix("/api/2.0/mlflow/").unwrap_or(&path).to_string();
    (what, serde_json::from_slice(&body).unwrap_or_default())
}

fn mlflow(what: &str) -> String {
    let answer = match what {
        "experiments/create" => json!({ "experiment_id": "7" }),
        "runs/create" => json!({ "run": { "info": { "run_id": "cafe" } } }),
        _ => json!({}),
    };
    answer.to_string()
}

/// A tracker with a run of 30 values that has ended.
fn track_finished_run(mut tracker: MlflowServer) -> MlflowServer {
    let run = run(0);
    tracker.start(&run).expect("kept");
    for step in 1..=30 {
        tracker.log(&run.id, &point(step, 0.5)).expect("kept");
    }
    tracker.end(&run.id, end(), Ending::Finished).expect("kept");
    tracker
}

fn in_a_minute() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

/// Values that a server was sent.
fn count_values(server: &Fake) -> usize {
    let lists = server.requests_to("runs/log-batch");
    lists.iter().filter_map(|body| body["metrics"].as_array()).map(Vec::len).sum()
}

fn tracker_with_folder(url: &str, folder: &Path) -> MlflowServer {
    let server = MlflowServer::new(url, Credentials::None).expect("nothing secret");
    server.keep_unsent_in(folder.into(), "frostline send".into())
}

#[test]
fn a_server_gets_everything_once() {
    let (server, folder) = (Fake::mlflow(), tempfile::tempdir().expect("a folder"));
    track_finished_run(tracker_with_folder(&server.url, &folder.path().join("unsent")))
        .finish(in_a_minute())
        .expect("sent");
    assert_eq!((server.requests_to("runs/create").len(), count_values(&server)), (1, 30));
    assert_eq!(server.requests_to("runs/update")[0]["status"], "FINISHED");
    assert!(!folder.path().join("unsent").exists());
}

#[test]
fn what_is_no_mlflow_server_gets_no_values_and_loses_none() {
    let page = || "<!doctype html><title>Log in</title>".to_string();
    let instead = |at: &'static str, answer: Value| {
        Fake::start(move |what, _| (200, "", if what == at { answer.to_string() } else { mlflow(what) }))
    };
    let other = json!({ "runs": [{ "info": { "run_id": "beef" }, "data": { "tags": [{ "key": RUN_TAG, "value": "x" }] } }] });
    let servers = [
        ("without JSON", Fake::start(move |_, _| (200, "", page()))),
        ("without JSON", Fake::start(|_, _| (200, "", String::new()))),
        ("without JSON", Fake::start(|_, _| (200, "", "[]".into()))),
        ("without an id", Fake::start(|_, _| (200, "", "{}".into()))),
        ("without an id", instead("runs/create", json!({ "run": { "info": { "run_id": "" } } }))),
        ("without an id", instead("runs/create", json!({ "run": { "info": { "run_id": 5 } } }))),
        ("without an id", instead("runs/create", json!({ "run": { "info": { "run_id": "../x" } } }))),
        ("without an id", instead("experiments/create", json!({ "experiment_id": "7".repeat(100) }))),
        (
            "with another experiment",
            instead("experiments/search", json!({ "experiments": [{ "name": "x", "experiment_id": "1" }] })),
        ),
        ("with another run", instead("runs/search", other)),
        ("302", Fake::start(|_, _| (302, "Location: /login\r\n", String::new()))),
        ("401", Fake::start(|_, _| (401, "", "who are you?".into()))),
        ("404", Fake::start(move |_, _| (404, "", page()))),
        ("500", Fake::start(|_, _| (500, "", "{}".into()))),
    ];
    for (why, server) in servers {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tracker = track_finished_run(tracker_with_folder(&server.url, folder.path()));
        let first = tracker.flush().expect_err(why).to_string();
        assert!(first.contains(why), "{first}");
        let last = tracker.finish(in_a_minute()).expect_err(why).to_string();
        assert!(last.contains("30 values of 1 run were not sent and are kept in"), "{last}");
        assert!(last.ends_with("`frostline send` sends them"), "{last}");
        assert_eq!(count_values(&server), 0, "{why}");
        // The kept values are complete, for a server that accepts them.
        let right = Fake::mlflow();
        let mut again = MlflowServer::new(&right.url, Credentials::None).expect("nothing secret");
        let file = folder.path().join(format!("{}.jsonl", run(0).id));
        assert_eq!(again.read_unsent(&file).expect("read"), (1, 30, 0));
        again.finish(in_a_minute()).expect("sent");
        assert_eq!((count_values(&right), right.requests_to("runs/update").len()), (30, 1), "{why}");
    }
}

#[test]
fn what_a_server_refuses_is_left_out_and_the_rest_is_sent() {
    let server = Fake::start(|what, body| match what {
        "runs/log-batch" if body["params"].is_array() => {
            (400, "", json!({ "error_code": "INVALID", "message": "too long" }).to_string())
        }
        _ => (200, "", mlflow(what)),
    });
    let mut tracker = MlflowServer::new(&server.url, Credentials::None).expect("nothing secret");
    tracker.start(&run(0)).expect("kept");
    let error = tracker.flush().expect_err("refused").to_string();
    assert!(error.contains("too long"), "{error}");
    tracker.flush().expect("the refused run does not wait");
}

#[test]
fn a_server_that_is_slow_at_the_end_keeps_nobody_and_loses_nothing() {
    let (server, folder) = (Fake::mlflow(), tempfile::tempdir().expect("a folder"));
    let mut tracker = track_finished_run(tracker_with_folder(&server.url, folder.path()));
    // The time is over.
    let error = tracker.finish(Instant::now()).expect_err("not sent").to_string();
    assert!(error.contains("the server is slow; 30 values of 1 run"), "{error}");
    assert!(server.asked.lock().expect("no panic").is_empty());
    assert!(folder.path().join(format!("{}.jsonl", run(0).id)).exists());
}

#[test]
fn offline_nothing_is_asked_and_everything_kept() {
    let (server, folder) = (Fake::mlflow(), tempfile::tempdir().expect("a folder"));
    let mut tracker = track_finished_run(tracker_with_folder(&server.url, folder.path()).offline());
    tracker.flush().expect("nothing is sent");
    let error = tracker.finish(in_a_minute()).expect_err("not sent").to_string();
    assert!(error.contains("offline; 30 values of 1 run were not sent and are kept"), "{error}");
    assert!(server.asked.lock().expect("no panic").is_empty());
}

#[test]
fn more_than_fits_into_memory_is_kept_and_the_run_goes_on() {
    let (server, folder) = (Fake::mlflow(), tempfile::tempdir().expect("a folder"));
    let mut tracker = tracker_with_folder(&server.url, folder.path());
    let run = run(0);
    tracker.start(&run).expect("kept");
    (1..MOST_WAITING as u64).for_each(|step| tracker.log(&run.id, &point(step, 0.5)).expect("kept"));
    assert!(tracker.waiting.is_empty());
    tracker.log(&run.id, &point(9, 0.5)).expect("kept");
    tracker.end(&run.id, end(), Ending::Finished).expect("kept");
    let error = tracker.finish(in_a_minute()).expect_err("a part is kept").to_string();
    assert!(error.contains(&format!("{} values of 1 run ", MOST_WAITING - 1)), "{error}");
    assert_eq!((count_values(&server), server.requests_to("runs/update").len()), (1, 1));
    let mut again = MlflowServer::new(&server.url, Credentials::None).expect("nothing secret");
    let file = folder.path().join(format!("{}.jsonl", run.id));
    assert_eq!(again.read_unsent(&file).expect("read"), (1, MOST_WAITING - 1, 0));
}

#[test]
fn secrets_go_to_encrypted_servers_and_this_machine_alone() {
    let token = || Credentials::Header { text: "Bearer s3cret".into(), from: "MLFLOW_TRACKING_TOKEN".into() };
    for good in [
        "https://mlflow.example.org/team",
        "http://127.0.0.1:5000",
        "http://localhost:5000",
        "http://[::1]:5000",
    ] {
        MlflowServer::new(good, token()).expect(good);
    }
    for bad in [
        "http://mlflow.example.org",
        "http://localhost.example.org",
        "http://10.0.0.1:5000",
        "http://127.0.0.1.example.org",
    ] {
        let error = MlflowServer::new(bad, token()).expect_err(bad).to_string();
        assert!(error.contains("MLFLOW_TRACKING_TOKEN") && !error.contains("s3cret"), "{error}");
        let basic = Credentials::basic("me", "s3cret");
        assert!(
            MlflowServer::new(bad, basic).expect_err(bad).to_string().contains("MLFLOW_TRACKING_PASSWORD")
        );
        MlflowServer::new(bad, Credentials::None).expect(bad);
    }
}
