//! Several sweeps beside each other: encoders, machines, versions of the code. One table with the sweeps as columns, what
//! may not be compared and why, and the rows of all of them for pandas and R.

mod table;
mod unlike;

use std::collections::BTreeSet;

use frostline_record::{Record, Sweep};

use crate::number::listed;
use crate::page::Page;
use crate::render::{csv, markdown, parquet, terminal};
use crate::report::{ReportError, ReportFile, fault};
use crate::results;
use crate::study::words::{self, SYNTHETIC, SYNTHETIC_SHORT};
use crate::study::{Study, distinct};

use unlike::Unlike;

/// A sweep with the name that it has beside others.
pub(crate) struct Named {
    pub name: String,
    pub study: Study,
}

/// Several sweeps beside each other. The first is the one that the others are compared with.
pub struct Merged {
    sweeps: Vec<Named>,
    /// For each but the first, how it differs from that one.
    unlike: Vec<Unlike>,
    fault: Option<ReportError>,
}

impl Merged {
    /// Arranges the records of sweeps, each with a name. A name that another one has too gets a number.
    #[must_use]
    pub fn new<'a>(sweeps: impl IntoIterator<Item = (&'a str, Sweep, Vec<Record>)>) -> Self {
        let (mut all, mut failed): (Vec<Named>, _) = (Vec::new(), None);
        for (name, sweep, records) in sweeps {
            failed = failed.or_else(|| fault(&sweep, &records));
            let numbered = (2..).map(|number| format!("{name} {number}"));
            let mut names = [name.to_string()].into_iter().chain(numbered);
            let name = names.find(|name| all.iter().all(|other| other.name != *name)).unwrap_or_default();
            all.push(Named { name, study: Study::new(&sweep, &records) });
        }
        let unlike = all.iter().skip(1).map(|other| Unlike::of(&all[0], other)).collect();
        Self { sweeps: all, unlike, fault: failed }
    }

    /// The files: `comparison.md`, `results.csv` and `results.parquet`.
    ///
    /// # Errors
    /// A sweep without cells, a record of another schema, or two records for one cell.
    pub fn files(self) -> Result<Vec<ReportFile>, ReportError> {
        let page = self.page();
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let all: Vec<(&str, &Study)> =
            self.sweeps.iter().map(|one| (one.name.as_str(), &one.study)).collect();
        let results = results::sheet(&all);
        Ok(vec![
            ReportFile { path: "comparison.md".into(), bytes: markdown::page(&page).into_bytes() },
            ReportFile { path: "results.csv".into(), bytes: csv::sheet(&results).into_bytes() },
            ReportFile { path: "results.parquet".into(), bytes: parquet::sheet(&results) },
        ])
    }

    /// The table for a terminal of this many columns, and what may not be compared.
    #[must_use]
    pub fn terminal_table(&self, width: usize) -> String {
        let mut text = format!("{}\n", self.title());
        if self.synthetic() {
            text += &format!("{SYNTHETIC_SHORT}\n");
        }
        text += &format!("\n{}", terminal::table(&table::of(&self.sweeps, &self.unlike), width));
        for line in self.unlike.iter().flat_map(Unlike::lines) {
            text += &format!("  {}\n", line.replace(['*', '`'], ""));
        }
        text
    }

    fn title(&self) -> String {
        let names: Vec<String> = self.sweeps.iter().map(|one| one.name.clone()).collect();
        format!("Sweeps beside each other: {}", listed(&names))
    }

    fn synthetic(&self) -> bool {
        self.sweeps.iter().any(|one| one.study.synthetic())
    }

    fn page(&self) -> Page {
        let mut page = Page::default();
        page.section(1, self.title());
        if self.synthetic() {
            page.quote(SYNTHETIC);
        }
        for one in &self.sweeps {
            page.item(format!("**{}**: {}. {}", one.name, words::progress(&one.study), makers(&one.study)));
        }
        page.section(2, "Result");
        page.table(table::of(&self.sweeps, &self.unlike));
        page.paragraph(ABOUT);
        page.section(2, "What may not be compared");
        self.unlike.iter().flat_map(Unlike::lines).for_each(|line| page.item(line));
        page.section(2, "Files beside this page");
        page.item("`results.csv`: one row per sweep, cell, epoch and task, for pandas and R; `sweep` has the names above.");
        page.item("`results.parquet`: the same with types.");
        page
    }
}

/// What the columns are.
const ABOUT: &str = "Accuracies are means over seeds, in percent; ± is one standard deviation. Differences are from the first \
                     sweep, in points, over the seeds that both have; there is none where the two may not be compared. They \
                     say nothing about chance: each sweep's own report has intervals and verdicts.";

/// Who computed a sweep.
fn makers(study: &Study) -> String {
    let makers = study.makers();
    let of = |get: fn(&frostline_record::MadeBy) -> String| -> String {
        let all: BTreeSet<String> = makers.iter().map(|(maker, _)| get(maker)).collect();
        listed(&all.into_iter().collect::<Vec<_>>())
    };
    let encoders = distinct(study.cells.iter().map(|view| view.cell.settings.encoder.name.to_string()));
    format!(
        "Encoder {}; backend {} on {}; code `{}`.",
        listed(&encoders),
        of(|maker| maker.backend.clone()),
        of(|maker| format!("{} ({} threads)", maker.device, maker.threads)),
        of(|maker| maker.code.chars().take(12).collect())
    )
}

impl std::fmt::Debug for Merged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.sweeps.iter().map(|one| one.name.as_str()).collect();
        f.debug_struct("Merged").field("sweeps", &names).finish_non_exhaustive()
    }
}
