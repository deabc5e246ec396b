//! Reads the input as bounded batches of sentences. It never waits for more input while it holds sentences that
//! have not been tagged.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::mem::take;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Result;
use frostline_conllu::{
    Checks, Fault, OwnedSentence, Reader, Sentence, TextLine, TextPart, TextSplit, TokenRow,
};
use frostline_sweep::note;
use frostline_tagger::Part;

use super::TagFormat;
use super::unspaced::Unspaced;
use crate::commands::{Stop, open_input, read_error};

/// The most words in a batch; a longer sentence is a batch by itself.
const BATCH_WORDS: usize = 8192;

/// The size of the read buffer in bytes.
const CHUNK: usize = 1 << 18;

/// A sentence of the input, or of text a part of a long one.
pub(super) enum InputItem {
    Treebank(OwnedSentence),
    Text(TextPart),
}

/// A borrowed [`InputItem`].
pub(super) enum ItemView<'a> {
    Treebank(Sentence<'a>),
    Text(&'a TextPart),
}

impl InputItem {
    pub(super) fn item_view(&self) -> ItemView<'_> {
        match self {
            Self::Treebank(sentence) => ItemView::Treebank(sentence.view()),
            Self::Text(sentence) => ItemView::Text(sentence),
        }
    }

    /// The number of words.
    fn word_count(&self) -> usize {
        match self {
            Self::Treebank(sentence) => sentence.view().words().count(),
            Self::Text(part) => part.words().len(),
        }
    }
}

impl<'a> ItemView<'a> {
    /// The words to tag, with their context.
    pub(super) fn tagged_part(&self) -> Part<'a> {
        match self {
            Self::Treebank(sentence) => {
                let words: Vec<&str> = sentence.words().map(TokenRow::form).collect();
                Part { own: 0..words.len(), words }
            }
            Self::Text(part) => Part { words: part.words().collect(), own: part.own() },
        }
    }

    /// Whether it ends its sentence.
    pub(super) fn is_last(&self) -> bool {
        match self {
            Self::Treebank(_) => true,
            Self::Text(part) => part.is_last(),
        }
    }
}

/// An opened input.
pub(super) struct TagInput {
    path: PathBuf,
    /// Whether the current batch has sentences; then reading must not wait for more.
    in_hand: Rc<Cell<bool>>,
    source: InputSource,
    /// The error that stopped the reading, kept until the sentences before it are tagged.
    stopped: Option<anyhow::Error>,
}

enum InputSource {
    Treebank { reader: Box<Reader<NonWaiting>>, faults: u64, first: Option<Fault> },
    Text(InputLines),
}

/// Lines of text.
struct InputLines {
    input: NonWaiting,
    split: TextSplit,
    /// The part of an incomplete line that was read so far.
    begun: Vec<u8>,
    /// The number of complete lines so far.
    number: usize,
    /// What remains of the last line.
    line: Option<TextLine>,
    unspaced: Unspaced,
    /// Whether the format was neither given nor found from the lines read so far.
    format_unknown: bool,
}

impl TagInput {
    /// Opens a file. Without `format`, the file's name decides; CoNLL-U that is then read as text is an error.
    pub(super) fn open_file(path: &Path, format: Option<TagFormat>, split: TextSplit) -> Result<Self> {
        let in_hand = Rc::new(Cell::new(false));
        let input = NonWaiting {
            input: BufReader::with_capacity(CHUNK, open_input(path)?),
            in_hand: in_hand.clone(),
        };
        let source = match format.unwrap_or_else(|| TagFormat::from_file_name(path)) {
            TagFormat::Conllu => {
                let reader = Box::new(Reader::new(input, Checks::default()));
                InputSource::Treebank { reader, faults: 0, first: None }
            }
            TagFormat::Text => InputSource::Text(InputLines {
                input,
                split,
                begun: Vec::new(),
                number: 0,
                line: None,
                unspaced: Unspaced::new(split.words),
                format_unknown: format.is_none(),
            }),
        };
        Ok(Self { path: path.to_path_buf(), in_hand, source, stopped: None })
    }

    /// The next batch: all sentences that can be read without waiting, up to the limit. Empty at the end of the
    /// input.
    pub(super) fn next_batch(&mut self) -> Result<Vec<InputItem>> {
        let (mut items, mut size) = (Vec::new(), 0);
        self.in_hand.set(false);
        while size < BATCH_WORDS && self.stopped.is_none() {
            match self.next() {
                Ok(Some(item)) => {
                    // One is added, since a sentence without words takes memory too.
                    size += 1 + item.word_count();
                    items.push(item);
                    self.in_hand.set(true);
                }
                Ok(None) => break,
                Err(Halt::Wait) if self.in_hand.get() => break,
                Err(Halt::Wait) => self.stopped = Some(self.read_error(&ErrorKind::WouldBlock.into())),
                Err(Halt::Io(error)) => self.stopped = Some(self.read_error(&error)),
                Err(Halt::Stop(stop)) => self.stopped = Some(stop.into()),
            }
        }
        match self.stopped.take_if(|_| items.is_empty()) {
            Some(error) => Err(error),
            None => Ok(items),
        }
    }

