//! A report as one ordered document, which `report.md` and `index.html` show: an opening, and chapters in the order in
//! which a reader asks. Renderers decide how it looks.
//!
//! # To add a chapter to the report
//!
//! `crates/frostline-report/src/document/` puts the blocks and figures that topics declare into chapters: a new figure
//! only names its `Theme` (`Theme::First` puts it next to the first table), a new page of a topic becomes a chapter of
//! `index.html` by itself. `src/render/markdown.rs` and `src/render/html/` write documents; `src/render/svg/`
//! draws figures. `assets/` has the style sheet and the script, without which the page is complete.
//! `cargo xtask ci --only browser` uses the page in Chromium (`tests/browser/check.py`) as a reader would.

mod cells;
mod data;
mod findings;
mod reproduce;
mod result;
mod stages;
mod terminal;

use crate::browser::Browser;
use crate::chart::Theme;
use crate::facts::{self, FactTable};
use crate::page::{Page, PageBlock, PageFile};
use crate::render::svg::Drawn;
use crate::study::sanity::FindingLine;
use crate::study::words::{self, SYNTHETIC};
use crate::study::{Study, described};
use crate::table::{Table, align};
use crate::topic::{ReportPlace, Topics, collect_prose};

pub(crate) use stages::table as stages_table;
pub(crate) use terminal::of_study as for_terminal;

/// A report, without how it looks.
pub(crate) struct ReportDocument<'a> {
    /// What kind of report it is: the study of a sweep, or a comparison of several.
    pub kind: &'static str,
    pub name: String,
    /// Whether the data is made up.
    pub is_synthetic: bool,
    /// The encoder, how much it learned from, and the plan's own description.
    pub about: String,
    /// The question, and how many cells answer it.
    pub asked: String,
    /// How many cells are done, failed and missing.
    pub progress: String,
    /// What was learned from, a row per language; or the sweeps.
    pub data: Table,
    /// What makes the rest worthless, or limits it: a summary, and a line for each finding.
    pub warnings: Option<(String, Vec<String>)>,
    /// The main findings, then others.
    pub findings: Vec<String>,
    pub more: Vec<String>,
    /// Policies in the plan's order: all figures and tables of a page can leave some out.
    pub policies: Vec<&'a str>,
    pub chapters: Vec<Chapter>,
    /// All figures, with how they were drawn.
    pub figures: &'a [Drawn],
    pub browser: Option<&'a Browser>,
}

/// A part of a document with its own entry in the list of contents.
pub(crate) struct Chapter {
    /// Lower-case letters, for links.
    pub id: String,
    pub title: String,
    pub page: Page,
    /// Levels of headings whose text a page folds away until it is asked for.
    pub folds: &'static [usize],
    /// Whether the first fold is open.
    pub opens_first: bool,
    /// Whether the browser of sentences is at its end.
    pub browses: bool,
    /// The file with the same contents, if there is one.
    pub file: Option<&'static str>,
    pub shown: ShownIn,
}

/// The renderings that show a chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownIn {
    Everywhere,
    /// In `index.html`, since it has files of its own or needs a browser.
    PageOnly,
    /// In `report.md`, since the page has the same in another form.
    TextOnly,
}

impl Chapter {
    pub fn new(id: &str, title: &str, page: Page) -> Self {
        let (id, title, shown) = (id.into(), title.into(), ShownIn::Everywhere);
        Self { id, title, page, folds: &[], opens_first: false, browses: false, file: None, shown }
    }

    fn folded(self, folds: &'static [usize], opens_first: bool) -> Self {
        Self { folds, opens_first, ..self }
    }

    fn only(self, shown: ShownIn) -> Self {
        Self { shown, ..self }
    }

    fn is_empty(&self) -> bool {
        self.page.blocks.is_empty() && !self.browses
    }
}

/// The heading of what is to be checked before any comparison.
pub(crate) const CHECK_FIRST: &str = "Check first";

/// The heading of the findings.
pub(crate) const FINDINGS: &str = "What came out";

