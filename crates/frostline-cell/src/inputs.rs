//! From a cell's inputs to an aligner, a config and a source of weights.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use frostline_align::{AlignOptions, Aligner, VocabOptions};
use frostline_assets::{Origin, read_pinned};
use frostline_files::Identity;
use frostline_model::{Checkpoint, EncoderConfig, ParameterSource, RandomInit};
use frostline_record::{DataSettings, Init, Input, Inputs, Settings};
use serde_json::{Map, Value};

/// The roles of the files from which an aligner is made.
pub(crate) const TOKENIZER: [&str; 3] = ["tokenizer", "tokenizer-config", "vocabulary"];

/// Returns the input of a role.
///
/// # Errors
/// If the cell has no such input.
pub fn input<'a>(inputs: &'a Inputs, role: &str) -> Result<&'a Input> {
    inputs.get(role).ok_or_else(|| anyhow!("the cell names no input `{role}`"))
}

/// Returns an input's text, checked against its hash.
///
/// # Errors
/// If it cannot be read, changed since the sweep began, or is no UTF-8.
pub fn text(inputs: &Inputs, role: &str) -> Result<String> {
    text_of(input(inputs, role)?)
}

/// Returns the text of an input, checked against its hash.
///
/// # Errors
/// See [`text`].
pub(crate) fn text_of(input: &Input) -> Result<String> {
    let bytes = read_pinned(&input.path, &input.sha256)?;
    String::from_utf8(bytes.into_owned())
        .map_err(|error| anyhow!("{}: no UTF-8 from byte {}", input.path, error.utf8_error().valid_up_to()))
}

/// Returns the encoder's shape.
///
/// # Errors
/// If the config cannot be read or used.
pub fn encoder_config(inputs: &Inputs) -> Result<EncoderConfig> {
    Ok(EncoderConfig::parse(&text(inputs, "config")?, &input(inputs, "config")?.path)?)
}

/// Returns the aligner of a cell.
///
/// # Errors
/// If the tokenizer cannot be read.
pub fn aligner(inputs: &Inputs, data: &DataSettings) -> Result<Aligner> {
    let aligner = if inputs.contains_key("tokenizer") {
        let place = &input(inputs, "tokenizer")?.path;
        let config = tokenizer_config(inputs)?.unwrap_or_default();
        let json = text(inputs, "tokenizer")?;
        Aligner::from_files(json.as_bytes(), &serde_json::to_vec(&config)?).with_context(|| place.clone())?
    } else {
        let options = match inputs.get("tokenizer-config") {
            Some(input) => {
                let text = text(inputs, "tokenizer-config")?;
                serde_json::from_str(&text).with_context(|| input.path.clone())?
            }
            None => VocabOptions::default(),
        };
        Aligner::from_vocab(&text(inputs, "vocabulary")?, &options).with_context(|| {
            input(inputs, "vocabulary").map(|input| input.path.clone()).unwrap_or_default()
        })?
    };
    let options =
        AlignOptions { max_length: data.max_length, lowercase: data.lowercase, ..AlignOptions::default() };
    Ok(aligner.with_options(options)?.with_cache(true))
}

/// Returns the file `tokenizer_config.json` next to the tokenizer, if there is one. A saved model needs it.
///
/// # Errors
/// If it cannot be read, or is no JSON object.
pub(crate) fn tokenizer_config(inputs: &Inputs) -> Result<Option<Map<String, Value>>> {
    let Some(input) = inputs.get("tokenizer-config") else { return Ok(None) };
    let object = serde_json::from_str(&text_of(input)?);
    Ok(Some(object.with_context(|| format!("{}: no JSON object; fix or delete it", input.path))?))
}

/// Checks that the encoder's word table has a row for every id of the tokenizer.
///
/// # Errors
/// Names the tokenizer and both numbers.
pub fn check_ids(inputs: &Inputs, aligner: &Aligner, encoder: &EncoderConfig) -> Result<()> {
    let (id, rows) = (aligner.largest_id(), encoder.vocabulary);
    if id as usize >= rows {
        let role = if inputs.contains_key("tokenizer") { "tokenizer" } else { "vocabulary" };
        let path = &input(inputs, role)?.path;
        bail!(
            "{path}: the tokenizer has the id {id}, but the encoder's word table has {rows} rows; they do not belong together"
        );
    }
    Ok(())
}

