#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod demo;
pub mod embedded;
mod encoder;
mod error;
#[cfg(feature = "fetch")]
pub mod fetch;
mod places;
mod source;
mod treebank;

pub use encoder::EncoderFiles;
pub use error::{AssetError, Looked};
pub use places::{Places, default_cache};
pub use source::{Origin, Source, Sources, read, read_pinned, sha256};
pub use treebank::Treebank;
