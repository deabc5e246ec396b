//! Scores of an encoder's blocks at its starting weights: how much a task asks each block to change, before any training.
//!
//! # Source
//! - Fisher information: Lodha et al., *On Surgical Fine-tuning for Language Encoders*, Findings of EMNLP 2023.
//! - Relative gradient norm and signal-to-noise ratio of gradients: Lee et al., *Surgical Fine-Tuning Improves Adaptation to
//!   Distribution Shifts*, ICLR 2023.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::prelude::*;
use frostline_freeze::Group;
use frostline_kernels::{Kernels, Train};
use frostline_model::{EncoderConfig, Network, set_trainable, snapshot};
use frostline_record::Settings;
use rayon::prelude::*;

use crate::batch::Batch;
use crate::passes::forward_passes;
use crate::prefix::compute_logits;
use crate::{Task, TrainError, View, pass};

/// Scores of each block by gradients of the mean loss of the labels, without dropout. All parameters of a block count, none of
/// embeddings and heads.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientScores {
    /// The diagonal of the empirical Fisher information: the squared derivative by a parameter, its mean over single sentences and
    /// over the block's parameters.
    pub fisher: Vec<f64>,
    /// The norm of the gradient of a batch divided by the norm of the block's parameters, its mean over the batches.
    pub relative_norm: Vec<f64>,
    /// The squared mean of a derivative over single sentences divided by its variance, its mean over the block's parameters. A
    /// parameter without variance counts as 0.
    pub signal_to_noise: Vec<f64>,
    /// The sentences with labels.
    pub sentences: usize,
    /// The batches with labels.
    pub batches: usize,
}

/// Scores the blocks of a model with the gradients on some sentences of a task, in the given batches.
///
/// It keeps two numbers for each parameter of the blocks.
///
/// # Errors
/// [`TrainError::Diverged`] if a loss is NaN or infinite.
pub fn score_gradients<B: Train>(
    model: Network<B>,
    encoder: &EncoderConfig,
    settings: &Settings,
    task: Task<'_>,
    batches: &[Vec<usize>],
) -> Result<GradientScores, TrainError> {
    let model = set_trainable(model, |path| matches!(Group::of(path), Group::Block(_)));
    let norms = block_norms(&model, encoder.depth);
    let gradient = |sentences: &[usize]| gradient_by_block(&model, encoder, settings, task, sentences);
    let mut moments: Vec<DerivativeMoments> = vec![DerivativeMoments::default(); encoder.depth];
    let mut relative = vec![0.0; encoder.depth];
    let (mut sentences, mut scored_batches) = (0, 0);
    for batch in batches {
        for sentence in batch {
            let Some(gradient) = gradient(std::slice::from_ref(sentence))? else { continue };
            sentences += 1;
            let blocks = moments.par_iter_mut().zip(gradient);
            blocks.for_each(|(moments, gradient)| moments.add_sample(sentences, &gradient));
        }
        if let Some(gradient) = gradient(batch)? {
            scored_batches += 1;
            for ((sum, norm), gradient) in relative.iter_mut().zip(&norms).zip(&gradient) {
                *sum += norm_of(gradient) / norm.max(f64::MIN_POSITIVE);
            }
        }
    }
    let of_moments = |score: fn(&DerivativeMoments, usize) -> f64| {
        moments.par_iter().map(|moments| score(moments, sentences)).collect::<Vec<f64>>()
    };
    Ok(GradientScores {
        fisher: of_moments(DerivativeMoments::mean_square),
        signal_to_noise: of_moments(DerivativeMoments::signal_to_noise),
        relative_norm: relative.iter().map(|sum| sum / scored_batches.max(1) as f64).collect(),
        sentences,
        batches: scored_batches,
    })
}

/// Mean and sum of squared deviations of each derivative, by Welford's method.
#[derive(Clone, Default)]
struct DerivativeMoments {
    mean: Vec<f32>,
    deviations: Vec<f32>,
}

impl DerivativeMoments {
    /// Adds the sample that makes `count` of them.
    fn add_sample(&mut self, count: usize, gradient: &[f32]) {
        self.mean.resize(gradient.len(), 0.0);
        self.deviations.resize(gradient.len(), 0.0);
        let share = 1.0 / count as f32;
        for ((mean, deviations), value) in self.mean.iter_mut().zip(&mut self.deviations).zip(gradient) {
            let difference = value - *mean;
            *mean += difference * share;
            *deviations += difference * (value - *mean);
        }
    }

    fn mean_square(&self, count: usize) -> f64 {
        self.mean_over_parameters(|mean, deviations| mean * mean + deviations / count as f64)
    }

    fn signal_to_noise(&self, count: usize) -> f64 {
        let degrees = count.saturating_sub(1).max(1) as f64;
        self.mean_over_parameters(|mean, deviations| match deviations / degrees {
            0.0 => 0.0,
            variance => mean * mean / variance,
        })
    }

    fn mean_over_parameters(&self, value: impl Fn(f64, f64) -> f64) -> f64 {
        let pairs = self.mean.iter().zip(&self.deviations);
        let sum: f64 = pairs.map(|(mean, deviations)| value(f64::from(*mean), f64::from(*deviations))).sum();
        sum / self.mean.len().max(1) as f64
    }
}

