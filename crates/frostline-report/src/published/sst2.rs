//! Owns `published.md` of a plan named `sst2`: what the study's sibling published on sentiment, beside
//! what this sweep found.
//!
//! Refuses to pair runs by anything but what learned: the head alone, or everything.

use frostline_record::Settings;
use frostline_score::Confusion;

use crate::Report;
use crate::number::{count, fixed, or_dash, plus_minus, signed, signed_plus_minus};
use crate::published::sibling::{Run, Sibling};
use crate::sentences::{self, SentenceStats};
use crate::stages::{StageStats, TaskStats, score_at, value};
use crate::summary::{CellView, Group, distinct};
use crate::table::Table;
use frostline_score::MeanStd;

/// The plan whose page this is.
pub(super) const PLAN: &str = "sst2";

/// A run of ours that learned what one of the sibling's did.
struct Ours<'a> {
    group: &'a Group,
    /// The stage's place in its cells.
    at: usize,
    stage: &'a StageStats,
    task: &'a TaskStats,
    found: Option<&'a SentenceStats>,
}

/// What follows the title and the banner.
pub(super) fn body(report: &Report) -> String {
    let sibling = Sibling::load();
    let found = sentences::of(report);
    let ours: Vec<Vec<Ours<'_>>> =
        sibling.runs().iter().map(|(policy, ..)| runs_with(report, &found, policy)).collect();
    if ours.iter().all(Vec::is_empty) {
        return "There is no comparison here: the sibling study published one run in which the head alone \
                learned and one in which everything did. This sweep has no result of a stage with the \
                policy `head-only` or `none`.\n"
            .into();
    }
    let mut text = String::from(
        "A sibling of the study fine-tuned distilbert-base-uncased on the sentiment of SST-2, once with the \
         head alone and once with everything learning. Each is a single run. Its test split was cut from \
         the train file, and its dev split is the public one. Here stand its figures beside the stages of \
         this sweep that froze the same.\n",
    );
    differences(report, &sibling, &mut text);
    results(report, &sibling, &ours, &mut text);
    improvement(report, &sibling, &ours, &mut text);
    epochs(&sibling, &ours, &mut text);
    confusions(&sibling, &ours, &mut text);
    text
}

fn runs_with<'a>(report: &'a Report, found: &'a [SentenceStats], policy: &str) -> Vec<Ours<'a>> {
    let stages = report.groups.iter().flat_map(|group| {
        let stages = group.stages.iter().enumerate();
        stages.map(move |(at, stage)| (group, at, stage))
    });
    let same = stages.filter(|(_, _, stage)| stage.policy == policy);
    let learned = same.filter_map(|(group, at, stage)| Some((group, at, stage, stage.tasks.first()?)));
    learned
        .filter(|(.., task)| task.learned)
        .map(|(group, at, stage, task)| Ours {
            group,
            at,
            stage,
            task,
            found: found.iter().find(|found| {
                (&found.lang, &found.policy, &found.extras) == (&group.lang, &group.policy, &group.extras)
                    && (&found.stage, &found.task, found.split) == (&stage.name, &task.task, "test")
            }),
        })
        .collect()
}

impl Ours<'_> {
    fn name(&self) -> String {
        let extras = self.group.extras.iter().cloned();
        let mut parts = vec![self.group.lang.clone(), self.group.policy.clone()];
        parts.extend(extras);
        if self.group.stages.len() > 1 {
            parts.push(self.stage.name.clone());
        }
        parts.join(", ")
    }

    /// Whether the other differs in what learned alone.
    fn is_beside(&self, other: &Self) -> bool {
        self.group.lang == other.group.lang && self.group.extras == other.group.extras
    }

    /// Test scores of both, seed by seed.
    fn pairs(&self, report: &Report, other: &Self) -> Vec<(f64, f64)> {
        let scores = |run: &Self| -> Vec<(u64, f64)> {
            let of_cell = |view: &CellView| {
                let score = score_at(&view.done()?.result, run.at, &run.task.task, "test")?;
                Some((view.cell.settings.seed, value(score)))
            };
            report.members(run.group).filter_map(of_cell).collect()
        };
        let others = scores(other);
        let pair = |(seed, mine): (u64, f64)| {
            others.iter().find(|(other, _)| *other == seed).map(|(_, theirs)| (mine, *theirs))
        };
        scores(self).into_iter().filter_map(pair).collect()
    }

    fn test_accuracy(&self) -> Option<MeanStd> {
        self.task.test.as_ref().map(|test| test.score)
    }

    /// F1 of the positive label, which is the last of two in the order of the alphabet; from counts
    /// summed over seeds.
    fn test_f1(&self) -> Option<f64> {
        let tags = self.found?.confusion.per_tag();
        let seen: Vec<_> = tags.iter().filter(|tag| tag.support > 0).collect();
        (seen.len() == 2).then(|| seen[1].prf.f1)
    }
}

