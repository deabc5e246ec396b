//! Builds records of cells that have more to tell: stages, several tasks, sentences, thawing. Their
//! numbers are made up, their predictions are files that agree with them.

use std::collections::BTreeMap;

use frostline_record::{
    AccountRow, Accounts, Cell, Cost, Entities, EpochRow, EpochTiming, FreezeCheck, Input, Outcome, Plan,
    Record, SCHEMA, SavedFiles, Score, Settings, SplitFacts, StageOutcome, StoredFile, Sweep, TaskFacts,
    TaskOutcome, Timing, Unit, sha256,
};

use crate::common::{maker, reference};

/// What a task reached on a split.
pub enum Reached {
    /// Words, and how many of them are right.
    Words(u64, u64),
    /// The same with entities in the data, predicted, and right.
    Entities(u64, u64, [u64; 3]),
    /// Lines of a file of predictions, columns apart by spaces.
    Lines(&'static str),
    /// Labels, and how often each was taken for which.
    Labels(Vec<&'static str>, Vec<Vec<u64>>),
}

/// Where a number is wanted: the cell's settings, the stage from 0, task and split.
pub struct Place<'a> {
    pub settings: &'a Settings,
    pub stage: usize,
    pub task: &'a str,
    pub split: &'a str,
}

/// Files of predictions by their SHA-256.
pub type Files = BTreeMap<String, String>;

/// A sweep of a plan written as TOML.
pub fn sweep(toml: &str) -> Sweep {
    let plan = Plan::parse(toml, "story.toml").expect("a good plan");
    let cells = plan.expand().expect("a good grid").into_iter().map(|settings| {
        let path = format!("/data/{}/train", settings.lang);
        let input = Input { sha256: sha256(path.as_bytes()), path, bytes: 1_000 };
        Cell::new(settings, BTreeMap::from([("train".to_string(), input)]), "flex", "c0de")
    });
    Sweep {
        schema: SCHEMA,
        cells: cells.collect(),
        plan,
        overrides: Vec::new(),
        twins: Vec::new(),
        reference: reference("partial-freezing"),
        rates: None,
        block_scores: Vec::new(),
        rounds: None,
        search_continues: false,
    }
}

/// A record for every cell, and the files beside them.
pub fn records(sweep: &Sweep, reach: &dyn Fn(&Place<'_>) -> Option<Reached>) -> (Vec<Record>, Files) {
    let mut files = Files::new();
    let records = sweep.cells.iter().map(|cell| record(cell, reach, &mut files)).collect();
    (records, files)
}

/// Parameters that learn under a policy, of a million in the encoder and a thousand per head.
fn trainable(policy: &str) -> u64 {
    match policy {
        "head-only" => 1_000,
        "head-only+heads" => 0,
        "all+embeddings" => 2_000,
        "first-4" => 601_000,
        _ => 1_001_000,
    }
}

fn record(cell: &Cell, reach: &dyn Fn(&Place<'_>) -> Option<Reached>, files: &mut Files) -> Record {
    let settings = &cell.settings;
    let mut epochs: Vec<EpochRow> = Vec::new();
    let mut stages = Vec::new();
    for (number, (name, of_stage)) in settings.in_stages().expect("good stages").into_iter().enumerate() {
        let mut tasks: BTreeMap<String, TaskOutcome> = BTreeMap::new();
        for task in settings.tasks.keys() {
            let mut outcome = TaskOutcome::default();
            for split in if settings.eval.test { &["dev", "test"][..] } else { &["dev"] } {
                let place = Place { settings, stage: number, task, split };
                let Some(reached) = reach(&place) else { continue };
                let text = predictions(&reached);
                let file = format!("{name}-{task}-{split}.tsv");
                outcome.predictions.insert((*split).into(), StoredFile::new(file, text.as_bytes()));
                files.insert(sha256(text.as_bytes()), text);
                outcome.scores.insert((*split).into(), score(&reached));
            }
            tasks.insert(task.to_string(), outcome);
        }
        let dev = |task: &str| tasks[task].scores["dev"].clone();
        for epoch in 1..=of_stage.train.epochs {
            let every = settings.unfreeze.every;
            let thawed =
                (epoch - 1).checked_div(every).map_or(u64::MAX, |thaws| u64::from(thaws) * 200_000 + 1_000);
            let others = settings.tasks.keys().filter(|task| *task != settings.headline());
            let mut head = dev(settings.headline());
            // Earlier epochs lack some.
            head.correct -= u64::from(of_stage.train.epochs - epoch) * head.words / 100;
            epochs.push(EpochRow {
                epoch: epochs.len() as u32 + 1,
                stage: number as u32 + 1,
                step: 10 * (epochs.len() as u64 + 1),
                trainable: trainable(of_stage.policy.as_str()).min(thawed),
                train_loss_nats: 0.5 / f64::from(epoch),
                dev_f1: [("0", 0.0), ("1", 0.1)]
                    .map(|(label, less)| (label.to_string(), head.accuracy() - less))
                    .into(),
                dev: head,
                others: others.map(|task| (task.to_string(), dev(task))).collect(),
            });
        }
        stages.push(StageOutcome {
            name: name.into(),
            policy: of_stage.policy.to_string(),
            accounts: Accounts {
                total: 1_001_000,
                trainable: trainable(of_stage.policy.as_str()),
                groups: vec![AccountRow { group: "head".into(), total: 1_000, trainable: 1_000 }],
            },
            steps: 10 * u64::from(of_stage.train.epochs),
            selected_epoch: epochs.len() as u32,
            tasks,
            freezing: FreezeCheck { frozen: 3, moved: 4, unmoved: Vec::new() },
            settled: Vec::new(),
            stopped_early: None,
        });
    }
    let timing = timing(epochs.len(), settings);
    let result = outcome(settings, epochs, stages);
    Record {
        schema: SCHEMA,
        cell: cell.clone(),
        result: Some(result),
        timing: Some(timing),
        made_by: maker(),
        error: None,
    }
}

fn outcome(settings: &Settings, epochs: Vec<EpochRow>, stages: Vec<StageOutcome>) -> Outcome {
    let facts = |task: &frostline_record::TaskSettings| TaskFacts {
        unit: task.unit(),
        tags: match task.unit() {
            Unit::Words => ["B-PER", "O"],
            Unit::Sentences => ["0", "1"],
        }
        .map(String::from)
        .to_vec(),
        train: SplitFacts { sentences: 6_920, words: 6_920, subwords: 160_000, ..SplitFacts::default() },
        dev: SplitFacts::default(),
        test: None,
    };
    Outcome {
        headline: settings.headline().into(),
        tasks: settings.tasks.iter().map(|(name, task)| (name.to_string(), facts(task))).collect(),
        encoder: None,
        cost: Cost {
            gflop_per_step: 12.5,
            predicted_speedup: 1.0,
            predicted_speedup_cached: 1.0,
            subwords_per_step: 352.0,
            context_subwords: 33.0,
            speaking_per_step: 16.0,
            word_rows: 12_000,
            memory: None,
        },
        steps: epochs.last().map_or(0, |row| row.step),
        train_loss: Vec::new(),
        dev_points: Vec::new(),
        baselines: BTreeMap::new(),
        epochs,
        stages,
        changes: Vec::new(),
        files: SavedFiles::default(),
    }
}

fn timing(epochs: usize, settings: &Settings) -> Timing {
    let train_ms = 1_000.0 * epochs as f64 + settings.seed as f64;
    Timing {
        load_ms: 100.0,
        train_ms,
        eval_ms: 200.0,
        baselines_ms: 0.0,
        total_ms: train_ms + 300.0,
        step_ms_median: 100.0,
        samples_per_s: 160.0,
        steps_per_s: 10.0,
        tokens_per_s: 3_500.0,
        epochs: vec![EpochTiming { train_ms: 1_000.0, eval_ms: 20.0 }; epochs],
        prefix: frostline_record::PrefixUse::default(),
        peak_rss_mib: 512.0,
        load: None,
        predicted_step_ms: None,
    }
}

fn score(reached: &Reached) -> Score {
    let (words, correct, entities) = match reached {
        Reached::Words(words, correct) => (*words, *correct, None),
        Reached::Entities(words, correct, [gold, predicted, right]) => {
            (*words, *correct, Some(Entities { gold: *gold, predicted: *predicted, correct: *right }))
        }
        Reached::Lines(lines) => {
            let columns = lines.trim().lines().map(|line| line.split(' ').collect::<Vec<_>>());
            let right = columns.clone().filter(|columns| columns[3] == columns[4]).count();
            (columns.count() as u64, right as u64, None)
        }
        Reached::Labels(_, counts) => {
            let right = counts.iter().enumerate().map(|(at, row)| row[at]).sum();
            (counts.iter().flatten().sum(), right, None)
        }
    };
    let missing = 1.0 - correct as f64 / words as f64;
    Score { loss_nats: 2.0 * missing, sentences: words / 10, words, correct, entities, ..Score::default() }
}

fn predictions(reached: &Reached) -> String {
    let of_words = !matches!(reached, Reached::Labels(..));
    let mut text = String::from("sent_id\tid\tform\tgold\tpredicted");
    text += if of_words { "\ttrain\n" } else { "\n" };
    match reached {
        Reached::Labels(labels, counts) => {
            let mut number = 0;
            for (gold, row) in labels.iter().zip(counts) {
                for (predicted, count) in labels.iter().zip(row) {
                    for _ in 0..*count {
                        number += 1;
                        text += &format!("{number}\t0\tsome words\t{gold}\t{predicted}\n");
                    }
                }
            }
        }
        Reached::Words(words, correct) | Reached::Entities(words, correct, _) => {
            for word in 0..*words {
                let (sentence, said) = (word / 10, if word < *correct { "N" } else { "V" });
                text += &format!("{sentence}\t{}\tw\tN\t{said}\tunambiguous\n", word % 10 + 1);
            }
        }
        Reached::Lines(lines) => text += &(lines.trim().replace(' ', "\t") + "\n"),
    }
    text
}
