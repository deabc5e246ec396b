#![doc = include_str!("../README.md")]

pub mod backend;
mod dropout;
mod kernels;
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
pub use kernels::{AdamW, Kernels, Train};
pub use pack::{Pack, Rows};
