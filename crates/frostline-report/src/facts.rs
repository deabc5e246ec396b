//! The numbers of a policy or baseline, each declared once: its titles, its unit, its value, and the views that show it.
//! Every table with one row per policy is a view of this list, on a terminal, in Markdown, on the page and in LaTeX.
//!
//! # To add a number of a policy
//!
//! A line of `FACTS`, with the rank that it has in each view that shows it: columns of rank 0 are always there, others if
//! they have a value; a narrow terminal and a narrow page omit the highest first. Columns have the order of the list.

use crate::keys;
use crate::study::advice::SPLIT;
use crate::study::baselines::{BaselineScore, BaselineStats};
use crate::study::groups::{GroupTimes, ParameterCounts, SplitStats};
use crate::study::turns::{StepCost, saving};
use crate::study::verdicts::PolicyVerdict;
use crate::study::words::{self, SENTENCES, counted_units};
use crate::study::{BASELINE, CellGroup, Study, saved};
use crate::table::{PaperTable, Quantity, Table, TableColumns, TableValue};

use FactTable::{
    Costs, Paper, Predicted, Result, Sampling, Speed, Study as Whole, Terminal, Turns, Verdicts,
};
use Quantity::{
    Change, Count, Fine, HalfWidth, Measured, Number, Percent, Points, Probability, Share, Text, Truth,
};

use frostline_score::Judged;

/// A row of a view.
pub(crate) struct StudyRow<'a> {
    study: &'a Study,
    /// The split whose verdicts the view shows.
    split: &'static str,
    subject: Subject<'a>,
}

/// A policy, or what needs no training of the encoder.
enum Subject<'a> {
    Policy(&'a CellGroup),
    Baseline(&'a BaselineStats),
}

/// A table that shows facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactTable {
    /// A language on a terminal.
    Terminal,
    /// All languages, the first table of a report.
    Result,
    /// A language in `report.md`.
    Study,
    /// All languages in LaTeX.
    Paper,
    /// Margins of a language's accuracies.
    Sampling,
    /// Verdicts on a language and a split.
    Verdicts,
    /// What policies cost in time, of all languages.
    Speed,
    /// Steps that a language's policies took in turns.
    Turns,
    /// Predicted costs of a language, if no steps were taken in turns.
    Predicted,
    /// Costs of a step in LaTeX.
    Costs,
}

impl FactTable {
    const fn has_baselines(self) -> bool {
        matches!(self, Terminal | Result | Whole | Paper)
    }

    const fn is_for_latex(self) -> bool {
        matches!(self, Paper | Costs)
    }
}

