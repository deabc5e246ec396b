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

pub use memory::{Meter, allowed, measure};
pub use mutate::mutate;
pub use target::{Shape, TARGETS, Target};
