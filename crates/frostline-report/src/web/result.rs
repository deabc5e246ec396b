//! The first chapter: what came out, and what policies cost.

use frostline_score::MeanStd;

use crate::front::result::lang_column;
use crate::front::{self, Topics};
use crate::keys;
use crate::page::Page;
use crate::study::cells::over;
use crate::study::turns::saving;
use crate::study::{BASELINE, CellView, Done, Group, Study};
use crate::table::Quantity;
use crate::web::chapter::Chapter;

/// The chapter: the table, how to read it, and what topics say of all languages.
pub(super) fn chapter(study: &Study, topics: &Topics) -> Chapter {
    let mut page = Page::default();
    front::result::tables(study, true, &mut page);
    front::stages_of(study, &mut page);
    front::remarks(study, topics, &mut page);
    front::how_to_read(study, topics, &mut page);
    topics.iter().for_each(|topic| topic.summary(study, &mut page));
    Chapter::new("result", "Result", page).folded(&[2], false)
}

/// What policies cost, for the chapter on time: predicted beside measured.
pub(super) fn speed(study: &Study, page: &mut Page) {
    let predicted = |group: &Group| {
        let done: Vec<&Done> = study.members(group).filter_map(CellView::done).collect();
        let speedup = MeanStd::of(&over(&done, |done| done.predicted_speedup()));
        let speedup = speedup.filter(|_| group.policy != BASELINE && !group.is_staged());
        speedup.map(|speedup| 1.0 - 1.0 / speedup.mean)
    };
    let columns = lang_column(study, |group: &&Group| group.lang.clone())
        .and(keys::of_group(study))
        .optional("Predicted time saving of a step", Quantity::Percent(1), move |group| predicted(group))
        .optional("Measured in turns", Quantity::Percent(1), |group| saving(group, study.step_cost(group)))
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
        "The prediction is the cost model's, made from shapes before any step is taken. Savings are in percent of the \
         time of a step of `none`.",
    );
    if study.step_costs.compare_cpu_time() {
        page.paragraph("Where processor time is given, they are of it, since the machine was busy.");
    }
}
