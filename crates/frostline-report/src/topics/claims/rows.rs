//! Paired differences: one row per comparison. If the plan asks for the mean of several, what is pooled is first averaged
//! within each seed: policies and languages are not counted as if they were seeds. The interval of an accuracy is over seeds
//! and sentences, by the rule of all verdicts; any other measure, or one without stored predictions, has Student's over seeds.

use frostline_record::{Comparisons, Needs};
use frostline_score::MeanInterval;
use serde::Serialize;

use crate::number::plural;
use crate::study::{CellView, Study, distinct};
use crate::topics::claims::gauge::Gauge;
use crate::topics::claims::intervals::{self, BySentence};
use crate::topics::claims::pairs::{CellPair, PairKind, pair_kind};
use crate::topics::claims::verdict::{ClaimVerdict, DifferenceQuestion, WantedDifference, combine_verdicts};

/// Differences A − B, paired by seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Differences {
    /// What A and B are measured by: `test accuracy, %`.
    pub measured: String,
    /// What a difference is given in: `points`, or `%` of B.
    pub unit: &'static str,
    /// Whether each comparison must hold, or their mean.
    pub comparisons: Comparisons,
    /// One row per comparison; if their mean decides, also one per language that has several.
    pub rows: Vec<PairedComparison>,
    /// The mean of all comparisons, if it decides, there are several and a seed has them all.
    pub together: Option<PairedComparison>,
    /// Comparisons that the test asks for and no finished cells have, by their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A comparison over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PairedComparison {
    /// The language and further axes.
    pub cells: String,
    /// What is compared with what; nothing if the rows above are pooled.
    pub names: Option<[String; 2]>,
    /// The means of A and B.
    pub means: [f64; 2],
    /// None if rounds or memory are compared.
    pub seeds: Vec<u64>,
    /// A − B by seed.
    pub differences: Vec<f64>,
    pub mean: MeanInterval,
    /// What the interval is over.
    pub over: Over,
    pub verdict: ClaimVerdict,
    /// How far the interval that decides is inside of what the test wants; nothing if no interval may decide.
    #[serde(skip)]
    pub room: Option<f64>,
}

/// What an interval is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Over {
    Seeds,
    SeedsAndSentences,
    /// Rounds of steps that policies took in turns.
    Rounds,
    /// One measurement of each policy, and what is known of how far it may be off.
    Measurement,
}

impl Differences {
    /// The verdict on the test.
    pub fn verdict(&self) -> ClaimVerdict {
        match self.comparisons {
            Comparisons::Mean => self.deciding().map_or(ClaimVerdict::NotDecided, |row| row.verdict),
            Comparisons::Each => {
                let mut verdicts: Vec<ClaimVerdict> = self.rows.iter().map(|row| row.verdict).collect();
                verdicts.extend(self.missing.iter().map(|_| ClaimVerdict::NotTested));
                combine_verdicts(Needs::All, &verdicts)
            }
        }
    }

    /// The row that decides: the only one, the mean of all, or if each must hold, the one that is furthest from it.
    pub fn deciding(&self) -> Option<&PairedComparison> {
        if self.rows.len() == 1 {
            return self.rows.first();
        }
        match self.comparisons {
            Comparisons::Mean => self.together.as_ref(),
            Comparisons::Each => self.rows.iter().min_by(|a, b| {
                let by_room = |row: &PairedComparison| row.room.unwrap_or(f64::NEG_INFINITY);
                let rank = |row: &PairedComparison| match row.verdict {
                    ClaimVerdict::Contradicted => 0,
                    ClaimVerdict::NotDecided | ClaimVerdict::NotTested => 1,
                    ClaimVerdict::Supported => 2,
                };
                rank(a).cmp(&rank(b)).then(by_room(a).total_cmp(&by_room(b)))
            }),
        }
    }

    /// The single comparisons with a verdict.
    pub fn with(&self, verdict: ClaimVerdict) -> Vec<&PairedComparison> {
        let single = self.rows.iter().filter(|row| row.names.is_some());
        single.filter(|row| row.verdict == verdict).collect()
    }

    /// Why there is no row for all comparisons.
    pub fn why_apart(&self) -> &'static str {
        match self.rows.iter().any(|row| row.over == Over::Rounds) {
            true => "not all of these steps were timed on the same hardware and by the same kind of time",
            false => "no seed has all of these comparisons",
        }
    }
}

