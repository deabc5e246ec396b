//! What the files of predictions hold, read once for all topics.

use frostline_record::{Cell, StoredFile, Unit};

use crate::study::cells::CellView;
use crate::study::prediction_file::{PredictionFile, prediction_files};
use crate::study::predictions::SentencePredictions;
use crate::study::right::StageWords;
use crate::study::tagged::Tagged;

/// Gives the text of a cell's file, or nothing if it is not there.
pub(crate) type ReadFile<'a> = Box<dyn FnMut(&Cell, &StoredFile) -> Option<String> + 'a>;

/// Predictions, and the way to further files.
#[derive(Default)]
pub(crate) struct StoredPredictions<'a> {
    read: Option<ReadFile<'a>>,
    /// Predictions of tasks that label sentences, as counts.
    pub sentences: SentencePredictions,
    /// Predictions of the headline at its end, if it labels words.
    pub words: Tagged,
    /// Predictions of all other tasks and stages that label words.
    pub by_stage: StageWords,
    /// Files that were left out, each with why.
    pub left_out: Vec<String>,
}

impl<'a> StoredPredictions<'a> {
    /// Reads the predictions of all cells, one file at a time; no text is kept.
    pub fn read(cells: &[CellView], mut read: ReadFile<'a>) -> Self {
        let mut stored = Self::default();
        for file in prediction_files(cells) {
            let added = file.text(&mut read).and_then(|text| stored.add(&file, &text));
            if let Err(why) = added {
                stored.left_out.push(format!("{}: {why}", file.path()));
            }
        }
        Self { read: Some(read), ..stored }
    }

    fn add(&mut self, file: &PredictionFile<'_>, text: &str) -> Result<(), String> {
        match file.facts.unit {
            Unit::Sentences => self.sentences.add(file, text),
            Unit::Words if file.is_final_headline => self.words.add(file, text),
            Unit::Words => self.by_stage.add(file, text),
        }
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
