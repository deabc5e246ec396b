//! Tables of A compared with B, by the one rule of a report: paired by seed and by sentence, with intervals that hold together for
//! all rows of a table.

use frostline_score::crossed::RESAMPLES;
use frostline_score::verdict::{judge, judge_growing};
use frostline_score::{CrossedDifference, Judged, Needed, SeedLevels, SeedScatter, Verdict};
use serde::Serialize;

use crate::number::count;
use crate::study::outcomes::{Sides, Twins};
use crate::study::scores::ScoreKind;

/// The seed of all resampling.
pub(crate) const SEED: u64 = 0;

/// A compared with B on a split.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SplitComparison {
    /// The seeds that are paired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u64>,
    #[serde(flatten)]
    found: ComparisonResult,
}

/// The verdict, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum ComparisonResult {
    Judged(Box<Judged>),
    Unpaired { unpaired: String },
}

/// A row of a table: its pairs A and B, one per seed.
pub(crate) type PairsBySeed<'a> = Vec<(u64, Twins<'a>)>;

/// What is compared in all tables of a study: scores on a split, with a margin in points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judging<'a> {
    pub outcomes: Sides<'a>,
    pub split: &'static str,
    pub kind: ScoreKind,
    pub margin: f64,
    /// The level of each number of seeds, if the study grows.
    pub levels: Option<&'a SeedLevels>,
    /// How much seeds scatter elsewhere in the study; nothing for the study's own tables.
    pub scatter: SeedScatter,
}

/// A row before it is judged: its seeds, and its difference or why there is none.
type MeasuredRow = (Vec<u64>, Result<CrossedDifference, String>);

impl<'a> Judging<'a> {
    /// Compares what each task is scored by.
    pub fn new(outcomes: Sides<'a>, split: &'static str, margin: f64) -> Self {
        Self { outcomes, split, kind: ScoreKind::Own, margin, levels: None, scatter: SeedScatter::default() }
    }

    /// Judges the rows of each table together, with the scatter of seeds of all tables, which is returned too. Each row
    /// keeps its key. Pairs without stored predictions are left out.
    pub fn compare<K>(
        &self,
        tables: Vec<Vec<(K, PairsBySeed<'_>)>>,
    ) -> (Vec<(K, SplitComparison)>, SeedScatter) {
        let measure = |(key, row): (K, PairsBySeed<'_>)| (key, self.measure(&row));
        let measured: Vec<(Vec<K>, Vec<MeasuredRow>)> =
            tables.into_iter().map(|rows| rows.into_iter().map(measure).unzip()).collect();
        let all = measured.iter().flat_map(|(_, rows)| rows).filter_map(|(_, row)| row.as_ref().ok());
        let scatter = SeedScatter::of(all).or_larger(self.scatter);
        let judged =
            measured.into_iter().flat_map(|(keys, rows)| keys.into_iter().zip(self.judge(rows, scatter)));
        (judged.collect(), scatter)
    }

    fn measure(&self, row: &PairsBySeed<'_>) -> MeasuredRow {
        let paired: Vec<_> = row.iter().filter(|(_, twins)| self.outcomes.has(*twins, self.split)).collect();
        let seeds = paired.iter().map(|(seed, _)| *seed).collect();
        let pairs: Vec<Twins<'_>> = paired.into_iter().map(|(_, twins)| *twins).collect();
        if pairs.is_empty() {
            return (seeds, Err("the stored predictions are missing".into()));
        }
        let strata = self.outcomes.strata(&[pairs], self.split, self.kind);
        let difference = strata.and_then(|strata| {
            CrossedDifference::of(&strata, RESAMPLES, SEED).map_err(|error| error.to_string())
        });
        (seeds, difference)
    }

    fn judge(&self, rows: Vec<MeasuredRow>, scatter: SeedScatter) -> Vec<SplitComparison> {
        let of_table = rows.iter().filter_map(|(_, row)| row.as_ref().ok()).cloned().collect();
        let margin = self.margin / 100.0;
        let judged = match self.levels {
            Some(levels) => judge_growing(of_table, scatter, margin, levels),
            None => judge(of_table, scatter, margin),
        };
        let mut judged = judged.into_iter();
        let one = |(seeds, row): MeasuredRow| match row.map(|_| judged.next()) {
            Ok(Some(judged)) => SplitComparison { seeds, found: ComparisonResult::Judged(Box::new(judged)) },
            Ok(None) => unreachable!("every measured row is judged"),
            Err(unpaired) => {
                SplitComparison { seeds: Vec::new(), found: ComparisonResult::Unpaired { unpaired } }
            }
        };
        rows.into_iter().map(one).collect()
    }
}

impl SplitComparison {
    /// What was found.
    pub fn judged(&self) -> Option<&Judged> {
        match &self.found {
            ComparisonResult::Judged(judged) => Some(judged),
            ComparisonResult::Unpaired { .. } => None,
        }
    }

    /// Why there is no verdict.
    pub fn why_unjudged(&self) -> Option<&str> {
        match &self.found {
            ComparisonResult::Judged(_) => None,
            ComparisonResult::Unpaired { unpaired } => Some(unpaired),
        }
    }

    /// The verdict in words.
    pub fn words(&self) -> String {
        let judged = match &self.found {
            ComparisonResult::Judged(judged) => judged,
            ComparisonResult::Unpaired { unpaired } => return format!("no verdict: {unpaired}"),
        };
        match (judged.verdict, self.seeds.len()) {
            (Verdict::Undecided, 1) => "undecided (one seed)".into(),
            (Verdict::Better | Verdict::Worse, _) if judged.within_margin => {
                format!("{}, within the margin", judged.verdict.name())
            }
            (verdict, _) => verdict.name().into(),
        }
    }

    /// What would decide, in words; nothing if it is decided.
    pub fn would_decide(&self) -> Option<String> {
        let judged = self.judged().filter(|judged| judged.verdict == Verdict::Undecided)?;
        Some(match judged.needed {
            None => "3 seeds or more".into(),
            Some(Needed { seeds: None, sentences: None }) => "more seeds and more sentences together".into(),
            Some(Needed { seeds: Some(seeds), sentences: None }) => {
                format!("about {seeds} seeds; more sentences alone do not suffice")
            }
            Some(Needed { seeds: None, sentences: Some(sentences) }) => {
                format!("about {} sentences; more seeds alone do not suffice", two_digits(sentences))
            }
            Some(Needed { seeds: Some(seeds), sentences: Some(sentences) }) => {
                format!("about {seeds} seeds or {} sentences", two_digits(sentences))
            }
        })
    }
}

/// Two digits of a count: more would pretend to know it.
fn two_digits(value: usize) -> String {
    let scale = 10_usize.pow((value.max(1).ilog10()).saturating_sub(1));
    count((value.div_ceil(scale) * scale) as u64)
}