impl PairedComparison {
    /// What is compared: `pcm, first-8 against none`.
    pub fn name(&self) -> String {
        match &self.names {
            Some(names) => name_comparison(&self.cells, names),
            None => format!("{}, together", self.cells),
        }
    }

    /// How many of what it is over: `5 seeds`, `300 rounds`.
    pub fn count(&self) -> String {
        match self.over {
            Over::Rounds => plural(self.mean.n, "round"),
            Over::Measurement => plural(self.mean.n, "comparison"),
            Over::Seeds | Over::SeedsAndSentences => plural(self.seeds.len(), "seed"),
        }
    }
}

/// The name of a comparison.
pub(super) fn name_comparison(cells: &str, [a, b]: &[String; 2]) -> String {
    let cells = if cells.is_empty() { String::new() } else { format!("{cells}, ") };
    format!("{cells}{a} against {b}")
}

/// One row per comparison. If their mean decides, also one per language that has several, then one for all.
pub(super) fn comparison_rows(
    gauge: &Gauge<'_>,
    pairs: &[CellPair<'_>],
    by_sentence: Option<BySentence<'_>>,
    question: DifferenceQuestion,
) -> (Vec<PairedComparison>, Option<PairedComparison>) {
    let pools = question.comparisons == Comparisons::Mean;
    let mean_of = |pairs: &[&CellPair<'_>], cells: String| {
        let seeds = shared_seeds(pairs);
        let interval = by_sentence.and_then(|of| intervals::of_mean(pairs, &seeds, of));
        pair_row(gauge, pairs, &seeds, interval, (cells, None), question.wanted)
    };
    let langs = distinct(pairs.iter().map(|pair| pair.lang.as_str()));
    let mut rows = Vec::new();
    for lang in &langs {
        let of_lang: Vec<&CellPair<'_>> = pairs.iter().filter(|pair| pair.lang == *lang).collect();
        let kinds = distinct(of_lang.iter().map(|pair| pair_kind(pair)));
        let of_kind = |of: &PairKind<'_>| {
            of_lang.iter().filter(|pair| pair_kind(pair) == *of).copied().collect::<Vec<_>>()
        };
        let singles: Vec<Vec<&CellPair<'_>>> = kinds.iter().map(of_kind).collect();
        let found = intervals::of_singles(&singles, by_sentence);
        for (((cells, names), pairs), interval) in kinds.iter().zip(&singles).zip(found) {
            let name = ((*cells).to_string(), Some((*names).clone()));
            rows.extend(pair_row(gauge, pairs, &shared_seeds(pairs), interval, name, question.wanted));
        }
        if pools && kinds.len() > 1 && langs.len() > 1 {
            rows.extend(mean_of(&of_lang, (*lang).into()));
        }
    }
    let several = pools && rows.len() > 1;
    let together = several.then(|| mean_of(&pairs.iter().collect::<Vec<_>>(), langs.join(" and "))).flatten();
    (rows, together)
}

