//! `frostline conllu`: checks, copies and counts CoNLL-U files, with one sentence in memory at a time.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use frostline_conllu::{Checks, Fault, FaultKind, Reader, Stats};
use serde::Serialize;

use super::readable::Readable;
use super::{Stop, is_closed_pipe, open_input, read_error, write_error};

/// Check, write back and count CoNLL-U files.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline conllu check --typed --metadata dev.conllu
    frostline conllu stats train.conllu dev.conllu test.conllu")]
pub struct Conllu {
    #[command(subcommand)]
    command: ConlluCommand,
}

#[derive(Subcommand)]
enum ConlluCommand {
    /// Find faults: prints a line `file:line:column: message` for each; exit code 1 if there are any. A line that ends with
    /// `[warning]` is about something suspect that is no fault.
    ///
    /// Makes the checks of the UD validator's level 1, except for normal form C; U+FFFD is only a warning. With `--typed --metadata --nfc` it
    /// makes those of level 2. Each file is checked on its own.
    #[command(after_help = "Examples:\n    frostline conllu check --typed --metadata --nfc dev.conllu")]
    Check {
        /// Also check the columns' values, the tree of heads and the enhanced graph.
        #[arg(long)]
        typed: bool,
        /// Also check the comments, such as sent_id and text, and that the words make up the text.
        #[arg(long)]
        metadata: bool,
        /// Also check that every line is in Unicode normal form C.
        #[arg(long)]
        nfc: bool,
        /// CoNLL-U files; `-` is standard input.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Read a file and write the same bytes to standard output. Stops at the first fault.
    #[command(after_help = "Examples:\n    frostline conllu roundtrip dev.conllu | cmp - dev.conllu")]
    Roundtrip {
        /// Continue after faults, and print them to standard error.
        #[arg(long)]
        lenient: bool,
        /// CoNLL-U file; `-` is standard input.
        file: PathBuf,
    },
    /// Count sentences, words, ranges and empty nodes, also in files with faults.
    #[command(after_help = "Examples:\n    frostline conllu stats --json train.conllu dev.conllu")]
    Stats {
        /// Print one JSON object: the sums, then the counts of each file.
        #[arg(long)]
        json: bool,
        /// CoNLL-U files; `-` is standard input.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// The counts of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileCounts {
    /// Its path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Sentences with at least one row.
    pub sentences: u64,
    /// Syntactic words.
    pub words: u64,
    /// Multiword ranges.
    pub ranges: u64,
    /// Empty nodes.
    pub empty_nodes: u64,
    /// Faults that [`check_file`] finds without options.
    pub faults: u64,
}

#[derive(Serialize)]
struct CountSums {
    #[serde(flatten)]
    sums: FileCounts,
    files: Vec<FileCounts>,
}

impl Conllu {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// [`Stop::Faults`] if `check` finds faults, [`Stop::Input`] if `roundtrip` finds one; another error if a file
    /// cannot be read or the output cannot be written.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        match self.command {
            ConlluCommand::Check { typed, metadata, nfc, files } => {
                let mut faults = 0;
                for file in &files {
                    faults += match check_file(file, Checks { typed, metadata, nfc }, out) {
                        // Only faults are printed, so there was one.
                        Err(error) if is_closed_pipe(&error) => {
                            return Err(Stop::Faults(faults.max(1)).into());
                        }
                        found => found?,
                    };
                }
                if faults > 0 { Err(Stop::Faults(faults).into()) } else { Ok(()) }
            }
            ConlluCommand::Roundtrip { lenient, file } => {
                // Standard error has no buffer of its own, and a file may have millions of faults.
                let mut errors = BufWriter::with_capacity(1 << 16, io::stderr().lock());
                write_back(&file, lenient, out, &mut errors)
            }
            ConlluCommand::Stats { json, files } => {
                let counts = files.iter().map(|file| count_file(file)).collect::<Result<Vec<_>>>()?;
                let empty = counts.iter().zip(&files).find(|(counts, _)| counts.sentences == 0);
                let empty = empty.map(|(_, file)| no_sentences(file));
                if json {
                    let sums = CountSums { sums: sum_counts(&counts), files: counts };
                    writeln!(out, "{}", serde_json::to_string(&sums)?)?;
                } else {
                    write_table(&counts, out)?;
                }
                empty.map_or(Ok(()), |empty| Err(empty.into()))
            }
        }
    }
}

