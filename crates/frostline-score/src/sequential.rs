//! Looking at a study while it grows: which level each look may use, so that all looks together have one error rate.
//!
//! A study that is judged after two seeds, after three and so on, and ends at the first verdict, has several chances of a
//! false one. *Alpha spending* divides the allowed probability among the looks: by the time that a share `t` of the planned
//! information is there, at most `α(t)` may have been spent. The level of a look follows from its spending by the joint
//! distribution of the looks, that of a Brownian motion at the times `t`.
//!
//! Looks of our design have a larger correlation than that, since all of them contain the same sentences, so that these
//! levels are on the safe side; simulations of the whole procedure are in `docs/statistics.md`.
//!
//! # Source
//! Lan and DeMets, *Discrete Sequential Boundaries for Clinical Trials* (1983), for spending; Armitage, McPherson and Rowe,
//! *Repeated Significance Tests on Accumulating Data* (1969), for the recursion; the two spending functions approximate the
//! boundaries of Pocock (1977) and of O'Brien and Fleming (1979),
//! the third one is Kim and DeMets, *Design and Analysis of Group Sequential Tests Based on the Type I Error Spending Rate
//! Function* (1987).

use crate::distribution::{normal_cdf, normal_quantile, root_of_decreasing};

/// The probability that any interval of a table does not contain its true difference.
pub const ALPHA: f64 = 0.05;

/// How the allowed probability is divided among looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spending {
    /// About the same level at each look, like Pocock's boundaries: most studies end early.
    Pocock,
    /// In proportion to the square of the information, between the two others.
    Quadratic,
    /// Little at early looks, like the boundaries of O'Brien and Fleming: the last look is nearly that of a study with one.
    OBrienFleming,
}

impl Spending {
    /// Returns the probability that may be spent until the share `t` of the information is there, of `alpha` in all.
    #[must_use]
    pub fn spent(self, alpha: f64, t: f64) -> f64 {
        match self {
            Self::Pocock => alpha * ((std::f64::consts::E - 1.0) * t).ln_1p(),
            Self::Quadratic => alpha * t * t,
            Self::OBrienFleming => 4.0 * normal_cdf(normal_quantile(alpha / 4.0) / t.sqrt()),
        }
        .min(alpha)
    }
}

/// Number of intervals of the grid on which a density is kept; even, for Simpson's rule.
const INTERVALS: usize = 400;

/// Returns the two-sided level of each look at these shares of the information, so that the probability of crossing any
/// boundary without an effect is `alpha`.
///
/// ```
/// use frostline_score::sequential::{Spending, look_levels};
///
/// // Five looks: the first boundary lies at 2.44 standard deviations, the last one at 2.39.
/// let levels = look_levels(Spending::Pocock, 0.05, &[0.2, 0.4, 0.6, 0.8, 1.0]);
/// assert!((levels[0] - 0.0148).abs() < 1e-4 && (levels[4] - 0.0170).abs() < 1e-4);
/// ```
///
/// # Panics
/// If the shares do not increase from above 0 to at most 1, or `alpha` is not between 0 and 1.
#[must_use]
pub fn look_levels(spending: Spending, alpha: f64, shares: &[f64]) -> Vec<f64> {
    assert!(alpha > 0.0 && alpha < 1.0, "a level of {alpha}");
    let increasing = shares.is_sorted_by(|a, b| a < b);
    let in_range = shares.iter().all(|share| *share > 0.0 && *share <= 1.0);
    assert!(increasing && in_range, "shares of information {shares:?}");
    let mut levels = Vec::new();
    let mut density: Option<Density> = None;
    let mut before = (0.0, 0.0);
    for &share in shares {
        let allowed = spending.spent(alpha, share) - before.1;
        let crossing = |bound: f64| match &density {
            None => 2.0 * normal_cdf(-bound),
            Some(density) => density.outside(bound * share.sqrt(), share - before.0),
        };
        let bound = root_of_decreasing(0.0, 40.0, |bound| crossing(bound).max(1e-300).ln() - allowed.ln());
        levels.push(2.0 * normal_cdf(-bound));
        density = Some(Density::inside(density.as_ref(), bound * share.sqrt(), share - before.0));
        before = (share, before.1 + allowed);
    }
    levels
}

/// Density of a Brownian motion that has crossed no boundary, between the last one's two ends.
struct Density {
    bound: f64,
    values: Vec<f64>,
}

impl Density {
    /// The density after `time` more, between `-bound` and `bound`.
    fn inside(before: Option<&Self>, bound: f64, time: f64) -> Self {
        let at = |place: usize| -bound + 2.0 * bound * place as f64 / INTERVALS as f64;
        let normal = |x: f64| (-0.5 * x * x / time).exp() / (std::f64::consts::TAU * time).sqrt();
        let value = |x: f64| before.map_or_else(|| normal(x), |before| before.integral(|y| normal(x - y)));
        Self { bound, values: (0..=INTERVALS).map(|place| value(at(place))).collect() }
    }

