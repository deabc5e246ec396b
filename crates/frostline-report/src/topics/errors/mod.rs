//! Errors: which words are wrong, and in what policies differ. Where there are very many policies, only some have
//! tables of their own; a CSV file has all.

mod counts;
mod examples;
mod files;
mod versus;

use frostline_score::MeanStd;

use crate::chart::{
    Bar, BarPanel, BarRow, Bars, Chart, Figure, Heat, HeatColour, HeatField, HeatPanel, Lengths,
};
use crate::chart::{Note, Tone};
use crate::fields::Fields;
use crate::keys;
use crate::number::{NONE, count, fixed, plural};
use crate::page::{Page, PageFile};
use crate::study::words::{SENTENCES, banner, units};
use crate::study::{BASELINE, SPLITS, Stored, Study, named, panels};
use crate::table::{Columns, DataFile, Quantity, Table, Value};
use crate::topic::Topic;

use counts::{GroupErrors, Strata, StratumErrors, TagErrors, WordErrors};
use versus::Versus;

/// The most tags that stand side by side.
const COLUMNS: usize = 18;

/// Errors.
pub(crate) struct Errors {
    found: WordErrors,
    /// Files of predictions that could not be used, each with why.
    left_out: Vec<String>,
}

impl Errors {
    /// Those of a study, as far as predictions were read.
    pub fn of(study: &Study, stored: &Stored<'_>) -> Self {
        let found = WordErrors::of(&study.cells, &study.groups, &stored.words);
        Self { found, left_out: stored.left_out.clone() }
    }
}

impl Topic for Errors {
    fn caveats(&self, study: &Study) -> Vec<String> {
        let unread = self.left_out.first().map(|first| {
            format!(
                "**{} of predictions could not be used**, so F1, confusions and what else is counted from them \
                 lack them. The first is {first}.",
                plural(self.left_out.len(), "file")
            )
        });
        let missing = match units(study) {
            _ if !self.found.is_empty() => "",
            SENTENCES => "significance tests from predictions, and ",
            _ => "per-tag scores, confusions, significance tests from predictions, and ",
        };
        let missing = format!(
            "Not in this report: {missing}any setting that the plan does not vary. The predictions are stored \
             with each cell."
        );
        unread.into_iter().chain([missing]).collect()
    }

    fn link(&self, _: &Study) -> Option<&'static str> {
        (!self.found.is_empty())
            .then_some("Which words are wrong, and where policies differ: [errors.md](errors.md).")
    }

    fn pages(&self, study: &Study) -> Vec<PageFile> {
        if self.found.is_empty() {
            return Vec::new();
        }
        vec![PageFile {
            path: "errors.md",
            about: "F1 of each tag, confusions, known and unknown words, length of sentences, and where policies \
                    differ. Its numbers stand in `tags.csv`, `confusions.csv`, `strata.csv` and `differences.csv`."
                .into(),
            page: self.page(study),
        }]
    }

    fn page_figures(&self, study: &Study) -> Vec<Figure> {
        if self.found.groups.iter().any(|group| group.split == "dev") {
            vec![self.familiarity_figure(study), self.tags_figure(study)]
        } else {
            Vec::new()
        }
    }

    fn tables(&self, study: &Study) -> Vec<DataFile> {
        if self.found.is_empty() { Vec::new() } else { files::all(study, &self.found) }
    }

    fn fields(&self, _: &Study) -> Fields {
        Fields::default().with_some("errors", &self.found.groups).with_some("differences", &self.found.versus)
    }
}

impl Errors {
    fn page(&self, study: &Study) -> Page {
        let mut page = Page::default();
        page.section(1, format!("Errors: {}", study.sweep.plan.name));
        banner(study, &mut page);
        how_to_read(study, &mut page);
        for figure in self.page_figures(study) {
            page.figure(figure.path, figure.title, &figure.about);
        }
        for lang in study.langs() {
            for split in SPLITS {
                if let Some(part) = SplitPart::of(study, &self.found, lang, split) {
                    page.section(2, format!("{}: {split}", study.lang_title(lang)));
                    part.write(&mut page);
                }
            }
        }
        page.section(2, "Files beside this page");
        for item in files::ABOUT {
            page.item(item);
        }
        page
    }

    /// The groups that a figure shows of each panel, with the panel's title.
    fn shown(&self, study: &Study) -> Vec<(String, Vec<&GroupErrors>)> {
        let maps = panels(study).into_iter().map(|panel| {
            let found = panel.groups.iter().filter_map(|group| {
                self.found.groups.iter().find(|found| {
                    (&found.lang, &found.policy, &found.extras, found.split)
                        == (&group.lang, &group.policy, &group.extras, "dev")
                })
            });
            let rows: Vec<&GroupErrors> = found.collect();
            let named = named_groups(&rows);
            (panel.title, rows.into_iter().zip(named).filter(|(_, n)| *n).map(|(row, _)| row).collect())
        });
        maps.filter(|(_, rows): &(String, Vec<&GroupErrors>)| !rows.is_empty()).collect()
    }

