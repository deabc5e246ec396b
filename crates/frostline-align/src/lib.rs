#![doc = include_str!("../README.md")]
//!
//! ## Map
//! `load`, `json` and `vocab` load a tokenizer; `aligner` aligns; `windows` splits long sentences and finds
//! label positions; `wordpiece` tokenizes words in ASCII, if the tokenizer is BERT's; `cache` is the word cache
//! for words tokenized by the library; `guard` catches its panics; `aligned` is the result and its canonical
//! line; `options` and `error` contain the settings and the error type. Only [`Aligner::from_folder`] opens
//! files; the crate reads no clock and no random source.
#![forbid(unsafe_code)]

mod aligned;
mod aligner;
mod cache;
mod error;
mod load;
mod lowercase;
mod options;
mod panic_guard;
mod tokenizer_json;
mod vocab;
mod windows;
mod wordpiece;

pub use aligned::{Aligned, CanonicalLine, NO_LABEL, label_indices};
pub use aligner::Aligner;
pub use error::AlignError;
pub use lowercase::lowercase;
pub use options::{AlignOptions, LabelPolicy};
pub use vocab::{SpecialToken, VocabOptions};
