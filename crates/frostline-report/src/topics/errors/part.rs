//! The tables of a language on a split. If there are very many policies, only some have tables of their own.

use frostline_score::MeanStd;

use crate::keys;
use crate::number::{NONE, count, fixed};
use crate::page::Page;
use crate::page::code;
use crate::study::{BASELINE, Study, choose_named};
use crate::table::{PaperTable, Quantity, Table, TableColumns, TableValue};
use crate::topics::errors::counts::{Confused, GroupErrors, Strata, StratumErrors, TagErrors, WordErrors};
use crate::topics::errors::examples;
use crate::topics::errors::versus::Versus;

/// The most tags that are shown side by side.
pub(super) const COLUMNS: usize = 18;

/// Which groups have tables and rows of their own.
pub(super) fn named_groups(groups: &[&GroupErrors]) -> Vec<bool> {
    let rows: Vec<(&str, f64)> =
        groups.iter().map(|group| (group.policy.as_str(), group.accuracy.mean)).collect();
    choose_named(&rows)
}

/// A language on a split.
pub(super) struct SplitPart<'a> {
    study: &'a Study,
    split: &'static str,
    groups: Vec<&'a GroupErrors>,
    first: &'a GroupErrors,
    /// Which groups have tables of their own.
    named: Vec<bool>,
    versus: Vec<&'a Versus>,
}

impl<'a> SplitPart<'a> {
    /// None if no prediction of it was read.
    pub fn of(study: &'a Study, found: &'a WordErrors, lang: &str, split: &'static str) -> Option<Self> {
        let groups = found.groups.iter().filter(|group| group.lang == lang && group.split == split);
        let groups: Vec<&GroupErrors> = groups.collect();
        let first = *groups.first()?;
        let versus = found.versus.iter().filter(|versus| versus.lang == lang && versus.split == split);
        Some(Self { study, split, first, named: named_groups(&groups), groups, versus: versus.collect() })
    }

    /// All tables.
    pub fn write(&self, page: &mut Page) {
        if self.groups.iter().any(|group| group.varies) {
            page.paragraph(
                "Cells hold different words, or learned from different sentences. Counts of words below are \
                 from the first cell.",
            );
        }
        page.section(3, "By what train knows of a word");
        page.table(self.strata(Strata::Train));
        page.section(3, "By length of sentence");
        page.table(self.strata(Strata::Length));
        page.section(3, "F1 of each tag");
        self.tags(page);
        page.section(3, "Most frequent confusions");
        self.confusions(page);
        self.differences(page);
        page.section(3, "Precision and recall of each tag");
        for group in self.shown() {
            let title = format!("{} on {}", group.policy, self.split);
            page.section(4, keys::title(self.study, title, &group.extras));
            page.table(tag_table(group));
        }
    }

    /// F1 of each tag, and accuracies by what train knows of a word and by length, for LaTeX.
    pub fn paper_tables(&self) -> Vec<PaperTable> {
        let (lang, split) = (&*self.first.lang, self.split);
        let name = |group: &&GroupErrors| [lang.to_string(), keys::path(&group.policy, &group.extras)];
        let rows: Vec<[String; 2]> = self.groups.iter().map(name).collect();
        let keys = 1 + self.study.axes().len();
        let tags: Vec<&TagErrors> = self.first.tags.iter().take(COLUMNS).collect();
        let f1 = self
            .keyed()
            .column("Macro", Quantity::Share(2), |group| group.macro_f1)
            .each(
                tags,
                |tag| code(&tag.tag),
                Quantity::Share(2),
                |group, tag| group.tags.iter().find(|own| own.tag == tag.tag).map(|own| own.f1),
            )
            .table(self.groups.iter().copied());
        let caption = format!("F1 of each tag on {split} of {lang}, in percent.");
        let f1 = PaperTable::new(format!("f1-{lang}-{split}"), caption, f1);
        let strata = [
            (Strata::Train, "known", "what train knows of a word"),
            (Strata::Length, "length", "words of a sentence"),
        ];
        let strata = strata.map(|(by, short, words)| {
            let mut table = self.strata(by);
            // The first row has the numbers of words.
            table.rows.remove(0);
            let caption = format!("Accuracy on {split} of {lang} by {words}, in percent.");
            let table = PaperTable::new(format!("{short}-{lang}-{split}"), caption, table);
            table.named(rows.clone(), keys, format!("{split}-"))
        });
        [f1.named(rows.clone(), keys, format!("{split}-f1-"))].into_iter().chain(strata).collect()
    }

