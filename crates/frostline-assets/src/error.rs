//! What can go wrong between a name and its bytes.

use std::fmt;
use std::path::PathBuf;

/// Why a treebank or an encoder could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    /// No place has a treebank of this name.
    #[error(
        "there is no treebank `{name}`\n{looked}  give the folder it lies in with --data DIR, or get it with `cargo xtask fetch {name}`"
    )]
    NoTreebank {
        /// The name as given.
        name: String,
        /// Where it was looked for and what is there.
        looked: Looked,
    },
    /// No place has an encoder of this name.
    #[error(
        "there is no encoder `{name}`\n{looked}  give the folder it lies in with --models DIR, or get it with `cargo xtask fetch {name}`"
    )]
    NoEncoder {
        /// The name as given.
        name: String,
        /// Where it was looked for and what is there.
        looked: Looked,
    },
    /// A treebank's folder lacks a split.
    #[error(
        "{folder}: no {split} split; expected a file named *-ud-{split}.conllu or {split}.conllu, there is: {}",
        list(.found)
    )]
    NoSplit {
        /// The treebank's folder.
        folder: String,
        /// `train` or `dev`.
        split: &'static str,
        /// The files that are there.
        found: Vec<String>,
    },
    /// Several files could be one split.
    #[error(
        "{folder}: several files could be the {split} split: {}; keep one, or join them",
        list(.found)
    )]
    ManySplits {
        /// The treebank's folder.
        folder: String,
        /// `train`, `dev` or `test`.
        split: &'static str,
        /// The files.
        found: Vec<String>,
    },
    /// A split without sentences.
    #[error(
        "{path}: the {split} split is empty: it has 0 sentences; expected at least one, so fetch the treebank again or remove the file if it is the test split"
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

/// Names in one line; a long list is cut with a count of the rest.
fn list<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return "nothing".into();
    }
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    shown.join(", ") + &more
}