fn results(report: &Report, sibling: &Sibling, ours: &[Vec<Ours<'_>>], text: &mut String) {
    *text += "\n## Test and dev\n\n";
    let mut table = Table::default().left("Learned", 0).left("Ours", 0);
    for head in [
        "Sibling: test accuracy %",
        "Ours: test accuracy %",
        "Ours − sibling, points",
        "Sibling: test F1 %",
        "Ours: test F1 %",
        "Sibling: dev accuracy %",
        "Ours: dev accuracy %",
        "Sibling: trainable",
        "Ours: trainable",
        "Our seeds",
    ] {
        table = table.right(head, 0);
    }
    for ((_, name, theirs), ours) in sibling.runs().iter().zip(ours) {
        for run in ours {
            let test = run.test_accuracy();
            let dev = run.task.dev.as_ref().map(|dev| dev.score);
            table.row([
                (*name).to_string(),
                run.name(),
                fixed(theirs.test_accuracy * 100.0, 2),
                or_dash(test, |test| plus_minus(test.times(100.0), 2)),
                or_dash(test, |test| signed((test.mean - theirs.test_accuracy) * 100.0, 2)),
                fixed(theirs.test_f1 * 100.0, 2),
                or_dash(run.test_f1(), |f1| fixed(f1 * 100.0, 2)),
                or_dash(theirs.dev_accuracy.last(), |dev| fixed(dev * 100.0, 2)),
                or_dash(dev, |dev| plus_minus(dev.times(100.0), 2)),
                count(theirs.trainable),
                count(run.stage.trainable_parameters),
                run.group.seeds_done.to_string(),
            ]);
        }
    }
    *text += &table.markdown();
    *text += "\nF1 is that of the positive label; ours is taken from counts summed over seeds.";
    if report.predictions.is_empty() {
        *text += " It needs the stored predictions, which were not read.";
    }
    text.push('\n');
}

/// From the head alone to everything, in points and as a share.
fn improvement(report: &Report, sibling: &Sibling, ours: &[Vec<Ours<'_>>], text: &mut String) {
    let gain = sibling.full.test_accuracy - sibling.head_only.test_accuracy;
    *text += "\n## From the head alone to everything\n\n";
    *text += &format!(
        "- **Sibling**: {} points of test accuracy, {} % relative.\n",
        signed(gain * 100.0, 2),
        signed(gain / sibling.head_only.test_accuracy * 100.0, 2)
    );
    for head in &ours[0] {
        for full in ours[1].iter().filter(|full| full.is_beside(head)) {
            let pairs = head.pairs(report, full);
            let points: Vec<f64> = pairs.iter().map(|(old, new)| (new - old) * 100.0).collect();
            let relative: Vec<f64> = pairs.iter().map(|(old, new)| (new - old) / old * 100.0).collect();
            if let (Some(points), Some(relative)) = (MeanStd::of(&points), MeanStd::of(&relative)) {
                *text += &format!(
                    "- **Ours**, {} to {}: {} points, {} % relative.\n",
                    head.name(),
                    full.name(),
                    signed_plus_minus(points, 2),
                    signed_plus_minus(relative, 2)
                );
            }
        }
    }
}

fn epochs(sibling: &Sibling, ours: &[Vec<Ours<'_>>], text: &mut String) {
    type Theirs = fn(&Run) -> &[f64];
    type Mine = fn(&crate::epoch::EpochStats) -> MeanStd;
    let tables: [(&str, f64, usize, Theirs, Mine); 3] = [
        ("Dev accuracy % after each epoch", 100.0, 2, |run| &run.dev_accuracy, |row| row.dev_accuracy),
        ("Dev loss after each epoch, nats", 1.0, 4, |run| &run.dev_loss_nats, |row| row.dev_loss_nats),
        ("Train loss of each epoch, nats", 1.0, 4, |run| &run.train_loss_nats, |row| row.train_loss_nats),
    ];
    for (title, factor, decimals, theirs, mine) in tables {
        *text += &format!("\n### {title}\n\n");
        let rows_of = |run: &Ours<'_>| {
            let stage = (run.group.stages.len() > 1).then(|| run.stage.name.clone());
            let rows = run.group.epochs.iter().filter(move |row| row.stage == stage);
            rows.map(|row| plus_minus(mine(row).times(factor), decimals)).collect::<Vec<String>>()
        };
        let longest = ours.iter().flatten().map(|run| rows_of(run).len()).max().unwrap_or(0);
        let longest = longest.max(sibling.epochs as usize);
        let mut table = Table::default().left("Learned", 0).left("Whose", 0);
        for epoch in 1..=longest {
            table = table.right(epoch.to_string(), 0);
        }
        for ((_, name, run), ours) in sibling.runs().iter().zip(ours) {
            let cells =
                |values: Vec<String>| (0..longest).map(move |at| or_dash(values.get(at), String::clone));
            let published = theirs(run).iter().map(|value| fixed(value * factor, decimals)).collect();
            table.row([(*name).to_string(), "sibling".into()].into_iter().chain(cells(published)));
            for run in ours {
                table.row([(*name).to_string(), run.name()].into_iter().chain(cells(rows_of(run))));
            }
        }
        *text += &table.markdown();
    }
}

fn confusions(sibling: &Sibling, ours: &[Vec<Ours<'_>>], text: &mut String) {
    *text += "\n## Confusions on test\n\nRows are gold, columns predicted.\n";
    for ((_, name, run), ours) in sibling.runs().iter().zip(ours) {
        let theirs = Confusion {
            counts: run.confusion.iter().map(|row| row.to_vec()).collect(),
            ..Confusion::new(["negative", "positive"])
        };
        *text += &format!("\n### {name}: sibling\n\n{}", matrix(&theirs));
        for run in ours {
            let Some(found) = run.found else { continue };
            let sum =
                if found.cells > 1 { format!(", summed over {} seeds", found.cells) } else { String::new() };
            *text += &format!("\n### {name}: ours, {}{sum}\n\n{}", run.name(), matrix(&found.confusion));
        }
    }
}

fn matrix(counts: &Confusion) -> String {
    let mut table = Table::default().left("", 0);
    for tag in &counts.tags {
        table = table.right(format!("`{tag}`"), 0);
    }
    for (tag, row) in counts.tags.iter().zip(&counts.counts) {
        table.row([format!("`{tag}`")].into_iter().chain(row.iter().map(|&sentences| count(sentences))));
    }
    table.markdown()
}

/// What this sweep did otherwise, as far as the sibling's figures tell what it did.
fn differences(report: &Report, sibling: &Sibling, text: &mut String) {
    let mut found = Vec::new();
    let cells = || report.cells.iter().map(|view| &view.cell.settings);
    let mut told = |name: &str, theirs: String, ours: Vec<String>| {
        if !ours.is_empty() && ours != [theirs.clone()] {
            found.push(format!("- {name}: sibling {theirs}, here {}\n", ours.join(" or ")));
        }
    };
    told("encoder", sibling.encoder.clone(), distinct(cells().map(|settings| settings.encoder.name.clone())));
    let stages = |settings: &Settings| settings.in_stages().unwrap_or_default();
    let epochs =
        cells().flat_map(|settings| stages(settings).into_iter().map(|(_, s)| s.train.epochs.to_string()));
    told("epochs", sibling.epochs.to_string(), distinct(epochs));
    let done = || report.cells.iter().filter_map(|view| view.done());
    let train = done().map(|done| count(done.result.facts().train.sentences));
    told("train sentences", count(sibling.train_sentences), distinct(train));
    let test = done().filter_map(|done| Some(count(done.score("test")?.words)));
    told("test sentences", count(sibling.test_sentences), distinct(test));
    *text += "\n## What is different from the sibling\n\n";
    if !found.is_empty() {
        *text +=
            "**This sweep does not repeat the sibling.** These differ, so the numbers need not agree:\n\n";
        *text += &found.concat();
        text.push('\n');
    }
    *text += "Its figures do not say at which learning rate, batch size and seed it ran, nor whether it went on \
              from the head alone to everything or started twice. Its single runs have no spread.\n";
}
