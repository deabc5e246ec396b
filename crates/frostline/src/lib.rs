#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod cli;
pub mod commands;

pub use cli::run;
