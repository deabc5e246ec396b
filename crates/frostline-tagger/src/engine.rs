//! The forward pass of a tagger behind a trait object that hides the backend: windows in, logits out.

use anyhow::Result;
use frostline_kernels::backend::{MatrixUnitChoice, Work};
use frostline_kernels::{Kernels, Pack, Train};
use frostline_model::{
    EncoderConfig, HeadShape, Network as Model, PackedInput, ParameterSource, Pass, Vocabulary,
};
use frostline_record as record;

use crate::model_folder::ModelFolder;

/// The most subwords in one forward pass.
pub(crate) const BATCH_TOKENS: usize = 2048;

/// A sentence, or a window of a long one, as the model reads it.
pub(crate) struct Window {
    /// The index of its slice in the group that is tagged together.
    pub slice: usize,
    /// Subword ids, special tokens included.
    pub ids: Vec<u32>,
    /// Each label position with the index of its word, in ascending order.
    pub label_positions: Vec<(u32, u32)>,
}

/// A model on some backend.
pub(crate) trait Engine: Send + Sync {
    /// Computes one row of logits per label position, in order.
    fn logits(&self, windows: &[Window]) -> Vec<f32>;

    /// Returns whether threads compute forward passes side by side.
    fn on_threads(&self) -> bool;
}

/// Builds the engine of a folder's model.
pub(crate) struct Build<'a> {
    pub model: &'a ModelFolder,
    pub precision: record::Precision,
}

struct Loaded<B: Kernels> {
    model: Model<B>,
    config: EncoderConfig,
    pass: Pass,
    on_threads: bool,
    choice: MatrixUnitChoice,
}

impl Work for Build<'_> {
    type Output = Result<Box<dyn Engine>>;

    fn run<B: Train>(self, device: &B::Device) -> Self::Output {
        let ModelFolder { config, weights, tags, .. } = self.model;
        // The input's words are not known in advance, so the whole word table is kept.
        let vocabulary = Vocabulary::full(config.vocabulary);
        let sources: [&dyn ParameterSource; 2] = [weights, weights];
        let heads = [HeadShape::linear(tags.len())];
        let model = Model::<B::InnerBackend>::build(config, &vocabulary, &heads, sources, device)?;
        let pass = Pass { precision: self.precision, ..Pass::plain(config.depth) };
        let choice = MatrixUnitChoice::here();
        let on_threads = choice.passes_on_threads::<B>();
        Ok(Box::new(Loaded { model, config: config.clone(), pass, on_threads, choice }))
    }
}

impl<B: Kernels> Engine for Loaded<B> {
    /// Returns true on a processor on which a result depends neither on the other rows of a pass nor on the
    /// number of threads.
    fn on_threads(&self) -> bool {
        self.on_threads
    }

    fn logits(&self, windows: &[Window]) -> Vec<f32> {
        let lengths: Vec<usize> = windows.iter().map(|window| window.ids.len()).collect();
        let pack = Pack::new(&lengths, &(0..lengths.len() as u64).collect::<Vec<_>>());
        let ids: Vec<u32> = windows.iter().flat_map(|window| window.ids.iter().copied()).collect();
        let mut label_rows = Vec::new();
        let mut start = 0;
        for window in windows {
            label_rows.extend(window.label_positions.iter().map(|&(position, _)| start + position));
            start += window.ids.len() as u32;
        }
        let input = PackedInput::new(&self.config, pack, ids, label_rows);
        let logits = self.choice.run(|| self.model.forward(0, &self.config, &input, &self.pass));
        logits.into_data().into_vec::<f32>().expect("logits are f32")
    }
}
