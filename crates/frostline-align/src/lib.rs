#![doc = include_str!("../README.md")]
//!
//! ## Map
//! `load`, `json` and `vocab` bring a tokenizer in; `aligner` aligns; `windows` decides who speaks
//! where; `cache` remembers words; `aligned` is the result and its canonical line; `options` and
//! `error` say what they say. Files are opened by [`Aligner::from_folder`] only; no clock, no
//! random source.
#![forbid(unsafe_code)]

mod aligned;
mod aligner;
mod cache;
mod error;
mod json;
mod load;
mod lowercase;
mod options;
mod vocab;
mod windows;

pub use aligned::{Aligned, CanonicalLine, NO_LABEL, label_indices};
pub use aligner::Aligner;
pub use error::AlignError;
pub use lowercase::lowercase;
pub use options::{AlignOptions, LabelPolicy};
pub use vocab::{SpecialToken, VocabOptions};
