//! Pages as blocks: headings, paragraphs, lists, tables and figures. Text may carry the inline marks of Markdown
//! (code, strong, emphasis, links), and no others.

use crate::browser::Browser;
use crate::table::Table;

/// Text from a file as code, whatever it contains: the marks around it are longer than any in it.
pub(crate) fn code(text: &str) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(longest + 1);
    // A space keeps marks of the text apart from those around it, and is not shown.
    let space = if longest > 0 { " " } else { "" };
    format!("{marks}{space}{text}{space}{marks}")
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PageBlock {
    /// A heading of a level from 1.
    Heading(usize, String),
    Paragraph(String),
    /// Something to be seen first.
    Quote(String),
    List(Vec<Item>),
    Table(Table),
    Figure {
        path: &'static str,
        title: String,
    },
    /// Text of a language as it is.
    Code(&'static str, String),
}

impl PageBlock {
    /// The texts of a list's items; nothing of another block.
    pub fn into_items(self) -> Vec<String> {
        match self {
            Self::List(items) => items.into_iter().map(|item| item.text).collect(),
            _ => Vec::new(),
        }
    }
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub text: String,
    pub items: Vec<String>,
}

/// Blocks in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Page {
    pub blocks: Vec<PageBlock>,
}

/// A page as a file of its own.
pub(crate) struct PageFile<'a> {
    pub path: &'static str,
    /// What it holds, for the list of files.
    pub about: String,
    pub page: Page,
    /// Sentences on which policies differ, which `index.html` has after the page.
    pub browser: Option<&'a Browser>,
}

impl Page {
    /// A heading.
    pub fn section(&mut self, level: usize, title: impl Into<String>) {
        self.blocks.push(PageBlock::Heading(level, title.into()));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(PageBlock::Paragraph(text.into()));
    }

    /// An item of the list that the page ends with, or of a new one.
    pub fn item(&mut self, text: impl Into<String>) {
        self.item_with(text, Vec::new());
    }

    /// Several items.
    pub fn items<T: Into<String>>(&mut self, texts: impl IntoIterator<Item = T>) {
        texts.into_iter().for_each(|text| self.item(text));
    }

    /// An item with items below it.
    pub fn item_with(&mut self, text: impl Into<String>, items: Vec<String>) {
        let item = Item { text: text.into(), items };
        match self.blocks.last_mut() {
            Some(PageBlock::List(all)) => all.push(item),
            _ => self.blocks.push(PageBlock::List(vec![item])),
        }
    }

    /// A table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(PageBlock::Table(table));
    }

    /// Something to be seen first.
    pub fn quote(&mut self, text: impl Into<String>) {
        self.blocks.push(PageBlock::Quote(text.into()));
    }

    /// Text of a language as it is.
    pub fn code(&mut self, language: &'static str, text: impl Into<String>) {
        self.blocks.push(PageBlock::Code(language, text.into()));
    }

    /// A figure with what it shows.
    pub fn figure(&mut self, path: &'static str, title: &str, about: &str) {
        self.blocks.push(PageBlock::Figure { path, title: title.into() });
        self.paragraph(about);
    }
}
