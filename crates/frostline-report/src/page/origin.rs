//! Owns what the page says about itself: caveats, settings, inputs, and who made the records.
//!
//! Refuses silence: what is not in the report, and what speaks against it, is said.

use std::collections::BTreeSet;

use frostline_record::{Select, Settings};

use crate::Report;
use crate::json;
use crate::number::{NONE, count, listed, plural};
use crate::page::{paragraph, section};
use crate::summary::distinct;
use crate::table::Table;
use crate::words;

/// What to keep in mind, from what the records show.
pub(super) fn caveats(report: &Report, text: &mut String) {
    section(text, 2, "What to keep in mind");
    let mut points = Vec::new();
    if report.synthetic() {
        points.push(words::SYNTHETIC.to_string());
    }
    points.extend(seeds(report));
    points.extend(picked_on_dev(report));
    points.extend(lost_words(report));
    points.extend(frozen(report));
    points.extend(unmoved(report));
    let makers = report.makers().len();
    if makers > 1 {
        points.push(format!(
            "**The records come from {makers} different programs or machines** (see the end of \
             this page). Times from different machines must not be compared."
        ));
    }
    if report.strays > 0 {
        points.push(format!(
            "{} in the folder belong to no cell of this sweep and are left out.",
            plural(report.strays, "record")
        ));
    }
    if report.sweep.plan.jobs > 1 {
        points.push(format!(
            "Up to {} cells ran at a time. They share one machine, so their times are longer and \
             noisier than those of one cell alone.",
            report.sweep.plan.jobs
        ));
    }
    points.push(
        "Times hold for this machine and this day only. Savings carry over better than seconds.".into(),
    );
    points.extend(unread(report));
    let missing = match words::units(report) {
        _ if !report.errors.is_empty() => "",
        words::SENTENCES => "significance tests from predictions, and ",
        _ => "per-tag scores, confusions, significance tests from predictions, and ",
    };
    points.push(format!(
        "Not in this report: {missing}any setting that the plan does not vary. The predictions are stored \
         with each cell."
    ));
    for point in points {
        *text += &format!("- {point}\n");
    }
}

fn seeds(report: &Report) -> Vec<String> {
    let done = || report.groups.iter().map(|group| group.seeds_done);
    let mut points = Vec::new();
    if done().any(|seeds| seeds == 0) {
        points.push("Some rows have no result at all; they show dashes.".into());
    }
    match done().filter(|&seeds| seeds > 0).min() {
        Some(1) => points.push(
            "**Some rows rest on a single seed.** They have no ±, and another seed would give \
             other numbers. Differences between them cannot be told from chance over seeds."
                .into(),
        ),
        Some(fewest @ 2..5) => {
            points.push(format!("Standard deviations over {fewest} seeds are themselves rough."))
        }
        _ => {}
    }
    points
}

/// Predictions that the report could not use.
fn unread(report: &Report) -> Option<String> {
    let left_out = &report.predictions.left_out;
    let first = left_out.first()?;
    Some(format!(
        "**{} of predictions could not be used**, so F1, confusions and what else is counted from them lack them. The first is {first}.",
        plural(left_out.len(), "file")
    ))
}

/// A dev split that chose the epoch cannot judge it fairly.
fn picked_on_dev(report: &Report) -> Option<String> {
    let best = |settings: &Settings| {
        let stages = settings.in_stages().unwrap_or_default();
        settings.train.select == Select::Best || stages.iter().any(|(_, s)| s.train.select == Select::Best)
    };
    report.cells.iter().any(|view| best(&view.cell.settings)).then(|| {
        "The best epoch was picked on dev, so dev accuracies are a little too high. Test \
             accuracies are not touched by this."
            .into()
    })
}

/// Words that counted as wrong without the model having had a say, per language.
fn lost_words(report: &Report) -> Vec<String> {
    let mut points = Vec::new();
    let units = words::units(report);
    for lang in report.langs() {
        let scores = report.cells.iter().filter(|v| v.cell.settings.lang == lang);
        let lost = scores.filter_map(|view| {
            let dev = view.done()?.score("dev")?;
            let lost = dev.truncated + dev.vanished + dev.unseen;
            (lost > 0).then_some((lost, dev))
        });
        let Some((lost, dev)) = lost.max_by_key(|(lost, _)| *lost) else {
            continue;
        };
        let tags = if dev.unseen_tags.is_empty() {
            String::new()
        } else {
            format!(" ({})", dev.unseen_tags.join(", "))
        };
        points.push(format!(
            "**{lang}**: {} of {} dev {} count as wrong whatever the model says: {} lost to \
             truncation, {} without any subword, {} with a tag that train lacks{tags}. The \
             study's accuracy leaves them out.",
            count(lost),
            count(dev.words),
            units.many,
            count(dev.truncated),
            count(dev.vanished),
            count(dev.unseen),
        ));
    }
    points
}

fn frozen(report: &Report) -> Option<String> {
    let done = report.cells.iter().filter(|view| view.done().is_some()).count();
    (done > 0).then(|| {
        format!(
            "Frozen means frozen: in the {} that are done, each frozen parameter was compared bit by bit \
             with its start. A cell in which one had changed would stand here as failed.",
            plural(done, "cell")
        )
    })
}

