//! One cell of the fake runner: the files and events of a real cell, with invented figures.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use frostline_e2e::Deed;
use frostline_files::claim::Commit;
use frostline_record::{
    AccountRow, Accounts, Cell, Cost, EpochRow, EpochTiming, Event, Forms, FreezeCheck, Job, Loaded,
    LossPoint, MadeBy, Outcome, PrefixEvent, Record, SCHEMA, Sample, SavedFiles, Score, SplitFacts,
    StageOutcome, StageParameters, StepEvent, StoredFile, TaskFacts, TaskOutcome, Timing, Unit,
};

use crate::send;

const STEPS: u64 = 10;

/// Runs one cell according to the script.
pub fn run(job: &Job, deed: Deed, made_by: &MadeBy) {
    let folder = Path::new(&job.folder);
    send(&Event::Loaded(loaded(job)));
    if deed == Deed::Prefix {
        for share in [Some(0.0), None, Some(0.5)] {
            send(&Event::Prefix(PrefixEvent { id: job.cell.id.clone(), blocks: 4, share }));
        }
    }
    let outcome = outcome(job, folder);
    for row in &outcome.epochs {
        write_epoch(job, row, folder);
        if deed == Deed::Chatter {
            let event = step(job, row);
            loop {
                send(&event);
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        act(deed, folder);
    }
    let first = !folder.join("tried").exists();
    std::fs::write(folder.join("tried"), "").expect("a file");
    if deed == Deed::Fail || (deed == Deed::FailOnce && first) {
        let error = "frozen weights moved".to_string();
        let is_late = !job.verify && !record(job, made_by, None, Some(error.clone()));
        let id = job.cell.id.clone();
        return send(&if is_late { Event::Late { id } } else { Event::Failed { id, error } });
    }
    let is_late = !job.verify && !record(job, made_by, Some(outcome), None);
    let id = job.cell.id.clone();
    send(&if is_late { Event::Late { id } } else { Event::Done { id } });
}

/// The failures and delays of the script.
fn act(deed: Deed, folder: &Path) {
    match deed {
        Deed::Crash => {
            eprintln!("thread 'main' panicked: the fake crashes");
            std::process::abort();
        }
        Deed::OutOfMemory => {
            eprintln!("memory allocation of 266295 bytes failed");
            std::process::abort();
        }
        Deed::Quit => {
            eprintln!("memory ran out");
            std::process::exit(7);
        }
        // The runner waits to be killed: a record written earlier would count.
        Deed::Babble => {
            println!("this is no event");
            act(Deed::Deaf, folder);
        }
        Deed::Deaf => loop {
            append(folder, &format!("{{\"pid\":{}}}", std::process::id()));
            std::thread::sleep(Duration::from_millis(20));
        },
        // The runner keeps writing until it is killed, so that a test would detect an orphaned process.
        Deed::Hang => loop {
            append(folder, &format!("{{\"pid\":{}}}", std::process::id()));
            std::thread::sleep(Duration::from_millis(5));
        },
        Deed::Finish | Deed::Prefix | Deed::Chatter | Deed::Fail | Deed::FailOnce => {}
    }
}

fn append(folder: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(folder.join("metrics.jsonl"));
    writeln!(file.expect("metrics.jsonl"), "{line}").expect("a line");
}

fn step(job: &Job, row: &EpochRow) -> Event {
    Event::Step(StepEvent {
        id: job.cell.id.clone(),
        step: row.step,
        steps: STEPS,
        epoch: row.epoch,
        loss_nats: row.train_loss_nats,
        lr: 1e-5,
        tokens_per_s: 12_345.0,
        left_s: 1.0,
        peak_rss_mib: Some(64.0),
    })
}

fn write_epoch(job: &Job, row: &EpochRow, folder: &Path) {
    let id = job.cell.id.clone();
    for event in [step(job, row), Event::Epoch { id, row: row.clone() }] {
        append(folder, &serde_json::to_string(&event).expect("plain data"));
        send(&event);
    }
}

fn loaded(job: &Job) -> Loaded {
    let text = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    Loaded {
        id: job.cell.id.clone(),
        steps: STEPS,
        sentences: [3, 2, 2],
        tags: text(&["NOUN", "VERB"]),
        accounts: accounts(job),
        stages: vec![StageParameters { name: "train".into(), trainable: accounts(job).trainable }],
        initialised: text(&["upos.weight", "upos.bias"]),
        sample: Sample {
            words: text(&["Glaciers", "thaw"]),
            subwords: text(&["[CLS]", "glac", "##iers", "thaw", "[SEP]"]),
            labels: text(&["", "NOUN", "", "VERB", ""]),
        },
        load_ms: 1.0,
        resumed: 0,
    }
}

/// Returns the numbers of trainable and of all parameters.
pub fn parameters(cell: &Cell) -> [u64; 2] {
    let accounts = accounts_of(cell);
    [accounts.trainable, accounts.total]
}

fn accounts(job: &Job) -> Accounts {
    accounts_of(&job.cell)
}

fn accounts_of(cell: &Cell) -> Accounts {
    let blocks = if cell.settings.policy == "none" { 60 } else { 10 };
    let row = |group: &str, total, trainable| AccountRow { group: group.into(), total, trainable };
    Accounts {
        total: 172,
        trainable: 112 - 60 + blocks,
        groups: vec![row("embeddings", 100, 40), row("block 0", 60, blocks), row("head", 12, 12)],
    }
}

/// Returns a score between 50 and 90 of 100 words that depends only on the cell.
fn score(job: &Job, epoch: u64) -> Score {
    let digit = u64::from_str_radix(&job.cell.id[..2], 16).expect("an id");
    Score {
        loss_nats: 1.0 / (1.0 + epoch as f64),
        sentences: 2,
        words: 100,
        correct: 50 + digit % 30 + 5 * epoch,
        ..Score::default()
    }
}

/// Words in two sentences, of which as many are correct as in the score.
fn predictions(score: &Score) -> String {
    let mut text = String::from("sent_id\tid\tform\tgold\tpredicted\ttrain\n");
    for word in 0..score.words {
        let (sentence, number) = (word * score.sentences / score.words, word + 1);
        let predicted = if word < score.correct { "NOUN" } else { "VERB" };
        let known = ["unambiguous", "unknown", "ambiguous"][word as usize % 3];
        text += &format!("s{sentence}\t{number}\tword{word}\tNOUN\t{predicted}\t{known}\n");
    }
    text
}

/// Facts about the data of every cell.
pub fn facts() -> BTreeMap<String, TaskFacts> {
    let split = |sentences, words, subwords| SplitFacts {
        sentences,
        words,
        subwords,
        tags: [("NOUN".to_string(), words)].into(),
        forms: Forms { words, types: words, ..Forms::default() },
        ..SplitFacts::default()
    };
    let facts = TaskFacts {
        unit: Unit::Words,
        tags: vec!["NOUN".into(), "VERB".into()],
        train: split(3, 9, 15),
        dev: split(2, 100, 104),
        test: None,
    };
    [("upos".to_string(), facts)].into()
}

fn outcome(job: &Job, folder: &Path) -> Outcome {
    let epoch = |epoch: u32| EpochRow {
        epoch,
        step: u64::from(epoch) * STEPS / 2,
        train_loss_nats: 2.0 / f64::from(epoch),
        stage: 1,
        trainable: accounts(job).trainable,
        dev: score(job, epoch.into()),
        dev_f1: BTreeMap::new(),
        others: BTreeMap::new(),
    };
    let predictions = predictions(&score(job, 2));
    if !job.verify {
        frostline_files::write(&folder.join("dev.tsv"), predictions.as_bytes()).expect("predictions");
    }
    let stored = StoredFile::new("dev.tsv", predictions.as_bytes());
    let found = TaskOutcome {
        scores: [("dev".to_string(), score(job, 2))].into(),
        predictions: [("dev".to_string(), stored)].into(),
    };
    let all_learn = job.cell.settings.policy == "none";
    Outcome {
        headline: "upos".into(),
        tasks: facts(),
        encoder: None,
        cost: Cost {
            gflop_per_step: if all_learn { 3.0 } else { 2.0 },
            predicted_speedup: if all_learn { 1.0 } else { 1.25 },
            predicted_speedup_cached: if all_learn { 1.0 } else { 1.25 },
            subwords_per_step: 15.0,
            context_subwords: 5.0,
            speaking_per_step: 9.0,
            word_rows: 20,
            memory: None,
        },
        steps: STEPS,
        epochs: vec![epoch(1), epoch(2)],
        train_loss: vec![LossPoint { step: 5, loss_nats: 2.0, lr: 1e-5 }],
        dev_points: Vec::new(),
        baselines: BTreeMap::new(),
        stages: vec![StageOutcome {
            name: "train".into(),
            policy: job.cell.settings.policy.to_string(),
            accounts: accounts(job),
            steps: STEPS,
            selected_epoch: 2,
            tasks: [("upos".to_string(), found)].into(),
            freezing: FreezeCheck { frozen: 1, moved: 2, unmoved: vec![] },
            settled: vec![],
            stopped_early: None,
        }],
        changes: vec![],
        files: SavedFiles::default(),
    }
}

/// Writes the record; false if another process has the cell, or has recorded it.
fn record(job: &Job, made_by: &MadeBy, result: Option<Outcome>, error: Option<String>) -> bool {
    let timing = result.is_some().then(|| Timing {
        load_ms: 1.0,
        train_ms: 1000.0,
        eval_ms: 100.0,
        baselines_ms: 0.0,
        total_ms: 1101.0,
        step_ms_median: 100.0,
        samples_per_s: 6.0,
        steps_per_s: 10.0,
        tokens_per_s: 12_345.0,
        epochs: vec![EpochTiming { train_ms: 500.0, eval_ms: 50.0 }; 2],
        prefix: frostline_record::PrefixUse::default(),
        peak_rss_mib: 1.0,
        load: None,
        predicted_step_ms: None,
    });
    let record =
        Record { schema: SCHEMA, cell: job.cell.clone(), result, timing, made_by: made_by.clone(), error };
    record.write_claimed(job.folder.as_ref(), job.claim.as_ref()).expect("the record") == Commit::Done
}
