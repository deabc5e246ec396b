//! `index.html` as data: chapters in the order in which a reader asks, made of the blocks, tables and figures that
//! topics declare. How it looks is the renderer's.
//!
//! # To add something to the page
//!
//! `crates/frostline-report/src/web/` puts the blocks and figures that topics declare into the chapters of
//! `index.html`: a new figure only names its `Theme` (`Theme::First` puts it next to the first table, in
//! `report.md` too), a new page of a topic becomes a chapter by itself. `src/render/html/` writes them; figures are
//! those of `src/render/svg/`. `assets/` has the style sheet and the script, without which the page is complete.
//! `cargo xtask ci --only browser` uses the page in Chromium (`tests/browser/check.py`), where what a reader can do
//! is checked.

mod cells;
mod chapter;
mod lead;
mod reproduce;
mod result;

use crate::browser::Browser;
use crate::chart::Theme;
use crate::front::{self, Topics};
use crate::page::{Block, Page, PageFile};
use crate::render::svg::Drawn;
use crate::study::words::{SYNTHETIC, SYNTHETIC_SHORT};
use crate::study::{Study, described, words};
use crate::topic::Place;

pub(crate) use chapter::{Chapter, WebPage};

/// The page of a study. `pages` are those of topics, `figures` all figures, `files` what lies beside the page.
pub(crate) fn page<'a>(
    study: &'a Study,
    topics: &'a Topics,
    pages: &[PageFile<'a>],
    figures: &'a [Drawn],
    files: &[(&'static str, String)],
) -> WebPage<'a> {
    let plan = &study.sweep.plan;
    let browser = pages.iter().find_map(|file| file.browser);
    let mut chapters = vec![result::chapter(study, topics, figures)];
    for (theme, id, title) in THEMES {
        chapters.push(of_theme(study, figures, theme, id, title));
    }
    let (errors, others): (Vec<&PageFile<'_>>, Vec<&PageFile<'_>>) =
        pages.iter().partition(|file| file.path == ERRORS);
    chapters.extend(errors.into_iter().map(of_file));
    chapters.push(sentences(browser));
    chapters.push(languages(study, topics));
    chapters.extend(others.into_iter().map(of_file));
    chapters.push(keep_in_mind(study, topics));
    chapters.push(cells::chapter(study));
    chapters.push(reproduce::chapter(study, topics, files));
    chapters.retain(|chapter| !chapter.is_empty());
    let (findings, more) = front::findings(study, topics);
    WebPage {
        name: plan.name.to_string(),
        banner: study.synthetic().then_some([SYNTHETIC_SHORT, SYNTHETIC]),
        about: described::about(study),
        asked: front::asked(study),
        progress: words::progress(study),
        data: lead::data(study),
        first: lead::first(study),
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
    front::figures_of(figures, |other| other == theme, &mut page);
    if theme == Theme::Time {
        result::speed(study, &mut page);
    }
    Chapter::new(id, title, page)
}

/// A page as a chapter: its first heading is the chapter's title, and its banner stands at the top of all.
fn of_file(file: &PageFile<'_>) -> Chapter {
    let mut blocks = file.page.blocks.clone();
    let mut title = file.path.to_string();
    if let Some(Block::Heading(1, first)) = blocks.first() {
        title = first.split(": ").next().unwrap_or(first).to_string();
        blocks.remove(0);
    }
    blocks.retain(|block| !matches!(block, Block::Quote(text) if text.contains(SYNTHETIC)));
    let id = file.path.trim_end_matches(".md");
    let chapter = Chapter::new(id, &title, Page { blocks });
    Chapter { file: Some(file.path), ..chapter.folded(&[2, 4], true) }
}

fn sentences(browser: Option<&Browser>) -> Chapter {
    let mut page = Page::default();
    let Some(browser) = browser else { return Chapter::new("sentences", "", page) };
    page.paragraph(
        "Two trained models on the same dev sentences. Words stand with their gold tag; where the two differ, both \
         tags follow. Sentences of test are not shown, so that nobody learns from test what to change.",
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
             first seeds. Predictions of all cells lie beside their records."
        ));
    }
    Chapter { browses: true, ..Chapter::new("sentences", "Sentences on which policies differ", page) }
}

/// What the topics say of each language.
fn languages(study: &Study, topics: &Topics) -> Chapter {
    let mut page = Page::default();
    for lang in study.langs() {
        page.section(2, study.lang_title(lang));
        front::prose(topics, study, Place::Language(lang), &mut page);
    }
    Chapter::new("languages", "All tables, language by language", page).folded(&[2], false)
}

fn keep_in_mind(study: &Study, topics: &Topics) -> Chapter {
    let mut page = Page::default();
    front::caveats(study, topics, &mut page);
    page.blocks.remove(0);
    Chapter::new("caveats", "What to keep in mind", page)
}
