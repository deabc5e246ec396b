//! A beside B, judged by the one rule of a report: paired by seed and by sentence, and corrected for all rows of a table.

use frostline_score::crossed::RESAMPLES;
use frostline_score::verdict::judge;
use frostline_score::{Judged, Measured, Needed, ScoreError, Verdict};
use serde::Serialize;

use crate::number::count;
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

/// The rows of a table, each with its pairs A and B by seed. Pairs without stored predictions are left out. `margin` is in
/// points.
pub(crate) fn compare(
    rows: &[Vec<(u64, Twins<'_>)>],
    outcomes: Sides<'_>,
    split: &'static str,
    margin: f64,
) -> Vec<Comparison> {
    let mut seeds = Vec::new();
    let measured: Vec<Result<Measured, String>> = rows
        .iter()
        .map(|row| {
            let paired: Vec<_> = row.iter().filter(|(_, twins)| outcomes.has(*twins, split)).collect();
            seeds.push(paired.iter().map(|(seed, _)| *seed).collect::<Vec<u64>>());
            let pairs: Vec<Twins<'_>> = paired.into_iter().map(|(_, twins)| *twins).collect();
            if pairs.is_empty() {
                return Err("the stored predictions are missing".into());
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
        Err(why) => Comparison::unpaired(&why),
    };
    measured.into_iter().zip(seeds).map(one).collect()
}

impl Comparison {
    /// One that is not made, with the reason.
    pub fn unpaired(why: &str) -> Self {
        Self { seeds: Vec::new(), found: Found::Unpaired { unpaired: why.into() } }
    }

    /// What was found.
    pub fn judged(&self) -> Option<&Judged> {
        match &self.found {
            Found::Judged(judged) => Some(judged),
            Found::Unpaired { .. } => None,
        }
    }

    /// The verdict in words.
    pub fn words(&self) -> String {
        let judged = match &self.found {
            Found::Judged(judged) => judged,
            Found::Unpaired { unpaired } => return format!("not paired: {unpaired}"),
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
