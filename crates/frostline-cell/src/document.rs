//! A dataset's file, parsed once: its text, and the positions of words, their numbers and all their labels in
//! it. A task sees a sentence as a view of these.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use frostline_conllu::{Column, Fault};
use frostline_train::TaggedSentence;

/// A file's format, which follows from the kind of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    /// CoNLL-U.
    Treebank,
    /// IOB2.
    Entities,
    /// `sentence TAB label`.
    Sentences,
}

/// A file's sentences that have words. It owns all of them, so that several cells and tasks can share it.
#[derive(Debug)]
pub(crate) struct Document {
    text: Arc<str>,
    format: DocumentFormat,
    sentences: Vec<SentenceEntry>,
    /// Form, number and labels of each word, one after the other, see [`DocumentFormat::columns`].
    cells: Vec<Span>,
}

/// A sentence as a task sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labelled<'a> {
    /// The sentence's `sent_id`, or its line number.
    pub id: Cow<'a, str>,
    /// The words' numbers; `0`, the sentence's number, if the sentence is labelled.
    pub numbers: Vec<&'a str>,
    /// The words and their labels, or the sentence's label.
    pub tagged: TaggedSentence<'a>,
}

/// Bytes of the text.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Debug)]
struct SentenceEntry {
    id: SentenceId,
    /// Places of its words in the document.
    words: Range<usize>,
    /// The sentence's label, if the file has one.
    label: Option<Span>,
}

#[derive(Debug)]
enum SentenceId {
    Named(Span),
    Line(usize),
    Missing,
}

/// The position of a task's labels.
#[derive(Clone, Copy)]
enum Labels<'a> {
    /// In a column of each word.
    Column(usize),
    /// In this feature of each word.
    Feature(&'a str),
    /// Next to the sentence.
    Sentence,
    /// In the sentence's id.
    Genre,
}

const FORM: usize = 0;
const NUMBER: usize = 1;
/// The only column of labels in IOB2.
const ENTITY: usize = 2;
const FEATS: usize = 4;

/// The columns that are kept of a treebank's word.
const TREEBANK: [Column; 6] =
    [Column::Form, Column::Id, Column::Upos, Column::Xpos, Column::Feats, Column::Deprel];

impl DocumentFormat {
    /// Returns the format of a file that has these labels.
    pub fn of(labels: &str) -> Self {
        match labels {
            "label" => Self::Sentences,
            "entity" => Self::Entities,
            _ => Self::Treebank,
        }
    }

    /// Returns how many cells a word has.
    fn columns(self) -> usize {
        match self {
            Self::Treebank => TREEBANK.len(),
            Self::Entities => 3,
            Self::Sentences => 1,
        }
    }
}

impl<'a> Labels<'a> {
    fn of(labels: &'a str) -> Self {
        match labels {
            "label" => Self::Sentence,
            "genre" => Self::Genre,
            "entity" => Self::Column(ENTITY),
            "upos" => Self::Column(2),
            "xpos" => Self::Column(3),
            "deprel" => Self::Column(5),
            feature => Self::Feature(feature.strip_prefix("feats.").unwrap_or(feature)),
        }
    }
}

impl Document {
    /// Parses a file; `path` is where it was read.
    ///
    /// # Errors
    /// The first fault, as `path:line:column: message`; a file of 4 GiB or more.
    pub fn parse(text: Arc<str>, path: &str, format: DocumentFormat) -> Result<Self> {
        ensure!(u32::try_from(text.len()).is_ok(), "{path}: a file of 4 GiB or more; split it");
        let mut document = Self { text: text.clone(), format, sentences: Vec::new(), cells: Vec::new() };
        let parsed = match format {
            DocumentFormat::Treebank => document.take_treebank(&text),
            DocumentFormat::Entities => document.take_entities(&text),
            DocumentFormat::Sentences => document.take_sentences(&text),
        };
        parsed.map_err(|fault| anyhow!("{}", fault.at(path)))?;
        Ok(document)
    }

    /// Returns how many sentences have words.
    pub fn len(&self) -> usize {
        self.sentences.len()
    }

