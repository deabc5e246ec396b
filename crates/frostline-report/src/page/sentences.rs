//! Owns what the page says about tasks that label sentences: label counts, baselines, F1,
//! confusions.
//!
//! Refuses to show counts that no stored prediction gives.

use frostline_record::Unit;
use frostline_score::Prf;

use crate::Report;
use crate::number::{NONE, count, fixed, or_dash, plural, plus_minus, signed};
use crate::page::{paragraph, section};
use crate::sentences::{Balance, SentenceStats, balance};
use crate::stages::{Scored, StageStats};
use crate::summary::{Group, distinct};
use crate::table::Table;

/// A sentence task of a language.
struct Task<'a> {
    report: &'a Report,
    lang: &'a str,
    name: &'a str,
    balance: Vec<Balance>,
    found: Vec<&'a SentenceStats>,
}

/// Everything about each sentence task of a language.
pub(super) fn tasks(report: &Report, all: &[SentenceStats], lang: &str, text: &mut String) {
    let stages = report.groups_of(lang).flat_map(|group| &group.stages);
    let tasks = stages.flat_map(|stage| &stage.tasks).filter(|task| task.unit == Unit::Sentences);
    for name in distinct(tasks.map(|task| task.task.as_str())) {
        let found = all.iter().filter(|found| found.lang == lang && found.task == name).collect();
        let task = Task { report, lang, name, balance: balance(report, lang, name), found };
        section(text, 3, &format!("Sentences: {name}"));
        task.classes(text);
        task.scores(text);
        task.confusions(text);
    }
}

impl Task<'_> {
    /// How often each label occurs.
    fn classes(&self, text: &mut String) {
        if self.balance.is_empty() {
            paragraph(
                text,
                "No stored predictions were read for this task, so label counts, F1 and confusions are \
                 missing here.",
            );
            return;
        }
        let mut table = Table::default().left("Label", 0);
        for split in &self.balance {
            table = table.right(capital(split.split), 0).right("%", 0);
        }
        let mut labels: Vec<&String> = self.balance.iter().flat_map(|split| &split.labels).collect();
        labels.sort();
        labels.dedup();
        for label in labels {
            let mut row = vec![format!("`{label}`")];
            for split in &self.balance {
                let at = split.labels.iter().position(|known| known == label);
                let sentences = at.map_or(0, |at| split.counts[at]);
                row.push(count(sentences));
                row.push(fixed(100.0 * sentences as f64 / split.whole() as f64, 1));
            }
            table.row(row);
        }
        let whole = self.balance.iter().flat_map(|split| [count(split.whole()), "100.0".into()]);
        table.row(["all".to_string()].into_iter().chain(whole));
        paragraph(text, table.markdown().trim_end());
        for split in &self.balance {
            if let Some((label, most)) = split.majority() {
                *text += &format!(
                    "- **Majority baseline, {}**: always saying `{label}`, its most frequent label, is right for \
                     {} of {} sentences, {} %.\n",
                    split.split,
                    count(most),
                    count(split.whole()),
                    fixed(100.0 * most as f64 / split.whole() as f64, 2)
                );
            }
            if split.varies {
                *text += &format!(
                    "- Cells hold different sentences in {}; these counts are those of the first cell.\n",
                    split.split
                );
            }
        }
        text.push('\n');
    }

    /// Accuracy with its interval, and F1, per policy, stage and split.
    fn scores(&self, text: &mut String) {
        let staged = self.report.groups_of(self.lang).any(|group| group.stages.len() > 1);
        let mut table = self.keyed(staged).left("Split", 0).right("Accuracy %", 0).right("95 % interval", 0);
        table = table.right("Over majority, points", 1).right("Macro F1 %", 1).right("Weighted F1 %", 1);
        table = table.right("Sentences", 0).right("Seeds", 0);
        for (group, stage) in self.stages() {
            let Some(task) = stage.tasks.iter().find(|task| task.task == self.name) else { continue };
            for (split, scored) in [("dev", &task.dev), ("test", &task.test)] {
                let Some(scored) = scored else { continue };
                let mut row = self.key(group, stage, staged);
                row.push(split.into());
                row.extend(self.score(group, stage, split, scored));
                table.row(row);
            }
        }
        paragraph(text, table.markdown().trim_end());
        paragraph(
            text,
            "The interval is Wilson's, for the mean accuracy at this number of sentences. **Macro F1** is \
             the mean over labels, **weighted F1** weighs each label by how often it occurs. ± is one \
             standard deviation over seeds.",
        );
    }

    fn score(&self, group: &Group, stage: &StageStats, split: &str, scored: &Scored) -> [String; 7] {
        let found = self.found.iter().find(|found| {
            (&found.policy, &found.extras, &found.stage, found.split)
                == (&group.policy, &group.extras, &stage.name, split)
        });
        let majority = found.map(|found| {
            let counts = found.confusion.per_tag().into_iter().map(|tag| tag.support);
            counts.max().unwrap_or(0) as f64 / found.confusion.words().max(1) as f64
        });
        let ends = scored.interval.map(|i| [i.low, i.high].map(|end| fixed(end * 100.0, 2)).join(" to "));
        [
            plus_minus(scored.score.times(100.0), 2),
            or_dash(ends, |ends| ends),
            or_dash(majority, |majority| signed(100.0 * (scored.score.mean - majority), 2)),
            or_dash(found, |found| plus_minus(found.macro_f1.times(100.0), 2)),
            or_dash(found, |found| plus_minus(found.weighted_f1.times(100.0), 2)),
            count(scored.units),
            scored.score.n.to_string(),
        ]
    }

    /// For every policy and stage, on test where it was scored: what was taken for what.
    fn confusions(&self, text: &mut String) {
        let last = if self.found.iter().any(|found| found.split == "test") { "test" } else { "dev" };
        let staged = distinct(self.found.iter().map(|found| &found.stage)).len() > 1;
        for found in self.found.iter().filter(|found| found.split == last) {
            let mut title = vec![found.policy.clone()];
            title.extend(staged.then(|| found.stage.clone()));
            let extras = crate::words::extras_name(self.report, &found.extras);
            title.extend((!extras.is_empty()).then_some(extras));
            section(text, 4, &format!("{} on {last}, {}", self.name, title.join(", ")));
            report_of(found, text);
            matrix(found, text);
        }
    }

    fn stages(&self) -> impl Iterator<Item = (&Group, &StageStats)> {
        let groups = self.report.groups_of(self.lang);
        groups.flat_map(|group| group.stages.iter().map(move |stage| (group, stage)))
    }

    fn keyed(&self, staged: bool) -> Table {
        let table = crate::page::keyed(self.report);
        if staged { table.left("Stage", 0) } else { table }
    }

    fn key(&self, group: &Group, stage: &StageStats, staged: bool) -> Vec<String> {
        crate::page::key(group).into_iter().chain(staged.then(|| stage.name.clone())).collect()
    }
}

