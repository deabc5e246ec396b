//! The kinds of faults, with their places and next steps.
//!
//! Every message about a text is defined here. A message names what was found, what was expected and the next
//! step; `quote` shows pieces of the text.

use std::{fmt, sync::Arc};

use thiserror::Error;

use crate::{
    id::Id,
    quote::{CodePoints, Quote},
    row::Column,
};

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
    /// The sentence's `# sent_id`, if it has one.
    pub sent_id: Option<Arc<str>>,
    /// What is wrong.
    pub kind: FaultKind,
}

impl Fault {
    /// Returns the fault in a named file: displays as `path:line:column: message (sentence id)`.
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

impl FaultKind {
    /// Returns whether it is suspect but no fault: released treebanks have it.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        matches!(self, Self::ReplacementCharacter)
    }

    /// Returns whether the words of the sentence are uncertain: a row cannot be read, or is out of its order.
    #[must_use]
    pub const fn makes_words_uncertain(&self) -> bool {
        matches!(
            self,
            Self::NotUtf8 { .. }
                | Self::ColumnCount { .. }
                | Self::BadId { .. }
                | Self::EmptyId
                | Self::IdCharacters { .. }
                | Self::NoTabs { .. }
                | Self::NumberTooLarge { .. }
                | Self::WordOrder { .. }
                | Self::LineTooLong { .. }
        )
    }