    /// F1 of tags: a row per policy, a column per tag.
    fn tags_figure(&self, study: &Study) -> Figure {
        let shown = self.shown(study);
        let mut notes: Vec<Note> = vec![
            "Number: F1 on dev in percent, the mean over seeds. The darker a field, the more is missing to 100. \
             Below a tag stands the number of its words."
                .into(),
        ];
        if shown.iter().flat_map(|(_, rows)| rows).any(|row| row.tags.len() > COLUMNS) {
            notes.push(format!("Only the {COLUMNS} most frequent tags are shown.").into());
        }
        notes.extend(self.omitted(study).map(Note::Text));
        Figure {
            path: "figures/tags.svg",
            title: "F1 of each tag on dev",
            about: "A row per policy, a column per tag, the most frequent first. The darker a field, the more is \
                    missing to an F1 of 100."
                .into(),
            chart: Chart::Heat(Heat {
                panels: shown.iter().map(|(title, rows)| heat(title, rows)).collect(),
                colour: HeatColour::Missing,
            }),
            notes,
            across: 1,
        }
    }

    /// Accuracy by what train knows of a word: three bars per policy.
    fn familiarity_figure(&self, study: &Study) -> Figure {
        let names = [("unknown", "unknown"), ("ambiguous", "several tags"), ("unambiguous", "one tag")];
        let row = |group: &&GroupErrors| {
            let bar = |(name, shown): (&str, &str)| {
                let found =
                    group.strata.iter().find(|found| found.by == Strata::Train && found.name == name)?;
                Some(Bar::new(shown, found.accuracy, found.interval.map(|ends| [ends.low, ends.high])))
            };
            BarRow {
                name: group.policy.clone(),
                tone: Tone::Policy(study.place_of(&group.policy)),
                bars: names.into_iter().filter_map(bar).collect(),
            }
        };
        let panels = self.shown(study).into_iter().map(|(title, rows)| BarPanel {
            rows: rows.iter().map(row).collect(),
            title,
            axis: "dev accuracy, %".into(),
            kind: String::new(),
            references: Vec::new(),
        });
        let panels: Vec<BarPanel> = panels.collect();
        let mut notes: Vec<Note> = vec![
            "Bar and number: mean accuracy on words that train lacks, that have several tags there, and that have \
             one. Thin line: 95 % Wilson interval at their number."
                .into(),
        ];
        notes.extend(self.omitted(study).map(Note::Text));
        Figure {
            path: "figures/familiarity.svg",
            title: "Dev accuracy by what train knows of a word",
            about: "Three bars per policy: words that train lacks, words with several tags there, and words with \
                    one."
                .into(),
            chart: Chart::Bars(Bars {
                lengths: Lengths::Groups,
                names: panels.iter().flat_map(|panel| panel.rows.iter().map(|row| row.name.clone())).collect(),
                panels,
                interval: "95 % interval",
            }),
            notes,
            across: 2,
        }
    }

    /// How many rows figures omit.
    fn omitted(&self, study: &Study) -> Option<String> {
        let shown: usize = self.shown(study).iter().map(|(_, rows)| rows.len()).sum();
        let all = self.found.groups.iter().filter(|group| group.split == "dev").count();
        let units = units(study).many;
        (shown < all).then(|| {
            format!(
                "Of {all} rows, {shown} are drawn: those with the most and the fewest right {units}, and the \
                 baseline."
            )
        })
    }
}

/// Which groups have tables and rows of their own.
fn named_groups(groups: &[&GroupErrors]) -> Vec<bool> {
    let rows: Vec<(&str, f64)> =
        groups.iter().map(|group| (group.policy.as_str(), group.accuracy.mean)).collect();
    named(&rows)
}

fn heat(title: &str, rows: &[&GroupErrors]) -> HeatPanel {
    let tags: Vec<&TagErrors> = rows[0].tags.iter().take(COLUMNS).collect();
    let field = |row: &GroupErrors, tag: &str| {
        let found = row.tags.iter().find(|other| other.tag == tag)?;
        Some(HeatField { label: fixed(100.0 * found.f1.mean, 1), shade: shade(found.f1.mean) })
    };
    let fields = |row: &GroupErrors| tags.iter().map(|tag| field(row, &tag.tag)).collect();
    HeatPanel {
        title: title.into(),
        columns: tags.iter().map(|tag| vec![tag.tag.clone(), count(tag.support)]).collect(),
        rows: rows.iter().map(|row| (row.policy.clone(), fields(row))).collect(),
    }
}

