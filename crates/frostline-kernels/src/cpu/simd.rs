//! Run-time dispatch to the processor's instruction set, and float functions that several kernels use.
//!
//! A kernel is written once as an `#[inline(always)]` body over plain slices and compiled three
//! times. The only unsafe code of a dispatch is the call of a function whose target features were
//! detected.

// Constants have the digits that their sources print.
#![allow(clippy::excessive_precision)]

use std::sync::OnceLock;

/// An instruction set the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// AVX-512 (F, BW, DQ, VL) with FMA.
    Avx512,
    /// AVX2 with FMA.
    Avx2,
    /// What every processor of the architecture has.
    Portable,
}

impl Isa {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }
}

/// The best instruction set of this processor, or a lower one that the environment variable
/// `FROSTLINE_ISA` names (`avx2`, `portable`); detected once.
#[inline]
pub fn isa() -> Isa {
    static ISA: OnceLock<Isa> = OnceLock::new();
    *ISA.get_or_init(|| {
        let requested = std::env::var("FROSTLINE_ISA").unwrap_or_default();
        match (detect(), requested.as_str()) {
            (_, "portable") => Isa::Portable,
            (Isa::Avx512, "avx2") => Isa::Avx2,
            (best, _) => best,
        }
    })
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    let has512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    let has2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    match (has512 && has2, has2) {
        (true, _) => Isa::Avx512,
        (_, true) => Isa::Avx2,
        _ => Isa::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Isa {
    Isa::Portable
}

/// Defines a function whose body is compiled for each [`Isa`]; inside, the constant `FMA` is true
/// where fused multiply-add is an instruction.
macro_rules! dispatched {
    ($(#[$meta:meta])* pub fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        pub fn $name($($arg: $type),*) {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, unused_variables)]
            fn body<const FMA: bool>($($arg: $type),*) $body
            /// The body for this instruction set.
            ///
            /// # Safety
            /// The processor must have the enabled features.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            fn avx512($($arg: $type),*) { body::<true>($($arg),*) }
            /// The body for this instruction set.
            ///
            /// # Safety
            /// The processor must have the enabled features.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            fn avx2($($arg: $type),*) { body::<true>($($arg),*) }
            match $crate::cpu::simd::isa() {
                // SAFETY: `isa` returns this set only if the processor has all its features.
                #[cfg(target_arch = "x86_64")]
                $crate::cpu::simd::Isa::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::cpu::simd::Isa::Avx2 => unsafe { avx2($($arg),*) },
                _ => body::<false>($($arg),*),
            }
        }
    };
}
pub(crate) use dispatched;

/// `a * b + c`, fused where that is one instruction.
#[inline(always)]
pub fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
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
    let n = fma::<FMA>(x, std::f32::consts::LOG2_E, ROUND) - ROUND;
    let r = fma::<FMA>(n, 2.121_944_4e-4, fma::<FMA>(n, -0.693_359_375, x));
    let p = 1.987_569_1e-4;
    let p = fma::<FMA>(p, r, 1.398_199_9e-3);
    let p = fma::<FMA>(p, r, 8.333_452e-3);
    let p = fma::<FMA>(p, r, 4.166_579_6e-2);
    let p = fma::<FMA>(p, r, 1.666_666_5e-1);
    let p = fma::<FMA>(p, r, 5e-1);
    let y = fma::<FMA>(p * r, r, r) + 1.0;
    y * f32::from_bits((((n as i32) + 127) << 23) as u32)
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

/// Sums `f(i)` for i in 0..n in [`LANES`] interleaved partial sums: one order on every machine.
#[inline(always)]
pub fn sum(n: usize, f: impl Fn(usize) -> f32) -> f32 {
    let mut lanes = [0f32; LANES];
    let whole = n - n % LANES;
    for start in (0..whole).step_by(LANES) {
        for (lane, slot) in lanes.iter_mut().enumerate() {
            *slot += f(start + lane);
        }
    }
    for i in whole..n {
        lanes[i - whole] += f(i);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
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
            assert_eq!(sum(n, |i| i as f32), (0..n).sum::<usize>() as f32);
        }
    }
}