/// The gradient of each block's parameters, one parameter after the other; `None` if no word of the sentences has a label.
fn gradient_by_block<B: Train>(
    model: &Network<B>,
    encoder: &EncoderConfig,
    settings: &Settings,
    task: Task<'_>,
    sentences: &[usize],
) -> Result<Option<Vec<Vec<f32>>>, TrainError> {
    let mut batch = Batch::new(encoder, task.train, sentences, true);
    if batch.labels.is_empty() {
        return Ok(None);
    }
    let labels = batch.labels.len() as f64;
    let logits =
        compute_logits(model, task.head, encoder, &mut batch, &pass::scoring_pass(encoder, settings));
    let mean = B::k_cross_entropy(logits, &batch.labels).div_scalar(labels);
    let loss = mean.clone().inner().into_scalar().elem::<f32>();
    if !loss.is_finite() {
        return Err(TrainError::Diverged { step: 0, loss, lr: 0.0 });
    }
    let gradients = GradientsParams::from_grads(B::k_backward(&mean, false), model);
    let mut gathered =
        Gathered { gradients: &gradients, path: Vec::new(), blocks: vec![Vec::new(); encoder.depth] };
    model.visit(&mut gathered);
    Ok(Some(gathered.blocks))
}

/// Collects the gradients of blocks.
struct Gathered<'a> {
    gradients: &'a GradientsParams,
    path: Vec<String>,
    blocks: Vec<Vec<f32>>,
}

impl<A: Train> ModuleVisitor<A> for Gathered<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<A, D>>) {
        let Group::Block(block) = Group::of(&self.path.join(".")) else { return };
        let count = parameter.lazy_shape().num_elements();
        match self.gradients.get::<A::InnerBackend, D>(parameter.id) {
            Some(gradient) => {
                self.blocks[block].extend(gradient.into_data().into_vec::<f32>().expect("gradients are f32"));
            }
            None => self.blocks[block].extend(std::iter::repeat_n(0.0, count)),
        }
    }
}

/// The norm of each block's parameters.
fn block_norms<B: Train>(model: &Network<B>, depth: usize) -> Vec<f64> {
    let mut squares = vec![0.0; depth];
    for (path, values) in snapshot(model) {
        if let Group::Block(block) = Group::of(&path) {
            squares[block] += norm_of(&values.data).powi(2);
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

fn norm_of(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

/// Returns the output of the embeddings and of each block at a split's label positions, in the order of its sentences and words.
///
/// # Shapes
/// depth + 1 of \[label positions, H\], row-major
#[must_use]
pub fn layer_features<B: Kernels>(
    model: &Network<B>,
    config: &EncoderConfig,
    view: View<'_>,
    settings: &Settings,
) -> Vec<Vec<f32>> {
    let order: Vec<usize> = (0..view.data.examples.len()).collect();
    let (pass, view) = (pass::scoring_pass(config, settings), View { prefix: None, ..view });
    let states = |sentences: &[usize]| {
        let batch = Batch::new(config, view, sentences, false);
        if batch.labels.is_empty() {
            return Vec::new();
        }
        let x = model.encoder.embed(config, &batch.input, &pass);
        let layers = model.layers(0, config, x, &batch.input, &pass);
        let values = |x: Tensor<B, 2>| x.into_data().into_vec::<f32>().expect("hidden states are f32");
        layers.into_iter().map(values).collect()
    };
    let mut all: Vec<Vec<f32>> = vec![Vec::new(); config.depth + 1];
    let Ok(()) =
        forward_passes::<B, _, _>(view.data, &order, settings.eval.batch_tokens, states, |_, layers| {
            all.iter_mut().zip(layers).for_each(|(all, rows)| all.extend(rows));
            Ok::<(), std::convert::Infallible>(())
        });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::fixture::Fixture;

    #[test]
    fn moments_are_those_of_all_samples() {
        let samples = [[1.0, 2.0], [3.0, 2.0], [8.0, 2.0]];
        let mut moments = DerivativeMoments::default();
        samples.iter().zip(1..).for_each(|(sample, count)| moments.add_sample(count, sample));
        // Means 4 and 2; squares 74/3 and 4; the first variance is 26/2.
        assert!((moments.mean_square(3) - (74.0 / 3.0 + 4.0) / 2.0).abs() < 1e-5);
        assert!((moments.signal_to_noise(3) - 16.0 / 13.0 / 2.0).abs() < 1e-5);
    }

    #[test]
    fn threads_change_no_score_and_the_last_layer_is_what_heads_read() {
        let Fixture { encoder, train, model } = Fixture::new(9);
        let settings = Settings::default();
        let task = Run::task((&train).into(), (&train).into());
        let score = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let batches = [vec![0, 1], vec![2, 3]];
            pool.install(|| {
                score_gradients(model.clone(), &encoder, &settings, task, &batches).expect("scores")
            })
        };
        let scores = score(1);
        assert_eq!(scores, score(3));
        assert_eq!((scores.sentences, scores.batches, scores.fisher.len()), (4, 2, encoder.depth));
        for all in [&scores.fisher, &scores.relative_norm] {
            assert!(all.iter().all(|score| score.is_finite() && *score > 0.0), "{scores:?}");
        }
        let layers = layer_features(&model, &encoder, (&train).into(), &settings);
        let features = crate::features(&model, &encoder, (&train).into(), &settings);
        assert_eq!(layers.len(), encoder.depth + 1);
        assert_eq!(layers[encoder.depth], features);
    }
}