/// How dark a field is: the same step for the same factor of errors, from 0.1 % to half; never so dark
/// that its number is hard to read.
fn shade(f1: f64) -> f64 {
    let missing = (1.0 - f1).clamp(0.001, 0.5);
    0.02 + 0.63 * (missing / 0.001).ln() / 500_f64.ln()
}

fn how_to_read(study: &Study, page: &mut Page) {
    page.paragraph(
        "This page is counted from the stored predictions of every cell. A word is wrong here where it is \
         wrong in the headline accuracy: also where it was lost to truncation or its tag never occurs in \
         train.",
    );
    for item in [
        "**Unknown** words do not occur in the train split that the cell learned from. The others are \
         **known**: with **one tag** there, or with **several**, which makes them ambiguous. Words are \
         compared as the model was given them, in lower case where the plan asks for it.",
        "**Length** counts the labelled words of a sentence.",
        "**F1** of a tag is the harmonic mean of precision and recall; **macro F1** is the mean over \
         tags. **± after a number** is one standard deviation over seeds.",
        "**Confusions** are summed over seeds.",
    ] {
        page.item(item);
    }
    if study.has_baseline() {
        page.item("**vs none** is the difference to the cell of the same seed in which everything learns.");
        page.item(
            "**McNemar's test** asks of the words that only one of two cells has right whether they are \
             equally many on both sides. It takes words as independent. Those of a sentence are not, so it \
             finds differences a little too eagerly. **Holm** corrects its p-values for all rows of the \
             table.",
        );
    }
}

/// A language on a split.
struct SplitPart<'a> {
    study: &'a Study,
    split: &'static str,
    groups: Vec<&'a GroupErrors>,
    first: &'a GroupErrors,
    /// Which groups have tables of their own.
    named: Vec<bool>,
    versus: Vec<&'a Versus>,
}

impl<'a> SplitPart<'a> {
    fn of(study: &'a Study, found: &'a WordErrors, lang: &str, split: &'static str) -> Option<Self> {
        let groups = found.groups.iter().filter(|group| group.lang == lang && group.split == split);
        let groups: Vec<&GroupErrors> = groups.collect();
        let first = *groups.first()?;
        let versus = found.versus.iter().filter(|versus| versus.lang == lang && versus.split == split);
        Some(Self { study, split, first, named: named_groups(&groups), groups, versus: versus.collect() })
    }

    fn write(&self, page: &mut Page) {
        if self.groups.iter().any(|group| group.varies) {
            page.paragraph(
                "Cells hold different words, or learned from different sentences. Counts of words below are \
                 those of the first cell.",
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
            page.table(scores(group));
        }
    }

    fn shown(&self) -> impl Iterator<Item = &'a GroupErrors> {
        self.groups.iter().zip(&self.named).filter(|(_, named)| **named).map(|(group, _)| *group)
    }

    /// The first columns of a group's row.
    fn keyed(&self) -> Columns<'a, &'a GroupErrors> {
        keys::frozen(
            self.study,
            |group: &&'a GroupErrors| group.policy.clone(),
            |group: &&'a GroupErrors| &group.extras,
        )
    }

