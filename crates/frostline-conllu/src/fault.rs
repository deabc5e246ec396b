//! What can be wrong, where, and what to do about it.
//!
//! Every message about a text is defined here. A message names what was found, what was expected and
//! the next step, and quotes at most forty characters of the text.

use std::{fmt, sync::Arc};

use thiserror::Error;

use crate::{id::Id, row::Column};

/// One fault and its position.
///
/// # Units
/// `line` and `column` count from 1; a column is one character (Unicode scalar value), as in an
/// editor. `byte` counts from 0, from the start of the text that was read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind}")]
#[non_exhaustive]
pub struct Fault {
    /// Line of the text, from 1.
    pub line: usize,
    /// Character of the line, from 1.
    pub column: usize,
    /// Byte of the text, from 0.
    pub byte: usize,
    /// The sentence's `# sent_id`, where it has one.
    pub sent_id: Option<Arc<str>>,
    /// What is wrong.
    pub kind: FaultKind,
}

impl Fault {
    /// The fault in a named file: displays as `path:line:column: message (sentence id)`.
    pub fn at<'a>(&'a self, path: &'a str) -> At<'a> {
        At { path, fault: self }
    }
}

/// A fault with the name of its file, for display; see [`Fault::at`].
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    path: &'a str,
    fault: &'a Fault,
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { line, column, sent_id, kind, .. } = self.fault;
        write!(f, "{}:{line}:{column}: {kind}", self.path)?;
        match sent_id {
            Some(id) => write!(f, " (sentence {})", Quote::new(id)),
            None => Ok(()),
        }
    }
}

/// A piece of the text as quoted in a message: escaped, and cut after forty characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote(Box<str>);

impl Quote {
    const MAX_CHARS: usize = 40;

    pub(crate) fn new(text: &str) -> Self {
        let cut = text.char_indices().nth(Self::MAX_CHARS).map_or(text.len(), |(at, _)| at);
        let dots = if cut < text.len() { "..." } else { "" };
        let escaped: String = text[..cut].chars().flat_map(escape).collect();
        Quote(format!("\"{escaped}{dots}\"").into())
    }
}

