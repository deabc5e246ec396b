//! Lists the cells of a plan, or the results of a sweep so far: `cargo run -p frostline-record --example cells
//! -- PLAN.toml` or `... -- SWEEP_FOLDER`. Without an argument it lists the cells of a built-in plan.

use std::path::Path;

use frostline_record::{Plan, PlanError, Sweep};

const OWN: &str = "schema = 4\nname = \"mine\"\ntreebanks = { wo = \"UD_Wolof-WTB\" }\n[grid]\nlang = [\"wo\"]\n\
    policy = [\"none\", \"first-4\"]\nseed = [42, 43]\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).filter(|path| !path.starts_with('-')) {
        Some(path) if Path::new(&path).is_dir() => list_records(Path::new(&path))?,
        Some(path) => print!("{}", list_cells(&std::fs::read_to_string(&path)?, &path)?),
        None => print!("{}", list_cells(OWN, "mine.toml")?),
    }
    Ok(())
}

/// Returns a line for each cell of a plan.
fn list_cells(text: &str, place: &str) -> Result<String, PlanError> {
    let cells = Plan::parse(text, place)?.expand()?;
    let line = |cell: &frostline_record::Settings| {
        format!("{}\t{}\tseed {}\tlr {}\n", cell.lang, cell.policy, cell.seed, cell.optimizer.lr)
    };
    Ok(cells.iter().map(line).collect())
}

/// Prints a line for each record of a sweep: the trainable parameters, and the number of correct words.
fn list_records(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
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
    let text = list_cells(OWN, "mine.toml").unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    let error = list_cells(&OWN.replace("seed", "sead"), "mine.toml").unwrap_err().to_string();
    assert!(error.contains("sead"), "{error}");
}