    fn next(&mut self) -> Result<Option<InputItem>, Halt> {
        match &mut self.source {
            InputSource::Treebank { reader, faults, first } => {
                next_sentence(reader, &self.path, faults, first)
            }
            InputSource::Text(lines) => lines.next(&self.path),
        }
    }

    fn read_error(&self, error: &io::Error) -> anyhow::Error {
        read_error(&self.path, error)
    }

    /// The location of a sentence, as `file:line`.
    pub(super) fn sentence_location(&self, item: &InputItem) -> String {
        let name = self.path.display();
        match item {
            InputItem::Treebank(sentence) => format!("{name}:{}", sentence.view().line()),
            InputItem::Text(part) => format!("{name}:{}", part.line()),
        }
    }

    /// Prints the number of faults that were left in the output, and the first of them.
    pub(super) fn print_faults(&self) {
        let InputSource::Treebank { faults, first: Some(first), .. } = &self.source else { return };
        let name = self.path.display().to_string();
        note!(
            "{}\n{name}: {} left as they were; `frostline conllu check` lists them",
            first.at(&name),
            frostline_sweep::units::count_noun(*faults as usize, "fault")
        );
    }
}

/// Why there is no next sentence yet.
enum Halt {
    /// Reading on would mean waiting.
    Wait,
    Io(io::Error),
    Stop(Stop),
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::WouldBlock { Self::Wait } else { Self::Io(error) }
    }
}

/// The next sentence of a treebank. A fault that makes its words uncertain stops the reading.
fn next_sentence(
    reader: &mut Reader<NonWaiting>,
    path: &Path,
    faults: &mut u64,
    first: &mut Option<Fault>,
) -> Result<Option<InputItem>, Halt> {
    let Some(sentence) = reader.next_sentence()? else { return Ok(None) };
    let grave = |fault: &&Fault| fault.kind.makes_words_uncertain();
    if let Some(fault) = sentence.faults().iter().find(grave) {
        return Err(Halt::Stop(Stop::Input(fault.at(&path.display().to_string()).to_string())));
    }
    *faults += sentence.faults().len() as u64;
    if first.is_none() {
        *first = sentence.faults().first().cloned();
    }
    Ok(Some(InputItem::Treebank(sentence.detach())))
}

impl InputLines {
    fn next(&mut self, path: &Path) -> Result<Option<InputItem>, Halt> {
        loop {
            if let Some(part) = self.line.as_mut().and_then(Iterator::next) {
                self.unspaced.warn_once(path, &part);
                return Ok(Some(InputItem::Text(part)));
            }
            self.line = None;
            // What was read before a wait stays in `begun`.
            self.input.read_until(b'\n', &mut self.begun)?;
            if self.begun.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            self.check_format(path)?;
            let mut line = String::from_utf8(take(&mut self.begun)).map_err(|error| {
                let (name, number, byte) = (path.display(), self.number, error.utf8_error().valid_up_to());
                Halt::Stop(Stop::Input(format!(
                    "{name}:{number}: byte {byte} of the line is not UTF-8; convert the file to UTF-8"
                )))
            })?;
            if self.number == 1 && line.starts_with('\u{feff}') {
                // A byte order mark.
                line.drain(..'\u{feff}'.len_utf8());
            }
            self.line = Some(TextLine::new(line, self.number, self.split));
        }
    }

    /// Returns an error if the input looks like CoNLL-U but is read as text without `--format`: its numbers and
    /// columns would be tagged as words.
    fn check_format(&mut self, path: &Path) -> Result<(), Halt> {
        if !self.format_unknown {
            return Ok(());
        }
        let mut row = is_first_row(&self.begun);
        self.format_unknown = row.is_none();
        if self.number == 1 {
            // Lines that arrived together with leading comments decide before the comments are tagged, but
            // reading does not wait for more.
            row = row.or_else(|| is_first_row(self.input.input.buffer()));
        }
        if row == Some(true) {
            return Err(Halt::Stop(Stop::Arguments(format!(
                "{}: its first line that is not a comment has ten columns, as in CoNLL-U, but would be read \
                 as text; say --format conllu, or --format text if it is text",
                path.display()
            ))));
        }
        Ok(())
    }
}

