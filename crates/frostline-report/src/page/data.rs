//! Owns `data.md`: what was learned from and what was scored, split by split, and what train lacks.
//!
//! Refuses to say anything of a split that is not counted in a record.

use std::collections::BTreeMap;

use frostline_record::{SplitFacts, TaskFacts, Unit};

use crate::Report;
use crate::number::{NONE, count, fixed, or_dash};
use crate::page::{banner, paragraph, section};
use crate::summary::{CellView, distinct};
use crate::table::Table;
use crate::words;

/// The most data of one language that are shown.
const SHOWN: usize = 24;

/// What some cells learn from.
#[derive(Clone, Debug)]
pub struct LearnedFrom<'a> {
    /// The language or dataset, as a heading.
    pub title: String,
    /// What tells these data from others under the same heading; empty where there are no others.
    pub which: String,
    /// Every task's data.
    pub tasks: &'a BTreeMap<String, TaskFacts>,
}

/// The tables of `data.md`: sizes, subwords, unknown words, sentences that splits share, and tags. Data
/// under one heading follow each other.
#[must_use]
pub fn data_tables(all: &[LearnedFrom<'_>]) -> String {
    let mut text = String::new();
    for title in distinct(all.iter().map(|data| &data.title)) {
        let alike: Vec<&LearnedFrom<'_>> = all.iter().filter(|data| data.title == *title).collect();
        section(&mut text, 2, title);
        if alike.len() > 1 {
            paragraph(
                &mut text,
                "Cells learn from different sentences. The tags below are those of the first row's data.",
            );
        }
        if alike.len() > SHOWN {
            let left = alike.len() - SHOWN;
            paragraph(&mut text, &format!("Only {SHOWN} are shown; {left} more stand in the records."));
        }
        let Some(first) = alike.first() else { continue };
        for (name, facts) in first.tasks {
            if first.tasks.len() > 1 {
                section(&mut text, 3, &format!("Task {name}"));
            }
            let of_task =
                alike.iter().take(SHOWN).filter_map(|data| Some((&*data.which, data.tasks.get(name)?)));
            splits(&of_task.collect::<Vec<_>>(), &mut text);
            tags(facts, &mut text);
        }
    }
    notes(&mut text);
    text.trim_start().to_string()
}

/// `data.md`, where a cell has told what it learned from.
pub(crate) fn data_page(report: &Report) -> Option<String> {
    let mut all: Vec<LearnedFrom<'_>> = Vec::new();
    for lang in report.langs() {
        let of_lang = report.cells.iter().filter(|view| view.cell.settings.lang == lang);
        let mut found: Vec<(&CellView, &BTreeMap<String, TaskFacts>)> = Vec::new();
        for view in of_lang {
            let Some(done) = view.done() else { continue };
            if !found.iter().any(|(_, tasks)| **tasks == done.result.tasks) {
                found.push((view, &done.result.tasks));
            }
        }
        let several = found.len() > 1;
        all.extend(found.into_iter().map(|(view, tasks)| LearnedFrom {
            title: report.lang_title(lang),
            which: if several { which(report, view) } else { String::new() },
            tasks,
        }));
    }
    if all.is_empty() {
        return None;
    }
    let head = format!("# The data: {}\n\n{}", report.sweep.plan.name, banner(report));
    Some(head + &data_tables(&all))
}

fn which(report: &Report, view: &CellView) -> String {
    let extras = words::extras_name(report, &view.extras);
    let seed = format!("seed {}", view.cell.settings.seed);
    if extras.is_empty() { seed } else { format!("{extras}, {seed}") }
}

/// A row per split.
fn splits(all: &[(&str, &TaskFacts)], text: &mut String) {
    let words = all.iter().all(|(_, facts)| facts.unit == Unit::Words);
    let several = all.len() > 1;
    let mut table = Table::default().left("Split", 0);
    if several {
        table = table.left("Cells", 0);
    }
    for (head, rank) in [
        ("Sentences", 0),
        ("Words", 0),
        ("Subwords per word", 1),
        ("Cut off", 1),
        ("Vanished", 1),
        ("Forms", 0),
        ("Unknown words %", 1),
        ("Unknown forms %", 1),
        ("Words with several tags %", 1),
        ("Sentences seen %", 0),
    ] {
        table = table.right(head, rank);
    }
    for (which, facts) in all {
        for (name, split) in facts.splits() {
            let mut row = vec![name.to_string()];
            row.extend(several.then(|| (*which).to_string()));
            row.extend(columns(split, name == "train", words));
            table.row(row);
        }
    }
    paragraph(text, table.markdown().trim_end());
}

fn columns(split: &SplitFacts, is_train: bool, words: bool) -> [String; 10] {
    let forms = &split.forms;
    let share = |part: u64, whole: u64| (whole > 0).then(|| fixed(100.0 * part as f64 / whole as f64, 2));
    let lost = |lost: u64| if words { count(lost) } else { NONE.into() };
    let of_train = |share: Option<String>| or_dash(share.filter(|_| !is_train), |share| share);
    [
        count(split.sentences),
        count(forms.words),
        or_dash(split.spelled.subwords_per_word(), |mean| fixed(mean, 3)),
        lost(split.truncated),
        lost(split.vanished),
        count(forms.types),
        of_train(share(forms.unknown_words, forms.words)),
        of_train(share(forms.unknown_types, forms.types)),
        or_dash(share(forms.ambiguous_words, forms.words).filter(|_| words), |share| share),
        or_dash(share(split.repeated, split.sentences), |share| share),
    ]
}

/// How often each tag occurs, the most frequent in train first, and which train lacks.
fn tags(facts: &TaskFacts, text: &mut String) {
    let unit = if facts.unit == Unit::Words { "Tag" } else { "Label" };
    let mut names = distinct(facts.splits().flat_map(|(_, split)| split.tags.keys()));
    names.sort_by_key(|name| (std::cmp::Reverse(facts.train.tags.get(*name).copied().unwrap_or(0)), *name));
    let mut table = Table::default().left(unit, 0);
    for (name, _) in facts.splits() {
        table = table.right(capital(name), 0).right("%", 0);
    }
    for name in names {
        let mut row = vec![format!("`{name}`")];
        for (_, split) in facts.splits() {
            let found = split.tags.get(name).copied().unwrap_or(0);
            row.push(count(found));
            row.push(fixed(100.0 * found as f64 / split.words.max(1) as f64, 2));
        }
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
    for (name, split) in facts.splits().filter(|(name, _)| *name != "train") {
        let missing: Vec<String> =
            facts.missing_in_train(split).map(|(tag, words)| format!("`{tag}` ({})", count(words))).collect();
        let said = if missing.is_empty() { "none".into() } else { missing.join(", ") };
        *text += &format!("- Of {name}, train lacks the {}s: {said}.\n", unit.to_lowercase());
    }
    text.push('\n');
}

fn notes(text: &mut String) {
    section(text, 2, "What the columns are");
    *text += "- All of it is counted from the sentences that cells learn from and are scored on, after the plan's \
              cuts, and as the model is given them: in lower case where the plan asks for it.\n\
              - **Words** are the labelled ones; where sentences are labelled, all of them. **Forms** are \
              different words.\n\
              - **Subwords per word** is a mean over words of which a subword is left; specials do not count.\n\
              - **Cut off** are labelled words behind the longest sentence that the plan allows, **vanished** \
              those of which the tokenizer makes nothing. Both are wrong in every score.\n\
              - **Unknown** is what train lacks. **Several tags** are those that a word has in train.\n\
              - **Sentences seen** consist of the same words as one of train; in train, as an earlier one.\n";
}

fn capital(split: &str) -> &'static str {
    match split {
        "train" => "Train",
        "dev" => "Dev",
        _ => "Test",
    }
}
