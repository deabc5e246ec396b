//! Variances between seeds, moderated across the comparisons of a study: two or three seeds contain little
//! information about the scatter of seeds, but all comparisons of a study together contain more.
//!
//! A comparison's variance between seeds cannot be smaller than the effect of its seeds on single sentences
//! (the [interaction](crate::crossed::VarianceParts::interaction)), which many sentences estimate well. The
//! ratio of the two is similar for all comparisons of one study, except that policies which differ more also
//! scatter more. Each comparison is therefore given a *prior variance*: its interaction, times a trend over the
//! size of its difference, times the mean ratio of the study. The *moderated variance* is the mean of the prior
//! variance and the comparison's own, weighted by [`PRIOR_FREEDOM`] and by the seeds minus 1.
//!
//! The constants were chosen with the records of many sweeps, and [`seed_freedom`] was calibrated in simulations
//! (`docs/statistics.md`).
//!
//! # Source
//! Smyth, *Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray Experiments*
//! (2004), for moderated variances, with a prior from many studies in place of one from thousands of rows.

use crate::crossed::CrossedDifference;

/// Weight of the prior variance, in degrees of freedom.
pub const PRIOR_FREEDOM: f64 = 1.5;

/// The largest number of degrees of freedom that the other comparisons of a table add.
const MOST_BORROWED: f64 = 1.6;

/// How much more seeds scatter in a study than sentences alone explain. It is computed from all comparisons of the study and
/// lends strength to each of its tables.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeedScatter {
    /// Mean ratio of the variance between seeds to what the interaction and the trend predict; 0 if nothing is known.
    ratio: f64,
}

impl SeedScatter {
    /// Returns the scatter of all comparisons that have at least two seeds, over all tables of a study.
    #[must_use]
    pub fn of<'a>(comparisons: impl IntoIterator<Item = &'a CrossedDifference>) -> Self {
        let (mut sum, mut count) = (0.0, 0.0);
        for ratio in comparisons.into_iter().filter_map(variance_ratio) {
            sum += ratio;
            count += 1.0;
        }
        Self { ratio: if count > 0.0 { sum / count } else { 0.0 } }
    }

    /// Returns the larger scatter, so that a table whose seeds scatter more than the study's is judged by its
    /// own scatter.
    #[must_use]
    pub fn or_larger(self, other: Self) -> Self {
        Self { ratio: self.ratio.max(other.ratio) }
    }

    /// Returns the moderated variance of a mean over seeds; absent for one seed.
    #[must_use]
    pub fn moderated_variance(self, difference: &CrossedDifference) -> Option<f64> {
        let own = difference.variance.seeds?;
        let freedom = difference.seeds() as f64 - 1.0;
        let least = least_variance(difference);
        let prior = (predicted_variance(difference) * self.ratio).max(least);
        Some(((PRIOR_FREEDOM * prior + freedom * own) / (PRIOR_FREEDOM + freedom)).max(least))
    }
}

/// Degrees of freedom of a moderated variance in a table of so many rows, for Dunnett's quantile.
///
/// The number is smaller than `seeds - 1 + PRIOR_FREEDOM` for small tables, since the study's ratio is then estimated from few
/// rows. It is calibrated: the probability of a false verdict anywhere in a table is at most 5 % on average over the
/// patterns of our records, and at most 8 % in the worst pattern that was tried.
#[must_use]
pub fn seed_freedom(seeds: usize, rows: usize) -> f64 {
    let borrowed = 0.6 + 0.4 * (rows.max(1) as f64 - 1.0);
    seeds as f64 - 1.0 + borrowed.min(MOST_BORROWED)
}

/// Returns the least variance of a mean over seeds: the effect of seeds on single sentences, or one unseen
/// word.
pub(crate) fn least_variance(difference: &CrossedDifference) -> f64 {
    difference.variance.interaction.max(difference.unseen).max(1e-18)
}

