//! The version of the files that this crate describes.

/// The version of every type here that is written to disk.
pub const SCHEMA: u32 = 4;
