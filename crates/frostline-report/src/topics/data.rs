//! Data: what was learned from and what was scored, split by split, and what train lacks.

use std::collections::BTreeMap;

use frostline_record::{SplitFacts, TaskFacts, Unit};

use crate::number::{count, listed};
use crate::page::code;
use crate::page::{Page, PageFile};
use crate::render::markdown;
use crate::study::cells::SPLITS;
use crate::study::outcomes::drawn_share;
use crate::study::words::{extras_name, write_banner};
use crate::study::{CellView, Study, distinct};
use crate::table::{Quantity, TableColumns};
use crate::topic::{ReportPlace, Topic};
use crate::topics::sentences::counts::balance_words;
use crate::topics::stages::capital_split;

/// The most data of one language that are shown.
const SHOWN: usize = 24;

/// Data.
pub(crate) struct DataTopic;

/// What some cells learn from.
#[derive(Clone, Debug)]
pub struct LearnedFrom<'a> {
    /// The language or dataset, as a heading.
    pub title: String,
    /// Distinguishes these data from others under the same heading; empty if there are no others.
    pub which: String,
    /// Every task's data.
    pub tasks: &'a BTreeMap<String, TaskFacts>,
}

/// The tables of `data.md` as Markdown: sizes, subwords, unknown words, sentences that splits share, and tags. Data
/// under one heading follow each other.
#[must_use]
pub fn data_tables(all: &[LearnedFrom<'_>]) -> String {
    let mut page = Page::default();
    add_tables(all, &mut page);
    markdown::write_page(&page)
}

impl Topic for DataTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if place == ReportPlace::Caveats {
            page.items(own_sentences(study));
        }
    }

    fn pages(&self, study: &Study) -> Vec<PageFile<'_>> {
        let all = learned_from(study);
        if all.is_empty() {
            return Vec::new();
        }
        let mut page = Page::default();
        page.section(1, format!("The data: {}", study.sweep.plan.name));
        write_banner(study, &mut page);
        add_tables(&all, &mut page);
        vec![PageFile {
            path: "data.md",
            about: "what was learned from and scored, tag by tag, and what train lacks.".into(),
            page,
            browser: None,
        }]
    }
}

/// A remark for sweeps in which every seed draws its own sentences to be scored on.
fn own_sentences(study: &Study) -> Option<String> {
    let draws = |view: &&CellView| {
        let settings = &view.cell.settings;
        let mut datasets = settings.tasks.values().map(|task| settings.dataset_of(task));
        datasets.any(|dataset| SPLITS.iter().any(|split| drawn_share(&view.cell, dataset, split).is_some()))
    };
    let drawn: Vec<&CellView> = study.cells.iter().filter(draws).collect();
    let langs = distinct(drawn.iter().map(|view| view.cell.settings.lang.to_string()));
    let seeds = distinct(drawn.iter().map(|view| view.cell.settings.seed));
    (seeds.len() > 1).then(|| {
        format!(
            "In {}, every seed draws the sentences it is scored on. Policies are compared seed by seed on the same sentences; part \
             of what differs between seeds is their sentences.",
            listed(&langs)
        )
    })
}

/// What the cells of each language learned from, each once.
fn learned_from(study: &Study) -> Vec<LearnedFrom<'_>> {
    let mut all = Vec::new();
    for lang in study.langs() {
        let of_lang = study.cells.iter().filter(|view| view.cell.settings.lang == lang);
        let mut found: Vec<(&CellView, &BTreeMap<String, TaskFacts>)> = Vec::new();
        for view in of_lang {
            let Some(done) = view.done() else { continue };
            if !found.iter().any(|(_, tasks)| **tasks == done.result.tasks) {
                found.push((view, &done.result.tasks));
            }
        }
        let several = found.len() > 1;
        all.extend(found.into_iter().map(|(view, tasks)| LearnedFrom {
            title: study.lang_title(lang),
            which: if several { name_of_data(study, view) } else { String::new() },
            tasks,
        }));
    }
    all
}

fn name_of_data(study: &Study, view: &CellView) -> String {
    let extras = extras_name(study, &view.extras);
    let seed = format!("seed {}", view.cell.settings.seed);
    if extras.is_empty() { seed } else { format!("{extras}, {seed}") }
}

fn add_tables(all: &[LearnedFrom<'_>], page: &mut Page) {
    for title in distinct(all.iter().map(|data| &data.title)) {
        let alike: Vec<&LearnedFrom<'_>> = all.iter().filter(|data| data.title == *title).collect();
        page.section(2, title);
        if alike.len() > 1 {
            page.paragraph(
                "Cells learn from different sentences. The tags below are from the first row's data.",
            );
        }
        if alike.len() > SHOWN {
            let left = alike.len() - SHOWN;
            page.paragraph(format!("Only {SHOWN} are shown; {left} more are in the records."));
        }
        let Some(first) = alike.first() else { continue };
        for (name, facts) in first.tasks {
            if first.tasks.len() > 1 {
                page.section(3, format!("Task {name}"));
            }
            let of_task =
                alike.iter().take(SHOWN).filter_map(|data| Some((&*data.which, data.tasks.get(name)?)));
            add_splits(&of_task.collect::<Vec<_>>(), page);
            add_tags(facts, page);
        }
    }
    add_notes(all, page);
}

/// A split of some data.
struct DataSplit<'a> {
    which: &'a str,
    name: &'a str,
    split: &'a SplitFacts,
}

