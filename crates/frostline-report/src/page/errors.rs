//! Owns `errors.md`: which words are wrong, and in what policies differ.
//!
//! Refuses to look at sentences of test, and to print what a CSV file beside it has in full: where there
//! are very many policies, only some have tables of their own.

mod examples;

use crate::Report;
use crate::errors::{By, GroupErrors, StratumErrors, TagErrors, Versus};
use crate::figure::{self, named};
use crate::number::{NONE, count, fixed, or_dash, plus_minus, signed_plus_minus};
use crate::page::{banner, keyed, paragraph, section};
use crate::sentences::SPLITS;
use crate::table::Table;
use crate::words;

/// The most tags that stand side by side.
const COLUMNS: usize = 18;

/// `errors.md`, where predictions of words were read.
pub(crate) fn errors_page(report: &Report) -> Option<String> {
    if report.errors.is_empty() {
        return None;
    }
    let mut text = format!("# Errors: {}\n\n{}", report.sweep.plan.name, banner(report));
    how_to_read(report, &mut text);
    for figure in figure::of_errors(report) {
        text += &format!("![{}]({})\n\n{}\n\n", figure.title, figure.path, figure.about(report));
    }
    for lang in report.langs() {
        for split in SPLITS {
            let groups =
                report.errors.groups.iter().filter(|found| found.lang == lang && found.split == split);
            let part = Part::new(report, split, groups.collect());
            if let Some(part) = part {
                section(&mut text, 2, &format!("{}: {split}", report.lang_title(lang)));
                part.write(lang, &mut text);
            }
        }
    }
    files(&mut text);
    Some(text)
}

fn how_to_read(report: &Report, text: &mut String) {
    paragraph(
        text,
        "This page is counted from the stored predictions of every cell. A word is wrong here where it is \
         wrong in the headline accuracy: also where it was lost to truncation or its tag never occurs in \
         train.",
    );
    *text += "- **Unknown** words do not occur in the train split that the cell learned from. The others are \
              **known**: with **one tag** there, or with **several**, which makes them ambiguous. Words are \
              compared as the model was given them, in lower case where the plan asks for it.\n\
              - **Length** counts the labelled words of a sentence.\n\
              - **F1** of a tag is the harmonic mean of precision and recall; **macro F1** is the mean over \
              tags. **± after a number** is one standard deviation over seeds.\n\
              - **Confusions** are summed over seeds.\n";
    if report.has_baseline() {
        *text += "- **vs none** is the difference to the cell of the same seed in which everything learns.\n\
                  - **McNemar's test** asks of the words that only one of two cells has right whether they are \
                  equally many on both sides. It takes words as independent. Those of a sentence are not, so it \
                  finds differences a little too eagerly. **Holm** corrects its p-values for all rows of the \
                  table.\n";
    }
    text.push('\n');
}

/// A language on a split.
struct Part<'a> {
    report: &'a Report,
    split: &'static str,
    groups: Vec<&'a GroupErrors>,
    first: &'a GroupErrors,
    /// Which groups have tables of their own.
    named: Vec<bool>,
}

impl<'a> Part<'a> {
    fn new(report: &'a Report, split: &'static str, groups: Vec<&'a GroupErrors>) -> Option<Self> {
        let first = *groups.first()?;
        let rows: Vec<(&str, f64)> =
            groups.iter().map(|group| (group.policy.as_str(), group.accuracy.mean)).collect();
        Some(Self { report, split, first, named: named(&rows), groups })
    }

    fn write(&self, lang: &str, text: &mut String) {
        if self.groups.iter().any(|group| group.varies) {
            paragraph(
                text,
                "Cells hold different words, or learned from different sentences. Counts of words below are \
                 those of the first cell.",
            );
        }
        section(text, 3, "By what train knows of a word");
        self.strata(By::Train, text);
        section(text, 3, "By length of sentence");
        self.strata(By::Length, text);
        section(text, 3, "F1 of each tag");
        self.tags(text);
        section(text, 3, "Most frequent confusions");
        self.confusions(text);
        self.versus(lang, text);
        section(text, 3, "Precision and recall of each tag");
        for group in self.shown() {
            section(text, 4, &self.name(group));
            scores(group, text);
        }
    }

