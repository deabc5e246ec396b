//! What a sweep that grows until it knows needs next. The same verdicts and costs as in its report decide, so the report's answer is
//! the sweep's.

use frostline_record::{Cell, DecideQuestion, FIRST_SEEDS, Record, Settings, Sweep};
use frostline_score::question::{Knowledge, Question, assess};
use frostline_score::{Judged, Verdict};

use crate::report::Predictions;
use crate::study::advice::SPLIT;
use crate::study::cells::BASELINE;
use crate::study::pair_verdicts::PairVerdict;
use crate::study::sanity::{self, FindingKind};
use crate::study::{CellGroup, StoredPredictions, Study, distinct};

/// The state of a sweep that grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growth {
    /// Comparisons in a language that need more seeds: of a policy with `none`, the cheapest first, or of a pair.
    pub open: Vec<OpenComparison>,
    /// Comparisons that answer their part of the question, each with its answer.
    pub decided: Vec<String>,
    /// Comparisons that the planned seeds are unlikely to decide.
    pub set_aside: Vec<String>,
    /// Comparisons that do not matter for the question any more.
    pub not_needed: Vec<String>,
    /// The policies that the question's answer recommends: one for each combination of the further axes that has one.
    pub recommended: Vec<String>,
    /// Whether a policy was found that is not recommended, since a finding of the report makes its comparisons worthless.
    pub withheld: bool,
    /// The verdict on each comparison.
    pub verdicts: Vec<(String, Verdict)>,
    /// Ids of the cells of policies that lose more than the margin, or are not needed.
    pub dropped: Vec<String>,
}

/// A comparison that needs more seeds: the settings of the two cells, of any seed.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenComparison {
    /// The language and the policy or pair, for messages.
    pub title: String,
    /// The settings of a cell of the policy.
    pub policy: Settings,
    /// The settings of a cell with `none`, or with the second policy of a pair.
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
            DecideQuestion::Pairs => Self::for_pairs(sweep, records, predictions),
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
        let study = read_study(sweep, records, predictions);
        let mut growth = Self::default();
        for extras in study.extras() {
            growth.assess(&study, extras, question);
        }
        growth
    }

    /// The same for the pairs that the plan names.
    fn for_pairs(sweep: &Sweep, records: &[Record], predictions: &mut Predictions<'_>) -> Self {
        let study = read_study(sweep, records, predictions);
        let mut growth = Self::default();
        for pair in &study.pairs {
            let Some(judged) = pair.compared.judged() else { continue };
            let title = pair_title(pair);
            growth.verdicts.push((title.clone(), judged.verdict));
            match assess(Question::Verdicts, &[vec![judged]], study.margin() / 100.0)[0][0] {
                Knowledge::Open => growth.open.extend(open_pair(&study, pair, title)),
                Knowledge::SetAside => growth.set_aside.push(title),
                _ => growth.decided.push(format!("{title} ({})", judged.verdict.name())),
            }
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
        let rows = |policy: &str| -> Option<Vec<(&CellGroup, &Judged)>> {
            let of_policy = groups().filter(|group| group.policy == policy);
            of_policy.map(|group| Some((group, study.verdicts.get(group, SPLIT)?.judged()?))).collect()
        };
        let mut candidates: Vec<(f64, Vec<(&CellGroup, &Judged)>)> =
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
        for ((_, rows), known) in candidates.iter().zip(&known) {
            let loses = rows.iter().any(|(_, judged)| judged.loses_more_than(margin));
            let is_dropped = loses || known.iter().all(|known| *known == Knowledge::Irrelevant);
            for ((group, judged), known) in rows.iter().zip(known) {
                let title = title(group);
                self.verdicts.push((title.clone(), judged.verdict));
                match known {
                    Knowledge::Decided => {
                        self.decided.push(format!("{title} ({})", describe_answer(question, judged, margin)));
                    }
                    Knowledge::Irrelevant => self.not_needed.push(title),
                    Knowledge::SetAside => self.set_aside.push(title),
                    Knowledge::Open => self.open.extend(open_comparison(study, group)),
                }
                if is_dropped {
                    self.dropped.extend(study.members(group).map(|view| view.cell.id.clone()));
                }
            }
        }
        let is_good = |rows: &Vec<&Judged>| rows.iter().all(|row| row.loses_at_most(margin));
        if question == Question::Recommendation
            && let Some(at) = judged.iter().position(is_good)
        {
            // The report recommends nothing then; it looks at seeds by itself.
            let finding = sanity::first_forbidding(&study.sanity, &study.langs(), extras);
            match finding.is_some_and(|finding| finding.kind != FindingKind::FewSeeds) {
                true => self.withheld = true,
                false => {
                    self.recommended.extend(candidates[at].1.first().map(|(group, _)| group.policy.clone()))
                }
            }
        }
    }
}

