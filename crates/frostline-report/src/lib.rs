#![doc = include_str!("../README.md")]
//!
//! # What this crate refuses
//! It opens no file, reads no clock and draws no random number: the same sweep and records give
//! the same bytes. Whoever calls it writes the files.
#![forbid(unsafe_code)]

mod baselines;
mod changes;
mod claims;
mod csv;
mod curves;
mod epoch;
mod errors;
mod figure;
mod json;
mod number;
mod page;
mod paired;
mod predictions;
mod prefix;
mod published;
mod sentences;
mod stages;
mod subsets;
mod summary;
mod table;
mod tagged;
mod terminal;
mod words;

use std::collections::BTreeSet;

use frostline_record::{Cell, MadeBy, Record, SCHEMA, StoredFile, Sweep};

pub use crate::page::{LearnedFrom, data_tables};

use crate::errors::Errors;
use crate::predictions::Predictions;
use crate::summary::{CellView, Group};
use crate::tagged::Tagged;

/// Why there can be no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A sweep without cells has nothing to report.
    #[error("the sweep `{name}` has no cells; give its plan at least one language and policy")]
    NoCells {
        /// The plan's name.
        name: String,
    },
    /// A record of another version.
    #[error(
        "the record of cell {id} has schema {found}, but this Frostline reports schema {SCHEMA}; run the sweep again with this version"
    )]
    Schema {
        /// The cell's id.
        id: String,
        /// The schema number found.
        found: u32,
    },
    /// Two records claim to be one cell's, and no rule says which is right.
    #[error("two records claim cell {id}; keep one of them")]
    TwoRecords {
        /// The cell's id.
        id: String,
    },
}

/// One file of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// Where it belongs, relative to the report's folder, with `/` between folders.
    pub path: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl ReportFile {
    fn new(path: &str, text: String) -> Self {
        Self { path: path.into(), bytes: text.into_bytes() }
    }
}

/// A sweep's records, grouped and ready to be written down.
#[derive(Clone, Debug)]
pub struct Report {
    sweep: Sweep,
    cells: Vec<CellView>,
    groups: Vec<Group>,
    /// Records that belong to no cell of the sweep.
    strays: usize,
    predictions: Predictions,
    errors: Errors,
    sentence_errors: subsets::SentenceErrors,
    fault: Option<Fault>,
}

/// What [`Report::files`] answers with an error.
#[derive(Clone, Debug)]
enum Fault {
    NoCells,
    Schema { id: String, found: u32 },
    TwoRecords { id: String },
}

impl Report {
    /// Groups the records of a sweep. Records may be missing, failed or in any order.
    #[must_use]
    pub fn new(sweep: &Sweep, records: &[Record]) -> Self {
        let (cells, strays) = summary::cells(sweep, records);
        let groups = summary::groups(&cells);
        let (predictions, errors) = (Predictions::default(), Errors::default());
        let sentence_errors = subsets::SentenceErrors::new();
        let fault = fault(sweep, records);
        Self { sweep: sweep.clone(), cells, groups, strays, predictions, errors, sentence_errors, fault }
    }

    /// The same report with what stored predictions add: for tasks that label sentences label counts, F1
    /// and confusions; for a headline that labels words all that `errors.md` says; the error of blocks' worths
    /// where one seed froze every set of blocks. `read` gives the text of a cell's file, or nothing where it
    /// is not there. It is asked for one file at a time, and no text is kept.
    #[must_use]
    pub fn with_predictions(mut self, mut read: impl FnMut(&Cell, &StoredFile) -> Option<String>) -> Self {
        self.sentence_errors = subsets::sentence_errors(&self, &mut read);
        self.predictions = Predictions::read(&self.cells, &mut read);
        let tagged = Tagged::read(&self.cells, &mut read);
        self.errors = Errors::of(&self.cells, &self.groups, &tagged);
        self.predictions.left_out.extend(tagged.left_out);
        self
    }

