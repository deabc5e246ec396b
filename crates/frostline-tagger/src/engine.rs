//! The forward pass of taggers behind a trait object that hides the backend: windows in, logits out.

use anyhow::Result;
use frostline_kernels::backend::{MatrixUnitChoice, Work};
use frostline_kernels::{Kernels, Pack, Train};
use frostline_model::{
    Branches, ComputedBlocks, EncoderConfig, HeadShape, Network, PackedInput, ParameterPool, ParameterSource,
    Pass, Vocabulary,
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

/// Models of one configuration on some backend.
pub(crate) trait TaggerEngine: Send + Sync {
    /// Computes for each wanted model one row of logits per label position, in order.
    fn logits(&self, wanted: &[usize], windows: &[Window]) -> Vec<Vec<f32>>;

    /// Returns whether threads compute forward passes side by side.
    fn on_threads(&self) -> bool;

    /// Returns how many blocks a pass computes for all models.
    fn block_count(&self) -> ComputedBlocks;
}

/// Models that one engine computes: their configurations differ in nothing that matters without training.
pub(crate) struct EngineModels<'a> {
    pub models: Vec<&'a ModelFolder>,
    pub precision: record::Precision,
}

/// Builds engines, among which equal tensors are kept once.
pub(crate) struct Build<'a> {
    pub engines: Vec<EngineModels<'a>>,
}

/// Engines, and how many values their models have.
pub(crate) struct Built {
    pub engines: Vec<Box<dyn TaggerEngine>>,
    pub kept_values: usize,
    pub separate_values: usize,
}

struct LoadedModels<B: Kernels> {
    branches: Branches<B>,
    config: EncoderConfig,
    pass: Pass,
    on_threads: bool,
    choice: MatrixUnitChoice,
}

impl Work for Build<'_> {
    type Output = Result<Built>;

    fn run<B: Train>(self, device: &B::Device) -> Self::Output {
        let mut pool = ParameterPool::default();
        let load = |models: &EngineModels<'_>| load_engine::<B::InnerBackend>(models, device, &mut pool);
        let engines = self.engines.iter().map(load).collect::<Result<_>>()?;
        Ok(Built { engines, kept_values: pool.kept_values(), separate_values: pool.added_values() })
    }
}

/// Loads models one after another, so that at most one has tensors of its own that others have too.
fn load_engine<B: Kernels>(
    EngineModels { models, precision }: &EngineModels<'_>,
    device: &B::Device,
    pool: &mut ParameterPool<B>,
) -> Result<Box<dyn TaggerEngine>> {
    let config = models[0].config.clone();
    // The input's words are not known in advance, so the whole word table is kept.
    let vocabulary = Vocabulary::full(config.vocabulary);
    let load = |model: &&ModelFolder| {
        let sources: [&dyn ParameterSource; 2] = [&model.weights, &model.weights];
        let heads = [HeadShape::linear(model.tags.len())];
        let network = Network::<B>::build(&config, &vocabulary, &heads, sources, device)?;
        Ok(pool.share(network))
    };
    let networks = models.iter().map(load).collect::<Result<Vec<_>>>()?;
    let branches = Branches::new(&config, networks);
    let pass = Pass { precision: *precision, ..Pass::plain(config.depth) };
    let choice = MatrixUnitChoice::here();
    // A backend computes on several threads side by side if a result depends neither on the other rows of a pass nor
    // on the number of threads.
    let on_threads = choice.passes_on_threads::<B>();
    Ok(Box::new(LoadedModels { branches, config, pass, on_threads, choice }))
}

impl<B: Kernels> TaggerEngine for LoadedModels<B> {
    fn on_threads(&self) -> bool {
        self.on_threads
    }

    fn block_count(&self) -> ComputedBlocks {
        self.branches.block_count()
    }

    fn logits(&self, wanted: &[usize], windows: &[Window]) -> Vec<Vec<f32>> {
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
        let logits = self.choice.run(|| self.branches.forward(wanted, &self.config, &input, &self.pass));
        logits.into_iter().map(|rows| rows.into_data().into_vec().expect("logits are f32")).collect()
    }
}
