//! Stored files of predictions, with what their records hold about them.

use frostline_record::{Cell, Score, StoredFile, TaskFacts, sha256};

use crate::study::cells::{CellView, SPLITS};

/// A cell's id, a stage counted from 0, a task and a split.
pub(crate) type PredictionKey = (String, usize, String, &'static str);

/// A file of predictions of a finished cell.
pub(crate) struct PredictionFile<'a> {
    pub cell: &'a Cell,
    pub stage: usize,
    pub task: &'a str,
    pub split: &'static str,
    /// Whether it is the headline's at the end of the cell, whose words several topics need.
    pub is_final_headline: bool,
    pub facts: &'a TaskFacts,
    pub score: Option<&'a Score>,
    file: &'a StoredFile,
}

/// Returns the files of all cells, stages, tasks and splits.
pub(crate) fn prediction_files(cells: &[CellView]) -> Vec<PredictionFile<'_>> {
    let mut files = Vec::new();
    for (view, done) in cells.iter().filter_map(|view| Some((view, view.done()?))) {
        let result = &done.result;
        for (at, stage) in result.stages.iter().enumerate() {
            for (task, outcome) in &stage.tasks {
                let Some(facts) = result.tasks.get(task) else { continue };
                let of_split = |split: &'static str| {
                    Some(PredictionFile {
                        cell: &view.cell,
                        stage: at,
                        task,
                        split,
                        is_final_headline: at + 1 == result.stages.len() && *task == result.headline,
                        facts,
                        score: outcome.scores.get(split),
                        file: outcome.predictions.get(split)?,
                    })
                };
                files.extend(SPLITS.into_iter().filter_map(of_split));
            }
        }
    }
    files
}

impl PredictionFile<'_> {
    /// Returns its text. `read` gives the text of a cell's file, or nothing if it is not there.
    ///
    /// # Errors
    /// It is not there, or has other bytes than its record names.
    pub fn text(&self, read: &mut dyn FnMut(&Cell, &StoredFile) -> Option<String>) -> Result<String, String> {
        let text = read(self.cell, self.file).ok_or_else(|| "it is not there".to_string())?;
        check_bytes(text, self.file)
    }

    /// Whether it has the forms of words: published records have none.
    pub fn has_words(&self) -> bool {
        self.file.without_words.is_none()
    }

    pub fn path(&self) -> String {
        format!("{}/{}", self.cell.folder(), self.file.file)
    }

    pub fn key(&self) -> PredictionKey {
        (self.cell.id.clone(), self.stage, self.task.into(), self.split)
    }
}

/// Returns the text if it has the bytes that the record names.
pub(crate) fn check_bytes(text: String, file: &StoredFile) -> Result<String, String> {
    if sha256(text.as_bytes()) == file.here() {
        Ok(text)
    } else {
        Err("its bytes are not those that the record names".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_refused() {
        let file = StoredFile::new("dev.tsv", b"x");
        assert!(check_bytes("y".into(), &file).is_err() && check_bytes("x".into(), &file).is_ok());
    }
}
