//! The constant lowest part of an encoder: computed once per dataset, then only read.
//!
//! Where the embeddings and the lowest blocks are frozen and nothing is dropped in them, what comes
//! out of them is a constant of the data. This module computes it and hands it to batches; it keeps
//! nothing itself.

use burn::prelude::*;
use frostline_kernels::{Kernels, Precision};
use frostline_model::{EncoderConfig, Input, Pass, Tagger};

use crate::data::{Batch, batches};
use crate::{Dataset, Run, Task};

/// A dataset, and where there is one what the encoder's constant prefix makes of it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The examples.
    pub data: &'a Dataset,
    /// What goes into the block above the prefix.
    pub prefix: Option<Prefix<'a>>,
}

impl<'a> From<&'a Dataset> for View<'a> {
    fn from(data: &'a Dataset) -> Self {
        Self { data, prefix: None }
    }
}

/// The hidden states above a constant prefix.
#[derive(Clone, Copy, Debug)]
pub struct Prefix<'a> {
    /// Blocks of the prefix.
    pub blocks: usize,
    /// H.
    pub hidden: usize,
    /// \\[subwords of the dataset, H\\], in the order of its sentences.
    pub rows: &'a [f32],
    /// The first row of each sentence, see [`Dataset::starts`].
    pub starts: &'a [usize],
}

impl Prefix<'_> {
    /// The rows of some sentences, one after the other.
    pub(crate) fn gather(&self, data: &Dataset, sentences: &[usize]) -> Vec<f32> {
        let hidden = self.hidden;
        let mut out = Vec::new();
        for &sentence in sentences {
            let first = self.starts[sentence] * hidden;
            out.extend_from_slice(&self.rows[first..][..data.examples[sentence].ids.len() * hidden]);
        }
        out
    }
}

/// The output of a prefix that became constant while a run went on.
pub(crate) struct Grown {
    blocks: usize,
    hidden: usize,
    /// Rows and starts of train and dev, by task.
    splits: Vec<[(Vec<f32>, Vec<usize>); 2]>,
}

impl Grown {
    /// Computes it for every split of a run's tasks.
    pub fn compute<B: Kernels>(model: &Tagger<B>, run: &Run<'_>, blocks: usize) -> Self {
        let (encoder, config) = (run.encoder, run.config);
        let split = |view: View<'_>| {
            let mut rows = Vec::with_capacity(view.data.subwords() * encoder.hidden);
            let mut take = |some: &[f32]| {
                rows.extend_from_slice(some);
                Ok::<(), std::convert::Infallible>(())
            };
            let size = [blocks, config.eval_tokens];
            let Ok(()) = compute_prefix(model, encoder, view.data, size, config.precision, &mut take);
            (rows, view.data.starts())
        };
        let splits = run.tasks.iter().map(|task| [split(task.train), split(task.dev)]).collect();
        Self { blocks, hidden: encoder.hidden, splits }
    }

    /// The tasks, reading it.
    pub fn under<'a>(&'a self, tasks: &[Task<'a>]) -> Vec<Task<'a>> {
        let view = |view: View<'a>, (rows, starts): &'a (Vec<f32>, Vec<usize>)| View {
            data: view.data,
            prefix: Some(Prefix { blocks: self.blocks, hidden: self.hidden, rows, starts }),
        };
        let task = |(task, [train, dev]): (&Task<'a>, &'a [_; 2])| Task {
            train: view(task.train, train),
            dev: view(task.dev, dev),
            ..*task
        };
        tasks.iter().zip(&self.splits).map(task).collect()
    }
}

/// Computes what goes into block `blocks` for every subword of a dataset, and hands it on in the
/// order of its sentences, about `tokens` rows of H numbers at a time. Nothing is dropped.
///
/// # Errors
/// What `take` says.
pub fn compute_prefix<B: Kernels, E>(
    model: &Tagger<B>,
    config: &EncoderConfig,
    data: &Dataset,
    [blocks, tokens]: [usize; 2],
    precision: Precision,
    take: &mut dyn FnMut(&[f32]) -> Result<(), E>,
) -> Result<(), E> {
    let pass = Pass { precision, ..Pass::plain(config.depth) };
    let order: Vec<usize> = (0..data.examples.len()).collect();
    for sentences in batches(data, &order, tokens) {
        let batch = Batch::new(data.into(), sentences, true);
        let input = Input { ids: &batch.rows, positions: &batch.positions, pack: &batch.pack };
        let x = model.encoder.embed(config, input, &pass);
        let x = model.encoder.climb(config, x, 0..blocks, &batch.pack, &pass);
        take(&x.into_data().into_vec::<f32>().expect("hidden states are f32"))?;
    }
    Ok(())
}

/// What goes into a head at a batch's speaking positions, from its subwords or from its prefix.
pub(crate) fn speaking<B: Kernels>(
    model: &Tagger<B>,
    config: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
) -> Tensor<B, 2> {
    let (first, x) = match batch.prefix.take() {
        None => {
            let input = Input { ids: &batch.rows, positions: &batch.positions, pack: &batch.pack };
            (0, model.encoder.embed(config, input, pass))
        }
        Some((blocks, rows)) => {
            let shape = [batch.pack.len(), config.hidden];
            (blocks, Tensor::from_data(TensorData::new(rows, shape), &model.device()))
        }
    };
    model.features(first, config, x, &batch.pack, &batch.speaking, pass)
}

/// The logits of a batch's speaking positions.
pub(crate) fn logits<B: Kernels>(
    model: &Tagger<B>,
    head: usize,
    config: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
) -> Tensor<B, 2> {
    let x = speaking(model, config, batch, pass);
    model.heads[head].forward(x, pass, &batch.pack.rows().select(&batch.speaking))
}
