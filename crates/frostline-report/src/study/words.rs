//! Sentences and words that several outputs share.

use frostline_record::{TaskSettings, Unit};

use crate::number;
use crate::page::Page;
use crate::study::cells::{CellResult, CellView, distinct};
use crate::study::groups::CellGroup;
use crate::study::whole::Study;

/// A notice in every output of a synthetic plan.
pub(crate) const SYNTHETIC: &str = "Synthetic data: its sentences are made up by a program. These numbers show nothing about any \
     real language.";

/// The same in few words, for a terminal and for figures.
pub(crate) const SYNTHETIC_SHORT: &str =
    "SYNTHETIC DATA: made-up sentences; no finding about any real language";

/// The banner of a synthetic plan.
pub(crate) fn write_banner(study: &Study, page: &mut Page) {
    if study.synthetic() {
        page.quote(format!("**{SYNTHETIC}**"));
    }
}

/// What the headline counts, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountedUnits {
    pub one: &'static str,
    pub many: &'static str,
}

pub(crate) const SENTENCES: CountedUnits = CountedUnits { one: "sentence", many: "sentences" };

/// What the headline of the cells counts; a neutral word if they differ in it.
pub(crate) fn counted_units(study: &Study) -> CountedUnits {
    match distinct(study.cells.iter().map(headline_unit)).as_slice() {
        [Unit::Sentences] => SENTENCES,
        [] | [Unit::Words] => CountedUnits { one: "word", many: "words" },
        _ => CountedUnits { one: "unit", many: "units" },
    }
}

fn headline_unit(view: &CellView) -> Unit {
    let settings = &view.cell.settings;
    settings.tasks.get(settings.headline()).map_or(Unit::Words, TaskSettings::unit)
}

/// What the cells learn: to tag words, to label sentences, or both.
pub(crate) fn what_is_learned(study: &Study) -> String {
    let tasks = study.cells.iter().flat_map(|view| view.cell.settings.tasks.values());
    let units: Vec<Unit> = distinct(tasks.map(TaskSettings::unit));
    let has = |unit| units.contains(&unit);
    let both = [(Unit::Words, "to tag words"), (Unit::Sentences, "to label sentences")];
    number::listed(
        &both.into_iter().filter(|(unit, _)| has(*unit)).map(|(_, say)| say.into()).collect::<Vec<_>>(),
    )
}

/// Further axes with their values: `optimizer.lr = 5e-5, train.batch = 16`.
pub(crate) fn extras_name(study: &Study, extras: &[String]) -> String {
    let parts: Vec<String> =
        study.axes().iter().zip(extras).map(|(axis, value)| format!("{axis} = {value}")).collect();
    parts.join(", ")
}

/// How many cells are done, failed and missing: `30 cells: 28 done, 1 failed, 1 missing`.
pub(crate) fn describe_progress(study: &Study) -> String {
    let count = |name: &str| {
        let cells = study.cells.iter();
        cells.filter(|view| view.state.name() == name).count()
    };
    let mut text = format!("{}: {} done", number::plural(study.cells.len(), "cell"), count("done"));
    for name in ["failed", "missing"] {
        if count(name) > 0 {
            text += &format!(", {} {name}", count(name));
        }
    }
    text
}

/// The seeds of a group as a table shows them: `3`, or `2 of 3` if some are not done.
pub(crate) fn show_seeds(group: &CellGroup) -> String {
    if group.seeds_done == group.seeds_planned {
        group.seeds_done.to_string()
    } else {
        format!("{} of {}", group.seeds_done, group.seeds_planned)
    }
}

/// How far the dev accuracies of a language may be off because dev is a sample.
pub(crate) fn sampling_error(study: &Study, lang: &str) -> Option<(u64, f64)> {
    let splits = study.groups_of(lang).filter_map(|group| group.dev.as_ref());
    splits
        .filter_map(|dev| Some((dev.words, dev.accuracy_interval?.half_width())))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Cells that are not done, with why.
pub(crate) fn undone_cells(study: &Study) -> Vec<(String, &'static str, String)> {
    let mut rows = Vec::new();
    for view in &study.cells {
        let why = match &view.state {
            CellResult::Done(_) => continue,
            CellResult::Failed { error, .. } => error.clone(),
            CellResult::Missing => "no record yet; the same sweep command runs it".into(),
        };
        let mut title = view.cell.title();
        let extras = extras_name(study, &view.extras);
        if !extras.is_empty() {
            title += &format!(", {extras}");
        }
        rows.push((title, view.state.name(), why));
    }
    rows
}

/// The headline's accuracy on dev, as the title of an axis.
pub(crate) const DEV_AXIS: &str = "dev accuracy, %";

/// A title that begins with the headline's accuracy on dev.
macro_rules! dev_accuracy {
    ($rest:literal) => {
        concat!("Dev accuracy", $rest)
    };
}

pub(crate) use dev_accuracy;
