//! What is no topic's: the order of `report.md`, the tables that topics share, and what is said of the whole.

use crate::chart::Theme;
use crate::fields::Fields;
use crate::keys;
use crate::number::{count, fixed, plural};
use crate::page::Page;
use crate::render::svg::Drawn;
use crate::study::baselines::{self, BaselineStats};
use crate::study::described;
use crate::study::groups::Group;
use crate::study::verdicts::PolicyVerdict;
use crate::study::words::{self, units};
use crate::study::{BASELINE, CellView, State, Study, distinct};
use crate::study::{turns, twins};
use crate::table::{self, Columns, Quantity, Table, Value};
use crate::topic::{StudyRow, Topic};

mod findings;
pub(crate) mod result;
mod stages;

pub(crate) use findings::findings;
pub(crate) use stages::table as stages_table;

use frostline_record::{Precision, PrefixUse, SCHEMA};
use serde::Serialize;

/// Topics in the order of the report.
pub(crate) type Topics = [Box<dyn Topic>];

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
    let opening: Vec<String> = topics.iter().flat_map(|topic| topic.opening(study)).collect();
    if !study.sanity.is_empty() && !opening.is_empty() {
        page.section(2, "What came out");
    }
    opening.into_iter().for_each(|sentence| page.item(sentence));
    result(study, topics, figures, &mut page);
    let links: Vec<&str> = topics.iter().rev().filter_map(|topic| topic.link(study)).collect();
    if !links.is_empty() {
        page.paragraph(links.join(" "));
    }
    topics.iter().for_each(|topic| topic.summary(study, &mut page));
    how_to_read(study, topics, &mut page);
    for (lang, table) in by_language(study, |lang| study_table(study, topics, lang)) {
        page.section(2, study.lang_title(lang));
        page.table(table);
        topics.iter().for_each(|topic| topic.language(study, lang, &mut page));
    }
    page.section(2, "Figures");
    figures_of(figures, |theme| !matches!(theme, Theme::First | Theme::Errors), &mut page);
    undone(study, &mut page);
    caveats(study, topics, &mut page);
    topics.iter().for_each(|topic| topic.appendix(study, &mut page));
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
    topics.iter().flat_map(|topic| topic.remarks(study)).for_each(|remark| page.item(remark));
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
    topics.iter().flat_map(|topic| topic.reading(study)).for_each(|item| page.item(item));
}

/// The study's table of a language: policies, then what needs no training of the encoder.
fn study_table(study: &Study, topics: &Topics, lang: &str) -> Table {
    let name = |row: &StudyRow<'_>| match row {
        StudyRow::Policy(group) => group.names(),
        StudyRow::Baseline(one) => format!("*{}*", one.title()),
    };
    let below = baselines::of(study, lang);
    let columns = keys::frozen(study, name, extras_of);
    let columns = topics.iter().fold(columns, |columns, topic| columns.and(topic.study_columns(study)));
    let columns = columns.column("Seeds", Quantity::Count, |row| row.group().map(words::seeds));
    let below = below.iter().map(StudyRow::Baseline);
    columns.table(study.groups_of(lang).map(StudyRow::Policy).chain(below))
}

pub(crate) fn extras_of<'a>(row: &'a StudyRow<'_>) -> &'a [String] {
    match row {
        StudyRow::Policy(group) => &group.extras,
        StudyRow::Baseline(one) => &one.extras,
    }
}

/// The tables of each language for a terminal: policies, and stages where cells have stages. All languages have the same
/// columns.
pub(crate) fn terminal_tables<'a>(study: &'a Study) -> Vec<(&'a str, Vec<Table>)> {
    let of_lang = |lang: &'a str| {
        let policies = (!stages::say_all(study, lang)).then(|| terminal_table(study, lang));
        let staged = study.groups_of(lang).any(Group::is_staged);
        let stages = staged.then(|| stages::terminal_table(study, lang));
        (lang, policies.into_iter().chain(stages).collect())
    };
    let mut all: Vec<(&str, Vec<Table>)> = study.langs().into_iter().map(of_lang).collect();
    table::align(&mut all.iter_mut().flat_map(|(_, tables)| tables).collect::<Vec<_>>());
    all
}

