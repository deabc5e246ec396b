#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accounts;
mod group;
mod policy;

pub use accounts::{Account, Accounts, Parameter};
pub use group::Group;
pub use policy::{Policy, PolicyError};
