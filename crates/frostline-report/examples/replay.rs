//! Replays a finished grid as if it had been run with `--decide`, with its seeds in many orders:
//! `cargo run --release -p frostline-report --example replay FOLDER...`.
//!
//! Prints a Markdown row for each folder and question: the cells that would have run, how often the answer is the whole grid's,
//! and how often another one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use frostline_record::{Cell, DecideQuestion, DecideSettings, Record, StoredFile, Sweep};
use frostline_report::{Growth, insert_cells, next_round, split_first_round};
use frostline_score::Verdict;
use frostline_score::question::Question;

type Failure = Box<dyn std::error::Error>;

/// A grid with all its records.
struct Finished {
    folder: PathBuf,
    sweep: Sweep,
    records: Vec<Record>,
    /// What was found for a set of cells, by their ids.
    known: BTreeMap<Vec<String>, Growth>,
}

fn main() -> Result<(), Failure> {
    println!(
        "| grid | question | orders of seeds | cells: mean | least | most | the grid's answer | an answer | the grid's | another |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for folder in std::env::args().skip(1) {
        for (question, asked) in [
            (Question::Recommendation, DecideQuestion::Recommendation),
            (Question::Verdicts, DecideQuestion::Verdicts),
        ] {
            replay(Path::new(&folder), question, asked)?;
        }
    }
    Ok(())
}

fn replay(folder: &Path, question: Question, asked: DecideQuestion) -> Result<(), Failure> {
    let mut sweep = Sweep::read(folder)?;
    let records = sweep.records(folder)?;
    sweep.plan.decide = DecideSettings::default();
    let whole = Growth::for_question(&sweep, &records, &mut |cell, file| read(folder, cell, file), question);
    sweep.plan.decide = DecideSettings { question: asked, ..DecideSettings::default() };
    let mut seeds: Vec<u64> = Vec::new();
    for cell in &sweep.cells {
        if !seeds.contains(&cell.settings.seed) {
            seeds.push(cell.settings.seed);
        }
    }
    let all = sweep.cells.len();
    let mut finished = Finished { folder: folder.into(), sweep, records, known: BTreeMap::new() };
    let orders = permutations(&seeds);
    let (mut cells, mut tally) = (Vec::new(), [0.0; 3]);
    for order in &orders {
        let (run, growth) = finished.grow(order)?;
        cells.push(run);
        let counts = compare(question, &growth, &whole);
        tally.iter_mut().zip(counts).for_each(|(sum, one)| *sum += one / orders.len() as f64);
    }
    let mean = cells.iter().sum::<usize>() as f64 / cells.len() as f64;
    println!(
        "| {} | {} | {} | {mean:.1} of {all} ({:.0} %) | {} | {} | {} | {:.0} % | {:.0} % | {:.0} % |",
        folder.file_name().unwrap_or_default().display(),
        asked.name(),
        orders.len(),
        100.0 * mean / all as f64,
        cells.iter().min().unwrap_or(&0),
        cells.iter().max().unwrap_or(&0),
        describe(question, &whole),
        100.0 * tally[0],
        100.0 * tally[1],
        100.0 * tally[2],
    );
    Ok(())
}

impl Finished {
    /// Grows the grid with its seeds in an order; returns the cells that it ran and what it found.
    fn grow(&mut self, order: &[u64]) -> Result<(usize, Growth), Failure> {
        let mut all = self.sweep.cells.clone();
        all.sort_by_key(|cell| order.iter().position(|seed| *seed == cell.settings.seed));
        let (mut cells, mut planned) = split_first_round(all);
        loop {
            let growth = self.judge(&cells);
            let added = next_round(&growth, &cells, &planned, usize::MAX);
            if added.is_empty() {
                return Ok((cells.len(), growth));
            }
            let (new, left) = planned.into_iter().partition(|cell| added.contains(&cell.id));
            insert_cells(&mut cells, new);
            planned = left;
        }
    }

    fn judge(&mut self, cells: &[Cell]) -> Growth {
        let is_run = |cell: &&Cell| cells.iter().any(|other| other.id == cell.id);
        let cells: Vec<Cell> = self.sweep.cells.iter().filter(is_run).cloned().collect();
        let ids: Vec<String> = cells.iter().map(|cell| cell.id.clone()).collect();
        if let Some(known) = self.known.get(&ids) {
            return known.clone();
        }
        let records: Vec<Record> =
            self.records.iter().filter(|record| ids.contains(&record.cell.id)).cloned().collect();
        let sweep = Sweep { cells, ..self.sweep.clone() };
        let growth = Growth::of_sweep(&sweep, &records, &mut |cell, file| read(&self.folder, cell, file));
        self.known.insert(ids, growth.clone());
        growth
    }
}

/// The answer of the whole grid in words.
fn describe(question: Question, whole: &Growth) -> String {
    let rows = whole.verdicts.len();
    let decided = whole.verdicts.iter().filter(|(_, verdict)| *verdict != Verdict::Undecided).count();
    match (question, whole.recommended.as_slice()) {
        (Question::Verdicts, _) => format!("{decided} of {rows} comparisons"),
        (Question::Recommendation, []) if is_shown(whole) => "nothing may be frozen".into(),
        (Question::Recommendation, []) => "none".into(),
        (Question::Recommendation, policies) => format!("`{}`", policies.join("`, `")),
    }
}

/// Whether nothing is left that could be recommended.
fn is_shown(growth: &Growth) -> bool {
    growth.open.is_empty() && growth.set_aside.is_empty()
}

/// Shares of answers that were given, that are those of the whole grid, and that are others.
fn compare(question: Question, growth: &Growth, whole: &Growth) -> [f64; 3] {
    let share = |is: bool| f64::from(u8::from(is));
    match question {
        Question::Recommendation => {
            let (own, other) = (&growth.recommended, &whole.recommended);
            // That nothing can be recommended is an answer too, if nothing is open any more.
            let answers = !own.is_empty() || is_shown(growth);
            [share(answers), share(answers && own == other), share(answers && own != other)]
        }
        Question::Verdicts => {
            let other: BTreeMap<&str, Verdict> =
                whole.verdicts.iter().map(|(title, verdict)| (title.as_str(), *verdict)).collect();
            let rows = growth.verdicts.len().max(1) as f64;
            let decided = growth.verdicts.iter().filter(|(_, verdict)| *verdict != Verdict::Undecided);
            let (mut given, mut same) = (0.0, 0.0);
            for (title, verdict) in decided {
                given += 1.0 / rows;
                same += share(other.get(title.as_str()) == Some(verdict)) / rows;
            }
            [given, same, given - same]
        }
    }
}

fn permutations(seeds: &[u64]) -> Vec<Vec<u64>> {
    if seeds.len() < 2 {
        return vec![seeds.to_vec()];
    }
    let with_first = |at: usize| {
        let mut rest = seeds.to_vec();
        let first = rest.remove(at);
        permutations(&rest).into_iter().map(move |order| [vec![first], order].concat())
    };
    (0..seeds.len()).flat_map(with_first).collect()
}

fn read(folder: &Path, cell: &Cell, file: &StoredFile) -> Option<String> {
    std::fs::read_to_string(Sweep::cell_folder(folder, cell).join(&file.file)).ok()
}
