//! Faults that can be found before any cell starts: `frostline check` reads cells and tries
//! everything that costs little.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, bail};
use frostline_freeze::Policy;
use frostline_model::Checkpoint;
use frostline_record::{Cell, Init};
use frostline_train::tag_set;

use crate::config::extras;
use crate::corpus::Labelled;
use crate::data::{head_names, tag_sets, task_splits, task_texts};
use crate::inputs;

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
            serde_json::to_string(&(&settings.policy, &settings.stages, &settings.tasks, &cell.inputs))?;
        if seen.insert(key) {
            let depth = inputs::encoder_config(&cell.inputs)?.depth;
            for (_, stage) in settings.in_stages()? {
                let policy = Policy::parse_for(&stage.policy, depth, &head_names(settings))?;
                extras(settings, &[&policy], depth)?;
            }
        }
        let key = serde_json::to_string(&(&settings.data, &settings.tasks, &settings.encoder, &cell.inputs))?;
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
    let texts = task_texts(cell)?;
    let splits = task_splits(settings, &texts)?;
    for ((splits, texts), tags) in splits.iter().zip(&texts).zip(tag_sets(settings, &splits)) {
        let test = texts.test.as_ref().map_or("test", |(_, path)| path);
        let scored = [(texts.dev.1.as_str(), Some(&splits.dev)), (test, splits.test.as_ref())];
        for (path, sentences) in scored {
            let tagged = |all: &'_ Vec<Labelled<'_>>| tag_set(all.iter().map(|sentence| &sentence.tagged));
            let found = sentences.map_or_else(Vec::new, tagged);
            let unseen: Vec<String> = found.into_iter().filter(|tag| !tags.contains(tag)).collect();
            if settings.data.strict_tags && !unseen.is_empty() {
                bail!(
                    "{path} has tags that the {} chosen train sentences lack: {}; without data.strict_tags such words \
                     count as wrong answers and are reported",
                    splits.train.len(),
                    unseen.join(", ")
                );
            }
        }
    }
    Ok(())
}
