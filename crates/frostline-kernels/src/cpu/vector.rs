//! Sixteen numbers at once, for loops that the compiler does not turn into whole registers by itself.
//!
//! A kernel is written once over [`Simd`]; [`dispatched!`](crate::dispatch::dispatched) compiles it for each instruction set. An
//! operation is the same on all of them, lane by lane, and so are the bits of its result.

// Constants have the digits that their sources print.
#![allow(clippy::excessive_precision)]

use super::fma::fma;
use crate::dropout::RowMask;

/// Numbers at once, and partial sums of a sum whose order is fixed.
pub const LANES: usize = 16;

/// An instruction set. A value proves that this processor has it.
pub trait Simd: Copy {
    /// Sixteen numbers in registers.
    type Lanes: Lanes;
    /// Whether a multiply-add is one instruction. On x86, the processor then has AVX2.
    const FMA: bool;
    /// Rows, at most eight, and vectors of columns, at most two, of a tile of sums that fits into the registers.
    const TILE: [usize; 2];

    /// The number in all lanes.
    fn splat(self, value: f32) -> Self::Lanes;
    /// These numbers.
    fn load(self, numbers: [f32; LANES]) -> Self::Lanes;
    /// The [factors](RowMask::factor) of the units from `channel` on.
    fn factors(self, mask: RowMask, channel: usize) -> Self::Lanes;

    /// `a * b + c`, rounded once.
    #[inline(always)]
    fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        if Self::FMA { fma::<true>(a, b, c) } else { fma::<false>(a, b, c) }
    }
}

/// Sixteen numbers in registers.
pub trait Lanes: Copy {
    /// The numbers.
    fn to_array(self) -> [f32; LANES];
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// `self * factor + summand`, rounded once.
    fn mul_add(self, factor: Self, summand: Self) -> Self;
    /// The greater number of each lane: the other's where they are equal or one is NaN.
    fn max(self, other: Self) -> Self;
    /// The lesser number of each lane: the other's where they are equal or one is NaN.
    fn min(self, other: Self) -> Self;
    /// The first `n` lanes, and the others of `other`.
    fn keep_first(self, n: usize, other: Self) -> Self;
    /// 2ⁿ, where n is the whole number in the lowest bits.
    fn power_of_two(self) -> Self;
    /// The sum of all lanes: the lower half plus the upper one, then again.
    fn reduce_sum(self) -> f32;
    /// The greatest lane, of which none is NaN.
    fn reduce_max(self) -> f32;
}

/// e^x to about 2 ulp; inputs are clamped to the range of f32.
///
/// # Source
/// Cephes `expf` (Moshier).
#[inline(always)]
pub fn exp<S: Simd>(simd: S, x: S::Lanes) -> S::Lanes {
    let all = |value| simd.splat(value);
    // Adding 1.5 * 2^23 rounds to the nearest whole number.
    let round = all(12_582_912.0);
    let x = all(88.0).min(all(-87.0).max(x));
    let rounded = x.mul_add(all(std::f32::consts::LOG2_E), round);
    let n = rounded.sub(round);
    let r = n.mul_add(all(2.121_944_4e-4), n.mul_add(all(-0.693_359_375), x));
    let p = [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1];
    let p = polynomial(simd, 1.987_569_1e-4, p, r);
    p.mul(r).mul_add(r, r).add(all(1.0)).mul(rounded.power_of_two())
}

/// The error function to about 1e-7.
///
/// # Source
/// The rational approximation of Eigen's `erf` for f32.
#[inline(always)]
pub fn erf<S: Simd>(simd: S, x: S::Lanes) -> S::Lanes {
    const END: f32 = 3.832_506_9;
    let x = simd.splat(END).min(simd.splat(-END).max(x));
    let s = x.mul(x);
    let p =
        [2.770_681_6e-8, -2.101_024e-6, -5.692_506_5e-5, -7.349_906_5e-4, -2.954_600_1e-3, -1.609_603_2e-2];
    let q = [-2.133_740_2e-4, -1.682_827_2e-3, -7.373_329e-3, -1.426_473_9e-2];
    let [p, q] = [polynomial(simd, -2.726_142_2e-10, p, s), polynomial(simd, -1.456_607_3e-5, q, s)];
    x.mul(p).div(q)
}

