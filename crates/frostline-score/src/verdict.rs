//! One rule for "is A better than B" in a table of comparisons: the interval decides.
//!
//! The intervals of a table hold *together*: with a probability of 95 %, all of them contain their true
//! difference. A system is *better* or *worse* if its interval is above or below 0, *equivalent* if it is
//! within the margin, and *undecided* otherwise. An interval may be within the margin and not contain 0: the
//! difference is then shown, and shown to be small. One seed decides nothing, since another seed's difference
//! is unknown.
//!
//! The half width combines two parts as the root of the sum of their squares:
//!
//! - *Sentences*: the bootstrap's variance, times the quantile of the largest deviation in a table. The same
//!   sentences are drawn for all rows, so that the resamples give this quantile.
//! - *Seeds*: the variance [moderated](moderation) over the study, times [Dunnett's](crate::dunnett) quantile, since all
//!   rows share the baseline's seeds.
//!
//! The effect of seeds on single sentences is in both variances and counts with the seeds. An interval is never
//! narrower than the interval from sentences alone.
//!
//! A study that grows until it knows has one error rate for all its looks: [`judge_growing`] uses a level for each number of
//! seeds, see [`sequential`](crate::sequential).
//!
//! # Source
//! Dunnett (1955) and Smyth (2004), as cited in [`dunnett`](crate::dunnett) and [`moderation`]; Westfall and
//! Young, *Resampling-Based Multiple Testing* (1993), for the largest deviation; Graybill and Wang, *Confidence Intervals on Nonnegative Linear Combinations of
//! Variances* (1980), and Zou and Donner, *Construction of Confidence Limits about Effect Measures* (2008), for combining half
//! widths.
//!
//! # To change the rule
//!
//! The rule is in `crates/frostline-score/src/verdict.rs`: `crossed.rs` computes the variances over seeds and
//! sentences, `moderation.rs` the variances that few seeds borrow from the study, `dunnett.rs` the quantile of
//! a table, and `linear.rs` turns an F1 into a sum over sentences. It is explained and measured in
//! `docs/statistics.md`. In `frostline-report`, `study/comparison.rs` applies it to all tables of a study,
//! `study/verdicts.rs` to policies, `study/stage_verdicts.rs` to stages, once per study; `study/advice.rs`
//! makes the recommendation and the Pareto marks from the same intervals, and `study/sanity/` finds what
//! forbids one. A score of another kind is a variant in `study/scores.rs`. Every topic reads all of them from
//! the `Study`.

use std::sync::Arc;

use serde::Serialize;

use crate::crossed::{CrossedDifference, VarianceParts};
use crate::distribution::{normal_cdf, normal_quantile};
use crate::dunnett::{Dunnett, QuantileCurve};
use crate::moderation::{self, SeedScatter, seed_freedom};
use crate::sequential::SeedLevels;

pub use crate::sequential::ALPHA;

/// The probability that a study of the proposed size decides, if the true difference equals the observed one.
pub const POWER: f64 = 0.8;

/// No more seeds are proposed.
pub const MOST_SEEDS: usize = 50;

/// No more sentences are proposed.
pub const MOST_SENTENCES: usize = 1_000_000;

/// The verdict on A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A is better than B.
    Better,
    /// A is worse than B.
    Worse,
    /// A and B differ by less than the margin.
    Equivalent,
    /// No other verdict is shown.
    Undecided,
}

impl Verdict {
    /// Returns the verdict in a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
        }
    }
}

/// How large a study would have to be to decide, with all else as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// Total number of seeds, with the present sentences; absent if [`MOST_SEEDS`] do not suffice.
    pub seeds: Option<usize>,
    /// Total number of sentences, with the present seeds; absent if no number suffices.
    pub sentences: Option<usize>,
}

/// A row of a table of comparisons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The difference.
    pub difference: CrossedDifference,
    /// The ends of its interval. All intervals of the table hold together with a probability of 95 %.
    pub interval: [f64; 2],
    /// The p-value of "no difference", corrected for the table: 1 minus the confidence of the interval that ends at 0; at
    /// least 0.000001. In a study with several looks it is multiplied by 0.05 over the look's level, so that 0.05 is its limit
    /// there too.
    pub p: f64,
    /// The variance of the mean over seeds that the interval uses; absent for one seed.
    pub moderated: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the interval is within the margin; not meaningful for one seed.
    pub within_margin: bool,
    /// The study size that would decide; present if nothing is decided and there are several seeds.
    pub needed: Option<Needed>,
    /// What the seeds that are still planned can show; present if there are several seeds and more are planned.
    #[serde(skip)]
    pub prospects: Option<Prospects>,
}

