#![doc = include_str!("../README.md")]

pub mod backend;
mod dropout;
mod kernels;
mod options;
mod pack;
pub mod stock;

#[cfg(feature = "flex")]
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "ndarray")]
mod ndarray;

pub use dropout::Dropout;
pub use frostline_record::Precision;
pub use kernels::{Kernels, Train};
pub use options::AdamW;
pub use pack::{Pack, Rows};