/// A polynomial of x by Horner's rule, from the coefficient of its highest power.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(simd: S, highest: f32, others: [f32; N], x: S::Lanes) -> S::Lanes {
    others.into_iter().fold(simd.splat(highest), |sum, other| sum.mul_add(x, simd.splat(other)))
}

/// Sums `f` of the elements of some slices of one length at each place, in [`LANES`] interleaved partial sums: one order on
/// every machine.
///
/// # Panics
/// If a slice is shorter than the first one.
#[inline(always)]
pub fn sum<S: Simd, const N: usize>(simd: S, slices: [&[f32]; N], f: impl Fn([f32; N]) -> f32) -> f32 {
    let n = slices[0].len();
    let slices = slices.map(|slice| &slice[..n]);
    // SAFETY: all calls are for places below n, the length of each slice.
    let at = |place: usize| f(slices.map(|slice| unsafe { *slice.get_unchecked(place) }));
    // Values are stored before they are added, which is what the compiler makes whole registers of.
    let mut lanes = [0f32; LANES];
    let whole = n - n % LANES;
    for start in (0..whole).step_by(LANES) {
        let mut values = [0f32; LANES];
        for (lane, value) in values.iter_mut().enumerate() {
            *value = at(start + lane);
        }
        for (sum, value) in lanes.iter_mut().zip(values) {
            *sum += value;
        }
    }
    let mut rest = [0f32; LANES];
    for (lane, value) in rest[..n - whole].iter_mut().enumerate() {
        *value = at(whole + lane);
    }
    for (sum, value) in lanes.iter_mut().zip(rest) {
        *sum += value;
    }
    simd.load(lanes).reduce_sum()
}

/// Loops over arrays, with a multiply-add in one instruction or without.
#[derive(Clone, Copy)]
pub struct Plain<const FMA: bool>;

/// See [`Plain`].
#[derive(Clone, Copy)]
pub struct Array<const FMA: bool>([f32; LANES]);

impl<const FMA: bool> Array<FMA> {
    #[inline(always)]
    fn with(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
    }

    #[inline(always)]
    fn joined(self, f: impl Fn(f32, f32) -> f32) -> f32 {
        let mut lanes = self.0;
        for width in [8, 4, 2, 1] {
            for lane in 0..width {
                lanes[lane] = f(lanes[lane + width], lanes[lane]);
            }
        }
        lanes[0]
    }
}

impl<const FMA: bool> Simd for Plain<FMA> {
    type Lanes = Array<FMA>;
    const FMA: bool = FMA;
    const TILE: [usize; 2] = [6, 1];

    #[inline(always)]
    fn splat(self, value: f32) -> Array<FMA> {
        Array([value; LANES])
    }

    #[inline(always)]
    fn load(self, numbers: [f32; LANES]) -> Array<FMA> {
        Array(numbers)
    }

    #[inline(always)]
    fn factors(self, mask: RowMask, channel: usize) -> Array<FMA> {
        Array(std::array::from_fn(|lane| mask.factor(channel + lane)))
    }
}

