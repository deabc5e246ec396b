//! The installed program in an empty folder: plans by name, a whole sweep with the program as its own worker, the
//! report, completions and manual pages.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use frostline_record::Sweep;
use frostline_score::Confusion;
use tempfile::TempDir;

fn run_frostline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.args(arguments).current_dir(folder).env_remove("COLUMNS").env_remove("RUST_LOG");
    command.env("FROSTLINE_CACHE", folder.join("cache")).env_remove("HF_HOME").env_remove("HF_HUB_CACHE");
    command.output().expect("the binary starts")
}

fn run_and_print(folder: &Path, arguments: &[&str]) -> String {
    let output = run_frostline(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_sweep_in_an_empty_folder_needs_nothing_else() {
    let folder = TempDir::new().unwrap();
    let small =
        ["--policies", "head-only", "--seeds", "42", "--set", "train.epochs=1", "--set", "data.first=40"];
    let sweep = [&["sweep", "--lang", "en"][..], &small].concat();
    let out = run_and_print(folder.path(), &sweep);
    assert!(out.contains("built-in plan `demo`"), "{out}");
    assert!(out.contains("head-only"), "{out}");
    let sweeps: Vec<_> = std::fs::read_dir(folder.path().join("sweeps")).unwrap().flatten().collect();
    assert_eq!(sweeps.len(), 1, "one sweep's folder");
    let written = Sweep::read(&sweeps[0].path()).unwrap();
    let records = written.records(&sweeps[0].path()).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].error, None);
    assert_eq!(records[0].timing.as_ref().unwrap().predicted_step_ms, None, "no steps were timed before");
    let result = records[0].result.as_ref().unwrap();
    let predictions = Sweep::cell_folder(&sweeps[0].path(), &records[0].cell).join("dev.tsv");
    let predictions = std::fs::read_to_string(predictions).unwrap();
    let pairs = predictions.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        (columns[3], columns[4])
    });
    let counted = Confusion::from_pairs(pairs).per_tag();
    let f1: BTreeMap<String, f64> = counted.into_iter().map(|tag| (tag.tag, tag.prf.f1)).collect();
    assert_eq!(result.epochs[0].dev_f1, f1, "F1 of the only epoch is that of the predictions");
    assert!(sweeps[0].path().join("report/report.md").exists());

    // The same command again finds the cell done, and the report can be written again.
    assert!(run_and_print(folder.path(), &sweep).contains("1 cell here already"));
    let path = sweeps[0].path().display().to_string();
    assert!(run_and_print(folder.path(), &["report", &path]).contains("1 of 1 cells"));
}

#[test]
fn after_a_calibration_the_predicted_step_stands_beside_the_measured_one() {
    let folder = TempDir::new().unwrap();
    let sweep: Vec<&str> =
        "sweep --lang en --policies none,head-only --seeds 42 --out out --set train.epochs=1 --set \
                            data.first=160 --no-timing"
            .split_whitespace()
            .collect();
    run_and_print(folder.path(), &[&sweep[..], &["--list", "--calibrate"]].concat());
    run_and_print(folder.path(), &sweep);
    let out = folder.path().join("out");
    let records = Sweep::read(&out).unwrap().records(&out).unwrap();
    let predicted = |policy: &str| {
        let record = records.iter().find(|record| record.cell.settings.policy == policy).unwrap();
        record.timing.as_ref().unwrap().predicted_step_ms.expect("predicted")
    };
    assert!(predicted("none") > predicted("head-only") && predicted("head-only") > 0.0);
    let report = std::fs::read_to_string(out.join("report/report.md")).unwrap();
    assert!(report.contains("| Median step ms | Predicted step ms |"), "{report}");
}

/// A span of a trace: its name, process, and start and end in microseconds.
struct LoggedSpan {
    name: String,
    process: u64,
    time: [f64; 2],
}

