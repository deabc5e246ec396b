//! One rule for "is A better than B": better, worse, equivalent within a margin, or undecided, and what would decide it.
//!
//! A difference is *shown* where its p-value is at most 0.05 after Holm's correction for all comparisons of a table.
//! The p-value is the larger of two: of the interval over seeds and sentences ([`CrossedDifference::p_value`]), and of
//! the permutation test over sentences ([`crossed_permutation`]). A and B are
//! *equivalent* where the 90 % interval lies within the margin (two one-sided tests). One seed shows nothing: it is not
//! known how much another would differ.
//!
//! # Source
//! Holm, *A Simple Sequentially Rejective Multiple Test Procedure* (1979); Schuirmann (1987) for equivalence; Dror,
//! Baumer, Shlomov and Reichart, *The Hitchhiker's Guide to Testing Statistical Significance in NLP* (2018).

use serde::Serialize;

use crate::crossed::{CrossedDifference, SWAPS, Stratum, VarianceParts, crossed_permutation, half_width};
use crate::distribution::{normal_cdf, normal_quantile};
use crate::error::ScoreError;
use crate::multiple::holm;

/// The probability of a false "better" or "worse" in a table, and of a false "equivalent" in a row.
pub const ALPHA: f64 = 0.05;

/// The probability with which a study of the proposed size decides, if the difference is what was observed.
pub const POWER: f64 = 0.8;

/// No more seeds are proposed.
pub const MOST_SEEDS: usize = 50;

/// No more sentences are proposed.
pub const MOST_SENTENCES: usize = 1_000_000;

/// What was found about A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A is better than B.
    Better,
    /// A is worse than B.
    Worse,
    /// They differ by less than the margin.
    Equivalent,
    /// None of these is shown.
    Undecided,
}

impl Verdict {
    /// The verdict in a word.
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
    /// So many seeds in all, with the present sentences; absent where [`MOST_SEEDS`] do not suffice.
    pub seeds: Option<usize>,
    /// So many sentences in all, with the present seeds; absent where no number suffices.
    pub sentences: Option<usize>,
}

/// A row of a table of comparisons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The difference.
    pub difference: CrossedDifference,
    /// The ends of its 95 % interval.
    pub interval: [f64; 2],
    /// The p-value of "no difference".
    pub p: f64,
    /// The same after Holm's correction for the table.
    pub holm_p: f64,
    /// The p-value of "they differ by at least the margin".
    pub equivalence_p: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the 90 % interval lies within the margin; with one seed, this says nothing about the systems.
    pub within_margin: bool,
    /// What would decide; present where nothing is decided and there are several seeds.
    pub needed: Option<Needed>,
}

/// A comparison before the correction for its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The difference.
    pub difference: CrossedDifference,
    /// The p-value of "no difference".
    pub p: f64,
}

impl Measured {
    /// Computes the difference and its p-value, for a row of a table of so many. All random choices follow from `seed`.
    ///
    /// # Errors
    /// As [`CrossedDifference::of`].
    ///
    /// # Panics
    /// If `resamples` is 0.
    pub fn of(strata: &[Stratum], rows: usize, resamples: u32, seed: u64) -> Result<Self, ScoreError> {
        let difference = CrossedDifference::of(strata, resamples, seed)?;
        let p = difference.p_value().max(crossed_permutation(strata, swaps(rows), seed)?);
        Ok(Self { difference, p })
    }
}

/// With how many swaps a permutation test can show a difference in a table of so many rows: its smallest p-value, 1 / (swaps + 1),
/// times the rows is at most half of [`ALPHA`].
fn swaps(rows: usize) -> u32 {
    let least = 2.0 * rows as f64 / ALPHA;
    SWAPS.max(least as u32)
}

