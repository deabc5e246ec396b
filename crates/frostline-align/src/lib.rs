//! Placeholder for the front page.
#![forbid(unsafe_code)]

mod aligned;
mod aligner;
mod cache;
mod error;
mod load;
mod lowercase;
mod options;
mod vocab;
mod windows;

pub use aligned::{Aligned, CanonicalLine, NO_LABEL};
pub use aligner::Aligner;
pub use error::AlignError;
pub use lowercase::lowercase;
pub use options::{AlignOptions, LabelPolicy};
pub use vocab::{SpecialToken, VocabOptions};
