//! The model card of a saved model: `README.md` with the metadata that the Hugging Face hub reads, and a text
//! about the policy, the training, the scores and the usage. It depends only on the record and on the licences
//! in files next to the inputs, so it can be written again at any time.

mod front;
mod source;
mod text;
mod usage;
mod yaml;

use std::path::Path;

use anyhow::{Context as _, Result};
use frostline_record::{Outcome, Record, StageOutcome, TaskFacts, TaskOutcome, TaskSettings, Unit};

use source::CardSource;

/// The card's name in a model's folder.
pub const FILE: &str = "README.md";

/// Writes the card of every model that the cell saved in its folder.
///
/// # Errors
/// If a card cannot be written. The models next to it are complete even then.
pub fn write_all(cell_folder: &Path, record: &Record) -> Result<()> {
    for (folder, task) in list_models(record) {
        let folder = cell_folder.join(folder);
        if folder.is_dir() {
            write_one(&folder, record, &task)?;
        }
    }
    Ok(())
}

/// Writes the card of the model of the cell's headline task into a folder.
///
/// # Errors
/// See [`write_all`].
pub fn write(folder: &Path, record: &Record) -> Result<()> {
    let result = record.result.as_ref().context("the cell failed, so there is no model")?;
    write_one(folder, record, &result.headline)
}

/// Returns the text of the card of the cell's headline task. `audit` is a sentence about the saved files that goes under what was
/// frozen.
///
/// # Errors
/// If the record is of a failed cell, or lacks one of its inputs.
pub fn text_with_audit(record: &Record, audit: &str) -> Result<String> {
    let result = record.result.as_ref().context("the cell failed, so there is no model")?;
    Card { audit: Some(audit), ..Card::of(record, &result.headline)? }.text()
}

/// Returns the text of the card of the cell's headline task for a folder in this form.
///
/// # Errors
/// If the record is of a failed cell, or lacks one of its inputs.
pub fn text_in_form(record: &Record, form: ModelForm) -> Result<String> {
    let result = record.result.as_ref().context("the cell failed, so there is no model")?;
    Card { form, ..Card::of(record, &result.headline)? }.text()
}

/// The library that opens a model's folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelForm {
    /// `transformers`, from safetensors.
    #[default]
    Transformers,
    /// onnxruntime.
    Onnx,
    /// transformers.js.
    TransformersJs,
}

fn write_one(folder: &Path, record: &Record, task: &str) -> Result<()> {
    let place = folder.join(FILE);
    let text = Card::of(record, task).and_then(|card| card.text());
    Ok(frostline_files::write(&place, text.with_context(|| place.display().to_string())?.as_bytes())?)
}

/// Returns the folders that a cell may have saved, each with the task whose head is in it.
fn list_models(record: &Record) -> Vec<(String, String)> {
    let Some(result) = &record.result else { return Vec::new() };
    let folder = |task: &String| match *task == result.headline {
        true => "model".to_string(),
        false => format!("model-{task}"),
    };
    result.tasks.keys().map(|task| (folder(task), task.clone())).collect()
}

/// The content of a card, collected from a record.
pub(crate) struct Card<'a> {
    record: &'a Record,
    result: &'a Outcome,
    /// The task whose head the folder holds.
    name: &'a str,
    settings: &'a TaskSettings,
    facts: &'a TaskFacts,
    /// The task's own data, then the data of the other trained tasks, each once.
    data: Vec<CardSource>,
    encoder: CardSource,
    /// A sentence about an audit of the saved files.
    audit: Option<&'a str>,
    form: ModelForm,
}

impl<'a> Card<'a> {
    /// Returns the card of the folder with this task's head.
    ///
    /// # Errors
    /// If the record is of a failed cell, has no such task, or lacks one of its inputs.
    pub(crate) fn of(record: &'a Record, task: &'a str) -> Result<Self> {
        let result = record.result.as_ref().context("the cell failed, so there is no model")?;
        let facts = result.tasks.get(task).with_context(|| format!("the record has no task `{task}`"))?;
        let all = &record.cell.settings.tasks;
        let found = all.iter().find(|(name, _)| name.as_str() == task);
        let (_, settings) = found.with_context(|| format!("no task `{task}` in the settings"))?;
        let mut data = vec![CardSource::of_data(&record.cell, settings)?];
        for other in all.values().filter(|other| other.weight > 0.0) {
            let source = CardSource::of_data(&record.cell, other)?;
            if !data.contains(&source) {
                data.push(source);
            }
        }
        let encoder = CardSource::of_encoder(&record.cell)?;
        Ok(Self {
            record,
            result,
            name: task,
            settings,
            facts,
            data,
            encoder,
            audit: None,
            form: ModelForm::default(),
        })
    }

    /// Returns the text of the whole file.
    ///
    /// # Errors
    /// If the settings of a stage are inconsistent, which cannot happen in a finished cell.
    pub(crate) fn text(&self) -> Result<String> {
        Ok(format!("---\n{}---\n\n{}", front::write_front_matter(self), text::write_body(self)?))
    }

    /// Returns the model's name: the cell's folder.
    fn title(&self) -> String {
        self.record.cell.folder()
    }

    fn last(&self) -> &StageOutcome {
        self.result.last()
    }

    fn outcome(&self) -> Option<&TaskOutcome> {
        self.last().tasks.get(self.name)
    }

    fn labels_words(&self) -> bool {
        self.settings.unit() == Unit::Words
    }

    /// Returns whether some parameters were frozen to the end of a stage.
    fn is_frozen(&self) -> bool {
        self.result.stages.iter().any(|stage| stage.accounts.trainable < stage.accounts.total)
    }

    /// Returns whether any of the data was made up by a program.
    fn is_synthetic(&self) -> bool {
        self.data.iter().any(|source| source.is_embedded)
    }

    /// Mean F1 of the labels on the headline's dev split, at the selected epoch.
    fn dev_macro_f1(&self) -> Option<f64> {
        let at = self.last().selected_epoch;
        let row = self.result.epochs.iter().find(|row| row.epoch == at)?;
        (self.result.headline == self.name).then(|| row.dev_macro_f1()).flatten()
    }
}

#[cfg(test)]
mod tests;
