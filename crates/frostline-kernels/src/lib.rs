#![doc = include_str!("../README.md")]

mod awake;
pub mod backend;
mod built;
#[cfg(feature = "flex")]
pub mod conformance;
mod device_calls;
mod dispatch;
pub mod double;
mod dropout;
mod form;
mod kernels;
mod numbers;
mod options;
mod pack;
pub mod profile;
mod relative;
pub mod stock;

#[cfg(feature = "flex")]
mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "ndarray")]
mod ndarray;

pub use awake::awake;
pub use device_calls::DeviceCalls;
pub use dropout::Dropout;
pub use form::{Activation, AttentionForm, Rotary};
pub use frostline_record::Precision;
pub use kernels::{Kernels, Train};
pub use numbers::{Index, Rows, Shared, Values, share};
pub use options::{AdamW, AddNorm, LazyTable, MakeLazyTable, Update, Updated, clipping};
pub use pack::{Pack, Picked};
pub use relative::RelativePositions;