/// Carriage returns at the ends of a file's lines: one fault with their number, since a file from Windows has one on
/// every line.
#[derive(Default)]
struct LineEnds {
    found: u64,
    first: Option<Fault>,
}

impl LineEnds {
    /// Takes a fault that is about the end of a line; false for any other fault.
    fn take_fault(&mut self, fault: &Fault) -> bool {
        if !matches!(fault.kind, FaultKind::CarriageReturn) {
            return false;
        }
        self.found += 1;
        self.first.get_or_insert_with(|| fault.clone());
        true
    }

    /// The line about all of them.
    fn summary_line(&self, name: &str) -> Option<String> {
        let first = self.first.as_ref()?;
        if self.found == 1 {
            return Some(first.at(name).to_string());
        }
        Some(format!(
            "{name}:{}:{}: found a carriage return at the end of {} lines, expected lines to end with only a line \
             feed; convert the line ends (dos2unix)",
            first.line, first.column, self.found
        ))
    }
}

/// The error for a file without sentences: nothing was checked or counted, which a program that reads the exit code
/// must not take for success.
fn no_sentences(file: &Path) -> Stop {
    Stop::Input(format!("{}: it has no sentences; check that it is the right file", file.display()))
}

/// Writes one line per fault and per warning, and one for all carriage returns; returns how many faults there are.
///
/// # Errors
/// If the file cannot be read or has no sentences, or `out` cannot be written.
pub fn check_file(file: &Path, checks: Checks, out: &mut dyn Write) -> Result<u64> {
    let name = file.display().to_string();
    let mut reader = Reader::new(open_input(file)?, checks);
    let (mut faults, mut sentences) = (0, 0);
    let mut line_ends = LineEnds::default();
    let mut out = Readable(out);
    while let Some(sentence) = reader.next_sentence().map_err(|error| read_error(file, &error))? {
        sentences += 1;
        for warning in sentence.warnings() {
            writeln!(out, "{} [warning]", warning.at(&name)).map_err(write_error)?;
        }
        for fault in sentence.faults() {
            if !line_ends.take_fault(fault) {
                writeln!(out, "{}", fault.at(&name)).map_err(write_error)?;
                faults += 1;
            }
        }
    }
    if let Some(shown) = line_ends.summary_line(&name) {
        writeln!(out, "{shown}").map_err(write_error)?;
        faults += 1;
    }
    if sentences == 0 {
        return Err(no_sentences(file).into());
    }
    Ok(faults)
}

/// Writes the file's bytes, sentence by sentence. With `lenient` it continues after faults and writes them to
/// `errors`, which it flushes. Once the reader of `errors` has closed it, the faults are dropped, so that the copy is
/// complete.
///
/// # Errors
/// If the file cannot be read, `out` or `errors` cannot be written, or, unless lenient, a sentence has a fault. The
/// sentences before it are written.
pub fn write_back(file: &Path, lenient: bool, out: &mut dyn Write, errors: &mut dyn Write) -> Result<()> {
    let name = file.display().to_string();
    let mut reader = Reader::new(open_input(file)?, Checks::default());
    let mut listened_to = true;
    let mut line_ends = LineEnds::default();
    let mut errors = Readable(errors);
    while let Some(sentence) = reader.next_sentence().map_err(|error| read_error(file, &error))? {
        if lenient {
            for fault in sentence.faults() {
                if !line_ends.take_fault(fault) && listened_to {
                    listened_to = is_open(writeln!(errors, "{}", fault.at(&name)))?;
                }
            }
        } else if let Some(fault) = sentence.faults().first() {
            let fault = format!("{}; `--lenient` continues after faults", fault.at(&name));
            return Err(Stop::Input(fault).into());
        }
        out.write_all(sentence.raw()).map_err(write_error)?;
    }
    if let Some(shown) = line_ends.summary_line(&name).filter(|_| listened_to) {
        listened_to = is_open(writeln!(errors, "{shown}"))?;
    }
    if listened_to {
        is_open(errors.flush())?;
    }
    Ok(())
}

/// Whether standard error still has a reader after a write to it.
fn is_open(written: io::Result<()>) -> Result<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            Err(anyhow::Error::new(error).context("standard error cannot be written, check where it goes"))
        }
    }
}

