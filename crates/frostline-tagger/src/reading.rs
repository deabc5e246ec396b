//! What decides which subwords a model reads, and how it computes: models that are equal in it are one group.

use std::path::Path;

use anyhow::Result;
use frostline_align::{AlignOptions, Aligner};
use frostline_model::EncoderConfig;
use frostline_record::{Precision, SavedModel};

use crate::answer::Options;
use crate::folder::{self, FoundModel, ModelMismatch};
use crate::model_folder::ModelFolder;

/// The largest file of a tokenizer that is compared.
///
/// # Units
/// Bytes.
const MOST_TOKENIZER: u64 = 256 << 20;

/// A model that was found, checked and not loaded yet.
pub(crate) struct OpenedModel {
    pub model: ModelFolder,
    pub saved: Option<SavedModel>,
}

/// The settings and files on which the subwords of a sentence and the outputs for them depend, apart from weights.
#[derive(PartialEq)]
pub(crate) struct ReadingSettings {
    /// The bytes of the tokenizer's files that are present.
    tokenizer: Vec<Option<Vec<u8>>>,
    /// The configuration without what matters only in training.
    config: EncoderConfig,
    max_length: usize,
    lowercase: bool,
    pub precision: Precision,
}

/// Finds a folder's model and how it reads.
///
/// # Errors
/// If there is no model that labels words, or an option does not fit it.
pub(crate) fn open_model(folder: &Path, options: &Options) -> Result<(OpenedModel, ReadingSettings)> {
    let FoundModel { model, saved } = folder::find_model(folder, options.task.as_deref())?;
    model.check_names()?;
    let longest = model.config.longest_input();
    let noted = saved.as_ref();
    let max_length = options.max_length.or(noted.map(|it| it.max_length)).unwrap_or(longest);
    if max_length > longest {
        let shown = model.place.display();
        let reason = format!("{shown}: the encoder has {longest} positions, not {max_length}; lower it");
        return Err(ModelMismatch(reason).into());
    }
    let reading = ReadingSettings {
        tokenizer: tokenizer_bytes(&model.place),
        config: without_training(&model.config),
        max_length,
        lowercase: options.lowercase.or(noted.map(|it| it.lowercase)).unwrap_or(false),
        precision: options.precision.or(noted.map(|it| it.precision)).unwrap_or_default(),
    };
    Ok((OpenedModel { model, saved }, reading))
}

impl ReadingSettings {
    /// Returns the aligner of a model that reads so.
    ///
    /// # Errors
    /// If the tokenizer cannot be read or does not fit the model or its length.
    pub fn aligner(&self, model: &ModelFolder) -> Result<Aligner> {
        let aligner = model.tokenizer()?;
        let max_length = self.max_length;
        // Consecutive windows overlap by half, so every word has a quarter of a window as context on
        // either side.
        let stride = Some(max_length.saturating_sub(aligner.special_count()) / 2);
        let options =
            AlignOptions { max_length, lowercase: self.lowercase, stride, ..AlignOptions::default() };
        let place = model.place.display();
        Ok(aligner.with_options(options).map_err(|error| ModelMismatch(format!("{place}: {error}")))?)
    }
}

/// Returns the files that decide how a folder's tokenizer works. Files that cannot be read are reported when the tokenizer is
/// loaded.
fn tokenizer_bytes(folder: &Path) -> Vec<Option<Vec<u8>>> {
    let json = folder.join("tokenizer.json");
    let table = if json.exists() { json } else { folder.join("vocab.txt") };
    let files = [table, folder.join("tokenizer_config.json")];
    files.iter().map(|file| frostline_files::read(file, MOST_TOKENIZER).ok()).collect()
}

fn without_training(config: &EncoderConfig) -> EncoderConfig {
    EncoderConfig {
        embedding_dropout: 0.0,
        dropout: 0.0,
        attention_dropout: 0.0,
        attention_output_dropout: 0.0,
        initializer_range: 0.0,
        ..config.clone()
    }
}
