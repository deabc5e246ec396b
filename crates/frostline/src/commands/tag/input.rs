//! The input as sentences, a bounded batch at a time, and never waiting with some in hand.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Result;
use frostline_conllu::{Checks, Fault, FaultKind, OwnedSentence, Reader, Sentence, TokenRow};

use super::text::{self, TextSentence};
use super::{Format, Sentences, Words};
use crate::commands::{Stop, open, unreadable};

/// Words that are tagged together; a longer sentence is one batch.
const BATCH_WORDS: usize = 8192;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 18;

/// A sentence of the input.
pub(super) enum Item {
    Treebank(OwnedSentence),
    Text(TextSentence),
}

/// A sentence to look at.
pub(super) enum View<'a> {
    Treebank(Sentence<'a>),
    Text(&'a TextSentence),
}

impl Item {
    pub(super) fn view(&self) -> View<'_> {
        match self {
            Self::Treebank(sentence) => View::Treebank(sentence.view()),
            Self::Text(sentence) => View::Text(sentence),
        }
    }

    /// How many words it has.
    fn words(&self) -> usize {
        match self {
            Self::Treebank(sentence) => sentence.view().words().count(),
            Self::Text(sentence) => sentence.words.len(),
        }
    }
}

impl<'a> View<'a> {
    /// What there is to tag.
    pub(super) fn words(&self) -> Vec<&'a str> {
        match self {
            Self::Treebank(sentence) => sentence.words().map(TokenRow::form).collect(),
            Self::Text(sentence) => sentence.words.iter().map(|word| &sentence.text[word.clone()]).collect(),
        }
    }
}

/// An opened input.
pub(super) struct Input {
    path: PathBuf,
    /// Whether sentences are in hand, so that nobody may wait for more.
    in_hand: Rc<Cell<bool>>,
    source: Source,
    /// What stopped the reading, kept until the sentences before it are tagged.
    stopped: Option<anyhow::Error>,
}

enum Source {
    Treebank { reader: Reader<Patient>, faults: u64, first: Option<Fault> },
    Text(Lines),
}

/// Lines of text.
struct Lines {
    input: Patient,
    how: (Sentences, Words),
    /// What was read of a line that has not ended yet.
    begun: Vec<u8>,
    /// Lines that ended.
    number: usize,
    /// The rest of the last line's sentences.
    ready: VecDeque<TextSentence>,
    /// Whether nobody said that this is text, and no line has shown it yet.
    in_doubt: bool,
}

impl Input {
    /// Without a format, that of the file's name. What then turns out to be CoNLL-U is refused.
    pub(super) fn open(path: &Path, format: Option<Format>, how: (Sentences, Words)) -> Result<Self> {
        let in_hand = Rc::new(Cell::new(false));
        let input = Patient { input: BufReader::with_capacity(CHUNK, open(path)?), in_hand: in_hand.clone() };
        let source = match format.unwrap_or_else(|| Format::of(path)) {
            Format::Conllu => {
                let reader = Reader::new(input, Checks::default());
                Source::Treebank { reader, faults: 0, first: None }
            }
            Format::Text => {
                let (begun, ready, in_doubt) = (Vec::new(), VecDeque::new(), format.is_none());
                Source::Text(Lines { input, how, begun, number: 0, ready, in_doubt })
            }
        };
        Ok(Self { path: path.to_path_buf(), in_hand, source, stopped: None })
    }

    /// Sentences, as many as came without waiting and fit; none at the end.
    pub(super) fn batch(&mut self) -> Result<Vec<Item>> {
        let (mut items, mut size) = (Vec::new(), 0);
        self.in_hand.set(false);
        while size < BATCH_WORDS && self.stopped.is_none() {
            match self.next() {
                Ok(Some(item)) => {
                    // One more than its words, since a sentence without any takes room, too.
                    size += 1 + item.words();
                    items.push(item);
                    self.in_hand.set(true);
                }
                Ok(None) => break,
                Err(Halt::Wait) if self.in_hand.get() => break,
                Err(Halt::Wait) => self.stopped = Some(self.unreadable(&ErrorKind::WouldBlock.into())),
                Err(Halt::Io(error)) => self.stopped = Some(self.unreadable(&error)),
                Err(Halt::Stop(stop)) => self.stopped = Some(stop.into()),
            }
        }
        match self.stopped.take_if(|_| items.is_empty()) {
            Some(error) => Err(error),
            None => Ok(items),
        }
    }

