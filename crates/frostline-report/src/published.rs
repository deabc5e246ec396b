//! Owns `published.md`: what the study published, beside what this sweep found.
//!
//! Refuses a comparison where it would mislead: synthetic data has none, and every setting that
//! differs from the study's is named. Refuses tasks other than the study's.

mod differences;
mod sibling;
mod sst2;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Report;
use crate::number::{count, fixed, or_dash, plus_minus, signed};
use crate::summary::{BASELINE, Group};
use crate::table::Table;

/// The study's figures; see the head of the file for their source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Study {
    total_parameters: u64,
    lang: BTreeMap<String, Language>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    treebank: String,
    policy: BTreeMap<String, Figures>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    dev_accuracy: Vec<f64>,
    dev_loss_nats: Vec<f64>,
    train_loss_nats: Vec<f64>,
    trainable: u64,
    steps: u64,
    train_s: f64,
    samples_per_s: f64,
    steps_per_s: f64,
}

impl Study {
    fn load() -> Self {
        toml::from_str(include_str!("../data/published.toml")).expect("a test reads the same embedded file")
    }
}

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
    if report.sweep.plan.name == sst2::PLAN {
        return text + &sst2::body(report);
    }
    let study = Study::load();
    let langs: Vec<&str> = report
        .langs()
        .into_iter()
        .filter(|lang| study.lang.contains_key(*lang))
        .filter(|lang| tags_upos(report, lang))
        .filter(|lang| matches(report, &study.lang[*lang], lang).next().is_some())
        .collect();
    if langs.is_empty() {
        text += "There is no comparison here: the study published `en` and `pcm` with the policies \
                 `none`, `all`, `first-2`, `first-4` and `alternating`, and this sweep has a \
                 result for none of these.\n";
        return text;
    }
    text += "The study fine-tuned distilbert-base-multilingual-cased on Universal Dependencies \
             2.16 with Hugging Face Trainer on one NVIDIA T4. It ran each policy once, with seed \
             42. Its accuracy counts only words that the model could answer, so the column *ours* \
             does the same here. Other pages of this report count every word.\n\n\
             The study's seconds and ours come from different machines. Compare the savings, not \
             the seconds. The study timed whole runs, with the evaluation after every epoch; ours \
             are training steps alone.\n";
    differences::list(report, &study, &langs, &mut text);
    for lang in langs {
        language(report, &study, lang, &mut text);
    }
    text
}

/// Whether a language's headline is the study's task: its own words' universal parts of speech.
fn tags_upos(report: &Report, lang: &str) -> bool {
    let mut cells = report.cells.iter().map(|view| &view.cell.settings).filter(|s| s.lang == lang);
    cells.all(|settings| {
        let task = settings.tasks.get(settings.headline());
        task.is_some_and(|task| task.labels == "upos" && settings.dataset_of(task) == lang)
    })
}

/// Groups with a result whose policy the study ran too.
fn matches<'a>(
    report: &'a Report,
    language: &'a Language,
    lang: &'a str,
) -> impl Iterator<Item = (&'a Group, &'a Figures)> {
    report.groups_of(lang).filter_map(|group| {
        let figures = language.policy.get(&group.policy)?;
        group.dev.as_ref().map(|_| (group, figures))
    })
}

fn language(report: &Report, study: &Study, lang: &str, text: &mut String) {
    let language = &study.lang[lang];
    *text += &format!("\n## {}\n\n", report.lang_title(lang));
    let head = |last: &[&str]| {
        let mut table = Table::default().left("Frozen", 0);
        for axis in report.axes() {
            table = table.left(format!("`{axis}`"), 0);
        }
        last.iter().fold(table, |table, head| table.right(*head, 0))
    };
    let mut accuracy = head(&["Study %", "Ours %", "Ours − study, points", "Our seeds"]);
    let mut cost = head(&[
        "Study: steps",
        "Ours: steps",
        "Study: trainable",
        "Ours: trainable",
        "Study: trainable %",
        "Ours: trainable %",
        "Study: s",
        "Ours: s",
        "Study: time saving %",
        "Ours: time saving %",
        "Study: samples/s",
        "Ours: samples/s",
        "Study: steps/s",
        "Ours: steps/s",
    ]);
    for (group, figures) in matches(report, language, lang) {
        accuracy.row(key(group).chain(accuracy_row(group, figures)));
        cost.row(key(group).chain(cost_row(group, figures, study, language)));
    }
    *text += &accuracy.markdown();
    *text += "\nAccuracy on dev after the last epoch, speaking positions only.\n\n";
    *text += &cost.markdown();
    epochs(report, language, lang, text);
}

fn key(group: &Group) -> impl Iterator<Item = String> {
    std::iter::once(group.policy.clone()).chain(group.extras.iter().cloned())
}

