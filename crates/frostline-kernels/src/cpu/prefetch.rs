//! Memory that is needed soon. A prefetch never faults, wherever it points; where a processor has no instruction for it, nothing
//! happens.

use std::ptr::NonNull;

/// Asks for a line in the first-level cache. A panel does not fit into that cache, but no product was faster with the second-level
/// cache asked for.
#[inline(always)]
pub fn prefetch(at: *const f32) {
    // SAFETY: a prefetch never faults.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Asks for a line in the second-level cache.
#[inline(always)]
fn prefetch_near(at: *const f32) {
    // SAFETY: as above.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Memory that is prefetched little by little, so that prefetches do not wait for each other.
pub struct Gradually {
    at: *const f32,
    step: usize,
}

impl Gradually {
    /// From a place on, `step` f32 at a time. Where there is no place, a line that is in cache is asked for again and again, which
    /// costs less than to ask whether there is one.
    #[inline(always)]
    pub const fn from(place: Option<NonNull<f32>>, step: usize, in_cache: *const f32) -> Self {
        match place {
            Some(place) => Self { at: place.as_ptr(), step },
            None => Self { at: in_cache, step: 0 },
        }
    }

    #[inline(always)]
    pub fn prefetch(&mut self) {
        prefetch_near(self.at);
        self.at = self.at.wrapping_add(self.step);
    }
}
