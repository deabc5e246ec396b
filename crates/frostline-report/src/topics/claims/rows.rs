//! Paired differences, and what comparisons give together. What is pooled is first averaged within each seed: policies
//! and languages are not counted as if they were seeds. The interval of an accuracy is over seeds and sentences, by the
//! rule of all verdicts; that of any other measure, or without stored predictions, is Student's over seeds.

use frostline_record::Cell;
use frostline_score::crossed::RESAMPLES;
use frostline_score::verdict::judge;
use frostline_score::{CrossedDifference, MeanInterval, SeedScatter};
use serde::Serialize;

use crate::number::plural;
use crate::study::outcomes::{After, Outcomes, Twins};
use crate::study::scores::Compared;
use crate::study::{CellView, Study, distinct};
use crate::topics::claims::gauge::Gauge;
use crate::topics::claims::verdict::{Verdict, Wanted};

/// Differences A − B, paired by seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Differences {
    /// What A and B are measured by: `dev accuracy, %`.
    pub measured: String,
    /// What a difference is given in: `points`, or `%` of B.
    pub unit: &'static str,
    /// One row per comparison, and one per language that has several.
    pub rows: Vec<PairedComparison>,
    /// All comparisons together, where there are several and a seed has them all.
    pub together: Option<PairedComparison>,
}

/// A comparison over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PairedComparison {
    /// The language and further axes.
    pub cells: String,
    /// What is compared with what; nothing where the rows above are pooled.
    pub names: Option<[String; 2]>,
    /// The means of A and B.
    pub means: [f64; 2],
    /// None where rounds are compared.
    pub seeds: Vec<u64>,
    /// A − B by seed.
    pub differences: Vec<f64>,
    pub mean: MeanInterval,
    /// What the interval is over.
    pub over: Over,
    pub verdict: Verdict,
}

/// What an interval is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Over {
    Seeds,
    SeedsAndSentences,
    /// Rounds of steps that policies took in turns.
    Rounds,
}

/// Where the sentences of an accuracy are: what each cell has right, and the split.
#[derive(Clone, Copy)]
pub(super) struct BySentence<'a> {
    pub outcomes: &'a Outcomes,
    pub split: &'static str,
    /// How much seeds scatter in the study's comparisons.
    pub scatter: SeedScatter,
}

impl Differences {
    /// The row that decides: all comparisons together, or the only one.
    pub fn deciding(&self) -> Option<&PairedComparison> {
        if self.rows.len() == 1 { self.rows.first() } else { self.together.as_ref() }
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
    /// How many of what it is over: `5 seeds`, `300 rounds`.
    pub fn count(&self) -> String {
        match self.over {
            Over::Rounds => plural(self.mean.n, "round"),
            Over::Seeds | Over::SeedsAndSentences => plural(self.seeds.len(), "seed"),
        }
    }
}

/// Two cells of one seed, or a cell after two stages: A and B.
pub(super) struct Pair<'a> {
    twins: Option<Twins<'a>>,
    cells: String,
    lang: String,
    names: [String; 2],
    seed: u64,
    values: [f64; 2],
}