/// Escapes invisible characters; letters of every script stay as they are.
fn escape(c: char) -> impl Iterator<Item = char> {
    let hidden = c.is_control() || c == '\\' || c == '"' || (c.is_whitespace() && c != ' ');
    let escaped = hidden.then(|| c.escape_default());
    let plain = (!hidden).then_some(c);
    escaped.into_iter().flatten().chain(plain)
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What is wrong. New kinds may be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named in its variant's message")]
pub enum FaultKind {
    /// Bytes that are not UTF-8.
    #[error("byte {byte} of the text is not UTF-8; convert the file to UTF-8")]
    NotUtf8 { byte: usize },
    /// A byte order mark before the first line.
    #[error(
        "found a byte order mark, expected the text to start with the first line; remove the file's first three bytes"
    )]
    ByteOrderMark,
    /// A carriage return, alone or before the line feed.
    #[error(
        "found a carriage return, expected lines to end with only a line feed; convert the line ends (dos2unix)"
    )]
    CarriageReturn,
    /// Not ten columns.
    #[error(
        "found {found} tab-separated columns, expected 10; add the missing ones as \"_\" or remove the extra tabs"
    )]
    ColumnCount { found: usize },
    /// An empty column.
    #[error("{column} is empty, expected a value; write \"_\" where there is none")]
    EmptyColumn { column: Column },
    /// A column that starts or ends with white space.
    #[error("{column} is {found}, expected no white space at its ends; remove it")]
    EdgeSpace { column: Column, found: Quote },
    /// Two consecutive white-space characters within a column.
    #[error("{column} is {found}, expected single spaces; remove the repeated white space")]
    DoubleSpace { column: Column, found: Quote },
    /// White space in a column that may not have any.
    #[error(
        "{column} is {found}, expected no white space (only FORM, LEMMA and MISC may contain it); remove it"
    )]
    Space { column: Column, found: Quote },
    /// A line that is not a row, a comment or blank.
    #[error(
        "ID is {found}, expected a word such as 3, a range such as 3-4 or an empty node such as 3.1; correct the ID, or start a comment with \"#\""
    )]
    BadId { found: Quote },
    /// A word out of order.
    #[error(
        "found word {found}, expected word {expected}; number the words 1, 2, 3... and put a blank line between sentences"
    )]
    WordOrder { found: u32, expected: u32 },
    /// A range whose end comes before its start.
    #[error("found range {first}-{last}, expected an end that is not before its start; correct the range")]
    RangeReversed { first: u32, last: u32 },
    /// A range that comes after its first word.
    #[error("found range {first}-{last} after word {word}, expected it before word {first}; move the range")]
    RangeMisplaced { first: u32, last: u32, word: u32 },
    /// A range that shares words with an earlier one.
    #[error(
        "found range {first}-{last}, which overlaps range {before_first}-{before_last}, expected ranges without common words; correct one of them"
    )]
    RangeOverlap { first: u32, last: u32, before_first: u32, before_last: u32 },
    /// White space in the FORM of a range.
    #[error(
        "{column} of a range is {found}, expected one surface token without white space; split the token or remove the white space"
    )]
    RangeSpace { column: Column, found: Quote },
    /// A range that ends past the last word.
    #[error(
        "found range {first}-{last} in a sentence of {words} words, expected all its words to exist; correct the range or add the words"
    )]
    RangeUnfinished { first: u32, last: u32, words: u32 },
    /// An empty node in the wrong place.
    #[error(
        "found empty node {major}.{minor}, expected {expected_major}.{expected_minor} here; number empty nodes after the word they follow, from 1"
    )]
    EmptyNodeOrder { major: u32, minor: u32, expected_major: u32, expected_minor: u32 },
    /// An empty node between a range and the range's first word.
    #[error(
        "found empty node {major}.{minor} after range {first}-{last}, expected it before the range; move the empty node up"
    )]
    EmptyNodeInRange { major: u32, minor: u32, first: u32, last: u32 },
    /// A comment after the first row.
    #[error(
        "found a comment after the sentence's first row, expected comments before it; move the comment, or put a blank line between sentences"
    )]
    CommentInside,
    /// Comments with no rows.
    #[error(
        "found a sentence without words, expected at least one row; add its rows or remove the blank line"
    )]
    NoWords,
    /// A blank line where a sentence should start.
    #[error("found a blank line, expected one blank line after each sentence and none elsewhere; remove it")]
    ExtraBlankLine,
    /// A line of nothing but white space.
    #[error("found a line of white space, expected an empty line; remove the white space")]
    BlankWithSpace,
    /// The text ends without a blank line.
    #[error(
        "the text ends within a sentence, expected a blank line after the last one; add a line feed at the end"
    )]
    NoFinalBlankLine,
    /// Text that is not in Unicode normal form C; only checked with `Checks::nfc`.
    #[error("found {found}, expected Unicode normal form C; normalise the text")]
    NotNfc { found: Quote },
    /// A line that is too long to be indexed.
    #[error("found a line of {bytes} bytes, expected less than 4 GiB; split the line")]
    LineTooLong { bytes: usize },
    /// A part of speech that is none of the seventeen. The kinds from here to `SpaceAfter` are only
    /// checked with `Checks::typed`.
    #[error("UPOS is {found}, expected one of the 17 universal tags such as NOUN; correct the tag")]
    Upos { found: Quote },
    /// A value on a range or an empty node that only words may have.
    #[error("{column} is {found}, expected \"_\" on a range or an empty node; move the value to a word")]
    NotForWord { column: Column, found: Quote },
    /// A feature that is not of the form `Name=Value`.
    #[error(
        "found feature {found}, expected Name=Value with capital initials, such as Number=Sing; correct the feature"
    )]
    Feature { found: Quote },
    /// Features out of order.
    #[error(
        "found feature {found} after one that sorts after it, expected features in alphabetical order; sort them"
    )]
    FeatureOrder { found: Quote },
    /// A feature that occurs twice.
    #[error("found feature {found} a second time, expected each feature once; join its values with commas")]
    FeatureRepeated { found: Quote },
    /// Values of a feature out of order.
    #[error("found feature {found}, expected its values in alphabetical order; sort them")]
    FeatureValueOrder { found: Quote },
    /// A value that occurs twice in a feature.
    #[error("found feature {found}, expected each of its values once; remove the repeated one")]
    FeatureValueRepeated { found: Quote },
    /// A head that is not a word number.
    #[error("HEAD is {found}, expected 0 or the number of a word; correct the head")]
    Head { found: Quote },
    /// A head that does not exist.
    #[error("HEAD is {found} in a sentence of {words} words, expected an existing word; correct the head")]
    HeadUnknown { found: Quote, words: usize },
    /// A word that is its own head.
    #[error("word {word} is its own HEAD, expected another word or 0; correct the head")]
    HeadSelf { word: usize },
    /// A second word with head 0.
    #[error(
        "HEAD of word {second} is 0, as is that of word {first}, expected one root; attach one of the two to another word"
    )]
    SecondRoot { first: usize, second: usize },
    /// Heads that form a cycle.
    #[error(
        "following the heads from word {word} leads into a cycle, expected a path to the root; correct one of them"
    )]
    NoPathToRoot { word: usize },
    /// An enhanced dependency that is not of the form `head:relation`.
    #[error("found {found} in DEPS, expected head:relation such as 4:nsubj or 4.1:conj:and; correct it")]
    Dependency { found: Quote },
    /// Enhanced dependencies out of order.
    #[error(
        "found {found} in DEPS after one that sorts after it, expected them ordered by head, then by relation; sort them"
    )]
    DependencyOrder { found: Quote },
    /// An enhanced dependency that occurs twice.
    #[error("found {found} a second time in DEPS, expected each once; remove it")]
    DependencyRepeated { found: Quote },
    /// An enhanced head that does not exist.
    #[error("found head {head} in DEPS, expected a word or an empty node of the sentence; correct the head")]
    DependencyUnknown { head: Id },
    /// A node that is its own enhanced head.
    #[error("{node} is its own head in DEPS, expected another node; correct the head")]
    DependencySelf { node: Id },
    /// A node that cannot be reached from the root over enhanced dependencies.
    #[error("{node} cannot be reached from the root over DEPS; correct its heads or those of its heads")]
    DependencyUnreached { node: Quote },
    /// A MISC key that occurs twice.
    #[error("found {found} a second time in MISC, expected it once; remove one of the two")]
    MiscRepeated { found: Quote },
    /// A `SpaceAfter` other than `No`.
    #[error("found {found} in MISC, expected SpaceAfter=No or nothing; correct it, or use SpacesAfter")]
    SpaceAfter { found: Quote },
    /// A row of an IOB2 layer with fewer than three columns.
    #[error(
        "found {found} tab-separated columns, expected at least number, word and tag; add the missing ones"
    )]
    Iob2Columns { found: usize },
    /// A row of an IOB2 layer out of order.
    #[error(
        "found word number {found}, expected {expected}; number the words 1, 2, 3... and put a blank line between sentences"
    )]
    Iob2Number { found: Quote, expected: usize },
    /// A row of an IOB2 layer without a word.
    #[error("the word is empty, expected some text; add it")]
    Iob2Form,
    /// A tag that has none of the three forms.
    #[error("found tag {found}, expected O, B-TYPE or I-TYPE; correct the tag")]
    Iob2Tag { found: Quote },
    /// An `I-` tag that continues no entity of its type.
    #[error(
        "found tag {found} after {before}, expected an entity of the same type before it; start the entity with B-"
    )]
    Iob2Orphan { found: Quote, before: Quote },
    /// A line of labelled sentences that does not have two columns.
    #[error(
        "found {found} tab-separated columns, expected a sentence and its label; add what is missing or remove the extra tabs"
    )]
    LabelledColumns { found: usize },
    /// An empty line among labelled sentences.
    #[error("found a blank line, expected a sentence and its label on every line; remove it")]
    LabelledBlank,
    /// A label without a sentence.
    #[error("the sentence is empty, expected some text; add it or remove the line")]
    LabelledText,
    /// A sentence without a label.
    #[error("the label is empty, expected some text; add it or remove the line")]
    LabelledLabel,
    /// A label that starts or ends with white space.
    #[error("the label is {found}, expected no white space at its ends; remove it")]
    LabelledSpace { found: Quote },
    /// A file of sentences without labels, as GLUE distributes its test splits.
    #[error("found the header of a file without labels, expected sentence and label; use a file with labels")]
    LabelledWithoutLabels,
}