/// The answer that a decided comparison gives to its question.
fn describe_answer(question: Question, judged: &Judged, margin: f64) -> &'static str {
    match question {
        Question::Verdicts => judged.verdict.name(),
        Question::Recommendation if judged.loses_more_than(margin) => "beyond the margin",
        Question::Recommendation => "within the margin",
    }
}

fn read_study(sweep: &Sweep, records: &[Record], predictions: &mut Predictions<'_>) -> Study {
    let study = Study::new(sweep, records);
    let stored = StoredPredictions::read(&study.cells, Box::new(predictions));
    study.with(&stored)
}

fn pair_title(pair: &PairVerdict) -> String {
    let [first, second] = &pair.policies;
    let parts = [pair.lang.as_str(), first, "and", second];
    parts.into_iter().chain(pair.extras.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn open_pair(study: &Study, pair: &PairVerdict, title: String) -> Option<OpenComparison> {
    let settings = |name: &String| {
        let is_here = |group: &&CellGroup| {
            group.lang == pair.lang && group.extras == pair.extras && group.has_name(name)
        };
        let group = study.groups.iter().find(is_here)?;
        Some(study.members(group).next()?.cell.settings.clone())
    };
    let [policy, baseline] = &pair.policies;
    Some(OpenComparison { title, policy: settings(policy)?, baseline: settings(baseline)? })
}

fn title(group: &CellGroup) -> String {
    let parts = [group.lang.as_str(), group.policy.as_str()];
    parts.into_iter().chain(group.extras.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn open_comparison(study: &Study, group: &CellGroup) -> Option<OpenComparison> {
    let settings = |group: &CellGroup| Some(study.members(group).next()?.cell.settings.clone());
    let baseline = settings(study.none_of(group)?)?;
    Some(OpenComparison { title: title(group), policy: settings(group)?, baseline })
}

/// Splits the cells of a whole grid into the cells with which a sweep that grows begins, and the planned rest. The first two seeds
/// are those that the grid lists first.
#[must_use]
pub fn split_first_round(cells: Vec<Cell>) -> (Vec<Cell>, Vec<Cell>) {
    let seeds = distinct(cells.iter().map(|cell| cell.settings.seed));
    let first: Vec<u64> = seeds.into_iter().take(FIRST_SEEDS).collect();
    cells.into_iter().partition(|cell| first.contains(&cell.settings.seed))
}

/// Returns the ids of the cells that the next round adds to `cells`: one more seed for each open comparison, while at most
/// `most_new` cells are added. They come from `planned`, in its order of seeds.
#[must_use]
pub fn next_round(growth: &Growth, cells: &[Cell], planned: &[Cell], most_new: usize) -> Vec<String> {
    let keyed = |cell: &Cell| (without_seed(&cell.settings), cell.id.clone());
    let mut present: Vec<Settings> = cells.iter().map(|cell| without_seed(&cell.settings)).collect();
    let mut left: Vec<(Settings, String)> = planned.iter().map(keyed).collect();
    let mut added = Vec::new();
    for open in &growth.open {
        let [policy, baseline] = [&open.policy, &open.baseline].map(without_seed);
        let seeds = |key: &Settings| present.iter().filter(|other| *other == key).count();
        // A comparison is paired: the next seed counts once both have it.
        let paired = seeds(&policy).min(seeds(&baseline));
        let wanted: Vec<Settings> =
            [policy, baseline].into_iter().filter(|key| seeds(key) == paired).collect();
        let next: Option<Vec<usize>> =
            wanted.iter().map(|key| left.iter().position(|(other, _)| other == key)).collect();
        let Some(mut next) = next.filter(|next| added.len() + next.len() <= most_new) else { continue };
        present.extend(wanted);
        next.sort_unstable();
        added.extend(next.into_iter().rev().map(|at| left.remove(at).1));
    }
    added
}

/// Adds cells to a sweep's list, each behind the last one of its seed.
pub fn insert_cells(cells: &mut Vec<Cell>, new: Vec<Cell>) {
    for cell in new {
        let last = cells.iter().rposition(|other| other.settings.seed == cell.settings.seed);
        cells.insert(last.map_or(cells.len(), |last| last + 1), cell);
    }
}

fn without_seed(settings: &Settings) -> Settings {
    Settings { seed: 0, ..settings.clone() }
}
