//! A document's sentences as one tokenizer cuts them, each aligned when it is first asked for and then kept;
//! and a task's splits with their alignments.

use std::sync::{Arc, OnceLock};

use anyhow::Result;
use frostline_align::{AlignError, Aligned, Aligner};
use frostline_record::Unit;
use frostline_train::{Dataset, Split, TaggedSentence, TrainError};
use rayon::prelude::*;

use crate::corpus::Portion;
use crate::document::{Document, Labelled};

/// Alignments of one document by one aligner.
pub(crate) struct Alignments(Vec<OnceLock<Arc<Aligned>>>);

/// A task's splits, labelled and aligned.
pub(crate) struct AlignedTask<'a> {
    pub train: AlignedSplit<'a>,
    pub dev: AlignedSplit<'a>,
    pub test: Option<AlignedSplit<'a>>,
}

/// A task's view of a split, and how its sentences are cut into subwords.
pub(crate) struct AlignedSplit<'a> {
    /// The path of the sentence's file.
    pub path: &'a str,
    /// `train`, `dev` or `test`.
    pub name: &'static str,
    pub unit: Unit,
    pub sentences: Vec<Labelled<'a>>,
    /// One per sentence.
    pub aligned: Vec<Arc<Aligned>>,
}

/// A sentence that cannot be aligned.
struct Unaligned {
    /// The sentence's position among the requested sentences.
    at: usize,
    source: AlignError,
}

impl Alignments {
    /// None yet.
    pub fn new(document: &Document) -> Self {
        Self((0..document.len()).map(|_| OnceLock::new()).collect())
    }

    /// Returns the alignments of some sentences of the document, computed in parallel; existing alignments are
    /// reused.
    fn of(&self, portion: &Portion, aligner: &Aligner) -> Result<Vec<Arc<Aligned>>, Unaligned> {
        let document = &portion.file.document;
        let align = |&sentence: &u32| {
            let (sentence, place) = (sentence as usize, &self.0[sentence as usize]);
            if let Some(known) = place.get() {
                return Ok(known.clone());
            }
            let aligned = aligner.align(&document.words(sentence))?;
            Ok(place.get_or_init(|| Arc::new(aligned)).clone())
        };
        let found: Vec<Result<_, AlignError>> = portion.sentences.par_iter().map(align).collect();
        let numbered = found.into_iter().enumerate();
        numbered.map(|(at, aligned)| aligned.map_err(|source| Unaligned { at, source })).collect()
    }

    /// Returns how many sentences are aligned.
    #[cfg(test)]
    pub fn known(&self) -> usize {
        self.0.iter().filter(|place| place.get().is_some()).count()
    }
}

impl<'a> AlignedSplit<'a> {
    /// Returns a portion with the labels of this name; `alignments` are its document's.
    ///
    /// # Errors
    /// Names the file and the sentence that cannot be aligned.
    pub fn new(
        (name, portion): (&'static str, &'a Portion),
        (labels, unit): (&str, Unit),
        alignments: &Alignments,
        aligner: &Aligner,
    ) -> Result<Self> {
        let split = Self {
            path: &portion.file.path,
            name,
            unit,
            sentences: portion.labelled(labels),
            aligned: Vec::new(),
        };
        match alignments.of(portion, aligner) {
            Ok(aligned) => Ok(Self { aligned, ..split }),
            Err(Unaligned { at, source }) => {
                Err(split.placed(TrainError::Align { split: name.into(), number: at + 1, source }))
            }
        }
    }

    /// Returns the split as examples.
    ///
    /// # Errors
    /// Names the file and the sentence that has no subword, or the split if there is no sentence.
    pub fn dataset(&self, tags: &[String]) -> Result<Dataset> {
        let tagged: Vec<TaggedSentence<'_>> =
            self.sentences.iter().map(|sentence| sentence.tagged.clone()).collect();
        let split = Split { name: self.name, sentences: &tagged, unit: self.unit };
        Dataset::from_aligned(&split, &self.aligned, tags).map_err(|error| self.placed(error))
    }

    /// Adds the file and the sentence's id to an error. The sentence's number among the chosen ones does not
    /// show its place in the file.
    fn placed(&self, error: TrainError) -> anyhow::Error {
        let number = match error {
            TrainError::Align { number, .. } | TrainError::NoSubword { number, .. } => Some(number),
            _ => None,
        };
        let error = anyhow::Error::from(error);
        let error = match number {
            Some(number) => {
                error.context(format!("the sentence with the id `{}`", self.sentences[number - 1].id))
            }
            None => error,
        };
        error.context(self.path.to_string())
    }
}
