#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accounts;
mod block_score;
mod blocks;
mod cost;
mod group;
mod machine;
mod memory;
mod peft;
mod policy;
mod rates;
mod resolved;
mod settling;
mod shape;
mod subsets;
mod timeline;

pub use accounts::{Account, Accounts, Parameter};
pub use block_score::BlockScore;
pub use blocks::{BlockOrders, Blocks};
pub use cost::{Cost, PrefixMode, Work, Workload};
pub use group::Group;
pub use machine::Machine;
pub use memory::StepMemory;
pub use peft::PeftMethod;
pub use policy::{
    BlockCount, FreezeSchedule, Frozen, FrozenBlocks, FrozenHeads, Policy, PolicyError, Tuning,
};
pub use rates::LayerDecay;
pub use resolved::ResolvedPolicy;
pub use settling::{Settling, SettlingRule};
pub use shape::Shape;
pub use timeline::Timeline;
