//! The message of the TOML parser with what to do about it.

use crate::error::shortened;
use crate::{Settings, suggest};

/// The message with the key that may be meant or the line to add, for a file of this schema.
pub(crate) fn explained(message: &str, schema: u32) -> String {
    let next = suggest::next_step(message, schema, &Settings::paths());
    shortened(message) + &next.map_or_else(String::new, |next| format!("\n{next}"))
}