    fn shown(&self) -> impl Iterator<Item = &'a GroupErrors> {
        self.groups.iter().zip(&self.named).filter(|(_, named)| **named).map(|(group, _)| *group)
    }

    fn name(&self, group: &GroupErrors) -> String {
        let extras = words::extras_name(self.report, &group.extras);
        let policy = format!("{} on {}", group.policy, self.split);
        if extras.is_empty() { policy } else { format!("{policy}, {extras}") }
    }

    /// Accuracies of strata, a column each; their words in the first row.
    fn strata(&self, by: By, text: &mut String) {
        let strata: Vec<&StratumErrors> = self.first.strata.iter().filter(|s| s.by == by).collect();
        let mut table = keyed(self.report).right("All %", 0);
        for stratum in &strata {
            table = table.right(heading(by, &stratum.name), 0);
        }
        table = table.right("Seeds", 0);
        let words = |words: u64| format!("{} ({} %)", count(words), share(words, self.first.words));
        let mut row = self.unkeyed("words");
        row.push(count(self.first.words));
        row.extend(strata.iter().map(|stratum| words(stratum.words)));
        row.push(NONE.into());
        table.row(row);
        for group in &self.groups {
            let mut row = key(group);
            row.push(plus_minus(group.accuracy.times(100.0), 2));
            row.extend(strata.iter().map(|stratum| {
                let found = group.strata.iter().find(|other| (other.by, &other.name) == (by, &stratum.name));
                or_dash(found, |found| plus_minus(found.accuracy.times(100.0), 2))
            }));
            row.push(group.cells.to_string());
            table.row(row);
        }
        paragraph(text, table.markdown().trim_end());
    }

    /// F1 of the most frequent tags, a column each; below, the differences to the baseline.
    fn tags(&self, text: &mut String) {
        let tags: Vec<&TagErrors> = self.first.tags.iter().take(COLUMNS).collect();
        let head = |first: &str| {
            let table = keyed(self.report).right(first, 0);
            tags.iter().fold(table, |table, tag| table.right(format!("`{}`", tag.tag), 0))
        };
        let of = |group: &GroupErrors, tag: &TagErrors, show: &dyn Fn(&TagErrors) -> String| {
            let found = group.tags.iter().find(|other| other.tag == tag.tag);
            or_dash(found, show)
        };
        let mut table = head("Macro F1 %");
        let mut row = self.unkeyed("words");
        row.push(NONE.into());
        row.extend(tags.iter().map(|tag| count(tag.support)));
        table.row(row);
        for group in &self.groups {
            let mut row = key(group);
            row.push(fixed(group.macro_f1.mean * 100.0, 2));
            row.extend(tags.iter().map(|tag| of(group, tag, &|tag| fixed(tag.f1.mean * 100.0, 2))));
            table.row(row);
        }
        paragraph(text, table.markdown().trim_end());
        if self.first.tags.len() > COLUMNS {
            let left = self.first.tags.len() - COLUMNS;
            paragraph(text, &format!("The {left} rarer tags stand in `tags.csv`."));
        }
        let mut table = head("Macro F1, points");
        let gains: Vec<_> = self.groups.iter().filter(|group| group.macro_f1_gain.is_some()).collect();
        let others = gains.iter().filter(|group| group.policy != crate::summary::BASELINE);
        let points = |stat| signed_plus_minus(stat, 2);
        for group in others.clone() {
            let mut row = key(group);
            row.push(or_dash(group.macro_f1_gain.map(|gain| gain.times(100.0)), points));
            let gain = |tag: &TagErrors| or_dash(tag.f1_gain.map(|gain| gain.times(100.0)), points);
            row.extend(tags.iter().map(|tag| of(group, tag, &gain)));
            table.row(row);
        }
        if others.count() > 0 {
            paragraph(text, "The same minus `none`, in points:");
            paragraph(text, table.markdown().trim_end());
        }
    }

    fn confusions(&self, text: &mut String) {
        let mut table = keyed(self.report).left("Gold", 0).left("Taken for", 0);
        table = table.right("Words", 0).right("% of errors", 0).right("All errors", 0).right("Seeds", 0);
        for group in self.shown() {
            for pair in &group.confusions {
                let mut row = key(group);
                let said = pair.predicted.as_ref().map_or("nothing".into(), |tag| format!("`{tag}`"));
                row.extend([
                    format!("`{}`", pair.gold),
                    said,
                    count(pair.words),
                    fixed(100.0 * pair.share_of_errors, 1),
                    count(group.errors),
                    group.cells.to_string(),
                ]);
                table.row(row);
            }
        }
        if self.groups.iter().all(|group| group.errors == 0) {
            paragraph(text, "No word is wrong.");
        } else {
            paragraph(text, table.markdown().trim_end());
        }
    }

    /// Every cell beside the baseline of its seed, and sentences in which they differ.
    fn versus(&self, lang: &str, text: &mut String) {
        let all: Vec<&Versus> = self
            .report
            .errors
            .versus
            .iter()
            .filter(|versus| versus.lang == lang && versus.split == self.split)
            .collect();
        if all.is_empty() {
            return;
        }
        section(text, 3, "Where policies differ from none");
        let mut table = keyed(self.report).right("Seed", 0).right("Words", 0).right("%", 0);
        table = table.right("Sentences", 0).right("%", 0).right("Only none right", 0);
        table = table.right("Only this right", 0).right("Both wrong", 0).right("p", 0).right("p, Holm", 0);
        for versus in &all {
            let mut row = vec![versus.policy.clone()];
            row.extend(versus.extras.iter().cloned());
            row.extend([
                versus.seed.to_string(),
                count(versus.other_words),
                share(versus.other_words, versus.words),
                count(versus.other_sentences),
                share(versus.other_sentences, versus.sentences),
                count(versus.mcnemar.only_a),
                count(versus.mcnemar.only_b),
                count(versus.both_wrong),
                p_value(versus.mcnemar.exact_p),
                p_value(versus.holm_p),
            ]);
            table.row(row);
        }
        paragraph(text, table.markdown().trim_end());
        paragraph(
            text,
            "**Words** and **sentences** are those with another tag than from `none`. **p** is that of McNemar's \
             exact test.",
        );
        let is_shown = |versus: &&Versus| {
            self.shown().any(|group| (&group.policy, &group.extras) == (&versus.policy, &versus.extras))
        };
        let shown = all.into_iter().filter(|versus| !versus.examples.is_empty()).filter(is_shown);
        examples::list(self.report, &shown.collect::<Vec<_>>(), text);
    }

    /// The first columns of a row that is no policy's.
    fn unkeyed(&self, name: &str) -> Vec<String> {
        let axes = self.report.axes().into_iter().map(|_| NONE.to_string());
        [format!("*{name}*")].into_iter().chain(axes).collect()
    }
}