/// Predictive probabilities that a comparison with all planned seeds is decided, given its present seeds and no other knowledge of
/// the true difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prospects {
    /// That it is better, worse or equivalent.
    pub verdict: f64,
    /// That it is shown to lose at most the margin.
    pub within_loss: f64,
    /// That it is shown to lose more than the margin.
    pub beyond_loss: f64,
}

impl Judged {
    /// Returns whether A is shown to lose at most `margin` against B: several seeds, and an interval above
    /// `-margin`.
    #[must_use]
    pub fn loses_at_most(&self, margin: f64) -> bool {
        self.difference.seeds() > 1 && self.interval[0] > -margin
    }

    /// Returns whether A is shown to lose more than `margin` against B: several seeds, and an interval below
    /// `-margin`.
    #[must_use]
    pub fn loses_more_than(&self, margin: f64) -> bool {
        self.difference.seeds() > 1 && self.interval[1] < -margin
    }
}

/// Returns the verdicts of a table, whose rows are compared with one baseline. `study` is the scatter of all
/// tables of the study, and `margin` a fraction of 1.
///
/// ```
/// use frostline_score::{CrossedDifference, SeedScatter, Stratum, Verdict, verdict::judge};
///
/// // Two systems against one baseline: 200 sentences of ten words, three seeds. The first system gains a word
/// // in every other sentence, the second one nothing.
/// let row = |every: usize| {
///     let gain = |seed: usize, at: usize| {
///         let noise = [0.0, 1.0, -1.0][(at * 7 + seed) % 3];
///         noise + if every > 0 && at % every == 0 { 1.0 } else { 0.0 }
///     };
///     let gains: Vec<Vec<f64>> = (0..3).map(|seed| (0..200).map(|at| gain(seed, at)).collect()).collect();
///     CrossedDifference::of(&[Stratum::new(vec![10; 200], &gains)?], 2_000, 0)
/// };
/// let rows = vec![row(2)?, row(0)?];
/// let scatter = SeedScatter::of(&rows);
/// let judged = judge(rows, scatter, 0.02);
/// assert_eq!(judged[0].verdict, Verdict::Better);
/// assert_eq!(judged[1].verdict, Verdict::Equivalent);
/// assert!(judged[0].interval[0] > 0.0 && judged[0].p < 0.05);
/// # Ok::<(), frostline_score::ScoreError>(())
/// ```
///
/// # Panics
/// If the margin is not above 0.
#[must_use]
pub fn judge(rows: Vec<CrossedDifference>, study: SeedScatter, margin: f64) -> Vec<Judged> {
    judge_growing(rows, study, margin, &SeedLevels::once())
}

/// Returns the verdicts of a table of a study that has been judged before, with fewer seeds. Each row has the level of its
/// own number of seeds, so rows whose comparison is decided need no further ones.
///
/// # Panics
/// If the margin is not above 0.
#[must_use]
pub fn judge_growing(
    rows: Vec<CrossedDifference>,
    study: SeedScatter,
    margin: f64,
    levels: &SeedLevels,
) -> Vec<Judged> {
    assert!(margin > 0.0, "a margin of {margin} is not above 0");
    if rows.is_empty() {
        return Vec::new();
    }
    let rule = DifferenceRule::new(&rows, SeedScatter::of(&rows).or_larger(study), levels);
    rows.into_iter().map(|row| rule.judge(row, margin)).collect()
}

/// How the intervals of a table are made.
struct DifferenceRule<'a> {
    levels: &'a SeedLevels,
    dunnett: Arc<Dunnett>,
    scatter: SeedScatter,
    /// The quantile of the largest deviation over the resamples, divided by its value for a table whose rows
    /// have a correlation of one half.
    joint: f64,
}

