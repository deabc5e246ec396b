//! Faults that can be found before any cell starts: `frostline check` reads cells and tries
//! everything that costs little.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, bail};
use frostline_freeze::Policy;
use frostline_model::Checkpoint;
use frostline_record::{Cell, Init};
use frostline_train::tag_set;

use crate::{corpus, inputs};

/// Checks cells, each thing once: configs, policies, tokenizers, the weights' shapes, treebanks,
/// and with `strict_tags` their tags.
///
/// # Errors
/// The first fault, naming file and place.
pub fn cells(cells: &[Cell]) -> Result<()> {
    let mut seen = HashSet::new();
    for cell in cells {
        let settings = &cell.settings;
        let key =
            serde_json::to_string(&(&settings.policy, &settings.data, &settings.encoder, &cell.inputs))?;
        if seen.insert(key) {
            Policy::parse(&settings.policy, inputs::encoder_config(&cell.inputs)?.depth)?;
        }
        let key = serde_json::to_string(&(&settings.data, &settings.encoder, &cell.inputs))?;
        if seen.insert(key) {
            check_inputs(cell)?;
        }
    }
    Ok(())
}

fn check_inputs(cell: &Cell) -> Result<()> {
    let settings = &cell.settings;
    let encoder = inputs::encoder_config(&cell.inputs)?;
    inputs::check_length(settings, &encoder)?;
    inputs::aligner(&cell.inputs, &settings.data)?;
    if settings.encoder.init == Init::Pretrained {
        let input = inputs::weights(&cell.inputs, settings)?;
        match input.path.strip_prefix("embedded:") {
            Some(_) => {
                let bytes = frostline_assets::embedded::bytes(&input.path)?;
                Checkpoint::embedded(bytes, encoder.family, &input.path)?.check(&encoder)?;
            }
            None => Checkpoint::open(Path::new(&input.path), encoder.family)?.check(&encoder)?,
        }
    }
    let train_text = inputs::text(&cell.inputs, "train")?;
    let path = |role: &str| cell.inputs.get(role).map(|input| input.path.clone()).unwrap_or_default();
    let train =
        corpus::choose(corpus::sentences(&train_text, &path("train"))?, &settings.data, settings.seed);
    let tags = tag_set(&train);
    let splits: &[&str] = if settings.eval.test { &["dev", "test"] } else { &["dev"] };
    for split in splits {
        let text = inputs::text(&cell.inputs, split)?;
        let sentences = corpus::sentences(&text, &path(split))?;
        let unseen: Vec<String> = tag_set(&sentences).into_iter().filter(|tag| !tags.contains(tag)).collect();
        if settings.data.strict_tags && !unseen.is_empty() {
            bail!(
                "{} has tags that the {} chosen train sentences lack: {}; without data.strict_tags such words count \
                 as wrong answers and are reported",
                path(split),
                train.len(),
                unseen.join(", ")
            );
        }
    }
    Ok(())
}
