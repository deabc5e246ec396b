//! `score_entities`: precision, recall and F1 of entities in IOB2 tags, with intervals.

use std::collections::BTreeMap;

use frostline_score::entity::{EntityCounts, EntityScores, Scheme};
use frostline_score::{Resampling, ScoreError, Share, bootstrap_share};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise_text;
use crate::scores::{Metric, resampling};

/// The key of the scores of all types together.
const ALL: &str = "all";

/// Scores entities in sentences of IOB2 tags: a metric for each type, and one for "all", each with an interval of its F1.
///
/// An entity is correct if its first word, its last word and its type are. `scheme` says how an I-X tag is read that continues no X:
/// "lenient" begins an entity there, as the scorer of CoNLL-2003 and seqeval do by default, and "strict" counts no entity, as
/// seqeval does with mode="strict" and scheme=IOB2.
#[pyfunction]
#[pyo3(signature = (gold, predicted, *, scheme = "lenient", resamples = 2000, confidence = 0.95, seed = 0))]
pub fn score_entities<'py>(
    py: Python<'py>,
    gold: Vec<Vec<String>>,
    predicted: Vec<Vec<String>>,
    scheme: &str,
    resamples: u32,
    confidence: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let setting = resampling(py, resamples, confidence, seed)?;
    let fail = |class, text: &str| raise_text(py, class, None, text);
    let scheme = match scheme {
        "lenient" => Scheme::Lenient,
        "strict" => Scheme::Strict,
        other => {
            let text = format!("scheme is {other:?}, expected \"lenient\" or \"strict\"; give one of them");
            return Err(fail("SettingError", &text));
        }
    };
    if gold.len() != predicted.len() {
        let (ours, theirs) = (gold.len(), predicted.len());
        let text = format!(
            "found {ours} sentences of gold and {theirs} of predictions; give the same sentences in the same order"
        );
        return Err(fail("DataError", &text));
    }
    let found = py.detach(|| count_entities(&gold, &predicted, scheme));
    let sentences =
        found.map_err(|(place, error)| fail("DataError", &format!("sentence {place}: {error}")))?;
    let scores = PyDict::new(py);
    let mut kinds: Vec<&str> =
        sentences.iter().flat_map(|one| one.kinds.keys().map(String::as_str)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds.into_iter().map(Some).chain([None]) {
        scores.set_item(kind.unwrap_or(ALL), metric_of(&sentences, kind, &setting))?;
    }
    Ok(scores)
}

/// The counts of each sentence, or the number of the sentence that has an error.
fn count_entities(
    gold: &[Vec<String>],
    predicted: &[Vec<String>],
    scheme: Scheme,
) -> Result<Vec<EntityScores>, (usize, ScoreError)> {
    let pairs = gold.iter().zip(predicted).enumerate();
    pairs
        .map(|(place, (gold, predicted))| {
            let [gold, predicted] =
                [gold, predicted].map(|tags| tags.iter().map(String::as_str).collect::<Vec<_>>());
            let mut scores = EntityScores::new(scheme);
            scores.add(&gold, &predicted).map_err(|error| (place, error))?;
            Ok(scores)
        })
        .collect()
}

/// The metric of a type of entities, or of all; sentences are resampled for its interval.
fn metric_of(sentences: &[EntityScores], kind: Option<&str>, setting: &Resampling) -> Metric {
    let counts = |kinds: &BTreeMap<String, EntityCounts>| {
        let mut sum = EntityCounts::default();
        for (_, one) in kinds.iter().filter(|(name, _)| kind.is_none_or(|kind| kind == *name)) {
            sum.correct += one.correct;
            sum.predicted += one.predicted;
            sum.gold += one.gold;
        }
        sum
    };
    let parts: Vec<EntityCounts> = sentences.iter().map(|one| counts(&one.kinds)).collect();
    let shares: Vec<Share> =
        parts.iter().map(|one| Share { part: 2 * one.correct, whole: one.gold + one.predicted }).collect();
    let interval = bootstrap_share(&shares, setting);
    let sum = |of: fn(&EntityCounts) -> u64| parts.iter().map(of).sum();
    let whole = EntityCounts {
        correct: sum(|one| one.correct),
        predicted: sum(|one| one.predicted),
        gold: sum(|one| one.gold),
    };
    let ratios = whole.prf();
    Metric {
        correct: whole.correct,
        gold: whole.gold,
        system: whole.predicted,
        aligned: None,
        precision: ratios.precision,
        recall: ratios.recall,
        f1: ratios.f1,
        aligned_accuracy: None,
        low: interval.low,
        high: interval.high,
    }
}
