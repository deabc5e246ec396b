#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![recursion_limit = "256"]

mod adapter;
mod architecture;
mod branches;
mod checkpoint;
mod config;
mod encoder;
mod export;
mod extras;
mod families;
mod family;
mod forms;
mod head;
mod head_kind;
mod layout;
mod linear;
mod mix;
mod names;
mod network;
mod packed;
mod parameter_pool;
mod parameters;
mod parse;
mod passes;
mod peft;
mod random;
mod vocabulary;

pub use adapter::Adapter;
pub use architecture::{Architecture, LayerKind, NormPlace, RelativeTable, RotaryBases, Sharing, WordHead};
pub use branches::{Branches, ComputedBlocks};
pub use checkpoint::Checkpoint;
pub use config::EncoderConfig;
pub use encoder::{Block, BlockDropout, Embeddings, Encoder, Pass};
pub use export::{HuggingFaceExport, hugging_face_config, merged};
pub use extras::{AdapterShape, Extras, FactorSide, LoraShape, Matrix};
pub use family::Family;
pub use head::{Head, HeadShape};
pub use head_kind::HeadKind;
pub use linear::{Factors, Linear, Lora, Norm};
pub use mix::Mix;
pub use names::{Naming, StoredName, hugging_face_name, stored_name};
pub use network::Network;
pub use packed::PackedInput;
pub use parameter_pool::ParameterPool;
pub use parameters::{Values, fingerprints, replace, set_trainable, snapshot};
pub use passes::{batches, passes};
pub use peft::PeftExport;
pub use random::RandomInit;
pub use vocabulary::Vocabulary;

/// Why a model cannot be built, read or exported.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The encoder's config cannot be used.
    #[error("{place}: {reason}")]
    Config {
        /// If it was read.
        place: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// A weights file cannot be read.
    #[error("{place}: {reason}")]
    Weights {
        /// If it was read.
        place: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// A tensor is not in the weights.
    #[error(
        "{place}: the weights have no tensor `{name}`, which the config requires{like}; \
         check that config and weights belong to the same model"
    )]
    Missing {
        /// If it was searched.
        place: String,
        /// The Hugging Face name.
        name: String,
        /// Empty, or a similar name.
        like: String,
    },
    /// A tensor's shape does not match the config.
    #[error(
        "{place}: the tensor `{name}` has the shape {found:?}, but the config requires {expected:?}; \
         check that config and weights belong to the same model"
    )]
    Shape {
        /// If it was read.
        place: String,
        /// The Hugging Face name.
        name: String,
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape the config implies.
        expected: Vec<usize>,
    },
}

/// The source of a model's parameters: a weights file, or random initialisation.
pub trait ParameterSource {
    /// Returns whether it has a parameter that a model may lack, such as a pooler.
    fn has(&self, path: &str) -> bool;

    /// Returns all values of a parameter, row-major in this crate's layout (a linear weight is \[in, out\]).
    ///
    /// # Errors
    /// If the source lacks the parameter or has it in another shape.
    fn values(&self, path: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError>;

    /// Some rows of a table of this full shape.
    ///
    /// # Errors
    /// See [`ParameterSource::values`].
    fn rows(&self, path: &str, shape: [usize; 2], rows: &[u32]) -> Result<Vec<f32>, ModelError> {
        let all = self.values(path, &shape)?;
        Ok(rows.iter().flat_map(|&row| all[row as usize * shape[1]..][..shape[1]].iter().copied()).collect())
    }
}
