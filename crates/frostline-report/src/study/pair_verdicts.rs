//! Pairs of policies that a plan asks to compare, by the rule of all verdicts: paired by seed and by sentence.

use serde::Serialize;

use crate::study::cells::{CellView, distinct};
use crate::study::comparison::{Judging, PairsBySeed, SplitComparison};
use crate::study::groups::CellGroup;
use crate::study::verdicts::ends_of_cells;

/// A policy compared with another one in a language, on dev.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PairVerdict {
    pub lang: String,
    /// The policies. The difference is the first score minus the second.
    pub policies: [String; 2],
    /// Values on the further axes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<String>,
    #[serde(flatten)]
    pub compared: SplitComparison,
}

/// Judges each pair in each language. The intervals of a language hold together.
pub(crate) fn judge_pairs(
    cells: &[CellView],
    groups: &[CellGroup],
    pairs: &[[String; 2]],
    judging: &Judging<'_>,
) -> Vec<PairVerdict> {
    let table = |lang: &str| {
        let rows =
            pairs.iter().flat_map(|pair| places_of_pair(groups, lang, pair).map(move |both| (pair, both)));
        let row = |(pair, [first, second]): (&[String; 2], [&CellGroup; 2])| {
            let twins = twins_of_groups(cells, [first, second], judging.split);
            let key = (lang.to_string(), pair.clone(), first.extras.clone());
            (!twins.is_empty()).then_some((key, twins))
        };
        rows.filter_map(row).collect()
    };
    let langs = distinct(groups.iter().map(|group| group.lang.as_str()));
    let (compared, _) = judging.compare(langs.into_iter().map(table).collect());
    let verdict = |((lang, policies, extras), compared)| PairVerdict { lang, policies, extras, compared };
    compared.into_iter().map(verdict).collect()
}

/// The groups of a pair in a language: one for each combination of the further axes.
fn places_of_pair<'a>(
    groups: &'a [CellGroup],
    lang: &'a str,
    [first, second]: &'a [String; 2],
) -> impl Iterator<Item = [&'a CellGroup; 2]> {
    let of = move |policy: &'a str| {
        groups.iter().filter(move |group| group.lang == lang && group.has_name(policy))
    };
    of(first).filter_map(move |one| Some([one, of(second).find(|other| other.extras == one.extras)?]))
}

/// The cells of two groups with the same seed that were scored on a split.
fn twins_of_groups<'a>(cells: &'a [CellView], groups: [&CellGroup; 2], split: &str) -> PairsBySeed<'a> {
    let scored = |view: &&CellView| view.done().is_some_and(|done| done.score(split).is_some());
    let [first, second] = groups.map(|group| cells.iter().filter(|view| group.holds(view)).filter(scored));
    let seed = |view: &CellView| view.cell.settings.seed;
    first.filter_map(|a| ends_of_cells(a, second.clone().find(|b| seed(b) == seed(a))?)).collect()
}
