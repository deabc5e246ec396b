//! `frostline plan --data-report`: tables of the data that the cells would learn from. The worker program computes the figures;
//! nothing is trained. And warnings about the data, which are printed before cells start.

use std::io::{self, Write};

use frostline_record::{Cell, CellFacts};
use frostline_report::{LearnedFrom, data_tables};

use crate::plan_listing;
use crate::study::PlannedStudy;

/// Writes the facts as tables, with one heading per language.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn write_tables(
    study: &PlannedStudy,
    cells: &[Cell],
    facts: &[CellFacts],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\n{}", data_tables(&tables_of_cells(study, cells, facts)).trim_end())
}

/// Prints warnings about the data, unless these were `printed` before.
pub(crate) fn print_warnings(warnings: &str, printed: &mut String) {
    if warnings != printed {
        warning_lines(warnings).for_each(|line| say!("{line}"));
        *printed = warnings.into();
    }
}

/// The lines of warnings below the name of what they are; what to do next is indented.
fn warning_lines(warnings: &str) -> impl Iterator<Item = String> {
    warnings.lines().map(|line| match line.strip_prefix("  ") {
        Some(next) => format!("            {next}"),
        None => format!("caution   {line}"),
    })
}

fn tables_of_cells<'a>(study: &PlannedStudy, cells: &[Cell], facts: &'a [CellFacts]) -> Vec<LearnedFrom<'a>> {
    let found = facts.iter().filter_map(|facts| {
        let cell = cells.iter().find(|cell| cell.id == facts.cell)?;
        Some((&cell.settings, &facts.tasks))
    });
    let found: Vec<_> = found.collect();
    let several = |lang: &str| found.iter().filter(|(settings, _)| settings.lang == *lang).count() > 1;
    let mut tables: Vec<LearnedFrom<'a>> = Vec::new();
    for (settings, tasks) in &found {
        let seed = format!("seed {}{}", settings.seed, plan_listing::axis_values(study, settings));
        let which = if several(&settings.lang) { seed } else { String::new() };
        tables.push(LearnedFrom { title: settings.lang.to_string(), which, tasks });
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_stand_below_each_other_and_are_printed_once() {
        let warnings = "en: words are cut off.\n  next: Run it again.\npcm: words are cut off.\n";
        let lines: Vec<String> = warning_lines(warnings).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        caution   en: words are cut off.
                    next: Run it again.
        caution   pcm: words are cut off.
        ");
        let mut printed = String::new();
        print_warnings(warnings, &mut printed);
        assert_eq!(printed, warnings);
    }
}