impl LoggedSpan {
    fn from_event(event: &serde_json::Value) -> Self {
        let number = |key: &str| event[key].as_f64().unwrap_or_else(|| panic!("{event} has no {key}"));
        let (start, length) = (number("ts"), number("dur"));
        let name = event["name"].as_str().expect("a name").to_string();
        Self { name, process: event["pid"].as_u64().expect("a process"), time: [start, start + length] }
    }

    /// Whether it lies within another of the same process. Clocks of one process agree to the microsecond.
    fn lies_within(&self, other: &Self) -> bool {
        let [start, end] = self.time;
        self.process == other.process && start >= other.time[0] - 1.0 && end <= other.time[1] + 1.0
    }
}

#[test]
fn a_trace_shows_every_step_in_its_epoch_stage_and_cell() {
    let folder = TempDir::new().unwrap();
    let sweep = [
        "sweep",
        "--lang",
        "en",
        "--policies",
        "none,first-2",
        "--seeds",
        "42",
        "--jobs",
        "2",
        "--no-timing",
    ];
    let small =
        ["--set", "train.epochs=2", "--set", "data.first=40", "--out", "out", "--trace", "trace.json"];
    run_and_print(folder.path(), &[&sweep[..], &small].concat());
    let text = std::fs::read_to_string(folder.path().join("trace.json")).unwrap();
    let events: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let spans: Vec<LoggedSpan> =
        events.iter().filter(|event| event["ph"] == "X").map(LoggedSpan::from_event).collect();
    let named = |name: &'static str| spans.iter().filter(move |span| span.name == name);
    let written = Sweep::read(&folder.path().join("out")).unwrap();
    let records = written.records(&folder.path().join("out")).unwrap();
    let steps: u64 = records.iter().map(|record| record.result.as_ref().expect("a result").steps).sum();
    assert!(steps > 0);
    for (name, count) in
        [("sweep", 1), ("report", 1), ("cell", 2), ("stage", 2), ("epoch", 4), ("step", steps)]
    {
        assert_eq!(named(name).count() as u64, count, "{name}");
    }
    for (inner, outer) in
        [("cells", "sweep"), ("stage", "cell"), ("epoch", "stage"), ("step", "epoch"), ("backward", "step")]
    {
        let inside = |span: &LoggedSpan| named(outer).filter(|other| span.lies_within(other)).count() == 1;
        assert!(named(inner).all(inside), "a span `{inner}` is in no span `{outer}`, or in several");
    }
    for cell in named("cell") {
        let of_cell = |name: &'static str| named(name).filter(|span| span.lies_within(cell));
        let baselines = of_cell("baselines").next().expect("baselines");
        let is_earlier = |epoch: &LoggedSpan| epoch.time[1] <= baselines.time[0] + 1.0;
        assert!(of_cell("epoch").all(is_earlier), "the first step waits for baselines");
    }
    let epoch = events.iter().find(|event| event["name"] == "epoch").expect("an epoch");
    let loss = epoch["args"]["loss_nats"].as_f64().expect("a loss");
    let known = |record: &frostline_record::Record| {
        record.result.iter().flat_map(|result| &result.epochs).any(|row| row.train_loss_nats == loss)
    };
    assert!(records.iter().any(known), "{loss} is no epoch's loss");

    let nowhere =
        run_frostline(folder.path(), &["sweep", "--lang", "en", "--trace", "no/such/folder/trace.json"]);
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("no/such/folder/trace.json"));
}

#[test]
fn a_log_tells_the_story_with_fields() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.args(["sweep", "--lang", "en", "--policies", "head-only", "--seeds", "42", "--out", "out"]);
    command.args(["--set", "train.epochs=1", "--set", "data.first=40"]);
    let ended = command.current_dir(folder.path()).env("RUST_LOG", "frostline=debug").output().unwrap();
    let own = String::from_utf8_lossy(&ended.stderr);
    assert!(own.contains("INFO sweep:report: "), "{own}");
    let log = std::fs::read_to_string(folder.path().join("out/workers/worker-1.log")).unwrap();
    for part in [
        "lang=en policy=head-only seed=42}:load: ",
        ":stage{name=train policy=head-only}:epoch{epoch=1 of=1}:step{step=1 ",
    ] {
        assert!(log.contains(part), "{part} is not in\n{log}");
    }
}

