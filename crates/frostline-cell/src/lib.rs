#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

pub mod audit;
mod baselines;
pub mod bench;
pub mod cell;
mod changes;
pub mod check;
pub mod corpus;
pub mod cost;
pub mod data;
pub mod export;
pub mod facts;
pub mod inputs;
pub mod outcome;
pub mod params;
pub mod prefix;
pub mod pretrain;
mod save;
mod saved_model;
mod story;
pub mod version;
pub mod worker;
