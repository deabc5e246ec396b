//! A sweep's folder: `sweep.json` (plan and cells) and `cells/FOLDER/record.json`.
//!
//! A file here is either whole or absent, and carries a checksum of its text.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use frostline_files::claim::{Commit, WorkClaim};
use frostline_files::{FileError, Writer, seal_json, unseal_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{
    Cell, CellScores, JobClaim, PairedTimes, Plan, RateSearch, Record, Reference, Rounds, SCHEMA, Twin,
};

/// The largest `sweep.json` or `record.json` that is read: a hundred thousand cells take a fifth of it.
///
/// # Units
/// Bytes.
const MOST_JSON: u64 = 2 << 30;

/// Errors of a sweep's folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that could not be read back, and so was not written.
    #[error("{path}: not written, since it could not be read again: {reason}; please report this as a bug")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The parser's reason.
        reason: String,
    },
    /// A file has unexpected content.
    #[error("{path}: not readable as {what}: {reason}; delete it and run the sweep again")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was expected.
        what: &'static str,
        /// The parser's reason.
        reason: String,
    },
    /// A file was written by another version.
    #[error(
        "{path}: {what} of schema {found}, but this Frostline reads schema {SCHEMA}; run the sweep again, which \
         leaves old records alone, or read it with the version that wrote it"
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// What was expected.
        what: &'static str,
        /// The schema number found.
        found: u32,
    },
    /// A saved model's notes have unexpected content.
    #[error(
        "{path}: not readable as a saved model's notes: {reason}; use the version of Frostline that saved the \
         model, or train it again"
    )]
    SavedModel {
        /// The file.
        path: PathBuf,
        /// The parser's reason.
        reason: String,
    },
    /// No sweep was ever started there.
    #[error("{path} holds no sweep (no sweep.json); give the folder that `frostline sweep` named")]
    NoSweep {
        /// The folder.
        path: PathBuf,
    },
}

/// `sweep.json`: the plan with its overrides applied, and its cells in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The plan as it was run, overrides applied.
    pub plan: Plan,
    /// The overrides of the command line, as given.
    pub overrides: Vec<String>,
    /// All cells in order.
    pub cells: Vec<Cell>,
    /// Cells of the plan that are not run, since others are the same experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<Twin>,
    /// The published figures that the plan names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The results of the search for learning rates, or its rates so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<RateSearch>,
    /// In a study over sets of blocks, the scores of blocks before training.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block_scores: Vec<CellScores>,
    /// The state of a sweep that adds cells until its question is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Whether cells are added once all of these have results, for a search or for a question that is not answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub search_continues: bool,
}

impl Sweep {
    /// Reads the sweep of a folder.
    ///
    /// # Errors
    /// If there is none or it cannot be read.
    pub fn read(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join("sweep.json");
        if !path.exists() {
            return Err(FolderError::NoSweep { path: folder.into() });
        }
        let sweep: Self = read_json(&path, "a sweep")?;
        let planned = sweep.rounds.iter().flat_map(|rounds| &rounds.planned);
        let fault = sweep.cells.iter().chain(planned).find_map(|cell| cell.check().err());
        match fault {
            None => Ok(sweep),
            Some(reason) => Err(FolderError::Malformed { path, what: "a sweep", reason }),
        }
    }

