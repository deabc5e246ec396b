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
use crate::fields::Fields;
use crate::page::{Block, Page, PageFile};
use crate::study::{Group, Study};
use crate::table::{PaperTable, RowTable};

/// A place of the report that topics say something in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// `report.md` before its first table, and a terminal: what came out, as items.
    Opening,
    /// A terminal, below its tables: a heading, and an item for each thing that came out.
    Closing,
    /// `report.md`, at the top: what concerns all languages.
    Summary,
    /// `report.md`, right below the table of all languages: items about it.
    Remarks,
    /// `report.md`, "How to read the tables": items.
    Reading,
    /// `report.md`: the sections of a language.
    Language(&'a str),
    /// `report.md`, "What to keep in mind": items.
    Caveats,
    /// `report.md`, at the end.
    Appendix,
    /// A sentence of `report.md` that leads to a page of the topic's own, as an item.
    Link,
}

/// What numbers of `report.json` are about.
#[derive(Clone, Copy)]
pub(crate) enum Of<'a> {
    Group(&'a Group),
    Sweep,
}

/// A table that is no part of a page.
pub(crate) enum TopicTable {
    /// Of `report.json`: rows of single cells that `results.csv` does not have.
    Rows(RowTable),
    /// Of `tables.tex`.
    Paper(PaperTable),
}

impl TopicTable {
    /// Returns the table if it is one of `report.json`.
    pub fn rows(self) -> Option<RowTable> {
        match self {
            Self::Rows(table) => Some(table),
            Self::Paper(_) => None,
        }
    }

    /// Returns the table if it is one of `tables.tex`.
    pub fn paper(self) -> Option<PaperTable> {
        match self {
            Self::Paper(table) => Some(table),
            Self::Rows(_) => None,
        }
    }
}

/// A topic. Each method is one kind of output; a topic has something in those that it overrides, in the order of the list
/// of topics.
pub(crate) trait Topic {
    /// What the topic says in a place of the report.
    fn prose(&self, _study: &Study, _place: Place<'_>, _page: &mut Page) {}

    /// Figures. Those of the theme `Errors` are on a page of the topic's own, the others in `report.md`.
    fn figures(&self, _study: &Study) -> Vec<Figure> {
        Vec::new()
    }

    /// Pages of its own.
    fn pages(&self, _study: &Study) -> Vec<PageFile<'_>> {
        Vec::new()
    }

    /// Tables besides those of pages.
    fn tables(&self, _study: &Study) -> Vec<TopicTable> {
        Vec::new()
    }

    /// Numbers for `report.json`.
    fn facts(&self, _study: &Study, _of: Of<'_>) -> Fields {
        Fields::default()
    }
}

/// The items that topics have for a place.
pub(crate) fn items(topics: &[Box<dyn Topic>], study: &Study, place: Place<'_>) -> Vec<String> {
    let mut page = Page::default();
    topics.iter().for_each(|topic| topic.prose(study, place, &mut page));
    page.blocks.into_iter().flat_map(Block::into_items).collect()
}