/// The seeds that have all comparisons of these pairs.
fn shared_seeds(pairs: &[&CellPair<'_>]) -> Vec<u64> {
    let comparisons = distinct(pairs.iter().map(|pair| pair_kind(pair))).len();
    let mut seeds = distinct(pairs.iter().map(|pair| pair.seed));
    seeds.retain(|&seed| pairs.iter().filter(|pair| pair.seed == seed).count() == comparisons);
    seeds
}

/// A row of pairs: within a seed their mean counts. `interval` is over seeds and sentences, if it could be computed.
fn pair_row(
    gauge: &Gauge<'_>,
    pairs: &[&CellPair<'_>],
    seeds: &[u64],
    interval: Option<[f64; 2]>,
    (cells, names): (String, Option<[String; 2]>),
    wanted: WantedDifference,
) -> Option<PairedComparison> {
    let mean = |seed: u64, get: &dyn Fn(&CellPair<'_>) -> f64| {
        let of_seed: Vec<f64> = pairs.iter().filter(|pair| pair.seed == seed).map(|pair| get(pair)).collect();
        of_seed.iter().sum::<f64>() / of_seed.len() as f64
    };
    let over =
        |get: &dyn Fn(&CellPair<'_>) -> f64| seeds.iter().map(|&seed| mean(seed, get)).collect::<Vec<f64>>();
    let differences = over(&|pair| gauge.difference(pair.values));
    let sides = [0, 1].map(|side| over(&|pair| pair.values[side]));
    let found = MeanInterval::of(&differences)?;
    let mut counted = pairs.iter().filter(|pair| seeds.contains(&pair.seed));
    let same = counted.all(|pair| gauge.difference(pair.values).abs() < ROUNDING);
    let (mean, over, telling) = match interval {
        Some(interval) => {
            (MeanInterval { interval: Some(interval), ..found }, Over::SeedsAndSentences, Some(interval))
        }
        None => (found, Over::Seeds, deciding_interval(found.interval, same)),
    };
    Some(PairedComparison {
        cells,
        names,
        means: sides.map(|values| values.iter().sum::<f64>() / values.len() as f64),
        seeds: seeds.to_vec(),
        differences,
        verdict: wanted.verdict(telling),
        room: telling.map(|interval| wanted.room(interval)),
        over,
        mean,
    })
}

/// The interval that may decide. One without width may not: seeds that differ by the very same amount, as on
/// a small dev split, do not show how far others would. It may if no pair differs at all, since equal
/// models give that.
fn deciding_interval(interval: Option<[f64; 2]>, same: bool) -> Option<[f64; 2]> {
    let [low, high] = interval?;
    if same { Some([0.0; 2]) } else { Some([low, high]).filter(|_| high - low >= ROUNDING) }
}

/// The language and further axes of a cell, one axis left out.
pub(super) fn place_without(study: &Study, view: &CellView, without: Option<usize>) -> String {
    let axes = study.axes().into_iter().zip(&view.extras).enumerate();
    let extras = axes.filter(|(at, _)| Some(*at) != without);
    let extras = extras.map(|(_, (axis, value))| format!("{axis} = {value}"));
    [view.cell.settings.lang.to_string()].into_iter().chain(extras).collect::<Vec<_>>().join(", ")
}

/// What rounding may leave of 0.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use frostline_record::Measure;

    use super::*;

    fn pairs(rows: &[(&str, &str, u64, f64)]) -> Vec<CellPair<'static>> {
        let pair = |&(lang, a, seed, difference): &(&str, &str, u64, f64)| CellPair {
            twins: None,
            cells: lang.into(),
            lang: lang.into(),
            names: [a.into(), "none".into()],
            seed,
            values: [90.0 + difference, 90.0],
            in_study: None,
        };
        rows.iter().map(pair).collect()
    }

    /// Cells, A, seeds, mean, verdict.
    type Short = (String, Option<String>, Vec<u64>, f64, ClaimVerdict);

    fn found(given: &[(&str, &str, u64, f64)]) -> Vec<Short> {
        found_where(given, WantedDifference::Below(0.0))
    }

    fn found_where(given: &[(&str, &str, u64, f64)], wanted: WantedDifference) -> Vec<Short> {
        let question = DifferenceQuestion { wanted, comparisons: Comparisons::Mean };
        let (rows, together) =
            comparison_rows(&Gauge::new(Measure::Dev, "", &[]), &pairs(given), None, question);
        let short = |row: PairedComparison| {
            let mean = (row.mean.mean * 1e6).round() / 1e6;
            (row.cells, row.names.map(|[a, _]| a), row.seeds, mean, row.verdict)
        };
        rows.into_iter().chain(together).map(short).collect()
    }

    #[test]
    fn one_comparison_is_its_own_verdict() {
        let rows = found(&[("en", "all", 1, -1.0), ("en", "all", 2, -1.1), ("en", "all", 3, -0.9)]);
        let expected = ("en".into(), Some("all".into()), vec![1, 2, 3], -1.0, ClaimVerdict::Supported);
        assert_eq!(rows, [expected]);
    }

    #[test]
    fn pooling_is_by_seed_and_over_seeds_that_have_everything() {
        let rows = found(&[
            ("en", "x", 1, -1.0),
            ("en", "x", 2, -3.0),
            ("en", "y", 1, -3.0),
            ("en", "y", 2, -1.0),
            ("en", "y", 3, 50.0),
            ("pcm", "x", 1, -2.0),
            ("pcm", "x", 2, -2.0),
        ]);
        let names: Vec<_> = rows.iter().map(|row| (row.0.as_str(), row.1.as_deref())).collect();
        assert_eq!(
            names,
            [("en", Some("x")), ("en", Some("y")), ("en", None), ("pcm", Some("x")), ("en and pcm", None)]
        );
        // Seeds agree on −2 once their comparisons are averaged: no width, which decides nothing. Seed 3 is
        // left out.
        assert_eq!((rows[4].2.clone(), rows[4].3, rows[4].4), (vec![1, 2], -2.0, ClaimVerdict::NotDecided));
        assert_eq!(rows[0].4, ClaimVerdict::NotDecided);
    }

    #[test]
    fn seeds_that_tie_decide_only_where_no_pair_differs() {
        let verdicts = |x: f64, y: f64, wanted: WantedDifference| {
            let pairs = [("en", "x", 1, x), ("en", "x", 2, x), ("en", "y", 1, y), ("en", "y", 2, y)];
            found_where(&pairs, wanted).into_iter().map(|row| row.4).collect::<Vec<_>>()
        };
        let undecided = [ClaimVerdict::NotDecided; 3];
        assert_eq!(verdicts(0.0, 0.0, WantedDifference::Within(0.5)), [ClaimVerdict::Supported; 3]);
        // Equal but for rounding.
        assert_eq!(verdicts(0.0, 1.4e-14, WantedDifference::Above(0.5)), [ClaimVerdict::Contradicted; 3]);
        assert_eq!(verdicts(-1.1, -1.1, WantedDifference::Below(0.0)), undecided);
        // Two ties that cancel each other.
        assert_eq!(verdicts(0.5, -0.5, WantedDifference::Within(0.5)), undecided);
    }

    #[test]
    fn seeds_that_never_meet_pool_to_nothing() {
        let rows = found(&[("en", "x", 1, -1.0), ("en", "y", 2, -1.0)]);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row.4 == ClaimVerdict::NotDecided));
    }

    #[test]
    fn each_comparison_must_hold_where_the_mean_is_not_asked_for() {
        let given = [
            ("en", "x", 1, 0.3),
            ("en", "x", 2, 0.1),
            ("en", "y", 1, 1.2),
            ("en", "y", 2, 1.4),
            ("pcm", "x", 1, -0.9),
            ("pcm", "x", 2, -0.8),
            ("pcm", "y", 1, 0.5),
            ("pcm", "y", 2, -0.5),
        ];
        let differences = |given: &[(&str, &str, u64, f64)], missing: Vec<String>| {
            let question =
                DifferenceQuestion { wanted: WantedDifference::Above(-2.0), comparisons: Comparisons::Each };
            let (rows, together) =
                comparison_rows(&Gauge::new(Measure::Dev, "", &[]), &pairs(given), None, question);
            let (measured, unit) = (String::new(), "points");
            Differences { measured, unit, comparisons: question.comparisons, rows, together, missing }
        };
        let all = differences(&given, Vec::new());
        assert!(all.rows.iter().all(|row| row.names.is_some()) && all.together.is_none());
        // Student's interval of two seeds that are a point apart is over six points on each side.
        assert_eq!(all.verdict(), ClaimVerdict::NotDecided);
        assert_eq!(all.deciding().map(PairedComparison::name).as_deref(), Some("pcm, y against none"));
        let decided = differences(&given[..6], Vec::new());
        assert_eq!(decided.verdict(), ClaimVerdict::Supported);
        assert_eq!(decided.deciding().map(PairedComparison::name).as_deref(), Some("pcm, x against none"));
        // A comparison that was not made is not supported.
        assert_eq!(
            differences(&given[..6], vec!["pcm, y against none".into()]).verdict(),
            ClaimVerdict::NotDecided
        );
        // One that is contradicted is enough, whatever the mean.
        let mut lost = given;
        (lost[4].3, lost[5].3) = (-2.9, -3.0);
        let lost = differences(&lost, Vec::new());
        assert_eq!(lost.verdict(), ClaimVerdict::Contradicted);
        assert_eq!(lost.with(ClaimVerdict::Contradicted).len(), 1);
        assert_eq!(lost.deciding().map(PairedComparison::name).as_deref(), Some("pcm, x against none"));
    }
}
