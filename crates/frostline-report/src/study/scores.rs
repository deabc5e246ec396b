//! The scores by which cells are compared sentence by sentence: accuracy, the F1 of entities, and the macro F1 of tags.

use std::collections::{BTreeMap, BTreeSet};

use frostline_score::entity::{EntitySpan, Scheme, entities};
use frostline_score::linear::ClassCount;
use serde::Serialize;

use crate::study::tagged::{PredictedTags, SplitText};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScoreKind {
    /// What the cell's task is scored by: the F1 of entities, or else accuracy.
    Own,
    /// The mean F1 of all tags, rare ones too.
    MacroF1,
}

/// Entities of each sentence: twice the right ones over gold and predicted ones.
pub(crate) fn entity_counts(
    text: &SplitText,
    tags: &[String],
    predictions: &PredictedTags,
) -> Vec<Vec<ClassCount>> {
    let name = |tag: u16| tags[usize::from(tag)].as_str();
    let of_sentence = |range: std::ops::Range<usize>| {
        let gold: Vec<&str> = range.clone().map(|at| name(text.words[at].gold)).collect();
        let predicted: Vec<&str> = range.map(|at| predictions.predicted[at].map_or("O", name)).collect();
        let gold: BTreeSet<EntitySpan<'_>> = entities(&gold, Scheme::Lenient).into_iter().collect();
        let predicted: BTreeSet<EntitySpan<'_>> = entities(&predicted, Scheme::Lenient).into_iter().collect();
        let right = gold.intersection(&predicted).count();
        vec![count(0, right, gold.len() + predicted.len())]
    };
    text.ranges().map(|(_, range)| of_sentence(range)).collect()
}

/// Tags of each sentence: twice the right words over those that have the tag and those that got it.
pub(crate) fn tag_counts(text: &SplitText, predictions: &PredictedTags) -> Vec<Vec<ClassCount>> {
    let of_sentence = |range: std::ops::Range<usize>| {
        let mut counts: BTreeMap<u16, [usize; 2]> = BTreeMap::new();
        for at in range {
            let gold = text.words[at].gold;
            counts.entry(gold).or_default()[1] += 1;
            if let Some(predicted) = predictions.predicted[at] {
                let of = counts.entry(predicted).or_default();
                of[1] += 1;
                of[0] += usize::from(predicted == gold);
            }
        }
        counts.into_iter().map(|(tag, [right, whole])| count(tag, right, whole)).collect()
    };
    text.ranges().map(|(_, range)| of_sentence(range)).collect()
}

/// Sentences have far fewer words than fit.
fn count(class: u16, right: usize, whole: usize) -> ClassCount {
    let fit = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    ClassCount { class, part: fit(2 * right), whole: fit(whole) }
}
