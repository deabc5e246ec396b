//! An encoder: its config, weights and tokenizer.

use std::collections::BTreeSet;

use crate::places::{AssetKind, FoundFolder};
use crate::{AssetError, Origin, Places, Sources, read};

/// A check of an encoder's `config.json` before its weights are downloaded. The error states why the encoder cannot be used.
pub type ConfigCheck = fn(&str) -> Result<(), String>;

/// The files of an encoder that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncoderFiles {
    /// The name under which it was requested.
    pub name: String,
    /// The folder: an absolute path or `embedded:NAME`.
    pub folder: String,
    /// Where the files come from.
    pub origin: Origin,
    /// The files by role: `config`; `weights`, or for sharded weights `weights-index` and `weights-1`,
    /// `weights-2` and so on; `tokenizer`, or `vocabulary` and, if there is one, `tokenizer-config`.
    pub sources: Sources,
}

impl Places {
    /// Finds an encoder. `name` is the name of a folder in [`Places::models`], a Hugging Face hub id
    /// that was fetched into the cache, a path, or `embedded:demo-distilbert`. The weights are read
    /// only if `need_weights` is set.
    ///
    /// # Errors
    /// If there is no such folder (the message lists what exists and how to get the encoder), if the
    /// config, the tokenizer or the needed weights are missing, or if a file cannot be read.
    pub fn encoder(&self, name: &str, need_weights: bool) -> Result<EncoderFiles, AssetError> {
        let place = self.find_place(AssetKind::Encoder, name)?;
        let files = place.file_names()?;
        let folder = EncoderFolder { place, files };
        let mut sources = Sources::new();
        folder.add_config(&mut sources)?;
        folder.add_tokenizer(&mut sources)?;
        if need_weights {
            folder.add_weights(name, &mut sources)?;
        }
        Ok(EncoderFiles {
            name: name.into(),
            folder: folder.place.show(),
            origin: sources["config"].origin,
            sources,
        })
    }
}

/// A folder and the names of its files.
struct EncoderFolder {
    place: FoundFolder,
    files: Vec<String>,
}

impl EncoderFolder {
    fn add_config(&self, sources: &mut Sources) -> Result<(), AssetError> {
        if self.add(sources, "config", "config.json")? {
            return Ok(());
        }
        let hint = "give a folder in the Hugging Face layout";
        Err(self.no_file("config", "config.json", hint.into()))
    }

    fn add_tokenizer(&self, sources: &mut Sources) -> Result<(), AssetError> {
        if self.add(sources, "tokenizer", "tokenizer.json")?
            || self.add(sources, "vocabulary", "vocab.txt")?
        {
            self.add(sources, "tokenizer-config", "tokenizer_config.json")?;
            return Ok(());
        }
        let hint = "copy one of them from the encoder's page; other formats are not supported";
        Err(self.no_file("tokenizer", "tokenizer.json or vocab.txt", hint.into()))
    }

    fn add_weights(&self, name: &str, sources: &mut Sources) -> Result<(), AssetError> {
        // A file of `torch.save` is opened without running its code.
        for (whole, index) in WEIGHTS {
            if self.add(sources, "weights", whole)? {
                return Ok(());
            }
            if !self.add(sources, "weights-index", index)? {
                continue;
            }
            let path = sources["weights-index"].path.clone();
            for (i, shard) in shard_files(&path)?.iter().enumerate() {
                if !self.add(sources, &format!("weights-{}", i + 1), shard)? {
                    return Err(AssetError::BadIndex {
                        path,
                        reason: format!("it names {shard}, which does not exist"),
                    });
                }
            }
            return Ok(());
        }
        let hint = match self.files.iter().any(|file| file.starts_with("adapter_model.")) {
            true => "it has a PEFT adapter alone; load its base with it in Python, and save both with \
                     `model.merge_and_unload().save_pretrained(FOLDER)`"
                .into(),
            false => format!(
                "initialise them at random with --encoder-init random, or get them with `frostline fetch {name}`"
            ),
        };
        let expected = "model.safetensors, pytorch_model.bin, or the index of one of them in shards";
        Err(self.no_file("weights", expected, hint))
    }

    /// Adds a file under its role; false if it does not exist. A broken link of that name is an error, and so is a
    /// pipe: another file must not silently take its place.
    fn add(&self, sources: &mut Sources, role: &str, file: &str) -> Result<bool, AssetError> {
        let exists = self.files.iter().any(|name| name == file) || self.place.contains_file(file);
        if exists {
            sources.insert(role.into(), self.place.source(file)?);
        }
        Ok(exists)
    }

    fn no_file(&self, role: &'static str, expected: &'static str, hint: String) -> AssetError {
        AssetError::NoFile { folder: self.place.show(), role, expected, found: self.files.clone(), hint }
    }
}

/// The files of weights, whole and as an index of shards, in this order.
const WEIGHTS: [(&str, &str); 2] = [
    ("model.safetensors", "model.safetensors.index.json"),
    ("pytorch_model.bin", "pytorch_model.bin.index.json"),
];

/// Returns the shard files that an index names, sorted, each once.
pub(crate) fn shard_files(index: &str) -> Result<BTreeSet<String>, AssetError> {
    let bad = |reason: String| AssetError::BadIndex { path: index.into(), reason };
    let index: serde_json::Value =
        serde_json::from_slice(&read(index)?).map_err(|error| bad(error.to_string()))?;
    let map = index["weight_map"]
        .as_object()
        .filter(|map| !map.is_empty())
        .ok_or_else(|| bad("it has no `weight_map`".into()))?;
    map.values()
        .map(|shard| match shard.as_str() {
            Some(file) if !file.contains(['/', '\\']) => Ok(file.to_string()),
            _ => Err(bad(format!("{shard} is not a file name"))),
        })
        .collect()
}
