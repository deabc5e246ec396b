#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod attention;
mod blocks;
mod embeddings;
mod error;
mod export;
mod graph;
mod layers;
mod model;
mod proto;
mod quantize;
mod tensor;
#[cfg(test)]
mod tests;

pub use error::OnnxError;
pub use export::OnnxExport;
pub use model::{MOST_INSIDE, OnnxModel};
