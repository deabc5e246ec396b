//! Logits or hidden states of every position, for comparing a model folder with other programs.

use anyhow::{Result, bail};
use burn::tensor::backend::Backend;
use frostline_kernels::backend::{self, Work};
use frostline_kernels::{Kernels, Pack, Train};
use frostline_model::{
    Encoder, Network as Classifier, PackedInput, ParameterSource, Pass, Vocabulary, batches,
};

use crate::engine::BATCH_TOKENS;
use crate::model_folder::ModelFolder;

/// A forward pass over sentences of token ids.
#[derive(Clone, Copy)]
pub struct Positions<'a> {
    /// The model.
    pub folder: &'a ModelFolder,
    /// Token ids of every sentence, special tokens included.
    pub sentences: &'a [Vec<u32>],
    /// Whether to compute the last hidden states instead of logits; these need no classifier.
    pub hidden: bool,
}

/// An encoder, with its classifier or without.
enum Model<B: Backend> {
    Bare(Box<Encoder<B>>),
    Tagger(Box<Classifier<B>>),
}

/// Receives a sentence's ids and one row per position, and returns whether to continue.
type Each<'a> = dyn FnMut(&[u32], Vec<&[f32]>) -> bool + 'a;

impl Positions<'_> {
    /// Computes all sentences in order. `each` gets a sentence's ids with one row per position (logits \[C\], or
    /// hidden states \[H\]). If it returns false, the remaining sentences are not computed.
    ///
    /// # Errors
    /// If the backend cannot run on this machine, or the weights do not fit the config.
    pub fn compute(self, backend: &str, each: &mut Each<'_>) -> Result<()> {
        backend::on(backend, OnBackend { positions: self, each })?
    }

    fn run<B: Kernels>(self, device: &B::Device, each: &mut Each<'_>) -> Result<()> {
        let Self { folder, sentences, hidden } = self;
        let (config, weights) = (&folder.config, &folder.weights);
        // At least one row, even if the file has only empty lines.
        let ids = sentences.iter().flatten().copied().chain([0]);
        let vocabulary = Vocabulary::of(config.vocabulary, ids);
        let model = if hidden {
            Model::Bare(Box::new(Encoder::<B>::build(config, &vocabulary, [weights, weights], device)?))
        } else {
            let sources: [&dyn ParameterSource; 2] = [weights, weights];
            let tagger = Classifier::<B>::build(config, &vocabulary, &[folder.head()], sources, device)?;
            Model::Tagger(Box::new(tagger))
        };
        for batch in batches(sentences, BATCH_TOKENS, Vec::len) {
            let values = self.batch_rows(&model, &vocabulary, batch);
            if !values.iter().all(|value| value.is_finite()) {
                bail!("{}: the model's output is NaN or infinite; use other weights", folder.place.display());
            }
            let mut rows = values.chunks_exact(if hidden { config.hidden } else { folder.tags.len() });
            for ids in batch {
                if !each(ids, rows.by_ref().take(ids.len()).collect()) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns the rows of all positions of a batch of sentences, one after another.
    fn batch_rows<B: Kernels>(
        self,
        model: &Model<B>,
        vocabulary: &Vocabulary,
        batch: &[Vec<u32>],
    ) -> Vec<f32> {
        let config = &self.folder.config;
        // If there are no special tokens, an empty line has no positions and is left out of the pack.
        let lengths: Vec<usize> = batch.iter().map(Vec::len).filter(|&length| length > 0).collect();
        if lengths.is_empty() {
            return Vec::new();
        }
        let ids: Vec<u32> = batch.iter().flatten().filter_map(|&id| vocabulary.row(id)).collect();
        let pack = Pack::new(&lengths, &(0..lengths.len() as u64).collect::<Vec<_>>());
        let all = (0..ids.len() as u32).collect();
        let input = PackedInput::new(config, pack, ids, all);
        let off = Pass::plain(config.depth);
        let states = match model {
            Model::Bare(encoder) => encoder.forward(config, &input, &off),
            Model::Tagger(tagger) => tagger.forward(0, config, &input, &off),
        };
        states.into_data().into_vec::<f32>().expect("states are f32")
    }
}

/// The computation as [`Work`] for a backend that is chosen by name.
struct OnBackend<'a, 'b, 'c> {
    positions: Positions<'a>,
    each: &'b mut Each<'c>,
}

impl Work for OnBackend<'_, '_, '_> {
    type Output = Result<()>;

    fn run<B: Train>(self, device: &B::Device) -> Result<()> {
        self.positions.run::<B::InnerBackend>(device, self.each)
    }
}
