//! A comparison of several sweeps: encoders, machines, versions of the code. One table with the sweeps as columns,
//! verdicts on each against the first one, what may not be compared and why, and the rows of all of them for pandas and R.

mod figure;
mod judged;
mod key;
mod table;
mod unlike;

use std::collections::{BTreeMap, BTreeSet};

use frostline_record::{Cell, Record, StoredFile, Sweep};

use crate::chart::Figure;
use crate::document::{Chapter, ReportDocument};
use crate::number::{listed, plural};
use crate::page::Page;
use crate::paper;
use crate::render::svg::{Drawn, Frame};
use crate::render::{svg, terminal};
use crate::report::{self, ReportError, ReportFile, find_fault};
use crate::results;
use crate::study::words::{self, SYNTHETIC_SHORT};
use crate::study::{StoredPredictions, Study, distinct};
use crate::table::{PaperTable, Quantity, Table, TableColumns};

use judged::JudgedRow;
use unlike::Unlike;

/// A sweep with its name in the comparison.
pub(crate) struct NamedSweep {
    pub name: String,
    pub study: Study,
    /// The names of its policies in the first sweep, if these differ.
    pub names: BTreeMap<String, String>,
}

/// A sweep compared with the first one.
struct Beside {
    /// How it differs from that one.
    unlike: Unlike,
    /// The verdicts, if predictions were read.
    judged: Vec<JudgedRow>,
}

/// The way from a sweep's place, a cell and one of its files to that file's text.
pub type MergedPredictions<'a> = dyn FnMut(usize, &Cell, &StoredFile) -> Option<String> + 'a;

/// A comparison of several sweeps with the first of them.
pub struct Merged {
    sweeps: Vec<NamedSweep>,
    /// For each but the first.
    beside: Vec<Beside>,
    fault: Option<ReportError>,
}

impl Merged {
    /// Arranges the records of sweeps, each with a name. A name that another one has too gets a number.
    ///
    /// `predictions` gives the text of a file of a cell of the sweep at this place of the list, or nothing if it is not
    /// there: verdicts on each sweep against the first one come from these.
    #[must_use]
    pub fn new<'a>(
        sweeps: impl IntoIterator<Item = (&'a str, Sweep, Vec<Record>)>,
        mut predictions: Option<&mut MergedPredictions<'_>>,
    ) -> Self {
        let (mut all, mut failed): (Vec<NamedSweep>, _) = (Vec::new(), None);
        for (at, (name, sweep, records)) in sweeps.into_iter().enumerate() {
            failed = failed.or_else(|| find_fault(&sweep, &records));
            let numbered = (2..).map(|number| format!("{name} {number}"));
            let mut names = [name.to_string()].into_iter().chain(numbered);
            let name = names.find(|name| all.iter().all(|other| other.name != *name)).unwrap_or_default();
            let mut study = Study::new(&sweep, &records);
            if let Some(read) = &mut predictions {
                let stored =
                    StoredPredictions::read(&study.cells, Box::new(|cell, file| read(at, cell, file)));
                study = study.with(&stored);
            }
            let mut one = NamedSweep { name, study, names: BTreeMap::new() };
            one.names = all.first().map_or_else(BTreeMap::new, |first| key::policy_names_in(first, &one));
            all.push(one);
        }
        let axes = table::shared_axes(&all);
        let beside = |other: &NamedSweep| {
            let unlike = Unlike::of(&all[0], other);
            Beside { judged: judged::judge_sweep(&all[0], other, &axes, &unlike), unlike }
        };
        let beside = all.iter().skip(1).map(beside).collect();
        let fault = if all.is_empty() { Some(ReportError::NoSweeps) } else { failed };
        Self { beside, sweeps: all, fault }
    }

