//! A sweep that grows until its question is answered: every policy starts with two seeds, and each round adds a seed to the
//! comparisons that are open. Which ones follows from the records alone, so a resumed sweep decides the same.

use std::path::Path;

use frostline_record::{Cell, DecideQuestion, DecideSettings, Grid, Plan, Record, Sweep};
use frostline_report::{GrowingGrid, Growth};

use crate::fault::{Blame as _, CommandResult};
use crate::report::read_prediction;
use crate::units::count_noun;

/// The rounds of a sweep that grows.
#[derive(Debug)]
pub(crate) struct GrowthRounds {
    grid: GrowingGrid,
    /// Whether the question is which policy to choose.
    asks_for_one: bool,
    /// The most hours of all cells; 0 means no limit.
    most_hours: f64,
    round: usize,
    ended: bool,
}

impl GrowthRounds {
    /// The start of a plan's grid, if the plan asks a question.
    pub(crate) fn new(plan: &Plan, grid: &Grid) -> Option<Self> {
        if !plan.decide.is_on() {
            return None;
        }
        let mut seeds = Vec::new();
        for seed in grid.iter().map(|settings| settings.seed) {
            if !seeds.contains(&seed) {
                seeds.push(seed);
            }
        }
        let DecideSettings { question, cells, hours } = plan.decide;
        let asks_for_one = question == DecideQuestion::Recommendation;
        Some(Self {
            grid: GrowingGrid::new(seeds, cells),
            asks_for_one,
            most_hours: hours,
            round: 1,
            ended: false,
        })
    }

    /// Keeps the cells that are run by now.
    pub(crate) fn keep_due(&self, cells: &mut Vec<Cell>) {
        cells.retain(|cell| self.grid.has(cell));
    }

    /// Whether a round can follow the current one.
    pub(crate) fn has_next_round(&self) -> bool {
        !self.ended
    }

    /// Judges the records of a folder, and adds a seed to every open comparison. Returns whether there is another round.
    pub(crate) fn next_round(&mut self, folder: &Path) -> CommandResult<bool> {
        let sweep = Sweep::read(folder).blame_environment()?;
        let records = sweep.records(folder).blame_environment()?;
        let mut read = |cell: &Cell, file: &_| read_prediction(folder, cell, file);
        let growth = Growth::of_sweep(&sweep, &records, &mut read);
        let cells = sweep.cells.len();
        let affordable = (self.most_hours > 0.0).then(|| affordable_cells(&records, self.most_hours));
        let added = self.grid.add_round(&growth, cells, affordable);
        self.announce_round(&growth, cells, added);
        self.ended = added == 0;
        self.round += 1;
        Ok(!self.ended)
    }

    fn announce_round(&self, growth: &Growth, cells: usize, added: usize) {
        let Growth { open, decided, set_aside, irrelevant, recommended, .. } = growth;
        let titles: Vec<&str> = open.iter().map(|open| open.title.as_str()).collect();
        let mut parts = vec![format!("{} decided", count_noun(*decided, "comparison"))];
        let mut note = |count: usize, words: String| {
            if count > 0 {
                parts.push(words);
            }
        };
        note(open.len(), format!("{} open ({})", open.len(), titles.join(", ")));
        note(set_aside.len(), format!("{} set aside ({})", set_aside.len(), set_aside.join(", ")));
        note(*irrelevant, format!("{irrelevant} not needed"));
        say!("decide    round {}, {}: {}", self.round, count_noun(cells, "cell"), parts.join(", "));
        if added > 0 {
            say!("          {} more in round {}", count_noun(added, "cell"), self.round + 1);
            return;
        }
        if !open.is_empty() {
            say!(
                "          no more cells are planned: all seeds of the plan are used, or decide.cells or decide.hours is reached"
            );
        }
        if !set_aside.is_empty() {
            say!(
                "          the planned seeds are unlikely to decide what is set aside; the report names what would"
            );
        }
        match recommended.as_slice() {
            _ if !self.asks_for_one => {}
            [] => say!("          no policy is shown to lose at most the margin"),
            policies => say!(
                "          the cheapest that is shown to lose at most the margin: {}",
                policies.join(", ")
            ),
        }
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
