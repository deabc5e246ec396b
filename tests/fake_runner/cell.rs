//! One cell of the fake runner: the files and events of a real cell, with invented figures.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use frostline_e2e::CellDeed;
use frostline_files::claim::Commit;
use frostline_record::{
    AccountRow, Accounts, Cell, Cost, EpochRow, EpochTiming, Event, Forms, FreezeCheck, Job, Loaded,
    LossPoint, MadeBy, Outcome, PrefixEvent, Record, SCHEMA, Sample, SavedFiles, Score, SplitFacts,
    StageOutcome, StageParameters, StepEvent, StoredFile, TaskFacts, TaskOutcome, Timing, Unit,
};

use crate::send_event;

const STEPS: u64 = 10;

/// Runs one cell according to the script.
pub fn run_scripted_cell(job: &Job, deed: CellDeed, made_by: &MadeBy) {
    let folder = Path::new(&job.folder);
    send_event(&Event::Loaded(loaded_event(job)));
    if deed == CellDeed::Prefix {
        for share in [Some(0.0), None, Some(0.5)] {
            send_event(&Event::Prefix(PrefixEvent { id: job.cell.id.clone(), blocks: 4, share }));
        }
    }
    let outcome = make_outcome(job, folder);
    for row in &outcome.epochs {
        write_epoch(job, row, folder);
        if deed == CellDeed::Chatter {
            let event = step_event(job, row);
            loop {
                send_event(&event);
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        act_out(deed, folder);
    }
    let first = !folder.join("tried").exists();
    std::fs::write(folder.join("tried"), "").expect("a file");
    if deed == CellDeed::Fail || (deed == CellDeed::FailOnce && first) {
        let error = "frozen weights moved".to_string();
        let is_late = !job.verify && !write_record(job, made_by, None, Some(error.clone()));
        let id = job.cell.id.clone();
        return send_event(&if is_late { Event::Late { id } } else { Event::Failed { id, error } });
    }
    let is_late = !job.verify && !write_record(job, made_by, Some(outcome), None);
    let id = job.cell.id.clone();
    send_event(&if is_late { Event::Late { id } } else { Event::Done { id } });
}

/// The failures and delays of the script.
fn act_out(deed: CellDeed, folder: &Path) {
    match deed {
        CellDeed::Crash => {
            eprintln!("thread 'main' panicked: the fake crashes");
            std::process::abort();
        }
        CellDeed::OutOfMemory => {
            eprintln!("memory allocation of 266295 bytes failed");
            std::process::abort();
        }
        CellDeed::Quit => {
            eprintln!("memory ran out");
            std::process::exit(7);
        }
        // The runner waits to be killed: a record written earlier would count.
        CellDeed::Babble => {
            println!("this is no event");
            act_out(CellDeed::Deaf, folder);
        }
        CellDeed::Deaf => loop {
            append_line(folder, &format!("{{\"pid\":{}}}", std::process::id()));
            std::thread::sleep(Duration::from_millis(20));
        },
        // The runner keeps writing until it is killed, so that a test would detect an orphaned process.
        CellDeed::Hang => loop {
            append_line(folder, &format!("{{\"pid\":{}}}", std::process::id()));
            std::thread::sleep(Duration::from_millis(5));
        },
        CellDeed::Finish | CellDeed::Prefix | CellDeed::Chatter | CellDeed::Fail | CellDeed::FailOnce => {}
    }
}

fn append_line(folder: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(folder.join("metrics.jsonl"));
    writeln!(file.expect("metrics.jsonl"), "{line}").expect("a line");
}

fn step_event(job: &Job, row: &EpochRow) -> Event {
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
    for event in [step_event(job, row), Event::Epoch { id, row: row.clone() }] {
        append_line(folder, &serde_json::to_string(&event).expect("plain data"));
        send_event(&event);
    }
}

fn loaded_event(job: &Job) -> Loaded {
    let text = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    Loaded {
        id: job.cell.id.clone(),
        steps: STEPS,
        sentences: [3, 2, 2],
        tags: text(&["NOUN", "VERB"]),
        accounts: make_accounts(job),
        stages: vec![StageParameters { name: "train".into(), trainable: make_accounts(job).trainable }],
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
pub fn count_parameters(cell: &Cell) -> [u64; 2] {
    let accounts = accounts_of(cell);
    [accounts.trainable, accounts.total]
}

fn make_accounts(job: &Job) -> Accounts {
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
fn invent_score(job: &Job, epoch: u64) -> Score {
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
fn invent_predictions(score: &Score) -> String {
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
pub fn invent_facts() -> BTreeMap<String, TaskFacts> {
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

fn make_outcome(job: &Job, folder: &Path) -> Outcome {
    let epoch = |epoch: u32| EpochRow {
        epoch,
        step: u64::from(epoch) * STEPS / 2,
        train_loss_nats: 2.0 / f64::from(epoch),
        stage: 1,
        trainable: make_accounts(job).trainable,
        dev: invent_score(job, epoch.into()),
        dev_f1: BTreeMap::new(),
        others: BTreeMap::new(),
    };
    let predictions = invent_predictions(&invent_score(job, 2));
    if !job.verify {
        frostline_files::write(&folder.join("dev.tsv"), predictions.as_bytes()).expect("predictions");
    }
    let stored = StoredFile::new("dev.tsv", predictions.as_bytes());
    let found = TaskOutcome {
        scores: [("dev".to_string(), invent_score(job, 2))].into(),
        predictions: [("dev".to_string(), stored)].into(),
    };
    let all_learn = job.cell.settings.policy == "none";
    Outcome {
        headline: "upos".into(),
        tasks: invent_facts(),
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
            accounts: make_accounts(job),
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
fn write_record(job: &Job, made_by: &MadeBy, result: Option<Outcome>, error: Option<String>) -> bool {
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
