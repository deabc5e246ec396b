//! The numbers of a policy or baseline, each declared once: its titles, its unit, its value, and the views that show it.
//! The terminal's table, the tables of `report.md` and `index.html` and that of LaTeX are views of this list.
//!
//! # To add a number of a policy
//!
//! A line of `FACTS`, with the rank that it has in each view that shows it: columns of rank 0 are always there, others if
//! they have a value; a narrow terminal and a narrow page omit the highest first. Columns have the order of the list.

use crate::keys;
use crate::study::advice::SPLIT;
use crate::study::baselines::{self, BaselineScore, BaselineStats};
use crate::study::groups::{ParameterCounts, SplitStats, Times};
use crate::study::turns::{StepCost, saving};
use crate::study::words::{self, SENTENCES, units};
use crate::study::{BASELINE, Group, Study, saved};
use crate::table::{Columns, Quantity, Table, Value};

use Quantity::{Change, Count, Fine, Measured, Number, Percent, Points, Share, Text};
use View::{Page, Paper, Result, Speed, Study as Whole, Terminal};

use frostline_score::Judged;

/// A row: a policy, or what needs no training of the encoder.
pub(crate) enum StudyRow<'a> {
    Policy(&'a Group),
    Baseline(&'a BaselineStats),
}

/// A table that shows facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// A language on a terminal.
    Terminal,
    /// All languages, first in `report.md`.
    Result,
    /// All languages, first in `index.html`.
    Page,
    /// A language in `report.md`.
    Study,
    /// All languages in LaTeX.
    Paper,
    /// What policies cost in time, of all languages.
    Speed,
}

