//! What a topic of the report is: it computes its numbers, those that cost time once, and declares the tables, charts
//! and prose about them. A renderer turns these into files and knows no topic.
//!
//! # To add a topic of the report, and numbers in it
//!
//! Two files: `crates/frostline-report/src/topics/NAME.rs`, and its `mod` and its place in the list of `topics.rs`
//! beside it. A topic implements `Topic` (`topic.rs`), of which every method is one place of the report with an
//! empty default: opening sentences, summary, sections of a language, columns of the study's table, figures,
//! caveats, how to read them, a page of its own, fields and tables of `report.json`. Numbers that cost time are computed once, when the topic is made; all come from a `Study`
//! (`study/`: cells, and groups of cells that differ only in their seed) and from `Stored` predictions, and
//! declares its output as data: `Columns` of (name, unit, function) for tables (`table.rs`), a `Page` of blocks
//! (`page.rs`), a `Figure` of one of five kinds (`chart.rs`: bars, lines, scatter, heat map, sets). Statistics that
//! are useful on their own go to `frostline-score`. A topic of more than about 300 lines is a folder with `mod.rs`.
//! Files, tables and fields that it adds are listed in `docs/records.md`; `INSTA_UPDATE=always cargo test -p
//! frostline-report` renews the snapshots.

use crate::browser::Browser;
use crate::chart::Figure;
use crate::fields::Fields;
use crate::page::{Page, PageFile};
use crate::study::baselines::BaselineStats;
use crate::study::{Group, Study};
use crate::table::{Columns, PaperTable, RowTable};

/// A row of the study's table: a policy, or what needs no training of the encoder.
pub(crate) enum StudyRow<'a> {
    Policy(&'a Group),
    Baseline(&'a BaselineStats),
}

impl<'a> StudyRow<'a> {
    /// The group of a policy's row.
    pub const fn group(&self) -> Option<&'a Group> {
        match self {
            Self::Policy(group) => Some(group),
            Self::Baseline(_) => None,
        }
    }
}

/// A topic. Each method is one place of the report; a topic has something for those that it overrides, in the order
/// of the list of topics.
pub(crate) trait Topic {
    /// `report.md` before its first table, and a terminal: what came out, in a few sentences.
    fn opening(&self, _study: &Study) -> Vec<String> {
        Vec::new()
    }

    /// A terminal, below its tables: a title and a line for each thing that came out.
    fn closing(&self, _study: &Study) -> Option<(&'static str, Vec<String>)> {
        None
    }

    /// `report.md`, at the top: what concerns all languages.
    fn summary(&self, _study: &Study, _page: &mut Page) {}

    /// `report.md`, right below the table of all languages: sentences about it, as items of a list.
    fn remarks(&self, _study: &Study) -> Vec<String> {
        Vec::new()
    }

    /// `report.md`, "How to read the tables": items of a list.
    fn reading(&self, _study: &Study) -> Vec<String> {
        Vec::new()
    }

    /// `report.md`: columns of the study's table.
    fn study_columns<'a>(&self, _study: &'a Study) -> Columns<'a, StudyRow<'a>> {
        Columns::default()
    }

    /// `report.md`: the sections of a language.
    fn language(&self, _study: &Study, _lang: &str, _page: &mut Page) {}

    /// Figures. Those of the theme `Errors` are on a page of the topic's own, the others in `report.md`.
    fn figures(&self, _study: &Study) -> Vec<Figure> {
        Vec::new()
    }

    /// `report.md`, "What to keep in mind": items of a list.
    fn caveats(&self, _study: &Study) -> Vec<String> {
        Vec::new()
    }

    /// `report.md`, at the end.
    fn appendix(&self, _study: &Study, _page: &mut Page) {}

    /// Pages of its own.
    fn pages(&self, _study: &Study) -> Vec<PageFile> {
        Vec::new()
    }

    /// A sentence of `report.md` that leads to a page of its own.
    fn link(&self, _study: &Study) -> Option<&'static str> {
        None
    }

    /// `index.html`: sentences on which policies differ.
    fn browser(&self) -> Option<&Browser> {
        None
    }

    /// `report.json`: tables of single cells, whose rows `results.csv` does not have.
    fn tables(&self, _study: &Study) -> Vec<RowTable> {
        Vec::new()
    }

    /// `tables.tex`: tables besides the main one.
    fn paper_tables(&self, _study: &Study) -> Vec<PaperTable> {
        Vec::new()
    }

    /// `report.json`: fields of a group.
    fn group_fields(&self, _study: &Study, _group: &Group) -> Fields {
        Fields::default()
    }

    /// `report.json`: fields of the whole.
    fn fields(&self, _study: &Study) -> Fields {
        Fields::default()
    }
}
