//! What is no topic's: the order of `report.md`, the tables that topics share, and what is said of the whole.

use crate::chart::Theme;
use crate::facts::{self, View};
use crate::fields::Fields;
use crate::number::{count, fixed, plural};
use crate::page::Page;
use crate::render::svg::Drawn;
use crate::study::described;
use crate::study::groups::Group;
use crate::study::twins;
use crate::study::words::{self, units};
use crate::study::{CellView, State, Study, distinct};
use crate::table::{self, Columns, Quantity, Table};
use crate::topic::{Of, Place, Topic, TopicTable, items};

mod findings;
pub(crate) mod result;
mod stages;

pub(crate) use findings::findings;
pub(crate) use stages::table as stages_table;

use frostline_record::{Precision, PrefixUse, SCHEMA};
use serde::Serialize;

/// Topics in the order of the report.
pub(crate) type Topics = [Box<dyn Topic>];

/// What all topics say in a place.
pub(crate) fn prose(topics: &Topics, study: &Study, place: Place<'_>, page: &mut Page) {
    topics.iter().for_each(|topic| topic.prose(study, place, page));
}

/// `report.md`. `files` are the files beside it, each with what it holds.
pub(crate) fn page(
    study: &Study,
    topics: &Topics,
    figures: &[Drawn],
    files: &[(&'static str, String)],
) -> Page {
    let mut page = Page::default();
    head(study, &mut page);
    check_first(study, &mut page);
    let opening = items(topics, study, Place::Opening);
    if !study.sanity.is_empty() && !opening.is_empty() {
        page.section(2, "What came out");
    }
    opening.into_iter().for_each(|sentence| page.item(sentence));
    result(study, topics, figures, &mut page);
    let links: Vec<String> = items(topics, study, Place::Link).into_iter().rev().collect();
    if !links.is_empty() {
        page.paragraph(links.join(" "));
    }
    prose(topics, study, Place::Summary, &mut page);
    how_to_read(study, topics, &mut page);
    for (lang, table) in by_language(study, |lang| facts::table(study, View::Study, Some(lang))) {
        page.section(2, study.lang_title(lang));
        page.table(table);
        prose(topics, study, Place::Language(lang), &mut page);
    }
    page.section(2, "Figures");
    figures_of(figures, |theme| !matches!(theme, Theme::First | Theme::Errors), &mut page);
    undone(study, &mut page);
    caveats(study, topics, &mut page);
    prose(topics, study, Place::Appendix, &mut page);
    list_of_files(files, &mut page);
    in_three_sentences(study, topics, &mut page);
    page
}

/// A table of each language. All have the same columns, so that languages can be compared.
fn by_language<'a>(study: &'a Study, table: impl Fn(&'a str) -> Table) -> Vec<(&'a str, Table)> {
    let mut all: Vec<(&str, Table)> = study.langs().into_iter().map(|lang| (lang, table(lang))).collect();
    table::align(&mut all.iter_mut().map(|(_, table)| table).collect::<Vec<_>>());
    all
}

/// The end of the page: what whoever read it takes along.
fn in_three_sentences(study: &Study, topics: &Topics, page: &mut Page) {
    let (said, _) = findings(study, topics);
    if !said.is_empty() {
        page.section(2, if said.len() == 3 { "In three sentences" } else { "In short" });
        page.paragraph(said.join(" "));
    }
}

fn head(study: &Study, page: &mut Page) {
    let plan = &study.sweep.plan;
    page.section(1, format!("Freezing study: {}", plan.name));
    words::banner(study, page);
    let about = described::about(study);
    if !about.is_empty() {
        page.paragraph(about);
    }
    page.paragraph(asked(study));
}

/// What makes the rest worthless, or limits it.
fn check_first(study: &Study, page: &mut Page) {
    let Some((summary, lines)) = study.sanity_lines() else { return };
    page.section(2, CHECK_FIRST);
    page.paragraph(summary);
    lines.iter().for_each(|line| page.item(line.for_page()));
}

/// The heading of what is said before any comparison.
pub(crate) const CHECK_FIRST: &str = "Check first";

/// What was asked, and of how many cells.
pub(crate) fn asked(study: &Study) -> String {
    let seeds = distinct(study.cells.iter().map(|view| view.cell.settings.seed)).len();
    let policies = study.policies().len();
    format!(
        "A pretrained encoder learns {}. Part of it is frozen: it does not learn. \
         This report shows what each way of freezing costs in accuracy and saves in time. \
         It covers {}, {} and {}. {}.",
        words::learned(study),
        plural(study.langs().len(), "language"),
        if policies == 1 { "1 policy".into() } else { format!("{policies} policies") },
        plural(seeds, "seed"),
        words::progress(study),
    )
}

/// The figures of some themes, each with what it shows.
pub(crate) fn figures_of(figures: &[Drawn], theme: impl Fn(Theme) -> bool, page: &mut Page) {
    let chosen = figures.iter().filter(|(figure, _)| theme(figure.theme));
    chosen.for_each(|(figure, _)| page.figure(figure.path, figure.title, &figure.about));
}

/// The figures that a reader sees first.
pub(crate) fn first_figures(figures: &[Drawn], page: &mut Page) {
    figures_of(figures, |theme| theme == Theme::First, page);
}

/// What came out, all languages below each other.
fn result(study: &Study, topics: &Topics, figures: &[Drawn], page: &mut Page) {
    page.section(2, "Result");
    result::tables(study, false, page);
    first_figures(figures, page);
    stages_of(study, page);
    remarks(study, topics, page);
}

/// Sentences about the table of all languages.
pub(crate) fn remarks(study: &Study, topics: &Topics, page: &mut Page) {
    for lang in study.langs() {
        if let Some((dev_units, half)) = words::sampling(study, lang) {
            page.item(format!(
                "**{lang}**: dev has {} {}. Each policy's accuracy is good to about ± {} points (half \
                 of a 95 % Wilson interval, the widest of them).{}",
                count(dev_units),
                units(study).many,
                fixed(half * 100.0, 2),
                match study.policies().len() {
                    1 => String::new(),
                    _ => format!(
                        " Differences between policies are known better, since all are scored on the same {}.",
                        units(study).many
                    ),
                }
            ));
        }
    }
    twins::sentences(&study.sweep).into_iter().for_each(|sentence| page.item(sentence));
    prose(topics, study, Place::Remarks, page);
}

/// What each stage led to, where cells have stages.
pub(crate) fn stages_of(study: &Study, page: &mut Page) {
    if !study.is_staged() {
        return;
    }
    for (lang, table) in by_language(study, |lang| stages::table(study, lang)) {
        page.paragraph(format!("**{lang}** after each stage:"));
        page.table(table);
    }
    page.paragraph(stages::ABOUT);
}

pub(crate) fn how_to_read(study: &Study, topics: &Topics, page: &mut Page) {
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
    page.item(
        "**± after a number** is one standard deviation over seeds. It is missing where there is \
         only one seed.",
    );
    prose(topics, study, Place::Reading, page);
}

/// The tables of each language for a terminal: policies, and stages where cells have stages. All languages have the same
/// columns.
pub(crate) fn terminal_tables<'a>(study: &'a Study) -> Vec<(&'a str, Vec<Table>)> {
    let of_lang = |lang: &'a str| {
        let policies =
            (!stages::say_all(study, lang)).then(|| facts::table(study, View::Terminal, Some(lang)));
        let staged = study.groups_of(lang).any(Group::is_staged);
        let stages = staged.then(|| stages::terminal_table(study, lang));
        (lang, policies.into_iter().chain(stages).collect())
    };
    let mut all: Vec<(&str, Vec<Table>)> = study.langs().into_iter().map(of_lang).collect();
    table::align(&mut all.iter_mut().flat_map(|(_, tables)| tables).collect::<Vec<_>>());
    all
}