    /// Returns the words of a sentence.
    pub fn words(&self, sentence: usize) -> Vec<&str> {
        self.rows(sentence).map(|row| self.show(row[FORM])).collect()
    }

    /// Returns a sentence's `sent_id`, or its line number; `-` if it has none.
    pub fn id(&self, sentence: usize) -> Cow<'_, str> {
        match self.sentences[sentence].id {
            SentenceId::Named(span) => self.show(span).into(),
            SentenceId::Line(line) => line.to_string().into(),
            SentenceId::Missing => "-".into(),
        }
    }

    /// Returns a sentence's genre: its `sent_id` before the first `-`.
    pub fn genre(&self, sentence: usize) -> Option<&str> {
        match self.sentences[sentence].id {
            SentenceId::Named(span) => self.show(span).split_once('-').map(|(genre, _)| genre),
            SentenceId::Line(_) | SentenceId::Missing => None,
        }
    }

    /// Returns a sentence with the labels of this name.
    ///
    /// # Panics
    /// If files of this format do not have such labels.
    pub fn labelled(&self, sentence: usize, labels: &str) -> Labelled<'_> {
        let numbers = match Labels::of(labels) {
            Labels::Column(_) | Labels::Feature(_) => {
                self.rows(sentence).map(|row| self.show(row[NUMBER])).collect()
            }
            Labels::Genre | Labels::Sentence => vec!["0"],
        };
        Labelled {
            id: self.id(sentence),
            numbers,
            tagged: TaggedSentence { words: self.words(sentence), tags: self.tags(sentence, labels) },
        }
    }

    /// Returns the labels of this name of a sentence: one for each word, or a single one.
    ///
    /// # Panics
    /// See [`Document::labelled`].
    pub fn tags(&self, sentence: usize, labels: &str) -> Vec<&str> {
        let rows = || self.rows(sentence);
        match Labels::of(labels) {
            Labels::Column(column) => rows().map(|row| self.show(row[column])).collect(),
            Labels::Feature(name) => rows().map(|row| feature_value(self.show(row[FEATS]), name)).collect(),
            Labels::Genre => vec![self.genre(sentence).unwrap_or("_")],
            Labels::Sentence => {
                let label = self.sentences[sentence].label.expect("files of this format label sentences");
                vec![self.show(label)]
            }
        }
    }

    /// Returns every sentence with the labels of this name.
    pub fn all_labelled(&self, labels: &str) -> Vec<Labelled<'_>> {
        (0..self.len()).map(|sentence| self.labelled(sentence, labels)).collect()
    }

    fn take_treebank(&mut self, text: &str) -> Result<(), Fault> {
        for sentence in frostline_conllu::parse(text) {
            let sentence = sentence?;
            let first = self.cells.len();
            for word in sentence.words() {
                let cells = TREEBANK.map(|column| word.get(column).expect("strict rows have ten columns"));
                self.cells.extend(cells.map(|cell| Span::of(text, cell)));
            }
            self.push(SentenceId::of(text, sentence.sent_id()), first, None);
        }
        Ok(())
    }

    fn take_entities(&mut self, text: &str) -> Result<(), Fault> {
        for sentence in frostline_conllu::parse_iob2(text) {
            let sentence = sentence?;
            let first = self.cells.len();
            for row in &sentence.rows {
                self.cells.extend([row.form, row.id, row.tag].map(|cell| Span::of(text, cell)));
            }
            self.push(SentenceId::of(text, sentence.sent_id()), first, None);
        }
        Ok(())
    }

    fn take_sentences(&mut self, text: &str) -> Result<(), Fault> {
        for sentence in frostline_conllu::parse_labelled(text) {
            let sentence = sentence?;
            let first = self.cells.len();
            self.cells.extend(sentence.text.split_whitespace().map(|form| Span::of(text, form)));
            self.push(SentenceId::Line(sentence.line), first, Some(Span::of(text, sentence.label)));
        }
        Ok(())
    }

    /// Ends a sentence whose cells begin at `first`; one without words is left out.
    fn push(&mut self, id: SentenceId, first: usize, label: Option<Span>) {
        let columns = self.format.columns();
        let words = first / columns..self.cells.len() / columns;
        if !words.is_empty() {
            self.sentences.push(SentenceEntry { id, words, label });
        }
    }

    /// Returns the cells of each word of a sentence.
    fn rows(&self, sentence: usize) -> impl Iterator<Item = &[Span]> {
        let (columns, words) = (self.format.columns(), &self.sentences[sentence].words);
        self.cells[words.start * columns..words.end * columns].chunks_exact(columns)
    }

    fn show(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }
}

