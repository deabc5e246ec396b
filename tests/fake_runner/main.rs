//! A runner for tests: it implements the workers' protocol, trains nothing, and follows a script in each
//! cell. Its results are a pure function of the cell.
//!
//! The script is the JSON file that `FAKE_SCRIPT` names: a map from a cell's title to a deed.

mod cell;

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::sync::mpsc::channel;

use frostline_e2e::{Deed, FAKE_CODE};
use frostline_record::{
    Cell, CellFacts, Event, Forecast, InParts, Job, Load, MadeBy, Measurement, PairedTimes, SCHEMA, STOP,
    TimedPolicy, TimingJob,
};
use serde::de::DeserializeOwned;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("version") => version(),
        Some("check") => drop(input::<Vec<Cell>>()),
        Some("data") => data(),
        Some("forecast") => forecast(),
        Some("time") => time(&arguments),
        Some("worker") => work(&arguments),
        Some("pretrain") => pretrain(&arguments),
        other => {
            eprintln!("error: the fake runner has no command {other:?}");
            std::process::exit(2);
        }
    }
}

/// Returns the value on standard input, which stays open.
fn input<T: DeserializeOwned>() -> T {
    let mut values = serde_json::Deserializer::from_reader(std::io::stdin()).into_iter();
    values.next().and_then(Result::ok).expect("a value")
}

/// Prints times in which each frozen policy saves a quarter of the first one's, with a little noise.
fn time(arguments: &[String]) {
    let job: TimingJob = input();
    let step_ms = |policy: usize| {
        let base = if policy == 0 { 40.0 } else { 30.0 };
        (0..20).map(|round| base + 0.1 * f64::from((round * 7) % 5)).collect()
    };
    let policies = job.cells.iter().enumerate().map(|(number, cell)| TimedPolicy {
        cell: cell.id.clone(),
        step_ms: step_ms(number),
        cpu_ms: None,
        peak_rss_mib: (job.measure == Measurement::Memory).then_some(100.0),
        peak_device_mib: None,
    });
    let times = PairedTimes {
        schema: SCHEMA,
        policies: policies.collect(),
        subwords: vec![100; 20],
        load: Load { before: Some(0.5), stolen: Some(0.0), ..Load::default() },
        made_by: made_by(arguments),
    };
    println!("{}", serde_json::to_string(&times).expect("plain data"));
}

/// Prints facts in which all cells of a language have the same data.
fn data() {
    let cells: Vec<Cell> = input();
    let mut facts: Vec<CellFacts> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if !cells[..at].iter().any(|before| before.settings.lang == cell.settings.lang) {
            facts.push(CellFacts { cell: cell.id.clone(), tasks: cell::facts() });
        }
    }
    println!("{}", serde_json::to_string(&facts).expect("plain data"));
}

/// Prints costs of which half are activations.
fn forecast() {
    let cells: Vec<Cell> = input();
    let bytes = std::env::var("FAKE_BYTES").map_or(4_000_000_000, |bytes| bytes.parse().expect("a number"));
    let in_parts = [(2, 3_000_000_000), (4, 2_500_000_000)];
    let forecast = |cell: &Cell| Forecast {
        cell: cell.id.clone(),
        steps: 10,
        seconds: None,
        parameters: cell::parameters(cell),
        bytes,
        in_parts: in_parts.map(|(accumulate, bytes)| InParts { accumulate, bytes }).to_vec(),
    };
    let forecasts: Vec<Forecast> = cells.iter().map(forecast).collect();
    println!("{}", serde_json::to_string(&forecasts).expect("plain data"));
}

fn version() {
    if let Ok(error) = std::env::var("FAKE_NO_DEVICE") {
        eprintln!("error: {error}");
        std::process::exit(3);
    }
    let code = std::env::var("FAKE_CODE").unwrap_or_else(|_| FAKE_CODE.into());
    println!(
        "{}",
        serde_json::json!({"version": "0.0.0", "code": code, "backends": ["flex"], "isa": "fake", "device": "fake"})
    );
}

/// Returns the value of an option.
fn after(arguments: &[String], name: &str) -> String {
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned().unwrap_or_default()
}

/// Writes its arguments instead of weights.
fn pretrain(arguments: &[String]) {
    let text = std::fs::read_to_string(after(arguments, "--text")).expect("the text");
    let epochs = after(arguments, "--epochs");
    let weights = format!("{} sentences, {epochs} epochs", text.lines().count());
    let path = std::path::Path::new(&after(arguments, "--folder")).join("model.safetensors");
    std::fs::write(path, weights).expect("the weights");
}

fn made_by(arguments: &[String]) -> MadeBy {
    MadeBy {
        version: "0.0.0".into(),
        code: std::env::var("FAKE_CODE").unwrap_or_else(|_| FAKE_CODE.into()),
        revision: String::new(),
        backend: after(arguments, "--backend"),
        device: "none".into(),
        isa: "fake".into(),
        bits: Default::default(),
        threads: after(arguments, "--threads").parse().unwrap_or(1),
        node: std::env::var("FAKE_NODE").unwrap_or_default(),
    }
}

fn work(arguments: &[String]) {
    if let Ok(error) = std::env::var("FAKE_NO_START") {
        eprintln!("{error}");
        std::process::exit(3);
    }
    let made_by = made_by(arguments);
    if let Ok(line) = std::env::var("FAKE_BABBLE") {
        println!("{line}");
    }
    let script = script();
    let deaf = script.values().any(|deed| *deed == Deed::Deaf);
    send(&Event::Ready(made_by.clone()));

    let (give, jobs) = channel::<Job>();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let line = line.expect("a line");
            if line == STOP {
                break;
            }
            give.send(serde_json::from_str(&line).expect("a job")).expect("the worker listens");
        }
        if !deaf {
            std::process::exit(0);
        }
    });
    while let Ok(job) = jobs.recv() {
        let deed = script.get(&job.cell.title()).copied().unwrap_or(Deed::Finish);
        cell::run(&job, deed, &made_by);
    }
}

fn script() -> BTreeMap<String, Deed> {
    let Ok(path) = std::env::var("FAKE_SCRIPT") else {
        return BTreeMap::new();
    };
    let text = std::fs::read_to_string(path).expect("the script");
    serde_json::from_str(&text).expect("a script")
}

/// Writes one event to standard output.
fn send(event: &Event) {
    let mut line = serde_json::to_string(event).expect("plain data");
    line.push('\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
