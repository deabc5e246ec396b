//! Measures how much a trained encoder changed from its starting weights, for its record.

use anyhow::Result;
use burn::module::AutodiffModule as _;
use frostline_kernels::Train;
use frostline_model::{EncoderConfig, Extras, Network, ParameterSource, merged, snapshot};
use frostline_record::{Change, Settings};
use frostline_train::{View, linear_cka, relative_changes};

use crate::data::CellData;

/// Compares a trained model with a fresh one: embeddings, then each block.
pub(crate) fn measure_changes<B: Train>(
    data: &CellData,
    encoder: &EncoderConfig,
    trained: &Network<B>,
    sources: [&dyn ParameterSource; 2],
    settings: &Settings,
) -> Result<Vec<Change>> {
    let plain = EncoderConfig { extras: Extras::default(), ..encoder.clone() };
    let start = Network::<B>::build(&plain, &data.vocabulary, &data.heads, sources, &trained.device())?;
    let end = merged(&snapshot(trained), encoder);
    let relative = relative_changes(&snapshot(&start), &end);
    let dev = View::from(&data.main().dev.set);
    let cka = linear_cka([&start.valid(), &trained.valid()], encoder, dev, settings);
    let change = |((group, relative), cka): ((frostline_freeze::Group, f64), f64)| Change {
        group: group.to_string(),
        relative,
        cka,
    };
    Ok(relative.into_iter().zip(cka).map(change).collect())
}
