//! Whether this program may open connections.

use anyhow::anyhow;

use crate::fault::{Blame as _, CommandResult};

/// Switches offline mode on.
pub(crate) const OFFLINE: &str = "FROSTLINE_OFFLINE";

/// Whether the environment forbids connections.
///
/// # Errors
/// If its value means neither yes nor no.
pub(crate) fn is_offline(set: impl Fn(&str) -> Option<String>) -> CommandResult<bool> {
    match set(OFFLINE).map(|value| value.to_ascii_lowercase()).as_deref() {
        None | Some("" | "0" | "false" | "no" | "off") => Ok(false),
        Some("1" | "true" | "yes" | "on") => Ok(true),
        Some(other) => Err(anyhow!("{OFFLINE}={other}: expected 1 or 0")).blame_plan(),
    }
}

/// Whether the environment forbids connections to the Hugging Face hub, by the variable of `huggingface_hub` and by its reading of
/// values: what it does not know means no.
pub(crate) fn is_hub_offline(set: impl Fn(&str) -> Option<String>) -> bool {
    let is_on = |value: String| ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str());
    ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"].iter().find_map(|name| set(name)).is_some_and(is_on)
}

/// Returns a variable of this process's environment.
pub(crate) fn environment_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
