//! What makes the rest of a report worthless, found once before anything is compared. A finding has a sentence with
//! numbers, whether it forbids a recommendation, and what to do next.
//!
//! `data` finds what is wrong with sentences and labels, also before anything is trained; `scores` finds what is wrong with
//! what was reached, `training` with how it was trained, `rates` with the learning rates. A new kind is a variant of [`FindingKind`] and a function in one of them.
//! `options` has what to run next, `lines` turns findings into text for every output.
//!
//! # To add a finding that limits a report
//!
//! A `FindingKind` and a function in `crates/frostline-report/src/study/sanity/`, which states what is wrong, whether it
//! forbids a recommendation (`Study::advice` obeys) and what to run next; a row in `docs/reports.md#check-first`. A
//! finding about data belongs in `data.rs`, from where `frostline check` has it too.

mod data;
mod lines;
mod options;
mod rates;
mod scores;
mod training;

use std::collections::BTreeMap;

use frostline_record::{Plan, RateSearch, Settings, TaskFacts};
use serde::{Serialize, Serializer};

use crate::study::baselines::ANY;
use crate::study::cells::{CellView, distinct};
use crate::study::groups::CellGroup;

pub(crate) use lines::{FindingLine, PlaceNames, finding_lines, summarise_findings};

/// Something that a reader has to know before any comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    pub kind: FindingKind,
    pub severity: Severity,
    /// The languages that it concerns.
    pub langs: Vec<String>,
    /// Values of the further axes that it concerns, in their order, `any` for all of an axis; empty for all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<String>,
    /// What is wrong, and how much of it. The place is not in it.
    #[serde(serialize_with = "plain")]
    pub sentence: String,
    /// What to do next, and what is known for it.
    #[serde(serialize_with = "plain")]
    pub advice: String,
    /// The option with which the same command is to be run next, if one helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Findings of one kind are shown in falling order of weight.
    #[serde(skip)]
    pub weight: f64,
}

/// What was found, in the order in which a report lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FindingKind {
    /// The answer rests on so few seeds that little can be decided.
    FewSeeds,
    /// Every policy is below a baseline that needs no training.
    AllBelowBaseline,
    /// Some policies are below the most frequent tag.
    BelowBaseline,
    /// A policy predicts one label, or scores exactly what the most frequent tag does.
    NothingLearned,
    /// The treebank comes without its text.
    NoText,
    /// Most sentences have no label.
    MissingLabels,
    /// Sentences of dev or test that are also in train, or of test that are also in dev.
    Leakage,
    /// Labels of dev or test that train lacks.
    UnknownLabels,
    /// Words behind the longest sentence that the settings allow.
    CutOff,
    /// The best learning rate is the lowest or highest that was tried.
    RateAtEdge,
    /// Scores still rise at the last epoch.
    StillImproving,
    /// Cells failed or are missing.
    Undone,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// Comparisons are worthless wherever it holds.
    ForbidsRecommendation,
    /// Comparisons are to be read with it in mind.
    Caution,
}

impl Severity {
    /// Returns the severity of a share; from `forbids_from` on, comparisons are worthless.
    fn of_share(share: f64, forbids_from: f64) -> Self {
        if share >= forbids_from { Self::ForbidsRecommendation } else { Self::Caution }
    }
}

impl Finding {
    /// A finding without its places and sentences.
    const fn new(kind: FindingKind, severity: Severity, weight: f64) -> Self {
        Self {
            kind,
            severity,
            langs: Vec::new(),
            extras: Vec::new(),
            sentence: String::new(),
            advice: String::new(),
            command: None,
            weight,
        }
    }

    /// Whether nothing can be recommended if it holds.
    pub fn forbids(&self) -> bool {
        self.severity == Severity::ForbidsRecommendation
    }

    /// Whether it concerns a language with these values of the further axes.
    fn concerns(&self, lang: &str, extras: &[String]) -> bool {
        let same = |(own, other): (&String, &String)| own == other || own == ANY;
        self.langs.iter().any(|own| own == lang) && self.extras.iter().zip(extras).all(same)
    }
}