/// Returns the source of the encoder's parameters.
///
/// # Errors
/// If the weights are missing or no safetensors file.
pub fn encoder_source(
    inputs: &Inputs,
    settings: &Settings,
    config: &EncoderConfig,
) -> Result<Box<dyn ParameterSource>> {
    if settings.encoder.init == Init::Random {
        return Ok(Box::new(RandomInit::new(settings.seed, config.initializer_range)));
    }
    Ok(Box::new(checkpoint(inputs, settings, config)?))
}

/// Returns the encoder's weights.
///
/// # Errors
/// If they are missing or no safetensors file.
pub(crate) fn checkpoint(inputs: &Inputs, settings: &Settings, config: &EncoderConfig) -> Result<Checkpoint> {
    let input = weights(inputs, settings)?;
    Ok(match is_embedded(input) {
        true => Checkpoint::embedded(frostline_assets::embedded::bytes(&input.path)?, config, &input.path)?,
        false => Checkpoint::open(Path::new(&input.path), config)?,
    })
}

/// Returns the weights file, or the index of its shards.
///
/// # Errors
/// If the encoder has no weights.
pub fn weights<'a>(inputs: &'a Inputs, settings: &Settings) -> Result<&'a Input> {
    inputs.get("weights").or_else(|| inputs.get("weights-index")).ok_or_else(|| {
        anyhow!(
            "the encoder `{}` has no weights; `--encoder-init random` starts without any",
            settings.encoder.name
        )
    })
}

/// Files whose bytes match the hashes in their cells. Each is hashed once, as long as it stays the same file.
#[derive(Debug, Default)]
pub struct Verified(HashMap<(String, String), Identity>);

impl Verified {
    /// Hashes files that were not hashed before, or that were written or replaced since.
    ///
    /// # Errors
    /// See [`verify`].
    pub fn check<'a>(&mut self, inputs: impl Iterator<Item = &'a Input>) -> Result<()> {
        for input in inputs.filter(|input| !is_embedded(input)) {
            let file = (input.path.clone(), input.sha256.clone());
            let now = Identity::of(Path::new(&input.path))?;
            if self.0.get(&file) != Some(&now) {
                verify(input)?;
                // Identity of the file before it was hashed: a later check detects a change since then.
                self.0.insert(file, now);
            }
        }
        Ok(())
    }

    /// Checks that these files have not been written or replaced since [`Verified::check`].
    ///
    /// # Errors
    /// Names the file.
    pub fn check_unchanged<'a>(&self, inputs: impl Iterator<Item = &'a Input>) -> Result<()> {
        for Input { path, sha256, .. } in inputs.filter(|input| !is_embedded(input)) {
            if self.0.get(&(path.clone(), sha256.clone())) != Some(&Identity::of(Path::new(path))?) {
                bail!(
                    "{path} was changed while the cell read it; run the sweep again with a file that stays"
                );
            }
        }
        Ok(())
    }
}

fn is_embedded(input: &Input) -> bool {
    input.path.starts_with(frostline_assets::embedded::PREFIX)
}

/// Checks that the encoder can take sentences of the length asked for.
///
/// # Errors
/// Names both lengths.
pub fn check_length(settings: &Settings, encoder: &EncoderConfig) -> Result<()> {
    let (asked, longest) = (settings.data.max_length, encoder.longest_input());
    if asked > longest {
        let name = &settings.encoder.name;
        bail!("data.max_length is {asked}, but the encoder `{name}` has only {longest} positions; lower it");
    }
    Ok(())
}

/// Checks that a file's bytes still match its cell, without keeping them.
///
/// # Errors
/// If it cannot be read or has changed since the sweep began.
pub fn verify(input: &Input) -> Result<()> {
    if is_embedded(input) {
        read_pinned(&input.path, &input.sha256)?;
        return Ok(());
    }
    let cache = frostline_assets::default_cache();
    let now =
        frostline_assets::Source::of_known_file(Path::new(&input.path), Origin::Given, cache.as_deref())?;
    if now.sha256 != input.sha256 {
        bail!(
            "{} has changed since the sweep began; start the sweep again to run with the new file",
            input.path
        );
    }
    Ok(())
}
