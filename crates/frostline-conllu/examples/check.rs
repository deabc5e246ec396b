//! `check [--typed] [--metadata] [--nfc] FILE...`: one line per fault or warning, exit code 1 if there is one.

use std::{
    env,
    fs::File,
    io::{self, BufReader, BufWriter, Write as _},
    process::ExitCode,
};

use frostline_conllu::{Checks, Reader};

fn main() -> io::Result<ExitCode> {
    let (mut checks, mut clean) = (Checks::default(), true);
    let mut out = BufWriter::new(io::stdout().lock());
    for arg in env::args().skip(1) {
        match arg.as_str() {
            "--typed" => checks.typed = true,
            "--metadata" => checks.metadata = true,
            "--nfc" => checks.nfc = true,
            path => {
                let mut reader = Reader::new(BufReader::new(File::open(path)?), checks);
                while let Some(sentence) = reader.next_sentence()? {
                    for fault in sentence.warnings().iter().chain(sentence.faults()) {
                        clean = false;
                        writeln!(out, "{}", fault.at(path))?;
                    }
                }
            }
        }
    }
    out.flush()?;
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
