//! AdamW updates that are computed after their step: in the background, between the tiles of the next step's products, and by
//! whoever reads a parameter.
//!
//! An update reads and writes memory and hardly computes, while a product hardly reads memory. So tiles prefetch the next numbers
//! to update, and the thread updates them once they are in cache.

use std::cell::RefCell;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::prelude::*;

use super::adamw::{CHUNK, StepConstants, step_chunk};
use super::prefetch::LINE;
use super::tensors::{data, wrap};
use crate::Deferred;

/// Tensors of an update: a parameter, its gradient and its moments.
pub const TENSORS: usize = 4;
/// After so many looks a thread that waits for an update gives way to other programs.
const GIVE_WAY: u32 = 1 << 10;

/// An update: its constants, the gradient, and the parameter and its two moments in buffers of their own.
pub type Ready = (StepConstants, FlexTensor, [FlexTensor; 3]);

/// Updates of parameters, in the order in which they are computed.
pub struct Updates {
    all: Vec<One>,
    /// Where each update ends among the numbers of all, which begin at whole lines.
    ends: Vec<usize>,
    /// How many of these numbers were taken.
    taken: AtomicUsize,
    /// Whether products compute them.
    between_tiles: AtomicBool,
}

/// An update.
struct One {
    constants: StepConstants,
    parameter: FlexTensor,
    /// Until it is computed.
    gradient: Mutex<Option<FlexTensor>>,
    /// Until they are taken.
    moments: Mutex<Option<[FlexTensor; 2]>>,
    places: Places,
    length: usize,
    /// How many numbers are not computed.
    left: AtomicUsize,
}

/// Where the tensors' numbers lie.
struct Places {
    parameter: *mut f32,
    gradient: *const f32,
    moments: [*mut f32; 2],
}

// SAFETY: a number is only used by the thread that has taken it, and the tensors are only read once all are computed.
unsafe impl Send for Places {}
// SAFETY: as above.
unsafe impl Sync for Places {}

/// Some numbers of an update that nobody else computes.
struct Chunk<'a> {
    of: &'a One,
    numbers: Range<usize>,
}

thread_local! {
    /// The updates that this thread has deferred last.
    static LAST: RefCell<Weak<Updates>> = const { RefCell::new(Weak::new()) };
}

impl Updates {
    /// Those of these parameters. Products that this thread computes from now on compute them between their tiles.
    ///
    /// # Panics
    /// If a parameter, its gradient and its moments differ in size.
    pub fn defer(all: impl Iterator<Item = Ready>) -> Arc<Self> {
        let all: Vec<One> = all.map(One::new).collect();
        let ends = all.iter().scan(0, |end, one| {
            *end += one.length.next_multiple_of(LINE);
            Some(*end)
        });
        let ends = ends.collect();
        let updates =
            Arc::new(Self { all, ends, taken: AtomicUsize::new(0), between_tiles: AtomicBool::new(false) });
        LAST.set(Arc::downgrade(&updates));
        updates
    }

    /// Whether all numbers were taken.
    fn are_taken(&self) -> bool {
        self.ends.last().is_none_or(|&end| self.taken.load(Ordering::Relaxed) >= end)
    }

    /// Takes the next numbers of an update, at most so many, of whole lines.
    fn take(&self, numbers: usize) -> Option<Chunk<'_>> {
        debug_assert!(numbers > 0 && numbers.is_multiple_of(LINE), "{numbers} numbers are no whole lines");
        loop {
            let at = self.taken.load(Ordering::Relaxed);
            let place = self.ends.partition_point(|&end| end <= at);
            let (of, &end) = (self.all.get(place)?, self.ends.get(place)?);
            let after = end.min(at + numbers);
            if self.taken.compare_exchange_weak(at, after, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                let first = end - of.length.next_multiple_of(LINE);
                return Some(Chunk { of, numbers: at - first..of.length.min(after - first) });
            }
        }
    }

    /// An update, when it is computed. Computes others meanwhile.
    fn computed(&self, at: usize) -> &One {
        let one = &self.all[at];
        let mut looks = 0_u32;
        while one.left.load(Ordering::Acquire) > 0 {
            looks += 1;
            match self.take(CHUNK) {
                Some(chunk) => chunk.compute(),
                // Whoever computes the last numbers may wait for this processor.
                None if looks.is_multiple_of(GIVE_WAY) => std::thread::yield_now(),
                None => std::hint::spin_loop(),
            }
        }
        one
    }
}

