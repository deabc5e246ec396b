//! Faults that can be found before any cell starts: `frostline check` reads cells and tries
//! everything that costs little.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, bail};
use frostline_model::{Checkpoint, EncoderConfig};
use frostline_record::{Cell, HeadKind, Init, Settings, TaskSettings};
use frostline_train::{extras, tag_set};

use crate::corpus::Labelled;
use crate::data::{PADDING, drawn_by, head_names, kind, tag_sets, task_splits, task_texts};
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
        let key = (&settings.policy, &settings.stages, &settings.tasks, &settings.save.model, &cell.inputs);
        if seen.insert(serde_json::to_string(&key)?) {
            let encoder = inputs::encoder_config(&cell.inputs)?;
            check_export(settings, &encoder)?;
            let depth = encoder.depth;
            for (_, stage) in settings.in_stages()? {
                let policy = stage.policy.resolve(depth, &head_names(settings))?;
                extras(settings, &[&policy], depth)?;
            }
        }
        let key = (&settings.data, &settings.tasks, &settings.encoder, drawn_by(cell), &cell.inputs);
        if seen.insert(serde_json::to_string(&key)?) {
            check_inputs(cell)?;
        }
    }
    Ok(())
}

/// Whether a model that is to be kept can be.
fn check_export(settings: &Settings, encoder: &EncoderConfig) -> Result<()> {
    let foreign = |task: &TaskSettings| !kind(task.head).belongs_to(encoder.family);
    if let Some((name, task)) = settings.tasks.iter().find(|(_, task)| settings.save.model && foreign(task)) {
        let [has, fits] = match task.head {
            HeadKind::Distilbert => ["distilbert", "pooler"],
            _ => ["pooler", "distilbert"],
        };
        bail!(
            "`tasks.{name}.head = \"{has}\"` stands on an encoder of the family {:?}, for which transformers has no such \
             model to save: write \"{fits}\", or leave `save.model` off",
            encoder.family
        );
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
    let sets = tag_sets(settings, &splits);
    for (((splits, texts), tags), (name, task)) in splits.iter().zip(&texts).zip(sets).zip(&settings.tasks) {
        if splits.train.is_empty() {
            bail!(
                "no sentence is left to learn from for the task `{name}`; check the train file and `data.leave_out`"
            );
        }
        if tags.iter().all(|tag| tag == PADDING) {
            let path = texts.train.as_ref().map_or(&texts.dev.1, |(_, path)| path);
            bail!(
                "{path}: none of the {} train sentences is labelled for the task `{name}` (`labels = \"{}\"`); choose \
                 labels that the file has",
                splits.train.len(),
                task.labels
            );
        }
        let test = texts.test.as_ref().map_or("test", |(_, path)| path);
        let scored = [(texts.dev.1.as_str(), Some(&splits.dev)), (test, splits.test.as_ref())];
        for (path, sentences) in scored {
            if sentences.is_some_and(Vec::is_empty) {
                let genre = &settings.data.scored_genre;
                let why = if genre.is_empty() { "" } else { ": `data.scored_genre` leaves none" };
                bail!("{path} has no sentence to score{why}");
            }
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
