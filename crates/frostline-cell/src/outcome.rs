//! Converts a run's results to a record's.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use frostline_freeze::{Accounts, Group, Parameter, ResolvedPolicy};
use frostline_model::{EncoderConfig, HeadShape};
use frostline_record as record;
use frostline_score::entity::{EntityScores, Scheme};
use frostline_score::{Confusion, Prediction};
use frostline_train::{Epoch, Evaluation};

use crate::data::{CellData, EvaluationSplit, KeyWord, SentenceKey, TaskData};
use frostline_tagger::NO_TAG;

/// Parameters of an encoder with heads under a policy, as a record shows them.
#[must_use]
pub fn accounts(encoder: &EncoderConfig, heads: &[HeadShape], policy: &ResolvedPolicy) -> record::Accounts {
    let parameters: Vec<Parameter> =
        encoder.parameters(heads).into_iter().map(|(path, shape)| Parameter { path, shape }).collect();
    let accounts = Accounts::of(&parameters, policy);
    record::Accounts {
        total: accounts.total(),
        trainable: accounts.trainable(),
        groups: accounts
            .groups
            .iter()
            .map(|row| record::AccountRow {
                group: row.group.to_string(),
                total: row.total,
                trainable: row.trainable,
            })
            .collect(),
    }
}

/// Returns an encoder as a record shows it.
pub(crate) fn encoder(config: &EncoderConfig) -> record::EncoderFacts {
    record::EncoderFacts {
        family: config.family.name().into(),
        blocks: config.depth as u64,
        hidden: config.hidden as u64,
        longest_input: config.longest_input() as u64,
    }
}

/// Returns an epoch as a record shows it; `before` are the stages, epochs and steps before its own.
pub(crate) fn epoch_row(
    epoch: &Epoch,
    dev: &[Evaluation],
    data: &CellData,
    [stages, epochs, steps]: [u64; 3],
    trainable: u64,
) -> record::EpochRow {
    let (dev_score, others) = dev_scores(dev, data);
    record::EpochRow {
        epoch: epochs as u32 + epoch.epoch,
        stage: stages as u32 + 1,
        step: steps + epoch.step,
        trainable,
        train_loss_nats: epoch.train_loss_nats,
        dev: dev_score,
        dev_f1: label_f1(&dev[data.headline], &data.main().dev, data.main()),
        others,
    }
}

/// Dev within an epoch as a record shows it; `before` are the epochs and steps of the stages before its own.
pub(crate) fn dev_point(
    step: u64,
    epoch: u32,
    dev: &[Evaluation],
    data: &CellData,
    [epochs, steps]: [u64; 2],
) -> record::DevPoint {
    let (dev, others) = dev_scores(dev, data);
    record::DevPoint { step: steps + step, epoch: epochs as u32 + epoch, dev, others }
}

/// Returns the headline task's dev score and the dev scores of all other tasks.
fn dev_scores(dev: &[Evaluation], data: &CellData) -> (record::Score, BTreeMap<String, record::Score>) {
    let score = |task: usize| {
        let here = &data.tasks[task];
        score(&dev[task], &here.dev, here)
    };
    let others = (0..data.tasks.len()).filter(|task| *task != data.headline);
    (score(data.headline), others.map(|task| (data.tasks[task].name.to_string(), score(task))).collect())
}

/// Returns a point of the curve, after the steps of earlier stages.
pub(crate) fn loss_point(point: &record::LossPoint, before: u64) -> record::LossPoint {
    record::LossPoint { step: before + point.step, ..point.clone() }
}

/// Returns the groups that froze during training, in a record's form.
pub(crate) fn settled_groups(found: &[(Group, u64)]) -> Vec<record::Settled> {
    found.iter().map(|(group, step)| record::Settled { group: group.to_string(), step: *step }).collect()
}

/// Returns the scores of a split's tags.
pub(crate) fn score(evaluation: &Evaluation, scored: &EvaluationSplit, task: &TaskData) -> record::Score {
    let tally = &evaluation.tally;
    let names_entities = task.settings.labels == "entity";
    record::Score {
        loss_nats: evaluation.loss_nats,
        sentences: scored.set.examples.len() as u64,
        words: tally.words,
        correct: tally.correct,
        truncated: tally.truncated,
        vanished: tally.vanished,
        unseen: tally.unseen_scored,
        unseen_tags: scored.set.unseen_tags.clone(),
        entities: names_entities.then(|| count_entities(evaluation, &task.keys(scored), &task.tags)),
    }
}

