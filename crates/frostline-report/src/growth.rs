//! What a sweep that grows until it knows needs next. The same verdicts and costs as in its report decide, so the report's answer is
//! the sweep's.

use frostline_record::{Cell, DecideQuestion, FIRST_SEEDS, Record, Settings, Sweep};
use frostline_score::question::{Knowledge, Question, assess};
use frostline_score::{Judged, Verdict};

use crate::report::Predictions;
use crate::study::advice::SPLIT;
use crate::study::cells::BASELINE;
use crate::study::{Group, Stored, Study, distinct};

/// The state of a sweep that grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growth {
    /// Comparisons of a policy with `none` in a language that need more seeds, the cheapest policy first.
    pub open: Vec<OpenComparison>,
    /// Comparisons that answer their part of the question.
    pub decided: usize,
    /// Comparisons that the planned seeds are unlikely to decide.
    pub set_aside: Vec<String>,
    /// Comparisons that do not matter for the question any more.
    pub irrelevant: usize,
    /// The policies that the question's answer recommends: one for each combination of the further axes that has one.
    pub recommended: Vec<String>,
    /// The verdict on each comparison.
    pub verdicts: Vec<(String, Verdict)>,
}

/// A comparison that needs more seeds: a cell's settings and those of the cell with `none`, of any seed.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenComparison {
    /// The language and the policy, for messages.
    pub title: String,
    /// The settings of a cell of the policy.
    pub policy: Settings,
    /// The settings of a cell with `none`.
    pub baseline: Settings,
}

impl Growth {
    /// Judges a sweep's records. `predictions` gives the text of a cell's file, as for [`Report::new`](crate::Report::new).
    #[must_use]
    pub fn of_sweep(sweep: &Sweep, records: &[Record], predictions: &mut Predictions<'_>) -> Self {
        match sweep.plan.decide.question {
            DecideQuestion::Off => Self::default(),
            DecideQuestion::Recommendation => {
                Self::for_question(sweep, records, predictions, Question::Recommendation)
            }
            DecideQuestion::Verdicts => Self::for_question(sweep, records, predictions, Question::Verdicts),
        }
    }

    /// The same for a question that need not be the plan's. If the plan asks none, the records are judged once, as in its report.
    #[must_use]
    pub fn for_question(
        sweep: &Sweep,
        records: &[Record],
        predictions: &mut Predictions<'_>,
        question: Question,
    ) -> Self {
        let study = Study::new(sweep, records);
        let stored = Stored::read(&study.cells, Box::new(predictions));
        let study = study.with(&stored);
        let mut growth = Self::default();
        for extras in study.extras() {
            growth.assess(&study, extras, question);
        }
        growth
    }

    /// Adds what is known with these values of the further axes.
    fn assess(&mut self, study: &Study, extras: &[String], question: Question) {
        let groups =
            || study.groups.iter().filter(|group| group.extras == extras && group.policy != BASELINE);
        let cost = |policy: &str| {
            let of_policy = groups().filter(|group| group.policy == policy);
            let costs: Vec<f64> =
                of_policy.filter_map(|group| Some(study.standing(group)?.step_cost)).collect();
            costs.iter().sum::<f64>() / costs.len() as f64
        };
        let rows = |policy: &str| -> Option<Vec<(&Group, &Judged)>> {
            let of_policy = groups().filter(|group| group.policy == policy);
            of_policy.map(|group| Some((group, study.verdicts.get(group, SPLIT)?.judged()?))).collect()
        };
        let mut candidates: Vec<(f64, Vec<(&Group, &Judged)>)> =
            distinct(groups().map(|group| group.policy.as_str()))
                .into_iter()
                .filter_map(|policy| Some((cost(policy), rows(policy)?)))
                .filter(|(_, rows)| !rows.iter().any(|(group, _)| group.learns_nothing()))
                .collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        if question == Question::Recommendation {
            candidates.retain(|(cost, _)| *cost < 1.0);
        }
        let judged: Vec<Vec<&Judged>> =
            candidates.iter().map(|(_, rows)| rows.iter().map(|(_, judged)| *judged).collect()).collect();
        let margin = study.margin() / 100.0;
        let known = assess(question, &judged, margin);
        for ((group, judged), known) in
            candidates.iter().flat_map(|(_, rows)| rows).zip(known.iter().flatten())
        {
            self.verdicts.push((title(group), judged.verdict));
            match known {
                Knowledge::Decided => self.decided += 1,
                Knowledge::Irrelevant => self.irrelevant += 1,
                Knowledge::SetAside => self.set_aside.push(title(group)),
                Knowledge::Open => self.open.extend(open_comparison(study, group)),
            }
        }
        let is_good = |rows: &Vec<&Judged>| rows.iter().all(|row| row.loses_at_most(margin));
        if question == Question::Recommendation
            && let Some(at) = judged.iter().position(is_good)
        {
            self.recommended.extend(candidates[at].1.first().map(|(group, _)| group.policy.clone()));
        }
    }
}

