//! A report from records of another tool: a table `lang,policy,seed,words,correct` becomes tables, figures and a page.
//! `cargo run -p frostline-report --example elsewhere -- RESULTS.csv FOLDER`. Without arguments it prints the table of
//! numbers of its own.

use std::collections::BTreeMap;
use std::path::Path;

use frostline_record::{
    Accounts, Cell, Cost, EpochRow, FreezeCheck, MadeBy, Outcome, Plan, Record, SCHEMA, SavedFiles, Score,
    Settings, SplitFacts, StageOutcome, Sweep, TaskFacts, TaskOutcome, Unit,
};
use frostline_report::Report;

type Error = Box<dyn std::error::Error>;

const OWN: &str = "lang,policy,seed,words,correct\nen,none,1,1000,940\nen,none,2,1000,944\nen,first-4,1,1000,931\n\
    en,first-4,2,1000,929\n";

fn main() -> Result<(), Error> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let (sweep, records) = match arguments.first() {
        Some(path) => study(&std::fs::read_to_string(path)?)?,
        None => study(OWN)?,
    };
    let report = Report::new(&sweep, &records, &[], None);
    print!("{}", report.terminal_table(100));
    if let Some(folder) = arguments.get(1) {
        for file in report.files()? {
            let path = Path::new(folder).join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(folder)))?;
            std::fs::write(&path, &file.bytes)?;
        }
    }
    Ok(())
}

/// A sweep with a cell for each line, and the cells' records.
fn study(table: &str) -> Result<(Sweep, Vec<Record>), Error> {
    let plan = "schema = 4\nname = \"elsewhere\"\ntreebanks = { en = \"another tool\" }\n[grid]\npolicy = [\"none\"]\n";
    let plan = Plan::parse(plan, "elsewhere.toml")?;
    let mut records = Vec::new();
    for line in table.lines().skip(1) {
        let [lang, policy, seed, words, correct] = line.split(',').collect::<Vec<_>>()[..] else {
            return Err(format!("{line:?}: expected lang,policy,seed,words,correct").into());
        };
        let settings = Settings {
            lang: lang.parse()?,
            policy: policy.parse()?,
            seed: seed.parse()?,
            ..Settings::default()
        };
        let cell = Cell::new(settings, BTreeMap::new(), "elsewhere", "");
        let score =
            Score { words: words.parse()?, correct: correct.parse()?, sentences: 1, ..Score::default() };
        records.push(record(cell, &score));
    }
    let cells = records.iter().map(|record| record.cell.clone()).collect();
    Ok((
        Sweep {
            schema: SCHEMA,
            plan,
            overrides: vec![],
            twins: Vec::new(),
            cells,
            reference: None,
            rates: None,
            block_scores: Vec::new(),
            rounds: None,
            search_continues: false,
        },
        records,
    ))
}

/// What is not known stays empty or zero.
fn record(cell: Cell, score: &Score) -> Record {
    let splits = BTreeMap::from([("dev".to_string(), score.clone())]);
    let task = TaskOutcome { scores: splits, ..TaskOutcome::default() };
    let empty = SplitFacts::default;
    let facts = TaskFacts { unit: Unit::Words, tags: vec![], train: empty(), dev: empty(), test: None };
    let stage = StageOutcome {
        name: "train".into(),
        policy: cell.settings.policy.to_string(),
        accounts: Accounts::default(),
        selected_epoch: 1,
        tasks: BTreeMap::from([("upos".to_string(), task)]),
        freezing: FreezeCheck::default(),
        ..StageOutcome::default()
    };
    let epoch = EpochRow {
        epoch: 1,
        stage: 1,
        step: 0,
        trainable: 0,
        train_loss_nats: 0.0,
        dev: score.clone(),
        dev_f1: BTreeMap::new(),
        others: BTreeMap::new(),
    };
    let cost = Cost {
        gflop_per_step: 0.0,
        predicted_speedup: 1.0,
        predicted_speedup_cached: 1.0,
        subwords_per_step: 0.0,
        context_subwords: 0.0,
        speaking_per_step: 0.0,
        word_rows: 0,
        memory: None,
    };
    let result = Outcome {
        headline: "upos".into(),
        tasks: BTreeMap::from([("upos".to_string(), facts)]),
        encoder: None,
        cost,
        steps: 0,
        epochs: vec![epoch],
        train_loss: vec![],
        dev_points: Vec::new(),
        baselines: BTreeMap::new(),
        stages: vec![stage],
        changes: vec![],
        files: SavedFiles::default(),
    };
    let made_by = MadeBy {
        version: String::new(),
        code: String::new(),
        revision: String::new(),
        backend: "elsewhere".into(),
        device: String::new(),
        isa: String::new(),
        bits: Default::default(),
        threads: 1,
        node: String::new(),
    };
    Record { schema: SCHEMA, cell, result: Some(result), timing: None, made_by, error: None }
}

#[test]
fn numbers_of_another_tool_stand_in_the_table() {
    let (sweep, records) = study(OWN).unwrap();
    let report = Report::new(&sweep, &records, &[], None);
    let table = report.terminal_table(100);
    assert!(table.contains("94.20") && table.contains("93.00"), "{table}");
    assert!(report.files().unwrap().iter().any(|file| file.path == "index.html"));
}