impl One {
    fn new((constants, gradient, [mut parameter, mut first, mut second]): Ready) -> Self {
        let length = data(&parameter).len();
        let sizes = [&gradient, &first, &second].map(|tensor| data(tensor).len());
        assert_eq!(sizes, [length; 3], "a gradient, its moments and their parameter");
        let places = Places {
            parameter: parameter.storage_mut::<f32>().as_mut_ptr(),
            gradient: data(&gradient).as_ptr(),
            moments: [&mut first, &mut second].map(|moment| moment.storage_mut::<f32>().as_mut_ptr()),
        };
        let left = AtomicUsize::new(length);
        let (gradient, moments) = (Mutex::new(Some(gradient)), Mutex::new(Some([first, second])));
        Self { constants, parameter, gradient, moments, places, length, left }
    }
}

impl Chunk<'_> {
    fn compute(self) {
        let Self { of, numbers } = self;
        let Places { parameter, gradient, moments } = &of.places;
        // SAFETY: the numbers are inside their tensors, and this thread has taken them; the gradient is there while some are left.
        unsafe {
            let written =
                |start: *mut f32| std::slice::from_raw_parts_mut(start.add(numbers.start), numbers.len());
            let gradient = std::slice::from_raw_parts(gradient.add(numbers.start), numbers.len());
            let [first, second] = moments.map(written);
            step_chunk(of.constants, written(*parameter), gradient, first, second);
        }
        if of.left.fetch_sub(numbers.len(), Ordering::AcqRel) == numbers.len() {
            // Its memory is free for the next step.
            of.gradient.lock().expect("nothing panics while it is locked").take();
        }
    }

    /// Where its numbers of each tensor begin.
    fn places(&self) -> [*const f32; TENSORS] {
        let Places { parameter, gradient, moments: [first, second] } = self.of.places;
        [parameter.cast_const(), gradient, first.cast_const(), second.cast_const()]
            .map(|start| start.wrapping_add(self.numbers.start))
    }
}

/// The updates that products of this thread compute between their tiles, while there are any that nobody has taken. The background
/// leaves them to a product that can compute `most` of a layer's.
pub fn under_way(most: bool) -> Option<Arc<Updates>> {
    let updates = LAST.with_borrow(Weak::upgrade).filter(|updates| !updates.are_taken())?;
    if most {
        updates.between_tiles.store(true, Ordering::Relaxed);
    }
    Some(updates)
}

/// Computes updates between the tiles of one task.
pub struct BetweenTiles<'a> {
    updates: &'a Updates,
    chunk: Option<Chunk<'a>>,
    /// How many of the chunk's tensors were prefetched.
    prefetched: usize,
}

impl<'a> BetweenTiles<'a> {
    pub const fn new(updates: &'a Updates) -> Self {
        Self { updates, chunk: None, prefetched: 0 }
    }

    /// What the next tile is to prefetch, which prefetches so many numbers.
    #[inline]
    pub fn next(&mut self, numbers: usize) -> Option<NonNull<f32>> {
        if self.prefetched == TENSORS {
            self.chunk.take().into_iter().for_each(Chunk::compute);
        }
        if self.chunk.is_none() {
            (self.chunk, self.prefetched) = (self.updates.take(numbers.next_multiple_of(LINE)), 0);
        }
        let place = self.chunk.as_ref()?.places()[self.prefetched];
        self.prefetched += 1;
        NonNull::new(place.cast_mut())
    }
}

impl Drop for BetweenTiles<'_> {
    fn drop(&mut self) {
        self.chunk.take().into_iter().for_each(Chunk::compute);
    }
}

impl Deferred<Flex> for Updates {
    fn advance(&self) -> bool {
        !self.between_tiles.load(Ordering::Relaxed) && self.take(CHUNK).map(Chunk::compute).is_some()
    }

    fn parameter(&self, at: usize) -> Tensor<Flex, 1> {
        wrap(self.computed(at).parameter.clone())
    }