    /// The files: `index.html` and `comparison.md`, `results.csv` and `results.parquet`, tables for LaTeX, and the figure.
    ///
    /// # Errors
    /// No sweep, a sweep without cells, a record of another schema, or two records for one cell.
    pub fn files(self) -> Result<Vec<ReportFile>, ReportError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let all: Vec<(&str, &Study)> =
            self.sweeps.iter().map(|one| (one.name.as_str(), &one.study)).collect();
        let name = self.name();
        let frame = Frame { name: &name, is_synthetic: self.synthetic(), policies: &self.policies() };
        let figures = svg::draw_figures(frame, [self.figure()]);
        let paper = paper::write_tables(&name, self.synthetic(), &self.paper_tables());
        report::write_files(&self.document(&figures), "comparison.md", &results::build_table(&all), paper)
    }

    /// The table for a terminal of this many columns, and what may not be compared.
    #[must_use]
    pub fn terminal_table(&self, width: usize) -> String {
        let mut text = format!("{}\n", self.title());
        if self.synthetic() {
            text += &format!("{SYNTHETIC_SHORT}\n");
        }
        text += &format!("\n{}", terminal::write_table(&self.table(), width));
        for line in self.findings().into_iter().chain(self.unlike()) {
            text += &format!("  {}\n", line.replace(['*', '`'], ""));
        }
        text
    }

    fn name(&self) -> String {
        listed(&self.sweeps.iter().map(|one| one.name.clone()).collect::<Vec<_>>())
    }

    fn title(&self) -> String {
        format!("Comparison of sweeps: {}", self.name())
    }

    fn synthetic(&self) -> bool {
        self.sweeps.iter().any(|one| one.study.synthetic())
    }

    fn table(&self) -> Table {
        table::build_table(&self.sweeps, &table::shared_axes(&self.sweeps), &self.beside)
    }

    fn policies(&self) -> Vec<&str> {
        distinct(self.sweeps.iter().flat_map(|one| one.study.policies()))
    }

    fn figure(&self) -> Figure {
        figure::build_figure(&self.sweeps, &table::shared_axes(&self.sweeps), &self.policies())
    }

    /// Each sweep but the first, with its comparison.
    fn pairs(&self) -> impl Iterator<Item = (&NamedSweep, &Beside)> {
        self.sweeps.iter().skip(1).zip(&self.beside)
    }

    /// What came out, a sentence per sweep but the first.
    fn findings(&self) -> Vec<String> {
        let said = self
            .pairs()
            .filter_map(|(other, beside)| judged::summarize_verdicts(&self.sweeps[0], other, &beside.judged));
        said.collect()
    }

    fn unlike(&self) -> Vec<String> {
        self.beside.iter().flat_map(|beside| beside.unlike.lines()).collect()
    }

    /// The table with its verdicts.
    fn result(&self, page: &mut Page) {
        page.table(self.table());
        page.paragraph(ABOUT);
        let axes = table::shared_axes(&self.sweeps);
        for (other, beside) in self.pairs() {
            judged::describe_verdicts(&self.sweeps[0], other, &beside.judged, &axes, page);
        }
    }

    fn document<'a>(&'a self, figures: &'a [Drawn]) -> ReportDocument<'a> {
        let figure = &figures[0].0;
        let mut result = Page::default();
        result.figure(figure.path, figure.title, &figure.about);
        self.result(&mut result);
        let list = |lines: Vec<String>| {
            let mut page = Page::default();
            page.items(lines);
            page
        };
        let cells: usize = self.sweeps.iter().map(|one| one.study.cells.len()).sum();
        ReportDocument {
            kind: "Comparison of sweeps",
            name: self.name(),
            is_synthetic: self.synthetic(),
            about: String::new(),
            asked: format!(
                "How do these sweeps differ? Each is compared with **{}**, on the seeds and sentences that both have.",
                self.sweeps[0].name
            ),
            progress: format!("{} sweeps, {cells} cells", self.sweeps.len()),
            data: self.data(),
            warnings: None,
            findings: self.findings(),
            more: Vec::new(),
            policies: self.policies(),
            chapters: vec![
                Chapter::new("result", "Result", result),
                Chapter::new("unlike", "What may not be compared", list(self.unlike())),
                Chapter::new("files", "Files of this report", list(FILES.map(String::from).into())),
            ],
            figures,
            browser: None,
        }
    }

    /// What each sweep is.
    fn data(&self) -> Table {
        TableColumns::default()
            .column("Sweep", Quantity::Text, |one: &&NamedSweep| one.name.clone())
            .column("Cells", Quantity::Text, |one| words::describe_progress(&one.study))
            .column("Encoder", Quantity::Text, |one| name_encoders(&one.study))
            .column("Computed by", Quantity::Text, |one| name_makers(&one.study))
            .table(&self.sweeps)
    }

    fn paper_tables(&self) -> Vec<PaperTable> {
        let axes = table::shared_axes(&self.sweeps);
        let names =
            table::row_keys(&self.sweeps, &axes).iter().map(|row| [row.lang.clone(), row.name()]).collect();
        let whole = PaperTable::new("comparison", format!("{}.", self.title()), self.table());
        let whole = PaperTable { grouped: true, ..whole.named(names, 2 + axes.len(), "") };
        let of_pair = |(other, beside): (&NamedSweep, &Beside)| {
            judged::paper_tables(&self.sweeps[0], other, &beside.judged, &axes)
        };
        [whole].into_iter().chain(self.pairs().flat_map(of_pair)).collect()
    }
}

/// What the columns are.
const ABOUT: &str = "Accuracies are means over seeds, in percent; ± is one standard deviation. Differences are from the first \
                     sweep, in points, over the seeds that both have; there is none if the two may not be compared. \
                     Verdicts are on dev, on the same sentences, and need the stored predictions.";

/// The other files of the report.
const FILES: [&str; 4] = [
    "`results.csv`: one row per sweep, cell, epoch and task, for pandas and R; `sweep` has the names above.",
    "`results.parquet`: the same with types.",
    "`tables.tex` and `results.tex`: the tables for LaTeX, and every number of them as a command.",
    "`figures/`: the figure as SVG and, if this program draws them, as PDF.",
];

/// The encoders of a sweep's cells.
fn name_encoders(study: &Study) -> String {
    listed(&distinct(study.cells.iter().map(|view| view.cell.settings.encoder.name.to_string())))
}

/// The backends, devices and code that computed a sweep.
fn name_makers(study: &Study) -> String {
    let makers = study.makers();
    let of = |get: fn(&frostline_record::MadeBy) -> String| -> String {
        let all: BTreeSet<String> = makers.iter().map(|(maker, _)| get(maker)).collect();
        listed(&all.into_iter().collect::<Vec<_>>())
    };
    format!(
        "backend {} on {}; code `{}`",
        of(|maker| maker.backend.clone()),
        of(|maker| format!("{} ({})", maker.device, plural(maker.threads, "thread"))),
        of(|maker| maker.code.chars().take(12).collect())
    )
}

impl std::fmt::Debug for Merged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.sweeps.iter().map(|one| one.name.as_str()).collect();
        f.debug_struct("Merged").field("sweeps", &names).finish_non_exhaustive()
    }
}