/// The first finding that forbids a recommendation for any of these languages with these values of the further axes.
pub(crate) fn first_forbidding<'a>(
    findings: &'a [Finding],
    langs: &[impl AsRef<str>],
    extras: &[String],
) -> Option<&'a Finding> {
    let concerned = |finding: &&Finding| langs.iter().any(|lang| finding.concerns(lang.as_ref(), extras));
    findings.iter().filter(|finding| finding.forbids()).find(concerned)
}

/// What findings are looked for in.
pub(crate) struct Examined<'a> {
    pub plan: &'a Plan,
    /// In the plan's order.
    pub cells: &'a [CellView],
    pub groups: &'a [CellGroup],
    /// The search for learning rates, if there was one.
    pub rates: Option<&'a RateSearch>,
}

impl<'a> Examined<'a> {
    fn langs(&self) -> Vec<&'a str> {
        distinct(self.groups.iter().map(|group| group.lang.as_str()))
    }

    fn groups_of<'b>(&self, lang: &'b str) -> impl Iterator<Item = &'a CellGroup> + use<'a, 'b> {
        self.groups.iter().filter(move |group| group.lang == lang)
    }

    fn members(&self, group: &'a CellGroup) -> impl Iterator<Item = &'a CellView> {
        self.cells.iter().filter(move |view| group.holds(view))
    }
}

/// The findings of a study, the worst first, then by kind.
pub(crate) fn find_problems(study: &Examined<'_>) -> Vec<Finding> {
    let mut all = training::few_seeds(study);
    all.extend(rates::found_at_edge(study));
    for lang in study.langs() {
        all.extend(scores::find_problems(study, lang));
        all.extend(of_data(study, lang));
        all.extend(rates::axis_at_edge(study, lang));
        all.extend(training::find_problems(study, lang));
    }
    all.sort_by(|a, b| (a.severity, a.kind).cmp(&(b.severity, b.kind)).then(b.weight.total_cmp(&a.weight)));
    all
}

/// What is wrong with the data of a language, once if all values of the further axes have the same data.
fn of_data(study: &Examined<'_>, lang: &str) -> Vec<Finding> {
    let found = |extras: &[String]| -> Option<Vec<Finding>> {
        let is_here = |view: &&CellView| view.cell.settings.lang == lang && view.extras == extras;
        let mut here = study.cells.iter().filter(is_here);
        here.find_map(|view| {
            let result = &view.done()?.result;
            let longest = result.encoder.as_ref().map(|encoder| encoder.longest_input);
            Some(data::find_problems(&view.cell.settings, &result.tasks, longest))
        })
    };
    let extras = distinct(study.groups.iter().map(|group| group.extras.as_slice()));
    let each: Vec<(&[String], Vec<Finding>)> =
        extras.into_iter().filter_map(|extras| Some((extras, found(extras)?))).collect();
    let Some((_, first)) = each.first() else { return Vec::new() };
    let at = |finding: &Finding, extras: &[String]| Finding {
        langs: vec![lang.into()],
        extras: extras.to_vec(),
        ..finding.clone()
    };
    if each.iter().all(|(_, found)| found == first) {
        return first.iter().map(|finding| at(finding, &[])).collect();
    }
    each.iter().flat_map(|(extras, found)| found.iter().map(|finding| at(finding, extras))).collect()
}

/// What is wrong with the data that cells would learn from, a line per finding: each kind of data once, by the first cell that
/// has it. Needs no training.
#[must_use]
pub fn data_warnings<'a>(
    cells: impl IntoIterator<Item = (&'a Settings, &'a BTreeMap<String, TaskFacts>)>,
) -> Vec<String> {
    let mut all: Vec<Finding> = Vec::new();
    for (settings, tasks) in cells {
        for finding in data::find_problems(settings, tasks, None) {
            let finding = Finding { langs: vec![settings.lang.to_string()], ..finding };
            if !all.contains(&finding) {
                all.push(finding);
            }
        }
    }
    all.sort_by_key(|finding| (finding.severity, finding.kind));
    let rest = "`--data-report` describes all data.";
    lines::group_findings(&all, rest, |finding| finding.langs.join(", "))
        .iter()
        .map(FindingLine::for_terminal)
        .collect()
}

/// Text without the inline marks of Markdown, for programs.
fn plain<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&lines::without_marks(text))
}

#[cfg(test)]
mod tests;
