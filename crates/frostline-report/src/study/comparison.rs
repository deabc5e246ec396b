//! A beside B, judged by the one rule of a report: paired by seed and by sentence, and corrected for all rows of a table.

use frostline_score::crossed::RESAMPLES;
use frostline_score::verdict::judge;
use frostline_score::{Judged, Measured, Needed, ScoreError, Verdict};
use serde::Serialize;

use crate::number::count;
use crate::study::cells::CellView;
use crate::study::outcomes::{Sides, Twins};

/// The seed of all resampling.
pub(crate) const SEED: u64 = 0;

/// A beside B on a split.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Comparison {
    /// The seeds that are paired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u64>,
    #[serde(flatten)]
    found: Found,
}

/// The verdict, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Found {
    Judged(Box<Judged>),
    Unpaired { unpaired: String },
}

/// A row of a table: its pairs A and B by seed, or why they cannot be judged.
pub(crate) type Row<'a> = Result<Vec<(u64, Twins<'a>)>, &'static str>;

/// Why cells that are scored by the F1 of entities are not judged: most of their words are outside of any, so that the accuracy of
/// tags says little.
pub(crate) const OF_ENTITIES: &str =
    "the cells are scored by the F1 of entities, which only claims can compare";

/// Whether a cell is scored so on a split.
pub(crate) fn is_of_entities(view: &CellView, split: &str) -> bool {
    view.done().and_then(|done| done.score(split)).is_some_and(|score| score.entities.is_some())
}

/// The rows of a table. Pairs without stored predictions are left out. `margin` is in points.
pub(crate) fn compare(
    rows: &[Row<'_>],
    outcomes: Sides<'_>,
    split: &'static str,
    margin: f64,
) -> Vec<Comparison> {
    let mut seeds = Vec::new();
    let measured: Vec<Result<Measured, String>> = rows
        .iter()
        .map(|row| {
            let pairs_of_row = row.as_deref().unwrap_or_default();
            let paired: Vec<_> =
                pairs_of_row.iter().filter(|(_, twins)| outcomes.has(*twins, split)).collect();
            seeds.push(paired.iter().map(|(seed, _)| *seed).collect::<Vec<u64>>());
            let pairs: Vec<Twins<'_>> = paired.into_iter().map(|(_, twins)| *twins).collect();
            if pairs.is_empty() {
                let why = row.as_ref().err().copied().unwrap_or("the stored predictions are missing");
                return Err(why.into());
            }
            let strata = outcomes.strata(&[pairs], split)?;
            Measured::of(&strata, rows.len(), RESAMPLES, SEED).map_err(|error: ScoreError| error.to_string())
        })
        .collect();
    let of_table: Vec<Measured> = measured.iter().filter_map(|row| row.as_ref().ok()).cloned().collect();
    let mut judged = judge(of_table, margin / 100.0).into_iter();
    let one = |(row, seeds): (Result<Measured, String>, Vec<u64>)| match row.map(|_| judged.next()) {
        Ok(Some(judged)) => Comparison { seeds, found: Found::Judged(Box::new(judged)) },
        Ok(None) => unreachable!("every measured row is judged"),
        Err(unpaired) => Comparison { seeds: Vec::new(), found: Found::Unpaired { unpaired } },
    };
    measured.into_iter().zip(seeds).map(one).collect()
}

impl Comparison {
    /// What was found.
    pub fn judged(&self) -> Option<&Judged> {
        match &self.found {
            Found::Judged(judged) => Some(judged),
            Found::Unpaired { .. } => None,
        }
    }

    /// Why there is no verdict.
    pub fn why_unjudged(&self) -> Option<&str> {
        match &self.found {
            Found::Judged(_) => None,
            Found::Unpaired { unpaired } => Some(unpaired),
        }
    }

    /// The verdict in words.
    pub fn words(&self) -> String {
        let judged = match &self.found {
            Found::Judged(judged) => judged,
            Found::Unpaired { unpaired } => return format!("no verdict: {unpaired}"),
        };
        match (judged.verdict, self.seeds.len()) {
            (Verdict::Undecided, 1) => "undecided (one seed)".into(),
            (Verdict::Better | Verdict::Worse, _) if judged.within_margin => {
                format!("{}, within the margin", judged.verdict.name())
            }
            (verdict, _) => verdict.name().into(),
        }
    }

    /// What would decide, in words; nothing where it is decided.
    pub fn would_decide(&self) -> Option<String> {
        let judged = self.judged().filter(|judged| judged.verdict == Verdict::Undecided)?;
        Some(match judged.needed {
            None => "3 seeds or more".into(),
            Some(Needed { seeds: None, sentences: None }) => "more seeds and more sentences together".into(),
            Some(Needed { seeds: Some(seeds), sentences: None }) => {
                format!("about {seeds} seeds; more sentences alone do not suffice")
            }
            Some(Needed { seeds: None, sentences: Some(sentences) }) => {
                format!("about {} sentences; more seeds alone do not suffice", rounded(sentences))
            }
            Some(Needed { seeds: Some(seeds), sentences: Some(sentences) }) => {
                format!("about {seeds} seeds or {} sentences", rounded(sentences))
            }
        })
    }
}

/// Two digits of a count: more would pretend to know it.
fn rounded(value: usize) -> String {
    let scale = 10_usize.pow((value.max(1).ilog10()).saturating_sub(1));
    count((value.div_ceil(scale) * scale) as u64)
}
