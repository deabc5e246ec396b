//! Tasks that label sentences: label counts, F1 and confusions, from stored predictions.

pub(crate) mod counts;

use frostline_record::Unit;
use frostline_score::{Confusion, Prf};

use crate::fields::JsonFields;
use crate::keys;
use crate::number::{count, fixed, plural};
use crate::page::Page;
use crate::page::code;
use crate::study::stages::{StageStats, TaskScores};
use crate::study::words::extras_name;
use crate::study::{CellGroup, Placed, SPLITS, StoredPredictions, Study, distinct};
use crate::table::{Quantity, Table, TableColumns};
use crate::topic::{ReportPlace, Topic};
use crate::topics::stages::capital_split;

use counts::{LabelBalance, SentenceStats};

/// Sentence tasks.
pub(crate) struct SentencesTopic {
    found: Vec<SentenceStats>,
    tasks: Vec<SentenceTask>,
}

/// A sentence task of a language.
struct SentenceTask {
    lang: String,
    name: String,
    balance: Vec<LabelBalance>,
}

/// A scored split of a task after a stage.
type ScoreRow<'a> = (&'a CellGroup, &'a StageStats, &'static str, &'a TaskScores, Option<&'a SentenceStats>);

impl SentencesTopic {
    /// Counts the errors of a study, as far as predictions were read.
    pub fn of(study: &Study, stored: &StoredPredictions<'_>) -> Self {
        let mut tasks = Vec::new();
        for lang in study.langs() {
            let all = study.groups_of(lang).flat_map(|group| &group.stages).flat_map(|stage| &stage.tasks);
            let named = all.filter(|task| task.unit == Unit::Sentences).map(|task| task.task.clone());
            tasks.extend(distinct(named).into_iter().map(|name| SentenceTask {
                balance: counts::label_balance(study, &stored.sentences, lang, &name),
                lang: lang.into(),
                name,
            }));
        }
        Self { found: counts::of(study, &stored.sentences), tasks }
    }
}

impl Topic for SentencesTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if let ReportPlace::Language(lang) = place {
            for task in self.tasks.iter().filter(|task| task.lang == lang) {
                page.section(3, format!("Sentences: {}", task.name));
                describe_labels(task, page);
                self.scores(study, task, page);
                self.confusions(study, task, page);
            }
        }
    }

    fn facts(&self, _: &Study) -> JsonFields {
        JsonFields::default().with_some("sentence_tasks", &self.found)
    }
}

/// How often each label occurs.
fn describe_labels(task: &SentenceTask, page: &mut Page) {
    if task.balance.is_empty() {
        page.paragraph(
            "No stored predictions were read for this task, so label counts, F1 and confusions are \
             missing here.",
        );
        return;
    }
    let mut labels: Vec<&String> = task.balance.iter().flat_map(|split| &split.labels).collect();
    labels.sort();
    labels.dedup();
    let sentences = |split: &LabelBalance, label: Option<&String>| match label {
        Some(label) => {
            let at = split.labels.iter().position(|known| known == label);
            at.map_or(0, |at| split.counts[at])
        }
        None => split.whole(),
    };
    let columns = TableColumns::default().column("Label", Quantity::Text, |label: &Option<&String>| {
        label.map_or_else(|| "all".into(), |label| code(label))
    });
    let columns = task.balance.iter().fold(columns, |columns, split| {
        columns
            .column(capital_split(split.split), Quantity::Count, move |label| sentences(split, *label))
            .column("%", Quantity::Share(1), move |label| {
                sentences(split, *label) as f64 / split.whole() as f64
            })
    });
    page.table(columns.table(labels.into_iter().map(Some).chain([None])));
    for split in &task.balance {
        if let Some((label, most)) = split.majority() {
            page.item(format!(
                "**Majority baseline, {}**: always saying `{label}`, its most frequent label, is right for \
                 {} of {} sentences, {} %.",
                split.split,
                count(most),
                count(split.whole()),
                fixed(100.0 * most as f64 / split.whole() as f64, 2)
            ));
        }
        if split.varies {
            page.item(format!(
                "Cells hold different sentences in {}; these counts are from the first cell.",
                split.split
            ));
        }
    }
}