fn key(group: &GroupErrors) -> Vec<String> {
    [group.policy.clone()].into_iter().chain(group.extras.iter().cloned()).collect()
}

/// Precision, recall and F1 of every tag.
fn scores(group: &GroupErrors, text: &mut String) {
    let mut table = Table::default().left("Tag", 0).right("Words", 0).right("Precision %", 0);
    table = table.right("Recall %", 0).right("F1 %", 0).right("vs none, points", 1);
    let gain = |gain: Option<frostline_score::MeanStd>| {
        let other = gain.filter(|_| group.policy != crate::summary::BASELINE);
        or_dash(other, |gain| signed_plus_minus(gain.times(100.0), 2))
    };
    for tag in &group.tags {
        let [precision, recall, f1] =
            [tag.precision, tag.recall, tag.f1].map(|stat| plus_minus(stat.times(100.0), 2));
        let name = format!("`{}`", tag.tag);
        table.row([name, count(tag.support), precision, recall, f1, gain(tag.f1_gain)]);
    }
    let f1 = plus_minus(group.macro_f1.times(100.0), 2);
    let macro_row =
        ["macro".into(), count(group.words), NONE.into(), NONE.into(), f1, gain(group.macro_f1_gain)];
    table.row(macro_row);
    paragraph(text, table.markdown().trim_end());
}

/// A stratum's name as a table's head says it.
fn heading(by: By, name: &str) -> String {
    match (by, name) {
        (By::Length, _) => format!("{} words, %", name.replace('-', " to ").replace('+', " or more")),
        (By::Train, "known") => "Known %".into(),
        (By::Train, "unknown") => "Unknown %".into(),
        (By::Train, "unambiguous") => "One tag %".into(),
        (By::Train, _) => "Several tags %".into(),
    }
}

fn share(part: u64, whole: u64) -> String {
    fixed(100.0 * part as f64 / whole.max(1) as f64, 1)
}

fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".into() } else { fixed(p, 4) }
}

fn files(text: &mut String) {
    section(text, 2, "Files beside this page");
    *text += "- `tags.csv`: one row per cell, split and tag, with its counts and scores.\n\
              - `confusions.csv`: one row per cell, split and pair of tags.\n\
              - `strata.csv`: one row per cell, split and kind of word or length of sentence.\n\
              - `differences.csv`: one row per split and cell that has one of the same seed in which everything \
              learns.\n";
}
