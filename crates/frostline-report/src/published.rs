//! `published.md`: the published figures that the plan names, beside what this sweep found.
//!
//! There is no comparison where it would mislead: synthetic data has none, every setting that differs from the
//! reference's is named, and other tasks than its own are not compared.

mod differences;
mod stages;

use frostline_record::{CompareWith, Counted, PublishedRun, Reference, ReferenceData};

use frostline_score::MeanStd;

use crate::Report;
use crate::epoch::EpochStats;
use crate::number::{count, fixed, listed, or_dash, plus_minus, signed};
use crate::summary::{BASELINE, Group, distinct};
use crate::table::Table;

/// `published.md`.
pub(crate) fn page(report: &Report) -> String {
    let mut text = format!("# Published beside ours: {}\n\n", report.sweep.plan.name);
    text += &crate::page::banner(report);
    if report.synthetic() {
        text += "There is no comparison here. The languages of this sweep carry the short names \
                 of real ones, but their sentences come from a program. A published accuracy on \
                 real text beside an accuracy on made-up text would mean nothing.\n\n\
                 Run a plan on the real treebanks to see this page filled: \
                 `cargo xtask sweep --plan configs/paper.toml`.\n";
        return text;
    }
    let Some(reference) = &report.sweep.reference else {
        text += "There is no comparison here: the plan names no published figures. A plan sets them beside its own \
                 with `reference = \"FILE\"`; `configs/references/` holds some.\n";
        return text;
    };
    match reference.compare {
        CompareWith::Cells => text += &cells(report, reference),
        CompareWith::Stages => text += &stages::body(report, reference),
    }
    text
}

/// The reference's figures beside the end of cells with the same policy.
fn cells(report: &Report, reference: &Reference) -> String {
    let langs: Vec<&str> = report
        .langs()
        .into_iter()
        .filter(|lang| {
            reference.lang.get(*lang).is_some_and(|data| {
                labels_the_same(report, data, lang) && matches(report, data, lang).next().is_some()
            })
        })
        .collect();
    if langs.is_empty() {
        return no_match(reference, "this sweep has a result for none of these");
    }
    let mut text = opening(reference);
    differences::list(report, reference, &langs, &mut text);
    for lang in langs {
        language(report, reference, lang, &mut text);
    }
    text
}

/// What the page says first: whose figures these are.
fn opening(reference: &Reference) -> String {
    format!("Published figures: {}\n\n{}\n", reference.citation, reference.about.trim())
}

/// That nothing can be compared, and what could be.
fn no_match(reference: &Reference, why: &str) -> String {
    let quoted =
        |names: Vec<&String>| listed(&names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>());
    let langs = quoted(reference.lang.keys().collect());
    let policies = quoted(distinct(reference.lang.values().flat_map(|data| data.policy.keys())));
    format!(
        "There is no comparison here: the {} published {langs} with the policies {policies}, and {why}.\n\n\
         Published figures: {}\n",
        reference.name, reference.citation
    )
}

/// A reference's name at the start of a sentence or head.
fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What a reference says of a kind of figure, as a paragraph; nothing where it says nothing.
fn defined(reference: &Reference, figure: &str) -> String {
    reference.defined.get(figure).map_or_else(String::new, |words| format!("\n{}\n", words.trim()))
}

/// Whether a language's headline is the reference's task: its own data with the same labels.
fn labels_the_same(report: &Report, data: &ReferenceData, lang: &str) -> bool {
    let mut cells = report.cells.iter().map(|view| &view.cell.settings).filter(|s| s.lang == lang);
    cells.all(|settings| {
        let task = settings.tasks.get(settings.headline());
        task.is_some_and(|task| task.labels == data.labels && settings.dataset_of(task) == lang)
    })
}

/// Groups with a result whose policy the reference has too.
fn matches<'a>(
    report: &'a Report,
    data: &'a ReferenceData,
    lang: &'a str,
) -> impl Iterator<Item = (&'a Group, &'a PublishedRun)> {
    report.groups_of(lang).filter_map(|group| {
        let run = data.policy.get(&group.policy)?;
        group.dev.as_ref().map(|_| (group, run))
    })
}

fn language(report: &Report, reference: &Reference, lang: &str, text: &mut String) {
    let data = &reference.lang[lang];
    *text += &format!("\n## {}\n\n", report.lang_title(lang));
    let (name, study) = (&reference.name, capital(&reference.name));
    let head = |last: &[String]| {
        let mut table = Table::default().left("Frozen", 0);
        for axis in report.axes() {
            table = table.left(format!("`{axis}`"), 0);
        }
        last.iter().fold(table, |table, head| table.right(head, u8::from(head.starts_with(&study))))
    };
    let mut accuracy =
        head(&[format!("{study} %"), "Ours %".into(), format!("Ours − {name}, points"), "Our seeds".into()]);
    let both = ["steps", "trainable", "trainable %", "s", "time saving %", "samples/s", "steps/s"];
    let both: Vec<String> =
        both.iter().flat_map(|what| [format!("{study}: {what}"), format!("Ours: {what}")]).collect();
    let mut cost = head(&both);
    for (group, run) in matches(report, data, lang) {
        accuracy.row(key(group).chain(accuracy_row(reference, group, run)));
        cost.row(key(group).chain(cost_row(group, run, reference, data)));
    }
    *text += &accuracy.markdown();
    *text += &defined(reference, "dev_accuracy");
    text.push('\n');
    *text += &cost.markdown();
    epochs(report, reference, lang, text);
}

