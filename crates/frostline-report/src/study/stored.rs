//! What the files of predictions hold, read once for all topics.

use frostline_record::{Cell, StoredFile};

use crate::study::cells::CellView;
use crate::study::predictions::SentencePredictions;
use crate::study::right::StageWords;
use crate::study::tagged::Tagged;

/// Gives the text of a cell's file, or nothing where it is not there.
pub(crate) type ReadFile<'a> = Box<dyn FnMut(&Cell, &StoredFile) -> Option<String> + 'a>;

/// Predictions, and the way to further files.
#[derive(Default)]
pub(crate) struct Stored<'a> {
    read: Option<ReadFile<'a>>,
    /// Of tasks that label sentences, as counts.
    pub sentences: SentencePredictions,
    /// Of the headline where it labels words.
    pub words: Tagged,
    /// Of tasks that label words, after every stage but the headline at its end.
    pub by_stage: StageWords,
    /// Files that were left out, each with why.
    pub left_out: Vec<String>,
}

impl<'a> Stored<'a> {
    /// Reads the predictions of all cells, one file at a time; no text is kept.
    pub fn read(cells: &[CellView], mut read: ReadFile<'a>) -> Self {
        let mut sentences = SentencePredictions::read(cells, &mut read);
        let mut words = Tagged::read(cells, &mut read);
        let mut by_stage = StageWords::read(cells, &mut read);
        let mut left_out = std::mem::take(&mut sentences.left_out);
        left_out.append(&mut words.left_out);
        left_out.append(&mut by_stage.left_out);
        Self { read: Some(read), sentences, words, by_stage, left_out }
    }

    /// Whether the caller can give files at all.
    pub const fn can_read(&self) -> bool {
        self.read.is_some()
    }

    /// The text of a cell's file, for a topic that needs more than the predictions above.
    pub fn text(&mut self, cell: &Cell, file: &StoredFile) -> Option<String> {
        self.read.as_mut().and_then(|read| read(cell, file))
    }
}
