//! Many tests at once: Holm's correction.
//!
//! Owns family-wise adjustment of p-values. Refuses numbers that are no p-values.

/// Holm's adjusted p-values, in the order given: all tests whose adjusted value is at most `α` may
/// be called significant with a chance of at most `α` of any false one.
///
/// NaN stands for a test that was not made: it stays NaN and does not count.
///
/// # Panics
/// Where a value is below 0 or above 1.
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
        assert!((0.0..=1.0).contains(&p), "{p} is no p-value");
        largest = largest.max((order.len() - rank) as f64 * p).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_multiplied_by_what_is_left_and_never_fall() {
        assert_eq!(holm(&[0.5, 0.125, 0.25]), [0.5, 0.375, 0.5]);
        assert_eq!(holm(&[0.75, 0.5]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_test_not_made_does_not_count() {
        let adjusted = holm(&[0.25, f64::NAN, 0.125]);
        assert_eq!((adjusted[0], adjusted[2]), (0.25, 0.25));
        assert!(adjusted[1].is_nan());
    }
}
