//! Owns the one error of this crate. Refuses to hide the tokenizer's own words.

use std::path::PathBuf;

/// Why a tokenizer could not be loaded, or words not aligned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlignError {
    /// A folder without any tokenizer this crate can read.
    #[error(
        "{}: neither tokenizer.json nor vocab.txt here; give the folder of a pretrained encoder",
        folder.display()
    )]
    NoTokenizer {
        /// The folder looked into.
        folder: PathBuf,
    },
    /// A file that could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Text that is not a tokenizer.
    #[error("{origin}: not a tokenizer that can be loaded: {message}")]
    Format {
        /// The file, or `tokenizer.json` for bytes.
        origin: String,
        /// What the parser said.
        message: String,
    },
    /// A vocabulary without one of the tokens that the encoder needs.
    #[error(
        "{origin}: the vocabulary has no {token:?}, needed as {role}; check the special tokens in tokenizer_config.json"
    )]
    MissingToken {
        /// The file or `vocabulary`.
        origin: String,
        /// The token looked for.
        token: String,
        /// What it is needed as.
        role: &'static str,
    },
    /// A post-processor that does not place the sentence exactly once among special tokens.
    #[error("{origin}: the post-processor places the sentence {times} times; expected once")]
    Template {
        /// The file, or `tokenizer.json` for bytes.
        origin: String,
        /// How often the sentence was found.
        times: usize,
    },
    /// A window that cannot hold the special tokens.
    #[error("max_length is {max_length}, but the special tokens alone take {specials}; give at least {}", specials + 1)]
    TooShort {
        /// The setting.
        max_length: usize,
        /// How many special tokens every window carries.
        specials: usize,
    },
    /// Windows that would not move forward.
    #[error(
        "stride is {stride}, but a window of {max_length} holds {room} subwords beside {specials} special tokens; give a stride below {room}"
    )]
    Stride {
        /// The setting.
        stride: usize,
        /// The setting.
        max_length: usize,
        /// How many special tokens every window carries.
        specials: usize,
        /// Subwords in one window.
        room: usize,
    },
    /// A word the tokenizer itself refused.
    #[error("word {word} ({form:?}): the tokenizer refused it: {message}")]
    Word {
        /// Index of the word in its sentence.
        word: usize,
        /// The form as given.
        form: String,
        /// What the tokenizer said.
        message: String,
    },
    /// A tag outside the list of labels.
    #[error("word {word}: the tag {tag:?} is not in the list of {known} labels")]
    UnknownTag {
        /// Index of the word in its sentence.
        word: usize,
        /// The tag.
        tag: String,
        /// Length of the list.
        known: usize,
    },
    /// Labels that do not match the sentence.
    #[error("{labels} labels for {words} words; give one per word")]
    Labels {
        /// Labels given.
        labels: usize,
        /// Words aligned.
        words: usize,
    },
}