/// Whether the first line that is neither blank nor a comment is a row of CoNLL-U; `None` if there is no such
/// line.
fn is_first_row(lines: &[u8]) -> Option<bool> {
    let lines = lines.strip_prefix("\u{feff}".as_bytes()).unwrap_or(lines);
    let mut lines = lines.split(|byte| *byte == b'\n');
    let line = lines.find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))?;
    Some(line.iter().filter(|byte| **byte == b'\t').count() == 9)
}

/// A buffered input that returns [`ErrorKind::WouldBlock`] instead of reading more while the current batch has
/// sentences, so that these are tagged first.
struct NonWaiting {
    input: BufReader<Box<dyn BufRead>>,
    in_hand: Rc<Cell<bool>>,
}

impl Read for NonWaiting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let from = self.fill_buf()?;
        let length = from.len().min(into.len());
        into[..length].copy_from_slice(&from[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for NonWaiting {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.input.buffer().is_empty() && self.in_hand.get() {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.input.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use frostline_conllu::{SentenceSplit, WordSplit};

    use super::*;

    const SPLIT: TextSplit = TextSplit {
        sentences: SentenceSplit::Unicode,
        words: WordSplit::Unicode,
        part: BATCH_WORDS,
        context: 0,
    };

    /// The sizes of all batches of a file, in sentences and words, and how the reading ended.
    fn batch_sizes(name: &str, text: &[u8], format: Option<TagFormat>) -> (Vec<[usize; 2]>, Result<()>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut input = TagInput::open_file(&path, format, SPLIT).unwrap();
        let mut sizes = Vec::new();
        loop {
            match input.next_batch() {
                Err(error) => return (sizes, Err(error)),
                Ok(items) if items.is_empty() => return (sizes, Ok(())),
                Ok(items) => sizes.push([items.len(), items.iter().map(InputItem::word_count).sum()]),
            }
        }
    }

    #[test]
    fn batches_are_bounded_and_lose_nothing() {
        let rows: String = (1..=50).map(|id| format!("{id}\tice\t_\t_\t_\t_\t_\t_\t_\t_\n")).collect();
        let cases = [
            ("a.conllu", format!("{rows}\n").repeat(2000), [2000, 100_000]),
            ("a.txt", "Ice melts in the sun. Snow, too.\n".repeat(20_000), [40_000, 200_000]),
            ("blank.txt", "\n".repeat(100_000), [0, 0]),
            ("comments.conllu", "# a\n\n".repeat(100_000), [100_000, 0]),
        ];
        for (name, text, [sentences, words]) in cases {
            let (sizes, end) = batch_sizes(name, text.as_bytes(), None);
            end.unwrap();
            assert!(sizes.iter().all(|[sentences, words]| sentences + words <= BATCH_WORDS + 51), "{name}");
            let sum = sizes.iter().fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
            assert_eq!(sum, [sentences, words], "{name}");
        }
    }

    #[test]
    fn sentences_before_a_fault_are_returned() {
        let (sizes, end) = batch_sizes("a.txt", b"Ice melts.\nSnow falls.\n\xff\nRain.\n", None);
        assert_eq!(sizes, [[2, 6]]);
        assert!(
            end.unwrap_err()
                .to_string()
                .ends_with("a.txt:3: byte 0 of the line is not UTF-8; convert the file to UTF-8")
        );
    }

    #[test]
    fn an_undeclared_treebank_is_an_error() {
        let row = "1\tice\t_\t_\t_\t_\t_\t_\t_\t_\n";
        let treebank = format!("\u{feff}# sent_id = 1\n \r\n# text = ice\n{row}\n");
        for name in ["a.txt", "a.tsv", "conllu"] {
            let (sizes, end) = batch_sizes(name, treebank.as_bytes(), None);
            let error = end.unwrap_err();
            assert!(sizes.is_empty() && Stop::exit_code(&error) == 2, "{sizes:?}, {error}");
            assert!(error.to_string().contains("--format conllu"), "{error}");
        }
        // Declared as text, starting as text, or with the file name of a treebank.
        for (name, text, format) in [
            ("a.txt", treebank, Some(TagFormat::Text)),
            ("a.txt", format!("# a\nice\tmelts\n{row}"), None),
            ("A.CONLLU", format!("{row}\n"), None),
        ] {
            let (sizes, end) = batch_sizes(name, text.as_bytes(), format);
            assert!(end.is_ok() && sizes.len() == 1, "{name}: {sizes:?}, {end:?}");
        }
        // Comments alone do not decide.
        assert_eq!(is_first_row(b"# a\n\n# b"), None);
        assert_eq!(is_first_row(b"# a\nice\n"), Some(false));
    }
}