fn title(group: &Group) -> String {
    let parts = [group.lang.as_str(), group.policy.as_str()];
    parts.into_iter().chain(group.extras.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn open_comparison(study: &Study, group: &Group) -> Option<OpenComparison> {
    let settings = |group: &Group| Some(study.members(group).next()?.cell.settings.clone());
    let baseline = settings(study.none_of(group)?)?;
    Some(OpenComparison { title: title(group), policy: settings(group)?, baseline })
}

/// The cells that a sweep which grows has come to: two seeds of each policy, and one more for each round in which a comparison was
/// open.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowingGrid {
    seeds: Vec<u64>,
    most_cells: usize,
    /// Settings without their seed that have more seeds than at the start, and how many.
    grown: Vec<(Settings, usize)>,
}

impl GrowingGrid {
    /// The start of a grid with these seeds, of which at most `most_cells` cells are run; 0 means no limit.
    #[must_use]
    pub const fn new(seeds: Vec<u64>, most_cells: usize) -> Self {
        Self { seeds, most_cells, grown: Vec::new() }
    }

    /// Returns whether a cell has been reached.
    #[must_use]
    pub fn has(&self, cell: &Cell) -> bool {
        let place = self.seeds.iter().position(|seed| *seed == cell.settings.seed);
        place.is_some_and(|place| place < self.seeds_of(&cell.settings))
    }

    /// How many seeds cells with these settings have.
    fn seeds_of(&self, settings: &Settings) -> usize {
        let key = without_seed(settings);
        self.grown.iter().find(|(grown, _)| *grown == key).map_or(FIRST_SEEDS, |(_, seeds)| *seeds)
    }

    /// Adds a seed to every open comparison of a grid that has so many cells now, and returns how many cells that adds: at most
    /// `most_new`, if there is such a limit.
    pub fn add_round(&mut self, growth: &Growth, cells: usize, most_new: Option<usize>) -> usize {
        let mut added = 0;
        for open in &growth.open {
            let next = self.seeds_of(&open.policy) + 1;
            let baseline = (self.seeds_of(&open.baseline) < next).then_some(&open.baseline);
            let new = 1 + usize::from(baseline.is_some());
            let is_affordable = (self.most_cells == 0 || cells + added + new <= self.most_cells)
                && most_new.is_none_or(|most| added + new <= most);
            if next > self.seeds.len() || !is_affordable {
                continue;
            }
            [&open.policy].into_iter().chain(baseline).for_each(|settings| self.grow(settings));
            added += new;
        }
        added
    }

    fn grow(&mut self, settings: &Settings) {
        let (key, seeds) = (without_seed(settings), self.seeds_of(settings) + 1);
        match self.grown.iter_mut().find(|(grown, _)| *grown == key) {
            Some((_, known)) => *known = seeds,
            None => self.grown.push((key, seeds)),
        }
    }
}

fn without_seed(settings: &Settings) -> Settings {
    Settings { seed: 0, ..settings.clone() }
}
