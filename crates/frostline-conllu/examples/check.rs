//! `check [--typed] [--nfc] FILE...`: one line per fault, exit code 1 where there is one.

use std::{env, fs::File, io::BufReader, process::ExitCode};

use frostline_conllu::{Checks, Reader};

fn main() -> std::io::Result<ExitCode> {
    let (mut checks, mut clean) = (Checks::default(), true);
    for arg in env::args().skip(1) {
        match arg.as_str() {
            "--typed" => checks.typed = true,
            "--nfc" => checks.nfc = true,
            path => {
                let mut reader = Reader::new(BufReader::new(File::open(path)?), checks);
                while let Some(sentence) = reader.next_sentence()? {
                    for fault in sentence.faults() {
                        clean = false;
                        println!("{}", fault.at(path));
                    }
                }
            }
        }
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
