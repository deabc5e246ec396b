//! Sums of the squares of gradients, for their norm: of a weight as soon as it has its gradient, which then still is in cache.

use std::cell::RefCell;
use std::collections::HashMap;

use burn::backend::flex::FlexTensor;

use super::adamw::sums_of_squares;
use super::tensors::data;

thread_local! {
    /// The gradients whose sums are known, where somebody will ask for them. To hold a tensor means that its buffer is neither
    /// written nor given to another one.
    static KNOWN: RefCell<Option<Vec<(FlexTensor, f64)>>> = const { RefCell::new(None) };
}

/// Gradients and their sums of squares, if these are wanted.
pub struct Summed {
    pub gradients: Vec<FlexTensor>,
    sums: Vec<f64>,
}

/// Says whether somebody will ask for the sums of squares of all gradients of the backward pass that follows.
pub fn ask(wanted: bool) {
    KNOWN.set(wanted.then(Vec::new));
}

/// Whether somebody will.
pub fn are_wanted() -> bool {
    KNOWN.with_borrow(Option::is_some)
}

/// Gradients that were just computed, on any thread, with their sums if these are `wanted`.
pub fn summed(gradients: Vec<FlexTensor>, wanted: bool) -> Summed {
    let sums = if wanted { sums_of(&gradients) } else { Vec::new() };
    Summed { gradients, sums }
}

/// Keeps sums until somebody asks for them on this thread.
pub fn note(found: &Summed) {
    KNOWN.with_borrow_mut(|known| {
        if let Some(known) = known {
            known.extend(found.gradients.iter().cloned().zip(found.sums.iter().copied()));
        }
    });
}

fn sums_of(tensors: &[FlexTensor]) -> Vec<f64> {
    sums_of_squares(&tensors.iter().map(data).collect::<Vec<_>>())
}

/// The sums of squares of tensors.
pub fn of(tensors: &[FlexTensor]) -> Vec<f64> {
    let known = KNOWN.take().unwrap_or_default();
    let known: HashMap<*const [f32], f64> =
        known.iter().map(|(tensor, sum)| (std::ptr::from_ref(data(tensor)), *sum)).collect();
    let all = tensors.iter().map(|tensor| (data(tensor), known.get(&std::ptr::from_ref(data(tensor)))));
    let all: Vec<(&[f32], Option<&f64>)> = all.collect();
    let others = all.iter().filter(|(_, sum)| sum.is_none()).map(|(numbers, _)| *numbers);
    let mut others = sums_of_squares(&others.collect::<Vec<_>>()).into_iter();
    all.iter()
        .map(|(_, sum)| sum.copied().or_else(|| others.next()).expect("a sum for each tensor"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::tensors::{flex, whole};

    fn gradient(length: usize, first: f32) -> FlexTensor {
        flex((0..length).map(|at| first + at as f32 / 7.0).collect(), [length])
    }

    fn known() -> Option<usize> {
        KNOWN.with_borrow(|known| known.as_ref().map(Vec::len))
    }

    fn noted(gradients: &[FlexTensor]) {
        note(&summed(gradients.to_vec(), are_wanted()));
    }

    /// The sums' bits, all computed at once.
    fn sums(tensors: &[FlexTensor]) -> Vec<u64> {
        bits(sums_of(tensors))
    }

    fn bits(sums: Vec<f64>) -> Vec<u64> {
        sums.into_iter().map(f64::to_bits).collect()
    }

    #[test]
    fn sums_on_the_way_have_the_bits_of_those_at_the_end_and_are_kept_until_then() {
        let all = [gradient(20_000, 0.1), gradient(3, -5.0), gradient(9000, 2.0)];
        ask(true);
        noted(&all[2..]);
        noted(&all[..1]);
        assert_eq!(known(), Some(2));
        assert_eq!(bits(of(&all)), sums(&all));
        assert_eq!(known(), None);
        noted(&all);
        assert_eq!((known(), bits(of(&all))), (None, sums(&all)));
    }

    #[test]
    fn what_was_written_or_dropped_since_is_not_mistaken_for_what_was_summed() {
        let mut written = gradient(100, 1.0);
        ask(true);
        noted(std::slice::from_ref(&written));
        (0..20).for_each(|at| noted(&[gradient(100, at as f32)]));
        written = whole(written);
        written.storage_mut::<f32>()[7] = 100.0;
        let all = [written, gradient(100, 9.5), gradient(100, 3.0)];
        assert_eq!(bits(of(&all)), sums(&all));
    }

    #[test]
    fn sums_that_nobody_asked_for_are_dropped_with_the_next_backward_pass() {
        ask(true);
        noted(&[gradient(5, 1.0)]);
        ask(true);
        noted(&[gradient(6, 1.0), gradient(7, 1.0)]);
        assert_eq!(known(), Some(2));
        ask(false);
        noted(&[gradient(8, 1.0)]);
        assert_eq!(known(), None);
    }
}
