//! Failing file operations, power cuts, and processes killed at any moment. After each of them, the same
//! command ends with the same bits, and no foreign file is touched.
//!
//! `cargo test` takes a few of the operations and kills. All of them, with a count at the end:
//!
//! ```text
//! FROSTLINE_FAULTS=all FROSTLINE_KILLS=100 cargo test --workspace --test faults -- --nocapture
//! ```

#[cfg(unix)]
mod kills;
mod operations;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use frostline_record::Sweep;
use tempfile::TempDir;

/// The program under test, which starts itself again as its worker.
const PROGRAM: &str = env!("CARGO_BIN_EXE_runner-under-test");

/// Longer than any of these sweeps takes on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with a plan, in which one sweep is run until it is done.
struct FaultPlace {
    folder: TempDir,
}

/// The result of a finished sweep: for each cell its result and the hashes of its files.
#[derive(Clone, Debug, PartialEq)]
struct SweepResults {
    results: BTreeMap<String, String>,
    files: BTreeMap<PathBuf, String>,
    report: Vec<String>,
}

impl FaultPlace {
    fn new(plan: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        fs::write(folder.path().join("plan.toml"), plan).expect("the plan");
        Self { folder }
    }

    fn path_inside(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    fn out_folder(&self) -> PathBuf {
        self.path_inside("out")
    }

    /// Returns the sweep, as a command that has not been started.
    fn sweep_command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["sweep", "--plan", "plan.toml", "--out", "out", "--threads", "1"])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the sweep to an end, whichever it is.
    fn run_with_fault(&self, fault: Option<(&str, &str)>) -> Output {
        let mut child = self.sweep_command().envs(fault).spawn().expect("the program starts");
        let started = Instant::now();
        while child.try_wait().expect("a child").is_none() {
            if started.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("{fault:?}: still running after {PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().expect("its output");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{fault:?}: {said}");
        output
    }

    /// Runs the sweep, which must succeed, and reads its results.
    fn run_to_success(&self) -> SweepResults {
        let output = self.run_with_fault(None);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
        let out = self.out_folder();
        let sweep = Sweep::read(&out).expect("a sweep");
        let mut found = SweepResults { results: BTreeMap::new(), files: BTreeMap::new(), report: Vec::new() };
        for record in sweep.records(&out).expect("records") {
            let result =
                serde_json::to_string(record.result.as_ref().expect("a result")).expect("plain data");
            found.results.insert(format!("{} {}", record.cell.title(), record.cell.id), result);
        }
        assert_eq!(found.results.len(), sweep.cells.len());
        for path in files_under(&out) {
            let inside = path.strip_prefix(&out).expect("a file in it").to_path_buf();
            assert!(path.extension().is_none_or(|ending| ending != "part"), "{} is left", path.display());
            let name = inside.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            assert!(!name.starts_with("checkpoint."), "{} is left", path.display());
            if inside.starts_with("report") {
                found.report.push(inside.display().to_string());
            } else if inside.starts_with("cells")
                && !["record.json", "metrics.jsonl", ".claim"].contains(&name)
            {
                found.files.insert(inside, frostline_record::sha256(&fs::read(&path).expect("a file")));
            }
        }
        found.report.sort();
        found
    }
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let inside = |path: PathBuf| if path.is_dir() { files_under(&path) } else { vec![path] };
    entries.map(|entry| entry.path()).flat_map(inside).collect()
}

/// Returns the amount of testing that the environment requests.
fn requested_amount<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}
