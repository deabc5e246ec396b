//! A model folder in Hugging Face's layout: config, weights, tokenizer and tag names, opened for
//! reading.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use frostline_align::{AlignOptions, Aligner};
use frostline_model::{Checkpoint, EncoderConfig, HeadKind, HeadShape, ParameterSource as _};
use frostline_record::{FolderError, Record, read_record};
use serde::Deserialize;

/// The largest `config.json` that is read; it has a name for each tag.
///
/// # Units
/// Bytes.
const MOST_CONFIG: u64 = 16 << 20;

/// The file that describes a PEFT adapter.
const ADAPTER: &str = "adapter_config.json";

/// An opened model folder.
pub struct ModelFolder {
    /// The path of the folder.
    pub place: PathBuf,
    /// The encoder's configuration.
    pub config: EncoderConfig,
    /// The weights of the model.
    pub weights: Checkpoint,
    /// The tags of its classifier in the order of the logits.
    pub tags: Vec<String>,
    /// Whether the config names them; otherwise there are two, as `transformers` has it.
    has_names: bool,
    /// The names of the `transformers` classes that load it.
    pub architectures: Vec<String>,
}

/// The tag names and class names in a `config.json`.
#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    id2label: Option<BTreeMap<usize, String>>,
    #[serde(default)]
    architectures: Option<Vec<String>>,
}

/// Compares a model in a cell's folder with the cell's record.
fn check_saved(folder: &Path) -> Result<()> {
    let folder = std::path::absolute(folder)?;
    let (Some(cell), Some(name)) = (folder.parent(), folder.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(());
    };
    match read_record(cell) {
        Ok(Some(Record { result: Some(result), .. })) => Ok(result.files.check(cell, Some(name))?),
        // A model is kept for longer than its sweep, so another version's record is no fault.
        Ok(_) | Err(FolderError::Schema { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether every output can contain a label.
fn is_label(tag: &str) -> bool {
    !tag.is_empty() && !tag.contains(char::is_control)
}

impl ModelFolder {
    /// Opens config and weights. Every reader of a model folder uses this function, so no memory is allocated
    /// for sizes that only the config contains.
    ///
    /// # Errors
    /// If one of the files is missing or cannot be read, if the encoder's family is not supported, or if the
    /// weights lack one of its parameters or have it in another shape. In the folder of a cell, also if a file
    /// differs from the cell's saved file.
    pub fn open(folder: &Path) -> Result<Self> {
        check_saved(folder)?;
        let place = folder.join("config.json");
        let name = place.display().to_string();
        let text = frostline_files::read_text(&place, MOST_CONFIG)
            .map_err(|error| anyhow!("{name}: cannot be read: {}; give a model's folder", error.reason))?;
        let config = EncoderConfig::parse(&text, &name)?;
        let tags: Tags = serde_json::from_str(&text).with_context(|| format!("{name}: id2label"))?;
        let architectures = tags.architectures.unwrap_or_default();
        let has_names = tags.id2label.is_some();
        // `transformers` leaves out the names of two labels that were never named.
        let two = || BTreeMap::from([(0, "LABEL_0".to_string()), (1, "LABEL_1".to_string())]);
        let tags = tags.id2label.unwrap_or_else(two);
        if !tags.keys().copied().eq(0..tags.len()) {
            return Err(anyhow!("{name}: the numbers of id2label are not 0, 1, 2 and so on; fix the file"));
        }
        if let Some((number, tag)) = tags.iter().find(|(_, tag)| !is_label(tag)) {
            return Err(anyhow!(
                "{name}: id2label: the label {number} is {tag:?}, which no output can contain; give it at least one \
                 character, and no tabs, line feeds or other control characters"
            ));
        }
        let names = [
            "model.safetensors",
            "model.safetensors.index.json",
            "pytorch_model.bin",
            "pytorch_model.bin.index.json",
        ];
        let weights = names.map(|name| folder.join(name)).into_iter().find(|path| path.exists());
        let weights = weights.with_context(|| {
            let advice = match folder.join(ADAPTER).exists() {
                true => "it has a PEFT adapter alone; load its base with it in Python, and save both with `model.merge_and_unload()`",
                false => "save the weights as safetensors",
            };
            format!("{}: none of {} here; {advice}", folder.display(), names.join(", "))
        })?;
        let weights = Checkpoint::open(&weights, &config)?;
        weights.check_shapes(&config)?;
        let tags = tags.into_values().collect();
        Ok(Self { place: folder.to_path_buf(), config, weights, tags, has_names, architectures })
    }

    /// Returns whether there is a classifier on top of the encoder.
    #[must_use]
    pub fn has_head(&self) -> bool {
        self.weights.has("head.weight")
    }

    /// Checks that the classifier's labels have names, before any is printed.
    ///
    /// # Errors
    /// If the config has no `id2label`.
    pub fn check_names(&self) -> Result<()> {
        anyhow::ensure!(
            self.has_names,
            "{}: no `id2label`, so the classifier's labels have no names; add them in the order of its outputs, as in \
             `\"id2label\": {{\"0\": \"NOUN\", \"1\": \"VERB\"}}`",
            self.place.join("config.json").display()
        );
        Ok(())
    }

    /// Returns the shape of the classifier, including the layer before it if it labels whole sentences.
    #[must_use]
    pub fn head(&self) -> HeadShape {
        HeadShape { kind: self.head_kind(), ..HeadShape::linear(self.tags.len()) }
    }

    /// Returns the head that `transformers` builds for the class that the config names.
    fn head_kind(&self) -> HeadKind {
        let named = |end: &str| self.architectures.iter().any(|class| class.ends_with(end));
        let family = self.config.family;
        // Without a known class the presence of the layer decides, but not for a family whose files may
        // contain a pooler that the head does not use.
        let of_sentences = named("ForSequenceClassification")
            || (!named("ForTokenClassification")
                && !family.has_pooler()
                && self.weights.has("head.dense.weight"));
        family.sentence_head().filter(|_| of_sentences).unwrap_or(HeadKind::Linear)
    }

    /// Returns an aligner with its tokenizer, whose ids all have a row in the word table.
    ///
    /// # Errors
    /// If the tokenizer cannot be read, belongs to another model, or the options do not fit it.
    pub fn aligner(&self, options: AlignOptions) -> Result<Aligner> {
        Ok(self.tokenizer()?.with_options(options)?)
    }

    /// Returns the same with default options.
    pub(crate) fn tokenizer(&self) -> Result<Aligner> {
        let aligner = Aligner::from_folder(&self.place)?;
        let (id, rows) = (aligner.largest_id(), self.config.vocabulary);
        anyhow::ensure!(
            (id as usize) < rows,
            "{}: the tokenizer has the id {id}, but the word table has {rows} rows; they do not belong together",
            self.place.display()
        );
        Ok(aligner)
    }

    /// Checks that encoder and classifier are complete: every tensor in its shape, one logit per tag, a
    /// tokenizer whose ids fit.
    ///
    /// # Errors
    /// If a part is missing or does not fit; the error names it.
    pub fn check(&self) -> Result<()> {
        let parameters = self.config.parameters(&[self.head()]).into_iter();
        for (path, shape) in parameters.filter(|(path, _)| path.starts_with("heads.")) {
            self.weights.values(&path, &shape)?;
        }
        self.tokenizer().map(|_| ())
    }
}
