//! Lowercasing as Python does it, without locale rules and without stripping accents.

use std::borrow::Cow;

/// Lowercases like Python's `str.lower()`: full Unicode mapping, `İ` becomes two characters, and a
/// capital sigma at the end of a word becomes a final sigma.
///
/// ```
/// use frostline_align::lowercase;
///
/// assert_eq!(lowercase("ΟΔΟΣ İ"), "οδος i\u{307}");
/// assert!(matches!(lowercase("plain"), std::borrow::Cow::Borrowed(_)));
/// ```
///
/// # Source
/// Unicode `SpecialCasing.txt`, unconditional mappings and `Final_Sigma`; both languages implement
/// exactly these. They can differ only on letters newer than the older one's Unicode tables.
#[must_use]
pub fn lowercase(form: &str) -> Cow<'_, str> {
    if form.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        Cow::Borrowed(form)
    } else {
        Cow::Owned(form.to_lowercase())
    }
}