impl<const FMA: bool> Lanes for Array<FMA> {
    #[inline(always)]
    fn to_array(self) -> [f32; LANES] {
        self.0
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.with(other, |a, b| a / b)
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, summand: Self) -> Self {
        Self(std::array::from_fn(|lane| fma::<FMA>(self.0[lane], factor.0[lane], summand.0[lane])))
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.with(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.with(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn keep_first(self, n: usize, other: Self) -> Self {
        Self(std::array::from_fn(|lane| if lane < n { self.0[lane] } else { other.0[lane] }))
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        Self(self.0.map(|value| f32::from_bits((value.to_bits() << 23).wrapping_add(127 << 23))))
    }

    #[inline(always)]
    fn reduce_sum(self) -> f32 {
        self.joined(|a, b| a + b)
    }

    #[inline(always)]
    fn reduce_max(self) -> f32 {
        self.joined(|a, b| if a > b { a } else { b })
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

/// The registers of x86. Every call of an intrinsic is sound since a value proves that the processor has its instruction.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use super::{LANES, Lanes, RowMask, Simd};

    /// AVX-512 (F, BW, DQ, VL) with FMA.
    #[derive(Clone, Copy)]
    pub struct Avx512(());

    /// AVX2 with FMA.
    #[derive(Clone, Copy)]
    pub struct Avx2(());

    /// The register of AVX-512.
    #[derive(Clone, Copy)]
    pub struct One(__m512);

    /// The registers of AVX2.
    #[derive(Clone, Copy)]
    pub struct Two(__m256, __m256);

    impl Avx512 {
        /// # Safety
        /// The processor must have the instructions.
        pub unsafe fn new() -> Self {
            Self(())
        }
    }

    impl Avx2 {
        /// # Safety
        /// The processor must have the instructions.
        pub unsafe fn new() -> Self {
            Self(())
        }
    }

    /// Defines a method that does the same with each register.
    macro_rules! each {
        ($name:ident($($arg:ident),*) = $intrinsic:ident, $($part:tt),+) => {
            #[inline(always)]
            fn $name(self, $($arg: Self),*) -> Self {
                each!(@ [$($part),+] $intrinsic, self, ($($arg),*))
            }
        };
        (@ [$($part:tt),+] $intrinsic:ident, $self:ident, $args:tt) => {
            Self($(each!(@ $part, $intrinsic, $self, $args)),+)
        };
        (@ $part:tt, $intrinsic:ident, $self:ident, ($($arg:ident),*)) => {
            // SAFETY: the processor has the instruction.
            unsafe { $intrinsic($self.$part, $($arg.$part),*) }
        };
    }

    /// [`hash32`](frostline_random::hash32) of a key and each counter.
    macro_rules! hashed {
        ($counter:expr, $key:expr, $all:ident, $mul:ident, $xor:ident, $shift:ident) => {{
            let x = $xor($mul($counter, $all(0x9E37_79B9)), $all($key));
            let x = $mul($xor(x, $shift::<16>(x)), $all(0x7FEB_352D));
            let x = $mul($xor(x, $shift::<15>(x)), $all(0x846C_A68B));
            $xor(x, $shift::<16>(x))
        }};
    }

    /// Joins the lanes of eight in halves.
    macro_rules! joined {
        ($eight:expr, $join:ident) => {{
            let eight = $eight;
            let four = $join(_mm256_extractf128_ps::<1>(eight), _mm256_castps256_ps128(eight));
            let two = $join(_mm_movehl_ps(four, four), four);
            _mm_cvtss_f32($join(_mm_movehdup_ps(two), two))
        }};
    }

    impl Simd for Avx512 {
        type Lanes = One;
        const FMA: bool = true;
        const TILE: [usize; 2] = [8, 2];

        #[inline(always)]
        fn splat(self, value: f32) -> One {
            // SAFETY: the processor has the instruction.
            One(unsafe { _mm512_set1_ps(value) })
        }

        #[inline(always)]
        fn load(self, numbers: [f32; LANES]) -> One {
            // SAFETY: as above, and there are sixteen numbers.
            One(unsafe { _mm512_loadu_ps(numbers.as_ptr()) })
        }

        #[inline(always)]
        fn factors(self, mask: RowMask, channel: usize) -> One {
            let (key, threshold, factor) = mask.words();
            // SAFETY: as above.
            unsafe {
                let all = |value: u32| _mm512_set1_epi32(value as i32);
                let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                let counter = _mm512_add_epi32(all(channel as u32), lanes);
                let x = hashed!(counter, key, all, _mm512_mullo_epi32, _mm512_xor_si512, _mm512_srli_epi32);
                One(_mm512_maskz_mov_ps(_mm512_cmpge_epu32_mask(x, all(threshold)), _mm512_set1_ps(factor)))
            }
        }
    }

    impl Lanes for One {
        each!(add(other) = _mm512_add_ps, 0);
        each!(sub(other) = _mm512_sub_ps, 0);
        each!(mul(other) = _mm512_mul_ps, 0);
        each!(div(other) = _mm512_div_ps, 0);
        each!(mul_add(factor, summand) = _mm512_fmadd_ps, 0);
        each!(max(other) = _mm512_max_ps, 0);
        each!(min(other) = _mm512_min_ps, 0);

        #[inline(always)]
        fn to_array(self) -> [f32; LANES] {
            let mut numbers = [0f32; LANES];
            // SAFETY: the processor has the instruction, and there are sixteen numbers.
            unsafe { _mm512_storeu_ps(numbers.as_mut_ptr(), self.0) }
            numbers
        }

        #[inline(always)]
        fn keep_first(self, n: usize, other: Self) -> Self {
            let mask = ((1u32 << n.min(LANES)) - 1) as u16;
            // SAFETY: as above.
            Self(unsafe { _mm512_mask_mov_ps(other.0, mask, self.0) })
        }

        #[inline(always)]
        fn power_of_two(self) -> Self {
            // SAFETY: as above.
            unsafe {
                let exponent = _mm512_slli_epi32::<23>(_mm512_castps_si512(self.0));
                Self(_mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_set1_epi32(127 << 23))))
            }
        }

        #[inline(always)]
        fn reduce_sum(self) -> f32 {
            // SAFETY: as above.
            unsafe { Two(_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0)) }.reduce_sum()
        }

        #[inline(always)]
        fn reduce_max(self) -> f32 {
            // SAFETY: as above.
            unsafe { Two(_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0)) }.reduce_max()
        }
    }

