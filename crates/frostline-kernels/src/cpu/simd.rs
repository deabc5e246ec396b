//! Float functions that several kernels use, with the same bits on every instruction set.

// Constants have the digits that their sources print.
#![allow(clippy::excessive_precision)]

pub(crate) use crate::dispatch::dispatched;
pub use crate::dispatch::{Isa, isa};

/// `a * b + c` rounded once, whether or not that is one instruction.
#[inline(always)]
pub fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { fused(a, b, c) }
}

/// `a * b + c` rounded once, with the operations that every processor has in its registers.
///
/// The product of two f32 is exact in f64. Its sum with c is rounded to odd there, which the second rounding, to f32, does
/// not see.
///
/// # Source
/// Boldo and Melquiond, *Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd*, 2008.
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // Knuth's exact error of the sum.
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    let bits = sum.to_bits();
    // One step towards the exact value, away from zero where error and sum have one sign.
    let step = if (error > 0.0) == (sum > 0.0) { 1 } else { u64::MAX };
    let odd = if bits & 1 == 0 && error != 0.0 && error.is_finite() { bits.wrapping_add(step) } else { bits };
    f64::from_bits(odd) as f32
}

/// e^x to about 2 ulp; inputs are clamped to the range of f32.
///
/// # Source
/// Cephes `expf` (Moshier).
#[inline(always)]
pub fn exp<const FMA: bool>(x: f32) -> f32 {
    // Adding 1.5 * 2^23 rounds to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let rounded = fma::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = fma::<FMA>(n, 2.121_944_4e-4, fma::<FMA>(n, -0.693_359_375, x));
    let p = 1.987_569_1e-4;
    let p = fma::<FMA>(p, r, 1.398_199_9e-3);
    let p = fma::<FMA>(p, r, 8.333_452e-3);
    let p = fma::<FMA>(p, r, 4.166_579_6e-2);
    let p = fma::<FMA>(p, r, 1.666_666_5e-1);
    let p = fma::<FMA>(p, r, 5e-1);
    let y = fma::<FMA>(p * r, r, r) + 1.0;
    // The lowest bits of `rounded` are those of n: as an exponent, they are 2^n.
    y * f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23))
}

/// The error function to about 1e-7.
///
/// # Source
/// The rational approximation of Eigen's `erf` for f32.
#[inline(always)]
pub fn erf<const FMA: bool>(x: f32) -> f32 {
    let x = x.clamp(-3.832_506_9, 3.832_506_9);
    let s = x * x;
    let p = -2.726_142_2e-10;
    let p = fma::<FMA>(p, s, 2.770_681_6e-8);
    let p = fma::<FMA>(p, s, -2.101_024e-6);
    let p = fma::<FMA>(p, s, -5.692_506_5e-5);
    let p = fma::<FMA>(p, s, -7.349_906_5e-4);
    let p = fma::<FMA>(p, s, -2.954_600_1e-3);
    let p = fma::<FMA>(p, s, -1.609_603_2e-2);
    let q = -1.456_607_3e-5;
    let q = fma::<FMA>(q, s, -2.133_740_2e-4);
    let q = fma::<FMA>(q, s, -1.682_827_2e-3);
    let q = fma::<FMA>(q, s, -7.373_329e-3);
    let q = fma::<FMA>(q, s, -1.426_473_9e-2);
    x * p / q
}

/// Lanes of a fixed-order sum.
pub const LANES: usize = 16;

/// Sums `f` of the elements of some slices of one length at each place, in [`LANES`] interleaved partial sums: one order on
/// every machine.
///
/// # Panics
/// If a slice is shorter than the first one.
#[inline(always)]
pub fn sum<const N: usize>(slices: [&[f32]; N], f: impl Fn([f32; N]) -> f32) -> f32 {
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
    total(lanes)
}

/// The sum of the partial sums, in halves.
#[inline(always)]
pub fn total(lanes: [f32; LANES]) -> f32 {
    joined(lanes, |a, b| a + b)
}

/// The greatest of the lanes, of which none is NaN.
#[inline(always)]
pub fn greatest(lanes: [f32; LANES]) -> f32 {
    joined(lanes, |a, b| if b > a { b } else { a })
}

/// Joins the lanes in halves: each lane of the lower half with the one in its place of the upper half, then again.
#[inline(always)]
fn joined(mut lanes: [f32; LANES], join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = join(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_erf_are_close() {
        for i in -4000..4000 {
            let x = i as f32 * 0.01;
            let reference = f64::from(x).exp();
            for ours in [exp::<true>(x), exp::<false>(x)] {
                assert!((f64::from(ours) - reference).abs() <= 3e-7 * reference, "exp({x}) = {ours}");
            }
        }
        // Abramowitz and Stegun, table 7.1.
        for (x, reference) in
            [(0.0, 0.0), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3), (-1.0, -0.842_700_8)]
        {
            assert!((erf::<true>(x) - reference).abs() < 3e-7, "erf({x})");
        }
        assert!((erf::<false>(9.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn sums_are_complete() {
        for n in [0, 1, 15, 16, 17, 100] {
            let numbers: Vec<f32> = (0..n).map(|i| i as f32).collect();
            assert_eq!(sum([&numbers], |[x]| x), (0..n).sum::<usize>() as f32);
        }
    }
}