    fn next(&mut self) -> Result<Option<Item>, Halt> {
        match &mut self.source {
            Source::Treebank { reader, faults, first } => treebank(reader, &self.path, faults, first),
            Source::Text(lines) => lines.next(&self.path),
        }
    }

    fn unreadable(&self, error: &io::Error) -> anyhow::Error {
        unreadable(&self.path, error)
    }

    /// Where a sentence stands.
    pub(super) fn place(&self, item: &Item) -> String {
        let name = self.path.display();
        match item {
            Item::Treebank(sentence) => format!("{name}:{}", sentence.view().line()),
            Item::Text(sentence) => {
                format!("{name}:{}", sentence.id.split('.').next().unwrap_or_default())
            }
        }
    }

    /// Says how many faults were left as they were.
    pub(super) fn farewell(&self) {
        let Source::Treebank { faults, first: Some(first), .. } = &self.source else { return };
        let name = self.path.display().to_string();
        eprintln!(
            "{}\n{name}: {faults} faults left as they were; `frostline conllu check` lists them",
            first.at(&name)
        );
    }
}

/// Why there is no next sentence yet.
enum Halt {
    /// More would have to be waited for.
    Wait,
    Io(io::Error),
    Stop(Stop),
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::WouldBlock { Self::Wait } else { Self::Io(error) }
    }
}

/// The next sentence of a treebank. Faults that leave its words in doubt stop the reading.
fn treebank(
    reader: &mut Reader<Patient>,
    path: &Path,
    faults: &mut u64,
    first: &mut Option<Fault>,
) -> Result<Option<Item>, Halt> {
    let Some(sentence) = reader.next_sentence()? else { return Ok(None) };
    let grave = |fault: &&Fault| {
        matches!(
            fault.kind,
            FaultKind::NotUtf8 { .. }
                | FaultKind::ColumnCount { .. }
                | FaultKind::BadId { .. }
                | FaultKind::WordOrder { .. }
                | FaultKind::LineTooLong { .. }
        )
    };
    if let Some(fault) = sentence.faults().iter().find(grave) {
        return Err(Halt::Stop(Stop::Input(fault.at(&path.display().to_string()).to_string())));
    }
    *faults += sentence.faults().len() as u64;
    if first.is_none() {
        *first = sentence.faults().first().cloned();
    }
    Ok(Some(Item::Treebank(sentence.detach())))
}

impl Lines {
    fn next(&mut self, path: &Path) -> Result<Option<Item>, Halt> {
        loop {
            if let Some(sentence) = self.ready.pop_front() {
                return Ok(Some(Item::Text(sentence)));
            }
            // What was read before a wait stays in `begun`.
            self.input.read_until(b'\n', &mut self.begun)?;
            if self.begun.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            self.doubt(path)?;
            let line = std::str::from_utf8(&self.begun).map_err(|error| {
                let (name, number, byte) = (path.display(), self.number, error.valid_up_to());
                Halt::Stop(Stop::Input(format!(
                    "{name}:{number}: byte {byte} of the line is not UTF-8; convert the file to UTF-8"
                )))
            })?;
            // A byte order mark.
            let line = line.strip_prefix('\u{feff}').filter(|_| self.number == 1).unwrap_or(line);
            self.ready.extend(text::sentences(line, self.number, self.how));
            self.begun.clear();
        }
    }