/// A number of a row, or a word.
struct Fact {
    /// `{}` is what the headline is scored by.
    title: &'static str,
    /// The title on a terminal.
    short: &'static str,
    unit: Quantity,
    value: fn(&Study, &StudyRow<'_>) -> Value,
    /// The views that show it, with its rank in each.
    shown: &'static [(View, u8)],
}

const fn fact(
    title: &'static str,
    short: &'static str,
    unit: Quantity,
    value: fn(&Study, &StudyRow<'_>) -> Value,
    shown: &'static [(View, u8)],
) -> Fact {
    Fact { title, short, unit, value, shown }
}

/// What the row of `none` has in the place of a comparison with itself.
const BASELINE_WORD: &str = "baseline";

/// All facts, in the order of columns: title, title on a terminal, unit, value, views with ranks.
#[rustfmt::skip]
const FACTS: &[Fact] = &[
    fact("Dev {}", "dev {}", Percent(2), |_, row| row.dev(|dev| dev.score, |dev| dev.score),
        &[(Terminal, 0), (Result, 0), (Page, 0), (Whole, 0), (Paper, 0)]),
    fact("Its 95 % interval", "", Share(2), own_interval, &[(Result, 2), (Page, 2)]),
    fact("Accuracy on dev", "", Percent(2), plain_accuracy, &[(Whole, 1)]),
    fact("Study's accuracy", "", Percent(2), study_accuracy, &[(Whole, 1)]),
    fact("vs none", "vs none", Points(2), difference, &[(Terminal, 1), (Result, 1), (Page, 1)]),
    fact("95 % interval", "95 % interval", Change(2), |study, row| row.judged(study).map(|judged| judged.interval).into(),
        &[(Terminal, 1), (Result, 2), (Page, 2)]),
    fact("Difference", "", Change(2), |study, row| row.judged(study).map(|judged| judged.difference.value).into(),
        &[(Paper, 1)]),
    fact("Interval", "", Change(2), |study, row| row.judged(study).map(|judged| judged.interval).into(), &[(Paper, 1)]),
    fact("Verdict", "verdict", Text, |study, row| row.judged(study).map(|judged| judged.verdict.name()).into(),
        &[(Terminal, 1), (Whole, 1), (Paper, 1)]),
    fact("Verdict", "", Text, verdict_words, &[(Result, 1), (Page, 1)]),
    fact("Test {}", "test {}", Percent(2), |_, row| row.test(|test| test.score, |test| test.score),
        &[(Terminal, 4), (Page, 3), (Whole, 1), (Paper, 1)]),
    fact("Trainable parameters", "trainable", Count, |_, row| row.parameters(|found| found.trainable),
        &[(Terminal, 5), (Whole, 1)]),
    fact("Trainable", "", Percent(1), |_, row| row.parameters(|found| found.trainable_share),
        &[(Page, 3), (Whole, 1), (Paper, 1)]),
    fact("Parameter saving", "frozen", Percent(1), |_, row| row.parameters(|found| found.saving),
        &[(Terminal, 6), (Whole, 1)]),
    fact("Training", "train", Fine("s"), |_, row| row.times(|times| times.train_s), &[(Terminal, 3), (Paper, 1)]),
    fact("Time saved", "time saved", Percent(1), |study, row| row.of(|group| saving(group, study.step_cost(group))),
        &[(Terminal, 2), (Result, 2), (Page, 2), (Whole, 1), (Paper, 1), (Speed, 1)]),
    fact("Time saved, predicted", "", Percent(1), |study, row| row.of(|group| saved::predicted_shown(study, group)),
        &[(Result, 3), (Page, 3), (Paper, 1), (Speed, 1)]),
    fact("Median step, in turns", "", Measured("ms"), |study, row| row.in_turns(study, |cost| Some(cost.step_ms)),
        &[(Speed, 1)]),
    fact("Median processor time, in turns", "", Measured("ms"), |study, row| row.in_turns(study, |cost| cost.cpu_ms),
        &[(Speed, 1)]),
    fact("Training time", "", Measured("s"), |_, row| row.times(|times| times.train_s), &[(Whole, 0), (Speed, 1)]),
    fact("Whole cell", "", Measured("s"), |_, row| row.times(|times| times.total_s), &[(Speed, 1)]),
    fact("Samples", "", Measured("/s"), |_, row| row.times(|times| times.samples_per_s), &[(Whole, 0)]),
    fact("", "samples", Number(1, "/s"), |_, row| row.times(|times| times.samples_per_s.mean), &[(Terminal, 7)]),
    fact("Steps", "", Measured("/s"), |_, row| row.times(|times| times.steps_per_s), &[(Whole, 0)]),
    fact("", "steps", Number(2, "/s"), |_, row| row.times(|times| times.steps_per_s.mean), &[(Terminal, 8)]),
    fact("While busy", "", Text, |_, row| row.of(|group| group.busy_words().into()), &[(Whole, 1), (Speed, 1)]),
    fact("Peak memory, in turns", "", Number(0, "MiB"), |study, row| row.in_turns(study, |cost| cost.peak_mib),
        &[(Speed, 1)]),
    fact("Peak memory of the worker", "", Number(0, "MiB"), |_, row| peak(row).into(), &[(Speed, 1)]),
    fact("Pareto front", "", Text, |study, row| row.of(|group| study.standing(group).and_then(|one| one.on_front).into()),
        &[(Page, 3)]),
    fact("Seeds", "seeds", Count, |_, row| row.of(|group| words::seeds(group).into()),
        &[(Terminal, 4), (Result, 3), (Page, 3), (Whole, 0), (Paper, 1)]),
];

impl<'a> StudyRow<'a> {
    /// The group of a policy's row.
    pub const fn group(&self) -> Option<&'a Group> {
        match self {
            Self::Policy(group) => Some(group),
            Self::Baseline(_) => None,
        }
    }

    /// The values of further axes.
    pub fn extras(&self) -> &[String] {
        match self {
            Self::Policy(group) => &group.extras,
            Self::Baseline(one) => &one.extras,
        }
    }

    pub fn lang(&self) -> &str {
        match self {
            Self::Policy(group) => &group.lang,
            Self::Baseline(one) => &one.lang,
        }
    }

    fn name(&self, view: View) -> String {
        match self {
            Self::Policy(group) => group.names(),
            Self::Baseline(one) if matches!(view, Terminal | Paper) => one.title().into(),
            Self::Baseline(one) => format!("*{}*", one.title()),
        }
    }

    fn dev<V: Into<Value>, B: Into<Value>>(
        &self,
        of_policy: fn(&SplitStats) -> V,
        of_baseline: fn(&BaselineScore) -> B,
    ) -> Value {
        match self {
            Self::Policy(group) => group.dev.as_ref().map(of_policy).into(),
            Self::Baseline(one) => one.dev.as_ref().map(of_baseline).into(),
        }
    }

    fn test<V: Into<Value>, B: Into<Value>>(
        &self,
        of_policy: fn(&SplitStats) -> V,
        of_baseline: fn(&BaselineScore) -> B,
    ) -> Value {
        match self {
            Self::Policy(group) => group.test.as_ref().map(of_policy).into(),
            Self::Baseline(one) => one.test.as_ref().map(of_baseline).into(),
        }
    }

    fn judged<'s>(&self, study: &'s Study) -> Option<&'s Judged> {
        study.verdicts.get(self.group()?, SPLIT)?.judged()
    }

    /// A value that policies alone have.
    fn of(&self, get: impl FnOnce(&'a Group) -> Value) -> Value {
        self.group().map_or(Value::Missing, get)
    }

    fn parameters<V: Into<Value>>(&self, get: fn(&ParameterCounts) -> V) -> Value {
        self.of(|group| group.plain_parameters().map(get).into())
    }

    fn times<V: Into<Value>>(&self, get: fn(&Times) -> V) -> Value {
        self.of(|group| group.times.as_ref().map(get).into())
    }

    fn in_turns(&self, study: &Study, get: fn(&StepCost) -> Option<f64>) -> Value {
        self.of(|group| study.step_cost(group).and_then(get).into())
    }
}

/// The interval of the accuracy alone, if no policy has one of its difference.
fn own_interval(study: &Study, row: &StudyRow<'_>) -> Value {
    match is_judged(study) {
        true => Value::Missing,
        false => row.dev(|dev| Value::from(dev.accuracy_interval), |dev| Value::from(dev.accuracy_interval)),
    }
}

