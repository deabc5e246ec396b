#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod cli;
pub mod commands;
mod log;

pub use cli::run;