fn key(group: &Group) -> impl Iterator<Item = String> {
    std::iter::once(group.policy.clone()).chain(group.extras.iter().cloned())
}

/// The accuracy of ours that counts what the reference counts.
fn ours_of(reference: &Reference, all: MeanStd, at_label_positions: MeanStd) -> MeanStd {
    match reference.counts {
        Counted::All => all,
        Counted::LabelPositions => at_label_positions,
    }
}

fn accuracy_row(reference: &Reference, group: &Group, run: &PublishedRun) -> [String; 4] {
    let theirs = run.dev_accuracy.last().copied();
    let ours = group.dev.as_ref().map(|dev| ours_of(reference, dev.accuracy, dev.study_accuracy));
    let gap = theirs.zip(ours).map(|(theirs, ours)| ours.mean - theirs);
    [
        or_dash(theirs, |theirs| fixed(theirs * 100.0, 2)),
        or_dash(ours, |ours| plus_minus(ours.times(100.0), 2)),
        or_dash(gap, |gap| signed(gap * 100.0, 2)),
        group.seeds_done.to_string(),
    ]
}

fn cost_row(group: &Group, run: &PublishedRun, reference: &Reference, data: &ReferenceData) -> [String; 14] {
    let baseline = data.policy.get(BASELINE).and_then(|base| base.train_s);
    let their_saving = run.train_s.zip(baseline).map(|(own, base)| 1.0 - own / base);
    let ours = group.parameters.as_ref();
    let times = group.times.as_ref();
    let share = run.trainable.zip(reference.total_parameters).map(|(part, all)| part as f64 / all as f64);
    [
        or_dash(run.steps, count),
        or_dash(group.steps, count),
        or_dash(run.trainable, count),
        or_dash(ours, |p| count(p.trainable)),
        or_dash(share, |share| fixed(share * 100.0, 1)),
        or_dash(ours, |p| fixed(p.trainable_share * 100.0, 1)),
        or_dash(run.train_s, |s| fixed(s, 0)),
        or_dash(times, |times| fixed(times.train_s.mean, 0)),
        or_dash(their_saving, |saving| fixed(saving * 100.0, 1)),
        or_dash(group.train_time_saving, |saving| plus_minus(saving.times(100.0), 1)),
        or_dash(run.samples_per_s, |speed| fixed(speed, 1)),
        or_dash(times, |times| fixed(times.samples_per_s.mean, 1)),
        or_dash(run.steps_per_s, |speed| fixed(speed, 2)),
        or_dash(times, |times| fixed(times.steps_per_s.mean, 2)),
    ]
}

/// Accuracy and losses per epoch, the reference's row above ours.
fn epochs(report: &Report, reference: &Reference, lang: &str, text: &mut String) {
    type Theirs = fn(&PublishedRun) -> &[f64];
    let data = &reference.lang[lang];
    let accuracy = |row: &EpochStats| ours_of(reference, row.dev_accuracy, row.dev_study_accuracy);
    let dev_loss = |row: &EpochStats| row.dev_loss_nats;
    let train_loss = |row: &EpochStats| row.train_loss_nats;
    let tables: [(&str, f64, usize, Theirs, &dyn Fn(&EpochStats) -> MeanStd); 3] = [
        ("Dev accuracy % after each epoch", 100.0, 2, |run| &run.dev_accuracy, &accuracy),
        ("Dev loss after each epoch, nats", 1.0, 4, |run| &run.dev_loss_nats, &dev_loss),
        ("Train loss of each epoch, nats", 1.0, 4, |run| &run.train_loss_nats, &train_loss),
    ];
    for (title, factor, decimals, theirs, ours) in tables {
        let pairs: Vec<_> = matches(report, data, lang).collect();
        if pairs.iter().all(|(_, run)| theirs(run).is_empty()) {
            continue;
        }
        *text += &format!("\n### {title}\n\n");
        let longest =
            pairs.iter().flat_map(|(group, run)| [group.epochs.len(), theirs(run).len()]).max().unwrap_or(0);
        let mut table = Table::default().left("Frozen", 0);
        for axis in report.axes() {
            table = table.left(format!("`{axis}`"), 0);
        }
        table = table.left("Whose", 0);
        for epoch in 1..=longest {
            table = table.right(epoch.to_string(), 0);
        }
        for (group, run) in pairs {
            let published =
                (0..longest).map(|i| or_dash(theirs(run).get(i), |v| fixed(v * factor, decimals)));
            let mine = (0..longest)
                .map(|i| or_dash(group.epochs.get(i), |row| plus_minus(ours(row).times(factor), decimals)));
            table.row(key(group).chain([reference.name.clone()]).chain(published));
            table.row(key(group).chain(["ours".to_string()]).chain(mine));
        }
        *text += &table.markdown();
        if title.starts_with("Train loss") {
            *text += &defined(reference, "train_loss_nats");
        }
    }
}