    /// Writes the sweep into its folder.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), FolderError> {
        write_json(&folder.join("sweep.json"), self)
    }

    /// Returns whether the cells belong to a search for learning rates, and the compared cells are not known
    /// yet.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.rates.as_ref().is_some_and(|rates| rates.running)
    }

    /// Returns the folder of a cell.
    #[must_use]
    pub fn cell_folder(folder: &Path, cell: &Cell) -> PathBuf {
        folder.join("cells").join(cell.folder())
    }

    /// Returns the file in the sweep's folder with the times of these cells' steps.
    fn times_file(folder: &Path, cells: &[Cell]) -> PathBuf {
        folder.join("timings").join(PairedTimes::file_name(cells))
    }

    /// Returns the stored times of these cells' steps, in turns; nothing if they are not there.
    ///
    /// # Errors
    /// If they cannot be read, or do not fit together. They can be measured again.
    pub fn read_times(folder: &Path, cells: &[Cell]) -> Result<Option<PairedTimes>, FolderError> {
        let path = Self::times_file(folder, cells);
        if !path.exists() {
            return Ok(None);
        }
        let what = "times of steps";
        let times: PairedTimes = read_json(&path, what)?;
        let fits = times.check().map_err(|reason| FolderError::Malformed { path, what, reason });
        fits.map(|()| Some(times))
    }

    /// Stores the times of these cells' steps.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_times(folder: &Path, cells: &[Cell], times: &PairedTimes) -> Result<(), FolderError> {
        let path = Self::times_file(folder, cells);
        frostline_files::create_own_folder(path.parent().unwrap_or(folder))?;
        write_json(&path, times)
    }

    /// Returns the groups of cells whose steps are timed in turns: of each language and encoder, and of each
    /// other setting that a step's time depends on, the cells of the first seed, one per policy. Cells whose
    /// trainable parameters change during the run are excluded, since no single step is typical. Cells that are
    /// not `done` are excluded too, and cells whose policy a sweep that decides has dropped.
    #[must_use]
    pub fn timed_groups(&self, done: impl Fn(&Cell) -> bool) -> Vec<Vec<Cell>> {
        let mut groups: Vec<(String, Vec<Cell>)> = Vec::new();
        let is_dropped =
            |cell: &Cell| self.rounds.as_ref().is_some_and(|rounds| rounds.untimed.contains(&cell.id));
        let is_timed = |cell: &&Cell| cell.settings.has_even_steps() && !is_dropped(cell) && done(cell);
        let timed = || self.cells.iter().filter(is_timed);
        // A policy may have its own rank, but if one policy has several ranks, each has its own group.
        let mut kinds: BTreeMap<(String, &str), String> = BTreeMap::new();
        let several = timed().any(|Cell { settings, .. }| {
            let kind = (settings.batch_key(), settings.policy.as_str());
            *kinds.entry(kind).or_insert_with(|| settings.step_key()) != settings.step_key()
        });
        for cell in timed() {
            let settings = &cell.settings;
            let key = if several { settings.step_key() } else { settings.batch_key() };
            let known = groups.iter().position(|(other, _)| *other == key);
            let place = known.unwrap_or_else(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            let group = &mut groups[place].1;
            if group.iter().all(|other| other.settings.policy != cell.settings.policy) {
                group.push(cell.clone());
            }
        }
        let compared = groups.into_iter().map(|(_, group)| group).filter(|group| group.len() > 1);
        compared.collect()
    }

    /// Returns the records of this sweep's cells that exist, in the cells' order. A record whose id is not its
    /// cell's is not this sweep's and is left out.
    ///
    /// # Errors
    /// If a record is there but cannot be read.
    pub fn records(&self, folder: &Path) -> Result<Vec<Record>, FolderError> {
        let mut records = Vec::new();
        for cell in &self.cells {
            if let Some(record) = read_record(&Self::cell_folder(folder, cell))?
                && record.cell.id == cell.id
            {
                records.push(record);
            }
        }
        Ok(records)
    }
}

/// Returns the record in a cell's folder, if there is one.
///
/// # Errors
/// If it is there but cannot be read, was changed, or is of another schema.
pub fn read_record(cell_folder: &Path) -> Result<Option<Record>, FolderError> {
    let path = cell_folder.join("record.json");
    if !path.exists() {
        return Ok(None);
    }
    let record: Record = read_json(&path, "a record")?;
    record.check().map_err(|reason| FolderError::Malformed { path, what: "a record", reason })?;
    Ok(Some(record))
}

/// The names of a cell's checkpoints: the last one and the one before.
pub const CHECKPOINTS: [&str; 2] = ["checkpoint.safetensors", "checkpoint.previous.safetensors"];

/// Removes a finished cell's checkpoints. If that fails, they only take space.
pub fn remove_checkpoints(cell_folder: &Path) {
    for name in CHECKPOINTS {
        let _ = frostline_files::remove(&cell_folder.join(name));
    }
}

impl Record {
    /// Writes the record into its cell's folder.
    ///
    /// # Errors
    /// If the folder cannot be written, or the record could not be read again.
    pub fn write(&self, cell_folder: &Path) -> Result<(), FolderError> {
        write_json(&cell_folder.join("record.json"), self)
    }

