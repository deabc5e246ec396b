//! Output buffers that tasks zero part by part, instead of one thread zeroing all of it: each task
//! zeroes the part it is about to write, which is then in its cache.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

/// A buffer under construction.
pub struct Fresh<T> {
    values: Vec<T>,
    length: usize,
    zero: T,
    /// How many elements have been zeroed since the last call of `chunks` or `cut`.
    filled: AtomicUsize,
}

/// An uninitialised part of a buffer.
pub struct Part<'a, T> {
    room: &'a mut [MaybeUninit<T>],
    zero: T,
    filled: &'a AtomicUsize,
}

impl<T: Copy + Send + Sync> Fresh<T> {
    /// A buffer of this many elements, to be initialised with `zero`.
    pub fn new(length: usize, zero: T) -> Self {
        Self { values: Vec::with_capacity(length), length, zero, filled: AtomicUsize::new(0) }
    }

    /// Parts of this size; the last one may be shorter.
    pub fn chunks(&mut self, size: usize) -> impl IndexedParallelIterator<Item = Part<'_, T>> {
        let Self { values, length, zero, filled } = self;
        *filled.get_mut() = 0;
        let (zero, filled) = (*zero, &*filled);
        values.spare_capacity_mut()[..*length].par_chunks_mut(size).map(move |room| Part {
            room,
            zero,
            filled,
        })
    }

    /// Parts of these sizes, one after the other.
    pub fn cut(&mut self, sizes: impl IntoIterator<Item = usize>) -> Vec<Part<'_, T>> {
        let Self { values, length, zero, filled } = self;
        *filled.get_mut() = 0;
        let (zero, filled) = (*zero, &*filled);
        let mut left = &mut values.spare_capacity_mut()[..*length];
        let part = |size| {
            let (room, rest) = std::mem::take(&mut left).split_at_mut(size);
            left = rest;
            Part { room, zero, filled }
        };
        sizes.into_iter().map(part).collect()
    }

    /// The finished buffer.
    ///
    /// # Panics
    /// If a part was never zeroed.
    pub fn finish(mut self) -> Vec<T> {
        assert_eq!(*self.filled.get_mut(), self.length, "elements of a buffer that were filled");
        // SAFETY: the parts of one call of `chunks` or `cut` do not overlap, and zeroing a part consumes
        // it, so each element is counted once: all `length` elements are initialised.
        unsafe { self.values.set_len(self.length) };
        self.values
    }
}

impl<'a, T: Copy> Part<'a, T> {
    /// The part, zeroed.
    pub fn zeroed(self) -> &'a mut [T] {
        self.filled.fetch_add(self.room.len(), Ordering::Relaxed);
        for slot in &mut *self.room {
            slot.write(self.zero);
        }
        // SAFETY: every element was just written, and MaybeUninit<T> has the layout of T.
        unsafe { &mut *(std::ptr::from_mut(self.room) as *mut [T]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_zeroed_and_keep_written_values() {
        let mut fresh = Fresh::new(10, 0f32);
        fresh.chunks(4).enumerate().for_each(|(at, part)| part.zeroed()[0] = at as f32 + 1.0);
        assert_eq!(fresh.finish(), [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0, 0.0]);
        let mut fresh = Fresh::new(5, 7u8);
        for part in fresh.cut([2, 0, 3]) {
            part.zeroed();
        }
        assert_eq!(fresh.finish(), [7; 5]);
        assert!(Fresh::new(0, 0u8).finish().is_empty());
    }

    #[test]
    #[should_panic(expected = "elements of a buffer that were filled")]
    fn finishing_with_an_unfilled_part_panics() {
        let mut fresh = Fresh::new(5, 0f32);
        let mut parts = fresh.cut([2, 3]);
        parts.remove(1).zeroed();
        drop(parts);
        fresh.finish();
    }

    #[test]
    #[should_panic(expected = "elements of a buffer that were filled")]
    fn filling_one_part_twice_does_not_replace_another() {
        let mut fresh = Fresh::new(4, 0f32);
        for _ in 0..2 {
            fresh.cut([2, 2]).remove(0).zeroed();
        }
        fresh.finish();
    }
}
