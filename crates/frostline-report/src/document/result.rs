//! The first chapter: mean, interval, paired verdict and cost of every policy, all languages below each other. If there are
//! many languages, a table of verdicts by language comes first.

use frostline_record::{PeftMethod, Policy};

use crate::chart::Theme;
use crate::document::{Chapter, add_figures, by_language, stages};
use crate::facts::{self, FactTable};
use crate::keys;
use crate::number::{count, fixed, signed};
use crate::page::Page;
use crate::render::svg::Drawn;
use crate::study::advice::SPLIT;
use crate::study::place::PolicyPlace;
use crate::study::words::{self, counted_units};
use crate::study::{BASELINE, Study, distinct, twins};
use crate::table::{Quantity, Table};
use crate::topic::{ReportPlace, Topics, collect_prose};

/// The least number of languages that have a table of verdicts side by side.
const MANY: usize = 3;

/// The chapter: the table, the first figure, how to read them, and what topics report on all languages.
pub(super) fn make_chapter(study: &Study, topics: &Topics, figures: &[Drawn]) -> Chapter {
    let mut page = Page::default();
    if let Some(table) = verdicts_by_language(study) {
        page.paragraph(format!(
            "Difference of dev {} from `none` in points, and its verdict:",
            study.metric()
        ));
        page.table(table);
        page.paragraph("All numbers:");
    }
    page.table(facts::table(study, FactTable::Result, None));
    add_figures(figures, Theme::First, &mut page);
    add_stages(study, &mut page);
    add_remarks(study, topics, &mut page);
    explain_tables(study, topics, &mut page);
    collect_prose(topics, study, ReportPlace::Summary, &mut page);
    Chapter::new("result", "Result", page).folded(&[2], false)
}

/// Adds what policies cost, for the chapter on time: predicted and measured.
pub(super) fn add_speed(study: &Study, page: &mut Page) {
    page.table(facts::table(study, FactTable::Speed, None));
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

/// A policy with the values of further axes.
type PolicyKey<'a> = (&'a str, &'a [String]);

/// Differences and verdicts, the languages side by side.
fn verdicts_by_language(study: &Study) -> Option<Table> {
    let langs: Vec<String> = study.langs().into_iter().map(String::from).collect();
    if langs.len() < MANY || !facts::is_judged(study) {
        return None;
    }
    let others = study.groups.iter().filter(|group| group.policy != BASELINE);
    let rows = distinct(others.map(|group| (group.policy.as_str(), group.extras.as_slice())));
    let shown = |(policy, extras): &PolicyKey<'_>, lang: &String| {
        let judged = study.verdicts.find(PolicyPlace { lang, policy, extras }, SPLIT)?.judged()?;
        Some(format!("{} {}", signed(100.0 * judged.difference.value, 2), judged.verdict.name()))
    };
    let columns =
        keys::policy_columns(study, |row: &PolicyKey<'_>| row.0.to_string(), |row: &PolicyKey<'_>| row.1)
            .each(langs, String::clone, Quantity::Text, move |row, lang| shown(row, lang));
    Some(columns.table(rows))
}

/// Sentences about the table of all languages.
fn add_remarks(study: &Study, topics: &Topics, page: &mut Page) {
    for lang in study.langs() {
        if let Some((dev_units, half)) = words::sampling_error(study, lang) {
            page.item(format!(
                "**{lang}**: dev has {} {}. 95 % margin of each policy's accuracy (Wilson): at most ± {} points.{}",
                count(dev_units),
                counted_units(study).many,
                fixed(half * 100.0, 2),
                match study.policies().len() {
                    1 => String::new(),
                    _ => format!(
                        " Differences between policies are known better, since all are scored on the same {}.",
                        counted_units(study).many
                    ),
                }
            ));
        }
    }
    twins::twin_sentences(&study.sweep).into_iter().for_each(|sentence| page.item(sentence));
    collect_prose(topics, study, ReportPlace::Remarks, page);
}

/// What each stage led to, if cells have stages.
fn add_stages(study: &Study, page: &mut Page) {
    if !study.is_staged() {
        return;
    }
    for (lang, table) in by_language(study, |lang| stages::table(study, lang)) {
        page.paragraph(format!("**{lang}** after each stage:"));
        page.table(table);
    }
    page.paragraph(stages::ABOUT);
}

fn explain_tables(study: &Study, topics: &Topics, page: &mut Page) {
    page.section(2, "How to read the tables");
    page.item(
        "**Frozen** names what does not learn. `none`: everything learns. `all`: all blocks are \
         frozen, embeddings and head learn. `first-K`, `last-K`: so many blocks from the bottom or \
         top; `first-25%` is that share of them. `alternating`: blocks 0, 2, 4 and so on. `blocks-0.3`: blocks 0 and 3. `top-K`: only the K top \
         blocks and the head learn. `head-only`: only the head learns. `+embeddings`: the embeddings are frozen too. \
         `+heads`, `+head.TASK`: heads are frozen too. `+lora`, \
         `+adapters`, `+bitfit`, `+norms`: what is not frozen learns by added matrices, added layers, biases \
         or LayerNorms alone. `+mix`: heads read a learned mix of all blocks. `+adaptive`: blocks freeze as \
         their gradients settle.",
    );
    let has = |fits: fn(&Policy) -> bool| {
        study.groups.iter().any(|group| Policy::parse(&group.policy).is_ok_and(|policy| fits(&policy)))
    };
    if has(|policy| policy.tuning().methods.contains(&PeftMethod::Dora)) {
        page.item(
            "**`+dora`**: added matrices as with `+lora`, and a learned norm for each column of a layer.",
        );
    }
    if has(|policy| policy.tuning().methods.contains(&PeftMethod::Ia3)) {
        page.item(
            "**`+ia3`**: learned factors of keys, values and inner activations of the feed-forward layers.",
        );
    }
    if has(Policy::takes_turns) {
        page.item(
            "**Policies that change during the run**: with `lp-ft` only heads learn for the first half of the steps (`lp-ft-25%`: \
             a quarter), then everything. With `lisa-K@N` K blocks learn at a time, drawn again every N steps; embeddings and \
             heads always learn.",
        );
    }
    page.item(
        "**± after a number** is one standard deviation over seeds. It is missing if there is \
         only one seed.",
    );
    collect_prose(topics, study, ReportPlace::Reading, page);
}