impl SentencesTopic {
    /// Accuracy with its interval, and F1, per policy, stage and split.
    fn scores(&self, study: &Study, task: &SentenceTask, page: &mut Page) {
        let staged = study.groups_of(&task.lang).any(|group| group.stages.len() > 1);
        let columns = keys::of_rows(study)
            .column_if(staged, "Stage", Quantity::Text, |row: &ScoreRow<'_>| row.1.name.clone())
            .column("Split", Quantity::Text, |row| row.2)
            .column("Accuracy", Quantity::Percent(2), |row| row.3.score)
            .column("95 % interval", Quantity::Share(2), |row| row.3.interval)
            .optional("Over majority", Quantity::Points(2), |(.., scored, found)| {
                found.map(|found| scored.score.mean - majority_share(&found.confusion))
            })
            .optional("Macro F1", Quantity::Percent(2), |row| row.4.map(|found| found.macro_f1))
            .optional("Weighted F1", Quantity::Percent(2), |row| row.4.map(|found| found.weighted_f1))
            .column("Sentences", Quantity::Count, |row| row.3.units)
            .column("Seeds", Quantity::Count, |row| row.3.score.n);
        page.table(columns.table(self.score_rows(study, task)));
        page.paragraph(
            "The interval is Wilson's, for the mean accuracy at this number of sentences. **Macro F1** is \
             the mean over labels, **weighted F1** weighs each label by how often it occurs. ± is one \
             standard deviation over seeds.",
        );
    }

    fn score_rows<'a>(&'a self, study: &'a Study, task: &'a SentenceTask) -> Vec<ScoreRow<'a>> {
        let mut rows = Vec::new();
        for group in study.groups_of(&task.lang) {
            for stage in &group.stages {
                let Some(own) = stage.tasks.iter().find(|own| own.task == task.name) else { continue };
                let splits = SPLITS.into_iter().filter_map(|split| Some((split, own.on(split)?)));
                rows.extend(splits.map(|(split, scored)| {
                    (group, stage, split, scored, self.find(group, stage, &task.name, split))
                }));
            }
        }
        rows
    }

    fn find(&self, group: &CellGroup, stage: &StageStats, task: &str, split: &str) -> Option<&SentenceStats> {
        self.found.iter().find(|found| {
            let is_here = (&found.stage, found.task.as_str(), found.split) == (&stage.name, task, split);
            is_here && found.place() == group.place()
        })
    }

    /// For every policy and stage, on test if it was scored: what was taken for what.
    fn confusions(&self, study: &Study, task: &SentenceTask, page: &mut Page) {
        let of_task = |found: &&SentenceStats| found.lang == task.lang && found.task == task.name;
        let all: Vec<&SentenceStats> = self.found.iter().filter(of_task).collect();
        let last = if all.iter().any(|found| found.split == "test") { "test" } else { "dev" };
        let staged = distinct(all.iter().map(|found| &found.stage)).len() > 1;
        for found in all.into_iter().filter(|found| found.split == last) {
            let mut title = vec![found.policy.clone()];
            title.extend(staged.then(|| found.stage.clone()));
            let extras = extras_name(study, &found.extras);
            title.extend((!extras.is_empty()).then_some(extras));
            page.section(4, format!("{} on {last}, {}", task.name, title.join(", ")));
            page.table(label_scores(&found.confusion));
            if found.cells > 1 {
                let seeds = plural(found.cells, "seed");
                page.paragraph(format!(
                    "Counts are summed over {seeds}, so support is too; F1 is computed from the sums."
                ));
            }
            page.table(confusion_table(&found.confusion));
        }
    }
}

/// The share of the most frequent label.
fn majority_share(confusion: &Confusion) -> f64 {
    let most = confusion.per_tag().into_iter().map(|tag| tag.support).max().unwrap_or(0);
    most as f64 / confusion.words().max(1) as f64
}

/// Precision, recall and F1 of every label.
fn label_scores(confusion: &Confusion) -> Table {
    let tags = confusion.per_tag().into_iter().filter(|tag| tag.support + tag.predicted > 0);
    let tags = tags.map(|tag| (code(&tag.tag), tag.prf, tag.support));
    let (averages, all) = (confusion.averages(), confusion.words());
    let means = [("macro".to_string(), averages.macro_avg, all), ("weighted".into(), averages.weighted, all)];
    let columns = TableColumns::default()
        .column("Label", Quantity::Text, |row: &(String, Prf, u64)| row.0.clone())
        .column("Precision", Quantity::Percent(2), |row| row.1.precision)
        .column("Recall", Quantity::Percent(2), |row| row.1.recall)
        .column("F1", Quantity::Percent(2), |row| row.1.f1)
        .column("Support", Quantity::Count, |row| row.2);
    columns.table(tags.chain(means))
}

/// Gold labels down, predicted ones across.
fn confusion_table(confusion: &Confusion) -> Table {
    let tags = confusion.per_tag().into_iter().enumerate();
    let seen: Vec<usize> =
        tags.filter(|(_, tag)| tag.support + tag.predicted > 0).map(|(at, _)| at).collect();
    let missed = confusion.missed.iter().any(|&missed| missed > 0);
    let label = |at: usize| code(&confusion.tags[at]);
    let columns = TableColumns::default()
        .column("Gold, then predicted as", Quantity::Text, |gold: &usize| label(*gold))
        .each(seen.clone(), |at| label(*at), Quantity::Count, |gold, at| confusion.counts[*gold][*at])
        .optional("nothing", Quantity::Count, |gold| missed.then(|| confusion.missed[*gold]));
    columns.table(seen)
}