#[test]
fn plans_are_listed_and_printed() {
    let folder = TempDir::new().unwrap();
    let list = run_and_print(folder.path(), &["plans"]);
    assert!(list.lines().any(|line| line.starts_with("paper ")), "{list}");
    let reference = run_and_print(folder.path(), &["plans", "reference"]);
    std::fs::write(folder.path().join("mine.toml"), &reference).unwrap();
    let listed = run_and_print(folder.path(), &["plan", "--plan", "demo"]);
    assert_eq!(
        run_and_print(folder.path(), &["sweep", "--plan", "demo", "--list"]),
        listed,
        "the older option"
    );
    assert!(listed.contains("30 cells"), "{listed}");
    let last =
        listed.lines().find(|line| line.contains("pcm alternating seed 44 optimizer.lr=0.003: 450 steps"));
    assert!(last.is_some_and(|line| line.ends_with(" MB")), "what a cell is predicted to take: {listed}");
    assert!(listed.contains("--calibrate"), "{listed}");
    let listed = run_and_print(folder.path(), &["plan", "--lang", "pcm", "--calibrate"]);
    assert!(listed.lines().any(|line| line.starts_with("time      about ")), "{listed}");
    let again = run_and_print(folder.path(), &["plan", "--lang", "pcm"]);
    assert_eq!(again, listed, "the calibration is kept");
    let unknown = run_frostline(folder.path(), &["plans", "papers"]);
    assert_eq!(unknown.status.code(), Some(2));
    let unknown = run_frostline(folder.path(), &["sweep", "--plan", "papers"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("paper"), "the error lists the plans");
}

#[test]
fn a_sweep_that_was_begun_has_a_status_and_runs_nothing() {
    let folder = TempDir::new().unwrap();
    let begun = run_and_print(folder.path(), &["begin", "--lang", "en", "--seeds", "42", "--out", "study"]);
    assert!(begun.contains("frostline work study"), "{begun}");
    let status = run_and_print(folder.path(), &["status", "study"]);
    assert!(status.starts_with("study: 5 cells, 0 recorded, 0 failed, 5 left"), "{status}");
    assert_eq!(run_and_print(folder.path(), &["sweep", "--status", "study"]), status, "the older option");
    let data = run_and_print(folder.path(), &["plan", "--lang", "en", "--seeds", "42", "--data-report"]);
    assert!(data.contains("Unknown words %"), "{data}");
    let cancelled = run_frostline(folder.path(), &["cancel", "study"]);
    assert_eq!(cancelled.status.code(), Some(3), "nothing was submitted");
}

#[test]
fn the_version_names_backends_and_instruction_set() {
    let folder = TempDir::new().unwrap();
    let version = run_and_print(folder.path(), &["--version"]);
    assert!(version.starts_with(concat!("frostline ", env!("CARGO_PKG_VERSION"))), "{version}");
    for part in ["backends: flex", "instruction set: ", "code: "] {
        assert!(version.contains(part), "{version}");
    }
    assert_eq!(run_and_print(folder.path(), &["-V"]).lines().count(), 1);
}

#[test]
fn shells_and_man_get_every_command() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run_and_print(folder.path(), &["completions", shell]);
        for command in ["sweep", "plans", "tag", "conllu"] {
            assert!(script.contains(command), "{shell} does not complete {command}");
        }
    }
    run_and_print(folder.path(), &["man", "--out", "man1"]);
    for page in ["frostline.1", "frostline-sweep.1", "frostline-conllu-check.1"] {
        assert!(folder.path().join("man1").join(page).exists(), "{page} is missing");
    }
    assert!(run_and_print(folder.path(), &["man"]).contains(".TH"));
}