    fn moments(&self, at: usize) -> [Tensor<Flex, 1>; 2] {
        let moments = self.computed(at).moments.lock().expect("nothing panics while it is locked").take();
        moments.expect("moments are taken once").map(wrap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::product::{Left, Right, outputs, products};
    use crate::cpu::tensors::flex;
    use crate::{AdamW, Precision};

    /// Sizes with and without a rest beside whole lines and chunks.
    const SIZES: [usize; 6] = [5, 3 * CHUNK, 1, 17, 5 * CHUNK + 77, 16];

    fn numbers(length: usize, seed: usize) -> Vec<f32> {
        (0..length).map(|at| ((at * 7919 + seed * 104_729) % 2003) as f32 / 2003.0 - 0.4).collect()
    }

    fn constants() -> StepConstants {
        let rule = AdamW { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01, step: 3 };
        StepConstants::new(&rule, 0.7)
    }

    /// The parameter, the first moment, the second one and the gradient of an update.
    fn before(at: usize) -> [Vec<f32>; 4] {
        let mut all = [0, 1, 2, 3].map(|seed| numbers(SIZES[at], 10 * at + seed));
        all[2].iter_mut().for_each(|moment| *moment *= *moment);
        all
    }

    fn deferred() -> Arc<Updates> {
        Updates::defer((0..SIZES.len()).map(|at| {
            let [parameter, first, second, gradient] = before(at).map(|values| {
                let length = values.len();
                flex(values, [length])
            });
            (constants(), gradient, [parameter, first, second])
        }))
    }

    /// Asserts that the parameters and moments are those after an update.
    fn are_updated(updates: &Updates) {
        for at in 0..SIZES.len() {
            let [mut parameter, mut first, mut second, gradient] = before(at);
            step_chunk(constants(), &mut parameter, &gradient, &mut first, &mut second);
            let [m, v] = updates.moments(at);
            for (found, expected) in [updates.parameter(at), m, v].into_iter().zip([parameter, first, second])
            {
                assert_eq!(found.to_data().into_vec::<f32>().expect("numbers"), expected, "update {at}");
            }
            assert!(updates.all[at].gradient.lock().expect("a gradient").is_none(), "its memory is free");
        }
        assert!(updates.are_taken() && under_way(true).is_none());
    }

    fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
    }

    #[test]
    fn an_update_has_the_same_bits_whoever_computes_it() {
        are_updated(&deferred());
        let background = deferred();
        while background.advance() {}
        are_updated(&background);
        // Prefetched or not, by blocks of any size.
        for numbers in [1, 100, 3072] {
            let updates = deferred();
            let mut between = BetweenTiles::new(&updates);
            let places = (0..7).filter_map(|_| between.next(numbers)).count();
            assert_eq!(places, 7);
            drop(between);
            are_updated(&updates);
        }
    }

    /// A product of so many rows.
    fn product(precision: Precision, m: usize) -> Vec<Vec<f32>> {
        let [n, k] = [512, 256];
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        let terms = [(Right::Plain(&b[..]), None)];
        products(precision, [m, n, k], Left::Plain(&a), &terms, outputs(1, [m, n]))
    }

    #[test]
    fn products_compute_updates_between_their_tiles() {
        for (threads, precision) in [(1, Precision::F32), (2, Precision::F32), (3, Precision::Bf16)] {
            on(threads, || {
                let alone = product(precision, 128);
                let updates = deferred();
                for _ in 0..20 {
                    assert_eq!(product(precision, 128), alone, "an update changes no product");
                }
                #[cfg(target_arch = "x86_64")]
                if crate::dispatch::isa() != crate::dispatch::Isa::Portable {
                    assert!(updates.are_taken() && !updates.advance());
                }
                are_updated(&updates);
            });
        }
    }

    #[test]
    fn the_background_goes_on_beside_products_of_few_rows() {
        let updates = deferred();
        product(Precision::F32, 16);
        assert!(updates.advance());
        are_updated(&updates);
    }

    #[test]
    fn updates_that_nobody_holds_are_computed_by_nobody() {
        drop(deferred());
        assert!(under_way(true).is_none());
    }
}