/// A number of a row, or a word.
struct Fact {
    /// `{metric}` is what the headline is scored by, `{units}` what it counts, `{gpu}` if memory is measured.
    title: &'static str,
    /// The title on a terminal.
    short: &'static str,
    unit: Quantity,
    value: fn(&StudyRow<'_>) -> TableValue,
    /// The views that show it, with its rank in each.
    shown: &'static [(FactTable, u8)],
}

const fn fact(
    title: &'static str,
    short: &'static str,
    unit: Quantity,
    value: fn(&StudyRow<'_>) -> TableValue,
    shown: &'static [(FactTable, u8)],
) -> Fact {
    Fact { title, short, unit, value, shown }
}

/// What the row of `none` has in the place of a comparison with itself.
const BASELINE_WORD: &str = "baseline";

/// All facts, in the order of columns: title, title on a terminal, unit, value, views with ranks.
#[rustfmt::skip]
const FACTS: &[Fact] = &[
    fact("Dev {units}", "", Count, |row| row.group_dev(|dev| Some(dev.words)), &[(Sampling, 0)]),
    fact("95 % margin", "", HalfWidth(2), |row| row.group_dev(|dev| Some(dev.accuracy_interval?.half_width())), &[(Sampling, 0)]),
    fact("vs none", "", Points(2), unjudged_gain, &[(Sampling, 1)]),
    fact("Dev {metric}", "dev {metric}", Percent(2), |row| row.on("dev", |dev| dev.score, |dev| dev.score),
        &[(Terminal, 0), (Result, 0), (Whole, 0), (Paper, 0)]),
    fact("Its 95 % interval", "", Share(2), own_interval, &[(Result, 2)]),
    fact("Accuracy on dev", "", Percent(2), plain_accuracy, &[(Whole, 1)]),
    fact("Study's accuracy", "", Percent(2), study_accuracy, &[(Whole, 1)]),
    fact("vs none", "vs none", Points(2), judged_difference, &[(Terminal, 1), (Result, 1), (Verdicts, 0)]),
    fact("95 % interval", "95 % interval", Change(2), |row| row.judged(|judged| judged.interval),
        &[(Terminal, 1), (Result, 2), (Verdicts, 1)]),
    fact("Difference", "", Change(2), |row| row.judged(|judged| judged.difference.value), &[(Paper, 1)]),
    fact("Interval", "", Change(2), |row| row.judged(|judged| judged.interval), &[(Paper, 1)]),
    fact("p", "", Probability, |row| row.judged(|judged| judged.p), &[(Verdicts, 1)]),
    fact("Verdict", "verdict", Text, |row| row.judged(|judged| judged.verdict.name()), &[(Terminal, 1), (Paper, 1)]),
    fact("Verdict", "", Text, verdict_words, &[(Result, 1), (Verdicts, 1)]),
    fact("What would decide", "", Text, |row| row.verdict().and_then(|row| row.compared.would_decide()).into(), &[(Verdicts, 1)]),
    fact("Macro F1 vs none", "", Points(2), |row| row.macro_judged(|judged| judged.difference.value), &[(Verdicts, 1)]),
    fact("Its 95 % interval", "", Change(2), |row| row.macro_judged(|judged| judged.interval), &[(Verdicts, 1)]),
    fact("Its verdict", "", Text, |row| row.macro_f1().map(|row| row.compared.words()).into(), &[(Verdicts, 1)]),
    fact("Stochastic order", "", Number(2, ""), |row| row.verdict().and_then(|row| Some(row.stochastic_order?.bound)).into(),
        &[(Verdicts, 1)]),
    fact("Test {metric}", "test {metric}", Percent(2), |row| row.on("test", |test| test.score, |test| test.score),
        &[(Terminal, 4), (Result, 3), (Whole, 1), (Paper, 1)]),
    fact("Trainable parameters", "trainable", Count, |row| row.parameters(|found| found.trainable), &[(Terminal, 5), (Whole, 1)]),
    fact("Trainable", "", Percent(1), |row| row.parameters(|found| found.trainable_share), &[(Whole, 1), (Paper, 1)]),
    fact("Parameter saving", "frozen", Percent(1), |row| row.parameters(|found| found.saving), &[(Terminal, 6), (Whole, 1)]),
    fact("GFLOP per step", "", Measured(""), |row| row.steady(|group| predicted_work(group).into()), &[(Predicted, 0)]),
    fact("GFLOP per step", "", Measured(""), |row| row.unstaged(predicted_work).into(), &[(Costs, 1)]),
    fact("Training", "train", Fine("s"), |row| row.times(|times| times.train_s), &[(Terminal, 3), (Paper, 1)]),
    fact("Time saved", "time saved", Percent(1), |row| row.of(|group| saving(group, row.study.step_cost(group))),
        &[(Terminal, 2), (Result, 2), (Paper, 1), (Speed, 1), (Turns, 0), (Costs, 1)]),
    fact("Time saved, predicted", "", Percent(1), |row| row.of(|group| saved::predicted_shown(row.study, group)),
        &[(Result, 3), (Paper, 1), (Speed, 1), (Turns, 1), (Verdicts, 1), (Costs, 1)]),
    fact("Time saved, predicted", "", Percent(1), |row| row.steady(|group| saved::predicted_shown(row.study, group)), &[(Predicted, 0)]),
    fact("Pareto front", "", Truth, |row| row.of(|group| row.study.standing(group).and_then(|one| one.on_front).into()),
        &[(Result, 3), (Verdicts, 1)]),
    fact("Step in turns", "", Measured("ms"), |row| row.in_turns(|cost| Some(cost.step_ms)), &[(Speed, 1), (Turns, 0), (Costs, 1)]),
    fact("Processor time", "", Measured("ms"), |row| row.in_turns(|cost| cost.cpu_ms), &[(Speed, 1), (Turns, 1), (Costs, 1)]),
    fact("Training time", "", Measured("s"), |row| row.times(|times| times.train_s), &[(Whole, 0), (Speed, 1)]),
    fact("Samples", "", Measured("/s"), |row| row.times(|times| times.samples_per_s), &[(Whole, 0)]),
    fact("", "samples", Number(1, "/s"), |row| row.times(|times| times.samples_per_s.mean), &[(Terminal, 7)]),
    fact("Steps", "", Measured("/s"), |row| row.times(|times| times.steps_per_s), &[(Whole, 0)]),
    fact("", "steps", Number(2, "/s"), |row| row.times(|times| times.steps_per_s.mean), &[(Terminal, 8)]),
    fact("While busy", "", Text, |row| row.of(|group| group.busy_words().into()), &[(Whole, 1), (Speed, 1)]),
    fact("Peak{gpu} memory", "", Number(0, "MiB"), |row| row.in_turns(|cost| cost.peak_mib), &[(Speed, 1), (Turns, 1), (Costs, 1)]),
    fact("Memory saved", "", Number(0, "MiB"), |row| row.in_turns(|cost| cost.saved_mib.filter(|_| !row.is_none())),
        &[(Turns, 1), (Costs, 1)]),
    fact("Predicted step memory", "", Number(0, "MiB"), |row| row.unstaged(predicted_memory).into(), &[(Turns, 1), (Costs, 1)]),
    fact("Memory saved, predicted", "", Number(0, "MiB"), predicted_memory_saved, &[(Turns, 1), (Costs, 1)]),
    fact("Rounds", "", Count, |row| row.in_turns(|cost| Some(cost.rounds)), &[(Turns, 0), (Costs, 1)]),
    fact("Peak memory of the worker", "", Number(0, "MiB"), |row| peak_memory(row).into(), &[(Speed, 1)]),
    fact("Seeds", "seeds", Count, |row| row.of(|group| words::show_seeds(group).into()),
        &[(Terminal, 4), (Result, 3), (Whole, 0), (Paper, 1)]),
    fact("Seeds", "", Count, |row| row.verdict().map(|row| row.compared.seeds.len()).into(), &[(Verdicts, 1)]),
];

impl<'a> StudyRow<'a> {
    fn group(&self) -> Option<&'a CellGroup> {
        match self.subject {
            Subject::Policy(group) => Some(group),
            Subject::Baseline(_) => None,
        }
    }

    fn extras(&self) -> &[String] {
        match self.subject {
            Subject::Policy(group) => &group.extras,
            Subject::Baseline(one) => &one.extras,
        }
    }

    fn lang(&self) -> &str {
        match self.subject {
            Subject::Policy(group) => &group.lang,
            Subject::Baseline(one) => &one.lang,
        }
    }

    fn name(&self, view: FactTable) -> String {
        match self.subject {
            Subject::Policy(group) => group.names(),
            Subject::Baseline(one) if matches!(view, Terminal | Paper) => one.title().into(),
            Subject::Baseline(one) => format!("*{}*", one.title()),
        }
    }

    /// Whether it is the policy that freezes nothing.
    fn is_none(&self) -> bool {
        self.group().is_some_and(|group| group.policy == BASELINE)
    }

    /// The name of its numbers in LaTeX: the language, and the policy with the values of further axes.
    fn latex_name(&self) -> [String; 2] {
        let first = match self.subject {
            Subject::Policy(group) => &group.policy,
            Subject::Baseline(one) => &one.baseline,
        };
        [self.lang().into(), keys::path(first, self.extras())]
    }

    /// A score on a split.
    fn on<V: Into<TableValue>, B: Into<TableValue>>(
        &self,
        split: &str,
        of_policy: fn(&SplitStats) -> V,
        of_baseline: fn(&BaselineScore) -> B,
    ) -> TableValue {
        match self.subject {
            Subject::Policy(group) => group.on(split).map(of_policy).into(),
            Subject::Baseline(one) => one.on(split).map(of_baseline).into(),
        }
    }

    fn group_dev<V: Into<TableValue>>(&self, get: fn(&SplitStats) -> Option<V>) -> TableValue {
        self.of(|group| group.dev.as_ref().and_then(get).into())
    }

    fn verdict(&self) -> Option<&'a PolicyVerdict> {
        self.study.verdicts.get(self.group()?, self.split)
    }

