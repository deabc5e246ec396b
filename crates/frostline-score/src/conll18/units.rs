//! Sentences that all sides have in common, as items to resample.
//!
//! Systems may split sentences at other places than gold. A unit is the shortest run of gold sentences that ends where a
//! sentence of every system ends too. The counts of the units add up to the counts of the whole text.

use std::ops::Range;

use super::corpus::{Corpus, same_text};
use super::metrics::Conll18Scores;
use super::rows::ScoredSentence;
use crate::error::ScoreError;

/// Sentences that cover the same text on all sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoredUnit {
    /// Sentences of gold.
    pub gold: Range<usize>,
    /// Sentences of each system.
    pub systems: Vec<Range<usize>>,
}

/// Returns the units of `gold` with these systems, in order.
///
/// # Errors
/// As [`evaluate`](super::evaluate).
pub fn common_units(
    gold: &[ScoredSentence],
    systems: &[&[ScoredSentence]],
) -> Result<Vec<ScoredUnit>, ScoreError> {
    let gold = Corpus::new("gold", gold)?;
    let mut ends = Vec::with_capacity(systems.len());
    for system in systems {
        let system = Corpus::new("system", system)?;
        same_text(&gold, &system)?;
        ends.push(system.sentences.iter().map(|span| span.end).collect::<Vec<_>>());
    }
    let mut units = Vec::new();
    let (mut first, mut firsts) = (0, vec![0; systems.len()]);
    for (at, span) in gold.sentences.iter().enumerate() {
        let places: Option<Vec<usize>> = ends.iter().map(|ends| ends.binary_search(&span.end).ok()).collect();
        let Some(places) = places else { continue };
        let systems = firsts.iter().zip(&places).map(|(first, last)| *first..last + 1).collect();
        units.push(ScoredUnit { gold: first..at + 1, systems });
        first = at + 1;
        firsts = places.into_iter().map(|last| last + 1).collect();
    }
    Ok(units)
}

/// Returns the scores of the system at this place in each unit.
///
/// # Errors
/// As [`evaluate`](super::evaluate).
///
/// # Panics
/// If a unit lacks this system, or was made from other sentences.
pub fn evaluate_units(
    gold: &[ScoredSentence],
    system: &[ScoredSentence],
    units: &[ScoredUnit],
    place: usize,
) -> Result<Vec<Conll18Scores>, ScoreError> {
    let score =
        |unit: &ScoredUnit| super::evaluate(&gold[unit.gold.clone()], &system[unit.systems[place].clone()]);
    units.iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{WordRow, evaluate};
    use super::*;

    fn sentence_of_forms(forms: &[&'static str]) -> ScoredSentence<'static> {
        let word = |form: &&'static str| WordRow {
            form,
            upos: if form.len() > 1 { "NOUN" } else { "X" },
            ..WordRow::default()
        };
        ScoredSentence { words: forms.iter().map(word).collect(), ranges: Vec::new() }
    }

    #[test]
    fn a_unit_ends_where_all_sides_end_a_sentence() {
        let gold = [&["a", "b"][..], &["c"], &["dd", "e"], &["f"]].map(sentence_of_forms);
        let ours = [&["a", "b", "c"][..], &["d", "d", "e"], &["f"]].map(sentence_of_forms);
        let theirs = [&["a", "b"][..], &["c"], &["dd", "e", "f"]].map(sentence_of_forms);
        let units = common_units(&gold, &[&ours, &theirs]).expect("the same text");
        let unit = |gold, systems: [Range<usize>; 2]| ScoredUnit { gold, systems: systems.into() };
        assert_eq!(units, [unit(0..2, [0..1, 0..2]), unit(2..4, [1..3, 2..3])]);
        let parts = evaluate_units(&gold, &ours, &units, 0).expect("scores");
        let whole = evaluate(&gold, &ours).expect("scores");
        for (name, metric) in whole.named() {
            let sum = |count: fn(&super::super::Metric) -> u64| -> u64 {
                let of = |scores: &Conll18Scores| {
                    scores.named().into_iter().find(|(other, _)| *other == name).map(|(_, m)| count(&m))
                };
                parts.iter().filter_map(of).sum()
            };
            assert_eq!(
                [sum(|m| m.correct), sum(|m| m.gold), sum(|m| m.system)],
                [metric.correct, metric.gold, metric.system],
                "{name}"
            );
        }
        assert!(common_units(&gold, &[&gold[1..]]).is_err());
    }
}