fn accuracy_row(group: &Group, figures: &Figures) -> [String; 4] {
    let theirs = figures.dev_accuracy.last().copied();
    let ours = group.dev.as_ref().map(|dev| dev.study_accuracy);
    let gap = theirs.zip(ours).map(|(theirs, ours)| ours.mean - theirs);
    [
        or_dash(theirs, |theirs| fixed(theirs * 100.0, 2)),
        or_dash(ours, |ours| plus_minus(ours.times(100.0), 2)),
        or_dash(gap, |gap| signed(gap * 100.0, 2)),
        group.seeds_done.to_string(),
    ]
}

fn cost_row(group: &Group, figures: &Figures, study: &Study, language: &Language) -> [String; 14] {
    let baseline = language.policy.get(BASELINE);
    let their_saving = baseline.map(|base| 1.0 - figures.train_s / base.train_s);
    let ours = group.parameters.as_ref();
    let times = group.times.as_ref();
    let share = figures.trainable as f64 / study.total_parameters as f64;
    [
        count(figures.steps),
        or_dash(group.steps, count),
        count(figures.trainable),
        or_dash(ours, |p| count(p.trainable)),
        fixed(share * 100.0, 1),
        or_dash(ours, |p| fixed(p.trainable_share * 100.0, 1)),
        fixed(figures.train_s, 0),
        or_dash(times, |times| fixed(times.train_s.mean, 0)),
        or_dash(their_saving, |saving| fixed(saving * 100.0, 1)),
        or_dash(group.train_time_saving, |saving| plus_minus(saving.times(100.0), 1)),
        fixed(figures.samples_per_s, 1),
        or_dash(times, |times| fixed(times.samples_per_s.mean, 1)),
        fixed(figures.steps_per_s, 2),
        or_dash(times, |times| fixed(times.steps_per_s.mean, 2)),
    ]
}

/// Accuracy and losses per epoch, the study's row above ours.
fn epochs(report: &Report, language: &Language, lang: &str, text: &mut String) {
    type Theirs = fn(&Figures) -> &[f64];
    type Ours = fn(&crate::epoch::EpochStats) -> frostline_score::MeanStd;
    let tables: [(&str, f64, usize, Theirs, Ours); 3] = [
        ("Dev accuracy % after each epoch", 100.0, 2, |f| &f.dev_accuracy, |row| row.dev_study_accuracy),
        ("Dev loss after each epoch, nats", 1.0, 4, |f| &f.dev_loss_nats, |row| row.dev_loss_nats),
        ("Train loss of each epoch, nats", 1.0, 4, |f| &f.train_loss_nats, |row| row.train_loss_nats),
    ];
    for (title, factor, decimals, theirs, ours) in tables {
        *text += &format!("\n### {title}\n\n");
        let pairs: Vec<_> = matches(report, language, lang).collect();
        let longest = pairs
            .iter()
            .flat_map(|(group, figures)| [group.epochs.len(), theirs(figures).len()])
            .max()
            .unwrap_or(0);
        let mut table = Table::default().left("Frozen", 0);
        for axis in report.axes() {
            table = table.left(format!("`{axis}`"), 0);
        }
        table = table.left("Whose", 0);
        for epoch in 1..=longest {
            table = table.right(epoch.to_string(), 0);
        }
        for (group, figures) in pairs {
            let study =
                (0..longest).map(|i| or_dash(theirs(figures).get(i), |v| fixed(v * factor, decimals)));
            let mine = (0..longest)
                .map(|i| or_dash(group.epochs.get(i), |row| plus_minus(ours(row).times(factor), decimals)));
            table.row(key(group).chain(["study".to_string()]).chain(study));
            table.row(key(group).chain(["ours".to_string()]).chain(mine));
        }
        *text += &table.markdown();
        if title.starts_with("Train loss") {
            *text += "\nThe study shows the loss that it logged last in the epoch, a mean over at most \
                      50 steps; ours is the mean of all steps of the epoch.\n";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_figures_are_whole() {
        let study = Study::load();
        assert_eq!(study.total_parameters, 134_741_770);
        let langs: Vec<_> = study.lang.keys().map(String::as_str).collect();
        assert_eq!(langs, ["en", "pcm"]);
        for language in study.lang.values() {
            assert_eq!(language.policy.len(), 5);
            for figures in language.policy.values() {
                for list in [&figures.dev_accuracy, &figures.dev_loss_nats, &figures.train_loss_nats] {
                    assert_eq!(list.len(), 5);
                }
                let steps = figures.train_s * figures.steps_per_s;
                assert!((steps / figures.steps as f64 - 1.0).abs() < 1e-3, "{steps}");
                assert!(figures.samples_per_s > figures.steps_per_s);
            }
            let all = &language.policy["all"];
            assert!(all.dev_accuracy[4] < language.policy[BASELINE].dev_accuracy[4]);
        }
        assert_eq!(study.lang["en"].policy[BASELINE].trainable, 134_741_770);
    }
}