fn unmoved(report: &Report) -> Option<String> {
    let done: Vec<_> = report.cells.iter().filter_map(|view| view.done()).collect();
    let unmoved: BTreeSet<String> = done
        .iter()
        .flat_map(|done| done.result.stages.iter().flat_map(|stage| stage.freezing.unmoved.iter()))
        .map(|path| format!("`{path}`"))
        .collect();
    if unmoved.is_empty() {
        return None;
    }
    let cells = done
        .iter()
        .filter(|done| done.result.stages.iter().any(|stage| !stage.freezing.unmoved.is_empty()))
        .count();
    Some(format!(
        "In {} some parameters were free to learn but did not move: {}.",
        plural(cells, "cell"),
        listed(&unmoved.into_iter().collect::<Vec<_>>())
    ))
}

/// The plan's settings.
pub(super) fn settings(report: &Report, text: &mut String) {
    section(text, 2, "Settings");
    let plan = &report.sweep.plan;
    let axes: Vec<String> = plan
        .axes()
        .iter()
        .map(|axis| {
            let values: Vec<String> = plan.grid[*axis].iter().map(ToString::to_string).collect();
            format!("- `{axis}` takes {}\n", values.join(", "))
        })
        .collect();
    if !axes.is_empty() {
        paragraph(text, "The grid:");
        *text += &axes.concat();
        text.push('\n');
    }
    if !report.sweep.overrides.is_empty() {
        let overrides: Vec<String> = report.sweep.overrides.iter().map(|set| format!("`{set}`")).collect();
        paragraph(text, &format!("Set on the command line: {}.", listed(&overrides)));
    }
    paragraph(text, "Shared by all cells:");
    let mut shared = toml::Table::try_from(&plan.settings).unwrap_or_default();
    for axis in plan.axes() {
        remove(&mut shared, axis);
    }
    *text += &format!("```toml\n{}\n```\n", shared.to_string().trim_end());
}

/// Takes the setting at a dotted path out of a table.
fn remove(table: &mut toml::Table, path: &str) {
    match path.split_once('.') {
        None => {
            table.remove(path);
        }
        Some((first, rest)) => {
            if let Some(inner) = table.get_mut(first).and_then(toml::Value::as_table_mut) {
                remove(inner, rest);
            }
        }
    }
}

/// Every file that was read, with its hash.
pub(super) fn inputs(report: &Report, text: &mut String) {
    section(text, 2, "Inputs");
    let mut table = Table::default()
        .left("Languages", 0)
        .left("Role", 0)
        .left("File", 0)
        .right("Bytes", 0)
        .left("SHA-256", 0);
    let inputs = json::inputs(report);
    let files = distinct(
        inputs.values().flatten().flat_map(|files| files.iter().map(|(role, file)| (role, &file.sha256))),
    );
    for (role, sha256) in files {
        let holds = |lang: &&str| {
            let mut of_lang = inputs.get(*lang).into_iter().flatten();
            of_lang.any(|files| files.get(role).is_some_and(|f| f.sha256 == *sha256))
        };
        let langs: Vec<&str> = report.langs().into_iter().filter(holds).collect();
        let file =
            inputs.values().flatten().filter_map(|files| files.get(role)).find(|file| file.sha256 == *sha256);
        let Some(file) = file else { continue };
        table.row([
            langs.join(", "),
            role.clone(),
            format!("`{}`", short(&file.path)),
            count(file.bytes),
            format!("`{}`", file.sha256),
        ]);
    }
    *text += &table.markdown();
}

/// The last two parts of a path: enough to know the file, nothing about the machine.
fn short(path: &str) -> String {
    let parts: Vec<&str> = path.rsplitn(3, ['/', '\\']).take(2).collect();
    match parts.as_slice() {
        [file, folder] => format!("{folder}/{file}"),
        _ => path.into(),
    }
}

/// Versions and machines.
pub(super) fn made_by(report: &Report, text: &mut String) {
    section(text, 2, "Who made the records");
    let makers = report.makers();
    if makers.is_empty() {
        *text += "There is no record yet.\n";
        return;
    }
    if makers.len() > 1 {
        paragraph(text, "> **Warning:** the records differ in who made them. Read times with care.");
    }
    let mut table = Table::default()
        .right("Records", 0)
        .left("Frostline", 0)
        .left("Revision", 0)
        .left("Code", 0)
        .left("Backend", 0)
        .left("Device", 0)
        .left("Instructions", 0)
        .right("Threads", 0);
    for (by, records) in makers {
        let or_none = |text: &str| {
            if text.is_empty() { NONE.into() } else { text.to_string() }
        };
        table.row([
            records.to_string(),
            by.version.clone(),
            or_none(&by.revision),
            or_none(&by.code),
            by.backend.clone(),
            by.device.clone(),
            by.isa.clone(),
            by.threads.to_string(),
        ]);
    }
    *text += &table.markdown();
}