    fn shown(&self) -> impl Iterator<Item = &'a GroupErrors> {
        self.groups.iter().zip(&self.named).filter(|(_, named)| **named).map(|(group, _)| *group)
    }

    /// The first columns of a group's row.
    fn keyed(&self) -> TableColumns<'a, &'a GroupErrors> {
        keys::of_rows(self.study)
    }

    /// The same of a row that is no policy's.
    fn unkeyed(&self, name: &str) -> TableColumns<'a, ()> {
        let name = format!("*{name}*");
        let axes = self.study.axes().into_iter().map(String::from);
        let first = TableColumns::default().column("Frozen", Quantity::Text, move |(): &()| name.clone());
        first.each(axes, |axis| format!("`{axis}`"), Quantity::Text, |(), _| NONE)
    }

    /// Accuracies of strata, a column each; their words in the first row.
    fn strata(&self, by: Strata) -> Table {
        let strata: Vec<&StratumErrors> = self.first.strata.iter().filter(|one| one.by == by).collect();
        let all = self.first.words;
        let name = move |stratum: &&StratumErrors| stratum_heading(by, &stratum.name);
        let words = self
            .unkeyed("words")
            .column("All %", Quantity::Share(2), move |()| all)
            .each(strata.clone(), name, Quantity::Share(2), move |(), stratum| {
                format!("{} ({} %)", count(stratum.words), percent_of(stratum.words, all))
            })
            .column("Seeds", Quantity::Count, |()| NONE);
        let columns = self
            .keyed()
            .column("All %", Quantity::Share(2), |group| group.accuracy)
            .each(strata, name, Quantity::Share(2), move |group, stratum| {
                let found = group.strata.iter().find(|other| (other.by, &other.name) == (by, &stratum.name));
                found.map(|found| found.accuracy)
            })
            .column("Seeds", Quantity::Count, |group| group.cells);
        words.table([()]).with_rows(columns.table(self.groups.iter().copied()))
    }

    /// F1 of the most frequent tags, a column each; below, the differences to the baseline.
    fn tags(&self, page: &mut Page) {
        let tags: Vec<&TagErrors> = self.first.tags.iter().take(COLUMNS).collect();
        let name = |tag: &&TagErrors| code(&tag.tag);
        let words = self.unkeyed("words").column("Macro F1", Quantity::Percent(2), |()| NONE);
        let words = words.each(tags.clone(), name, Quantity::Share(2), |(), tag| tag.support);
        let find =
            |group: &&'a GroupErrors, tag: &TagErrors| group.tags.iter().find(|one| one.tag == tag.tag);
        let columns = self.keyed().column("Macro F1", Quantity::Percent(2), |group| group.macro_f1.mean);
        let columns = columns.each(tags.clone(), name, Quantity::Share(2), move |group, tag| {
            find(group, tag).map(|found| found.f1.mean)
        });
        page.table(words.table([()]).with_rows(columns.table(self.groups.iter().copied())));
        if self.first.tags.len() > COLUMNS {
            let left = self.first.tags.len() - COLUMNS;
            page.paragraph(format!("The {left} rarer tags are in `report.json`, under `tables`."));
        }
        let others =
            self.groups.iter().filter(|group| group.macro_f1_gain.is_some() && group.policy != BASELINE);
        let others: Vec<&GroupErrors> = others.copied().collect();
        if others.is_empty() {
            return;
        }
        let columns = self.keyed().column("Macro F1", Quantity::Points(2), |group| group.macro_f1_gain);
        let columns = columns.each(tags, name, Quantity::Change(2), move |group, tag| {
            find(group, tag).and_then(|found| found.f1_gain)
        });
        page.paragraph("The same minus `none`, in points:");
        page.table(columns.table(others));
    }

    fn confusions(&self, page: &mut Page) {
        if self.groups.iter().all(|group| group.errors == 0) {
            page.paragraph("No word is wrong.");
            return;
        }
        type PairRow<'a> = (&'a GroupErrors, &'a Confused);
        let rows = self.shown().flat_map(|group| group.confusions.iter().map(move |pair| (group, pair)));
        let columns = keys::of_rows(self.study)
            .column("Gold", Quantity::Text, |row: &PairRow<'_>| code(&row.1.gold))
            .column("Taken for", Quantity::Text, |(_, pair)| {
                pair.predicted.as_ref().map_or("nothing".into(), |tag| code(tag))
            })
            .column("Words", Quantity::Count, |row| row.1.words)
            .column("% of errors", Quantity::Share(1), |row| row.1.share_of_errors)
            .column("All errors", Quantity::Count, |row| row.0.errors)
            .column("Seeds", Quantity::Count, |row| row.0.cells);
        page.table(columns.table(rows));
    }

    /// Every cell compared with the baseline of its seed, and sentences in which they differ.
    fn differences(&self, page: &mut Page) {
        if self.versus.is_empty() {
            return;
        }
        page.section(3, "Where policies differ from none");
        let columns = keys::of_rows(self.study)
            .column("Seed", Quantity::Count, |one: &&'a Versus| one.seed.to_string())
            .column("Words", Quantity::Count, |one| one.other_words)
            .column("%", Quantity::Count, |one| percent_of(one.other_words, one.words))
            .column("Sentences", Quantity::Count, |one| one.other_sentences)
            .column("%", Quantity::Count, |one| percent_of(one.other_sentences, one.sentences))
            .column("Only none right", Quantity::Count, |one| one.only_none_right)
            .column("Only this right", Quantity::Count, |one| one.only_this_right)
            .column("Both wrong", Quantity::Count, |one| one.both_wrong)
            .column("Verdict on the policy", Quantity::Text, |one| {
                let verdicts = &self.study.verdicts;
                verdicts.get(one, self.split).map(|row| row.compared.words())
            });
        page.table(columns.table(self.versus.iter().copied()));
        page.paragraph(
            "**Words** and **sentences** are those with another tag than from `none`. The **verdict** is over all \
             seeds, as in `report.md`.",
        );
        let is_shown = |versus: &&Versus| {
            self.shown().any(|group| (&group.policy, &group.extras) == (&versus.policy, &versus.extras))
        };
        let with_examples = self.versus.iter().copied().filter(|versus| !versus.examples.is_empty());
        examples::list_examples(self.study, &with_examples.filter(is_shown).collect::<Vec<_>>(), page);
    }
}

/// Precision, recall and F1 of every tag.
fn tag_table(group: &GroupErrors) -> Table {
    let is_other = group.policy != BASELINE;
    let gain = |gain: Option<MeanStd>| gain.filter(|_| is_other);
    let columns = TableColumns::default()
        .column("Tag", Quantity::Text, |tag: &&TagErrors| code(&tag.tag))
        .column("Words", Quantity::Count, |tag| tag.support)
        .column("Precision", Quantity::Percent(2), |tag| tag.precision)
        .column("Recall", Quantity::Percent(2), |tag| tag.recall)
        .column("F1", Quantity::Percent(2), |tag| tag.f1)
        .optional("vs none", Quantity::Points(2), |tag| gain(tag.f1_gain));
    let macros = TableColumns::default()
        .column("Tag", Quantity::Text, |(): &()| "macro")
        .column("Words", Quantity::Count, |()| group.words)
        .column("Precision", Quantity::Percent(2), |()| TableValue::Missing)
        .column("Recall", Quantity::Percent(2), |()| TableValue::Missing)
        .column("F1", Quantity::Percent(2), |()| group.macro_f1)
        .optional("vs none", Quantity::Points(2), |()| gain(group.macro_f1_gain));
    columns.table(&group.tags).with_rows(macros.table([()]))
}

/// A stratum's name in the head of a table.
fn stratum_heading(by: Strata, name: &str) -> String {
    match (by, name) {
        (Strata::Length, _) => format!("{} words, %", name.replace('-', " to ").replace('+', " or more")),
        (Strata::Train, "known") => "Known %".into(),
        (Strata::Train, "unknown") => "Unknown %".into(),
        (Strata::Train, "unambiguous") => "One tag %".into(),
        (Strata::Train, _) => "Several tags %".into(),
    }
}

fn percent_of(part: u64, whole: u64) -> String {
    fixed(100.0 * part as f64 / whole.max(1) as f64, 1)
}
