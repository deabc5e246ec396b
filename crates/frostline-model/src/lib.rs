#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod checkpoint;
mod config;
mod encoder;
mod export;
mod extras;
mod head;
mod names;
mod parameters;
mod peft;
mod random;
mod tagger;
mod vocabulary;

pub use checkpoint::Checkpoint;
pub use config::{EncoderConfig, Family};
pub use encoder::{Block, BlockDropout, Embeddings, Encoder, Input, Linear, Norm, Pass};
pub use export::{Export, hugging_face_config};
pub use extras::{Adapter, AdapterShape, Extras, Lora, LoraShape, Matrix, Mix, merged};
pub use head::{Head, HeadKind, HeadShape};
pub use names::hugging_face_name;
pub use parameters::{Values, fingerprints, replace, set_trainable, snapshot};
pub use peft::Peft;
pub use random::RandomInit;
pub use tagger::Tagger;
pub use vocabulary::Vocabulary;

/// What can go wrong between a folder of weights and a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The encoder's config cannot be used.
    #[error("{place}: {reason}")]
    Config {
        /// Where it was read.
        place: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// A weights file cannot be read.
    #[error("{place}: {reason}")]
    Weights {
        /// Where it was read.
        place: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// A tensor is not in the weights.
    #[error(
        "{place}: the weights have no tensor `{name}`, which the config asks for; \
         they do not belong together, or the file is of another model family"
    )]
    Missing {
        /// Where it was looked for.
        place: String,
        /// Its Hugging Face name.
        name: String,
    },
    /// A tensor has another shape than the config says.
    #[error(
        "{place}: the tensor `{name}` has the shape {found:?}, but the config asks for {expected:?}; \
         config and weights do not belong together"
    )]
    Shape {
        /// Where it was read.
        place: String,
        /// Its Hugging Face name.
        name: String,
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape the config implies.
        expected: Vec<usize>,
    },
}

/// Where a model's numbers come from: a weights file, or a random draw.
pub trait Source {
    /// Whether it has a parameter that a model may lack, such as a pooler.
    fn has(&self, path: &str) -> bool;

    /// All values of a parameter, row-major in this crate's layout (a linear weight is \[in, out\]).
    ///
    /// # Errors
    /// Where the source lacks the parameter or has it in another shape.
    fn values(&self, path: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError>;

    /// Some rows of a table of this full shape.
    ///
    /// # Errors
    /// As [`Source::values`].
    fn rows(&self, path: &str, shape: [usize; 2], rows: &[u32]) -> Result<Vec<f32>, ModelError> {
        let all = self.values(path, &shape)?;
        Ok(rows.iter().flat_map(|&row| all[row as usize * shape[1]..][..shape[1]].iter().copied()).collect())
    }
}