    /// Returns whether it is about the order of the rows of a sentence, so that no row is wrong by itself.
    #[must_use]
    pub const fn is_about_order(&self) -> bool {
        matches!(
            self,
            Self::WordOrder { .. }
                | Self::RangeReversed { .. }
                | Self::RangeMisplaced { .. }
                | Self::RangeOverlap { .. }
                | Self::RangeUnfinished { .. }
                | Self::EmptyNodeOrder { .. }
                | Self::EmptyNodeInRange { .. }
        )
    }
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

/// The kind of a fault. New kinds may be added.
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
    /// A carriage return before the line feed.
    #[error(
        "found a carriage return, expected lines to end with only a line feed; convert the line ends (dos2unix)"
    )]
    CarriageReturn,
    /// A carriage return anywhere else.
    #[error(
        "found a carriage return within a line, expected lines to end with a line feed and to contain no carriage return; replace it by a line feed, or remove it"
    )]
    LoneCarriageReturn,
    /// The character that programs write in place of undecodable bytes.
    #[error(
        "found U+FFFD, the replacement of an undecodable character, expected the character itself; restore it from the source of the text"
    )]
    ReplacementCharacter,
    /// Not ten columns.
    #[error(
        "found {found} tab-separated columns, expected 10; add the missing ones as \"_\" or remove the extra tabs"
    )]
    ColumnCount { found: usize },
    /// An empty column.
    #[error("{column} is empty, expected a value; write \"_\" if there is none")]
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
    /// A row without an ID.
    #[error(
        "ID is empty, expected a word such as 3, a range such as 3-4 or an empty node such as 3.1; write the ID, or remove the tab at the start of the line"
    )]
    EmptyId,
    /// A line without tabs that is not a comment or blank.
    #[error(
        "found {found}, expected ten columns separated by tabs; put tabs between the columns, or start a comment with \"#\""
    )]
    NoTabs { found: Quote },
    /// A comment after something invisible.
    #[error("found {found} before \"#\", expected a comment to start the line; remove what is before \"#\"")]
    CommentIndented { found: Quote },
    /// An ID of digits and signs some of which only look right, or cannot be seen.
    #[error(
        "ID is {found}, which contains {characters}, expected only 0 to 9, \"-\" and \".\"; replace or remove the others"
    )]
    IdCharacters { found: Quote, characters: CodePoints },
    /// A number that does not fit in 32 bits.
    #[error("{column} is {found}, expected numbers up to 4294967295; correct the number")]
    NumberTooLarge { column: Column, found: Quote },
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
    /// A comment after the last row.
    #[error(
        "found a comment after the sentence's last row, expected comments before its first row; move the comment there, or after the blank line if it belongs to the next sentence"
    )]
    CommentAfter,
    /// Comments with no rows.
    #[error(
        "found comments without rows, expected at least one row after them; add the rows, or remove the comments and the blank line that follows them"
    )]
    NoWords,
    /// Comments with no rows if the text ends.
    #[error(
        "found comments at the end of the text, expected rows after them; remove the comments, or add the rows and a blank line"
    )]
    CommentsAtEnd,
    /// A blank line where a sentence should start.
    #[error("found a blank line, expected one blank line after each sentence and none elsewhere; remove it")]
    ExtraBlankLine,
    /// A line that contains only white space.
    #[error("found a line of white space, expected an empty line; remove the white space")]
    BlankWithSpace,
    /// White space without a line feed if the text ends.
    #[error(
        "found white space at the end of the text, expected an empty line; replace the white space by a line feed"
    )]
    FinalSpace,
    /// The text ends without a blank line, and so many line feeds are missing.
    #[error(
        "the text ends within a sentence, expected a blank line after the last one; add {} at the end",
        if *missing == 1 { "a line feed" } else { "two line feeds" }
    )]
    NoFinalBlankLine { missing: u8 },
    /// Text that is not in Unicode normal form C; only checked with `Checks::nfc`.
    #[error("found {found}, expected {expected}, its Unicode normal form C; normalise the text")]
    NotNfc { found: CodePoints, expected: CodePoints },
    /// A line that is too long to be indexed.
    #[error("found a line of {bytes} bytes, expected less than 4 GiB; split the line")]
    LineTooLong { bytes: usize },
    /// A part of speech that is not one of the seventeen. The kinds from here to `EnhancedMissing` are only
    /// checked with `Checks::typed`.
    #[error("UPOS is {found}, expected one of the 17 universal tags such as NOUN; correct the tag")]
    Upos { found: Quote },
    /// A value on a range that only words may have.
    #[error(
        "{column} of a range is {found}, expected \"_\"{}; move the value to a word of the range",
        if *column == Column::Feats { " or \"Typo=Yes\"" } else { "" }
    )]
    OnRange { column: Column, found: Quote },
    /// A head or relation on an empty node, which has only enhanced ones.
    #[error("{column} of an empty node is {found}, expected \"_\"; move the head with its relation to DEPS")]
    OnEmptyNode { column: Column, found: Quote },
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
        "HEAD of word {second} is 0, and HEAD of word {first} too, expected one root; attach one of the two to another word"
    )]
    SecondRoot { first: usize, second: usize },
    /// Heads that form a cycle.
    #[error(
        "following the heads from word {word} leads into a cycle, expected a path to the root; correct one of them"
    )]
    NoPathToRoot { word: usize },
    /// A relation that is not of the form `relation` or `relation:subtype`.
    #[error(
        "DEPREL is {found}, expected a relation in small letters a to z, such as nsubj or nsubj:pass; correct the relation"
    )]
    Relation { found: Quote },
    /// A relation that is not one of the 37.
    #[error(
        "DEPREL is {found}, expected one of the 37 universal relations such as nsubj, alone or with a subtype as in nsubj:pass; correct the relation"
    )]
    RelationUnknown { found: Quote },
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
    /// An enhanced head whose ID has leading zeros.
    #[error(
        "found head {head} in DEPS, but the ID of that node is {found}; remove the zeros at the start of the ID"
    )]
    DependencyZeros { head: Id, found: Quote },
    /// An enhanced relation that is neither one of the 37 nor `ref`.
    #[error(
        "found {found} in DEPS, expected a relation that starts with one of the 37 universal ones or is ref; correct the relation"
    )]
    DependencyRelation { found: Quote },
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
    /// `NoSpaceAfter=Yes`, which nothing reads.
    #[error("found {found} in MISC, expected SpaceAfter=No if no space follows; replace it")]
    NoSpaceAfter { found: Quote },
    /// `SpaceAfter=No` on a word of a range.
    #[error(
        "found {found} in MISC of a word of range {first}-{last}, expected it at most on the range; move it there"
    )]
    SpaceAfterInRange { found: Quote, first: u32, last: u32 },
    /// `SpaceAfter=No` on an empty node.
    #[error(
        "found {found} in MISC of an empty node, expected it only on words and ranges, which the text contains; remove it"
    )]
    SpaceAfterOnEmptyNode { found: Quote },
    /// Enhanced dependencies, if an earlier sentence has none.
    #[error(
        "found enhanced dependencies but none in the sentence of line {line}, expected them in all sentences or in none; add them there or remove them here"
    )]
    EnhancedExtra { line: usize },
    /// No enhanced dependencies, if an earlier sentence has some.
    #[error(
        "found no enhanced dependencies but some in the sentence of line {line}, expected them in all sentences or in none; add them here or remove them there"
    )]
    EnhancedMissing { line: usize },
    /// A sentence without an id. The kinds from here to `SpaceAfterBreak` are only checked with
    /// `Checks::metadata`.
    #[error(
        "found a sentence without sent_id, expected a comment \"# sent_id = ID\"; add it before the first row"
    )]
    SentIdMissing,
    /// A sentence without its text.
    #[error(
        "found a sentence without text, expected a comment \"# text = TEXT\"; add it before the first row"
    )]
    TextMissing,
    /// A `sent_id` or `parallel_id` that does not have the right form.
    #[error("found {found}, expected \"# {form}\" and nothing else on the line; correct the comment")]
    IdForm { found: Quote, form: &'static str },
    /// More than one slash in a `sent_id`.
    #[error(
        "found sent_id {found}, expected at most one slash, which marks parallel treebanks; remove the others"
    )]
    SentIdSlashes { found: Quote },
    /// An id that an earlier sentence has.
    #[error(
        "found {key} {found}, which line {line} has too, expected another for each sentence; change one of them"
    )]
    IdTaken { key: &'static str, found: Quote, line: usize },
    /// A comment that a sentence may have once.
    #[error("found a second comment {key} in a sentence, expected one; remove one of the two")]
    CommentRepeated { key: &'static str },
    /// An `alt` or `part` of a `parallel_id` that does not count on from the one before.
    #[error(
        "found parallel_id {found}, expected {expected}; number the {key} suffixes of a sentence 1, 2, 3..."
    )]
    ParallelIdSuffix { found: Quote, key: &'static str, expected: Box<str> },
    /// A `# text` without a text.
    #[error("the text of the sentence is empty, expected its words; write them after \"# text = \"")]
    TextEmpty,
    /// A `# text` that ends with white space.
    #[error("the text of the sentence ends with white space, expected none; remove it")]
    TextEdgeSpace,
    /// A form that does not match the text at its place.
    #[error("FORM is {found}, but the text continues with {text}, expected the same; correct one of them")]
    TextForm { found: Quote, text: Quote },
    /// A text that ends before the last form.
    #[error(
        "FORM is {found}, but the text has ended before it, expected the text of all words; add what is missing"
    )]
    TextShort { found: Quote },
    /// A missing space in the text after a token without SpaceAfter=No.
    #[error(
        "the text continues with {text} without a space, expected SpaceAfter=No in MISC; add it, or add the space"
    )]
    SpaceAfterMissing { text: Quote },
    /// Text after the last form.
    #[error(
        "the text continues with {text} after the last FORM, expected it to end there; add the words or shorten the text"
    )]
    TextRest { text: Quote },
    /// A new document or paragraph after `SpaceAfter=No`.
    #[error(
        "found a new document or paragraph, but the last word before it has SpaceAfter=No, expected none at a break; remove it there"
    )]
    SpaceAfterBreak,
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
    /// A tag without any of the three forms.
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
