//! How to run the same again: the commands, the plan, the inputs with their hashes, the code and the machines.

use frostline_record::Plan;

use crate::front::{self, Topics};
use crate::page::Page;
use crate::study::{Study, distinct};
use crate::web::chapter::Chapter;

/// The chapter.
pub(super) fn chapter(study: &Study, topics: &Topics, files: &[(&'static str, String)]) -> Chapter {
    let mut page = Page::default();
    page.paragraph(
        "Save the plan below as `plan.toml`, put the treebanks and the encoder where it names them, and run these \
         commands. On the same instructions (see below) accuracies come out the same bit for bit; times do not.",
    );
    page.code("sh", commands(study));
    page.section(2, "The plan, with what was set on the command line");
    page.code("toml", plan(&study.sweep.plan));
    topics.iter().for_each(|topic| topic.appendix(study, &mut page));
    front::list_of_files(files, &mut page);
    Chapter::new("reproduce", "How to reproduce it", page).folded(&[2], false)
}

fn commands(study: &Study) -> String {
    let makers = study.makers();
    let revisions = distinct(makers.iter().map(|(maker, _)| maker.revision.as_str()));
    let known = revisions.iter().filter(|revision| !revision.is_empty());
    let mut lines: Vec<String> = known
        .map(|revision| match revision.strip_suffix('+') {
            Some(clean) => format!("git checkout {clean}    # the records come from a changed copy of it"),
            None => format!("git checkout {revision}"),
        })
        .collect();
    let backend = makers.first().map_or("flex", |(maker, _)| maker.backend.as_str());
    let place = format!("sweeps/{}", study.sweep.plan.name);
    lines.push(format!("cargo xtask sweep --plan plan.toml --backend {backend} --out {place}"));
    lines.push(format!("cargo xtask report {place}"));
    lines.join("\n")
}

/// The plan as a file, with no more of the machine than the names of data sets.
fn plan(plan: &Plan) -> String {
    let mut plan = plan.clone();
    for place in plan.treebanks.values_mut().filter(|place| !place.starts_with("embedded:")) {
        let name = place.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or("");
        *place = name.to_string();
    }
    toml::to_string(&plan).unwrap_or_else(|error| format!("# The plan cannot be written as TOML: {error}"))
}
