#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compare;
mod dcp;
mod dtype;
mod error;
mod names;
mod open;
mod optimiser;
mod parts;
mod pickle;
mod report;
mod rule;
mod safetensors;
mod source;
mod tensor;
mod torch;
mod zip;

pub use compare::{
    CheckpointComparison, ComparedSide, Difference, TensorChange, TensorKind, TensorRow, compare,
};
pub use dtype::DType;
pub use error::CheckpointError;
pub use open::{Checkpoint, StorageLayout};
pub use optimiser::{OptimiserReport, OptimiserState, StateEntry};
pub use parts::ModelParts;
pub use rule::FreezeRule;
pub use tensor::{Tensor, Weights};
