//! CoNLL-U and IOB2, byte-faithful: parse, check, count, write.
//!
//! This crate owns the way from text to sentences and back. It opens no file, reads no clock,
//! knows no tensor, and never changes a byte on its way through.
//!
//! ```
//! let text = "# sent_id = s1\n1\tIce\tice\tNOUN\t_\t_\t0\troot\t_\t_\n\n";
//! for sentence in frostline_conllu::parse(text) {
//!     let sentence = sentence?;
//!     assert_eq!(sentence.sent_id(), Some("s1"));
//!     assert_eq!(sentence.words().next().unwrap().form(), "Ice");
//! }
//! # Ok::<(), frostline_conllu::Fault>(())
//! ```
#![deny(unsafe_code)]

mod check;
mod cursor;
mod fault;
mod id;
mod iob2;
mod nfc;
mod read;
mod row;
mod scan;
mod sentence;
mod stats;
mod stream;
mod typed;
mod values;
mod work;
mod write;

pub use check::Checks;
pub use fault::{At, Fault, FaultKind, Quote};
pub use id::Id;
pub use iob2::{Entity, Iob2Row, Iob2Sentence, Iob2Sentences, parse_iob2};
pub use read::{Lenient, Strict, parse, parse_lenient, read_lenient, read_strict};
pub use row::{Column, Row};
pub use sentence::Sentence;
pub use stats::Stats;
pub use stream::Reader;
pub use values::{Annotation, Dependency, Feature, Upos};
pub use write::{WriteError, Writer};
