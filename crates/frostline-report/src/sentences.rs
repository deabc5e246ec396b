//! Owns what the predictions of sentence tasks give: label counts, F1 and confusions per policy and
//! stage.
//!
//! Refuses to average a confusion: counts are summed over seeds, scores are means over seeds.

use frostline_record::Unit;
use frostline_score::Confusion;
use serde::Serialize;

use crate::Report;
use crate::predictions::sum;
use crate::summary::{Group, distinct};
use frostline_score::MeanStd;

/// A sentence task on one split after a stage, over cells that differ only in their seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SentenceStats {
    pub lang: String,
    pub policy: String,
    pub extras: Vec<String>,
    pub stage: String,
    pub task: String,
    pub split: &'static str,
    /// Cells whose predictions were read.
    pub cells: usize,
    /// Every label counts the same; the mean over cells.
    pub macro_f1: MeanStd,
    /// Every label counts as often as it occurs; the mean over cells.
    pub weighted_f1: MeanStd,
    /// Counts of gold and predicted labels, summed over cells.
    pub confusion: Confusion,
}

/// How often each label occurs in a split of a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Balance {
    pub split: &'static str,
    pub labels: Vec<String>,
    pub counts: Vec<u64>,
    /// Whether cells hold different sentences in this split; then these are of the first cell.
    pub varies: bool,
}

impl Balance {
    pub fn whole(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The most frequent label and how often it occurs; of equal ones the smaller label.
    pub fn majority(&self) -> Option<(&str, u64)> {
        let most = *self.counts.iter().max()?;
        let at = self.counts.iter().position(|&count| count == most)?;
        Some((&self.labels[at], most))
    }
}

pub(crate) const SPLITS: [&str; 2] = ["dev", "test"];

/// Everything that could be counted, in the order of groups, stages, tasks and splits.
pub(crate) fn of(report: &Report) -> Vec<SentenceStats> {
    let mut all = Vec::new();
    for group in &report.groups {
        for (at, stage) in group.stages.iter().enumerate() {
            for task in stage.tasks.iter().filter(|task| task.unit == Unit::Sentences) {
                all.extend(SPLITS.iter().filter_map(|split| one(report, group, at, &task.task, split)));
            }
        }
    }
    all
}

fn one(report: &Report, group: &Group, at: usize, task: &str, split: &'static str) -> Option<SentenceStats> {
    let read = report.members(group).filter_map(|view| report.predictions.get(&view.cell, at, task, split));
    let read: Vec<&Confusion> = read.collect();
    let f1 = |get: fn(&Confusion) -> f64| MeanStd::of(&read.iter().map(|one| get(one)).collect::<Vec<_>>());
    Some(SentenceStats {
        lang: group.lang.clone(),
        policy: group.policy.clone(),
        extras: group.extras.clone(),
        stage: group.stages[at].name.clone(),
        task: task.into(),
        split,
        cells: read.len(),
        macro_f1: f1(|one| one.averages().macro_avg.f1)?,
        weighted_f1: f1(|one| one.averages().weighted.f1)?,
        confusion: sum(&read),
    })
}

/// How often labels occur in the splits of a language's task.
pub(crate) fn balance(report: &Report, lang: &str, task: &str) -> Vec<Balance> {
    let of_split = |split: &'static str| {
        let cells = report.cells.iter().filter(|view| view.cell.settings.lang == lang);
        let read = cells.filter_map(|view| report.predictions.get(&view.cell, 0, task, split));
        let counts = read.map(|one| {
            let tags = one.per_tag().into_iter().filter(|tag| tag.support > 0);
            tags.map(|tag| (tag.tag, tag.support)).collect::<Vec<_>>()
        });
        let counts = distinct(counts);
        let (labels, first) = counts.first()?.iter().cloned().unzip();
        Some(Balance { split, labels, counts: first, varies: counts.len() > 1 })
    };
    SPLITS.into_iter().filter_map(of_split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_majority_is_the_most_frequent_label_or_the_smaller_of_two() {
        let balance = |counts: &[u64]| Balance {
            split: "dev",
            labels: ["neg", "pos"].map(String::from).to_vec(),
            counts: counts.to_vec(),
            varies: false,
        };
        assert_eq!(balance(&[428, 444]).majority(), Some(("pos", 444)));
        assert_eq!(balance(&[5, 5]).majority(), Some(("neg", 5)));
        assert_eq!(balance(&[]).majority(), None);
    }
}
