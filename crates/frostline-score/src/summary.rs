//! Mean and standard deviation across runs.

/// Mean and sample standard deviation (with `n - 1` in the denominator).
///
/// The mean of an empty sample and the deviation of fewer than two values are NaN. The deviation of a
/// constant sample is exactly 0.
#[must_use]
pub fn mean_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    // Summing a constant may round; its deviation must still be 0.
    if values.len() > 1 && values.iter().all(|&v| v == values[0]) {
        return (values[0], 0.0);
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let std = if values.len() < 2 { f64::NAN } else { (squares / (n - 1.0)).sqrt() };
    (mean, std)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_sample_deviation() {
        let (mean, std) = mean_std(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(mean, 5.0);
        assert!((std - (32.0f64 / 7.0).sqrt()).abs() < 1e-15);
        assert_eq!(mean_std(&[0.1, 0.1, 0.1]), (0.1, 0.0));
    }

    #[test]
    fn too_few_values_give_nan() {
        let (mean, std) = mean_std(&[0.9]);
        assert_eq!(mean, 0.9);
        assert!(std.is_nan());
        let (mean, std) = mean_std(&[]);
        assert!(mean.is_nan() && std.is_nan());
    }
}
