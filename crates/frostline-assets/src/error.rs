//! The error type of finding and reading datasets and encoders.

use std::fmt;
use std::path::PathBuf;

/// Why a dataset or an encoder could not be found or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    /// An archive of datasets cannot be unpacked.
    #[error("{}: {reason}", .path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// The reason, and the next step.
        reason: String,
    },
    /// No place has a dataset of this name.
    #[error("there is no dataset `{name}`\n{looked}  {}", data_hint(.name))]
    NoDataset {
        /// The requested name.
        name: String,
        /// The places that were searched, and what they contain.
        looked: SearchedPlaces,
    },
    /// No place has an encoder of this name.
    #[error(
        "there is no encoder `{name}`\n{looked}  give the folder that contains it with --models DIR, or get it with `frostline fetch {name}`"
    )]
    NoEncoder {
        /// The requested name.
        name: String,
        /// The places that were searched, and what they contain.
        looked: SearchedPlaces,
    },
    /// Several subfolders of the data folder have a dataset of this name.
    #[error(
        "there are several datasets `{name}` in {folder}: {}; give the full name, such as `{}`, or its folder with --data DIR",
        join_names(.found), .found[0]
    )]
    ManyDatasets {
        /// The requested name.
        name: String,
        /// The data folder.
        folder: String,
        /// The full names that distinguish them.
        found: Vec<String>,
    },
    /// A folder without any split.
    #[error(
        "{folder}: no train, dev or test file; expected names such as *-ud-train.conllu, train.iob2 or train.tsv, found: {}",
        join_names(.found)
    )]
    NoData {
        /// The folder.
        folder: String,
        /// The files in it.
        found: Vec<String>,
    },
    /// A folder with splits of two formats.
    #[error(
        "{folder}: found splits of two formats, {} and {}, expected one format; move the other files elsewhere",
        .found[0], .found[1]
    )]
    TwoFormats {
        /// The folder.
        folder: String,
        /// A file of each format.
        found: [String; 2],
    },
    /// A dataset of another format if a treebank is needed.
    #[error(
        "{folder}: found {extension} files, expected a treebank with .conllu files; give another dataset"
    )]
    NoTreebank {
        /// The dataset's folder.
        folder: String,
        /// The extension of its files.
        extension: &'static str,
    },
    /// A dataset's folder lacks a split.
    #[error(
        "{folder}: no {split} split; expected a file named {expected}, found: {}",
        join_names(.found)
    )]
    NoSplit {
        /// The dataset's folder.
        folder: String,
        /// `train` or `dev`.
        split: &'static str,
        /// The names that it may have.
        expected: String,
        /// The files in the folder.
        found: Vec<String>,
    },
    /// Several files could be one split.
    #[error(
        "{folder}: several files could be the {split} split: {}; keep one, or join them",
        join_names(.found)
    )]
    ManySplits {
        /// The dataset's folder.
        folder: String,
        /// `train`, `dev` or `test`.
        split: &'static str,
        /// The files.
        found: Vec<String>,
    },
    /// A split without sentences.
    #[error(
        "{path}: the {split} split has 0 sentences, expected at least one; get the dataset again, or remove the file if it is the test split"
    )]
    EmptySplit {
        /// The file.
        path: String,
        /// `train`, `dev` or `test`.
        split: &'static str,
    },
    /// An encoder's folder lacks a file.
    #[error(
        "{folder}: the encoder has no {role}; expected {expected}, found: {}; {hint}",
        join_names(.found)
    )]
    NoFile {
        /// The encoder's folder.
        folder: String,
        /// `config`, `weights` or `tokenizer`.
        role: &'static str,
        /// The accepted file names.
        expected: &'static str,
        /// The files in the folder.
        found: Vec<String>,
        /// The next step.
        hint: String,
    },
    /// The index of sharded weights is not usable.
    #[error("{path}: not an index of sharded weights: {reason}; fetch the encoder again")]
    BadIndex {
        /// The index file.
        path: String,
        /// The fault.
        reason: String,
    },
    /// The program does not contain such a file.
    #[error("there is no embedded file `{path}`; give one of: {}", join_names(.known))]
    NotEmbedded {
        /// The requested name.
        path: String,
        /// All embedded files.
        known: Vec<&'static str>,
    },
    /// A file has changed.
    #[error(
        "{path}: the file changed: expected SHA-256 {expected}, found {found}; start the command again to use the new version"
    )]
    Changed {
        /// The file.
        path: String,
        /// The previous hash of the file.
        expected: String,
        /// The current hash of the file.
        found: String,
    },
    /// A path cannot be written into a record.
    #[error("{path:?}: the path is not Unicode; rename it or link to it under another name")]
    NotUnicode {
        /// The path.
        path: PathBuf,
    },
    /// A file of the cache cannot be written.
    #[error(transparent)]
    Write(#[from] frostline_files::FileError),
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The places that were searched, and what each contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchedPlaces {
    /// Each place and the names found there; `None` if the place is not configured.
    pub places: Vec<(String, Option<Vec<String>>)>,
}

impl fmt::Display for SearchedPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, found) in &self.places {
            match found {
                Some(found) => writeln!(f, "  {place}: {}", join_names(found))?,
                None => writeln!(f, "  {place}")?,
            }
        }
        Ok(())
    }
}

/// How to get a dataset: treebanks of Universal Dependencies and a few others can be fetched.
fn data_hint(name: &str) -> String {
    let given = "give the folder that contains it with --data DIR";
    match name.starts_with("UD_") || crate::KnownDataset::find(name).is_some() {
        true => format!("{given}, or get it with `frostline fetch {name}`"),
        false => given.into(),
    }
}

/// Names on one line; a long list is truncated, with a count of the rest.
pub(crate) fn join_names<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return "nothing".into();
    }
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    shown.join(", ") + &more
}
