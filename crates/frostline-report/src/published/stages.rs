//! Published figures beside the stages of this sweep that had the same policy. Runs are paired by what learned
//! alone.

use frostline_record::{PublishedRun, Reference};
use frostline_score::Confusion;

use crate::Report;
use crate::number::{count, fixed, or_dash, plus_minus, signed, signed_plus_minus};
use crate::published::{capital, defined, differences, labels_the_same, no_match, opening};
use crate::sentences::{self, SentenceStats};
use crate::stages::{StageStats, TaskStats, score_at, value};
use crate::summary::{BASELINE, CellView, Group};
use crate::table::Table;
use frostline_score::MeanStd;

/// A published run with ours beside it.
struct Pairing<'a> {
    name: &'a str,
    policy: &'a str,
    theirs: &'a PublishedRun,
    ours: Vec<Ours<'a>>,
}

/// A run of ours that learned what a published one did.
struct Ours<'a> {
    group: &'a Group,
    /// The stage's place in its cells.
    at: usize,
    stage: &'a StageStats,
    task: &'a TaskStats,
    found: Option<&'a SentenceStats>,
}

/// What follows the title and the banner.
pub(super) fn body(report: &Report, reference: &Reference) -> String {
    let found = sentences::of(report);
    let langs: Vec<&str> = report
        .langs()
        .into_iter()
        .filter(|lang| reference.lang.get(*lang).is_some_and(|data| labels_the_same(report, data, lang)))
        .collect();
    let runs = langs.iter().flat_map(|lang| reference.lang[*lang].policy.iter().map(move |run| (*lang, run)));
    let pairings: Vec<Pairing<'_>> = runs
        .map(|(lang, (policy, theirs))| Pairing {
            name: theirs.name(policy),
            policy,
            theirs,
            ours: runs_with(report, &found, lang, policy),
        })
        .collect();
    if pairings.iter().all(|pairing| pairing.ours.is_empty()) {
        return no_match(reference, "this sweep has no result of a stage with one of these");
    }
    let mut text = opening(reference);
    differences::list(report, reference, &langs, &mut text);
    results(report, reference, &pairings, &mut text);
    improvement(report, reference, &pairings, &mut text);
    epochs(reference, &pairings, &mut text);
    confusions(reference, &pairings, &mut text);
    text
}

