//! Run-time dispatch to the processor's instruction set.
//!
//! A kernel is written once as an `#[inline(always)]` body over plain slices and compiled for each instruction set. The only
//! unsafe code of a dispatch is the call of a function whose target features were detected. Sums have one order that does
//! not depend on the width of registers, and multiply-adds round once on all of them, so results have the same bits.

use std::sync::OnceLock;

/// An instruction set the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// AVX-512 (F, BW, DQ, VL) with FMA.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 with FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every 64-bit processor of Arm has.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// What every processor of the architecture has.
    Portable,
}

#[cfg(feature = "flex")]
impl Isa {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
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
            #[cfg(target_arch = "x86_64")]
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

#[cfg(target_arch = "aarch64")]
fn detect() -> Isa {
    Isa::Neon
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detect() -> Isa {
    Isa::Portable
}

/// Defines a function whose body is compiled for each [`Isa`]. A first parameter without a type is the body's alone: it has the
/// instruction set, a value of a type S that implements [`Product`](crate::cpu::tile::Product).
macro_rules! dispatched {
    ($(#[$meta:meta])* pub fn $name:ident($simd:ident $(, $arg:ident: $type:ty)* $(,)?) $body:block) => {
        $crate::dispatch::dispatched! {
            @ [$(#[$meta])*] $name, $($arg: $type),*;
            /// For an instruction set.
            #[inline(always)]
            #[allow(clippy::too_many_arguments, unused_variables)]
            fn body<S: $crate::cpu::tile::Product>($simd: S $(, $arg: $type)*) $body
            $crate::cpu::vector::Avx512::new(), $crate::cpu::vector::Avx2::new(),
            $crate::cpu::vector::Plain::<true>, $crate::cpu::vector::Plain::<false>
        }
    };
    ($(#[$meta:meta])* pub fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $crate::dispatch::dispatched! {
            @ [$(#[$meta])*] $name, $($arg: $type),*;
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn body((): () $(, $arg: $type)*) $body
            (), (), (), ()
        }
    };
    (@ [$($meta:tt)*] $name:ident, $($arg:ident: $type:ty),*; $body:item
        $avx512:expr, $avx2:expr, $neon:expr, $portable:expr) => {
        $($meta)*
        #[allow(clippy::too_many_arguments)]
        pub fn $name($($arg: $type),*) {
            $body
            /// The body for this instruction set.
            ///
            /// # Safety
            /// The processor must have the enabled features.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            #[allow(clippy::too_many_arguments, unused_unsafe)]
            fn avx512($($arg: $type),*) {
                // SAFETY: these are the features.
                body(unsafe { $avx512 }, $($arg),*)
            }
            /// The body for this instruction set.
            ///
            /// # Safety
            /// The processor must have the enabled features.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments, unused_unsafe)]
            fn avx2($($arg: $type),*) {
                // SAFETY: these are the features.
                body(unsafe { $avx2 }, $($arg),*)
            }
            match $crate::dispatch::isa() {
                // SAFETY: `isa` returns this set only if the processor has all its features.
                #[cfg(target_arch = "x86_64")]
                $crate::dispatch::Isa::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::dispatch::Isa::Avx2 => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "aarch64")]
                $crate::dispatch::Isa::Neon => body($neon, $($arg),*),
                $crate::dispatch::Isa::Portable => body($portable, $($arg),*),
            }
        }
    };
}
pub(crate) use dispatched;
