//! What a paper takes from a report: `tables.tex` with tables that LaTeX prints, and `results.tex` with a name for every
//! number of them. Both come from the same typed tables, and LaTeX reports two files of different reports.

mod commands;
mod results;

use crate::document::stages_table;
use crate::facts::{self, FactTable};
use crate::render::escape::line;
use crate::render::latex;
use crate::study::verdicts::show_points;
use crate::study::words::SYNTHETIC_SHORT;
use crate::study::{CellGroup, Study};
use crate::table::PaperTable;
use crate::topic::{TopicTable, Topics};

use commands::{MADE, SAME, TABLE, TABLES, UNICODE};

/// A file: its path, what it holds, and its text.
pub(crate) type PaperFile = (&'static str, &'static str, String);

/// The files of a study.
pub(crate) fn write_files(study: &Study, topics: &Topics) -> [PaperFile; 2] {
    let mut tables = vec![facts::paper_table(study, FactTable::Paper, "results", write_caption(study))];
    tables.extend(stage_tables(study));
    tables.extend(topics.iter().flat_map(|topic| topic.tables(study)).filter_map(TopicTable::paper));
    write_tables(&study.sweep.plan.name, study.synthetic(), &tables)
}

/// The files that hold these tables, of a sweep or of several with this name.
pub(crate) fn write_tables(name: &str, synthetic: bool, tables: &[PaperTable]) -> [PaperFile; 2] {
    let results = results::write_definitions(tables);
    let digest = frostline_record::sha256(results.as_bytes())[..16].to_string();
    [
        (
            "tables.tex",
            "tables for LaTeX; its first lines explain how to use it.",
            tables_file(name, synthetic, tables, &digest),
        ),
        (
            "results.tex",
            "every number of these tables as a command of LaTeX, so that a text never disagrees with its table.",
            results::write_file(name, synthetic, &results, &digest),
        ),
    ]
}

/// The scores after each stage, a table per language.
fn stage_tables(study: &Study) -> Vec<PaperTable> {
    let staged = |lang: &&str| study.groups_of(lang).any(CellGroup::is_staged);
    let table = |lang: &str| {
        let caption =
            format!("Scores after each stage, {lang}. Changes are from the stage before, in points.");
        PaperTable::new(format!("stages-{lang}"), caption, stages_table(study, lang)).named_by_row(lang, "")
    };
    study.langs().into_iter().filter(staged).map(table).collect()
}

fn write_caption(study: &Study) -> String {
    let judged = study.verdicts.rows.iter().any(|row| row.judged().is_some());
    let differences = if judged {
        format!(
            " Differences are from none, in points, with their 95 % interval; equivalent means within ± {}.",
            show_points(study.margin())
        )
    } else {
        String::new()
    };
    let spread = if study.has_several_seeds() { " ± is one standard deviation over seeds." } else { "" };
    format!("Accuracy of each way of freezing.{spread}{differences}")
}

/// `tables.tex`.
fn tables_file(name: &str, synthetic: bool, tables: &[PaperTable], digest: &str) -> String {
    let mut out = format!("% Tables of the sweep {}. {MADE}\n{TABLES}", line(name));
    out += &format!("\\def\\FrostlineTablesDigest{{{digest}}}\n{SAME}");
    out += UNICODE;
    out += TABLE;
    let note = synthetic.then_some(SYNTHETIC_SHORT);
    for table in tables {
        let name = latex::key_part(&table.name);
        out += &format!(
            "\\long\\expandafter\\def\\csname frostline@table@{name}\\endcsname{{%\n{}}}\n",
            latex::write_tabular(&table.table, table.grouped, note)
        );
        out += &format!(
            "\\expandafter\\def\\csname frostline@caption@{name}\\endcsname{{{}}}\n",
            latex::unmark_text(&table.caption)
        );
    }
    out += "\\def\\FrostlineAllTables{%\n";
    for table in tables {
        let name = latex::key_part(&table.name);
        out += &format!(
            "\\begin{{table}}[htbp]\\centering\\FrostlineFitted{{\\FrostlineTable{{{name}}}}}\\caption{{\\FrostlineCaption{{{name}}}}}\\end{{table}}%\n"
        );
    }
    out + "}\n"
}
