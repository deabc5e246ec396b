//! Output buffers that tasks write part by part, without writing zeros first.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

/// A buffer under construction.
pub struct Fresh<T> {
    values: Vec<T>,
    length: usize,
    /// How many elements were handed out to be written since the last call of `chunks` or `cut`.
    taken: AtomicUsize,
}

/// A part of a buffer, not yet written.
pub struct FreshPart<'a, T> {
    room: &'a mut [MaybeUninit<T>],
    taken: &'a AtomicUsize,
}

impl<T: Copy + Send + Sync> Fresh<T> {
    /// A buffer of this many elements.
    pub fn new(length: usize) -> Self {
        Self::within(Vec::new(), length)
    }

    /// A buffer of this many elements in the place of another one, if that is large enough.
    pub fn within(mut values: Vec<T>, length: usize) -> Self {
        values.clear();
        if values.capacity() < length {
            values = Vec::with_capacity(length);
        }
        Self { values, length, taken: AtomicUsize::new(0) }
    }

    /// Parts of this size; the last one may be shorter.
    pub fn chunks(&mut self, size: usize) -> impl IndexedParallelIterator<Item = FreshPart<'_, T>> {
        let Self { values, length, taken } = self;
        *taken.get_mut() = 0;
        let taken = &*taken;
        values.spare_capacity_mut()[..*length].par_chunks_mut(size).map(move |room| FreshPart { room, taken })
    }

    /// Parts of these sizes, one after the other.
    pub fn cut(&mut self, sizes: impl IntoIterator<Item = usize>) -> Vec<FreshPart<'_, T>> {
        let Self { values, length, taken } = self;
        *taken.get_mut() = 0;
        let taken = &*taken;
        let mut left = &mut values.spare_capacity_mut()[..*length];
        let part = |size| {
            let (room, rest) = std::mem::take(&mut left).split_at_mut(size);
            left = rest;
            FreshPart { room, taken }
        };
        sizes.into_iter().map(part).collect()
    }

    /// The finished buffer.
    ///
    /// # Panics
    /// If a part was never taken.
    pub fn finish(mut self) -> Vec<T> {
        assert_eq!(*self.taken.get_mut(), self.length, "elements of a buffer that were written");
        // SAFETY: the parts of one call of `chunks` or `cut` do not overlap, and `room` consumes them, so each element is
        // counted once; who took a part has written all of it.
        unsafe { self.values.set_len(self.length) };
        self.values
    }
}

impl<'a, T: Copy> FreshPart<'a, T> {
    /// The part, to be written.
    ///
    /// # Safety
    /// The caller must write every element before the buffer is finished.
    pub unsafe fn room(self) -> &'a mut [MaybeUninit<T>] {
        self.taken.fetch_add(self.room.len(), Ordering::Relaxed);
        self.room
    }
}

/// Numbers as places to be written.
///
/// # Safety
/// Nothing but numbers may be written there.
pub unsafe fn as_room(numbers: &mut [f32]) -> &mut [MaybeUninit<f32>] {
    // SAFETY: MaybeUninit<f32> has the layout of f32, and only numbers are written.
    unsafe { &mut *(std::ptr::from_mut(numbers) as *mut [MaybeUninit<f32>]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill<T: Copy>(part: FreshPart<'_, T>, value: T) {
        // SAFETY: all elements are written.
        unsafe { part.room() }.fill(MaybeUninit::new(value));
    }

    #[test]
    fn parts_keep_what_was_written() {
        let mut fresh = Fresh::new(10);
        fresh.chunks(4).enumerate().for_each(|(at, part)| fill(part, at as f32));
        assert_eq!(fresh.finish(), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]);
        let mut fresh = Fresh::new(5);
        for part in fresh.cut([2, 0, 3]) {
            fill(part, 7u8);
        }
        let before = fresh.finish();
        assert_eq!(before, [7; 5]);
        for length in [3, 40] {
            let mut fresh = Fresh::within(before.clone(), length);
            fresh.chunks(2).for_each(|part| fill(part, 9));
            assert_eq!(fresh.finish(), vec![9; length]);
        }
        assert!(Fresh::<u8>::new(0).finish().is_empty());
    }

    #[test]
    #[should_panic(expected = "elements of a buffer that were written")]
    fn finishing_with_a_part_that_nobody_took_panics() {
        let mut fresh = Fresh::new(5);
        let mut parts = fresh.cut([2, 3]);
        fill(parts.remove(1), 0f32);
        drop(parts);
        fresh.finish();
    }

    #[test]
    #[should_panic(expected = "elements of a buffer that were written")]
    fn taking_one_part_twice_does_not_replace_another() {
        let mut fresh = Fresh::new(4);
        for _ in 0..2 {
            fill(fresh.cut([2, 2]).remove(0), 0f32);
        }
        fresh.finish();
    }
}
