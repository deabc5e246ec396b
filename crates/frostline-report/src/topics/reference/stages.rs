//! Published figures compared with the stages of this sweep that had the same policy. Runs are paired by what learned
//! alone.

use frostline_record::{PublishedRun, Reference};
use frostline_score::{Confusion, MeanStd};

use crate::number::{capital, signed, signed_plus_minus};
use crate::page::Page;
use crate::page::code;
use crate::study::epochs::EpochStats;
use crate::study::stages::{StageStats, TaskStats, score_at, score_value};
use crate::study::{BASELINE, CellGroup, CellView, Placed, Study};
use crate::table::{Quantity, Table, TableColumns, TableValue};
use crate::topics::convergence::EpochFact;
use crate::topics::reference::differences;
use crate::topics::reference::whose::{
    epoch_tables, labels_the_same, no_match, write_definition, write_opening,
};
use crate::topics::sentences::counts::SentenceStats;

/// A published run with our runs.
struct Pairing<'a> {
    name: &'a str,
    policy: &'a str,
    theirs: &'a PublishedRun,
    ours: Vec<Ours<'a>>,
}

/// A run of ours that learned what a published one did.
struct Ours<'a> {
    group: &'a CellGroup,
    /// The stage's place in its cells.
    at: usize,
    stage: &'a StageStats,
    task: &'a TaskStats,
    found: Option<&'a SentenceStats>,
}

/// The whole comparison.
pub(super) fn compare_stages(
    study: &Study,
    reference: &Reference,
    found: &[SentenceStats],
    predictions_read: bool,
    page: &mut Page,
) {
    let langs: Vec<&str> = study
        .langs()
        .into_iter()
        .filter(|lang| reference.lang.get(*lang).is_some_and(|data| labels_the_same(study, data, lang)))
        .collect();
    let runs = langs.iter().flat_map(|lang| reference.lang[*lang].policy.iter().map(move |run| (*lang, run)));
    let pairings: Vec<Pairing<'_>> = runs
        .map(|(lang, (policy, theirs))| Pairing {
            name: theirs.name(policy),
            policy,
            theirs,
            ours: runs_with(study, found, lang, policy),
        })
        .collect();
    if pairings.iter().all(|pairing| pairing.ours.is_empty()) {
        return no_match(reference, "this sweep has no result of a stage with one of these", page);
    }
    write_opening(reference, page);
    differences::list_differences(study, reference, &langs, page);
    page.section(2, "Test and dev");
    page.table(results_table(reference, &pairings));
    let unread = if predictions_read { "" } else { " It needs the stored predictions, which were not read." };
    if let Some(words) = reference.defined.get("test_f1") {
        page.paragraph(format!("{}{unread}", words.trim()));
    }
    describe_improvement(study, reference, &pairings, page);
    add_epochs(study, reference, &pairings, page);
    add_confusions(reference, &pairings, page);
}

