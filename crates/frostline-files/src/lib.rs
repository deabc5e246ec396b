#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod busy;
pub mod claim;
mod error;
mod fault;
mod read;
mod seal;
mod space;
mod write;

pub use error::FileError;
pub use read::{Identity, has_access_list, is_own, open, read, read_text};
pub use seal::{ChangedText, SEAL_BYTES, seal, seal_json, unseal, unseal_json};
pub use space::{Space, can_write_into};
pub use write::{
    Appender, Writer, append, copy, create_folder, create_new_folder, create_own_folder, is_part, keep_as,
    link, lock_file, make_private, remove, remove_empty_folder, remove_own_folder, rename, write,
};
