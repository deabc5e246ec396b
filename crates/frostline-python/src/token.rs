//! Sentences and tokens of CoNLL-U as Python objects. They share the bytes of their file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use frostline_conllu::{Column, Sentence as Parsed, TokenRow};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A row: a word, a range such as `3-4`, or an empty node such as `5.1`. A value of `_` is None, except in FORM and LEMMA.
#[pyclass(frozen, eq, hash, module = "frostline")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token {
    row: TextRange,
    /// Where the first nine columns end in the row.
    ends: [u32; 9],
    kind: TokenKind,
    /// The line of the file, from 1.
    #[pyo3(get)]
    line: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum TokenKind {
    Word,
    Range,
    Empty,
}

/// A part of a file's bytes, which were read as UTF-8.
#[derive(Clone)]
pub struct TextRange {
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl TextRange {
    /// A string that is a part of these bytes.
    pub fn part(bytes: &Arc<Vec<u8>>, text: &str) -> Self {
        let start = (text.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
        debug_assert!(start + text.len() <= bytes.len(), "the text is a part of the bytes");
        Self { bytes: bytes.clone(), range: start..start + text.len() }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.range.clone()]).unwrap_or_default()
    }
}

impl PartialEq for TextRange {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for TextRange {}

impl std::hash::Hash for TextRange {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Token {
    fn new(bytes: &Arc<Vec<u8>>, row: &TokenRow<'_>, line: usize) -> Self {
        let kind = match (row.is_range(), row.is_empty_node()) {
            (true, _) => TokenKind::Range,
            (_, true) => TokenKind::Empty,
            _ => TokenKind::Word,
        };
        let (columns, start) = (row.columns(), row.text().as_ptr() as usize);
        let end = |column: usize| (columns[column].as_ptr() as usize - start + columns[column].len()) as u32;
        Self { row: TextRange::part(bytes, row.text()), ends: std::array::from_fn(end), kind, line }
    }

    fn get(&self, column: Column) -> &str {
        let column = column as usize;
        let start = if column == 0 { 0 } else { self.ends[column - 1] as usize + 1 };
        let row = self.row.as_str();
        let end = self.ends.get(column).map_or(row.len(), |end| *end as usize);
        row.get(start..end).unwrap_or_default()
    }

    fn value(&self, column: Column) -> Option<&str> {
        Some(self.get(column)).filter(|value| *value != "_")
    }

    fn pairs<'py>(&self, py: Python<'py>, column: Column) -> PyResult<Bound<'py, PyDict>> {
        let pairs = PyDict::new(py);
        for part in self.value(column).into_iter().flat_map(|value| value.split('|')) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            pairs.set_item(key, value)?;
        }
        Ok(pairs)
    }
}

#[pymethods]
impl Token {
    /// Column 1, such as "3", "3-4" or "5.1".
    #[getter]
    fn id(&self) -> &str {
        self.get(Column::Id)
    }
    #[getter]
    fn form(&self) -> &str {
        self.get(Column::Form)
    }
    #[getter]
    fn lemma(&self) -> &str {
        self.get(Column::Lemma)
    }
    #[getter]
    fn upos(&self) -> Option<&str> {
        self.value(Column::Upos)
    }
    #[getter]
    fn xpos(&self) -> Option<&str> {
        self.value(Column::Xpos)
    }
    /// Column 6 as it is written.
    #[getter]
    fn feats(&self) -> Option<&str> {
        self.value(Column::Feats)
    }
    /// The number of the head word, 0 for the root.
    #[getter]
    fn head(&self) -> Option<u32> {
        self.get(Column::Head).parse().ok()
    }
    #[getter]
    fn deprel(&self) -> Option<&str> {
        self.value(Column::Deprel)
    }
    /// Column 9 as it is written.
    #[getter]
    fn deps(&self) -> Option<&str> {
        self.value(Column::Deps)
    }
    /// Column 10 as it is written.
    #[getter]
    fn misc(&self) -> Option<&str> {
        self.value(Column::Misc)
    }
    /// FEATS as a dictionary.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.pairs(py, Column::Feats)
    }
    /// MISC as a dictionary; a part without `=` has the value "".
    #[getter]
    fn annotations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.pairs(py, Column::Misc)
    }
    #[getter]
    fn is_word(&self) -> bool {
        self.kind == TokenKind::Word
    }
    #[getter]
    fn is_range(&self) -> bool {
        self.kind == TokenKind::Range
    }
    #[getter]
    fn is_empty_node(&self) -> bool {
        self.kind == TokenKind::Empty
    }
    fn __str__(&self) -> &str {
        self.row.as_str()
    }
    fn __repr__(&self) -> String {
        format!("Token(id={:?}, form={:?}, upos={:?})", self.id(), self.form(), self.upos().unwrap_or("_"))
    }
}

