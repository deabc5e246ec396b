//! Findings as text. Of many findings of one kind the first are shown, and the places of the others are named.

use crate::number::{listed, plural};
use crate::study::baselines::ANY;
use crate::study::cells::distinct;
use crate::study::sanity::Finding;

/// The most findings of one kind that are shown whole.
const SHOWN: usize = 3;

/// A finding as the outputs show it. Text may carry the inline marks of Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FindingLine {
    place: String,
    forbids: bool,
    sentence: String,
    next: String,
}

/// What the places of a study are called.
pub(crate) struct PlaceNames<'a> {
    /// All languages.
    pub langs: &'a [&'a str],
    /// Dotted paths of the further axes.
    pub axes: &'a [&'a str],
}

/// The findings as lines.
pub(crate) fn finding_lines(findings: &[Finding], places: &PlaceNames<'_>) -> Vec<FindingLine> {
    group_findings(findings, "`sanity` in `report.json` lists all of it.", |finding| places.name(finding))
}

/// What the findings mean for the rest; nothing if there is none.
pub(crate) fn summarise_findings(findings: &[Finding], places: &PlaceNames<'_>) -> Option<String> {
    if findings.is_empty() {
        return None;
    }
    let forbidding = findings.iter().filter(|finding| finding.forbids());
    let names = distinct(forbidding.map(|finding| places.name(finding)));
    Some(if names.is_empty() {
        "Read this before any comparison: it limits what the numbers mean.".into()
    } else if names.iter().any(String::is_empty) {
        "**Nothing is recommended**: what is marked *no recommendation* makes every comparison worthless."
            .into()
    } else {
        let names = listed(&names);
        format!(
            "**Nothing is recommended for {names}**: what is marked *no recommendation* makes comparisons there worthless."
        )
    })
}

/// The findings with the names of their places, at most some of each kind; `rest` names where the others are.
pub(super) fn group_findings(
    findings: &[Finding],
    rest: &str,
    place: impl Fn(&Finding) -> String,
) -> Vec<FindingLine> {
    let mut lines = Vec::new();
    let alike = |a: &Finding, b: &Finding| (a.severity, a.kind) == (b.severity, b.kind);
    for kind in findings.chunk_by(alike) {
        let shown = if kind.len() > SHOWN + 1 { SHOWN } else { kind.len() };
        lines.extend(kind[..shown].iter().map(|finding| FindingLine::of(finding, place(finding))));
        let left = distinct(kind[shown..].iter().map(&place));
        if !left.is_empty() {
            lines.push(FindingLine {
                place: listed(&left),
                forbids: kind[0].forbids(),
                sentence: format!("the same was found in {}.", plural(left.len(), "more place")),
                next: rest.into(),
            });
        }
    }
    lines
}

impl PlaceNames<'_> {
    /// The places of a finding; empty for all of a study.
    fn name(&self, finding: &Finding) -> String {
        let everywhere = self.langs.iter().all(|lang| finding.langs.iter().any(|own| own == lang));
        let lang = (!everywhere || self.langs.len() == 1).then(|| listed(&finding.langs));
        let axes = self.axes.iter().zip(&finding.extras).filter(|(_, value)| *value != ANY);
        let axes = axes.map(|(axis, value)| format!("{axis} = {value}"));
        lang.into_iter().chain(axes).collect::<Vec<String>>().join(", ")
    }
}

/// Text without the inline marks of Markdown.
pub(super) fn without_marks(text: &str) -> String {
    text.replace(['*', '`'], "")
}

impl FindingLine {
    fn of(finding: &Finding, place: String) -> Self {
        let next = match &finding.command {
            Some(command) => format!("{} Run the same command with `{command}`.", finding.advice),
            None => finding.advice.clone(),
        };
        Self {
            place,
            forbids: finding.forbids(),
            sentence: finding.sentence.clone(),
            next: next.trim().into(),
        }
    }

    /// The line for a page.
    pub fn for_page(&self) -> String {
        let place = match (self.place.is_empty(), self.forbids) {
            (true, false) => String::new(),
            (true, true) => "*No recommendation*: ".into(),
            (false, false) => format!("**{}**: ", self.place),
            (false, true) => format!("**{}**, *no recommendation*: ", self.place),
        };
        let sentence =
            if place.is_empty() { crate::number::capital(&self.sentence) } else { self.sentence.clone() };
        format!("{place}{sentence} {}", self.next).trim_end().into()
    }

    /// The same for a terminal: what to do next is on a line of its own.
    pub fn for_terminal(&self) -> String {
        let whole = Self { next: String::new(), ..self.clone() }.for_page();
        let next = if self.next.is_empty() { String::new() } else { format!("\n  next: {}", self.next) };
        without_marks(&(whole + &next))
    }
}
