//! The first chapter: what came out, and what policies cost.

use crate::front::result::lang_column;
use crate::front::{self, Topics};
use crate::keys;
use crate::page::Page;
use crate::render::svg::Drawn;
use crate::study::turns::saving;
use crate::study::{Group, Study, saved};
use crate::table::Quantity;
use crate::web::chapter::Chapter;

/// The chapter: the table, the first figure, how to read them, and what topics say of all languages.
pub(super) fn chapter(study: &Study, topics: &Topics, figures: &[Drawn]) -> Chapter {
    let mut page = Page::default();
    front::result::tables(study, true, &mut page);
    front::first_figures(figures, &mut page);
    front::stages_of(study, &mut page);
    front::remarks(study, topics, &mut page);
    front::how_to_read(study, topics, &mut page);
    topics.iter().for_each(|topic| topic.summary(study, &mut page));
    Chapter::new("result", "Result", page).folded(&[2], false)
}

/// What policies cost, for the chapter on time: predicted beside measured.
pub(super) fn speed(study: &Study, page: &mut Page) {
    let columns = lang_column(study, |group: &&Group| group.lang.clone())
        .and(keys::of_group(study))
        .optional("Time saved", Quantity::Percent(1), |group| saving(group, study.step_cost(group)))
        .optional("Time saved, predicted", Quantity::Percent(1), |group| saved::predicted_shown(study, group))
        .optional("Median step, in turns", Quantity::Measured("ms"), |group| {
            study.step_cost(group).map(|cost| cost.step_ms)
        })
        .optional("Median processor time, in turns", Quantity::Measured("ms"), |group| {
            study.step_cost(group)?.cpu_ms
        })
        .optional("Training time", Quantity::Measured("s"), |group| {
            group.times.as_ref().map(|times| times.train_s)
        })
        .optional("Whole cell", Quantity::Measured("s"), |group| {
            group.times.as_ref().map(|times| times.total_s)
        })
        .optional("While busy", Quantity::Text, |group| group.busy_words())
        .optional("Peak memory, in turns", Quantity::Number(0, "MiB"), |group| {
            study.step_cost(group).and_then(|cost| cost.peak_mib)
        })
        .optional("Peak memory of the worker", Quantity::Number(0, "MiB"), |group| {
            let on_gpu = group.times_by.iter().any(|(hardware, _)| hardware.on_gpu());
            group.times.as_ref().map(|times| times.peak_rss_mib_max).filter(|&peak| peak > 0.0 && !on_gpu)
        });
    page.table(columns.table(&study.groups));
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
