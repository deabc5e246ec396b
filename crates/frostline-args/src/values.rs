//! Values of arguments: backends, seeds, and times.

use std::ops::RangeInclusive;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use frostline_files::claim::LONGEST_LEASE;
use frostline_sweep::Backend;

/// Seeds from the first to the last.
pub(crate) type Seeds = RangeInclusive<u64>;

/// The line of help of each backend.
const BACKENDS: [(Backend, &str); 6] = [
    (Backend::Flex, "burn's CPU backend with fused operations: the fastest on a processor"),
    (
        Backend::Amx,
        "The same, with bf16 in the matrix unit (AMX) of Intel processors: the fastest in bf16 there, but its results have the \
         same bits on such processors alone",
    ),
    (Backend::Ndarray, "burn's ndarray backend: slower, a second opinion"),
    (Backend::Cuda, "An NVIDIA GPU"),
    (Backend::Wgpu, "Any GPU with Vulkan, Metal or DirectX 12; FROSTLINE_DEVICE selects one of several"),
    (Backend::Auto, "The fastest of these that this build has and that can compute here"),
];

/// Returns the parser of `--backend`.
#[must_use]
pub fn backend_parser() -> impl TypedValueParser<Value = Backend> {
    let values = BACKENDS.map(|(backend, help)| PossibleValue::new(backend.name()).help(help));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Backend>())
}

/// Parses a lease in seconds.
pub(crate) fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=LONGEST_LEASE.as_secs_f64()).contains(&seconds) => Ok(seconds),
        _ => Err(format!("expected seconds from 0.1 to {}, as in 120", LONGEST_LEASE.as_secs())),
    }
}

/// Parses a time limit in minutes.
///
/// # Errors
/// If it is no number, or not above 0.
pub fn parse_minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if minutes > 0.0 && minutes <= 1e6 => Ok(minutes),
        _ => Err("expected minutes above 0, as in 90 or 0.5".into()),
    }
}

/// Parses one seed or a range of seeds, both ends included.
pub(crate) fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let number = |part: &str| {
        part.trim()
            .parse::<u64>()
            .ok()
            .filter(|seed| *seed <= i64::MAX as u64)
            .ok_or_else(|| format!("`{part}` is not a seed: write `42`, `42,43` or `42-46`"))
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    match last.checked_sub(first) {
        None => Err(format!("`{text}` runs backwards: write `{last}-{first}`")),
        Some(1000..) => Err(format!("`{text}` means more than 1000 seeds")),
        Some(_) => Ok(first..=last),
    }
}
