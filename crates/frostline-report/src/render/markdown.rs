//! Pages as Markdown.

use crate::document::{CHECK_FIRST, FINDINGS, ReportDocument, ShownIn};
use crate::page::{Item, Page, PageBlock};
use crate::render::escape;
use crate::render::text::{column_widths, pad, table_cells};
use crate::study::words::SYNTHETIC;
use crate::table::Table;

/// A page, its blocks apart by a blank line.
pub(crate) fn write_page(page: &Page) -> String {
    let blocks: Vec<String> = page.blocks.iter().map(write_block).collect();
    blocks.join("\n\n") + "\n"
}

/// A document: its opening, then the chapters that are shown in text.
pub(crate) fn write_document(document: &ReportDocument<'_>) -> String {
    let mut whole = Page::default();
    whole.section(1, format!("{}: {}", document.kind, document.name));
    if document.is_synthetic {
        whole.quote(format!("**{SYNTHETIC}**"));
    }
    if !document.about.is_empty() {
        whole.paragraph(document.about.as_str());
    }
    whole.paragraph(document.asked.as_str());
    if let Some((summary, lines)) = &document.warnings {
        whole.section(2, CHECK_FIRST);
        whole.paragraph(summary.as_str());
        whole.items(lines.iter().cloned());
    }
    if !document.findings.is_empty() {
        whole.section(2, FINDINGS);
        whole.items(document.findings.iter().chain(&document.more).cloned());
    }
    whole.section(2, "Data");
    whole.table(document.data.clone());
    for chapter in document.chapters.iter().filter(|chapter| chapter.shown != ShownIn::PageOnly) {
        whole.section(2, chapter.title.as_str());
        whole.blocks.extend(chapter.page.blocks.iter().cloned());
    }
    write_page(&whole)
}

fn write_block(block: &PageBlock) -> String {
    match block {
        PageBlock::Heading(level, title) => format!("{} {}", "#".repeat(*level), one_line(title)),
        PageBlock::Paragraph(text) => escape::markdown(text),
        PageBlock::Quote(text) => format!("> {}", escape::markdown(text)),
        PageBlock::List(items) => items.iter().map(write_item).collect::<Vec<_>>().join("\n"),
        PageBlock::Table(table) => write_table(table).trim_end().into(),
        PageBlock::Figure { path, title } => format!("![{}]({path})", one_line(title)),
        PageBlock::Code(language, text) => {
            let fence = fence_around(text);
            format!("{fence}{language}\n{}\n{fence}", escape::visible(text.trim_end()))
        }
    }
}

fn write_item(item: &Item) -> String {
    let nested = item.items.iter().map(|item| format!("\n  - {}", escape::markdown(item)));
    format!("- {}{}", escape::markdown(&item.text), nested.collect::<String>())
}

fn one_line(text: &str) -> String {
    escape::markdown(&text.replace(['\n', '\r'], " "))
}

/// A fence that is longer than any in the text.
fn fence_around(text: &str) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

/// A table, padded so that the raw text reads well too. Columns without any value are omitted.
pub(crate) fn write_table(table: &Table) -> String {
    let shown = table.filled();
    let (heads, rows) = table_cells(table, escape::markdown_cell);
    let widths = column_widths(&heads, &rows);
    let is_right = |at: usize| !table.heads[at].unit.is_text();
    let mut text = table_line(&shown, |at| pad(&heads[at], widths[at], is_right(at)));
    text += &table_line(&shown, |at| {
        let dashes = "-".repeat(widths[at].max(2) - 1);
        if is_right(at) { format!("{dashes}:") } else { format!("{dashes}-") }
    });
    for row in &rows {
        text += &table_line(&shown, |at| pad(&row[at], widths[at], is_right(at)));
    }
    text
}

fn table_line(shown: &[usize], cell: impl Fn(usize) -> String) -> String {
    let cells: Vec<String> = shown.iter().map(|&at| cell(at)).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Quantity, TableColumns, TableValue};

    #[test]
    fn tables_are_padded_escaped_and_without_empty_columns() {
        let columns = TableColumns::default()
            .column("Policy", Quantity::Text, |row: &(&str, f64)| row.0)
            .optional("Accuracy", Quantity::Percent(1), |row| row.1)
            .optional("Test", Quantity::Percent(1), |_| TableValue::Missing);
        let found = columns.table([("none", 0.964), ("a|b", 0.091)]);
        assert_eq!(
            write_table(&found),
            "| Policy | Accuracy % |\n| ------ | ---------: |\n| none   |       96.4 |\n| a\\|b   |        9.1 |\n"
        );
    }

    #[test]
    fn a_bar_in_a_head_makes_no_column() {
        let found = TableColumns::default().column("NN|UTR", Quantity::Text, |row: &u64| *row).table([1]);
        assert_eq!(write_table(&found), "| NN\\|UTR |\n| ------- |\n| 1       |\n");
    }

    #[test]
    fn blocks_are_apart_and_lists_together() {
        let mut found = Page::default();
        found.section(2, "Title");
        found.item("one");
        found.item_with("two", vec!["below".into()]);
        found.paragraph("Words.");
        assert_eq!(write_page(&found), "## Title\n\n- one\n- two\n  - below\n\nWords.\n");
    }
}