    impl Simd for Avx2 {
        type Lanes = Two;
        const FMA: bool = true;
        const TILE: [usize; 2] = [6, 1];

        #[inline(always)]
        fn splat(self, value: f32) -> Two {
            // SAFETY: the processor has the instruction.
            unsafe { Two(_mm256_set1_ps(value), _mm256_set1_ps(value)) }
        }

        #[inline(always)]
        fn load(self, numbers: [f32; LANES]) -> Two {
            // SAFETY: as above, and there are sixteen numbers.
            unsafe { Two(_mm256_loadu_ps(numbers.as_ptr()), _mm256_loadu_ps(numbers.as_ptr().add(8))) }
        }

        #[inline(always)]
        fn factors(self, mask: RowMask, channel: usize) -> Two {
            let (key, threshold, factor) = mask.words();
            macro_rules! eight {
                ($channel:expr) => {{
                    let all = |value: u32| _mm256_set1_epi32(value as i32);
                    let counter = _mm256_add_epi32(all($channel as u32), eight_lanes());
                    let x =
                        hashed!(counter, key, all, _mm256_mullo_epi32, _mm256_xor_si256, _mm256_srli_epi32);
                    let stays = _mm256_cmpeq_epi32(_mm256_max_epu32(x, all(threshold)), x);
                    _mm256_and_ps(_mm256_castsi256_ps(stays), _mm256_set1_ps(factor))
                }};
            }
            // SAFETY: as above.
            unsafe { Two(eight!(channel), eight!(channel + 8)) }
        }
    }