    /// Refuses CoNLL-U that nobody called so: as text, its numbers and columns would be tagged.
    fn doubt(&mut self, path: &Path) -> Result<(), Halt> {
        if !self.in_doubt {
            return Ok(());
        }
        let mut row = is_first_row(&self.begun);
        self.in_doubt = row.is_none();
        if self.number == 1 {
            // What came together with comments decides before they are tagged; nobody waits for more.
            row = row.or_else(|| is_first_row(self.input.input.buffer()));
        }
        if row == Some(true) {
            return Err(Halt::Stop(Stop::Arguments(format!(
                "{}: its first line that is no comment has ten columns, as CoNLL-U has, but would be read \
                 as text; say --format conllu, or --format text where it is text",
                path.display()
            ))));
        }
        Ok(())
    }
}

/// Whether the first line that is neither blank nor a comment is a row of CoNLL-U; nothing where there
/// is no such line.
fn is_first_row(lines: &[u8]) -> Option<bool> {
    let lines = lines.strip_prefix("\u{feff}".as_bytes()).unwrap_or(lines);
    let mut lines = lines.split(|byte| *byte == b'\n');
    let line = lines.find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))?;
    Some(line.iter().filter(|byte| **byte == b'\t').count() == 9)
}

/// A buffered input that says [`ErrorKind::WouldBlock`] in place of reading more while sentences are
/// in hand: they are answered first.
struct Patient {
    input: BufReader<Box<dyn BufRead>>,
    in_hand: Rc<Cell<bool>>,
}

impl Read for Patient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let from = self.fill_buf()?;
        let length = from.len().min(into.len());
        into[..length].copy_from_slice(&from[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Patient {
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
    use super::*;

    /// The sizes of all batches of a file, in sentences and words, and how the reading ended.
    fn batches(name: &str, text: &[u8], format: Option<Format>) -> (Vec<[usize; 2]>, Result<()>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut input = Input::open(&path, format, (Sentences::Unicode, Words::Unicode)).unwrap();
        let mut sizes = Vec::new();
        loop {
            match input.batch() {
                Err(error) => return (sizes, Err(error)),
                Ok(items) if items.is_empty() => return (sizes, Ok(())),
                Ok(items) => sizes.push([items.len(), items.iter().map(Item::words).sum()]),
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
            let (sizes, end) = batches(name, text.as_bytes(), None);
            end.unwrap();
            assert!(sizes.iter().all(|[sentences, words]| sentences + words <= BATCH_WORDS + 51), "{name}");
            let sum = sizes.iter().fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
            assert_eq!(sum, [sentences, words], "{name}");
        }
    }

    #[test]
    fn what_comes_before_a_fault_comes_out() {
        let (sizes, end) = batches("a.txt", b"Ice melts.\nSnow falls.\n\xff\nRain.\n", None);
        assert_eq!(sizes, [[2, 6]]);
        assert!(
            end.unwrap_err()
                .to_string()
                .ends_with("a.txt:3: byte 0 of the line is not UTF-8; convert the file to UTF-8")
        );
    }

    #[test]
    fn a_treebank_that_nobody_called_so_is_refused() {
        let row = "1\tice\t_\t_\t_\t_\t_\t_\t_\t_\n";
        let treebank = format!("\u{feff}# sent_id = 1\n \r\n# text = ice\n{row}\n");
        for name in ["a.txt", "a.tsv", "conllu"] {
            let (sizes, end) = batches(name, treebank.as_bytes(), None);
            let error = end.unwrap_err();
            assert!(sizes.is_empty() && Stop::exit_code(&error) == 2, "{sizes:?}, {error}");
            assert!(error.to_string().contains("--format conllu"), "{error}");
        }
        // Where it is called text, starts as text, or has the name of a treebank.
        for (name, text, format) in [
            ("a.txt", treebank, Some(Format::Text)),
            ("a.txt", format!("# a\nice\tmelts\n{row}"), None),
            ("A.CONLLU", format!("{row}\n"), None),
        ] {
            let (sizes, end) = batches(name, text.as_bytes(), format);
            assert!(end.is_ok() && sizes.len() == 1, "{name}: {sizes:?}, {end:?}");
        }
        // Comments alone decide nothing.
        assert_eq!(is_first_row(b"# a\n\n# b"), None);
        assert_eq!(is_first_row(b"# a\nice\n"), Some(false));
    }
}
