//! A sweep that grows until its question is answered: every policy starts with two seeds, and each round adds a seed to the
//! comparisons that are open. Which ones follows from the records in the folder alone, so that any process of the sweep adds the
//! next round, and a resumed sweep decides the same.

use std::path::Path;

use frostline_record::{Cell, Plan, Record, Rounds, Sweep};
use frostline_report::{Growth, insert_cells, next_round, split_first_round};

use crate::claims::ProcessClaims;
use crate::decision::{Decision, describe_end, describe_rounds};
use crate::fault::{Blame as _, CommandResult};
use crate::folder::stored_outcome;
use crate::notices::Notice;
use crate::report::read_prediction;
use crate::units::count_noun;

/// What follows the round that a folder's cells belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextRound {
    /// Some of its cells have no record yet.
    NotYet,
    /// Cells were added.
    Added,
    /// No further cell is needed, or the budget is spent.
    Ended,
}

/// Splits the cells of a plan that asks a question into those of the first round and the planned rest.
pub(crate) fn first_round(cells: Vec<Cell>) -> (Vec<Cell>, Rounds) {
    let (first, planned) = split_first_round(cells);
    (first, Rounds { round: 1, planned, ..Rounds::default() })
}

/// Judges the records of a folder if its round is complete, and adds the next round's cells to its `sweep.json`.
pub(crate) fn add_round(folder: &Path, claims: &ProcessClaims) -> CommandResult<NextRound> {
    let _writing = claims.hold_folder(folder)?;
    let mut sweep = Sweep::read(folder).blame_environment()?;
    let Some(rounds) = sweep.rounds.take().filter(|_| sweep.search_continues) else {
        return Ok(NextRound::Ended);
    };
    // A cell whose record cannot be read is run again.
    let is_recorded = |cell: &Cell| matches!(stored_outcome(folder, cell), Ok(Some(_)));
    if !sweep.cells.iter().all(is_recorded) {
        return Ok(NextRound::NotYet);
    }
    let records = sweep.records(folder).blame_environment()?;
    let mut read = |cell: &Cell, file: &_| read_prediction(folder, cell, file);
    let growth = Growth::of_sweep(&sweep, &records, &mut read);
    let most_new = most_new_cells(&sweep.plan, sweep.cells.len(), &records);
    let added = next_round(&growth, &sweep.cells, &rounds.planned, most_new);
    let judged = rounds.round;
    let next = judged_rounds(rounds, growth, !added.is_empty());
    say!("decide    round {judged}, {}: {}", count_noun(sweep.cells.len(), "cell"), describe_rounds(&next));
    sweep.search_continues = !added.is_empty();
    match sweep.search_continues {
        true => {
            say!("          {} more in round {}", count_noun(added.len(), "cell"), next.round);
            let (new, planned) = next.planned.into_iter().partition(|cell| added.contains(&cell.id));
            insert_cells(&mut sweep.cells, new);
            sweep.rounds = Some(Rounds { planned, ..next });
        }
        false => {
            describe_end(&next, &sweep.plan).iter().for_each(|line| say!("          {line}"));
            sweep.rounds = Some(next);
        }
    }
    sweep.write(folder).blame_environment()?;
    Decision::of_sweep(&sweep).map(Notice::Decision).iter().for_each(Notice::print_if_asked);
    Ok(if sweep.search_continues { NextRound::Added } else { NextRound::Ended })
}

/// The rounds with what was found; the number counts a further one if there is one.
fn judged_rounds(before: Rounds, growth: Growth, continues: bool) -> Rounds {
    let Growth { open, decided, set_aside, not_needed, recommended, withheld, dropped, .. } = growth;
    Rounds {
        round: before.round + usize::from(continues),
        decided,
        open: open.into_iter().map(|open| open.title).collect(),
        set_aside,
        not_needed,
        recommended,
        withheld,
        untimed: dropped,
        planned: before.planned,
    }
}

/// The most cells that the plan's budget leaves for the next round.
fn most_new_cells(plan: &Plan, cells: usize, records: &[Record]) -> usize {
    let by_count = match plan.decide.cells {
        0 => usize::MAX,
        most => most.saturating_sub(cells),
    };
    match plan.decide.hours {
        hours if hours > 0.0 => by_count.min(affordable_cells(records, hours)),
        _ => by_count,
    }
}

/// How many more cells fit into the hours, if they take as long as those that have records.
fn affordable_cells(records: &[Record], most_hours: f64) -> usize {
    let hours: Vec<f64> =
        records.iter().filter_map(|record| Some(record.timing.as_ref()?.total_ms / 3.6e6)).collect();
    let spent: f64 = hours.iter().sum();
    let mean = spent / hours.len().max(1) as f64;
    if mean > 0.0 { ((most_hours - spent) / mean).max(0.0) as usize } else { usize::MAX }
}