impl DataSplit<'_> {
    fn share(part: u64, whole: u64) -> Option<f64> {
        (whole > 0).then(|| part as f64 / whole as f64)
    }

    /// A share that only dev and test have.
    fn of_scored(&self, part: u64, whole: u64) -> Option<f64> {
        Self::share(part, whole).filter(|_| self.name != "train")
    }
}

/// A row per split.
fn add_splits(all: &[(&str, &TaskFacts)], page: &mut Page) {
    let words = all.iter().all(|(_, facts)| facts.unit == Unit::Words);
    let columns = TableColumns::default()
        .column("Split", Quantity::Text, |row: &DataSplit<'_>| row.name)
        .column_if(all.len() > 1, "Cells", Quantity::Text, |row| row.which)
        .column("Sentences", Quantity::Count, |row| row.split.sentences)
        .column("Words", Quantity::Count, |row| row.split.forms.words)
        .optional("Subwords per word", Quantity::Number(3, ""), |row| row.split.spelled.subwords_per_word())
        .optional("Cut off", Quantity::Count, |row| words.then_some(row.split.truncated))
        .optional("Vanished", Quantity::Count, |row| words.then_some(row.split.vanished))
        .column("Forms", Quantity::Count, |row| row.split.forms.types)
        .optional("Unknown words", Quantity::Percent(2), |row| {
            row.of_scored(row.split.forms.unknown_words, row.split.forms.words)
        })
        .optional("Unknown forms", Quantity::Percent(2), |row| {
            row.of_scored(row.split.forms.unknown_types, row.split.forms.types)
        })
        .optional("Words with several tags", Quantity::Percent(2), |row| {
            DataSplit::share(row.split.forms.ambiguous_words, row.split.forms.words).filter(|_| words)
        })
        .column("Sentences seen", Quantity::Percent(2), |row| {
            DataSplit::share(row.split.repeated, row.split.sentences)
        })
        .optional("Words in sentences of train", Quantity::Percent(2), |row| {
            row.of_scored(row.split.like_train?.words, row.split.forms.words)
        })
        .optional("Words in sentences of dev", Quantity::Percent(2), |row| {
            row.of_scored(row.split.like_dev?.words, row.split.forms.words)
        });
    let rows = all
        .iter()
        .flat_map(|(which, facts)| facts.splits().map(move |(name, split)| DataSplit { which, name, split }));
    page.table(columns.table(rows));
}

/// How often each tag occurs, the most frequent in train first, and which train lacks.
fn add_tags(facts: &TaskFacts, page: &mut Page) {
    let unit = if facts.unit == Unit::Words { "Tag" } else { "Label" };
    let found = |split: &SplitFacts, tag: &String| split.tags.get(tag).copied().unwrap_or(0);
    let mut names = distinct(facts.splits().flat_map(|(_, split)| split.tags.keys()));
    names.sort_by_key(|name| (std::cmp::Reverse(found(&facts.train, name)), *name));
    let columns = TableColumns::default().column(unit, Quantity::Text, |tag: &&String| code(tag));
    let columns = facts.splits().fold(columns, |columns, (name, split)| {
        columns.column(capital_split(name), Quantity::Count, move |tag| found(split, tag)).column(
            "%",
            Quantity::Share(2),
            move |tag| found(split, tag) as f64 / split.words.max(1) as f64,
        )
    });
    page.table(columns.table(names));
    for (name, split) in facts.splits().filter(|_| facts.unit == Unit::Sentences) {
        let counts: Vec<(&str, u64)> = split.tags.iter().map(|(tag, count)| (tag.as_str(), *count)).collect();
        if let Some(words) = balance_words(&counts) {
            page.item(format!("Balance of {name}: {words}"));
        }
    }
    for (name, split) in facts.splits().filter(|(name, _)| *name != "train") {
        let missing: Vec<String> = facts
            .missing_in_train(split)
            .map(|(tag, words)| format!("{} ({})", code(tag), count(words)))
            .collect();
        let labels = if missing.is_empty() { "none".into() } else { missing.join(", ") };
        page.item(format!("Of {name}, train lacks the {}s: {labels}.", unit.to_lowercase()));
    }
}

fn add_notes(all: &[LearnedFrom<'_>], page: &mut Page) {
    page.section(2, "What the columns are");
    for note in [
        "All of it is counted from the sentences that cells learn from and are scored on, after the plan's \
         cuts, and as the model is given them: in lower case if the plan asks for it.",
        "**Words** are the labelled ones; if sentences are labelled, all of them. **Forms** are \
         different words.",
        "**Subwords per word** is a mean over words of which a subword is left; specials do not count.",
        "**Cut off** are labelled words behind the longest sentence that the plan allows, **vanished** \
         words of which the tokenizer makes nothing. Both are wrong in every score.",
        "**Unknown** is what train lacks. **Several tags** are those that a word has in train.",
        "**Sentences seen** consist of the same words as one of train; in train, as an earlier one.",
    ] {
        page.item(note);
    }
    let splits = || all.iter().flat_map(|data| data.tasks.values()).flat_map(TaskFacts::splits);
    if splits().any(|(_, split)| split.like_train.is_some()) {
        page.item(
            "**Words in sentences of train** (of dev) are in sentences that the other split has too, but for case and \
             punctuation.",
        );
    }
}
