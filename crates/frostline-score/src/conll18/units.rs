//! Sentences that all sides have in common, as items to resample.
//!
//! Systems may split sentences in other places than gold. A unit is the shortest run of gold sentences that ends where a
//! sentence of every system ends too. The counts of the units add up to the counts of the whole text.

use std::ops::Range;

use super::corpus::{Corpus, same_text};
use super::metrics::Conll18Scores;
use super::rows::ScoredSentence;
use crate::error::ScoreError;

/// Returns the units of `gold` with these systems, each as the ranges of sentences in gold and in every system.
///
/// # Errors
/// As [`evaluate`](super::evaluate).
pub fn common_units(
    gold: &[ScoredSentence],
    systems: &[&[ScoredSentence]],
) -> Result<Vec<(Range<usize>, Vec<Range<usize>>)>, ScoreError> {
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
        let others = firsts.iter().zip(&places).map(|(first, last)| *first..last + 1).collect();
        units.push((first..at + 1, others));
        first = at + 1;
        firsts = places.into_iter().map(|last| last + 1).collect();
    }
    Ok(units)
}

/// Returns the scores of each unit of `gold` and one system.
///
/// # Errors
/// As [`evaluate`](super::evaluate).
pub fn evaluate_units(
    gold: &[ScoredSentence],
    system: &[ScoredSentence],
    units: impl IntoIterator<Item = (Range<usize>, Range<usize>)>,
) -> Result<Vec<Conll18Scores>, ScoreError> {
    let score = |(ours, theirs): (Range<usize>, Range<usize>)| super::evaluate(&gold[ours], &system[theirs]);
    units.into_iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{WordRow, evaluate};
    use super::*;

    fn sentence(forms: &[&'static str]) -> ScoredSentence<'static> {
        let word = |form: &&'static str| WordRow { form, upos: if form.len() > 1 { "NOUN" } else { "X" }, ..WordRow::default() };
        ScoredSentence { words: forms.iter().map(word).collect(), ranges: Vec::new() }
    }

    #[test]
    fn a_unit_ends_where_all_sides_end_a_sentence() {
        let gold = [&["a", "b"][..], &["c"], &["dd", "e"], &["f"]].map(sentence);
        let ours = [&["a", "b", "c"][..], &["d", "d", "e"], &["f"]].map(sentence);
        let theirs = [&["a", "b"][..], &["c"], &["dd", "e", "f"]].map(sentence);
        let units = common_units(&gold, &[&ours, &theirs]).expect("the same text");
        assert_eq!(units, [(0..2, vec![0..1, 0..2]), (2..4, vec![1..3, 2..3])]);
        let pairs = units.iter().map(|(gold, systems)| (gold.clone(), systems[0].clone()));
        let parts = evaluate_units(&gold, &ours, pairs).expect("scores");
        let whole = evaluate(&gold, &ours).expect("scores");
        for (name, metric) in whole.named() {
            let sum = |count: fn(&super::super::Metric) -> u64| -> u64 {
                let of = |scores: &Conll18Scores| scores.named().into_iter().find(|(other, _)| *other == name).map(|(_, m)| count(&m));
                parts.iter().filter_map(of).sum()
            };
            assert_eq!([sum(|m| m.correct), sum(|m| m.gold), sum(|m| m.system)], [metric.correct, metric.gold, metric.system], "{name}");
        }
        assert!(common_units(&gold, &[&gold[1..]]).is_err());
    }
}
