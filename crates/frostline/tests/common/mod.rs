//! Runs cells in the worker under test.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use frostline_record::{Cell, Job, Request};

/// The last line that a worker writes about a cell. A worker ends when its input is closed, so the input is kept open
/// until then.
pub fn last_word(cell: Cell, folder: &Path) -> String {
    fs::create_dir_all(folder).unwrap();
    let job = Job {
        cell,
        folder: folder.to_str().unwrap().into(),
        prefix_cache: None,
        checkpoints: Default::default(),
        verify: false,
        claim: None,
    };
    let mut worker = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .arg("worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = worker.stdin.take().unwrap();
    let request = Request::Run(Box::new(job));
    writeln!(input, "{}", serde_json::to_string(&request).unwrap()).unwrap();
    let mut lines = BufReader::new(worker.stdout.take().unwrap()).lines().map(Result::unwrap);
    let last = lines.find(|line| line.contains("\"done\"") || line.contains("\"failed\""));
    drop(input);
    assert!(worker.wait().unwrap().success());
    last.expect("a worker reports the end of a cell")
}
