//! `frostline.json` in a saved model's folder: settings that a tagger needs and Hugging Face's files cannot
//! contain.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{FolderError, Precision, Unit};

/// The version of [`SavedModel`], counted separately: a model is kept for longer than its sweep.
pub const MODEL_SCHEMA: u32 = 1;

/// The largest file of this kind that is read.
///
/// # Units
/// Bytes.
const MOST_NOTES: u64 = 16 << 20;

/// How words were prepared for a saved model in its training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedModel {
    /// [`MODEL_SCHEMA`].
    pub schema: u32,
    /// The tasks of the model's head, each with its labels, such as `upos`.
    pub tasks: BTreeMap<String, String>,
    /// The unit that has a label.
    pub unit: Unit,
    /// Whether words were lowercased before they were split into subwords.
    pub lowercase: bool,
    /// The most positions of a training sentence, special tokens included.
    pub max_length: usize,
    /// The precision of linear layers.
    pub precision: Precision,
}

impl SavedModel {
    /// The file's name.
    pub const FILE: &str = "frostline.json";

    /// Returns the notes in a model's folder, if Frostline wrote it.
    ///
    /// # Errors
    /// If the file exists but cannot be read, or has another schema.
    pub fn read(folder: &Path) -> Result<Option<Self>, FolderError> {
        let path = folder.join(Self::FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = frostline_files::read_text(&path, MOST_NOTES)?;
        let malformed = |reason| FolderError::SavedModel { path: path.clone(), reason };
        // The schema is checked first: an unknown key of another version's file would not be a clear error.
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        let found = value.get("schema").and_then(serde_json::Value::as_u64);
        if let Some(found) = found.filter(|found| *found != u64::from(MODEL_SCHEMA)) {
            return Err(malformed(format!("schema {found}, but this Frostline reads {MODEL_SCHEMA}")));
        }
        serde_json::from_value(value).map(Some).map_err(|error| malformed(error.to_string()))
    }

    /// Returns the file's text.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data always serialises") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = || SavedModel::read(folder.path());
        assert_eq!(read().expect("no file is no error"), None);
        let saved = SavedModel {
            schema: MODEL_SCHEMA,
            tasks: [("pos".to_string(), "upos".to_string())].into(),
            unit: Unit::Words,
            lowercase: true,
            max_length: 128,
            precision: Precision::F32,
        };
        let write = |text: &str| std::fs::write(folder.path().join(SavedModel::FILE), text).expect("written");
        write(&saved.text());
        assert_eq!(read().expect("its own text"), Some(saved.clone()));
        let errors = [
            saved.text().replace("\"schema\": 1", "\"schema\": 9"),
            saved.text().replace("\"unit\"", "\"units\""),
            "{".into(),
        ]
        .map(|text| {
            write(&text);
            let error = read().expect_err(&text).to_string();
            error.replace(&folder.path().display().to_string(), "FOLDER")
        });
        insta::assert_snapshot!(errors.join("\n"));
    }
}
