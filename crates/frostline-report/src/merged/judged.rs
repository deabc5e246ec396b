//! Each sweep compared with the first one, by the rule that all verdicts of reports follow: paired by seed and by sentence.

use frostline_score::Verdict;

use super::NamedSweep;
use super::key::{RowKey, row_key};
use super::unlike::Unlike;
use crate::page::Page;
use crate::study::cells::CellView;
use crate::study::comparison::{Judging, PairsBySeed, SplitComparison};
use crate::study::outcomes::{After, Sides, Twins};
use crate::study::verdicts::show_points;
use crate::study::{SPLITS, distinct};
use crate::table::{PaperTable, Quantity, Table, TableColumns};

/// A row of a sweep compared with the same row of the first one.
pub(super) struct JudgedRow {
    pub key: RowKey,
    split: &'static str,
    compared: SplitComparison,
}

/// The rows that a sweep has with the first one. The intervals of all rows of a language on a split hold together.
pub(super) fn judge_sweep(
    first: &NamedSweep,
    other: &NamedSweep,
    axes: &[&str],
    unlike: &Unlike,
) -> Vec<JudgedRow> {
    let sides = Sides { a: &other.study.outcomes, b: &first.study.outcomes };
    let langs: Vec<&str> = other.study.langs().into_iter().filter(|lang| unlike.allows(lang)).collect();
    let mut found = Vec::new();
    for split in SPLITS {
        let of_lang = |lang: &str| {
            let here = || other.study.cells.iter().filter(move |view| *view.cell.settings.lang == *lang);
            let pairs = |row: &RowKey| -> PairsBySeed<'_> {
                let ours = here().filter(|view| row_key(other, view, axes) == *row);
                ours.filter_map(|view| {
                    Some((view.cell.settings.seed, pair_cells(view, row, first, axes, split)?))
                })
                .collect()
            };
            let keys = distinct(here().map(|view| row_key(other, view, axes))).into_iter();
            keys.map(|key| (pairs(&key), key))
                .filter(|(pairs, _)| !pairs.is_empty())
                .map(|(a, b)| (b, a))
                .collect()
        };
        let tables = langs.iter().map(|lang| of_lang(lang)).collect();
        let (compared, _) = Judging::new(sides, split, first.study.margin()).compare(tables);
        found.extend(compared.into_iter().map(|(key, compared)| JudgedRow { key, split, compared }));
    }
    found
}

/// A cell and the first sweep's cell of the same row and seed, if both were scored on a split.
fn pair_cells<'a>(
    view: &'a CellView,
    place: &RowKey,
    first: &'a NamedSweep,
    axes: &[&str],
    split: &str,
) -> Option<Twins<'a>> {
    let same = |other: &&CellView| {
        other.cell.settings.seed == view.cell.settings.seed && row_key(first, other, axes) == *place
    };
    let twin = first.study.cells.iter().find(same)?;
    [view, twin]
        .iter()
        .all(|view| view.done().is_some_and(|done| done.score(split).is_some()))
        .then_some(())?;
    Some((After::end(view)?, After::end(twin)?))
}

/// The verdict on dev, in words.
pub(super) fn dev_verdict(rows: &[JudgedRow], key: &RowKey) -> Option<String> {
    let row = rows.iter().find(|row| row.split == SPLITS[0] && row.key == *key)?;
    row.compared.judged().map(|_| row.compared.words())
}

/// How a sweep compares with the first one, in a sentence; nothing if no row has a verdict.
pub(super) fn summarize_verdicts(
    first: &NamedSweep,
    other: &NamedSweep,
    rows: &[JudgedRow],
) -> Option<String> {
    let judged: Vec<_> = rows.iter().filter(|row| row.split == SPLITS[0]).collect();
    let of = |wanted: Verdict| {
        let is = |row: &&&JudgedRow| row.compared.judged().is_some_and(|judged| judged.verdict == wanted);
        judged.iter().filter(is).count()
    };
    let kinds = [Verdict::Better, Verdict::Worse, Verdict::Equivalent, Verdict::Undecided];
    let found: Vec<(usize, &str)> =
        kinds.into_iter().map(|kind| (of(kind), kind.name())).filter(|(count, _)| *count > 0).collect();
    let whole = match found.as_slice() {
        [] => return None,
        [(1, name)] if judged.len() == 1 => format!("the one row is {name}"),
        [(count, name)] if *count == judged.len() => format!("all {count} rows are {name}"),
        several => {
            let said: Vec<String> = several.iter().map(|(count, name)| format!("{count} {name}")).collect();
            format!("of {} rows, {}", judged.len(), crate::number::listed(&said))
        }
    };
    Some(format!(
        "**{}** compared with **{}**, on the same seeds and sentences of dev: {whole}.",
        other.name, first.name
    ))
}

/// The rows of each split that has a verdict.
fn by_split(rows: &[JudgedRow]) -> impl Iterator<Item = (&'static str, Vec<&JudgedRow>)> {
    let of = |split: &'static str| (split, rows.iter().filter(|row| row.split == split).collect::<Vec<_>>());
    SPLITS.map(of).into_iter().filter(|(_, rows)| rows.iter().any(|row| row.compared.judged().is_some()))
}

/// The verdicts of a sweep, a table per split.
pub(super) fn describe_verdicts(
    first: &NamedSweep,
    other: &NamedSweep,
    rows: &[JudgedRow],
    axes: &[&str],
    page: &mut Page,
) {
    for (split, rows) in by_split(rows) {
        page.section(3, format!("{} against {} on {split}", other.name, first.name));
        page.table(verdict_table(rows, axes));
        page.paragraph(format!(
            "Each cell is paired with the cell of **{}** that has the same seed, sentence by sentence. The interval is for other seeds \
             and other sentences; with a probability of 95 %, all intervals of a language contain their differences. Equivalent means within ± {}.",
            first.name,
            show_points(first.study.margin())
        ));
    }
}

/// The same for LaTeX.
pub(super) fn paper_tables(
    first: &NamedSweep,
    other: &NamedSweep,
    rows: &[JudgedRow],
    axes: &[&str],
) -> Vec<PaperTable> {
    let table = |(split, rows): (&str, Vec<&JudgedRow>)| {
        let caption = format!(
            "{} against {} on {split}. Differences are in points, with their 95 % interval; equivalent means within ± {}.",
            other.name,
            first.name,
            show_points(first.study.margin())
        );
        let name = format!("{}-{split}", other.name);
        let names = rows.iter().map(|row| [row.key.lang.clone(), row.key.name()]).collect();
        let table = PaperTable::new(name, caption, verdict_table(rows, axes));
        PaperTable { grouped: true, ..table.named(names, 2 + axes.len(), format!("{}-{split}-", other.name)) }
    };
    by_split(rows).map(table).collect()
}

fn verdict_table(rows: Vec<&JudgedRow>, axes: &[&str]) -> Table {
    TableColumns::default()
        .and(RowKey::columns(axes, |row: &&JudgedRow| &row.key))
        .optional("Difference", Quantity::Points(2), |row: &&JudgedRow| {
            row.compared.judged().map(|judged| judged.difference.value)
        })
        .optional("95 % interval", Quantity::Change(2), |row| {
            row.compared.judged().map(|judged| judged.interval)
        })
        .optional("p", Quantity::Probability, |row| row.compared.judged().map(|judged| judged.p))
        .column("Verdict", Quantity::Text, |row| row.compared.words())
        .optional("What would decide", Quantity::Text, |row| row.compared.would_decide())
        .column("Seeds", Quantity::Count, |row| row.compared.seeds.len())
        .table(rows)
}
