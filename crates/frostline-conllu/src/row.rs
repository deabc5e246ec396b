//! One line of a sentence that is neither a comment nor blank.
//!
//! Gives access to the ten columns by name and by number. The text is returned unchanged;
//! `values` interprets it on demand.

use std::fmt;

use crate::{id::Id, scan::TABS};

/// The ten columns, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// Word number, range or empty node.
    Id,
    /// The word form as it appears in the text.
    Form,
    /// The lemma, or dictionary form.
    Lemma,
    /// Universal part of speech.
    Upos,
    /// Language-specific part of speech.
    Xpos,
    /// Morphological features.
    Feats,
    /// The number of the head word, 0 for the root.
    Head,
    /// The dependency relation to the head.
    Deprel,
    /// Enhanced dependencies.
    Deps,
    /// Anything else.
    Misc,
}

impl Column {
    /// All ten columns, in order.
    pub const ALL: [Column; 10] = [
        Column::Id,
        Column::Form,
        Column::Lemma,
        Column::Upos,
        Column::Xpos,
        Column::Feats,
        Column::Head,
        Column::Deprel,
        Column::Deps,
        Column::Misc,
    ];

    /// Returns the column's name in the format, such as `UPOS`.
    pub fn name(self) -> &'static str {
        ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"][self as usize]
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The kind of row that the first column declares, kept so that `words()` need not parse it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    Word,
    Range,
    Empty,
    /// The ID does not parse; only lenient reading yields such a row.
    Unknown,
}

/// One row: a word, a range, an empty node, or (lenient only) any other line.
#[derive(Clone, Copy)]
pub struct TokenRow<'a> {
    pub(crate) text: &'a str,
    /// Positions of the first ten tabs; entries from `columns - 1` on are unspecified.
    pub(crate) tabs: [u32; TABS],
    /// Lines from the sentence's first line to this one.
    pub(crate) below: u32,
    /// Number of columns, counted up to 11: 11 means "more than ten".
    pub(crate) columns: u8,
    pub(crate) kind: RowKind,
}

impl<'a> TokenRow<'a> {
    /// Returns the whole line without its line end.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// One column, unchanged, or `None` if the row ends before it (lenient reading only).
    /// Text after the tenth column is available only through [`TokenRow::text`].
    #[inline]
    pub fn get(&self, column: Column) -> Option<&'a str> {
        let column = column as usize;
        if column >= self.columns as usize {
            return None;
        }
        let start = if column == 0 { 0 } else { self.tabs[column - 1] as usize + 1 };
        let last = column + 1 == self.columns as usize;
        let end = if last { self.text.len() } else { self.tabs[column] as usize };
        self.text.get(start..end)
    }

    /// Returns the row's ten columns; columns missing from a leniently read row are empty.
    pub fn columns(&self) -> [&'a str; 10] {
        Column::ALL.map(|column| self.get(column).unwrap_or_default())
    }

    /// Returns how many columns the line has; always ten for a strictly read row.
    pub fn len(&self) -> usize {
        if self.columns <= 10 { self.columns as usize } else { self.text.split('\t').count() }
    }

    /// Always false: a row has at least one column. It accompanies `len` by convention.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the first column parsed as an ID; `None` only for rows that lenient reading kept.
    pub fn key(&self) -> Option<Id> {
        Id::parse(self.id())
    }

    /// Returns whether this is a syntactic word, whose ID is an integer.
    pub fn is_word(&self) -> bool {
        self.kind == RowKind::Word
    }

    /// Returns whether this is a multiword range such as `1-2`.
    pub fn is_range(&self) -> bool {
        self.kind == RowKind::Range
    }

    /// Returns whether this is an empty node such as `1.1`.
    pub fn is_empty_node(&self) -> bool {
        self.kind == RowKind::Empty
    }

    /// Column 1, ID.
    pub fn id(&self) -> &'a str {
        self.get(Column::Id).unwrap_or_default()
    }

    /// Column 2, FORM.
    pub fn form(&self) -> &'a str {
        self.get(Column::Form).unwrap_or_default()
    }

    /// Column 3, LEMMA.
    pub fn lemma(&self) -> &'a str {
        self.get(Column::Lemma).unwrap_or_default()
    }

    /// Column 4, UPOS.
    pub fn upos(&self) -> &'a str {
        self.get(Column::Upos).unwrap_or_default()
    }

    /// Column 5, XPOS.
    pub fn xpos(&self) -> &'a str {
        self.get(Column::Xpos).unwrap_or_default()
    }

    /// Column 6, FEATS.
    pub fn feats(&self) -> &'a str {
        self.get(Column::Feats).unwrap_or_default()
    }

    /// Column 7, HEAD.
    pub fn head(&self) -> &'a str {
        self.get(Column::Head).unwrap_or_default()
    }

    /// Column 8, DEPREL.
    pub fn deprel(&self) -> &'a str {
        self.get(Column::Deprel).unwrap_or_default()
    }

    /// Column 9, DEPS.
    pub fn deps(&self) -> &'a str {
        self.get(Column::Deps).unwrap_or_default()
    }

    /// Column 10, MISC.
    pub fn misc(&self) -> &'a str {
        self.get(Column::Misc).unwrap_or_default()
    }
}

impl fmt::Debug for TokenRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenRow").field(&self.text).finish()
    }
}
