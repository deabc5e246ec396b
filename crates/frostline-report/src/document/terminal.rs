//! A study for a terminal: its tables, and what came out.

use crate::document::{CHECK_FIRST, stages};
use crate::facts::{self, FactTable};
use crate::number::{count, fixed};
use crate::page::{Page, PageBlock};
use crate::render::terminal;
use crate::study::words::{self, SYNTHETIC_SHORT, counted_units};
use crate::study::{CellGroup, Study};
use crate::table::{Table, align};
use crate::topic::{ReportPlace, Topics, collect_prose, items_for_place};

/// The text for a terminal of this many columns. Columns that do not fit are omitted, the least important first.
pub(crate) fn of_study(study: &Study, topics: &Topics, width: usize) -> String {
    let mut text = format!("{} · {}\n", study.sweep.plan.name, words::describe_progress(study));
    if study.synthetic() {
        text += &format!("{SYNTHETIC_SHORT}\n");
    }
    if let Some((summary, lines)) = study.sanity_lines() {
        text += &format!("\n{CHECK_FIRST}\n  {}\n", without_marks(&summary));
        for line in lines {
            text += &format!("  {}\n", line.for_terminal().replace('\n', "\n  "));
        }
    }
    let by_lang = tables(study);
    let all: Vec<&Table> = by_lang.iter().flat_map(|(_, tables)| tables).collect();
    for (lang, tables) in &by_lang {
        text += &format!("\n{}\n", study.lang_title(lang));
        let tables: Vec<String> =
            tables.iter().map(|table| terminal::write_aligned(table, &all, width)).collect();
        text += &tables.join("\n");
        if let Some((dev_units, half)) = words::sampling_error(study, lang) {
            let (dev, half) = (count(dev_units), fixed(half * 100.0, 2));
            text += &format!(
                "95 % margin of each accuracy: ±{half} points ({dev} dev {})\n",
                counted_units(study).many
            );
        }
    }
    text + &write_results(study, topics) + &without_result(study)
}

fn without_marks(line: &str) -> String {
    line.replace(['*', '`'], "")
}

fn write_results(study: &Study, topics: &Topics) -> String {
    let opening = items_for_place(topics, study, ReportPlace::Opening);
    let mut text = if opening.is_empty() { String::new() } else { "\nResult\n".into() };
    opening.iter().for_each(|sentence| text += &format!("  {}\n", without_marks(sentence)));
    let mut closing = Page::default();
    collect_prose(topics, study, ReportPlace::Closing, &mut closing);
    for block in closing.blocks {
        match block {
            PageBlock::Heading(_, title) => text += &format!("\n{title}\n"),
            other => {
                other.into_items().iter().for_each(|line| text += &format!("  {}\n", without_marks(line)))
            }
        }
    }
    text
}

fn without_result(study: &Study) -> String {
    let rows = words::undone_cells(study);
    let mut text = if rows.is_empty() { String::new() } else { "\nNot done\n".into() };
    for (title, status, why) in rows {
        text += &format!("  {status}: {title}: {}\n", why.lines().next().unwrap_or(""));
    }
    text
}

/// The tables of each language for a terminal: policies, and stages if cells have stages. All languages have the same
/// columns.
fn tables<'a>(study: &'a Study) -> Vec<(&'a str, Vec<Table>)> {
    let of_lang = |lang: &'a str| {
        let policies =
            (!stages::say_all(study, lang)).then(|| facts::table(study, FactTable::Terminal, Some(lang)));
        let staged = study.groups_of(lang).any(CellGroup::is_staged);
        let stages = staged.then(|| stages::terminal_table(study, lang));
        (lang, policies.into_iter().chain(stages).collect())
    };
    let mut all: Vec<(&str, Vec<Table>)> = study.langs().into_iter().map(of_lang).collect();
    align(&mut all.iter_mut().flat_map(|(_, tables)| tables).collect::<Vec<_>>());
    all
}
