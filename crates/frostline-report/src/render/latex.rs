//! Tables and values as LaTeX. Text is escaped so that it can only be read, whatever the language's or policy's name; numbers
//! are in math, as a page shows them.

use crate::render::escape::visible;
use crate::render::text::{column_head, interval_end, show_value};
use crate::table::{Quantity, Table, TableValue};

/// Letters besides ASCII that pdfLaTeX prints with the font encoding T1. Others need XeLaTeX or LuaLaTeX.
const LETTERS: &str = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿĂăĄąĆćČčĎďĐđĘęĚěĞğĹĺĽľŁłŃńŇňŋŊŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž";

/// Text of which nothing acts.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut last = ' ';
    for c in visible(text).chars() {
        // Signs that fonts join to another one.
        if c == last && "-,'".contains(c) {
            out += "{}";
        }
        last = c;
        match c {
            '\n' => out.push(' '),
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out += "\\textbackslash{}",
            '^' => out += "\\textasciicircum{}",
            '~' => out += "\\textasciitilde{}",
            '<' => out += "\\textless{}",
            '>' => out += "\\textgreater{}",
            '|' => out += "\\textbar{}",
            '"' => out += "\\textquotedbl{}",
            '`' => out += "\\textasciigrave{}",
            '±' => out += "\\ensuremath{\\pm}",
            '−' => out += "\\ensuremath{-}",
            '×' => out += "\\ensuremath{\\times}",
            '–' => out += "--",
            '·' => out += "\\textperiodcentered{}",
            c if c.is_ascii() || LETTERS.contains(c) => out.push(c),
            c => out += &format!("\\FrostlineUnicode{{{c}}}{{{:04X}}}", u32::from(c)),
        }
    }
    out
}

/// Text of a page: the same without the inline marks of Markdown.
pub(crate) fn unmark_text(marked: &str) -> String {
    text(&marked.replace(['`', '*'], ""))
}

/// A value in its unit: a number in math.
pub(crate) fn format_value(value: &TableValue, unit: Quantity) -> String {
    match value {
        TableValue::Missing => "--".into(),
        TableValue::Text(_) | TableValue::Truth(_) => unmark_text(&show_value(value, unit)),
        TableValue::Range(ends) => {
            let [low, high] = ends.map(|end| interval_end(end, unit));
            number_in_math(&format!("[{low}, {high}]"))
        }
        _ => number_in_math(&show_value(value, unit)),
    }
}

/// A number as a page shows it, in math. If it is missing there is a dash.
pub(crate) fn number_in_math(number: &str) -> String {
    let signs: Vec<char> = number.chars().collect();
    if signs == ['–'] {
        return "--".into();
    }
    let mut out = String::new();
    for (at, &c) in signs.iter().enumerate() {
        match c {
            '±' => out += "\\pm",
            '−' => out.push('-'),
            // Between thousands, not between the ends of an interval.
            ',' if signs.get(at + 1).is_some_and(char::is_ascii_digit) => out += "{,}",
            c => out.push(c),
        }
    }
    format!("\\ensuremath{{{out}}}")
}

/// A table with rules of booktabs; columns without any value are omitted. With `grouped` there is a rule wherever the first
/// column changes, which is shown once. `note` is a last row.
pub(crate) fn write_tabular(table: &Table, grouped: bool, note: Option<&str>) -> String {
    let columns = table.filled();
    let align = |&at: &usize| if table.heads[at].unit.is_text() { 'l' } else { 'r' };
    let align: String = columns.iter().map(align).collect();
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let mut out = format!("\\begin{{tabular}}{{{align}}}\n\\toprule\n");
    out += &line(columns.iter().map(|&at| unmark_text(&column_head(&table.heads[at]))).collect());
    out += "\\midrule\n";
    for (number, row) in table.rows.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| &table.rows[before][columns[0]]);
        let repeats = grouped && before == Some(&row[columns[0]]);
        if grouped && !repeats && number > 0 {
            out += "\\midrule\n";
        }
        let cell = |&at: &usize| match repeats && at == columns[0] {
            true => String::new(),
            false => format_value(&row[at], table.heads[at].unit),
        };
        out += &line(columns.iter().map(cell).collect());
    }
    out += "\\bottomrule\n";
    if let Some(note) = note {
        out += &format!("\\multicolumn{{{}}}{{l}}{{\\textbf{{{}}}}} \\\\\n", columns.len(), text(note));
    }
    out + "\\end{tabular}"
}