    fn judged<V: Into<TableValue>>(&self, get: fn(&Judged) -> V) -> TableValue {
        self.verdict().and_then(PolicyVerdict::judged).map(get).into()
    }

    fn macro_f1(&self) -> Option<&'a PolicyVerdict> {
        self.study.verdicts.macro_f1(self.group()?, self.split)
    }

    fn macro_judged<V: Into<TableValue>>(&self, get: fn(&Judged) -> V) -> TableValue {
        self.macro_f1().and_then(PolicyVerdict::judged).map(get).into()
    }

    /// A value that policies alone have.
    fn of(&self, get: impl FnOnce(&'a CellGroup) -> TableValue) -> TableValue {
        self.group().map_or(TableValue::Missing, get)
    }

    /// A value of a step, if all steps of its cells are alike.
    fn steady(&self, get: impl FnOnce(&'a CellGroup) -> TableValue) -> TableValue {
        self.of(|group| if self.study.has_steady_steps(group) { get(group) } else { TableValue::Missing })
    }

    /// A value of cells with one stage.
    fn unstaged<V>(&self, get: impl FnOnce(&'a CellGroup) -> Option<V>) -> Option<V> {
        self.group().filter(|group| !group.is_staged()).and_then(get)
    }

    fn parameters<V: Into<TableValue>>(&self, get: fn(&ParameterCounts) -> V) -> TableValue {
        self.of(|group| group.plain_parameters().map(get).into())
    }

    fn times<V: Into<TableValue>>(&self, get: fn(&GroupTimes) -> V) -> TableValue {
        self.of(|group| group.times.as_ref().map(get).into())
    }

    fn in_turns<V: Into<TableValue>>(&self, get: impl FnOnce(&StepCost) -> Option<V>) -> TableValue {
        self.of(|group| self.study.step_cost(group).and_then(get).into())
    }
}

/// The interval of the accuracy alone, if no policy has one of its difference.
fn own_interval(row: &StudyRow<'_>) -> TableValue {
    match is_judged(row.study) {
        true => TableValue::Missing,
        false => row.on(
            "dev",
            |dev| TableValue::from(dev.accuracy_interval),
            |dev| TableValue::from(dev.accuracy_interval),
        ),
    }
}

/// The accuracy, if the score is another.
fn plain_accuracy(row: &StudyRow<'_>) -> TableValue {
    match row.study.metric() {
        "accuracy" => TableValue::Missing,
        _ => row.on("dev", |dev| dev.accuracy, |dev| dev.accuracy),
    }
}

/// The accuracy as the original study counts, which labels words.
fn study_accuracy(row: &StudyRow<'_>) -> TableValue {
    match counted_units(row.study) == SENTENCES {
        true => TableValue::Missing,
        false => row.on("dev", |dev| dev.study_accuracy, |dev| dev.study_accuracy),
    }
}

/// The verdict, or why there is none.
fn verdict_words(row: &StudyRow<'_>) -> TableValue {
    row.verdict().filter(|_| is_judged_on(row.study, row.split)).map(|found| found.compared.words()).into()
}

/// The difference from `none`: the judged one, or the mean over seeds if no policy is judged.
fn judged_difference(row: &StudyRow<'_>) -> TableValue {
    let Some(group) = row.group() else { return TableValue::Missing };
    if row.is_none() {
        let is_other = |other: &CellGroup| other.policy != BASELINE && other.dev_gain.is_some();
        return if row.study.groups.iter().any(is_other) {
            BASELINE_WORD.into()
        } else {
            TableValue::Missing
        };
    }
    match is_judged_on(row.study, row.split) {
        true => row.judged(|judged| judged.difference.value),
        false => group.dev_gain.into(),
    }
}

/// The gain over `none`, if no policy of the language has a verdict.
fn unjudged_gain(row: &StudyRow<'_>) -> TableValue {
    let is_judged = row.study.verdicts.of_lang(row.lang(), SPLIT).any(|row| row.judged().is_some());
    row.of(|group| group.dev_gain.filter(|_| !is_judged && !row.is_none()).into())
}

fn predicted_work(group: &CellGroup) -> Option<f64> {
    Some(group.forecast.as_ref()?.gflop_per_step.mean)
}

fn predicted_memory(group: &CellGroup) -> Option<f64> {
    group.forecast.as_ref()?.memory_mib()
}

/// The predicted memory of `none` minus the policy's own.
fn predicted_memory_saved(row: &StudyRow<'_>) -> TableValue {
    let saved = |group: &CellGroup| {
        let none = row.study.none_of(group).filter(|none| none.policy != group.policy)?;
        Some(predicted_memory(none)? - predicted_memory(group)?)
    };
    row.unstaged(saved).into()
}

/// The peak of a worker's memory, unless its steps are on a GPU.
fn peak_memory(row: &StudyRow<'_>) -> Option<f64> {
    let group = row.group()?;
    let on_gpu = group.times_by.iter().any(|(hardware, _)| hardware.on_gpu());
    Some(group.times.as_ref()?.peak_rss_mib_max).filter(|&peak| peak > 0.0 && !on_gpu)
}

/// Whether any policy has a verdict; if none has, the first sentences of a report explain why.
pub(crate) fn is_judged(study: &Study) -> bool {
    is_judged_on(study, SPLIT)
}

fn is_judged_on(study: &Study, split: &str) -> bool {
    study.verdicts.rows.iter().any(|row| row.split == split && row.judged().is_some())
}

/// The table of a view, of one language or of all.
pub(crate) fn table(study: &Study, view: FactTable, lang: Option<&str>) -> Table {
    named_table(study, view, lang, SPLIT).0
}

/// The verdicts of a language on a split.
pub(crate) fn verdicts_table(study: &Study, lang: &str, split: &'static str) -> Table {
    named_table(study, Verdicts, Some(lang), split).0
}

/// The table of a view with the names of its rows in LaTeX. `split` is the one whose verdicts it shows.
fn named_table(
    study: &Study,
    view: FactTable,
    lang: Option<&str>,
    split: &'static str,
) -> (Table, Vec<[String; 2]>) {
    let langs = study.langs().into_iter().filter(|one| lang.is_none_or(|lang| lang == *one));
    let below: Vec<(&str, Vec<BaselineStats>)> = langs
        .map(|lang| (lang, if view.has_baselines() { study.baselines(lang) } else { Vec::new() }))
        .collect();
    let subjects = below.iter().flat_map(|(lang, below)| {
        study.groups_of(lang).map(Subject::Policy).chain(below.iter().map(Subject::Baseline))
    });
    let rows: Vec<StudyRow<'_>> = subjects.map(|subject| StudyRow { study, split, subject }).collect();
    let has_lang = view.is_for_latex() || lang.is_none() && study.langs().len() > 1;
    let (language, frozen) = if view == Terminal { ("", "frozen") } else { ("Language", "Frozen") };
    let columns = TableColumns::default()
        .column_if(has_lang, language, Text, |row: &StudyRow<'_>| row.lang().to_string())
        .column(frozen, Text, move |row| row.name(view))
        .and(keys::axis_columns(study, |row: &StudyRow<'_>| row.extras()));
    let rank = |fact: &Fact| fact.shown.iter().find(|(other, _)| *other == view).map(|(_, rank)| *rank);
    let title =
        |fact: &Fact| title(study, view, &rows, if view == Terminal { fact.short } else { fact.title });
    let shown = FACTS.iter().filter_map(|fact| Some((fact, rank(fact)?)));
    let columns = shown.fold(columns, |columns, (fact, rank)| {
        columns.ranked(rank, title(fact), fact.unit, move |row| (fact.value)(row))
    });
    let names = rows.iter().map(StudyRow::latex_name).collect();
    let mut table = columns.table(rows);
    if view == Terminal || view.is_for_latex() {
        // `none` is no number of its own there.
        let is_word =
            |value: &&mut TableValue| matches!(value, TableValue::Text(text) if text == BASELINE_WORD);
        table.rows.iter_mut().flatten().filter(is_word).for_each(|value| *value = TableValue::Missing);
    }
    if view == Terminal {
        // A terminal shows no marks.
        table.heads.iter_mut().for_each(|head| head.name = head.name.replace('`', ""));
    }
    (table, names)
}

/// The table of a view for LaTeX.
pub(crate) fn paper_table(study: &Study, view: FactTable, name: &str, caption: String) -> PaperTable {
    let (table, names) = named_table(study, view, None, SPLIT);
    PaperTable {
        grouped: true,
        ..PaperTable::new(name, caption, table).named(names, 2 + study.axes().len(), "")
    }
}

/// A column's title in a view.
fn title(study: &Study, view: FactTable, rows: &[StudyRow<'_>], title: &str) -> String {
    let metric = match (view, study.metric()) {
        (Terminal, "accuracy") => "acc.",
        (Terminal, _) => "F1",
        (_, metric) => metric,
    };
    let on_gpu = |row: &StudyRow<'_>| {
        row.group().and_then(|group| study.step_cost(group)).is_some_and(|cost| cost.on_gpu)
    };
    let gpu = if !view.is_for_latex() && rows.iter().any(on_gpu) { " GPU" } else { "" };
    title.replace("{metric}", metric).replace("{units}", counted_units(study).many).replace("{gpu}", gpu)
}
