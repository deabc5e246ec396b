//! The error of an export.

use frostline_model::ModelError;

/// Why a model cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// A parameter cannot be read.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The encoder has parts that were added by a policy.
    #[error("ONNX: the encoder has {part}, which this export does not write; {advice}")]
    Extra {
        /// The parts.
        part: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
}
