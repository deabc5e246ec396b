//! The short names that plans have for encoders of the Hugging Face hub.

/// Encoders of built-in plans that belong to an owner on the hub: the short name, and the whole one.
const SHORT: [(&str, &str); 2] = [
    ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
    ("multilingual-e5-small", "intfloat/multilingual-e5-small"),
];

/// Returns the id of an encoder on the Hugging Face hub: `intfloat/multilingual-e5-small` for
/// `multilingual-e5-small`. A name that is not short is its own id.
#[must_use]
pub fn hub_id(name: &str) -> &str {
    SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, whole)| whole)
}

/// Returns the other name of an encoder that has two: the folder of either is the same encoder.
pub(crate) fn other_name(name: &str) -> Option<&'static str> {
    SHORT.iter().find_map(|&(short, whole)| match name {
        _ if name == short => Some(whole),
        _ if name == whole => Some(short),
        _ => None,
    })
}
