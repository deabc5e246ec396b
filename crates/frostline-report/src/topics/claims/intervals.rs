//! Intervals of accuracies over seeds and sentences. A single comparison has the interval of the report's verdicts: the
//! one of its row if a policy is compared with `none`, else the one of a table of the test's comparisons in a language.

use frostline_score::crossed::RESAMPLES;
use frostline_score::verdict::judge;
use frostline_score::{CrossedDifference, SeedScatter};

use crate::study::comparison::{Judging, PairsBySeed};
use crate::study::distinct;
use crate::study::outcomes::{Outcomes, Twins};
use crate::study::scores::ScoreKind;
use crate::topics::claims::pairs::{CellPair, pair_kind};

/// The sentences of an accuracy: what each cell has right, and the split.
#[derive(Clone, Copy)]
pub(super) struct BySentence<'a> {
    pub outcomes: &'a Outcomes,
    pub split: &'static str,
    /// The margin of the plan's verdicts, in points.
    pub margin: f64,
    /// How much seeds scatter in the study's comparisons.
    pub scatter: SeedScatter,
}

/// The intervals of a language's single comparisons, in points; nothing for one seed or without stored predictions.
pub(super) fn of_singles(
    kinds: &[Vec<&CellPair<'_>>],
    by_sentence: Option<BySentence<'_>>,
) -> Vec<Option<[f64; 2]>> {
    let mut found: Vec<_> = kinds.iter().map(|pairs| in_study(pairs)).collect();
    let missing: Vec<usize> = (0..kinds.len()).filter(|&at| found[at].is_none()).collect();
    if let Some(by_sentence) = by_sentence.filter(|_| !missing.is_empty()) {
        let BySentence { outcomes, split, margin, scatter } = by_sentence;
        let judging = Judging { scatter, ..Judging::new(outcomes.both(), split, margin) };
        let rows = missing.into_iter().map(|at| (at, twins_by_seed(&kinds[at]))).collect();
        let (compared, _) = judging.compare(vec![rows]);
        for (at, compared) in compared {
            let complete = compared.seeds.len() == kinds[at].len();
            let judged = compared.judged().filter(|_| complete && compared.seeds.len() > 1);
            found[at] = judged.map(|judged| in_points(judged.interval));
        }
    }
    found
}

/// The interval of the row in the study's own table of verdicts.
fn in_study(pairs: &[&CellPair<'_>]) -> Option<[f64; 2]> {
    let compared = pairs.first()?.in_study?;
    let has_all = pairs.len() == compared.seeds.len()
        && pairs.iter().all(|pair| compared.seeds.contains(&pair.seed))
        && pairs.len() > 1;
    compared.judged().filter(|_| has_all).map(|judged| in_points(judged.interval))
}

fn twins_by_seed<'a>(pairs: &[&CellPair<'a>]) -> PairsBySeed<'a> {
    pairs.iter().filter_map(|pair| Some((pair.seed, pair.twins?))).collect()
}

/// The interval of the mean of several comparisons, in points; nothing for one seed, or if predictions are missing.
pub(super) fn of_mean(
    pairs: &[&CellPair<'_>],
    seeds: &[u64],
    by_sentence: BySentence<'_>,
) -> Option<[f64; 2]> {
    if seeds.len() < 2 {
        return None;
    }
    let of_seed = |kind_of: (&str, &[String; 2]), seed: u64| {
        let found = pairs.iter().find(|pair| pair.seed == seed && pair_kind(pair) == kind_of);
        found.and_then(|pair| pair.twins)
    };
    let of_kind = |of| seeds.iter().map(|&seed| of_seed(of, seed)).collect::<Option<Vec<Twins<'_>>>>();
    let comparisons: Option<Vec<_>> =
        distinct(pairs.iter().map(|pair| pair_kind(pair))).into_iter().map(of_kind).collect();
    let strata = by_sentence.outcomes.both().strata(&comparisons?, by_sentence.split, ScoreKind::Own).ok()?;
    let difference = CrossedDifference::of(&strata, RESAMPLES, 0).ok()?;
    let judged = judge(vec![difference], by_sentence.scatter, by_sentence.margin / 100.0).pop()?;
    Some(in_points(judged.interval))
}

fn in_points(interval: [f64; 2]) -> [f64; 2] {
    interval.map(|end| 100.0 * end)
}