fn runs_with<'a>(
    report: &'a Report,
    found: &'a [SentenceStats],
    lang: &'a str,
    policy: &'a str,
) -> Vec<Ours<'a>> {
    let stages = report.groups_of(lang).flat_map(|group| {
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

fn results(report: &Report, reference: &Reference, pairings: &[Pairing<'_>], text: &mut String) {
    *text += "\n## Test and dev\n\n";
    let (name, study) = (&reference.name, capital(&reference.name));
    let mut table = Table::default()
        .left("Learned", 0)
        .left("Ours", 0)
        .right(format!("{study}: test accuracy %"), 1)
        .right("Ours: test accuracy %", 0)
        .right(format!("Ours − {name}, points"), 1)
        .right(format!("{study}: test F1 %"), 1)
        .right("Ours: test F1 %", 0)
        .right(format!("{study}: dev accuracy %"), 1)
        .right("Ours: dev accuracy %", 0)
        .right(format!("{study}: trainable"), 1)
        .right("Ours: trainable", 0)
        .right("Our seeds", 0);
    for Pairing { name, theirs, ours, .. } in pairings {
        for run in ours {
            let test = run.test_accuracy();
            let dev = run.task.dev.as_ref().map(|dev| dev.score);
            let gap = test.zip(theirs.test_accuracy).map(|(test, theirs)| test.mean - theirs);
            table.row([
                (*name).to_string(),
                run.name(),
                or_dash(theirs.test_accuracy, |test| fixed(test * 100.0, 2)),
                or_dash(test, |test| plus_minus(test.times(100.0), 2)),
                or_dash(gap, |gap| signed(gap * 100.0, 2)),
                or_dash(theirs.test_f1, |f1| fixed(f1 * 100.0, 2)),
                or_dash(run.test_f1(), |f1| fixed(f1 * 100.0, 2)),
                or_dash(theirs.dev_accuracy.last(), |dev| fixed(dev * 100.0, 2)),
                or_dash(dev, |dev| plus_minus(dev.times(100.0), 2)),
                or_dash(theirs.trainable, count),
                count(run.stage.trainable_parameters),
                run.group.seeds_done.to_string(),
            ]);
        }
    }
    *text += &table.markdown();
    *text += defined(reference, "test_f1").trim_end();
    if report.predictions.is_empty() {
        *text += " It needs the stored predictions, which were not read.";
    }
    text.push('\n');
}

/// From the head alone to everything, in points and as a share, where both were published.
fn improvement(report: &Report, reference: &Reference, pairings: &[Pairing<'_>], text: &mut String) {
    let of = |policy: &str| pairings.iter().find(|pairing| pairing.policy == policy);
    let (Some(head), Some(full)) = (of("head-only"), of(BASELINE)) else { return };
    let tests = head.theirs.test_accuracy.zip(full.theirs.test_accuracy);
    let Some((from, to)) = tests else { return };
    *text += "\n## From the head alone to everything\n\n";
    *text += &format!(
        "- **{}**: {} points of test accuracy, {} % relative.\n",
        capital(&reference.name),
        signed((to - from) * 100.0, 2),
        signed((to - from) / from * 100.0, 2)
    );
    for head in &head.ours {
        for full in full.ours.iter().filter(|full| full.is_beside(head)) {
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

fn epochs(reference: &Reference, pairings: &[Pairing<'_>], text: &mut String) {
    type Theirs = fn(&PublishedRun) -> &[f64];
    type Mine = fn(&crate::epoch::EpochStats) -> MeanStd;
    let tables: [(&str, f64, usize, Theirs, Mine); 3] = [
        ("Dev accuracy % after each epoch", 100.0, 2, |run| &run.dev_accuracy, |row| row.dev_accuracy),
        ("Dev loss after each epoch, nats", 1.0, 4, |run| &run.dev_loss_nats, |row| row.dev_loss_nats),
        ("Train loss of each epoch, nats", 1.0, 4, |run| &run.train_loss_nats, |row| row.train_loss_nats),
    ];
    for (title, factor, decimals, theirs, mine) in tables {
        let longest_of_theirs =
            pairings.iter().map(|pairing| theirs(pairing.theirs).len()).max().unwrap_or(0);
        if longest_of_theirs == 0 {
            continue;
        }
        *text += &format!("\n### {title}\n\n");
        let rows_of = |run: &Ours<'_>| {
            let stage = (run.group.stages.len() > 1).then(|| run.stage.name.clone());
            let rows = run.group.epochs.iter().filter(move |row| row.stage == stage);
            rows.map(|row| plus_minus(mine(row).times(factor), decimals)).collect::<Vec<String>>()
        };
        let ours = pairings.iter().flat_map(|pairing| &pairing.ours);
        let longest = ours.map(|run| rows_of(run).len()).max().unwrap_or(0).max(longest_of_theirs);
        let mut table = Table::default().left("Learned", 0).left("Whose", 0);
        for epoch in 1..=longest {
            table = table.right(epoch.to_string(), 0);
        }
        let padded = |values: Vec<String>| (0..longest).map(move |at| or_dash(values.get(at), String::clone));
        for Pairing { name, theirs: run, ours, .. } in pairings {
            let published = theirs(run).iter().map(|value| fixed(value * factor, decimals)).collect();
            let whose = [(*name).to_string(), reference.name.clone()];
            table.row(whose.into_iter().chain(padded(published)));
            for run in ours {
                table.row([(*name).to_string(), run.name()].into_iter().chain(padded(rows_of(run))));
            }
        }
        *text += &table.markdown();
    }
}

fn confusions(reference: &Reference, pairings: &[Pairing<'_>], text: &mut String) {
    if pairings.iter().all(|pairing| pairing.theirs.confusion.is_empty()) {
        return;
    }
    *text += "\n## Confusions on test\n";
    *text += &defined(reference, "confusion");
    for Pairing { name, theirs, ours, .. } in pairings {
        let counts = Confusion {
            counts: theirs.confusion.clone(),
            ..Confusion::new(theirs.labels.iter().map(String::as_str))
        };
        *text += &format!("\n### {name}: {}\n\n{}", reference.name, matrix(&counts));
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