/// Returns the variance predicted by the interaction and the trend, up to the study's ratio. Policies whose
/// difference is large compared with the effect of a seed on single sentences scatter more.
fn predicted_variance(difference: &CrossedDifference) -> f64 {
    let least = least_variance(difference);
    let of_one_seed = (least * difference.seeds() as f64).sqrt();
    least * (difference.value.abs() / of_one_seed + 1.0).sqrt()
}

/// Returns the variance between seeds over its prediction. A comparison on which all seeds agree to the last
/// word contains no information about others: its policy usually equals the baseline.
fn variance_ratio(difference: &CrossedDifference) -> Option<f64> {
    let own = difference.variance.seeds.filter(|own| *own > 0.0)?;
    Some(own / predicted_variance(difference))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::VarianceParts;

    /// Two or more seeds with these differences, in which sentences alone make a seed scatter by `scatter`.
    fn difference_between_seeds(by_seed: &[f64], scatter: f64) -> CrossedDifference {
        let interaction = scatter * scatter / by_seed.len() as f64;
        let parts = VarianceParts { seeds: None, sentences: interaction, interaction };
        CrossedDifference::from_parts(by_seed.to_vec(), 1_000, parts).expect("a difference")
    }

    #[test]
    fn a_row_with_lucky_seeds_borrows_scatter_and_one_with_wild_seeds_lends_it() {
        let lucky = difference_between_seeds(&[-0.0300, -0.0300001], 0.001);
        let wild = difference_between_seeds(&[-0.020, -0.030], 0.001);
        let alone = SeedScatter::of([&lucky]).moderated_variance(&lucky).expect("two seeds");
        let among = SeedScatter::of([&lucky, &wild]).moderated_variance(&lucky).expect("two seeds");
        assert!((alone - 0.5e-6).abs() < 1e-9, "the floor: what sentences alone do to two seeds, {alone}");
        assert!(among > 5.0 * alone, "{among}, {alone}");
        let own = wild.variance.seeds.expect("two seeds");
        let moderated = SeedScatter::of([&lucky, &wild]).moderated_variance(&wild).expect("two seeds");
        assert!(moderated < own && moderated > 0.4 * own, "{moderated}, {own}");
    }

    /// limma's squeezeVar(c(1, 2, 6), df = 2) with df.prior = 1.5 and var.prior = 3 gives (1.5 * 3 + 2 * var) / 3.5.
    #[test]
    fn the_moderated_variance_is_smyths_with_a_prior_from_the_mean_ratio() {
        // Differences of 0, so that the trend is 1; variances of the mean 1, 2 and 6 times the interaction.
        let of = |variance: f64| {
            let side = (3.0 * variance).sqrt();
            difference_between_seeds(&[-side, 0.0, side], 3f64.sqrt())
        };
        let rows = [of(1.0), of(2.0), of(6.0)];
        let scatter = SeedScatter::of(&rows);
        for (row, own) in rows.iter().zip([1.0, 2.0, 6.0]) {
            let expected = (1.5 * 3.0 + 2.0 * own) / 3.5;
            let found = scatter.moderated_variance(row).expect("three seeds");
            assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
        }
    }

    #[test]
    fn rows_without_a_difference_lend_nothing_and_one_seed_has_no_variance() {
        let same = difference_between_seeds(&[0.0, 0.0, 0.0], 0.001);
        let other = difference_between_seeds(&[0.004, 0.002, 0.003], 0.001);
        assert_eq!(SeedScatter::of([&same, &other]), SeedScatter::of([&other]));
        assert_eq!(SeedScatter::of([&same]), SeedScatter::default());
        assert_eq!(
            SeedScatter::of([&other]).moderated_variance(&difference_between_seeds(&[0.1], 0.001)),
            None
        );
    }

    #[test]
    fn freedom_grows_with_seeds_and_with_the_table() {
        assert!((seed_freedom(2, 1) - 1.6).abs() < 1e-12 && (seed_freedom(2, 4) - 2.6).abs() < 1e-12);
        assert!(seed_freedom(3, 4) > seed_freedom(2, 4));
        assert_eq!(seed_freedom(2, 4), seed_freedom(2, 40));
    }
}