/// The verdicts of a table: Holm's correction is for all of its rows. `margin` is a fraction of 1.
///
/// # Panics
/// If the margin is not above 0.
#[must_use]
pub fn judge(rows: Vec<Measured>, margin: f64) -> Vec<Judged> {
    assert!(margin > 0.0, "a margin of {margin} is not above 0");
    let p_values: Vec<f64> = rows.iter().map(|row| row.p).collect();
    let alpha = ALPHA / rows.len().max(1) as f64;
    let one = |(row, holm_p): (Measured, f64)| {
        let Measured { difference, p } = row;
        let equivalence_p = difference.p_equivalent(margin);
        let within_margin = equivalence_p <= ALPHA;
        let verdict = match difference.seeds() {
            1 => Verdict::Undecided,
            _ if holm_p <= ALPHA && difference.value > 0.0 => Verdict::Better,
            _ if holm_p <= ALPHA => Verdict::Worse,
            _ if within_margin => Verdict::Equivalent,
            _ => Verdict::Undecided,
        };
        let undecided = verdict == Verdict::Undecided;
        let needed = undecided.then(|| needed(&difference, margin, alpha)).flatten();
        let interval = difference.interval(1.0 - ALPHA);
        Judged { interval, p, holm_p, equivalence_p, verdict, within_margin, needed, difference }
    };
    rows.into_iter().zip(holm(&p_values)).map(one).collect()
}

