//! The error type of this crate. Messages of the tokenizer library are passed on unchanged.

use std::path::PathBuf;

/// Why a tokenizer could not be loaded, or words could not be aligned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlignError {
    /// A folder without any tokenizer this crate can read.
    #[error(
        "{}: contains neither tokenizer.json nor vocab.txt; give the folder of a pretrained encoder",
        folder.display()
    )]
    NoTokenizer {
        /// The folder.
        folder: PathBuf,
    },
    /// A file that could not be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file that does not describe a tokenizer.
    #[error("{origin}: not a tokenizer that can be loaded: {message}")]
    Format {
        /// The file, or `tokenizer.json` for bytes.
        origin: String,
        /// The parser's message.
        message: String,
    },
    /// A vocabulary without one of the tokens that the encoder needs.
    #[error(
        "{origin}: the vocabulary has no {token:?}, needed as {role}; check the special tokens in tokenizer_config.json"
    )]
    MissingToken {
        /// The file or `vocabulary`.
        origin: String,
        /// The missing token.
        token: String,
        /// The setting that names it, such as `unk_token`.
        role: &'static str,
    },
    /// A post-processor that does not insert the sentence exactly once among special tokens.
    #[error(
        "{origin}: the post-processor inserts the sentence {times} times, expected once; correct post_processor"
    )]
    Template {
        /// The file, or `tokenizer.json` for bytes.
        origin: String,
        /// How often the sentence occurs.
        times: usize,
    },
    /// A window that cannot hold the special tokens.
    #[error("max_length is {max_length}, but the special tokens alone take {specials}; give at least {}", specials + 1)]
    TooShort {
        /// The setting.
        max_length: usize,
        /// The number of special tokens in every window.
        specials: usize,
    },
    /// A stride with which windows would not advance.
    #[error(
        "stride is {stride}, but a window of {max_length} has room for {room} subwords next to {specials} special tokens; give a stride below {room}"
    )]
    Stride {
        /// The setting.
        stride: usize,
        /// The setting.
        max_length: usize,
        /// The number of special tokens in every window.
        specials: usize,
        /// The number of subwords that fit into one window.
        room: usize,
    },
    /// A word on which the tokenizer failed.
    #[error("word {word} ({form:?}): cannot be tokenized: {message}")]
    Word {
        /// Index of the word in its sentence.
        word: usize,
        /// The word form.
        form: String,
        /// The tokenizer's message.
        message: String,
    },
    /// A tag outside the list of labels.
    #[error(
        "word {word}: the tag {tag:?} is not among the {known} known labels; correct the tag or add the label"
    )]
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
        /// The number of labels.
        labels: usize,
        /// The number of words.
        words: usize,
    },
}
