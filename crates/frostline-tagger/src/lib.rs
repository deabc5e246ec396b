#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod answer;
mod engine;
mod folder;
mod group;
mod model_folder;
mod positions;
mod reading;
mod slices;
mod tagger;
mod taggers;
mod target;
mod targets;

pub use answer::{Answer, NO_TAG, Options, PART_WORDS, Part, SentenceError};
pub use folder::ModelMismatch;
pub use group::TaggerModel;
pub use model_folder::ModelFolder;
pub use positions::Positions;
pub use tagger::Tagger;
pub use taggers::{SentenceAnswers, Sharing, Taggers};
pub use target::TagTarget;
pub use targets::{SameTarget, TagTargets};
