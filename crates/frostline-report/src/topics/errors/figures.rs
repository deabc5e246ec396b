//! The figures of errors: F1 of each tag, and accuracy by what train knows of a word.

use crate::chart::{
    Bar, BarPanel, BarRow, Bars, Chart, Figure, Heat, HeatColour, HeatField, HeatPanel, Lengths, Theme,
};
use crate::chart::{ChartNote, Tone};
use crate::number::{count, fixed};
use crate::study::words::counted_units;
use crate::study::words::{DEV_AXIS, dev_accuracy};
use crate::study::{Placed, Study, panels};
use crate::topics::errors::counts::{GroupErrors, Strata, StratumErrors, TagErrors, WordErrors};
use crate::topics::errors::part::{COLUMNS, named_groups};

/// The groups that a figure shows of each panel, with the panel's title.
fn shown_groups<'a>(study: &Study, found: &'a WordErrors) -> Vec<(String, Vec<&'a GroupErrors>)> {
    let maps = panels(study).into_iter().map(|panel| {
        let of_panel = panel.groups.iter().filter_map(|group| {
            found.groups.iter().find(|one| one.split == "dev" && one.place() == group.place())
        });
        let rows: Vec<&GroupErrors> = of_panel.collect();
        let named = named_groups(&rows);
        (panel.title, rows.into_iter().zip(named).filter(|(_, n)| *n).map(|(row, _)| row).collect())
    });
    maps.filter(|(_, rows): &(String, Vec<&GroupErrors>)| !rows.is_empty()).collect()
}

/// F1 of tags: a row per policy, a column per tag.
pub(super) fn f1_by_tag(study: &Study, found: &WordErrors) -> Figure {
    let shown = shown_groups(study, found);
    let mut notes: Vec<ChartNote> = vec![
        "Number: F1 on dev in percent, the mean over seeds. The darker a field, the more is missing to 100. \
         Below a tag is the number of its words."
            .into(),
    ];
    if shown.iter().flat_map(|(_, rows)| rows).any(|row| row.tags.len() > COLUMNS) {
        notes.push(format!("Only the {COLUMNS} most frequent tags are shown.").into());
    }
    notes.extend(omitted_note(study, found).map(ChartNote::Text));
    Figure {
        path: "figures/tags.svg",
        title: "F1 of each tag on dev",
        theme: Theme::Errors,
        about:
            "A row per policy, a column per tag, the most frequent first. The darker a field, the more is \
                missing to an F1 of 100."
                .into(),
        chart: Chart::Heat(Heat {
            panels: shown.iter().map(|(title, rows)| heat_panel(title, rows)).collect(),
            colour: HeatColour::Missing,
        }),
        notes,
        across: 1,
    }
}

/// Accuracy by what train knows of a word: three bars per policy.
pub(super) fn accuracy_by_familiarity(study: &Study, found: &WordErrors) -> Figure {
    let bars = |group: &GroupErrors| -> Vec<Bar> {
        let bar = |(name, shown): (&str, &str)| {
            let found = group.strata.iter().find(|found| found.by == Strata::Train && found.name == name)?;
            Some(Bar::of_share(shown, found.accuracy, found.interval))
        };
        let names = [("unknown", "unknown"), ("ambiguous", "several tags"), ("unambiguous", "one tag")];
        names.into_iter().filter_map(bar).collect()
    };
    let note = "Mark and number: mean accuracy on words that train lacks, that have several tags there, and that have \
                one. Thin line: 95 % Wilson interval at their number.";
    Figure {
        path: "figures/familiarity.svg",
        title: dev_accuracy!(" by what train knows of a word"),
        about: "Three marks per policy: words that train lacks, words with several tags there, and words with one."
            .into(),
        ..by_stratum(study, found, note, bars)
    }
}

/// Accuracy by length of sentence: a bar for each length per policy.
pub(super) fn accuracy_by_length(study: &Study, found: &WordErrors) -> Figure {
    let bars = |group: &GroupErrors| -> Vec<Bar> {
        let of_length = group.strata.iter().filter(|found| found.by == Strata::Length && found.words > 0);
        let bar = |found: &StratumErrors| {
            let shown = format!("{} words", found.name.replace('-', " to ").replace('+', " or more"));
            Bar::of_share(shown, found.accuracy, found.interval)
        };
        of_length.map(bar).collect()
    };
    let note = "Mark and number: mean accuracy on words of sentences with so many labelled words. Thin line: 95 % \
                Wilson interval at their number.";
    Figure {
        path: "figures/length.svg",
        title: dev_accuracy!(" by length of sentence"),
        about: "A mark for each length of sentence per policy, the shortest first.".into(),
        ..by_stratum(study, found, note, bars)
    }
}

/// A figure of several bars per policy, without its name and title.
fn by_stratum(
    study: &Study,
    found: &WordErrors,
    note: &str,
    bars: impl Fn(&GroupErrors) -> Vec<Bar>,
) -> Figure {
    let row = |group: &&GroupErrors| BarRow {
        name: group.policy.clone(),
        tone: Tone::Policy(study.place_of(&group.policy)),
        bars: bars(group),
    };
    let shown = shown_groups(study, found).into_iter();
    let panels = shown.map(|(title, rows)| BarPanel::new(title, DEV_AXIS, rows.iter().map(row).collect()));
    let lengths = Lengths::Groups;
    let bars = Bars { lengths, panels: panels.collect(), interval: "95 % interval", diamond: "" };
    Figure {
        path: "",
        title: "",
        theme: Theme::Errors,
        about: String::new(),
        chart: Chart::Bars(bars),
        notes: [note.into()].into_iter().chain(omitted_note(study, found).map(ChartNote::Text)).collect(),
        across: 2,
    }
}

/// How many rows figures omit.
fn omitted_note(study: &Study, found: &WordErrors) -> Option<String> {
    let shown: usize = shown_groups(study, found).iter().map(|(_, rows)| rows.len()).sum();
    let all = found.groups.iter().filter(|group| group.split == "dev").count();
    let units = counted_units(study).many;
    (shown < all).then(|| {
        format!(
            "Of {all} rows, {shown} are drawn: those with the most and the fewest right {units}, and the \
             baseline."
        )
    })
}

fn heat_panel(title: &str, rows: &[&GroupErrors]) -> HeatPanel {
    let tags: Vec<&TagErrors> = rows[0].tags.iter().take(COLUMNS).collect();
    let field = |row: &GroupErrors, tag: &str| {
        let found = row.tags.iter().find(|other| other.tag == tag)?;
        Some(HeatField { label: fixed(100.0 * found.f1.mean, 1), shade: shade_of_f1(found.f1.mean) })
    };
    let fields = |row: &GroupErrors| tags.iter().map(|tag| field(row, &tag.tag)).collect();
    HeatPanel {
        title: title.into(),
        columns: tags.iter().map(|tag| vec![tag.tag.clone(), count(tag.support)]).collect(),
        rows: rows.iter().map(|row| (row.policy.clone(), fields(row))).collect(),
    }
}

/// How dark a field is: the same step for the same factor of errors, from 0.1 % to half; never so dark
/// that its number is hard to read.
fn shade_of_f1(f1: f64) -> f64 {
    let missing = (1.0 - f1).clamp(0.001, 0.5);
    0.02 + 0.63 * (missing / 0.001).ln() / 500_f64.ln()
}