    /// All files of the report: `report.md`, `published.md`, `claims.md` where the plan claims
    /// something, `errors.md` where predictions of words were read, `report.json`, CSV files and the figures as SVG.
    ///
    /// # Errors
    /// A sweep without cells, a record of another schema, or two records for one cell.
    pub fn files(&self) -> Result<Vec<ReportFile>, ReportError> {
        self.check()?;
        let mut files = vec![
            ReportFile::new("report.md", page::page(self)),
            ReportFile::new("published.md", published::page(self)),
            ReportFile::new("report.json", json::json(self)),
            ReportFile::new("cells.csv", csv::cells(self)),
            ReportFile::new("epochs.csv", csv::epochs(self)),
            ReportFile::new("train_loss.csv", csv::train_loss(self)),
        ];
        files.extend(page::claims_page(self).map(|text| ReportFile::new("claims.md", text)));
        if self.is_staged() {
            files.push(ReportFile::new("stages.csv", csv::stages(self)));
        }
        if self.is_detailed() {
            files.push(ReportFile::new("tasks.csv", csv::tasks(self)));
        }
        if changes::any(self) {
            files.push(ReportFile::new("changes.csv", changes::csv(self)));
        }
        if !subsets::lattices(self).is_empty() {
            files.push(ReportFile::new("blocks.csv", csv::blocks(self)));
        }
        if self.has_baselines() {
            files.push(ReportFile::new("baselines.csv", csv::baselines(self)));
        }
        files.extend(page::data_page(self).map(|text| ReportFile::new("data.md", text)));
        if let Some(page) = page::errors_page(self) {
            files.extend([
                ReportFile::new("errors.md", page),
                ReportFile::new("tags.csv", csv::tags(self)),
                ReportFile::new("confusions.csv", csv::confusions(self)),
                ReportFile::new("strata.csv", csv::strata(self)),
                ReportFile::new("differences.csv", csv::differences(self)),
            ]);
        }
        for (path, svg) in figure::all(self) {
            files.push(ReportFile::new(path, svg));
        }
        Ok(files)
    }

    /// The study's table for a terminal of this many columns. Columns that do not fit are left
    /// away, the least important first; `report.md` has them all.
    #[must_use]
    pub fn terminal_table(&self, width: usize) -> String {
        terminal::tables(self, width)
    }

    fn check(&self) -> Result<(), ReportError> {
        match &self.fault {
            None => Ok(()),
            Some(Fault::NoCells) => Err(ReportError::NoCells { name: self.sweep.plan.name.clone() }),
            Some(Fault::Schema { id, found }) => Err(ReportError::Schema { id: id.clone(), found: *found }),
            Some(Fault::TwoRecords { id }) => Err(ReportError::TwoRecords { id: id.clone() }),
        }
    }

    /// Languages in the order of the plan.
    fn langs(&self) -> Vec<&str> {
        summary::distinct(self.groups.iter().map(|group| group.lang.as_str()))
    }

    /// Policies in the order of the plan.
    fn policies(&self) -> Vec<&str> {
        summary::distinct(self.groups.iter().map(|group| group.policy.as_str()))
    }

    /// Dotted paths of the further axes.
    fn axes(&self) -> Vec<&str> {
        self.sweep.plan.extra_axes()
    }

    /// The combinations of further axes, in the order of the plan; one empty one without such.
    fn extras(&self) -> Vec<&[String]> {
        summary::distinct(self.groups.iter().map(|group| group.extras.as_slice()))
    }

    fn groups_of<'a>(&'a self, lang: &'a str) -> impl Iterator<Item = &'a Group> {
        self.groups.iter().filter(move |group| group.lang == lang)
    }

    /// The cells of a group.
    fn members<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a CellView> {
        self.cells.iter().filter(move |view| group.holds(view))
    }

    /// Whether cells have several stages.
    fn is_staged(&self) -> bool {
        self.groups.iter().any(|group| group.stages.len() > 1)
    }

    /// Whether cells have more than one stage of one task that tags words.
    fn is_detailed(&self) -> bool {
        self.groups.iter().any(|group| !group.stages.is_empty())
    }

    /// Whether records tell what needs no training of the encoder.
    fn has_baselines(&self) -> bool {
        baselines::first_of_seeds(self).next().is_some()
    }

    fn synthetic(&self) -> bool {
        self.sweep.plan.synthetic
    }

    fn has_baseline(&self) -> bool {
        self.policies().contains(&summary::BASELINE)
    }

    /// Who made the records, each with the count of its records, in the cells' order.
    fn makers(&self) -> Vec<(&MadeBy, usize)> {
        let all: Vec<&MadeBy> = self.cells.iter().filter_map(CellView::made_by).collect();
        let count = |maker: &MadeBy| all.iter().filter(|&&other| other == maker).count();
        summary::distinct(all.iter().copied()).into_iter().map(|maker| (maker, count(maker))).collect()
    }

    /// A language with the treebank's name where that is a folder: `en (UD_English-EWT)`.
    fn lang_title(&self, lang: &str) -> String {
        let place = self.sweep.plan.treebanks.get(lang).map_or("", |p| p.trim());
        let name = place.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        if place.starts_with("embedded:") || name.is_empty() || name == lang {
            lang.into()
        } else {
            format!("{lang} ({name})")
        }
    }
}

fn fault(sweep: &Sweep, records: &[Record]) -> Option<Fault> {
    if sweep.cells.is_empty() {
        return Some(Fault::NoCells);
    }
    let mut seen = BTreeSet::new();
    for record in records {
        let id = record.cell.id.clone();
        if record.schema != SCHEMA {
            let found = record.schema;
            return Some(Fault::Schema { id, found });
        }
        if !seen.insert(id.clone()) {
            return Some(Fault::TwoRecords { id });
        }
    }
    None
}