/// The study's table of a language for a terminal.
fn terminal_table(study: &Study, lang: &str) -> Table {
    let test = study.groups.iter().any(|group| group.test.is_some());
    let other = |group: &&Group| group.policy != BASELINE;
    let short = if study.metric() == "accuracy" { "acc." } else { "F1" };
    let (dev, test_title) = (format!("dev {short}"), format!("test {short}"));
    let columns = short_keys(study, |group: &&Group| group.names(), |group: &&Group| &group.extras)
        .column(dev.clone(), Quantity::Percent(2), |group| group.dev.as_ref().map(|dev| dev.score))
        .ranked(1, "vs none", Quantity::Points(2), move |group| {
            let found = study.verdicts.get(group, "dev").and_then(PolicyVerdict::judged);
            let mean = || group.dev_gain.map(|gain| gain.mean);
            Some(group)
                .filter(|group| other(group))
                .and_then(|_| found.map(|f| f.difference.value).or_else(mean))
        })
        .ranked(1, "95 % interval", Quantity::Change(2), move |group| {
            study.verdicts.get(group, "dev").and_then(PolicyVerdict::judged).map(|found| found.interval)
        })
        .ranked(1, "verdict", Quantity::Text, |group| study.verdicts.get(group, "dev").and_then(verdict_word))
        .ranked(if test { 4 } else { 9 }, test_title.clone(), Quantity::Percent(2), |group| {
            group.test.as_ref().map(|test| test.score)
        })
        .ranked(5, "trainable", Quantity::Count, |group| group.plain_parameters().map(|p| p.trainable))
        .ranked(6, "frozen", Quantity::Percent(1), |group| group.plain_parameters().map(|p| p.saving))
        .ranked(3, "train", Quantity::Fine("s"), |group| group.times.as_ref().map(|times| times.train_s))
        .ranked(2, "time saved", Quantity::Percent(1), move |group| {
            Some(group).filter(|group| other(group)).map(|group| turns::saving(group, study.step_cost(group)))
        })
        .ranked(7, "samples", Quantity::Number(1, "/s"), |g| g.times.as_ref().map(|t| t.samples_per_s.mean))
        .ranked(8, "steps", Quantity::Number(2, "/s"), |g| g.times.as_ref().map(|t| t.steps_per_s.mean))
        .ranked(4, "seeds", Quantity::Count, |group| words::seeds(group));
    let table = columns.table(study.groups_of(lang));
    let below = baselines::of(study, lang);
    let nothing = |_: &&BaselineStats| Value::Missing;
    let names = ["trainable", "frozen", "train", "time saved", "samples", "steps", "seeds"];
    let lines =
        short_keys(study, |one: &&BaselineStats| one.title().into(), |one: &&BaselineStats| &one.extras)
            .column(dev, Quantity::Percent(2), |one| one.dev.as_ref().map(|dev| dev.score))
            .column("vs none", Quantity::Points(2), nothing)
            .column("95 % interval", Quantity::Change(2), nothing)
            .column("verdict", Quantity::Text, nothing)
            .column(test_title, Quantity::Percent(2), |one| one.test.as_ref().map(|test| test.score))
            .each(names, |name| (*name).into(), Quantity::Text, move |one, _| nothing(one));
    table.with_rows(lines.table(&below))
}

/// A verdict, where there is one.
fn verdict_word(row: &PolicyVerdict) -> Option<&'static str> {
    row.judged().map(|judged| judged.verdict.name())
}

/// The policy and further axes, as a terminal names them.
fn short_keys<'a, R: 'a>(
    study: &Study,
    policy: impl Fn(&R) -> String + 'a,
    extras: impl Fn(&R) -> &[String] + Clone + 'a,
) -> Columns<'a, R> {
    let axes = study.axes().into_iter().map(String::from).enumerate();
    Columns::default().column("frozen", Quantity::Text, policy).each(
        axes,
        |(_, axis)| axis.clone(),
        Quantity::Text,
        move |row, (at, _)| extras(row).get(*at).cloned(),
    )
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
    topics.iter().flat_map(|topic| topic.caveats(study)).for_each(|caveat| page.item(caveat));
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
        topics.iter().fold(own, |fields, topic| fields.and(topic.group_fields(study, group)))
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
    let whole = topics.iter().fold(whole, |fields, topic| fields.and(topic.fields(study)));
    let tables = topics.iter().flat_map(|topic| topic.tables(study));
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