impl Span {
    /// Returns the position of a part of a text.
    fn of(text: &str, part: &str) -> Self {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        debug_assert!(start + part.len() <= text.len(), "a part of the text");
        Self { start: start as u32, end: (start + part.len()) as u32 }
    }
}

impl SentenceId {
    fn of(text: &str, id: Option<&str>) -> Self {
        id.map_or(Self::Missing, |id| Self::Named(Span::of(text, id)))
    }
}

/// The label of a word without the feature.
pub(crate) const NO_FEATURE: &str = "none";

/// Returns the value of a feature, or that the word does not have it.
fn feature_value<'a>(feats: &'a str, name: &str) -> &'a str {
    let mut all = feats.split('|').filter_map(|one| one.split_once('='));
    all.find(|(key, _)| *key == name).map_or(NO_FEATURE, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# sent_id = news-1\n# text = He ran\n\
        1\tHe\the\tPRON\tPRP\tCase=Nom|Number=Sing\t2\tnsubj\t_\t_\n\
        2\tran\trun\tVERB\t_\t_\t0\troot\t_\t_\n\n\
        # text = Go\n1-2\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n1\tG\tg\tX\t_\t_\t2\tdep\t_\t_\n\
        2\to\to\tX\t_\t_\t0\troot\t_\t_\n\n";

    fn document(text: &str, labels: &str) -> Document {
        Document::parse(text.into(), "some/file", DocumentFormat::of(labels)).unwrap()
    }

    #[test]
    fn all_labels_of_a_treebank_are_views_of_one_document() {
        let document = document(TEXT, "upos");
        let tags = |labels: &str| document.labelled(0, labels).tagged.tags.join(" ");
        let labels = ["upos", "xpos", "deprel", "feats.Number", "genre"];
        assert_eq!(labels.map(tags), ["PRON VERB", "PRP _", "nsubj root", "Sing none", "news"]);
        let first = document.labelled(0, "upos");
        assert_eq!((&*first.id, first.numbers), ("news-1", vec!["1", "2"]));
        assert_eq!(first.tagged.words, ["He", "ran"]);
        let second = document.labelled(1, "genre");
        assert_eq!((&*second.id, second.numbers, second.tagged.tags), ("-", vec!["0"], vec!["_"]));
        assert_eq!(second.tagged.words, ["G", "o"], "the syntactic words");
    }

    #[test]
    fn entities_and_labelled_sentences_are_read_too() {
        let names = document("# sent_id = a-1\n1\tIn\tO\t-\n2\tOslo\tB-LOC\t-\n\n", "entity");
        let found = names.labelled(0, "entity");
        assert_eq!(
            (&*found.id, found.numbers, found.tagged.tags),
            ("a-1", vec!["1", "2"], vec!["O", "B-LOC"])
        );
        let moods = document("sentence\tlabel\nso  good \t1\nbad\t0\n", "label");
        let all = moods.all_labelled("label");
        assert_eq!((&*all[0].id, &all[0].tagged.words), ("2", &vec!["so", "good"]));
        assert_eq!((&*all[1].id, &all[1].numbers, &all[1].tagged.tags), ("3", &vec!["0"], &vec!["0"]));
    }

    #[test]
    fn a_fault_names_its_place() {
        let parsed = Document::parse("1\tone\n\n".into(), "some/file", DocumentFormat::Entities);
        let error = parsed.unwrap_err().to_string();
        assert!(error.starts_with("some/file:1:1: "), "{error}");
    }
}
