//! What a topic of the report is: it computes its numbers, those that cost time once, and declares the tables, charts
//! and prose about them. A renderer turns these into files and knows no topic.
//!
//! # To add a topic of the report, and numbers in it
//!
//! Two files: `crates/frostline-report/src/topics/NAME.rs`, and its `mod` and its place in the list of `topics.rs`
//! next to it. A topic implements `Topic` (`topic.rs`), of which every method is one kind of output with an empty default:
//! prose for the places of the report, figures, pages of its own, tables, and facts of `report.json`. A number of a
//! policy that several tables show is an entry of `facts.rs`. Numbers that cost time are computed once, when the topic
//! is made; all come from a `Study` (`study/`: cells, and groups of cells that differ only in their seed) and from
//! `Stored` predictions. A topic declares its output as data: `Columns` of (name, unit, function) for tables (`table.rs`), a `Page` of blocks
//! (`page.rs`), a `Figure` of one of five kinds (`chart.rs`: bars, lines, scatter, heat map, sets). Statistics that
//! are useful on their own go to `frostline-score`. A topic of more than about 300 lines is a folder with `mod.rs`.
//! Files, tables and fields that it adds are listed in `docs/records.md`; `INSTA_UPDATE=always cargo test -p
//! frostline-report` renews the snapshots.

use crate::chart::Figure;
use crate::fields::JsonFields;
use crate::page::{Page, PageBlock, PageFile};
use crate::study::{CellGroup, Study};
use crate::table::{PaperTable, Table};

/// A place of the report to which topics contribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportPlace<'a> {
    /// Findings as items: at the top of a document, and on a terminal.
    Opening,
    /// On a terminal, below its tables: a heading, and an item for each finding.
    Closing,
    /// Sections about all languages, below the first table.
    Summary,
    /// Items right below the first table.
    Remarks,
    /// Items of "How to read the tables".
    Reading,
    /// The sections of a language.
    Language(&'a str),
    /// Items of "What to keep in mind".
    Caveats,
    /// Sections at the end.
    Appendix,
}

/// A table that is no part of a page.
pub(crate) enum TopicTable {
    /// A table of `report.json` with its name: rows of single cells that `results.csv` does not have.
    Rows(&'static str, Table),
    /// A table of `tables.tex`.
    Paper(PaperTable),
}

impl TopicTable {
    /// Returns the table with its name if it is one of `report.json`.
    pub fn rows(self) -> Option<(&'static str, Table)> {
        match self {
            Self::Rows(name, table) => Some((name, table)),
            Self::Paper(_) => None,
        }
    }

    /// Returns the table if it is one of `tables.tex`.
    pub fn paper(self) -> Option<PaperTable> {
        match self {
            Self::Paper(table) => Some(table),
            Self::Rows(..) => None,
        }
    }
}

/// A topic. Each method is one kind of output; a topic has something in those that it overrides, in the order of the list
/// of topics.
pub(crate) trait Topic {
    /// Adds the topic's blocks for a place of the report.
    fn prose(&self, _study: &Study, _place: ReportPlace<'_>, _page: &mut Page) {}

    /// Figures. Figures of the theme `Errors` are on a page of the topic's own, the others in `report.md`.
    fn figures(&self, _study: &Study) -> Vec<Figure> {
        Vec::new()
    }

    /// Pages of its own.
    fn pages(&self, _study: &Study) -> Vec<PageFile<'_>> {
        Vec::new()
    }

    /// Tables that are in no page.
    fn tables(&self, _study: &Study) -> Vec<TopicTable> {
        Vec::new()
    }

    /// Numbers of the whole study for `report.json`.
    fn facts(&self, _study: &Study) -> JsonFields {
        JsonFields::default()
    }

    /// Numbers of a group for `report.json`.
    fn group_facts(&self, _study: &Study, _group: &CellGroup) -> JsonFields {
        JsonFields::default()
    }
}

/// Topics in the order of the report.
pub(crate) type Topics = [Box<dyn Topic>];

/// Adds what all topics have for a place.
pub(crate) fn collect_prose(topics: &Topics, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
    topics.iter().for_each(|topic| topic.prose(study, place, page));
}

/// Returns the items that topics have for a place.
pub(crate) fn items_for_place(topics: &Topics, study: &Study, place: ReportPlace<'_>) -> Vec<String> {
    let mut page = Page::default();
    collect_prose(topics, study, place, &mut page);
    page.blocks.into_iter().flat_map(PageBlock::into_items).collect()
}