impl<'a> DifferenceRule<'a> {
    fn new(rows: &[CrossedDifference], scatter: SeedScatter, levels: &'a SeedLevels) -> Self {
        let dunnett = Dunnett::for_comparisons(rows.len());
        let independent = dunnett.quantile_curve(f64::INFINITY).at_95();
        let joint = joint_quantile(rows).map_or(1.0, |found| found / independent);
        Self { levels, dunnett, scatter, joint }
    }

    fn judge(&self, difference: CrossedDifference, margin: f64) -> Judged {
        let moderated = self.scatter.moderated_variance(&difference);
        let variance = VarianceParts { seeds: moderated, ..difference.variance };
        let half = half_width(&variance, self.table_quantiles(&difference));
        let interval = [difference.value - half, difference.value + half];
        let within_margin = -margin < interval[0] && interval[1] < margin;
        let verdict = match difference.seeds() {
            1 => Verdict::Undecided,
            _ if interval[0] > 0.0 => Verdict::Better,
            _ if interval[1] < 0.0 => Verdict::Worse,
            _ if within_margin => Verdict::Equivalent,
            _ => Verdict::Undecided,
        };
        let undecided = verdict == Verdict::Undecided;
        let needed = undecided.then(|| self.size_needed(&difference, moderated?, margin)).flatten();
        Judged {
            interval,
            p: self.p_value(&difference, &variance),
            prospects: moderated.and_then(|moderated| self.prospects(&difference, moderated, margin)),
            moderated,
            verdict,
            within_margin,
            needed,
            difference,
        }
    }

    /// What all planned seeds can show. The mean over them is predicted to be normal around the present one; the sentences,
    /// which stay the same, add nothing to its variance.
    fn prospects(&self, difference: &CrossedDifference, moderated: f64, margin: f64) -> Option<Prospects> {
        let (seeds, most) =
            (difference.seeds(), self.levels.most_seeds().filter(|most| *most > difference.seeds())?);
        let design = Design::new(difference, moderated);
        let half = half_width(
            &design.variance(most, difference.sentences),
            self.quantiles_of_size(difference.freedom as f64, most),
        );
        let predicted = (moderated * (1.0 - seeds as f64 / most as f64)).sqrt();
        let below = |bound: f64| normal_cdf((bound - difference.value) / predicted);
        let above = |bound: f64| 1.0 - below(bound);
        let within = (below(margin - half) - below(half - margin)).max(0.0);
        Some(Prospects {
            verdict: (above(half) + below(-half) + within).min(1.0),
            within_loss: above(half - margin),
            beyond_loss: below(-margin - half),
        })
    }

    /// Returns the quantiles of sentences and of seeds.
    fn table_quantiles(&self, difference: &CrossedDifference) -> [f64; 2] {
        self.quantiles_of_size(difference.freedom as f64, difference.seeds())
    }

    /// The same for a comparison with this many degrees of freedom of sentences and this many seeds.
    fn quantiles_of_size(&self, freedom: f64, seeds: usize) -> [f64; 2] {
        let level = self.levels.of_seeds(seeds);
        let of_seeds = seed_freedom(seeds, self.dunnett.rows());
        let [of_sentences, of_seeds] =
            [freedom, of_seeds].map(|freedom| self.dunnett.quantile_curve(freedom).exceeded_with(level));
        [self.joint * of_sentences, of_seeds]
    }

    fn quantile_curves(&self, difference: &CrossedDifference) -> [Arc<QuantileCurve>; 2] {
        let of_seeds = seed_freedom(difference.seeds(), self.dunnett.rows());
        [difference.freedom as f64, of_seeds].map(|freedom| self.dunnett.quantile_curve(freedom))
    }

    /// 1 minus the confidence of the interval that ends at 0, in units of the level.
    fn p_value(&self, difference: &CrossedDifference, variance: &VarianceParts) -> f64 {
        let [sentences, seeds] = self.quantile_curves(difference);
        let width =
            |[of_sentences, of_seeds]: [f64; 2]| half_width(variance, [self.joint * of_sentences, of_seeds]);
        let p = QuantileCurve::p_value(&sentences, &seeds, difference.value.abs(), width);
        (p * (ALPHA / self.levels.of_seeds(difference.seeds()))).min(1.0)
    }

