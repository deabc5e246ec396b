#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod archive;
mod dataset;
pub mod embedded;
mod encoder;
mod error;
#[cfg(feature = "fetch")]
pub mod fetch;
mod format;
mod hashes;
mod hub;
mod hub_cache;
mod known;
mod licence;
mod places;
#[cfg(feature = "fetch")]
pub mod push;
mod source;

pub use archive::unpack_archive;
pub use dataset::DatasetFiles;
pub use encoder::{ConfigCheck, EncoderFiles};
pub use error::{AssetError, SearchedPlaces};
pub use format::Format;
pub use hub::{hub_id, is_hub_id, split_revision};
pub use hub_cache::{HubCache, default_hub_cache};
pub use known::{KNOWN_DATASETS, KnownDataset};
pub use licence::{Licence, licence_of};
pub use places::{Places, default_cache};
pub use source::{Origin, Source, Sources, read, read_pinned, sha256};
