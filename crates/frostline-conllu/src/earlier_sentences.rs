//! Facts about earlier sentences, for the checks that compare the sentences of a text.

use std::collections::BTreeMap;

/// Kept from sentence to sentence of one text. Grows only with `Checks::metadata`, by the ids.
#[derive(Default)]
pub(crate) struct SeenIds {
    /// The line of the first sentence that has enhanced dependencies.
    pub(crate) enhanced: Option<usize>,
    /// The line of the first sentence that has none.
    pub(crate) plain: Option<usize>,
    /// Every `sent_id`, and its line.
    pub(crate) sent_ids: BTreeMap<Box<str>, usize>,
    /// Every `parallel_id`, and its line.
    pub(crate) parallel_ids: BTreeMap<Box<str>, usize>,
    /// The last `alt` and `part` of each `parallel_id` without these suffixes.
    pub(crate) suffixes: BTreeMap<Box<str>, [Option<u64>; 2]>,
    /// Whether no space follows the last token found in a text.
    pub(crate) joined: bool,
}
