//! Multiple comparisons: Holm's correction of p-values for the family-wise error rate.

/// Holm's adjusted p-values, in the order of `p_values`: if all tests whose adjusted value is at most
/// `α` are called significant, the probability of any false one is at most `α`.
///
/// NaN marks a test that was not performed: it stays NaN and does not count.
///
/// # Panics
/// If a value is below 0 or above 1.
///
/// # Source
/// Holm, *A Simple Sequentially Rejective Multiple Test Procedure* (1979).
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&i| !p_values[i].is_nan()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut largest = 0.0f64;
    for (rank, &i) in order.iter().enumerate() {
        let p = p_values[i];
        assert!((0.0..=1.0).contains(&p), "{p} is not a p-value");
        largest = largest.max((order.len() - rank) as f64 * p).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_multiplied_by_the_remaining_tests_and_never_decrease() {
        assert_eq!(holm(&[0.5, 0.125, 0.25]), [0.5, 0.375, 0.5]);
        assert_eq!(holm(&[0.75, 0.5]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_test_that_was_not_performed_does_not_count() {
        let adjusted = holm(&[0.25, f64::NAN, 0.125]);
        assert_eq!((adjusted[0], adjusted[2]), (0.25, 0.25));
        assert!(adjusted[1].is_nan());
    }
}