impl<'a> Pair<'a> {
    pub fn new([a, b]: [After<'a>; 2], cells: String, names: [String; 2], values: [f64; 2]) -> Self {
        let settings = &a.cell.settings;
        let lang = settings.lang.to_string();
        Self { twins: Some((a, b)), cells, lang, names, seed: settings.seed, values }
    }

    /// Whether this is so of both cells.
    pub fn all(&self, is: impl Fn(&Cell) -> bool) -> bool {
        self.twins.is_none_or(|(a, b)| is(a.cell) && is(b.cell))
    }
}

/// One row per comparison and one per language that has several; then one for all.
pub(super) fn rows(
    gauge: &Gauge<'_>,
    pairs: &[Pair<'_>],
    by_sentence: Option<BySentence<'_>>,
    wanted: Wanted,
) -> (Vec<PairedComparison>, Option<PairedComparison>) {
    let langs = distinct(pairs.iter().map(|pair| pair.lang.as_str()));
    let mut rows = Vec::new();
    for lang in &langs {
        let of_lang: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.lang == *lang).collect();
        let kinds = distinct(of_lang.iter().map(|pair| kind(pair)));
        for (cells, names) in &kinds {
            let same =
                of_lang.iter().filter(|pair| kind(pair) == (*cells, *names)).copied().collect::<Vec<_>>();
            rows.extend(row(gauge, &same, by_sentence, ((*cells).into(), Some((*names).clone())), wanted));
        }
        if kinds.len() > 1 && langs.len() > 1 {
            rows.extend(row(gauge, &of_lang, by_sentence, ((*lang).into(), None), wanted));
        }
    }
    let all: Vec<&Pair<'_>> = pairs.iter().collect();
    let several = rows.len() > 1;
    let together =
        several.then(|| row(gauge, &all, by_sentence, (langs.join(" and "), None), wanted)).flatten();
    (rows, together)
}

fn kind<'b>(pair: &'b Pair<'_>) -> (&'b str, &'b [String; 2]) {
    (&pair.cells, &pair.names)
}

