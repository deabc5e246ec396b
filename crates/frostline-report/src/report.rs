//! A sweep's records as the files of a report.

use std::collections::BTreeSet;
use std::fmt;

use frostline_record::{Cell, PairedTimes, Record, SCHEMA, StoredFile, Sweep};

use crate::document::{self, ReportDocument};
use crate::page::PageFile;
use crate::paper::{self, PaperFile};
use crate::render::svg::{Drawn, Frame};
use crate::render::{csv, html, markdown, parquet, svg};
use crate::results;
use crate::study::{StoredPredictions, Study};
use crate::summary;
use crate::table::Table;
use crate::topic::Topic;
use crate::topics;

/// Why there can be no report.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReportError {
    /// There is nothing to compare.
    #[error("no sweep is given; a comparison needs at least one")]
    NoSweeps,
    /// A sweep without cells has nothing to report.
    #[error("the sweep `{name}` has no cells; give its plan at least one language and policy")]
    NoCells {
        /// The plan's name.
        name: String,
    },
    /// What is compared is not known yet.
    #[error(
        "the sweep `{name}` is still searching for learning rates, so that it has no cells to compare yet; the same sweep \
         command continues it"
    )]
    Searching {
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
    /// A figure that cannot be drawn as PDF.
    #[error("{path} cannot be made a PDF: {reason}; please report this with the sweep's sweep.json")]
    Pdf {
        /// The figure as SVG.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two records claim to be one cell's, and no rule decides which is right.
    #[error("two records claim cell {id}; keep one of them")]
    TwoRecords {
        /// The cell's id.
        id: String,
    },
}

/// The files for pandas and R, each with what it holds.
const RESULTS: [(&str, &str); 2] = [
    ("results.csv", "one row per cell, epoch and task, with all that is known of each, for pandas and R."),
    ("results.parquet", "the same with types."),
];

/// One file of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// Its path relative to the report's folder, with `/` between folders.
    pub path: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl ReportFile {
    fn new(path: &str, text: String) -> Self {
        Self { path: path.into(), bytes: text.into_bytes() }
    }
}

/// The way from a cell and one of its files to that file's text.
pub type Predictions<'a> = dyn FnMut(&Cell, &StoredFile) -> Option<String> + 'a;

/// A sweep's records, grouped and ready to be written down.
pub struct Report {
    study: Study,
    topics: Vec<Box<dyn Topic>>,
    fault: Option<ReportError>,
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("study", &self.study)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

impl Report {
    /// Groups the records of a sweep, which may be missing, failed or in any order.
    ///
    /// `times` are of steps that policies took in turns: savings in time and memory, and verdicts on training times,
    /// come from these. `predictions` gives the text of a cell's file, or nothing if it is not there. It is asked for one
    /// file at a time, and no text is kept. Verdicts, what `errors.md` shows, scores of tasks that label sentences, and the
    /// error of blocks' worths come from these.
    #[must_use]
    pub fn new(
        sweep: &Sweep,
        records: &[Record],
        times: &[PairedTimes],
        predictions: Option<&mut Predictions<'_>>,
    ) -> Self {
        let study = Study::new(sweep, records).with_times(times);
        let mut stored = match predictions {
            Some(read) => StoredPredictions::read(&study.cells, Box::new(read)),
            None => StoredPredictions::default(),
        };
        let study = study.with(&stored);
        let topics = topics::all_topics(&study, &mut stored);
        Self { topics, fault: find_fault(sweep, records), study }
    }

    /// All files of the report: pages, the numbers for programs and for LaTeX, and the figures.
    ///
    /// # Errors
    /// A sweep without cells, a record of another schema, or two records for one cell.
    pub fn files(&self) -> Result<Vec<ReportFile>, ReportError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let (study, topics) = (&self.study, self.topics.as_slice());
        let pages: Vec<PageFile<'_>> = topics.iter().flat_map(|topic| topic.pages(study)).collect();
        let listed = pages.iter().map(|file| (file.path, file.about.clone()));
        let paper = paper::write_files(study, topics);
        let listed = listed.chain(RESULTS.map(|(path, about)| (path, about.to_string())));
        let listed = listed.chain(paper.iter().map(|(path, about, _)| (*path, about.to_string())));
        let listed: Vec<(&'static str, String)> = listed.collect();
        let frame = Frame {
            name: &study.sweep.plan.name,
            is_synthetic: study.synthetic(),
            policies: &study.policies(),
        };
        let figures = svg::draw_figures(frame, topics.iter().flat_map(|topic| topic.figures(study)));
        let document = document::of_study(study, topics, &pages, &figures, &listed);
        let results = results::build_table(&[(study.sweep.plan.name.as_str(), study)]);
        let mut files = write_files(&document, "report.md", &results, paper)?;
        files.extend(pages.iter().map(|file| ReportFile::new(file.path, markdown::write_page(&file.page))));
        let text = summary::collect_fields(study, topics).object() + "\n";
        files.push(ReportFile::new("report.json", text));
        Ok(files)
    }

    /// The study's table for a terminal of this many columns. Columns that do not fit are omitted, the least
    /// important first; `report.md` has them all.
    #[must_use]
    pub fn terminal_table(&self, width: usize) -> String {
        document::for_terminal(&self.study, &self.topics, width)
    }
}

/// Returns the files of a document: its text under this name, its page, its results, tables for LaTeX and figures.
pub(crate) fn write_files(
    document: &ReportDocument<'_>,
    text: &str,
    results: &Table,
    paper: [PaperFile; 2],
) -> Result<Vec<ReportFile>, ReportError> {
    let mut files = vec![
        ReportFile::new(text, markdown::write_document(document)),
        ReportFile::new("index.html", html::write_page(document)),
        ReportFile::new(RESULTS[0].0, csv::write_table(results)),
        ReportFile { path: RESULTS[1].0.into(), bytes: parquet::write_table(results) },
    ];
    files.extend(paper.into_iter().map(|(path, _, text)| ReportFile::new(path, text)));
    files.extend(figure_files(document.figures)?);
    Ok(files)
}

/// Figures as files: SVG, and PDF if this build has the feature.
fn figure_files(figures: &[Drawn]) -> Result<Vec<ReportFile>, ReportError> {
    let mut files = Vec::new();
    for (figure, drawing) in figures {
        let drawn = drawing.file();
        #[cfg(feature = "pdf")]
        files.push(pdf_file(figure.path, &drawn)?);
        files.push(ReportFile::new(figure.path, drawn));
    }
    Ok(files)
}

/// A figure as PDF.
#[cfg(feature = "pdf")]
fn pdf_file(path: &str, svg: &str) -> Result<ReportFile, ReportError> {
    let failed = |reason| ReportError::Pdf { path: path.into(), reason };
    let bytes = crate::render::pdf::figure_as_pdf(svg).map_err(failed)?;
    Ok(ReportFile { path: format!("{}.pdf", path.trim_end_matches(".svg")), bytes })
}

/// Why a sweep's records cannot be reported.
pub(crate) fn find_fault(sweep: &Sweep, records: &[Record]) -> Option<ReportError> {
    if sweep.is_searching() {
        return Some(ReportError::Searching { name: sweep.plan.name.to_string() });
    }
    if sweep.cells.is_empty() {
        return Some(ReportError::NoCells { name: sweep.plan.name.to_string() });
    }
    let mut seen = BTreeSet::new();
    for record in records {
        let id = record.cell.id.clone();
        if record.schema != SCHEMA {
            return Some(ReportError::Schema { id, found: record.schema });
        }
        if !seen.insert(id.clone()) {
            return Some(ReportError::TwoRecords { id });
        }
    }
    None
}