/// Counts the contents of a file, also if it has faults.
///
/// # Errors
/// If the file cannot be read.
pub fn count_file(file: &Path) -> Result<FileCounts> {
    let mut reader = Reader::new(open_input(file)?, Checks::default());
    let (mut stats, mut faults) = (Stats::default(), 0);
    let mut line_ends = LineEnds::default();
    while let Some(sentence) = reader.next_sentence().map_err(|error| read_error(file, &error))? {
        stats.add(&sentence);
        faults += sentence.faults().iter().filter(|fault| !line_ends.take_fault(fault)).count() as u64;
    }
    faults += u64::from(line_ends.found > 0);
    let Stats { sentences, words, ranges, empty_nodes } = stats;
    Ok(FileCounts { file: file.display().to_string(), sentences, words, ranges, empty_nodes, faults })
}

fn sum_counts(counts: &[FileCounts]) -> FileCounts {
    counts.iter().fold(FileCounts::default(), |sum, file| FileCounts {
        file: String::new(),
        sentences: sum.sentences + file.sentences,
        words: sum.words + file.words,
        ranges: sum.ranges + file.ranges,
        empty_nodes: sum.empty_nodes + file.empty_nodes,
        faults: sum.faults + file.faults,
    })
}

fn write_table(counts: &[FileCounts], out: &mut dyn Write) -> Result<()> {
    let mut out = Readable(out);
    writeln!(out, " sentences      words     ranges  empty nodes     faults  file")?;
    let total = (counts.len() > 1).then(|| FileCounts { file: "total".into(), ..sum_counts(counts) });
    for FileCounts { file, sentences, words, ranges, empty_nodes, faults } in counts.iter().chain(&total) {
        writeln!(out, "{sentences:>10} {words:>10} {ranges:>10} {empty_nodes:>12} {faults:>10}  {file}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file from Windows has a carriage return on every line, which is one thing to know and to do.
    #[test]
    fn carriage_returns_are_one_fault_with_their_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("windows.conllu");
        let row = |number: usize| format!("{number}\tice\t_\tNOUN\t_\t_\t_\t_\t_\t_\r\n");
        let sentence = "# sent_id = a\r\n".to_string() + &row(1) + &row(2) + "\r\n";
        std::fs::write(&file, &sentence).expect("written");
        let mut out = Vec::new();
        assert_eq!(check_file(&file, Checks::default(), &mut out).expect("read"), 1);
        assert_eq!(count_file(&file).expect("read").faults, 1);
        let shown = String::from_utf8(out).expect("text");
        let expected = "1:14: found a carriage return at the end of 4 lines, expected lines to end with only a line \
                        feed; convert the line ends (dos2unix)\n";
        assert_eq!(shown, format!("{}:{expected}", file.display()));
        // A copy holds the same bytes, and the faults are told in the same way.
        let (mut copy, mut errors) = (Vec::new(), Vec::new());
        write_back(&file, true, &mut copy, &mut errors).expect("copied");
        assert_eq!(String::from_utf8(copy).expect("text"), sentence);
        assert_eq!(String::from_utf8(errors).expect("text"), shown);
    }

    /// A released treebank has it.
    #[test]
    fn a_replacement_character_is_a_warning() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("lost.conllu");
        std::fs::write(&file, "# text = i\u{fffd}e\n1\ti\u{fffd}e\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n")
            .expect("written");
        let mut out = Vec::new();
        let all = Checks { typed: true, nfc: true, metadata: false };
        assert_eq!(check_file(&file, all, &mut out).expect("read"), 0);
        let shown = String::from_utf8(out).expect("text");
        assert_eq!(shown.lines().filter(|line| line.ends_with("[warning]")).count(), 2, "{shown}");
        assert_eq!(shown.lines().count(), 2, "{shown}");
        write_back(&file, false, &mut Vec::new(), &mut Vec::new()).expect("copied");
        assert_eq!(count_file(&file).expect("read").faults, 0);
    }

    #[test]
    fn a_file_without_sentences_is_no_success() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("empty.conllu");
        std::fs::write(&file, "").expect("written");
        let error = check_file(&file, Checks::default(), &mut Vec::new()).expect_err("nothing");
        assert!(Stop::exit_code(&error) == 1 && error.to_string().contains("no sentences"), "{error}");
        let command = ConlluCommand::Stats { json: false, files: vec![file] };
        let error = Conllu { command }.run(&mut Vec::new()).expect_err("nothing");
        assert_eq!(Stop::exit_code(&error), 1);
    }
}
