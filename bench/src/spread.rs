//! Summarises repeated measurements by minimum, median and maximum.
//!
//! The median is used instead of the mean, so that one disturbed round does not change the main figure.

/// Least, middle and greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ValueSpread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

impl ValueSpread {
    /// Returns the spread of some values; `None` if there are none.
    pub(crate) fn of_values(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let upper = values[values.len() / 2];
        let lower = values[(values.len() - 1) / 2];
        Some(Self { min, median: f64::midpoint(lower, upper), max })
    }

    /// `4.12x (3.90 to 4.31)`.
    pub(crate) fn format_times(&self) -> String {
        format!("{:.2}x ({:.2} to {:.2})", self.median, self.min, self.max)
    }
}

/// A number with three significant digits, or with all digits before the decimal point.
pub(crate) fn format_figure(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    if decimals == 0 && value >= 1000.0 {
        return frostline_sweep::units::group_thousands(value.round() as u64);
    }
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_odd_and_even_counts() {
        let spread = |values: &[f64]| ValueSpread::of_values(values.iter().copied());
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(ValueSpread { min: 1.0, median: 2.0, max: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), Some(ValueSpread { min: 1.0, median: 2.5, max: 4.0 }));
        assert_eq!(spread(&[5.0]).expect("one").format_times(), "5.00x (5.00 to 5.00)");
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[f64::NAN]), None);
    }

    #[test]
    fn figures_have_three_digits() {
        let shown = [12_544.4, 398.6, 39.86, 3.986, 0.3986].map(format_figure);
        assert_eq!(shown, ["12,544", "399", "39.9", "3.99", "0.399"]);
    }
}
