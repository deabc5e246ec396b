#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod engine;
mod folder;
mod model_folder;
mod positions;
mod tagger;

pub use folder::ModelMismatch;
pub use model_folder::ModelFolder;
pub use positions::Positions;
pub use tagger::{Answer, NO_TAG, Options, PART_WORDS, Part, SentenceError, Tagger};