/// The document of a study. `pages` are written by topics, `figures` are all figures, `files` the other files of the report.
pub(crate) fn of_study<'a>(
    study: &'a Study,
    topics: &'a Topics,
    pages: &[PageFile<'a>],
    figures: &'a [Drawn],
    files: &[(&'static str, String)],
) -> ReportDocument<'a> {
    let browser = pages.iter().find_map(|file| file.browser);
    let mut chapters = vec![result::make_chapter(study, topics, figures)];
    chapters.extend(THEMES.map(|(theme, id, title)| of_theme(study, figures, theme, id, title)));
    let (errors, others): (Vec<_>, Vec<_>) = pages.iter().partition(|file| file.path == ERRORS);
    chapters.extend(errors.into_iter().map(of_file));
    chapters.push(of_sentences(browser));
    chapters.push(of_languages(study, topics));
    chapters.extend(others.into_iter().map(of_file));
    chapters.push(cells::without_result(study));
    chapters.push(Chapter::new("caveats", "What to keep in mind", list_caveats(study, topics)));
    chapters.push(cells::make_chapter(study));
    chapters.push(reproduce::make_chapter(study, topics, files));
    chapters.retain(|chapter| !chapter.is_empty());
    let (findings, more) = findings::of_study(study, topics);
    let warnings = study.sanity_lines();
    ReportDocument {
        kind: "Freezing study",
        name: study.sweep.plan.name.to_string(),
        is_synthetic: study.synthetic(),
        about: described::describe_study(study),
        asked: described::describe_question(study),
        progress: words::describe_progress(study),
        data: data::table(study),
        warnings: warnings
            .map(|(summary, lines)| (summary, lines.iter().map(FindingLine::for_page).collect())),
        findings,
        more,
        policies: study.policies(),
        chapters,
        figures,
        browser,
    }
}

/// The page on which words are wrong, which comes before other pages.
const ERRORS: &str = "errors.md";

/// Chapters that are made of figures.
const THEMES: [(Theme, &str, &str); 4] = [
    (Theme::Accuracy, "accuracy", "Accuracy"),
    (Theme::Learning, "convergence", "Convergence"),
    (Theme::Time, "time", "Time saved, predicted and measured"),
    (Theme::Parts, "parts", "Blocks and stages"),
];

fn of_theme(study: &Study, figures: &[Drawn], theme: Theme, id: &str, title: &str) -> Chapter {
    let mut page = Page::default();
    add_figures(figures, theme, &mut page);
    if theme == Theme::Time {
        result::add_speed(study, &mut page);
    }
    Chapter::new(id, title, page)
}

/// Adds the figures of a theme, each with its description.
fn add_figures(figures: &[Drawn], theme: Theme, page: &mut Page) {
    let chosen = figures.iter().filter(|(figure, _)| figure.theme == theme);
    chosen.for_each(|(figure, _)| page.figure(figure.path, figure.title, &figure.about));
}

/// A page as a chapter: its first heading is the chapter's title, and its banner is at the top of the document.
fn of_file(file: &PageFile<'_>) -> Chapter {
    let mut blocks = file.page.blocks.clone();
    let mut title = file.path.to_string();
    if let Some(PageBlock::Heading(1, first)) = blocks.first() {
        title = first.split(": ").next().unwrap_or(first).to_string();
        blocks.remove(0);
    }
    blocks.retain(|block| !matches!(block, PageBlock::Quote(text) if text.contains(SYNTHETIC)));
    let id = file.path.trim_end_matches(".md");
    let chapter = Chapter::new(id, &title, Page { blocks }).folded(&[2, 4], true);
    Chapter { file: Some(file.path), ..chapter.only(ShownIn::PageOnly) }
}

fn of_sentences(browser: Option<&Browser>) -> Chapter {
    let mut page = Page::default();
    let Some(browser) = browser else { return Chapter::new("sentences", "", page) };
    page.paragraph(
        "Two trained models on the same dev sentences. Each word is followed by its gold tag; if the two differ, both \
         tags follow. Sentences of test are not shown, so that test is not used to choose changes.",
    );
    if browser.texts.iter().any(|text| !text.has_words) {
        page.quote(
            "The records were published without the words of the treebanks: sentences show their gold tags, with a \
             number in the place of each word.",
        );
    }
    let [left_out, all] = browser.left_out;
    if left_out > 0 {
        page.paragraph(format!(
            "{left_out} of {all} cells are left out so that the page stays small: each policy is shown with its \
             first seeds. The predictions of all cells are stored with their records."
        ));
    }
    let chapter =
        Chapter::new("sentences", "Sentences on which policies differ", page).only(ShownIn::PageOnly);
    Chapter { browses: true, ..chapter }
}

/// The tables of each language.
fn of_languages(study: &Study, topics: &Topics) -> Chapter {
    let mut page = Page::default();
    for (lang, table) in by_language(study, |lang| facts::table(study, FactTable::Study, Some(lang))) {
        page.section(2, study.lang_title(lang));
        page.table(table);
        collect_prose(topics, study, ReportPlace::Language(lang), &mut page);
    }
    Chapter::new("languages", "All tables, language by language", page).folded(&[2], false)
}

/// A table of each language. All have the same columns, so that languages can be compared.
fn by_language<'a>(study: &'a Study, table: impl Fn(&'a str) -> Table) -> Vec<(&'a str, Table)> {
    let mut all: Vec<(&str, Table)> = study.langs().into_iter().map(|lang| (lang, table(lang))).collect();
    align(&mut all.iter_mut().map(|(_, table)| table).collect::<Vec<_>>());
    all
}

/// What to keep in mind, from what the records show.
fn list_caveats(study: &Study, topics: &Topics) -> Page {
    let mut page = Page::default();
    if study.synthetic() {
        page.item(SYNTHETIC);
    }
    let done = || study.groups.iter().map(|group| group.seeds_done);
    if done().any(|seeds| seeds == 0) {
        page.item("Some rows have no result at all; they show dashes.");
    }
    match done().filter(|&seeds| seeds > 0).min() {
        Some(1) => page.item(
            "**Some rows rest on a single seed.** They have no ±, and another seed would give \
             other numbers. Differences between them cannot be told from chance over seeds.",
        ),
        Some(fewest @ 2..5) => {
            page.item(format!("Standard deviations over {fewest} seeds are themselves rough."));
        }
        _ => {}
    }
    collect_prose(topics, study, ReportPlace::Caveats, &mut page);
    page
}