/// Precision, recall and F1 of every label.
fn report_of(found: &SentenceStats, text: &mut String) {
    let mut table = Table::default().left("Label", 0);
    for head in ["Precision %", "Recall %", "F1 %", "Support"] {
        table = table.right(head, 0);
    }
    let row = |name: String, prf: Prf, support: u64| {
        let [precision, recall, f1] =
            [prf.precision, prf.recall, prf.f1].map(|share| fixed(share * 100.0, 2));
        [name, precision, recall, f1, count(support)]
    };
    let tags = found.confusion.per_tag().into_iter().filter(|tag| tag.support + tag.predicted > 0);
    for tag in tags {
        table.row(row(format!("`{}`", tag.tag), tag.prf, tag.support));
    }
    let (averages, all) = (found.confusion.averages(), found.confusion.words());
    table.row(row("macro".into(), averages.macro_avg, all));
    table.row(row("weighted".into(), averages.weighted, all));
    paragraph(text, table.markdown().trim_end());
    if found.cells > 1 {
        let seeds = plural(found.cells, "seed");
        paragraph(
            text,
            &format!("Counts are summed over {seeds}, so support is too; F1 is that of the sums."),
        );
    }
}

/// Gold labels down, predicted ones across.
fn matrix(found: &SentenceStats, text: &mut String) {
    let counts = &found.confusion;
    let seen: Vec<usize> = counts
        .per_tag()
        .iter()
        .enumerate()
        .filter(|(_, tag)| tag.support + tag.predicted > 0)
        .map(|(at, _)| at)
        .collect();
    let missed = counts.missed.iter().any(|&missed| missed > 0);
    let mut table = Table::default().left("Gold, then predicted as", 0);
    for &at in &seen {
        table = table.right(format!("`{}`", counts.tags[at]), 0);
    }
    table = table.right("nothing", 1);
    for &gold in &seen {
        let mut row = vec![format!("`{}`", counts.tags[gold])];
        row.extend(seen.iter().map(|&predicted| count(counts.counts[gold][predicted])));
        row.push(if missed { count(counts.missed[gold]) } else { NONE.into() });
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
}

fn capital(split: &str) -> &'static str {
    if split == "test" { "Test" } else { "Dev" }
}
