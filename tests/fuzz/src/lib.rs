#![doc = include_str!("../README.md")]
#![deny(unsafe_op_in_unsafe_fn)]

mod archives;
mod checkpoints;
mod files;
mod folders;
mod memory;
mod models;
mod mutate;
mod plans;
mod records;
mod requests;
mod target;
mod texts;

pub use memory::{Meter, allowed_bytes, measure_peak};
pub use mutate::mutate_input;
pub use target::{InputShape, InputTarget, TARGETS};
