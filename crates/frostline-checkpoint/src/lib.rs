#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compare;
mod dcp;
mod dtype;
mod error;
mod names;
mod open;
mod optimiser;
mod pickle;
mod report;
mod rule;
mod safetensors;
mod source;
mod tensor;
mod torch;
mod zip;

pub use compare::{Change, Comparison, Difference, Kind, Row, Side, compare};
pub use dtype::DType;
pub use error::CheckpointError;
pub use open::{Checkpoint, Layout};
pub use optimiser::{Entry, OptimiserReport, OptimiserState};
pub use rule::Rule;
pub use tensor::{Tensor, Weights};
