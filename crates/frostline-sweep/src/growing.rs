//! A sweep that grows until its question is answered: every policy starts with two seeds, and each round adds a seed to the
//! comparisons that are open. Which ones follows from the records alone, so a resumed sweep decides the same.

use std::path::Path;

use frostline_record::{Cell, DecideQuestion, DecideSettings, FIRST_SEEDS, Grid, Plan, Settings, Sweep};
use frostline_report::{Growth, OpenComparison};

use crate::fault::{Blame as _, CommandResult};
use crate::report::read_prediction;
use crate::units::count_noun;

/// The numbers of seeds that a sweep has come to.
#[derive(Debug)]
pub(crate) struct GrowingGrid {
    /// The plan's seeds in order.
    seeds: Vec<u64>,
    /// The most cells; 0 means no limit.
    most_cells: usize,
    /// Settings without their seed that have more seeds than at the start, and how many.
    grown: Vec<(Settings, usize)>,
    /// Whether the question is which policy to choose.
    asks_for_one: bool,
    round: usize,
    ended: bool,
}

impl GrowingGrid {
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
        let DecideSettings { question, cells: most_cells } = plan.decide;
        let asks_for_one = question == DecideQuestion::Recommendation;
        Some(Self { seeds, most_cells, grown: Vec::new(), asks_for_one, round: 1, ended: false })
    }

    /// Whether a cell with these settings is run by now.
    fn has(&self, settings: &Settings) -> bool {
        let place = self.seeds.iter().position(|seed| *seed == settings.seed);
        place.is_some_and(|place| place < self.seeds_of(settings))
    }

    /// How many seeds cells with these settings have by now.
    fn seeds_of(&self, settings: &Settings) -> usize {
        let key = without_seed(settings);
        self.grown.iter().find(|(grown, _)| *grown == key).map_or(FIRST_SEEDS, |(_, seeds)| *seeds)
    }

    /// Keeps the cells that are run by now.
    pub(crate) fn keep_due(&self, cells: &mut Vec<Cell>) {
        cells.retain(|cell| self.has(&cell.settings));
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
        let before = sweep.cells.len();
        let mut added = Vec::new();
        for open in &growth.open {
            let cells = self.missing_cells(open);
            let is_affordable = self.most_cells == 0 || before + added.len() + cells.len() <= self.most_cells;
            if self.seeds_of(&open.policy) >= self.seeds.len() || !is_affordable {
                continue;
            }
            for settings in cells {
                let seeds = self.seeds_of(&settings) + 1;
                let key = without_seed(&settings);
                match self.grown.iter_mut().find(|(grown, _)| *grown == key) {
                    Some((_, known)) => *known = seeds,
                    None => self.grown.push((key, seeds)),
                }
                added.push(settings);
            }
        }
        self.announce_round(&growth, before, added.len());
        self.ended = added.is_empty();
        self.round += 1;
        Ok(!self.ended)
    }

    /// The settings that need a further seed, so that a comparison has one more.
    fn missing_cells(&self, open: &OpenComparison) -> Vec<Settings> {
        let next = self.seeds_of(&open.policy) + 1;
        let baseline = (self.seeds_of(&open.baseline) < next).then(|| open.baseline.clone());
        [open.policy.clone()].into_iter().chain(baseline).collect()
    }

    fn announce_round(&self, growth: &Growth, cells: usize, added: usize) {
        let Growth { open, decided, set_aside, irrelevant, recommended } = growth;
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
                "          no more cells are planned: all seeds of the plan are used, or decide.cells is reached"
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

fn without_seed(settings: &Settings) -> Settings {
    Settings { seed: 0, ..settings.clone() }
}
