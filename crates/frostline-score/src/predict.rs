//! The range of a next value, from values of the same kind that were measured before.

use crate::interval::checked_confidence;
use crate::student::{MeanInterval, two_sided};
use crate::summary::mean_std;

/// Returns the mean of earlier values and the interval in which the next one lies with this confidence: Student's, wider than the
/// interval of the mean, which says where the mean of many values lies.
///
/// Values of a group (several measurements of one treebank) resemble each other, so that only the number of `groups` counts. The
/// interval is missing for fewer than three groups, and the result is `None` without values.
///
/// ```
/// use frostline_score::predict::prediction_interval;
///
/// let next = prediction_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 5, 0.9).expect("five values");
/// let [low, high] = next.interval.expect("five groups");
/// // 3 ± 2.132 · 1.581 · √(1 + 1/5)
/// assert!((low - (3.0 - 3.692)).abs() < 1e-3 && (high - (3.0 + 3.692)).abs() < 1e-3);
/// ```
///
/// # Panics
/// If `confidence` is not between 0 and 1.
///
/// # Source
/// Hahn and Meeker, *Statistical Intervals* (1991), section 4.7.
#[must_use]
pub fn prediction_interval(values: &[f64], groups: usize, confidence: f64) -> Option<MeanInterval> {
    let confidence = checked_confidence(confidence);
    if values.is_empty() {
        return None;
    }
    let (mean, std) = mean_std(values);
    let interval = (groups > 2 && std.is_finite()).then(|| {
        let half = two_sided(confidence, groups - 1) * std * (1.0 + 1.0 / groups as f64).sqrt();
        [mean - half, mean + half]
    });
    Some(MeanInterval { n: values.len(), mean, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_groups_have_no_interval_and_more_make_it_narrower() {
        assert_eq!(prediction_interval(&[], 0, 0.9), None);
        let two = prediction_interval(&[1.0, 2.0, 3.0, 4.0], 2, 0.9).expect("values");
        assert_eq!((two.mean, two.interval), (2.5, None));
        let width = |groups| {
            let [low, high] = prediction_interval(&[1.0, 2.0, 3.0, 4.0], groups, 0.9)?.interval?;
            Some(high - low)
        };
        assert!(width(4).expect("an interval") < width(3).expect("an interval"));
    }
}
