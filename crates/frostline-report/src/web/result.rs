//! The first chapter: what came out, and what policies cost.

use crate::facts::{self, View};
use crate::front::{self, Topics};
use crate::page::Page;
use crate::render::svg::Drawn;
use crate::study::Study;
use crate::topic::Place;
use crate::web::chapter::Chapter;

/// The chapter: the table, the first figure, how to read them, and what topics say of all languages.
pub(super) fn chapter(study: &Study, topics: &Topics, figures: &[Drawn]) -> Chapter {
    let mut page = Page::default();
    front::result::tables(study, true, &mut page);
    front::first_figures(figures, &mut page);
    front::stages_of(study, &mut page);
    front::remarks(study, topics, &mut page);
    front::how_to_read(study, topics, &mut page);
    front::prose(topics, study, Place::Summary, &mut page);
    Chapter::new("result", "Result", page).folded(&[2], false)
}

/// What policies cost, for the chapter on time: predicted beside measured.
pub(super) fn speed(study: &Study, page: &mut Page) {
    page.table(facts::table(study, View::Speed, None));
    page.paragraph(
        "**Time saved** is in percent of the time of a step of `none`: measured in steps that the policies took in turns, and \
         predicted by the cost model from shapes before any step is taken.",
    );
    if study.step_costs.compare_cpu_time() {
        page.paragraph(
            "If processor time is given, time saved is measured in it, since the machine was busy.",
        );
    }
}
