//! Random numbers as a pure function of *(seed, stream name, counter)*.
//!
//! There is no generator to save, restore or share: a [`Stream`] is a key, and the number at a
//! counter is the same on every thread and in every order. This makes a
//! training run repeat bit for bit on any number of threads, and a checkpoint small.
//!
//! ```
//! use frostline_random::Stream;
//!
//! let shuffle = Stream::new(42, "shuffle").child(3); // epoch 3 of the run with seed 42
//! assert_eq!(shuffle.permutation(5), Stream::new(42, "shuffle").child(3).permutation(5));
//! assert_ne!(shuffle.bits(0), Stream::new(43, "shuffle").child(3).bits(0));
//! ```
//!
//! Do not use it for cryptography. It reads no clock, device or global state.
//!
//! # Source
//! `bits` is SplitMix64 (Steele, Lea and Flood, 2014) with random access; [`hash32`] is the
//! 32-bit finaliser `lowbias32` (Wellons, 2018), chosen because it vectorises.
#![forbid(unsafe_code)]

/// The golden-ratio increment of SplitMix64.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finaliser: every output bit depends on every input bit.
#[inline]
#[must_use]
pub const fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns a light 32-bit hash of `(key, counter)` for inner loops such as dropout masks.
#[inline(always)]
#[must_use]
pub const fn hash32(key: u32, counter: u32) -> u32 {
    let mut x = counter.wrapping_mul(0x9E37_79B9) ^ key;
    x ^= x >> 16;
    x = x.wrapping_mul(0x7FEB_352D);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846C_A68B);
    x ^ (x >> 16)
}

/// One named stream of random numbers, addressed by counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// Returns the stream called `name` of the experiment with this `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mut key = mix64(seed.wrapping_add(GAMMA));
        for byte in name.bytes() {
            key = mix64(key ^ u64::from(byte)).wrapping_add(GAMMA);
        }
        Self { key }
    }

    /// Returns the sub-stream with this number: an epoch, a step, a layer.
    #[must_use]
    pub const fn child(self, number: u64) -> Self {
        let key = mix64(self.key ^ mix64(number.wrapping_add(GAMMA)));
        Self { key }
    }

    /// Returns the stream's key, for code with its own hash function (see [`hash32`]).
    #[must_use]
    pub const fn key(self) -> u64 {
        self.key
    }

    /// 64 uniform bits at `counter`.
    #[inline]
    #[must_use]
    pub const fn bits(self, counter: u64) -> u64 {
        mix64(self.key.wrapping_add(counter.wrapping_add(1).wrapping_mul(GAMMA)))
    }

    /// Returns a uniform number in `[0, 1)` with 53 bits.
    #[inline]
    #[must_use]
    pub fn unit(self, counter: u64) -> f64 {
        (self.bits(counter) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a uniform integer in `0..n`; its bias is below `n / 2^64`.
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    #[must_use]
    pub fn below(self, counter: u64, n: u64) -> u64 {
        assert!(n > 0, "cannot draw a number below 0");
        ((u128::from(self.bits(counter)) * u128::from(n)) >> 64) as u64
    }

    /// Returns a standard normal number (Box-Muller).
    #[must_use]
    pub fn normal(self, counter: u64) -> f64 {
        let pair = self.child(counter);
        let radius = (-2.0 * libm::log(1.0 - pair.unit(0))).sqrt();
        radius * libm::cos(std::f64::consts::TAU * pair.unit(1))
    }

    /// Returns a uniform permutation of `0..n` (Fisher-Yates).
    #[must_use]
    pub fn permutation(self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i as u64, i as u64 + 1) as usize);
        }
        order
    }

    /// Returns `k` distinct numbers of `0..n` in ascending order; all of them if `k >= n`.
    #[must_use]
    pub fn sample(self, n: usize, k: usize) -> Vec<usize> {
        let mut chosen = self.permutation(n);
        chosen.truncate(k);
        chosen.sort_unstable();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_name_child_and_counter() {
        let base = Stream::new(1, "a");
        let others = [Stream::new(2, "a"), Stream::new(1, "b"), base.child(0), base.child(1)];
        for other in others {
            assert_ne!(base.bits(0), other.bits(0));
        }
        assert_ne!(base.bits(0), base.bits(1));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let stream = Stream::new(7, "moments");
        let n = 100_000;
        let mean = |f: &dyn Fn(u64) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
        assert!((mean(&|i| stream.unit(i)) - 0.5).abs() < 0.005);
        assert!(mean(&|i| stream.normal(i)).abs() < 0.02);
        assert!((mean(&|i| stream.normal(i).powi(2)) - 1.0).abs() < 0.03);
        let ones = mean(&|i| f64::from(hash32(9, i as u32) >> 31));
        assert!((ones - 0.5).abs() < 0.005);
    }

    #[test]
    fn permutations_are_complete_and_have_few_fixed_points() {
        let order = Stream::new(3, "p").permutation(1000);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
        let fixed = order.iter().enumerate().filter(|(i, v)| i == *v).count();
        assert!(fixed < 10, "{fixed} fixed points");
    }

    #[test]
    fn samples_are_ascending_and_bounded() {
        let stream = Stream::new(3, "s");
        let some = stream.sample(10, 4);
        assert_eq!(some.len(), 4);
        assert!(some.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(stream.sample(3, 9), vec![0, 1, 2]);
    }

    #[test]
    fn known_values_never_change() {
        // A changed value would silently change every experiment ever run.
        assert_eq!(mix64(1), 0x5692_161D_100B_05E5);
        assert_eq!(Stream::new(42, "shuffle").bits(0), 0xFB88CF1608073477);
    }
}