fn runs_with<'a>(
    study: &'a Study,
    found: &'a [SentenceStats],
    lang: &'a str,
    policy: &'a str,
) -> Vec<Ours<'a>> {
    let stages = study.groups_of(lang).flat_map(|group| {
        let stages = group.stages.iter().enumerate();
        stages.map(move |(at, stage)| (group, at, stage))
    });
    let same = stages.filter(|(group, _, stage)| {
        stage.policy == policy
            || (stage.policy == group.policy && group.all_names().any(|name| name == policy))
    });
    let learned = same.filter_map(|(group, at, stage)| Some((group, at, stage, stage.tasks.first()?)));
    learned
        .filter(|(.., task)| task.learned)
        .map(|(group, at, stage, task)| Ours {
            group,
            at,
            stage,
            task,
            found: found.iter().find(|found| {
                found.place() == group.place()
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

    /// The epochs of its stage.
    fn epochs(&self) -> impl Iterator<Item = &EpochStats> {
        let stage = (self.group.stages.len() > 1).then_some(&self.stage.name);
        self.group.epochs.iter().filter(move |row| row.stage.as_ref() == stage)
    }

    /// Whether the other differs in what learned alone.
    fn is_beside(&self, other: &Self) -> bool {
        self.group.lang == other.group.lang && self.group.extras == other.group.extras
    }

    /// Test scores of both, seed by seed.
    fn pairs(&self, study: &Study, other: &Self) -> Vec<(f64, f64)> {
        let scores = |run: &Self| -> Vec<(u64, f64)> {
            let of_cell = |view: &CellView| {
                let score = score_at(&view.done()?.result, run.at, &run.task.task, "test")?;
                Some((view.cell.settings.seed, score_value(score)))
            };
            study.members(run.group).filter_map(of_cell).collect()
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

fn results_table(reference: &Reference, pairings: &[Pairing<'_>]) -> Table {
    type ComparedRun<'a> = (&'a Pairing<'a>, &'a Ours<'a>);
    let study = capital(&reference.name);
    let columns = TableColumns::default()
        .column("Learned", Quantity::Text, |row: &ComparedRun<'_>| row.0.name)
        .column("Ours", Quantity::Text, |row| row.1.name())
        .optional(format!("{study}: test accuracy"), Quantity::Percent(2), |row| row.0.theirs.test_accuracy)
        .column("Ours: test accuracy", Quantity::Percent(2), |row| row.1.test_accuracy())
        .optional(format!("Ours − {}", reference.name), Quantity::Points(2), |(pairing, ours)| {
            Some(ours.test_accuracy()?.mean - pairing.theirs.test_accuracy?)
        })
        .optional(format!("{study}: test F1"), Quantity::Percent(2), |row| row.0.theirs.test_f1)
        .column("Ours: test F1", Quantity::Percent(2), |row| row.1.test_f1())
        .optional(format!("{study}: accuracy on dev"), Quantity::Percent(2), |row| {
            row.0.theirs.dev_accuracy.last().copied()
        })
        .column("Ours: accuracy on dev", Quantity::Percent(2), |row| {
            row.1.task.dev.as_ref().map(|dev| dev.score)
        })
        .optional(format!("{study}: trainable"), Quantity::Count, |row| row.0.theirs.trainable)
        .column("Ours: trainable", Quantity::Count, |row| row.1.stage.trainable_parameters)
        .column("Our seeds", Quantity::Count, |row| row.1.group.seeds_done);
    columns.table(pairings.iter().flat_map(|pairing| pairing.ours.iter().map(move |ours| (pairing, ours))))
}

/// From the head alone to everything, in points and as a share, if both were published.
fn describe_improvement(study: &Study, reference: &Reference, pairings: &[Pairing<'_>], page: &mut Page) {
    let of = |policy: &str| pairings.iter().find(|pairing| pairing.policy == policy);
    let (Some(head), Some(full)) = (of("head-only"), of(BASELINE)) else { return };
    let tests = head.theirs.test_accuracy.zip(full.theirs.test_accuracy);
    let Some((from, to)) = tests else { return };
    page.section(2, "From the head alone to everything");
    page.item(format!(
        "**{}**: {} points of test accuracy, {} % relative.",
        capital(&reference.name),
        signed((to - from) * 100.0, 2),
        signed((to - from) / from * 100.0, 2)
    ));
    for head in &head.ours {
        for full in full.ours.iter().filter(|full| full.is_beside(head)) {
            let pairs = head.pairs(study, full);
            let points: Vec<f64> = pairs.iter().map(|(old, new)| (new - old) * 100.0).collect();
            let relative: Vec<f64> = pairs.iter().map(|(old, new)| (new - old) / old * 100.0).collect();
            if let (Some(points), Some(relative)) = (MeanStd::of(&points), MeanStd::of(&relative)) {
                page.item(format!(
                    "**Ours**, {} to {}: {} points, {} % relative.",
                    head.name(),
                    full.name(),
                    signed_plus_minus(points, 2),
                    signed_plus_minus(relative, 2)
                ));
            }
        }
    }
}

fn add_epochs(study: &Study, reference: &Reference, pairings: &[Pairing<'_>], page: &mut Page) {
    /// A pairing, and its run of ours; none is the published one.
    type EpochsOfRun<'a> = (&'a Pairing<'a>, Option<&'a Ours<'a>>);
    type RunEpochs<'a> = (EpochsOfRun<'a>, Vec<TableValue>);
    let rows: Vec<EpochsOfRun<'_>> = pairings
        .iter()
        .flat_map(|pairing| {
            [None].into_iter().chain(pairing.ours.iter().map(Some)).map(move |run| (pairing, run))
        })
        .collect();
    let columns = || {
        TableColumns::default().column("Learned", Quantity::Text, |row: &RunEpochs<'_>| row.0.0.name).column(
            "Whose",
            Quantity::Text,
            |row| row.0.1.map_or_else(|| reference.name.clone(), Ours::name),
        )
    };
    let values = |fact: &EpochFact, (pairing, run): &EpochsOfRun<'_>| -> Vec<TableValue> {
        match run {
            Some(run) => run.epochs().map(|row| (fact.ours)(row).into()).collect(),
            None => (fact.published)(pairing.theirs).iter().map(|value| (*value).into()).collect(),
        }
    };
    let published: Vec<&PublishedRun> = pairings.iter().map(|pairing| pairing.theirs).collect();
    epoch_tables(study, reference, &published, &rows, columns, values, page);
}

fn add_confusions(reference: &Reference, pairings: &[Pairing<'_>], page: &mut Page) {
    if pairings.iter().all(|pairing| pairing.theirs.confusion.is_empty()) {
        return;
    }
    page.section(2, "Confusions on test");
    write_definition(reference, "confusion", page);
    for Pairing { name, theirs, ours, .. } in pairings {
        let counts = Confusion {
            counts: theirs.confusion.clone(),
            ..Confusion::new(theirs.labels.iter().map(String::as_str))
        };
        page.section(3, format!("{name}: {}", reference.name));
        page.table(confusion_table(&counts));
        for run in ours {
            let Some(found) = run.found else { continue };
            let sum =
                if found.cells > 1 { format!(", summed over {} seeds", found.cells) } else { String::new() };
            page.section(3, format!("{name}: ours, {}{sum}", run.name()));
            page.table(confusion_table(&found.confusion));
        }
    }
}

fn confusion_table(counts: &Confusion) -> Table {
    let label = |at: usize| code(&counts.tags[at]);
    let columns = TableColumns::default().column("", Quantity::Text, |gold: &usize| label(*gold)).each(
        0..counts.tags.len(),
        |at| label(*at),
        Quantity::Count,
        |gold, at| counts.counts[*gold][*at],
    );
    columns.table(0..counts.tags.len())
}