    /// Like [`Record::write`], but under a claim: only while it is held, and only once. An existing record of
    /// the same cell stays, unless it is a failure.
    ///
    /// # Errors
    /// See [`Record::write`].
    pub fn write_claimed(&self, cell_folder: &Path, claim: Option<&JobClaim>) -> Result<Commit, FolderError> {
        let Some(claim) = claim else { return self.write(cell_folder).map(|()| Commit::Done) };
        let path = cell_folder.join("record.json");
        let text = sealed_json(&path, self)?;
        let mut writer = Writer::create(&path)?;
        writer.write_all(text.as_bytes()).map_err(FileError::of(&path))?;
        let counts = || match read_record(cell_folder) {
            Ok(Some(there)) => there.cell.id == self.cell.id && there.error.is_none(),
            // According to the file server the file exists; this machine sees it later.
            Ok(None) => true,
            Err(_) => false,
        };
        Ok(writer.finish_claimed(&WorkClaim::from(claim), counts)?)
    }
}

/// The one key that every version has.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

fn read_json<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, FolderError> {
    let malformed = |reason| FolderError::Malformed { path: path.into(), what, reason };
    let bytes = frostline_files::read(path, MOST_JSON)?;
    let text = String::from_utf8(bytes).map_err(|error| malformed(error.to_string()))?;
    let text = unseal_json(&text).map_err(|error| malformed(error.to_string()))?;
    // The schema is checked first: in another version's file, its first unknown key would explain too little.
    if let Ok(Versioned { schema: found }) = serde_json::from_str(&text)
        && found != SCHEMA
    {
        return Err(FolderError::Schema { path: path.into(), what, found });
    }
    serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))
}

/// Writes a file that can be read again: a number that JSON does not have would replace a good file by an unreadable
/// one.
fn write_json<T: Serialize + DeserializeOwned>(path: &Path, value: &T) -> Result<(), FolderError> {
    Ok(frostline_files::write(path, sealed_json(path, value)?.as_bytes())?)
}

fn sealed_json<T: Serialize + DeserializeOwned>(path: &Path, value: &T) -> Result<String, FolderError> {
    let text = serde_json::to_string_pretty(value).expect("plain data always serialises");
    serde_json::from_str::<T>(&text)
        .map_err(|error| FolderError::Unreadable { path: path.into(), reason: error.to_string() })?;
    Ok(seal_json(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inputs;

    fn test_sweep(grid: &str) -> Sweep {
        let text = format!(
            "schema = 4\nname = 'x'\n[treebanks]\nen = 'EN'\n[grid]\npolicy = ['none', 'first-2', 'none+lora']\n{grid}"
        );
        let plan = Plan::parse(&text, "x.toml").expect("a plan");
        let cells = plan.expand().expect("a grid").into_iter();
        let cells = cells.map(|settings| Cell::new(settings, Inputs::new(), "flex", "c0de")).collect();
        Sweep {
            schema: SCHEMA,
            cells,
            plan,
            overrides: Vec::new(),
            twins: Vec::new(),
            reference: None,
            rates: None,
            block_scores: Vec::new(),
            rounds: None,
            search_continues: false,
        }
    }

    fn cell_groups(sweep: &Sweep) -> Vec<Vec<(String, usize)>> {
        let shown = |cell: &Cell| (cell.settings.policy.to_string(), cell.settings.lora.rank);
        sweep.timed_groups(|_| true).iter().map(|group| group.iter().map(shown).collect()).collect()
    }

    #[test]
    fn a_rank_of_its_own_leaves_a_policy_among_those_that_are_timed_together() {
        let group =
            |none, lora| vec![("none".into(), none), ("first-2".into(), none), ("none+lora".into(), lora)];
        let own_rank = test_sweep("[policies.'none+lora']\nlora.rank = 16");
        assert_eq!(cell_groups(&own_rank), [group(8, 16)]);
        let ranks = test_sweep("'lora.rank' = [4, 16]");
        assert_eq!(cell_groups(&ranks), [group(4, 4), group(16, 16)]);
    }

    #[test]
    fn a_policy_that_a_sweep_has_dropped_is_not_timed() {
        let mut sweep = test_sweep("");
        let dropped = sweep.cells.iter().filter(|cell| cell.settings.policy == "first-2");
        let untimed = dropped.map(|cell| cell.id.clone()).collect();
        sweep.rounds = Some(Rounds { round: 2, untimed, ..Rounds::default() });
        assert_eq!(cell_groups(&sweep), [[("none".to_string(), 8), ("none+lora".to_string(), 8)]]);
    }
}
