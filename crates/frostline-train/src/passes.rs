//! Forward passes over a split that nothing learns from: side by side where threads change no bit.

use frostline_kernels::Kernels;
use frostline_kernels::backend::MatrixUnitChoice;
use frostline_model::Network;
use rayon::prelude::*;

use crate::Dataset;

/// The most subwords in the pass of one thread: enough for fast products, and few enough that what a layer writes is still in cache
/// when the next one reads it.
const THREAD_TOKENS: usize = 512;

/// The most passes of a thread whose results are kept.
const RESULTS: usize = 4;

/// Computes a forward pass of the model for each stretch of `order` of about `tokens` subwords, and hands what it returns to `take`, in
/// order. On a processor each thread computes passes of its own, which are no larger than [`THREAD_TOKENS`].
///
/// # Errors
/// Those of `take`.
pub(crate) fn passes<B: Kernels, T: Send, E>(
    model: &Network<B>,
    data: &Dataset,
    order: &[usize],
    tokens: usize,
    pass: impl Fn(&Network<B>, &[usize]) -> T + Sync,
    mut take: impl FnMut(&[usize], T) -> Result<(), E>,
) -> Result<(), E> {
    let choice = MatrixUnitChoice::here();
    if !choice.passes_on_threads::<B>() {
        return batches(data, order, tokens).try_for_each(|batch| take(batch, pass(model, batch)));
    }
    let all: Vec<&[usize]> = batches(data, order, tokens.min(THREAD_TOKENS)).collect();
    // The first pass runs alone and initialises parameters that are lazy: a thread that did so among other passes could begin one of
    // them meanwhile, which would wait for it forever.
    let (mut left, mut count) = (&all[..], 1);
    while !left.is_empty() {
        let some;
        (some, left) = left.split_at(count.min(left.len()));
        let found: Vec<T> =
            some.par_iter().with_max_len(1).map(|batch| choice.run(|| pass(model, batch))).collect();
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
    use burn::module::AutodiffModule as _;

    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn results_come_in_order_until_one_is_refused() {
        let Fixture { train, model, .. } = Fixture::new(30);
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
                    let model = model.valid();
                    let end = pool.install(|| {
                        passes(&model, &train, &order, tokens, |_, batch: &[usize]| batch.to_vec(), take)
                    });
                    (taken, end)
                };
                assert_eq!(taken(usize::MAX), (order.clone(), Ok(())));
                let (some, end) = taken(50);
                assert!(end == Err("refused") && (50..66).contains(&some.len()) && order.starts_with(&some));
            }
        }
    }
}
