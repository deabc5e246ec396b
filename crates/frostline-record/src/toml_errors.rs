//! Adds the next step to messages of the TOML parser.

use crate::error::shorten_lines;
use crate::{Settings, suggest};

/// Returns the message with a similar key or the line to add, for a file of this schema.
pub(crate) fn explain_message(message: &str, schema: u32) -> String {
    let next = suggest::next_step(message, schema, &Settings::paths());
    shorten_lines(message) + &next.map_or_else(String::new, |next| format!("\n{next}"))
}
