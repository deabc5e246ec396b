//! Sweeps that grow until their question is answered: which cells each round adds, and what is decided.

use frostline_record::{Cell, Sweep};
use frostline_report::{Growth, insert_cells, next_round, split_first_round};

use crate::stories::{Reached, records, sweep};
use crate::text;
use crate::verdicts::{lines, report};

const PLAN: &str = "schema = 4\nname = 'grows'\n[treebanks]\nen = 'UD_English-EWT'\n\
     [decide]\nquestion = 'pairs'\npairs = [['top-2', 'first-4'], ['all', 'first-4']]\n\
     [grid]\nlang = ['en']\npolicy = ['none', 'first-4', 'all', 'top-2']\nseed = [42, 43, 44, 45, 46]\n";

/// The policy and seed of each cell.
fn names(cells: &[Cell]) -> Vec<String> {
    cells.iter().map(|cell| format!("{} {}", cell.settings.policy, cell.settings.seed)).collect()
}

/// Judges a sweep of which these cells have run.
fn judge(whole: &Sweep, cells: &[Cell]) -> Growth {
    let sweep = Sweep { cells: cells.to_vec(), ..whole.clone() };
    let (records, files) = records(&sweep, &|place| Some(Reached::Lines(lines(place).leak())));
    Growth::of_sweep(&sweep, &records, &mut |_, file| files.get(&file.sha256).cloned())
}

#[test]
fn a_round_gives_a_seed_to_the_pairs_that_are_open() {
    let whole = sweep(PLAN);
    let (mut cells, planned) = split_first_round(whole.cells.clone());
    assert_eq!((cells.len(), planned.len()), (8, 12));
    let growth = judge(&whole, &cells);
    assert_eq!(growth.verdicts.len(), 2);
    let open: Vec<&str> = growth.open.iter().map(|open| open.title.as_str()).collect();
    assert_eq!(open, ["en top-2 and first-4", "en all and first-4"]);
    let added = next_round(&growth, &cells, &planned, usize::MAX);
    let (new, planned): (Vec<Cell>, Vec<Cell>) =
        planned.into_iter().partition(|cell| added.contains(&cell.id));
    assert_eq!(names(&new), ["first-4 44", "all 44", "top-2 44"]);
    insert_cells(&mut cells, new);
    assert_eq!(names(&cells)[8..], ["first-4 44", "all 44", "top-2 44"]);
    // A budget of one cell pays for no pair, and a policy that is ahead waits for the other one.
    assert!(next_round(&growth, &cells, &planned, 1).is_empty());
    let is = |name: &str, cell: &Cell| names(std::slice::from_ref(cell)) == [name];
    let ahead = cells.iter().find(|cell| is("first-4 44", cell)).expect("it was added").clone();
    cells.retain(|cell| !is("first-4 44", cell));
    let left: Vec<Cell> = [ahead].into_iter().chain(planned).collect();
    let added = next_round(&growth, &cells, &left, usize::MAX);
    let added: Vec<Cell> = left.into_iter().filter(|cell| added.contains(&cell.id)).collect();
    assert_eq!(names(&added), ["first-4 44", "first-4 45", "all 45"]);
}

#[test]
fn all_seeds_show_that_freezing_everything_costs() {
    let whole = sweep(PLAN);
    let growth = judge(&whole, &whole.cells);
    assert!(growth.decided.contains(&"en all and first-4 (worse)".to_string()), "{growth:?}");
    assert!(growth.open.len() + growth.set_aside.len() <= 1, "{growth:?}");
}

#[test]
fn a_report_shows_the_pairs_that_were_asked_for() {
    let sweep = sweep(PLAN);
    let (records, files) = records(&sweep, &|place| Some(Reached::Lines(lines(place).leak())));
    let files = report(&sweep, &records, &files).files().expect("a report");
    let page = text(&files, "report.md");
    let table = page.split("Pairs of policies on dev").nth(1).expect("a section");
    let row = table.lines().find(|line| line.contains("`all`") || line.contains("| all ")).expect("a row");
    assert!(row.contains("first-4") && row.contains("worse"), "{row}");
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    assert_eq!(json["pairs"][1]["verdict"], "worse");
    assert_eq!(json["pairs"][1]["policies"], serde_json::json!(["all", "first-4"]));
}
