#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod cli;
pub mod commands;
#[cfg(test)]
mod examples;
mod log;

pub use cli::run;
