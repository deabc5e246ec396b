#![doc = include_str!("../README.md")]
//!
//! This crate converts text to sentences and back, and reports everything that is wrong with the
//! text. It opens no files, reads no clock, and changes no byte it was not asked to change.
#![deny(unsafe_code)]

mod bytes_examined;
mod check;
mod cursor;
mod earlier_sentences;
mod fault;
mod foreign;
pub mod grammar;
mod id;
mod iob2;
mod labelled;
mod metadata;
mod nfc;
mod owned;
mod quote;
mod read;
mod row;
mod scan;
mod sentence;
mod stats;
mod stream;
mod text;
mod value_checks;
mod values;
mod write;

pub use check::Checks;
pub use fault::{At, Fault, FaultKind};
pub use foreign::{Foreign, foreign};
pub use id::Id;
pub use iob2::{Entity, Iob2Row, Iob2Sentence, Iob2Sentences, parse_iob2};
pub use labelled::{LabelledSentence, LabelledSentences, parse_labelled};
pub use owned::OwnedSentence;
pub use quote::{CodePoints, Quote};
pub use read::{Lenient, Strict, parse, parse_lenient, read_lenient, read_strict};
pub use row::{Column, TokenRow};
pub use sentence::Sentence;
pub use stats::Stats;
pub use stream::Reader;
pub use text::{SentenceSplit, TextLine, TextPart, TextSplit, WordSplit};
pub use values::{Annotation, Dependency, Feature, Upos, with_annotation, with_feature};
pub use write::{WriteError, Writer};