/// How large a study must be so that it shows the observed difference, or that it is within the margin, with the
/// probability [`POWER`]. `alpha` is for the former. Nothing for one seed.
#[must_use]
pub fn needed(difference: &CrossedDifference, margin: f64, alpha: f64) -> Option<Needed> {
    let design = Design::of(difference)?;
    let decides = |seeds: usize, sentences: usize| design.decides(seeds, sentences, margin, alpha);
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

/// The variances of a single seed and a single sentence, for studies of other sizes.
struct Design {
    value: f64,
    of_seed: f64,
    of_sentence: f64,
    of_both: f64,
}

impl Design {
    fn of(difference: &CrossedDifference) -> Option<Self> {
        let parts = difference.variance;
        let (seeds, sentences) = (difference.seeds() as f64, difference.sentences as f64);
        Some(Self {
            value: difference.value.abs(),
            of_seed: seeds * (parts.seeds? - parts.interaction).max(0.0),
            of_sentence: sentences * (parts.sentences - parts.interaction).max(0.0),
            of_both: seeds * sentences * parts.interaction,
        })
    }

    fn decides(&self, seeds: usize, sentences: usize, margin: f64, alpha: f64) -> bool {
        let (n_seeds, n_sentences) = (seeds as f64, sentences as f64);
        let interaction = self.of_both / n_seeds / n_sentences;
        let of_sentences = self.of_sentence / n_sentences + interaction;
        let of_seeds = self.of_seed / n_seeds;
        let error = (of_seeds + of_sentences).sqrt();
        let parts =
            VarianceParts { seeds: Some(of_seeds + interaction), sentences: of_sentences, interaction };
        let half = |confidence| half_width(confidence, &parts, [seeds - 1, sentences - 1]);
        let differs = self.value >= half(1.0 - alpha) + normal_quantile(POWER) * error;
        // Both ends of the interval must lie within the margin.
        let room = margin - half(1.0 - 2.0 * ALPHA);
        let within = |value: f64| normal_cdf((room - value) / error);
        differs || within(self.value) + within(-self.value) - 1.0 >= POWER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::RESAMPLES;

    /// Gains of every third sentence by seed, plus one word in so many sentences.
    fn stratum(seeds: usize, sentences: usize, every: usize, spread: f64) -> Stratum {
        let gain = |seed: usize, at: usize| {
            let noise = [0.0, 1.0, -1.0][(at * 5 + at / 7) % 3];
            let shift = spread * (seed as f64 - (seeds as f64 - 1.0) / 2.0);
            let more = if every > 0 && at.is_multiple_of(every) { 1.0 } else { 0.0 };
            noise + shift + more
        };
        let gains: Vec<Vec<f64>> =
            (0..seeds).map(|seed| (0..sentences).map(|at| gain(seed, at)).collect()).collect();
        Stratum::new(vec![20; sentences], &gains).expect("a stratum")
    }

    fn verdict(stratum: Stratum) -> Judged {
        let row = Measured::of(&[stratum], 1, RESAMPLES, 0).expect("a row");
        judge(vec![row], 0.005).remove(0)
    }

    #[test]
    fn a_clear_difference_is_better_and_one_seed_shows_nothing() {
        let clear = verdict(stratum(3, 300, 2, 0.01));
        assert_eq!((clear.verdict, clear.within_margin, clear.needed), (Verdict::Better, false, None));
        let one = verdict(stratum(1, 300, 2, 0.0));
        assert!(one.p < 0.001 && one.interval[0] > 0.0);
        assert_eq!((one.verdict, one.needed), (Verdict::Undecided, None));
    }

    #[test]
    fn equal_systems_on_many_sentences_are_equivalent() {
        let same = verdict(stratum(3, 900, 0, 0.005));
        assert_eq!((same.verdict, same.within_margin), (Verdict::Equivalent, true));
        assert!(same.equivalence_p < 0.05 && same.p > 0.05);
    }

    #[test]
    fn too_small_a_study_says_what_would_decide() {
        let few = verdict(stratum(3, 60, 6, 0.02));
        assert_eq!(few.verdict, Verdict::Undecided);
        let needed = few.needed.expect("a size");
        let sentences = needed.sentences.expect("more sentences suffice");
        assert!(sentences > 60 && sentences < 5_000, "{needed:?}");
        // Seeds that differ by several points: more sentences do not help.
        let far = verdict(stratum(3, 600, 6, 1.5));
        assert_eq!(far.verdict, Verdict::Undecided);
        let needed = far.needed.expect("a size");
        assert_eq!(needed.sentences, None);
        assert!(needed.seeds.is_none_or(|seeds| seeds > 5), "{needed:?}");
    }

    #[test]
    fn holm_is_over_the_table() {
        let row = |every| Measured::of(&[stratum(3, 100, every, 0.01)], 4, RESAMPLES, 0).expect("a row");
        let alone = judge(vec![row(8)], 0.005).remove(0);
        let among = judge(vec![row(8), row(0), row(0), row(0)], 0.005).remove(0);
        assert!(among.holm_p > alone.holm_p && among.p == alone.p);
    }

    #[test]
    fn a_clear_difference_is_shown_in_a_table_of_any_size() {
        let rows = 1_000;
        let clear = Measured::of(&[stratum(3, 300, 1, 0.01)], rows, RESAMPLES, 0).expect("a row");
        let rest = Measured::of(&[stratum(3, 100, 0, 0.01)], rows, RESAMPLES, 0).expect("a row");
        let table = std::iter::once(clear).chain(std::iter::repeat_n(rest, rows - 1)).collect();
        assert_eq!(judge(table, 0.005)[0].verdict, Verdict::Better);
    }

    /// Studies of the proposed size in which the observed difference is the true one.
    #[test]
    fn a_study_of_the_proposed_size_decides_with_the_promised_probability() {
        for value in [0.0, 0.0005, 0.001, 0.002, 0.003] {
            let design = Design { value, of_seed: 0.0, of_sentence: 0.25, of_both: 0.0 };
            let (margin, seeds) = (0.005, 3);
            let decides = |sentences: &usize| design.decides(seeds, *sentences, margin, ALPHA);
            let sentences = (1_000..).step_by(100).find(decides).expect("a number of sentences");
            let error = (design.of_sentence / sentences as f64).sqrt();
            let parts = VarianceParts { seeds: Some(0.0), sentences: error * error, interaction: 0.0 };
            let half = |confidence| half_width(confidence, &parts, [seeds - 1, sentences - 1]);
            let stream = frostline_random::Stream::new(7, "studies");
            let studies = 20_000;
            let decided = (0..studies).filter(|&study| {
                let found = value + error * normal_quantile(stream.unit(study).max(1e-12));
                found.abs() >= half(1.0 - ALPHA) || found.abs() <= margin - half(1.0 - 2.0 * ALPHA)
            });
            let share = decided.count() as f64 / studies as f64;
            assert!(share >= POWER - 0.01, "{share} decided at {value} with {sentences} sentences");
        }
    }
}