    /// The probability of being beyond `bound` on either side after `time` more.
    fn outside(&self, bound: f64, time: f64) -> f64 {
        let scale = time.sqrt();
        self.integral(|y| normal_cdf((y - bound) / scale) + normal_cdf((-bound - y) / scale))
    }

    /// The integral of the density times a function, by Simpson's rule.
    fn integral(&self, of: impl Fn(f64) -> f64) -> f64 {
        let width = 2.0 * self.bound / INTERVALS as f64;
        let weighted = self.values.iter().enumerate().map(|(place, value)| {
            let weight = match place {
                0 | INTERVALS => 1.0,
                _ if place % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * value * of(-self.bound + width * place as f64)
        });
        weighted.sum::<f64>() * width / 3.0
    }
}

/// The levels of a study of growing numbers of seeds, which is judged from two seeds on after each.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedLevels {
    /// Of two seeds, of three and so on.
    levels: Vec<f64>,
}

impl SeedLevels {
    /// One look, at whatever number of seeds there is: every number has the level [`ALPHA`].
    #[must_use]
    pub fn once() -> Self {
        Self { levels: vec![ALPHA] }
    }

    /// A look at each number of seeds from two to `most`, with [`ALPHA`] for all of them and [`Spending::Quadratic`]: in the
    /// simulations of `docs/statistics.md` it needs as few cells as Pocock's and answers nearly as often as one look does.
    #[must_use]
    pub fn planned(most: usize) -> Self {
        Self::up_to(most, Spending::Quadratic)
    }

    /// A look at each number of seeds from two to `most`, with [`ALPHA`] for all of them.
    #[must_use]
    pub fn up_to(most: usize, spending: Spending) -> Self {
        if most < 3 {
            return Self::once();
        }
        let shares: Vec<f64> = (2..=most).map(|seeds| seeds as f64 / most as f64).collect();
        Self { levels: look_levels(spending, ALPHA, &shares) }
    }

    /// Returns the planned number of seeds, if there are several looks.
    #[must_use]
    pub fn most_seeds(&self) -> Option<usize> {
        (self.levels.len() > 1).then_some(self.levels.len() + 1)
    }

    /// Returns the level of a comparison with so many seeds; beyond the planned number, that of the last look.
    #[must_use]
    pub fn of_seeds(&self, seeds: usize) -> f64 {
        self.levels[seeds.saturating_sub(2).min(self.levels.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(spending: Spending, shares: &[f64]) -> Vec<f64> {
        look_levels(spending, 0.05, shares).into_iter().map(|level| -normal_quantile(level / 2.0)).collect()
    }

    /// Boundaries of five looks as R's `ldbounds` gives them (two-sided, 0.05), also printed in Reboussin, DeMets, Kim and
    /// Lan, *Computations for Group Sequential Boundaries Using the Lan-DeMets Spending Function Method* (2000).
    #[test]
    fn boundaries_are_those_of_published_tables() {
        let shares = [0.2, 0.4, 0.6, 0.8, 1.0];
        let tables = [
            (Spending::OBrienFleming, [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]),
            (Spending::Pocock, [2.4380, 2.4268, 2.4101, 2.3966, 2.3859]),
        ];
        for (spending, expected) in tables {
            let found = bounds(spending, &shares);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 2e-4, "{spending:?}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn one_look_spends_everything_and_many_spend_no_more() {
        for spending in [Spending::Pocock, Spending::Quadratic, Spending::OBrienFleming] {
            assert!((look_levels(spending, 0.05, &[1.0])[0] - 0.05).abs() < 1e-9);
            assert!((spending.spent(0.05, 1.0) - 0.05).abs() < 1e-12);
            let levels = SeedLevels::up_to(5, spending);
            let sum: f64 = levels.levels.iter().sum();
            assert!(levels.levels.iter().all(|level| *level < 0.05) && sum > 0.05, "{levels:?}");
            assert_eq!(levels.of_seeds(9), levels.of_seeds(5));
        }
        assert_eq!(SeedLevels::up_to(2, Spending::Pocock), SeedLevels::once());
        assert_eq!(SeedLevels::once().of_seeds(7), 0.05);
    }

    /// The same boundaries crossed by simulated walks.
    #[test]
    fn walks_cross_the_boundaries_as_often_as_allowed() {
        let shares = [0.4, 0.6, 0.8, 1.0];
        let bounds = bounds(Spending::Pocock, &shares);
        let stream = frostline_random::Stream::new(3, "walks");
        let walks = 40_000_u64;
        let crosses = |walk: &u64| {
            let (mut place, mut before) = (0.0, 0.0);
            shares.iter().zip(&bounds).enumerate().any(|(look, (share, bound))| {
                place += f64::sqrt(share - before) * stream.child(*walk).normal(look as u64);
                before = *share;
                f64::abs(place) >= bound * share.sqrt()
            })
        };
        let rate = (0..walks).filter(crosses).count() as f64 / walks as f64;
        assert!((rate - 0.05).abs() < 0.004, "{rate}");
    }
}
