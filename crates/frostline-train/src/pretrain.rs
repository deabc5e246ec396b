//! Masked-language modelling: how an encoder learns before it is frozen. Meant for small encoders,
//! such as the demo's.

use burn::module::{AutodiffModule, Module, Param};
use burn::optim::GradientsParams;
use burn::prelude::*;
use frostline_kernels::{Index, Kernels, Pack, Precision, Train};
use frostline_model::{
    Encoder, EncoderConfig, Linear, ModelError, Norm, PackedInput, ParameterSource, RandomInit, Vocabulary,
};
use frostline_random::Stream;
use frostline_record::{OptimizerSettings, ScheduleKind, ScheduleSettings};

use crate::{LrSchedule, Optimizer, TrainError, pass};

/// An encoder with a masked-language head whose output is tied to the word table.
#[derive(Module, Debug)]
pub struct MaskedLm<B: Backend> {
    /// The encoder.
    pub encoder: Encoder<B>,
    /// \[H, E\]
    pub transform: Linear<B>,
    /// After the transform.
    pub norm: Norm<B>,
    /// \[vocabulary\]
    pub bias: Param<Tensor<B, 1>>,
}

/// How to pretrain.
#[derive(Clone, Debug, PartialEq)]
pub struct PretrainConfig {
    /// The seed of first weights, order, masks and dropout.
    pub seed: u64,
    /// Passes over the text.
    pub epochs: u32,
    /// Sentences per step.
    pub batch: usize,
    /// Peak learning rate; warmed up over 5 % of the steps, then linear to zero.
    pub lr: f64,
    /// Share of subwords that are predicted.
    pub masked: f64,
    /// The id of `[MASK]`.
    pub mask_id: u32,
    /// Ids that are never hidden nor predicted: the special tokens.
    pub special_ids: Vec<u32>,
}

/// Pretrains an encoder from random weights on sentences of subword ids. `tell` is called every 100
/// steps with the step, the number of steps, and the mean loss in nats since the last call.
///
/// # Errors
/// Where there is no text or training diverges.
///
/// # Panics
/// Where a step has no sentences, a sentence no subword, or the encoder's word table no row for an id.
pub fn pretrain<B: Train>(
    encoder: &EncoderConfig,
    text: &[Vec<u32>],
    config: &PretrainConfig,
    device: &B::Device,
    tell: &mut dyn FnMut(u64, u64, f64),
) -> Result<Encoder<B::InnerBackend>, TrainError> {
    if text.is_empty() {
        return Err(TrainError::EmptySplit { split: "pretraining".into() });
    }
    let mut model = build::<B>(encoder, config.seed, device)?;
    let steps = text.len().div_ceil(config.batch) as u64 * u64::from(config.epochs);
    let warmup = ScheduleSettings { kind: ScheduleKind::Linear, warmup: 0.05 };
    let schedule = LrSchedule::new(&warmup, config.lr, steps);
    let settings = OptimizerSettings { lr: config.lr, ..OptimizerSettings::default() };
    let mut optimizer = Optimizer::new(settings, encoder.depth);
    let stream = |name| Stream::new(config.seed, name);
    let (order, masks, dropout) = (stream("shuffle"), stream("mask"), stream("dropout"));
    let (mut step, mut sum, mut count) = (0, 0.0, 0.0);
    for epoch in 0..u64::from(config.epochs) {
        for sentences in order.child(epoch).permutation(text.len()).chunks(config.batch) {
            let batch = Masked::new(text, sentences, encoder, config, masks.child(epoch));
            let pass = pass::encoder_dropout(dropout.child(step), encoder, &|_| true);
            let lr = schedule.at(step);
            step += 1;
            if batch.labels.is_empty() {
                continue;
            }
            let rows = batch.input.label_rows();
            let x = B::k_gather(model.encoder.forward(encoder, &batch.input, &pass), &rows.rows);
            let x = B::k_gelu(model.transform.forward(x, Precision::F32));
            let x = model.norm.forward(x, encoder.norm_eps, &rows.identities);
            let words = model.encoder.embeddings.word.val().transpose();
            let logits = B::k_linear(x, words, model.bias.val(), Precision::F32);
            let loss = B::k_cross_entropy(logits, &batch.labels).div_scalar(batch.labels.len() as f64);
            let value: f32 = loss.clone().into_scalar().elem();
            if !value.is_finite() {
                return Err(TrainError::Diverged { step, loss: value, lr });
            }
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(lr, model, gradients).0;
            (sum, count) = (sum + f64::from(value), count + 1.0);
            if step % 100 == 0 || step == steps {
                tell(step, steps, sum / count);
                (sum, count) = (0.0, 0.0);
            }
        }
    }
    Ok(model.encoder.valid())
}

fn build<B: Kernels>(
    encoder: &EncoderConfig,
    seed: u64,
    device: &B::Device,
) -> Result<MaskedLm<B>, ModelError> {
    let draw = RandomInit::new(seed, encoder.initializer_range);
    let [h, e] = [encoder.hidden, encoder.embedding];
    let vector = |path: &str, n: usize| -> Result<Param<Tensor<B, 1>>, ModelError> {
        let values = draw.values(path, &[n])?;
        Ok(Param::from_tensor(Tensor::from_data(TensorData::new(values, [n]), device)))
    };
    let weight =
        Tensor::from_data(TensorData::new(draw.values("mlm.transform.weight", &[h, e])?, [h, e]), device);
    Ok(MaskedLm {
        encoder: Encoder::build(encoder, &Vocabulary::full(encoder.vocabulary), [&draw, &draw], device)?,
        transform: Linear {
            weight: Param::from_tensor(weight),
            bias: Some(vector("mlm.transform.bias", e)?),
            lora: None,
            ia3: None,
        },
        norm: Norm {
            gamma: vector("mlm.norm.gamma", e)?,
            beta: Some(vector("mlm.norm.beta", e)?),
            centred: true,
        },
        bias: vector("mlm.bias", encoder.vocabulary)?,
    })
}

/// A packed batch in which some subwords are hidden.
struct Masked {
    /// Its subwords, and the rows to predict.
    input: PackedInput,
    /// What stood there.
    labels: Index,
}

impl Masked {
    fn new(
        text: &[Vec<u32>],
        sentences: &[usize],
        encoder: &EncoderConfig,
        config: &PretrainConfig,
        masks: Stream,
    ) -> Self {
        let lengths: Vec<usize> = sentences.iter().map(|&s| text[s].len()).collect();
        let numbers: Vec<u64> = sentences.iter().map(|&s| s as u64).collect();
        let pack = Pack::new(&lengths, &numbers);
        let (mut ids, mut rows, mut labels) = (vec![], vec![], vec![]);
        for &sentence in sentences {
            let draw = masks.child(sentence as u64);
            for (i, &id) in text[sentence].iter().enumerate() {
                let at = 3 * i as u64;
                let mut shown = id;
                if !config.special_ids.contains(&id) && draw.unit(at) < config.masked {
                    rows.push(ids.len() as u32);
                    labels.push(id);
                    // BERT's rule: 80 % hidden, 10 % replaced, 10 % left.
                    shown = match draw.unit(at + 1) {
                        kind if kind < 0.8 => config.mask_id,
                        kind if kind < 0.9 => draw.below(at + 2, encoder.vocabulary as u64) as u32,
                        _ => id,
                    };
                }
                ids.push(shown);
            }
        }
        Self { input: PackedInput::new(encoder, pack, ids, rows), labels: labels.into() }
    }
}
