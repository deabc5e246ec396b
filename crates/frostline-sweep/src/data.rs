//! `--data-report`: tables of the data that the cells would learn from. The worker program computes the figures;
//! nothing is trained.

use std::io::{self, Write};

use frostline_record::{Cell, CellFacts};
use frostline_report::{LearnedFrom, data_tables};

use crate::list;
use crate::study::Study;

/// Writes the facts as tables, with one heading per language.
///
/// # Errors
/// Where `out` cannot be written.
pub(crate) fn write(
    study: &Study,
    cells: &[Cell],
    facts: &[CellFacts],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\n{}", data_tables(&tables(study, cells, facts)).trim_end())
}

fn tables<'a>(study: &Study, cells: &[Cell], facts: &'a [CellFacts]) -> Vec<LearnedFrom<'a>> {
    let found = facts.iter().filter_map(|facts| {
        let cell = cells.iter().find(|cell| cell.id == facts.cell)?;
        Some((&cell.settings, &facts.tasks))
    });
    let found: Vec<_> = found.collect();
    let several = |lang: &str| found.iter().filter(|(settings, _)| settings.lang == *lang).count() > 1;
    let mut tables: Vec<LearnedFrom<'a>> = Vec::new();
    for (settings, tasks) in &found {
        let seed = format!("seed {}{}", settings.seed, list::axes(study, settings));
        let which = if several(&settings.lang) { seed } else { String::new() };
        tables.push(LearnedFrom { title: settings.lang.to_string(), which, tasks });
    }
    tables
}
