//! From what a run found to what a record says.

use anyhow::{Context, Result};
use frostline_freeze::{Accounts, Parameter, Policy};
use frostline_kernels::Train;
use frostline_model::EncoderConfig;
use frostline_record::{self as record, Event};
use frostline_train::{Dataset, Epoch, Evaluation, Event as TrainEvent, Finished, TrainConfig};

use crate::data::Data;
use crate::version;

/// Parameters of a tagger under a policy, as a record shows them.
#[must_use]
pub fn accounts(encoder: &EncoderConfig, labels: usize, policy: &Policy) -> record::Accounts {
    let parameters: Vec<Parameter> =
        encoder.parameters(labels).into_iter().map(|(path, shape)| Parameter { path, shape }).collect();
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

/// A training event in the words of the protocol.
pub(crate) fn translate(event: TrainEvent<'_>, id: &str, config: &TrainConfig, data: &Data) -> Event {
    match event {
        TrainEvent::Loss { point, epoch, steps, tokens_per_s, times } => {
            let per_step = times.steps_ms.iter().sum::<f64>() / times.steps_ms.len() as f64;
            let per_eval = times.epochs_ms.iter().map(|[_, eval]| *eval).reduce(f64::max).unwrap_or(per_step);
            let evals = f64::from(config.epochs) - times.epochs_ms.len() as f64;
            let left = (steps - point.step) as f64 * per_step + evals * per_eval;
            Event::Step(record::StepEvent {
                id: id.into(),
                step: point.step,
                steps,
                epoch,
                loss_nats: point.loss_nats,
                lr: point.lr,
                tokens_per_s,
                left_s: left / 1e3,
            })
        }
        TrainEvent::Epoch(epoch) => Event::Epoch { id: id.into(), row: epoch_row(epoch, &data.dev) },
    }
}

pub(crate) fn epoch_row(epoch: &Epoch, dev: &Dataset) -> record::EpochRow {
    record::EpochRow {
        epoch: epoch.epoch,
        step: epoch.step,
        train_loss_nats: epoch.train_loss_nats,
        dev: score(&epoch.dev, dev),
    }
}

pub(crate) fn loss_point(point: &frostline_train::LossPoint) -> record::LossPoint {
    record::LossPoint { step: point.step, loss_nats: point.loss_nats, lr: point.lr }
}

pub(crate) fn score(evaluation: &Evaluation, data: &Dataset) -> record::Score {
    let tally = &evaluation.tally;
    record::Score {
        loss_nats: evaluation.loss_nats,
        sentences: data.examples.len() as u64,
        words: tally.words,
        correct: tally.correct,
        truncated: tally.truncated,
        vanished: tally.vanished,
        unseen: tally.unseen_scored,
        unseen_tags: data.unseen_tags.clone(),
    }
}

pub(crate) fn train_facts(train: &Dataset) -> record::TrainFacts {
    let mut facts = record::TrainFacts {
        sentences: train.examples.len() as u64,
        words: 0,
        subwords: train.subwords() as u64,
        truncated: 0,
        vanished: 0,
    };
    for word in train.examples.iter().flat_map(|example| &example.words) {
        facts.words += 1;
        match word {
            Err(frostline_score::Prediction::Truncated) => facts.truncated += 1,
            Err(frostline_score::Prediction::Vanished) => facts.vanished += 1,
            _ => {}
        }
    }
    facts
}

/// Every word with its gold and predicted tag: `sent_id`, word number, form, gold, predicted;
/// `-` where there is no prediction.
pub(crate) fn prediction_lines(text: &str, tags: &[String], evaluation: &Evaluation) -> Result<String> {
    use std::fmt::Write as _;
    let mut out = String::from("sent_id\tid\tform\tgold\tpredicted\n");
    let mut outcomes = evaluation.words.iter();
    for sentence in frostline_conllu::parse(text) {
        let sentence = sentence.map_err(|fault| anyhow::anyhow!("{fault}"))?;
        if sentence.words().next().is_none() {
            continue;
        }
        let mut words = outcomes.next().context("more sentences than predictions")?.iter();
        let id = sentence.sent_id().unwrap_or("-");
        for row in sentence.words().filter(|row| row.upos() != "_") {
            let outcome = words.next().context("more words than predictions")?;
            let predicted = match outcome.predicted {
                frostline_score::Prediction::Tag(tag) => &tags[tag],
                _ => "-",
            };
            writeln!(out, "{id}\t{}\t{}\t{}\t{predicted}", row.id(), row.form(), row.upos())?;
        }
    }
    Ok(out)
}

pub(crate) fn timing<B: Train>(
    finished: &Finished<B>,
    data: &Data,
    prefix: record::PrefixUse,
    load_ms: f64,
    test_ms: f64,
    rest_ms: f64,
) -> record::Timing {
    let times = &finished.times;
    let train_ms: f64 = times.steps_ms.iter().sum();
    let dev_ms: f64 = times.epochs_ms.iter().map(|[_, eval]| eval).sum();
    let mut steady: Vec<f64> = times.steps_ms.iter().skip(3).copied().collect();
    steady.sort_by(f64::total_cmp);
    let per_s = |count: f64| 1e3 * count / train_ms.max(1e-9);
    let epochs = finished.epochs.len() as f64;
    record::Timing {
        load_ms,
        train_ms,
        eval_ms: dev_ms + test_ms,
        total_ms: train_ms + dev_ms + prefix.fill_ms + rest_ms,
        step_ms_median: steady.get(steady.len() / 2).copied().unwrap_or(0.0),
        samples_per_s: per_s(data.train.examples.len() as f64 * epochs),
        steps_per_s: per_s(finished.steps as f64),
        tokens_per_s: per_s(data.train.subwords() as f64 * epochs),
        epochs: times
            .epochs_ms
            .iter()
            .map(|&[train_ms, eval_ms]| record::EpochTiming { train_ms, eval_ms })
            .collect(),
        prefix,
        peak_rss_mib: version::peak_rss_mib(),
    }
}