fn undone(study: &Study, page: &mut Page) {
    let rows = words::undone(study);
    if rows.is_empty() {
        return;
    }
    page.section(2, "Missing and failed cells");
    page.paragraph("These cells gave no numbers. Means above are over the seeds that are left.");
    let columns = Columns::default()
        .column("Cell", Quantity::Text, |row: &(String, &'static str, String)| row.0.clone())
        .column("State", Quantity::Text, |row| row.1)
        .column("Why", Quantity::Text, |row| {
            let why = row.2.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            format!("`` {} ``", why.replace("``", "''"))
        });
    page.table(columns.table(rows));
}

/// What to keep in mind, from what the records show.
pub(crate) fn caveats(study: &Study, topics: &Topics, page: &mut Page) {
    page.section(2, "What to keep in mind");
    if study.synthetic() {
        page.item(words::SYNTHETIC);
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
    prose(topics, study, Place::Caveats, page);
}

pub(crate) fn list_of_files(files: &[(&'static str, String)], page: &mut Page) {
    page.section(2, "Files beside this page");
    for (path, about) in files.iter().filter(|(_, about)| !about.is_empty()) {
        let path = if path.ends_with(".md") { format!("[`{path}`]({path})") } else { format!("`{path}`") };
        page.item(format!("{path}: {about}"));
    }
    page.item("`report.json`: every mean and standard deviation of this page, unrounded, and tables of single cells under `tables`.");
    page.item("`figures/`: the figures as SVG, and as PDF where the program was built with it.");
    page.paragraph("In CSV and JSON, accuracies and shares are fractions of 1, not percent.");
}

/// `report.json`: every aggregated number, and tables of single cells.
pub(crate) fn fields(study: &Study, topics: &Topics) -> Fields {
    let plan = &study.sweep.plan;
    let group = |group: &Group| {
        let own = Fields::default()
            .with("lang", &group.lang)
            .with("policy", &group.policy)
            .with("extras", &group.extras)
            .with("seeds_planned", &group.seeds_planned)
            .with("seeds_done", &group.seeds_done)
            .with("seeds_failed", &group.seeds_failed);
        topics.iter().fold(own, |fields, topic| fields.and(topic.facts(study, Of::Group(group))))
    };
    let whole = Fields::default()
        .with("schema", &SCHEMA)
        .with("name", &plan.name)
        .with("about", &described::about(study))
        .with("synthetic", &plan.synthetic)
        .with("notice", &plan.synthetic.then_some(words::SYNTHETIC))
        .with(
            "units",
            "accuracies, shares, savings and gains in [0, 1]; std is over seeds; speed-ups are \
             times as fast as none; other units in names",
        )
        .with("axes", &study.axes())
        .with("sanity", &study.sanity)
        .with_objects("groups", study.groups.iter().map(group).collect())
        .with("cells", &study.cells.iter().map(CellLine::of).collect::<Vec<_>>());
    let whole = topics.iter().fold(whole, |fields, topic| fields.and(topic.facts(study, Of::Sweep)));
    let tables = topics.iter().flat_map(|topic| topic.tables(study)).filter_map(TopicTable::rows);
    whole.with_tables("tables", &tables.collect::<Vec<_>>())
}

/// A cell in `report.json`.
#[derive(Serialize)]
struct CellLine<'a> {
    id: &'a str,
    lang: &'a str,
    policy: &'a str,
    seed: u64,
    extras: &'a [String],
    /// What linear layers were computed in, which is not always what was asked for.
    computed_in: Option<Precision>,
    prefix: Option<PrefixUse>,
    status: &'a str,
    error: Option<&'a str>,
}

impl<'a> CellLine<'a> {
    fn of(view: &'a CellView) -> Self {
        let settings = &view.cell.settings;
        Self {
            id: &view.cell.id,
            lang: &settings.lang,
            policy: settings.policy.as_str(),
            seed: settings.seed,
            extras: &view.extras,
            computed_in: view.computed_in(),
            prefix: view.done().and_then(|done| Some(done.timing.as_ref()?.prefix)),
            status: view.state.name(),
            error: match &view.state {
                State::Failed { error, .. } => Some(error),
                _ => None,
            },
        }
    }
}