/// The accuracy, if the score is another.
fn plain_accuracy(study: &Study, row: &StudyRow<'_>) -> Value {
    match study.metric() {
        "accuracy" => Value::Missing,
        _ => row.dev(|dev| dev.accuracy, |dev| dev.accuracy),
    }
}

/// The accuracy as the original study counts, which labels words.
fn study_accuracy(study: &Study, row: &StudyRow<'_>) -> Value {
    match units(study) == SENTENCES {
        true => Value::Missing,
        false => row.dev(|dev| dev.study_accuracy, |dev| dev.study_accuracy),
    }
}

/// The verdict, or why there is none.
fn verdict_words(study: &Study, row: &StudyRow<'_>) -> Value {
    let found = row.group().and_then(|group| study.verdicts.get(group, SPLIT));
    found.filter(|_| is_judged(study)).map(|found| found.compared.words()).into()
}

/// The difference from `none`: the judged one, or the mean over seeds if no policy is judged.
fn difference(study: &Study, row: &StudyRow<'_>) -> Value {
    let Some(group) = row.group() else { return Value::Missing };
    if group.policy == BASELINE {
        let is_other = |other: &Group| other.policy != BASELINE && other.dev_gain.is_some();
        return if study.groups.iter().any(is_other) { BASELINE_WORD.into() } else { Value::Missing };
    }
    match is_judged(study) {
        true => row.judged(study).map(|judged| judged.difference.value).into(),
        false => group.dev_gain.into(),
    }
}

/// The peak of a worker's memory, unless its steps are on a GPU.
fn peak(row: &StudyRow<'_>) -> Option<f64> {
    let group = row.group()?;
    let on_gpu = group.times_by.iter().any(|(hardware, _)| hardware.on_gpu());
    Some(group.times.as_ref()?.peak_rss_mib_max).filter(|&peak| peak > 0.0 && !on_gpu)
}

/// Whether any policy has a verdict; if none has, the first sentences of a report say why.
pub(crate) fn is_judged(study: &Study) -> bool {
    study.verdicts.rows.iter().any(|row| row.split == SPLIT && row.judged().is_some())
}

/// The languages of a table with their baselines: one language, or all.
pub(crate) fn baselines_below<'a>(
    study: &'a Study,
    lang: Option<&str>,
) -> Vec<(&'a str, Vec<BaselineStats>)> {
    let langs = study.langs().into_iter().filter(|one| lang.is_none_or(|lang| lang == *one));
    langs.map(|lang| (lang, baselines::of(study, lang))).collect()
}

/// The rows of these languages: policies, then baselines.
pub(crate) fn rows<'a>(study: &'a Study, below: &'a [(&str, Vec<BaselineStats>)]) -> Vec<StudyRow<'a>> {
    let of_lang = |(lang, below): &'a (&str, Vec<BaselineStats>)| {
        study.groups_of(lang).map(StudyRow::Policy).chain(below.iter().map(StudyRow::Baseline))
    };
    below.iter().flat_map(of_lang).collect()
}

/// The table of a view, of one language or of all.
pub(crate) fn table(study: &Study, view: View, lang: Option<&str>) -> Table {
    let below = baselines_below(study, lang);
    let has_lang = view == Paper || lang.is_none() && study.langs().len() > 1;
    let (language, frozen) = if view == Terminal { ("", "frozen") } else { ("Language", "Frozen") };
    let columns = Columns::default()
        .column_if(has_lang, language, Text, |row: &StudyRow<'_>| row.lang().to_string())
        .column(frozen, Text, move |row| row.name(view))
        .and(keys::axes(study, |row: &StudyRow<'_>| row.extras()));
    let rank = |fact: &Fact| fact.shown.iter().find(|(other, _)| *other == view).map(|(_, rank)| *rank);
    let metric = match (view, study.metric()) {
        (Terminal, "accuracy") => "acc.",
        (Terminal, _) => "F1",
        (_, metric) => metric,
    };
    let columns =
        FACTS.iter().filter_map(|fact| Some((fact, rank(fact)?))).fold(columns, |columns, (fact, rank)| {
            let title = if view == Terminal { fact.short } else { fact.title };
            columns.ranked(rank, title.replace("{}", metric), fact.unit, move |row| (fact.value)(study, row))
        });
    let rows = rows(study, &below).into_iter().filter(|row| view != Speed || row.group().is_some());
    let mut table = columns.table(rows);
    if matches!(view, Terminal | Paper) {
        // `none` is no number of its own there.
        let is_word = |value: &Value| matches!(value, Value::Text(text) if text == BASELINE_WORD);
        table
            .rows
            .iter_mut()
            .flatten()
            .filter(|value| is_word(value))
            .for_each(|value| *value = Value::Missing);
    }
    if view == Terminal {
        // A terminal shows no marks.
        table.heads.iter_mut().for_each(|head| head.name = head.name.replace('`', ""));
    }
    table
}