    /// 0, 1, 2 and so on.
    ///
    /// # Safety
    /// The processor must have AVX2.
    #[inline(always)]
    unsafe fn eight_lanes() -> __m256i {
        // SAFETY: the caller guarantees it.
        unsafe { _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7) }
    }

    impl Lanes for Two {
        each!(add(other) = _mm256_add_ps, 0, 1);
        each!(sub(other) = _mm256_sub_ps, 0, 1);
        each!(mul(other) = _mm256_mul_ps, 0, 1);
        each!(div(other) = _mm256_div_ps, 0, 1);
        each!(mul_add(factor, summand) = _mm256_fmadd_ps, 0, 1);
        each!(max(other) = _mm256_max_ps, 0, 1);
        each!(min(other) = _mm256_min_ps, 0, 1);

        #[inline(always)]
        fn to_array(self) -> [f32; LANES] {
            let mut numbers = [0f32; LANES];
            // SAFETY: the processor has the instruction, and there are sixteen numbers.
            unsafe {
                _mm256_storeu_ps(numbers.as_mut_ptr(), self.0);
                _mm256_storeu_ps(numbers.as_mut_ptr().add(8), self.1);
            }
            numbers
        }

        #[inline(always)]
        fn keep_first(self, n: usize, other: Self) -> Self {
            // SAFETY: as above.
            unsafe {
                let below = _mm256_sub_epi32(_mm256_set1_epi32(n.min(LANES) as i32), eight_lanes());
                let low = _mm256_castsi256_ps(_mm256_cmpgt_epi32(below, _mm256_setzero_si256()));
                let high = _mm256_castsi256_ps(_mm256_cmpgt_epi32(below, _mm256_set1_epi32(8)));
                Self(_mm256_blendv_ps(other.0, self.0, low), _mm256_blendv_ps(other.1, self.1, high))
            }
        }

        #[inline(always)]
        fn power_of_two(self) -> Self {
            macro_rules! power {
                ($numbers:expr) => {{
                    let exponent = _mm256_slli_epi32::<23>(_mm256_castps_si256($numbers));
                    _mm256_castsi256_ps(_mm256_add_epi32(exponent, _mm256_set1_epi32(127 << 23)))
                }};
            }
            // SAFETY: as above.
            unsafe { Self(power!(self.0), power!(self.1)) }
        }

        #[inline(always)]
        fn reduce_sum(self) -> f32 {
            // SAFETY: as above.
            unsafe { joined!(_mm256_add_ps(self.1, self.0), _mm_add_ps) }
        }

        #[inline(always)]
        fn reduce_max(self) -> f32 {
            // SAFETY: as above.
            unsafe { joined!(_mm256_max_ps(self.1, self.0), _mm_max_ps) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::dispatched;

    dispatched! {
        /// e^x and erf(x), and what dropout and lanes make of them.
        pub fn functions(simd, x: &[f32; LANES], out: &mut [[f32; LANES]; 5]) {
            let x = simd.load(*x);
            let mask = crate::Dropout::new(0.3, 11).row(5, 2);
            let sum = simd.splat(x.reduce_sum()).add(simd.splat(x.reduce_max()));
            *out = [exp(simd, x), erf(simd, x), simd.factors(mask, 40), sum, x.keep_first(5, sum)].map(Lanes::to_array);
        }
    }

    /// The same without the processor's registers.
    fn plain<const FMA: bool>(x: &[f32; LANES]) -> [[f32; LANES]; 5] {
        let simd = Plain::<FMA>;
        let x = simd.load(*x);
        let mask = crate::Dropout::new(0.3, 11).row(5, 2);
        let sum = simd.splat(x.reduce_sum()).add(simd.splat(x.reduce_max()));
        [exp(simd, x), erf(simd, x), simd.factors(mask, 40), sum, x.keep_first(5, sum)].map(Lanes::to_array)
    }

    #[test]
    fn exp_and_erf_are_close_and_registers_change_no_bit() {
        for at in -250..250 {
            let x: [f32; LANES] = std::array::from_fn(|lane| (16 * at + lane as i32) as f32 * 0.01);
            let mut found = [[0f32; LANES]; 5];
            functions(&x, &mut found);
            let bits = |all: [[f32; LANES]; 5]| all.map(|lanes| lanes.map(f32::to_bits));
            for other in [plain::<true>(&x), plain::<false>(&x)] {
                assert_eq!(bits(found), bits(other), "at {x:?}");
            }
            for (x, found) in x.iter().zip(found[0]) {
                let reference = f64::from(*x).exp();
                assert!((f64::from(found) - reference).abs() <= 3e-7 * reference, "exp({x}) = {found}");
            }
        }
        // Abramowitz and Stegun, table 7.1.
        let known = [
            (0.0, 0.0),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (-1.0, -0.842_700_8),
            (9.0, 1.0),
        ];
        for (x, reference) in known {
            assert!(
                (erf(Plain::<false>, Plain::<false>.splat(x)).to_array()[0] - reference).abs() < 3e-7,
                "erf({x})"
            );
        }
    }

    #[test]
    fn sums_are_complete() {
        for n in [0, 1, 15, 16, 17, 100] {
            let numbers: Vec<f32> = (0..n).map(|i| i as f32).collect();
            assert_eq!(sum(Plain::<true>, [&numbers], |[x]| x), (0..n).sum::<usize>() as f32);
        }
    }
}
