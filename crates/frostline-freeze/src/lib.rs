#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accounts;
mod cost;
mod group;
mod light;
mod machine;
mod policy;
mod rates;
mod settling;
mod timeline;

pub use accounts::{Account, Accounts, Parameter};
pub use cost::{Cost, Prefix, Shape, Work, Workload};
pub use group::Group;
pub use light::Light;
pub use machine::Machine;
pub use policy::{Policy, PolicyError};
pub use rates::LayerDecay;
pub use settling::{Settling, SettlingRule};
pub use timeline::Timeline;
