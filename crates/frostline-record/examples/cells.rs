//! Which cells a plan has, and what a sweep of it has found so far:
//! `cargo run -p frostline-record --example cells -- PLAN.toml` or `... -- SWEEP_FOLDER`. Without an argument it lists the
//! cells of a plan of its own.

use std::path::Path;

use frostline_record::{Plan, PlanError, Sweep};

const OWN: &str = "schema = 4\nname = \"mine\"\ntreebanks = { wo = \"UD_Wolof-WTB\" }\n[grid]\nlang = [\"wo\"]\n\
    policy = [\"none\", \"first-4\"]\nseed = [42, 43]\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).filter(|path| !path.starts_with('-')) {
        Some(path) if Path::new(&path).is_dir() => found(Path::new(&path))?,
        Some(path) => print!("{}", cells(&std::fs::read_to_string(&path)?, &path)?),
        None => print!("{}", cells(OWN, "mine.toml")?),
    }
    Ok(())
}

/// A line for each cell of a plan.
fn cells(text: &str, place: &str) -> Result<String, PlanError> {
    let cells = Plan::parse(text, place)?.expand()?;
    let line = |cell: &frostline_record::Settings| {
        format!("{}\t{}\tseed {}\tlr {}\n", cell.lang, cell.policy, cell.seed, cell.optimizer.lr)
    };
    Ok(cells.iter().map(line).collect())
}

/// A line for each record of a sweep: what learned, and how many words are right.
fn found(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    for record in Sweep::read(folder)?.records(folder)? {
        let title = record.cell.title();
        match &record.result {
            Some(result) => {
                let accounts = result.accounts();
                for (split, score) in result.scores() {
                    let (trainable, total) = (accounts.trainable, accounts.total);
                    println!("{title}\t{trainable}/{total}\t{split}\t{}/{}", score.correct, score.words);
                }
            }
            None => println!("{title}\tfailed: {}", record.error.unwrap_or_default()),
        }
    }
    Ok(())
}

#[test]
fn a_plan_is_expanded() {
    let text = cells(OWN, "mine.toml").unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    let error = cells(&OWN.replace("seed", "sead"), "mine.toml").unwrap_err().to_string();
    assert!(error.contains("sead"), "{error}");
}
