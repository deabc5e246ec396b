//! What can go wrong between a name and its bytes.

use std::fmt;
use std::path::PathBuf;

/// Why a dataset or an encoder could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    /// No place has a dataset of this name.
    #[error("there is no dataset `{name}`\n{looked}  {}", data_hint(.name))]
    NoDataset {
        /// The name as given.
        name: String,
        /// Where it was looked for and what is there.
        looked: Looked,
    },
    /// No place has an encoder of this name.
    #[error(
        "there is no encoder `{name}`\n{looked}  give the folder it lies in with --models DIR, or get it with `frostline fetch {name}`"
    )]
    NoEncoder {
        /// The name as given.
        name: String,
        /// Where it was looked for and what is there.
        looked: Looked,
    },
    /// Several subfolders of the data folder have a dataset of this name.
    #[error(
        "there are several datasets `{name}` in {folder}: {}; write the one that is meant, as in `{}`, or give its folder with --data DIR",
        list(.found), .found[0]
    )]
    ManyDatasets {
        /// The name as given.
        name: String,
        /// The data folder.
        folder: String,
        /// The names that tell them apart.
        found: Vec<String>,
    },
    /// A folder without a single split.
    #[error(
        "{folder}: no train, dev or test file; expected names such as *-ud-train.conllu, train.iob2 or train.tsv, there is: {}",
        list(.found)
    )]
    NoData {
        /// The folder.
        folder: String,
        /// The files that are there.
        found: Vec<String>,
    },
    /// A folder with splits of two formats.
    #[error(
        "{folder}: splits of two formats: {} and {}; expected one, so move the files of the other elsewhere",
        .found[0], .found[1]
    )]
    TwoFormats {
        /// The folder.
        folder: String,
        /// A file of each.
        found: [String; 2],
    },
    /// A dataset of another format where a treebank was asked for.
    #[error(
        "{folder}: its files end with {extension}, expected a treebank with files that end with .conllu; give another"
    )]
    NoTreebank {
        /// The dataset's folder.
        folder: String,
        /// What its files end with.
        extension: &'static str,
    },
    /// A dataset's folder lacks a split.
    #[error(
        "{folder}: no {split} split; expected a file named {expected}, there is: {}",
        list(.found)
    )]
    NoSplit {
        /// The dataset's folder.
        folder: String,
        /// `train` or `dev`.
        split: &'static str,
        /// The names that it may have.
        expected: String,
        /// The files that are there.
        found: Vec<String>,
    },
    /// Several files could be one split.
    #[error(
        "{folder}: several files could be the {split} split: {}; keep one, or join them",
        list(.found)
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
        "{path}: the {split} split is empty: it has 0 sentences; expected at least one, so get the dataset again or remove the file if it is the test split"
    )]
    EmptySplit {
        /// The file.
        path: String,
        /// `train`, `dev` or `test`.
        split: &'static str,
    },
    /// An encoder's folder lacks a file.
    #[error(
        "{folder}: the encoder has no {role}; expected {expected}, there is: {}; {hint}",
        list(.found)
    )]
    NoFile {
        /// The encoder's folder.
        folder: String,
        /// `config`, `weights` or `tokenizer`.
        role: &'static str,
        /// The file names that would do.
        expected: &'static str,
        /// The files that are there.
        found: Vec<String>,
        /// The next step.
        hint: String,
    },
    /// The index of sharded weights is not usable.
    #[error("{path}: not an index of sharded weights: {reason}; fetch the encoder again")]
    BadIndex {
        /// The index file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The binary carries no such file.
    #[error("the binary carries no `{path}`; it carries: {}", list(.known))]
    NotEmbedded {
        /// The name asked for.
        path: String,
        /// All there are.
        known: Vec<&'static str>,
    },
    /// A file is no longer what it was.
    #[error(
        "{path}: the file changed: expected SHA-256 {expected}, found {found}; start the command again to use it as it is now"
    )]
    Changed {
        /// The file.
        path: String,
        /// The hash it had.
        expected: String,
        /// The hash it has.
        found: String,
    },
    /// A path cannot be written into a record.
    #[error("{path:?}: the path is not Unicode; rename it or link to it under another name")]
    NotUnicode {
        /// The path.
        path: PathBuf,
    },
    /// The operating system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// The places that were searched, and what each holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Place and the names found there; no list where there was no place to look in.
    pub places: Vec<(String, Option<Vec<String>>)>,
}

impl fmt::Display for Looked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, found) in &self.places {
            match found {
                Some(found) => writeln!(f, "  {place}: {}", list(found))?,
                None => writeln!(f, "  {place}")?,
            }
        }
        Ok(())
    }
}

/// How to get a dataset: only treebanks of Universal Dependencies are fetched.
fn data_hint(name: &str) -> String {
    let given = "give the folder it lies in with --data DIR";
    match name.starts_with("UD_") {
        true => format!("{given}, or get it with `frostline fetch {name}`"),
        false => given.into(),
    }
}

/// Names in one line; a long list is cut with a count of the rest.
pub(crate) fn list<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return "nothing".into();
    }
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    shown.join(", ") + &more
}
