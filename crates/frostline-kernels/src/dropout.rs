//! Dropout without random state: whether a unit is dropped is a hash of its position.

use frostline_random::{hash32, mix64};

/// A dropout site at one step of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    rate: f32,
    key: u64,
}

impl Dropout {
    /// No dropout.
    pub const OFF: Self = Self { rate: 0.0, key: 0 };

    /// Drops with probability `rate`, in [0, 1); `key` identifies run, step and site.
    ///
    /// # Panics
    /// If the rate is outside [0, 1).
    #[must_use]
    pub fn new(rate: f32, key: u64) -> Self {
        assert!((0.0..1.0).contains(&rate), "a dropout rate of {rate} is outside [0, 1)");
        Self { rate, key }
    }

    /// Whether nothing is dropped.
    #[must_use]
    pub fn is_off(self) -> bool {
        self.rate == 0.0
    }

    /// The mask of the row with this identity; `part` distinguishes heads within a row.
    #[must_use]
    #[inline]
    pub fn row(self, identity: u64, part: u64) -> RowMask {
        let (key, threshold, scale) = self.words();
        let key = mix64(key ^ identity ^ part.wrapping_mul(0x9E37_79B9_7F4A_7C15)) as u32;
        RowMask { key, threshold, scale }
    }

    /// The key, the hash below which a unit is dropped, and the factor of the others.
    #[inline]
    pub(crate) fn words(self) -> (u64, u32, f32) {
        (self.key, (f64::from(self.rate) * 4_294_967_296.0) as u32, 1.0 / (1.0 - self.rate))
    }
}

/// The mask of one row.
#[derive(Clone, Copy, Debug)]
pub struct RowMask {
    key: u32,
    threshold: u32,
    scale: f32,
}

impl RowMask {
    /// The factor of the unit at `channel`: 0, or 1 / (1 - rate).
    #[inline(always)]
    #[must_use]
    pub fn factor(self, channel: usize) -> f32 {
        if hash32(self.key, channel as u32) >= self.threshold { self.scale } else { 0.0 }
    }

    /// The key, the hash below which a unit is dropped, and the factor of the others.
    #[cfg(feature = "flex")]
    #[inline(always)]
    pub(crate) const fn words(self) -> (u32, u32, f32) {
        (self.key, self.threshold, self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_preserved_and_rows_differ() {
        let site = Dropout::new(0.1, 99);
        let n = 100_000;
        let mean = (0..n).map(|i| f64::from(site.row(7, 0).factor(i))).sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let row =
            |identity, part| (0..64).map(|i| site.row(identity, part).factor(i) > 0.0).collect::<Vec<_>>();
        assert_ne!(row(1, 0), row(2, 0));
        assert_ne!(row(1, 0), row(1, 1));
        assert!((0..64).all(|i| Dropout::OFF.row(1, 0).factor(i) == 1.0));
    }
}