    /// How large a study must be so that it shows the observed difference, or that it is within the margin, with the
    /// probability [`POWER`].
    fn size_needed(&self, difference: &CrossedDifference, moderated: f64, margin: f64) -> Option<Needed> {
        let design = Design::new(difference, moderated);
        let decides = |seeds: usize, sentences: usize| {
            let quantiles = self.quantiles_of_size(difference.freedom as f64, seeds);
            design.would_decide(seeds, sentences, margin, quantiles)
        };
        let (seeds, sentences) = (difference.seeds(), difference.sentences);
        let seeds_needed = (seeds + 1..=MOST_SEEDS).find(|&more| decides(more, sentences));
        let sentences_needed = decides(seeds, MOST_SENTENCES).then(|| {
            let (mut low, mut high) = (sentences.min(MOST_SENTENCES), MOST_SENTENCES);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if decides(seeds, middle) {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            high
        });
        Some(Needed { seeds: seeds_needed, sentences: sentences_needed })
    }
}

/// Half the width of an interval from the variances of sentences and of seeds, with the quantiles of both.
fn half_width(variance: &VarianceParts, [of_sentences, of_seeds]: [f64; 2]) -> f64 {
    let VarianceParts { seeds, sentences, interaction } = *variance;
    let alone = of_sentences.powi(2) * sentences;
    let both = |seeds| of_seeds.powi(2) * seeds + of_sentences.powi(2) * (sentences - interaction);
    alone.max(seeds.map_or(0.0, both)).sqrt()
}

/// Returns the value that the largest deviation of any row, in its own standard deviations, stays below in 95 %
/// of the resamples.
fn joint_quantile(rows: &[CrossedDifference]) -> Option<f64> {
    let count = rows.iter().map(|row| row.deviations.len()).min().filter(|count| *count > 0)?;
    if rows.len() == 1 {
        return None;
    }
    let mut largest = vec![0.0_f64; count];
    for row in rows {
        let squares: f64 = row.deviations[..count].iter().map(|one| one * one).sum();
        if squares > 0.0 {
            let scale = (count as f64 / squares).sqrt();
            for (largest, one) in largest.iter_mut().zip(&row.deviations) {
                *largest = largest.max(scale * one.abs());
            }
        }
    }
    largest.sort_by(f64::total_cmp);
    let at = ((1.0 - ALPHA) * count as f64).ceil() as usize - 1;
    Some(largest[at.min(count - 1)]).filter(|found| *found > 0.0)
}

/// The variances of a single seed and a single sentence, for studies of other sizes.
struct Design {
    value: f64,
    of_seed: f64,
    of_sentence: f64,
    of_both: f64,
}

impl Design {
    fn new(difference: &CrossedDifference, moderated: f64) -> Self {
        let parts = difference.variance;
        let (seeds, sentences) = (difference.seeds() as f64, difference.sentences as f64);
        Self {
            value: difference.value.abs(),
            of_seed: seeds * (moderated - moderation::least_variance(difference)).max(0.0),
            of_sentence: sentences * (parts.sentences - parts.interaction).max(0.0),
            of_both: seeds * sentences * parts.interaction,
        }
    }

    /// The variances of a study of this size.
    fn variance(&self, seeds: usize, sentences: usize) -> VarianceParts {
        let (n_seeds, n_sentences) = (seeds as f64, sentences as f64);
        let interaction = self.of_both / n_seeds / n_sentences;
        VarianceParts {
            seeds: Some(self.of_seed / n_seeds + interaction),
            sentences: self.of_sentence / n_sentences + interaction,
            interaction,
        }
    }

    fn would_decide(&self, seeds: usize, sentences: usize, margin: f64, quantiles: [f64; 2]) -> bool {
        let parts = self.variance(seeds, sentences);
        let error = (self.of_seed / seeds as f64 + parts.sentences).sqrt();
        let half = half_width(&parts, quantiles);
        let differs = self.value >= half + normal_quantile(POWER) * error;
        // Both ends of the interval must be within the margin.
        let within = |value: f64| normal_cdf((margin - half - value) / error);
        differs || within(self.value) + within(-self.value) - 1.0 >= POWER
    }
}

#[cfg(test)]
mod tests;
