//! Whether two lists order the same things alike.
//!
//! # Source
//! Spearman, *The proof and measurement of association between two things* (1904).

use crate::student::two_sided;

/// Up to so many things, all orders are tried.
const MOST_PERMUTED: usize = 8;

/// Returns Spearman's rank correlation, from -1 (opposite orders) to 1 (the same order). Equal values share the mean of their
/// places. The result is `None` for fewer than two pairs, or if all values of a list are equal.
///
/// ```
/// use frostline_score::rank::rank_correlation;
///
/// assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[0.1, 5.0, 7.0]), Some(1.0));
/// assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[7.0, 5.0, 0.1]), Some(-1.0));
/// ```
///
/// # Panics
/// If the lists have different lengths.
#[must_use]
pub fn rank_correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    assert_eq!(one.len(), other.len(), "values are compared in pairs");
    let (one, other) = (ranks(one), ranks(other));
    let mean = (one.len() as f64 - 1.0) / 2.0;
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let spread = (sum(&one, &one) * sum(&other, &other)).sqrt();
    (spread > 0.0).then(|| (sum(&one, &other) / spread).clamp(-1.0, 1.0))
}

/// The place of each value in ascending order, from 0; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let place = |value: &f64| {
        let below = values.iter().filter(|other| other.total_cmp(value).is_lt()).count();
        let equal = values.iter().filter(|other| other.total_cmp(value).is_eq()).count();
        below as f64 + (equal as f64 - 1.0) / 2.0
    };
    values.iter().map(place).collect()
}

/// Returns the lowest rank correlation that at most one in twenty random orders of this many things reaches: exactly for up to 8
/// things, otherwise by the approximation with Student's distribution. The result is `None` for fewer than 4, of which more than
/// one order in twenty is the right one.
#[must_use]
pub fn chance_correlation(count: usize) -> Option<f64> {
    if count < 4 {
        return None;
    }
    if count > MOST_PERMUTED {
        let freedom = count - 2;
        let t = two_sided(0.9, freedom);
        return Some(t / (freedom as f64 + t * t).sqrt());
    }
    let order: Vec<f64> = (0..count).map(|place| place as f64).collect();
    let mut all = Vec::new();
    each_order(&mut order.clone(), count, &mut |other| all.extend(rank_correlation(&order, other)));
    all.sort_by(|a, b| b.total_cmp(a));
    // Equal correlations are reached together.
    let most = all.len() / 20;
    let beyond = all[most];
    all[..most].iter().rev().copied().find(|value| *value > beyond + 1e-9)
}

/// Heap's algorithm: every order of the first `count` values.
fn each_order(values: &mut Vec<f64>, count: usize, visit: &mut impl FnMut(&[f64])) {
    if count <= 1 {
        return visit(values);
    }
    for at in 0..count {
        each_order(values, count - 1, visit);
        if at + 1 < count {
            values.swap(if count.is_multiple_of(2) { at } else { 0 }, count - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_mean_of_their_places() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 7.0]), [1.5, 0.0, 1.5, 3.0]);
        // scipy.stats.spearmanr([1, 2, 2, 4, 9], [3, 1, 4, 4, 8]) = 0.7631578947368421
        let found = rank_correlation(&[1.0, 2.0, 2.0, 4.0, 9.0], &[3.0, 1.0, 4.0, 4.0, 8.0]);
        assert!((found.expect("a correlation") - 0.763_157_894_736_842_1).abs() < 1e-12, "{found:?}");
        assert_eq!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(rank_correlation(&[1.0], &[1.0]), None);
        assert_eq!(rank_correlation(&[], &[]), None);
    }

    /// The critical values of published tables (Zar, *Biostatistical Analysis*, one tail of 5 %): 1.000, 0.900, 0.829, 0.714, 0.643
    /// for 4 to 8 pairs; 0.503 for 12.
    #[test]
    fn what_chance_reaches_is_in_published_tables() {
        let expected = [(4, 1.0), (5, 0.9), (6, 0.829), (7, 0.714), (8, 0.643)];
        for (count, value) in expected {
            let found = chance_correlation(count).expect("a value");
            assert!((found - value).abs() < 0.0006, "{count}: {found}");
        }
        assert!((chance_correlation(12).expect("a value") - 0.503).abs() < 0.01);
        assert_eq!(chance_correlation(3), None);
    }
}
