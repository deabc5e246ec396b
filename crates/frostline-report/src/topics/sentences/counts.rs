//! What the predictions of sentence tasks give: label counts, F1 and confusions per policy and stage. Confusions are
//! summed over seeds, scores are means over seeds.

use frostline_record::Unit;
use frostline_score::{Confusion, MeanStd};
use serde::Serialize;

use crate::number::{count, fixed};
use crate::page::code;
use crate::study::place::placed;
use crate::study::predictions::{SentencePredictions, sum};
use crate::study::{CellGroup, SPLITS, Study, distinct};

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

placed!(struct SentenceStats);

/// How often each label occurs in a split of a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelBalance {
    pub split: &'static str,
    pub labels: Vec<String>,
    pub counts: Vec<u64>,
    /// Whether cells hold different sentences in this split; then these are of the first cell.
    pub varies: bool,
}

impl LabelBalance {
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

/// Labels of which the rarest occurs less than half as often as the most frequent are unbalanced: accuracy then hardly depends
/// on the rare one.
const BALANCED: f64 = 0.5;

/// How even labels are, and whether accuracy is a fair score of them; nothing for a single label.
pub(crate) fn balance_words(counts: &[(&str, u64)]) -> Option<String> {
    let rarest = counts.iter().min_by_key(|(_, count)| *count).filter(|_| counts.len() > 1)?;
    let most = counts.iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0)?;
    let ratio = rarest.1 as f64 / most.1 as f64;
    let fair = match ratio >= BALANCED {
        true => "so accuracy is a fair score",
        false => {
            "so accuracy alone is not a fair score: it hardly counts the rare label. Read the macro F1 too"
        }
    };
    Some(format!(
        "{} occurs {} times for each {} ({} and {} sentences), {fair}.",
        code(rarest.0),
        fixed(ratio, 3),
        code(most.0),
        count(rarest.1),
        count(most.1)
    ))
}

/// Everything that could be counted, in the order of groups, stages, tasks and splits.
pub(crate) fn of(study: &Study, read: &SentencePredictions) -> Vec<SentenceStats> {
    let mut all = Vec::new();
    for group in &study.groups {
        for (at, stage) in group.stages.iter().enumerate() {
            for task in stage.tasks.iter().filter(|task| task.unit == Unit::Sentences) {
                all.extend(SPLITS.iter().filter_map(|split| one(study, read, group, at, &task.task, split)));
            }
        }
    }
    all
}

fn one(
    study: &Study,
    read: &SentencePredictions,
    group: &CellGroup,
    at: usize,
    task: &str,
    split: &'static str,
) -> Option<SentenceStats> {
    let counts = study.members(group).filter_map(|view| read.get(&view.cell, at, task, split));
    let counts: Vec<&Confusion> = counts.collect();
    let f1 = |get: fn(&Confusion) -> f64| MeanStd::of(&counts.iter().map(|one| get(one)).collect::<Vec<_>>());
    Some(SentenceStats {
        lang: group.lang.clone(),
        policy: group.policy.clone(),
        extras: group.extras.clone(),
        stage: group.stages[at].name.clone(),
        task: task.into(),
        split,
        cells: counts.len(),
        macro_f1: f1(|one| one.averages().macro_avg.f1)?,
        weighted_f1: f1(|one| one.averages().weighted.f1)?,
        confusion: sum(&counts),
    })
}

/// How often labels occur in the splits of a language's task.
pub(crate) fn label_balance(
    study: &Study,
    read: &SentencePredictions,
    lang: &str,
    task: &str,
) -> Vec<LabelBalance> {
    let of_split = |split: &'static str| {
        let cells = study.cells.iter().filter(|view| view.cell.settings.lang == lang);
        let found = cells.filter_map(|view| read.get(&view.cell, 0, task, split));
        let counts = found.map(|one| {
            let tags = one.per_tag().into_iter().filter(|tag| tag.support > 0);
            tags.map(|tag| (tag.tag, tag.support)).collect::<Vec<_>>()
        });
        let counts = distinct(counts);
        let (labels, first) = counts.first()?.iter().cloned().unzip();
        Some(LabelBalance { split, labels, counts: first, varies: counts.len() > 1 })
    };
    SPLITS.into_iter().filter_map(of_split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_is_fair_where_labels_are_balanced() {
        let even = balance_words(&[("0", 26_735), ("1", 33_879)]).expect("two labels");
        assert_eq!(
            even,
            "`0` occurs 0.789 times for each `1` (26,735 and 33,879 sentences), so accuracy is a fair score."
        );
        let rare = balance_words(&[("spam", 40), ("ham", 960)]).expect("two labels");
        assert!(rare.starts_with("`spam` occurs 0.042 times for each `ham`"), "{rare}");
        assert!(rare.contains("not a fair score"), "{rare}");
        assert_eq!(balance_words(&[("ham", 960)]), None);
    }

    #[test]
    fn the_majority_is_the_most_frequent_label_or_the_smaller_of_two() {
        let balance = |counts: &[u64]| LabelBalance {
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
