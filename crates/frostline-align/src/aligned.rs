//! The result of an alignment: ids, the word of each position, label positions, lost words, and the
//! canonical line. Labels are numbers; tag sets are up to the caller.

use crate::AlignError;

/// The label of a position without a word's label: `ignore_index` in PyTorch and Hugging Face.
pub const NO_LABEL: i64 = -100;

/// One sentence, or one window of it, as an encoder reads it.
///
/// For [`crate::Aligner::align`] every word is exactly one of labelled (it is in `label_positions`),
/// truncated and vanished. For [`crate::Aligner::align_windows`] the same holds over all windows
/// together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Aligned {
    /// Token ids, including special tokens.
    pub ids: Vec<u32>,
    /// The word of each position; `None` for tokens that the post-processor added. A word that is
    /// spelled like a special token is a word.
    pub word_ids: Vec<Option<u32>>,
    /// If words are labelled: `(position, word)`, ascending. One position per labelled word, except
    /// under [`crate::LabelPolicy::All`].
    pub label_positions: Vec<(u32, u32)>,
    /// Words whose label position was cut off, ascending.
    pub truncated: Vec<u32>,
    /// Words without any subword (empty, or only control or zero-width characters), ascending.
    pub vanished: Vec<u32>,
    /// Subwords that were cut off; 0 in a window, since another one has them.
    pub cut: u32,
}

impl Aligned {
    /// Returns the number of words with at least one label position here.
    #[must_use]
    pub fn labelled(&self) -> usize {
        let mut count = 0;
        let mut last = None;
        for &(_, word) in &self.label_positions {
            count += usize::from(last != Some(word));
            last = Some(word);
        }
        count
    }

    /// One label per position: `of_word[w]` at the label positions of word `w`, [`NO_LABEL`] at all others. In
    /// `of_word`, a word without a tag is [`NO_LABEL`], too.
    ///
    /// # Panics
    /// If `of_word` has no entry for a word that is labelled here.
    #[must_use]
    pub fn labels(&self, of_word: &[i64]) -> Vec<i64> {
        let mut labels = vec![NO_LABEL; self.ids.len()];
        for &(position, word) in &self.label_positions {
            labels[position as usize] = of_word[word as usize];
        }
        labels
    }
}

/// Returns the label of every word: its tag's index in `list`, and [`NO_LABEL`] for the tag `_`, with which
/// CoNLL-U marks a missing value.
///
/// ```
/// use frostline_align::{NO_LABEL, label_indices};
///
/// assert_eq!(label_indices(&["NOUN", "_", "ADJ"], &["ADJ", "NOUN"])?, [1, NO_LABEL, 0]);
/// # Ok::<(), frostline_align::AlignError>(())
/// ```
///
/// # Errors
/// If a tag is neither in the list nor `_`.
pub fn label_indices(tags: &[&str], list: &[&str]) -> Result<Vec<i64>, AlignError> {
    let index = |(word, &tag): (usize, &&str)| match list.iter().position(|&known| known == tag) {
        Some(label) => Ok(label as i64),
        None if tag == "_" => Ok(NO_LABEL),
        None => Err(AlignError::UnknownTag { word, tag: tag.to_owned(), known: list.len() }),
    };
    tags.iter().enumerate().map(index).collect()
}

/// The canonical JSON line of a sentence, for comparing alignments byte by byte.
///
/// ```
/// use frostline_align::{Aligned, CanonicalLine};
///
/// let aligned = Aligned {
///     ids: vec![101, 7, 102],
///     word_ids: vec![None, Some(0), None],
///     label_positions: vec![(1, 0)],
///     ..Aligned::default()
/// };
/// let line = CanonicalLine { index: 0, sent_id: Some("s-1"), aligned: &aligned, labels: &[5] };
/// assert_eq!(
///     line.render().unwrap(),
///     r#"{"i":0,"sent_id":"s-1","ids":[101,7,102],"word_ids":[null,0,null],"labels":[-100,5,-100]}"#
/// );
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CanonicalLine<'a> {
    /// Index of the sentence in its file, from 0.
    pub index: usize,
    /// The sentence's `# sent_id`; `null` in the line when it has none.
    pub sent_id: Option<&'a str>,
    /// The alignment.
    pub aligned: &'a Aligned,
    /// One label per *word*; [`NO_LABEL`] for a word without a tag.
    pub labels: &'a [i64],
}

impl CanonicalLine<'_> {
    /// Returns the line without its newline: keys in this order, no spaces, UTF-8 without `\u` escapes (except
    /// for control characters, which JSON requires to be escaped).
    ///
    /// # Errors
    /// If a labelled word has no entry in `labels`.
    pub fn render(&self) -> Result<String, AlignError> {
        let words = self.aligned.label_positions.last().map_or(0, |&(_, word)| word as usize + 1);
        if self.labels.len() < words {
            return Err(AlignError::Labels { labels: self.labels.len(), words });
        }
        let mut line = String::with_capacity(64 + 16 * self.aligned.ids.len());
        line.push_str("{\"i\":");
        push_int(&mut line, self.index as i64);
        line.push_str(",\"sent_id\":");
        match self.sent_id {
            Some(id) => line.push_str(&serde_json::Value::from(id).to_string()),
            None => line.push_str("null"),
        }
        line.push_str(",\"ids\":[");
        push_list(&mut line, self.aligned.ids.iter().map(|&id| Some(i64::from(id))));
        line.push_str("],\"word_ids\":[");
        push_list(&mut line, self.aligned.word_ids.iter().map(|w| w.map(i64::from)));
        line.push_str("],\"labels\":[");
        push_list(&mut line, self.aligned.labels(self.labels).into_iter().map(Some));
        line.push_str("]}");
        Ok(line)
    }
}

fn push_list(line: &mut String, items: impl Iterator<Item = Option<i64>>) {
    for (i, item) in items.enumerate() {
        if i > 0 {
            line.push(',');
        }
        match item {
            Some(number) => push_int(line, number),
            None => line.push_str("null"),
        }
    }
}

fn push_int(line: &mut String, number: i64) {
    use std::fmt::Write;
    // Writing to a string cannot fail.
    let _ = write!(line, "{number}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_line_escapes_only_what_json_requires() {
        let aligned = Aligned::default();
        let line =
            |sent_id| CanonicalLine { index: 3, sent_id, aligned: &aligned, labels: &[] }.render().unwrap();
        let rest = r#""ids":[],"word_ids":[],"labels":[]}"#;
        assert_eq!(line(None), format!(r#"{{"i":3,"sent_id":null,{rest}"#));
        let odd = line(Some("é中\u{7f} \"q\" \\ \u{1}\t"));
        assert_eq!(odd, format!(r#"{{"i":3,"sent_id":"é中{} \"q\" \\ \u0001\t",{rest}"#, '\u{7f}'));
    }

    #[test]
    fn missing_labels_and_unknown_tags_are_errors() {
        let aligned = Aligned { ids: vec![7], label_positions: vec![(0, 2)], ..Aligned::default() };
        let line = CanonicalLine { index: 0, sent_id: None, aligned: &aligned, labels: &[1, 1] };
        assert_eq!(line.render().unwrap_err().to_string(), "2 labels for 3 words; give one per word");
        let error = label_indices(&["A", "B"], &["A"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "word 1: the tag \"B\" is not among the 1 known labels; correct the tag or add the label"
        );
    }
}
