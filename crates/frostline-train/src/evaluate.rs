//! Scoring a split: no gradients, no dropout.

use std::convert::Infallible;

use frostline_kernels::Kernels;
use frostline_model::{EncoderConfig, Network};
use frostline_record::Settings;
use frostline_score::{Tally, WordOutcome};
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::passes::forward_passes;
use crate::prefix::{compute_logits, label_states};
use crate::{TrainError, View, pass};

/// A split's figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// As in [`Evaluation`].
    pub loss_nats: f64,
    /// As in [`Evaluation`].
    pub tally: Tally,
}

/// A scored split.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Mean cross-entropy over the words that have a label position and a tag that train knows, in nats.
    pub loss_nats: f64,
    /// The counts.
    pub tally: Tally,
    /// What became of each word of each sentence.
    pub words: Vec<Vec<WordOutcome>>,
}

impl Evaluation {
    /// Its figures alone.
    #[must_use]
    pub fn scored(&self) -> Scored {
        Scored { loss_nats: self.loss_nats, tally: self.tally }
    }
}

/// Scores a split with one of the model's heads, in the settings' precision and in batches of at most about
/// `eval.batch_tokens` subwords. Sentences of similar length go together, which matters only to backends
/// that pad.
///
/// # Errors
/// [`TrainError::NotFinite`] where the model's output is: the largest of such numbers would be no prediction.
pub fn evaluate<B: Kernels>(
    model: &Network<B>,
    head: usize,
    config: &EncoderConfig,
    view: View<'_>,
    settings: &Settings,
) -> Result<Evaluation, TrainError> {
    let data = view.data;
    let mut order: Vec<usize> = (0..data.examples.len()).collect();
    order.sort_by_key(|&sentence| data.examples[sentence].ids.len());
    let mut words = vec![Vec::new(); data.examples.len()];
    let (mut tally, mut loss) = (Tally::default(), 0f64);
    let pass = pass::scoring_pass(config, settings);
    let scores = |sentences: &[usize]| {
        let mut batch = Batch::new(config, view, sentences, false);
        if batch.labels.is_empty() {
            return (Vec::new(), 1);
        }
        let logits = compute_logits(model, head, config, &mut batch, &pass);
        let tags = logits.dims()[1];
        (logits.into_data().into_vec::<f32>().expect("logits are f32"), tags)
    };
    let take = |sentences: &[usize], (logits, tags): (Vec<f32>, usize)| {
        let mut rows = logits.chunks_exact(tags);
        for &sentence in sentences {
            let example = &data.examples[sentence];
            let mut predicted = Vec::with_capacity(example.words.len());
            for (_, gold) in example.words.iter().zip(&example.gold).filter(|(word, _)| word.is_ok()) {
                let row = rows.next().expect("one row of logits per label position");
                if !row.iter().all(|logit| logit.is_finite()) {
                    return Err(TrainError::NotFinite { sentence: sentence + 1 });
                }
                predicted.push(best_label(row));
                loss += gold.map_or(0.0, |gold| cross_entropy(row, gold));
            }
            words[sentence] = example.outcomes(predicted.into_iter()).collect();
            tally.extend(words[sentence].iter().copied());
        }
        Ok(())
    };
    forward_passes::<B, _, _>(data, &order, settings.eval.batch_tokens, scores, take)?;
    let known = (tally.scored - tally.unseen_scored).max(1);
    Ok(Evaluation { loss_nats: loss / known as f64, tally, words })
}

/// What goes into the heads at a split's label positions, in the order of its sentences and words.
///
/// # Shapes
/// \\[label positions, H\\], row-major
#[must_use]
pub fn features<B: Kernels>(
    model: &Network<B>,
    config: &EncoderConfig,
    view: View<'_>,
    settings: &Settings,
) -> Vec<f32> {
    let order: Vec<usize> = (0..view.data.examples.len()).collect();
    let pass = pass::scoring_pass(config, settings);
    let states = |sentences: &[usize]| {
        let mut batch = Batch::new(config, view, sentences, false);
        if batch.labels.is_empty() {
            return Vec::new();
        }
        let rows = label_states(model, config, &mut batch, &pass);
        rows.into_data().into_vec::<f32>().expect("hidden states are f32")
    };
    let mut all = Vec::new();
    let Ok(()) =
        forward_passes::<B, _, _>(view.data, &order, settings.eval.batch_tokens, states, |_, rows| {
            all.extend(rows);
            Ok::<(), Infallible>(())
        });
    all
}

/// The first of the highest.
pub(crate) fn best_label(row: &[f32]) -> u32 {
    let mut best = 0;
    for (tag, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = tag;
        }
    }
    best as u32
}

pub(crate) fn cross_entropy(row: &[f32], gold: u32) -> f64 {
    let top = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = row.iter().map(|&value| libm::exp(f64::from(value) - top)).sum();
    libm::log(sum) + top - f64::from(row[gold as usize])
}
