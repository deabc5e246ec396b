//! What the page is made of.

use crate::browser::Browser;
use crate::page::Page;
use crate::render::svg::Drawn;
use crate::table::Table;

/// The whole page.
pub(crate) struct WebPage<'a> {
    pub name: String,
    /// What every output of a synthetic plan says, in few words and whole.
    pub banner: Option<[&'static str; 2]>,
    /// Which encoder learned from how much, and what the plan says of itself.
    pub about: String,
    /// What was asked, of how many cells.
    pub asked: String,
    /// How many cells are done, failed and missing.
    pub progress: String,
    /// What was learned from, a row per language.
    pub data: Table,
    /// What makes the rest worthless, or limits it: a summary, and a line for each finding.
    pub first: Option<(String, Vec<String>)>,
    /// What came out, in three sentences; then whatever else is said first.
    pub findings: Vec<String>,
    pub more: Vec<String>,
    /// Policies in the plan's order: all figures and tables can leave some out.
    pub policies: Vec<&'a str>,
    pub chapters: Vec<Chapter>,
    /// All figures, with how they were drawn.
    pub figures: &'a [Drawn],
    pub browser: Option<&'a Browser>,
}

/// A part of the page with its own entry in the list of contents.
pub(crate) struct Chapter {
    /// Lower-case letters, for links.
    pub id: String,
    pub title: String,
    pub page: Page,
    /// Levels of headings whose text is folded away until it is asked for.
    pub folds: &'static [usize],
    /// Whether the first fold is open.
    pub opens_first: bool,
    /// Whether the browser of sentences stands at its end.
    pub browses: bool,
    /// The file that holds the same, if one does.
    pub file: Option<&'static str>,
}

impl Chapter {
    pub fn new(id: &str, title: &str, page: Page) -> Self {
        let (id, title) = (id.into(), title.into());
        Self { id, title, page, folds: &[], opens_first: false, browses: false, file: None }
    }

    pub fn folded(self, folds: &'static [usize], opens_first: bool) -> Self {
        Self { folds, opens_first, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.page.blocks.is_empty() && !self.browses
    }
}
