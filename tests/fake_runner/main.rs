//! A runner for tests: it implements the workers' protocol, trains nothing, and follows a script in each
//! cell. Its results are a pure function of the cell.
//!
//! The script is the JSON file that `FAKE_SCRIPT` names: a map from a cell's title to a deed.

mod cell;

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::sync::mpsc::channel;

use frostline_e2e::{CellDeed, FAKE_CODE};
use frostline_record::{
    About, Answer, BlockScores, Cell, CellFacts, Event, Forecast, InParts, Load, MadeBy, Measurement,
    PairedTimes, Request, SCHEMA, TimedPolicy, TimingJob,
};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("worker") => serve_worker(&arguments),
        other => {
            eprintln!("error: the fake runner has no command {other:?}");
            std::process::exit(2);
        }
    }
}

/// The answer to a request that runs no cell.
fn answer_question(question: Request, arguments: &[String]) -> Answer {
    match question {
        Request::Version => Answer::Version(answer_about()),
        Request::Check(_) => Answer::Facts(Vec::new()),
        Request::Data(cells) => Answer::Facts(answer_data(&cells)),
        Request::Forecast(job) => Answer::Forecasts(answer_forecast(&job.cells)),
        Request::Time(job) => Answer::Times(answer_times(&job, arguments)),
        Request::Score(job) => Answer::Scores(job.cells.iter().map(invent_scores).collect()),
        Request::Run(_) | Request::Stop => unreachable!("no question"),
    }
}

/// Times in which each frozen policy saves a quarter of the first one's, with a little noise.
fn answer_times(job: &TimingJob, arguments: &[String]) -> PairedTimes {
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
    PairedTimes {
        schema: SCHEMA,
        policies: policies.collect(),
        subwords: vec![100; 20],
        load: Load { before: Some(0.5), stolen: Some(0.0), ..Load::default() },
        made_by: made_by(arguments),
    }
}

/// Scores by which blocks 4 and 1 of `en` are the best ones, and blocks 0 and 1 of any other language. With `FAKE_SCORES`
/// nothing is scored.
fn invent_scores(cell: &Cell) -> BlockScores {
    assert!(std::env::var_os("FAKE_SCORES").is_none(), "scores are asked for");
    let values = match cell.settings.lang.as_str() {
        "en" => vec![0.2, 0.5, 0.1, 0.3, 0.9, 0.4],
        _ => vec![0.6, 0.5, 0.4, 0.3, 0.2, 0.1],
    };
    BlockScores {
        cell: cell.id.clone(),
        sentences: vec![0],
        batch: 1,
        fisher: values.clone(),
        relative_gradient: values.clone(),
        signal_to_noise: values.clone(),
        probed: Vec::new(),
        probe_accuracy: Vec::new(),
        drift: values,
        drift_steps: 1,
        seconds: 0.0,
    }
}

/// Facts in which all cells of a language have the same data.
fn answer_data(cells: &[Cell]) -> Vec<CellFacts> {
    let mut facts: Vec<CellFacts> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if !cells[..at].iter().any(|before| before.settings.lang == cell.settings.lang) {
            facts.push(CellFacts { cell: cell.id.clone(), tasks: cell::invent_facts() });
        }
    }
    facts
}

/// Costs of which half are activations.
fn answer_forecast(cells: &[Cell]) -> Vec<Forecast> {
    let bytes = std::env::var("FAKE_BYTES").map_or(4_000_000_000, |bytes| bytes.parse().expect("a number"));
    let in_parts = [(2, 3_000_000_000), (4, 2_500_000_000)];
    let forecast = |cell: &Cell| Forecast {
        cell: cell.id.clone(),
        steps: 10,
        seconds: None,
        parameters: cell::count_parameters(cell),
        bytes,
        in_parts: in_parts.map(|(accumulate, bytes)| InParts { accumulate, bytes }).to_vec(),
    };
    cells.iter().map(forecast).collect()
}

fn answer_about() -> About {
    About {
        version: "0.0.0".into(),
        code: made_by_code(),
        backends: vec!["flex".into()],
        isa: "fake".into(),
        device: "fake".into(),
        ..About::default()
    }
}

fn made_by_code() -> String {
    std::env::var("FAKE_CODE").unwrap_or_else(|_| FAKE_CODE.into())
}

/// Returns the value of an option.
fn option_value(arguments: &[String], name: &str) -> String {
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned().unwrap_or_default()
}

fn made_by(arguments: &[String]) -> MadeBy {
    MadeBy {
        version: "0.0.0".into(),
        code: made_by_code(),
        revision: String::new(),
        backend: option_value(arguments, "--backend"),
        device: "none".into(),
        isa: "fake".into(),
        bits: Default::default(),
        threads: option_value(arguments, "--threads").parse().unwrap_or(1),
        node: std::env::var("FAKE_NODE").unwrap_or_default(),
    }
}

fn serve_worker(arguments: &[String]) {
    let fail = |variable: &str| {
        if let Ok(error) = std::env::var(variable) {
            eprintln!("{error}");
            std::process::exit(3);
        }
    };
    fail("FAKE_NO_DEVICE");
    // Workers that run cells are told their threads.
    if arguments.iter().any(|argument| argument == "--threads") {
        fail("FAKE_NO_START");
        if let Ok(line) = std::env::var("FAKE_BABBLE") {
            println!("{line}");
        }
    }
    let made_by = made_by(arguments);
    let script = read_script();
    let deaf = script.values().any(|deed| *deed == CellDeed::Deaf);
    send_event(&Event::Ready(made_by.clone()));

    let (give, requests) = channel::<Request>();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let line = line.expect("a line");
            match serde_json::from_str(&line).expect("a request") {
                Request::Stop => break,
                request => give.send(request).expect("the worker listens"),
            }
        }
        if !deaf {
            std::process::exit(0);
        }
    });
    while let Ok(request) = requests.recv() {
        match request {
            Request::Run(job) => {
                let deed = script.get(&job.cell.title()).copied().unwrap_or(CellDeed::Finish);
                cell::run_scripted_cell(&job, deed, &made_by);
            }
            question => send_event(&Event::Answer(answer_question(question, arguments))),
        }
    }
}

fn read_script() -> BTreeMap<String, CellDeed> {
    let Ok(path) = std::env::var("FAKE_SCRIPT") else {
        return BTreeMap::new();
    };
    let text = std::fs::read_to_string(path).expect("the script");
    serde_json::from_str(&text).expect("a script")
}

/// Writes one event to standard output.
fn send_event(event: &Event) {
    let mut line = serde_json::to_string(event).expect("plain data");
    line.push('\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