/// A row of pairs: within a seed their mean counts, and only seeds that have all comparisons.
fn row(
    gauge: &Gauge<'_>,
    pairs: &[&Pair<'_>],
    by_sentence: Option<BySentence<'_>>,
    (cells, names): (String, Option<[String; 2]>),
    wanted: Wanted,
) -> Option<PairedComparison> {
    let comparisons = distinct(pairs.iter().map(|pair| kind(pair))).len();
    let of_seed = |seed: u64| pairs.iter().filter(move |pair| pair.seed == seed);
    let mut seeds = distinct(pairs.iter().map(|pair| pair.seed));
    seeds.retain(|&seed| of_seed(seed).count() == comparisons);
    let mean = |seed: u64, get: &dyn Fn(&Pair<'_>) -> f64| {
        of_seed(seed).map(|pair| get(pair)).sum::<f64>() / comparisons as f64
    };
    let over =
        |get: &dyn Fn(&Pair<'_>) -> f64| seeds.iter().map(|&seed| mean(seed, get)).collect::<Vec<f64>>();
    let differences = over(&|pair| gauge.difference(pair.values));
    let sides = [0, 1].map(|side| over(&|pair| pair.values[side]));
    let found = MeanInterval::of(&differences)?;
    let mut counted = pairs.iter().filter(|pair| seeds.contains(&pair.seed));
    let same = counted.all(|pair| gauge.difference(pair.values).abs() < ROUNDING);
    let crossed = by_sentence.and_then(|by_sentence| crossed(pairs, &seeds, by_sentence));
    let (mean, over, telling) = match crossed {
        Some(interval) => {
            let mean = MeanInterval { interval: Some(interval), ..found };
            (mean, Over::SeedsAndSentences, Some(interval))
        }
        None => (found, Over::Seeds, telling(found.interval, same)),
    };
    let verdict = wanted.verdict(telling);
    Some(PairedComparison {
        cells,
        names,
        means: sides.map(|values| values.iter().sum::<f64>() / values.len() as f64),
        seeds,
        differences,
        verdict,
        over,
        mean,
    })
}

/// The interval over seeds and sentences, in points; nothing for one seed, or where predictions are missing.
fn crossed(pairs: &[&Pair<'_>], seeds: &[u64], by_sentence: BySentence<'_>) -> Option<[f64; 2]> {
    if seeds.len() < 2 {
        return None;
    }
    let of_seed = |kind_of: (&str, &[String; 2]), seed: u64| {
        let found = pairs.iter().find(|pair| pair.seed == seed && kind(pair) == kind_of);
        found.and_then(|pair| pair.twins)
    };
    let of_kind = |of| seeds.iter().map(|&seed| of_seed(of, seed)).collect::<Option<Vec<Twins<'_>>>>();
    let comparisons: Option<Vec<_>> =
        distinct(pairs.iter().map(|pair| kind(pair))).into_iter().map(of_kind).collect();
    let strata = by_sentence.outcomes.both().strata(&comparisons?, by_sentence.split, Compared::Own).ok()?;
    let difference = CrossedDifference::of(&strata, RESAMPLES, 0).ok()?;
    let judged = judge(vec![difference], by_sentence.scatter, 1.0).pop()?;
    Some(judged.interval.map(|end| 100.0 * end))
}

/// The interval that may decide. One without width may not: seeds that differ by the very same amount, as on
/// a small dev split, do not tell how far others would. It may where no pair differs at all, since equal
/// models give that.
fn telling(interval: Option<[f64; 2]>, same: bool) -> Option<[f64; 2]> {
    let [low, high] = interval?;
    if same { Some([0.0; 2]) } else { Some([low, high]).filter(|_| high - low >= ROUNDING) }
}

/// The language and further axes of a cell, one axis left out.
pub(super) fn place(study: &Study, view: &CellView, without: Option<usize>) -> String {
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

    fn pairs(rows: &[(&str, &str, u64, f64)]) -> Vec<Pair<'static>> {
        let pair = |&(lang, a, seed, difference): &(&str, &str, u64, f64)| Pair {
            twins: None,
            cells: lang.into(),
            lang: lang.into(),
            names: [a.into(), "none".into()],
            seed,
            values: [90.0 + difference, 90.0],
        };
        rows.iter().map(pair).collect()
    }

    /// Cells, A, seeds, mean, verdict.
    type Short = (String, Option<String>, Vec<u64>, f64, Verdict);

    fn found(given: &[(&str, &str, u64, f64)]) -> Vec<Short> {
        found_where(given, Wanted::Below(0.0))
    }

    fn found_where(given: &[(&str, &str, u64, f64)], wanted: Wanted) -> Vec<Short> {
        let (rows, together) = rows(&Gauge::new(Measure::Dev, "", &[]), &pairs(given), None, wanted);
        let short = |row: PairedComparison| {
            let mean = (row.mean.mean * 1e6).round() / 1e6;
            (row.cells, row.names.map(|[a, _]| a), row.seeds, mean, row.verdict)
        };
        rows.into_iter().chain(together).map(short).collect()
    }

    #[test]
    fn one_comparison_is_its_own_verdict() {
        let rows = found(&[("en", "all", 1, -1.0), ("en", "all", 2, -1.1), ("en", "all", 3, -0.9)]);
        let expected = ("en".into(), Some("all".into()), vec![1, 2, 3], -1.0, Verdict::Supported);
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
        assert_eq!((rows[4].2.clone(), rows[4].3, rows[4].4), (vec![1, 2], -2.0, Verdict::NotDecided));
        assert_eq!(rows[0].4, Verdict::NotDecided);
    }

    #[test]
    fn seeds_that_tie_decide_only_where_no_pair_differs() {
        let verdicts = |x: f64, y: f64, wanted: Wanted| {
            let pairs = [("en", "x", 1, x), ("en", "x", 2, x), ("en", "y", 1, y), ("en", "y", 2, y)];
            found_where(&pairs, wanted).into_iter().map(|row| row.4).collect::<Vec<_>>()
        };
        let undecided = [Verdict::NotDecided; 3];
        assert_eq!(verdicts(0.0, 0.0, Wanted::Within(0.5)), [Verdict::Supported; 3]);
        // Equal but for rounding.
        assert_eq!(verdicts(0.0, 1.4e-14, Wanted::Above(0.5)), [Verdict::Contradicted; 3]);
        assert_eq!(verdicts(-1.1, -1.1, Wanted::Below(0.0)), undecided);
        // Two ties that cancel each other.
        assert_eq!(verdicts(0.5, -0.5, Wanted::Within(0.5)), undecided);
    }

    #[test]
    fn seeds_that_never_meet_pool_to_nothing() {
        let rows = found(&[("en", "x", 1, -1.0), ("en", "y", 2, -1.0)]);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row.4 == Verdict::NotDecided));
    }
}
