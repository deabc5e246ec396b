//! Every planned cell: what it is, what it reached, how long it took, where its files are, and why it failed.

use crate::document::{Chapter, ShownIn};
use crate::keys;
use crate::number::fixed;
use crate::page::Page;
use crate::study::hardware::Hardware;
use crate::study::words::{self, dev_accuracy};
use crate::study::{CellResult, CellView, Done, Study};
use crate::table::{Quantity, Table, TableColumns};

use frostline_record::{Load, MadeBy, Timing};

/// The chapter: a table of what is asked most.
pub(super) fn make_chapter(study: &Study) -> Chapter {
    let mut page = Page::default();
    page.paragraph(
        "A cell is one full setting of the experiment. Settings that it shares with all others are listed under \
         [How to reproduce it](#reproduce). Its folder holds its record, its predictions and the log of its run: every epoch, \
         and the loss on the way. The error of a failed cell ends with the output of its worker, which is also stored in `workers/`.",
    );
    page.table(table(study));
    Chapter::new("cells", "Every cell", page).only(ShownIn::PageOnly)
}

/// Cells without a result, for `report.md`, which does not list all cells.
pub(super) fn without_result(study: &Study) -> Chapter {
    let mut page = Page::default();
    let rows = words::undone_cells(study);
    if !rows.is_empty() {
        page.paragraph("These cells gave no numbers. Means above are over the seeds that are left.");
        let columns = TableColumns::default()
            .column("Cell", Quantity::Text, |row: &(String, &'static str, String)| row.0.clone())
            .column("State", Quantity::Text, |row| row.1)
            .column("Why", Quantity::Text, |row| {
                let why = row.2.lines().map(str::trim).collect::<Vec<_>>().join(" ");
                format!("`` {} ``", why.replace("``", "''"))
            });
        page.table(columns.table(rows));
    }
    Chapter::new("undone", "Missing and failed cells", page).only(ShownIn::TextOnly)
}

fn table(study: &Study) -> Table {
    let score = |split: &'static str| move |view: &&CellView| Some(view.done()?.score(split)?.accuracy());
    let timing = |get: fn(&Timing) -> f64, factor: f64| {
        move |view: &&CellView| {
            view.done().and_then(|done| done.timing.as_ref()).map(|time| get(time) * factor)
        }
    };
    let columns = TableColumns::default()
        .column("State", Quantity::Text, |view: &&CellView| view.state.name())
        .column("Language", Quantity::Text, |view| view.cell.settings.lang.to_string())
        .column("Frozen", Quantity::Text, |view| view.cell.settings.policy.to_string())
        .and(keys::axis_columns(study, |view: &&CellView| &view.extras))
        .column("Seed", Quantity::Text, |view| view.cell.settings.seed.to_string())
        .optional(dev_accuracy!(""), Quantity::Percent(2), score("dev"))
        .optional("Test accuracy", Quantity::Percent(2), score("test"))
        .optional("Steps", Quantity::Count, |view| view.done().map(|done| done.result.steps))
        .optional("Selected epoch", Quantity::Count, |view| view.done().map(selected_epoch))
        .optional("Training", Quantity::Fine("s"), timing(|time| time.train_ms, 1e-3))
        .optional("Whole cell", Quantity::Fine("s"), timing(|time| time.total_ms, 1e-3))
        .optional("Median step", Quantity::Measured("ms"), timing(|time| time.step_ms_median, 1.0))
        .optional("Other work on the machine", Quantity::Text, |view| {
            view.done().and_then(|done| done.timing.as_ref()?.load).filter(Load::is_busy).map(other_work)
        })
        .optional("Machine", Quantity::Count, |view| study.machine(&Hardware::of(view.made_by()?)))
        .optional("Peak memory", Quantity::Number(0, "MiB"), |view| {
            let peak = view.done().and_then(|done| done.timing.as_ref()).map(|time| time.peak_rss_mib);
            let on_gpu = view.made_by().is_some_and(MadeBy::on_gpu);
            peak.filter(|&peak| peak > 0.0 && !on_gpu)
        })
        .column("Files", Quantity::Text, |view| links_to_files(view))
        .optional("Error", Quantity::Text, |view| match &view.state {
            CellResult::Failed { error, .. } => Some(crate::page::code(error)),
            _ => None,
        });
    columns.table(&study.cells)
}

/// What other work took of the processors' time, for a machine that was busy.
fn other_work(load: Load) -> String {
    let share = |share: Option<f64>, by: &str| {
        share.filter(|share| *share >= 0.005).map(|share| format!("{} % {by}", fixed(100.0 * share, 0)))
    };
    let parts = [share(load.others, "other programs"), share(load.stolen, "other virtual machines")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn selected_epoch(done: &Done) -> u32 {
    done.result.last().selected_epoch
}

/// Links from the report's folder to the cell's record and to the log of its run; nothing lies there before it has a record.
fn links_to_files(view: &CellView) -> String {
    let folder = view.cell.folder();
    match view.state {
        CellResult::Missing => "no record yet".into(),
        _ => format!("[{folder}](../cells/{folder}/record.json), [log](../cells/{folder}/metrics.jsonl)"),
    }
}
