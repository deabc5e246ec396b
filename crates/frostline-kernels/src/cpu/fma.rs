//! A multiply-add that is rounded once on every processor.

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