/// A name as a part of a key, which a writer can type: `first-25%` is `first-25pct`, and a sign that is not ASCII or
/// acts in LaTeX is `u` and its code point.
pub(crate) fn key_part(name: &str) -> String {
    let part = |c: char| match c {
        '%' => "pct".to_string(),
        c if c.is_ascii_alphanumeric() || " -_.+/=,:'()".contains(c) => c.to_string(),
        c => format!("u{:04X}", u32::from(c)),
    };
    name.chars().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TableColumns;
    use frostline_score::MeanStd;

    #[test]
    fn every_sign_that_acts_is_escaped() {
        for (name, expected) in [
            ("first-25%", "first-25\\%"),
            ("a_b & c#d $e {f}", "a\\_b \\& c\\#d \\$e \\{f\\}"),
            ("\\input{x}^~", "\\textbackslash{}input\\{x\\}\\textasciicircum{}\\textasciitilde{}"),
            ("<a|b>\"`", "\\textless{}a\\textbar{}b\\textgreater{}\\textquotedbl{}\\textasciigrave{}"),
            ("--- ,, ''", "-{}-{}- ,{}, '{}'"),
            ("1 ± 2 − 3", "1 \\ensuremath{\\pm} 2 \\ensuremath{-} 3"),
            ("Français Łódź", "Français Łódź"),
            ("рус", "\\FrostlineUnicode{р}{0440}\\FrostlineUnicode{у}{0443}\\FrostlineUnicode{с}{0441}"),
            ("中文", "\\FrostlineUnicode{中}{4E2D}\\FrostlineUnicode{文}{6587}"),
            ("a\u{1b}[2J\u{202e}\nb", "a[U+001B][2J[U+202E] b"),
        ] {
            assert_eq!(text(name), expected, "{name}");
        }
        assert_eq!(unmark_text("`optimizer.lr` *probe*"), "optimizer.lr probe");
    }

    #[test]
    fn keys_can_be_typed() {
        for (name, expected) in [
            ("first-25%", "first-25pct"),
            ("a_b+c.d", "a_b+c.d"),
            ("x&y#~", "xu0026yu0023u007E"),
            ("ру", "u0440u0443"),
        ] {
            assert_eq!(key_part(name), expected, "{name}");
        }
    }

    #[test]
    fn numbers_are_in_math_as_pages_show_them() {
        let spread = MeanStd::of(&[0.95, 0.97]).expect("two values");
        for (found, unit, expected) in [
            (TableValue::from(spread), Quantity::Percent(2), "\\ensuremath{96.00 \\pm 1.41}"),
            (TableValue::from(spread.times(-1.0)), Quantity::Points(1), "\\ensuremath{-96.0 \\pm 1.4}"),
            (TableValue::from([-0.0031, 0.0012]), Quantity::Points(2), "\\ensuremath{[-0.31, +0.12]}"),
            (TableValue::from([-0.0031, -0.00002]), Quantity::Change(2), "\\ensuremath{[-0.31, -0.002]}"),
            (TableValue::from([0.0, 0.0012]), Quantity::Change(2), "\\ensuremath{[0.00, +0.12]}"),
            (TableValue::from(134_747_153_u64), Quantity::Count, "\\ensuremath{134{,}747{,}153}"),
            (TableValue::from(0.00001), Quantity::Probability, "\\ensuremath{< 0.0001}"),
            (TableValue::from(f64::NAN), Quantity::Percent(2), "--"),
            (TableValue::Missing, Quantity::Percent(2), "--"),
            (TableValue::from("a_b"), Quantity::Count, "a\\_b"),
        ] {
            assert_eq!(format_value(&found, unit), expected);
        }
    }

    #[test]
    fn a_table_has_rules_and_shows_what_groups_its_rows_once() {
        let columns = TableColumns::default()
            .column("Language", Quantity::Text, |row: &(&str, &str, f64)| row.0)
            .column("`a_b`", Quantity::Text, |row| row.1)
            .optional("Test", Quantity::Percent(1), |_| TableValue::Missing)
            .column("Accuracy", Quantity::Percent(1), |row| row.2);
        let found = columns.table([("en", "none", 0.5), ("en", "50%", 0.25), ("x&y", "none", 1.0)]);
        assert_eq!(
            write_tabular(&found, true, Some("made up: 100 %")),
            "\\begin{tabular}{llr}\n\\toprule\nLanguage & a\\_b & Accuracy \\% \\\\\n\\midrule\n\
             en & none & \\ensuremath{50.0} \\\\\n & 50\\% & \\ensuremath{25.0} \\\\\n\\midrule\n\
             x\\&y & none & \\ensuremath{100.0} \\\\\n\\bottomrule\n\
             \\multicolumn{3}{l}{\\textbf{made up: 100 \\%}} \\\\\n\\end{tabular}"
        );
    }
}
