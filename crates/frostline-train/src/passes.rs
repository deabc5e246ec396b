//! Forward passes over a split that nothing learns from: side by side where threads change no bit.

use frostline_kernels::Kernels;
use frostline_kernels::backend::MatrixUnitChoice;
use rayon::prelude::*;

use crate::Dataset;

/// The most subwords in the pass of one thread: enough for fast products, and few enough that what a layer writes is still in cache
/// when the next one reads it.
const THREAD_TOKENS: usize = 512;

/// Passes whose results wait to be taken, for each thread.
const RESULTS: usize = 4;

/// Computes a forward pass on `B` for each stretch of `order` of about `tokens` subwords, and hands what it returns to `take`, in
/// order. On a processor each thread computes passes of its own, of at most [`THREAD_TOKENS`].
///
/// # Errors
/// Those of `take`.
pub(crate) fn passes<B: Kernels, T: Send, E>(
    data: &Dataset,
    order: &[usize],
    tokens: usize,
    pass: impl Fn(&[usize]) -> T + Sync,
    mut take: impl FnMut(&[usize], T) -> Result<(), E>,
) -> Result<(), E> {
    let choice = MatrixUnitChoice::here();
    if !choice.passes_on_threads::<B>() {
        return batches(data, order, tokens).try_for_each(|batch| take(batch, pass(batch)));
    }
    let all: Vec<&[usize]> = batches(data, order, tokens.min(THREAD_TOKENS)).collect();
    // The first pass runs alone and initialises parameters that are lazy: a thread that did so among other passes could begin one of
    // them meanwhile, which would wait for it forever.
    let (mut left, mut count) = (&all[..], 1);
    while !left.is_empty() {
        let some;
        (some, left) = left.split_at(count.min(left.len()));
        let found: Vec<T> = some.par_iter().with_max_len(1).map(|batch| choice.run(|| pass(batch))).collect();
        some.iter().zip(found).try_for_each(|(batch, found)| take(batch, found))?;
        count = RESULTS * rayon::current_num_threads();
    }
    Ok(())
}

/// Consecutive stretches of `order` with about `tokens` subwords each.
pub(crate) fn batches<'a>(
    data: &'a Dataset,
    order: &'a [usize],
    tokens: usize,
) -> impl Iterator<Item = &'a [usize]> {
    let mut rest = order;
    std::iter::from_fn(move || {
        let mut size = 0;
        let fits = |&&sentence: &&usize| {
            size += data.examples[sentence].ids.len();
            size <= tokens
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (batch, left) = rest.split_at(count);
        rest = left;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::OnceLock;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::fixture::{Fixture, Processor};

    #[test]
    fn results_come_in_order_until_one_is_refused() {
        let train = Fixture::new(30).train;
        let order: Vec<usize> = (0..100).map(|at| at * 7 % 4).collect();
        for threads in 1..=3 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            for (tokens, most) in [(1, 1), (70, 2), (100_000, 16)] {
                let taken = |limit: usize| {
                    let mut taken = Vec::new();
                    let take = |batch: &[usize], found: Vec<usize>| {
                        assert_eq!(batch, found);
                        assert!(batch.len() <= most, "{} of {tokens} subwords", batch.len());
                        taken.extend(found);
                        if taken.len() < limit { Ok(()) } else { Err("refused") }
                    };
                    let end = pool
                        .install(|| passes::<Processor, _, _>(&train, &order, tokens, <[_]>::to_vec, take));
                    (taken, end)
                };
                assert_eq!(taken(usize::MAX), (order.clone(), Ok(())));
                let (some, end) = taken(50);
                assert!(end == Err("refused") && (50..66).contains(&some.len()) && order.starts_with(&some));
            }
        }
    }

    #[test]
    fn the_first_pass_initialises_what_the_others_read() {
        let train = Fixture::new(30).train;
        let order: Vec<usize> = (0..20).map(|at| at % 4).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
        let lazy = OnceLock::new();
        let pass = |batch: &[usize]| {
            if lazy.get().is_none() {
                assert_eq!(batch, [0], "only the first pass finds it missing");
                sleep(Duration::from_millis(20));
                lazy.set(()).expect("it is set once");
            }
        };
        let Ok(()) =
            pool.install(|| passes::<Processor, _, Infallible>(&train, &order, 1, pass, |_, ()| Ok(())));
    }
}