/// F1 of each label in gold or prediction. Gold labels are the data's own, since train may lack some.
fn label_f1(evaluation: &Evaluation, scored: &EvaluationSplit, task: &TaskData) -> BTreeMap<String, f64> {
    let keys = task.keys(scored);
    let gold = keys.iter().flat_map(|key| key.words.iter().map(|word| word.gold));
    let labels: BTreeSet<&str> = gold.clone().chain(task.tags.iter().map(String::as_str)).collect();
    let labels: Vec<&str> = labels.into_iter().collect();
    let place = |label: &str| labels.binary_search(&label).ok();
    let mut counts = Confusion::new(labels.iter().copied());
    for (gold, outcome) in gold.zip(evaluation.words.iter().flatten()) {
        let predicted = match outcome.predicted {
            Prediction::Tag(tag) => place(&task.tags[tag]),
            _ => None,
        };
        counts.add(place(gold), predicted);
    }
    let seen = counts.per_tag().into_iter().filter(|label| label.support + label.predicted > 0);
    seen.map(|label| (label.tag, label.prf.f1)).collect()
}

/// Counts entities as CoNLL-2003's scorer does; a word without a prediction is outside of any. Gold tags
/// are the data's own, since train may lack some.
fn count_entities(evaluation: &Evaluation, keys: &[SentenceKey<'_>], tags: &[String]) -> record::Entities {
    let mut scores = EntityScores::new(Scheme::Lenient);
    for (key, words) in keys.iter().zip(&evaluation.words) {
        let gold: Vec<&str> = key.words.iter().map(|word| word.gold).collect();
        let predicted = words.iter().map(|word| match word.predicted {
            Prediction::Tag(tag) => tags[tag].as_str(),
            _ => "O",
        });
        let predicted: Vec<&str> = predicted.collect();
        scores.add(&gold, &predicted).expect("one prediction per word");
    }
    let mut sum = record::Entities::default();
    for counts in scores.kinds.values() {
        sum.gold += counts.gold;
        sum.predicted += counts.predicted;
        sum.correct += counts.correct;
    }
    sum
}

/// Returns every labelled word or sentence with its gold and predicted tag: `sent_id`, number, form, gold,
/// predicted; `_`, which is no label, if there is no prediction. For words also their familiarity, and the
/// number of their sentence in the split, from 1: ids may be missing or repeated, and a sentence without labels
/// has no line.
///
/// # Errors
/// If there are not as many predictions as sentences and words.
pub(crate) fn prediction_lines(
    task: &TaskData,
    scored: &EvaluationSplit,
    evaluation: &Evaluation,
) -> Result<String> {
    let keys = task.keys(scored);
    ensure!(keys.len() == evaluation.words.len(), "as many predictions as sentences");
    let of_words = task.settings.unit() == record::Unit::Words;
    let mut out = String::from("sent_id\tid\tform\tgold\tpredicted");
    out += if of_words { "\ttrain\tsentence\n" } else { "\n" };
    let sentences = keys.iter().zip(&evaluation.words).zip(&scored.known);
    for (sentence, ((key, outcomes), known)) in (1..).zip(sentences) {
        let sentence = u64::to_string(&sentence);
        ensure!(key.words.len() == outcomes.len(), "as many predictions as words");
        for (at, (KeyWord { number, form, gold }, outcome)) in key.words.iter().zip(outcomes).enumerate() {
            let predicted = match outcome.predicted {
                Prediction::Tag(tag) => &task.tags[tag],
                _ => NO_TAG,
            };
            let known = known.get(at).map_or("", |known| known.name());
            let fields = [&*key.id, number, form, gold, predicted, known, &sentence];
            // An id comes from a comment, which may contain tabs.
            let fields = fields.map(|field| field.replace(char::is_control, "\u{FFFD}"));
            out += &fields[..if of_words { 7 } else { 5 }].join("\t");
            out.push('\n');
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use frostline_score::{Tally, WordOutcome};

    #[test]
    fn a_gold_tag_that_train_lacks_goes_on_an_entity_all_the_same() {
        let tags = ["B-LOC".to_string(), "O".into()];
        let words = ["B-LOC", "I-LOC", "O"].map(|gold| KeyWord { number: "", form: "".into(), gold });
        let keys = [SentenceKey { id: "1".into(), words: words.to_vec() }];
        let outcome = |gold, predicted| WordOutcome { gold, predicted: Prediction::Tag(predicted) };
        let words = vec![vec![outcome(Some(0), 0), outcome(None, 1), outcome(Some(1), 1)]];
        let evaluation = Evaluation { loss_nats: 0.0, tally: Tally::default(), words };
        let found = count_entities(&evaluation, &keys, &tags);
        assert_eq!((found.gold, found.predicted, found.correct), (1, 1, 0));
    }
}