    /// The same of a row that is no policy's.
    fn unkeyed(&self, name: &str) -> Columns<'a, ()> {
        let name = format!("*{name}*");
        let axes = self.study.axes().into_iter().map(String::from);
        let first = Columns::default().column("Frozen", Quantity::Text, move |(): &()| name.clone());
        first.each(axes, |axis| format!("`{axis}`"), Quantity::Text, |(), _| NONE)
    }

    /// Accuracies of strata, a column each; their words in the first row.
    fn strata(&self, by: Strata) -> Table {
        let strata: Vec<&StratumErrors> = self.first.strata.iter().filter(|one| one.by == by).collect();
        let all = self.first.words;
        let name = move |stratum: &&StratumErrors| heading(by, &stratum.name);
        let words = self
            .unkeyed("words")
            .column("All %", Quantity::Share(2), move |()| Value::Count(all))
            .each(strata.clone(), name, Quantity::Share(2), move |(), stratum| {
                format!("{} ({} %)", count(stratum.words), share(stratum.words, all))
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
        let name = |tag: &&TagErrors| format!("`{}`", tag.tag);
        let words = self.unkeyed("words").column("Macro F1", Quantity::Percent(2), |()| NONE);
        let words = words.each(tags.clone(), name, Quantity::Share(2), |(), tag| Value::Count(tag.support));
        let find =
            |group: &&'a GroupErrors, tag: &TagErrors| group.tags.iter().find(|one| one.tag == tag.tag);
        let columns = self.keyed().column("Macro F1", Quantity::Percent(2), |group| group.macro_f1.mean);
        let columns = columns.each(tags.clone(), name, Quantity::Share(2), move |group, tag| {
            find(group, tag).map(|found| found.f1.mean)
        });
        page.table(words.table([()]).with_rows(columns.table(self.groups.iter().copied())));
        if self.first.tags.len() > COLUMNS {
            let left = self.first.tags.len() - COLUMNS;
            page.paragraph(format!("The {left} rarer tags stand in `tags.csv`."));
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
        type PairRow<'a> = (&'a GroupErrors, &'a counts::Confused);
        let rows = self.shown().flat_map(|group| group.confusions.iter().map(move |pair| (group, pair)));
        let columns = keys::frozen(
            self.study,
            |row: &PairRow<'_>| row.0.policy.clone(),
            |row: &PairRow<'_>| &row.0.extras,
        )
        .column("Gold", Quantity::Text, |row| format!("`{}`", row.1.gold))
        .column("Taken for", Quantity::Text, |(_, pair)| {
            pair.predicted.as_ref().map_or("nothing".into(), |tag| format!("`{tag}`"))
        })
        .column("Words", Quantity::Count, |row| row.1.words)
        .column("% of errors", Quantity::Share(1), |row| row.1.share_of_errors)
        .column("All errors", Quantity::Count, |row| row.0.errors)
        .column("Seeds", Quantity::Count, |row| row.0.cells);
        page.table(columns.table(rows));
    }

    /// Every cell beside the baseline of its seed, and sentences in which they differ.
    fn differences(&self, page: &mut Page) {
        if self.versus.is_empty() {
            return;
        }
        page.section(3, "Where policies differ from none");
        let columns =
            keys::frozen(self.study, |one: &&'a Versus| one.policy.clone(), |one: &&'a Versus| &one.extras)
                .column("Seed", Quantity::Count, |one| one.seed.to_string())
                .column("Words", Quantity::Count, |one| one.other_words)
                .column("%", Quantity::Count, |one| share(one.other_words, one.words))
                .column("Sentences", Quantity::Count, |one| one.other_sentences)
                .column("%", Quantity::Count, |one| share(one.other_sentences, one.sentences))
                .column("Only none right", Quantity::Count, |one| one.mcnemar.only_a)
                .column("Only this right", Quantity::Count, |one| one.mcnemar.only_b)
                .column("Both wrong", Quantity::Count, |one| one.both_wrong)
                .column("p", Quantity::Probability, |one| one.mcnemar.exact_p)
                .column("p, Holm", Quantity::Probability, |one| one.holm_p);
        page.table(columns.table(self.versus.iter().copied()));
        page.paragraph(
            "**Words** and **sentences** are those with another tag than from `none`. **p** is that of McNemar's \
             exact test.",
        );
        let is_shown = |versus: &&Versus| {
            self.shown().any(|group| (&group.policy, &group.extras) == (&versus.policy, &versus.extras))
        };
        let with_examples = self.versus.iter().copied().filter(|versus| !versus.examples.is_empty());
        examples::list(self.study, &with_examples.filter(is_shown).collect::<Vec<_>>(), page);
    }
}

/// Precision, recall and F1 of every tag.
fn scores(group: &GroupErrors) -> Table {
    let is_other = group.policy != BASELINE;
    let gain = |gain: Option<MeanStd>| gain.filter(|_| is_other);
    let columns = Columns::default()
        .column("Tag", Quantity::Text, |tag: &&TagErrors| format!("`{}`", tag.tag))
        .column("Words", Quantity::Count, |tag| tag.support)
        .column("Precision", Quantity::Percent(2), |tag| tag.precision)
        .column("Recall", Quantity::Percent(2), |tag| tag.recall)
        .column("F1", Quantity::Percent(2), |tag| tag.f1)
        .optional("vs none", Quantity::Points(2), |tag| gain(tag.f1_gain));
    let macros = Columns::default()
        .column("Tag", Quantity::Text, |(): &()| "macro")
        .column("Words", Quantity::Count, |()| group.words)
        .column("Precision", Quantity::Percent(2), |()| Value::Missing)
        .column("Recall", Quantity::Percent(2), |()| Value::Missing)
        .column("F1", Quantity::Percent(2), |()| group.macro_f1)
        .optional("vs none", Quantity::Points(2), |()| gain(group.macro_f1_gain));
    columns.table(&group.tags).with_rows(macros.table([()]))
}

/// A stratum's name as a table's head says it.
fn heading(by: Strata, name: &str) -> String {
    match (by, name) {
        (Strata::Length, _) => format!("{} words, %", name.replace('-', " to ").replace('+', " or more")),
        (Strata::Train, "known") => "Known %".into(),
        (Strata::Train, "unknown") => "Unknown %".into(),
        (Strata::Train, "unambiguous") => "One tag %".into(),
        (Strata::Train, _) => "Several tags %".into(),
    }
}

fn share(part: u64, whole: u64) -> String {
    fixed(100.0 * part as f64 / whole.max(1) as f64, 1)
}