/// A sentence: its comments and rows.
#[pyclass(frozen, eq, hash, module = "frostline")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Sentence {
    tokens: Vec<Token>,
    comments: Vec<TextRange>,
    raw: TextRange,
    sent_id: Option<TextRange>,
    text: Option<TextRange>,
    /// The first line of the sentence in its file, from 1.
    #[pyo3(get)]
    line: usize,
}

impl Sentence {
    /// A parsed sentence of these bytes, whose first line has this number.
    pub fn new(bytes: &Arc<Vec<u8>>, parsed: &Parsed<'_>, line: usize) -> Self {
        let part = |text: &str| TextRange::part(bytes, text);
        let before = line - parsed.line();
        Self {
            tokens: parsed.rows().map(|row| Token::new(bytes, row, before + parsed.line_of(row))).collect(),
            comments: parsed.comments.iter().map(|comment| part(comment)).collect(),
            raw: part(std::str::from_utf8(parsed.raw()).unwrap_or_default()),
            sent_id: parsed.sent_id().map(part),
            text: parsed.text().map(part),
            line,
        }
    }

    fn words_of(&self) -> impl Iterator<Item = &Token> {
        self.tokens.iter().filter(|token| token.kind == TokenKind::Word)
    }
}

#[pymethods]
impl Sentence {
    #[getter]
    fn sent_id(&self) -> Option<&str> {
        self.sent_id.as_ref().map(TextRange::as_str)
    }
    #[getter]
    fn text(&self) -> Option<&str> {
        self.text.as_ref().map(TextRange::as_str)
    }
    /// The comment lines, including `#`.
    #[getter]
    fn comments(&self) -> Vec<&str> {
        self.comments.iter().map(TextRange::as_str).collect()
    }
    /// The values of the comments `# key = value`.
    #[getter]
    fn metadata(&self) -> BTreeMap<&str, &str> {
        let comments = self.comments.iter().map(|comment| comment.as_str().trim_start_matches('#'));
        let pairs = comments.filter_map(|comment| comment.split_once('='));
        pairs.map(|(key, value)| (key.trim(), value.trim())).collect()
    }
    /// Every row: words, ranges and empty nodes.
    #[getter]
    fn tokens(&self) -> Vec<Token> {
        self.tokens.clone()
    }
    /// The rows whose ID is an integer.
    #[getter]
    fn words(&self) -> Vec<Token> {
        self.words_of().cloned().collect()
    }
    /// The forms of the words.
    #[getter]
    fn forms(&self) -> Vec<&str> {
        self.words_of().map(|token| token.get(Column::Form)).collect()
    }
    /// The UPOS of the words, `_` where there is none.
    #[getter]
    fn tags(&self) -> Vec<&str> {
        self.words_of().map(|token| token.get(Column::Upos)).collect()
    }
    /// The lines it was read from, unchanged.
    #[getter]
    fn raw(&self) -> &str {
        self.raw.as_str()
    }
    fn __len__(&self) -> usize {
        self.words_of().count()
    }
    fn __str__(&self) -> &str {
        self.raw.as_str()
    }
    fn __repr__(&self) -> String {
        let id = self.sent_id().map_or("None".into(), |id| format!("{id:?}"));
        format!("Sentence(sent_id={id}, words={})", self.__len__())
    }
}
