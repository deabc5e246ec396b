//! Forward passes over many sentences without training: in parallel if threads change no bit.

use rayon::prelude::*;

/// Maximum number of subwords in the pass of one thread: enough for fast products, but few enough that a
/// layer's output is still in the cache when the next layer reads it, and that all threads have work until the
/// end.
const THREAD_TOKENS: usize = 512;

/// Passes whose results wait to be taken, for each thread.
const RESULTS: usize = 4;

/// Computes a forward pass for each stretch of `items` of at most `tokens` subwords (see [`batches`]), and
/// hands what it returns to `take`, in order. With `on_threads`, each thread computes its own passes, of at
/// most 512 subwords.
///
/// # Errors
/// Errors of `take`.
pub fn passes<I: Sync, T: Send, E>(
    on_threads: bool,
    items: &[I],
    tokens: usize,
    length: impl Fn(&I) -> usize,
    pass: impl Fn(&[I]) -> T + Sync,
    mut take: impl FnMut(&[I], T) -> Result<(), E>,
) -> Result<(), E> {
    if !on_threads {
        return batches(items, tokens, length).try_for_each(|batch| take(batch, pass(batch)));
    }
    let all: Vec<&[I]> = batches(items, tokens.min(THREAD_TOKENS), length).collect();
    // The first pass runs alone and initialises parameters that are lazy: a thread that did so among other passes could begin one of
    // them meanwhile, which would wait for it forever.
    let (mut left, mut count) = (&all[..], 1);
    while !left.is_empty() {
        let some;
        (some, left) = left.split_at(count.min(left.len()));
        let found: Vec<T> = some.par_iter().with_max_len(1).map(|batch| pass(batch)).collect();
        some.iter().zip(found).try_for_each(|(batch, found)| take(batch, found))?;
        count = RESULTS * rayon::current_num_threads();
    }
    Ok(())
}

/// Splits items into batches for one forward pass each, in order: at most `tokens` subwords, unless a single
/// item has more.
pub fn batches<I>(items: &[I], tokens: usize, length: impl Fn(&I) -> usize) -> impl Iterator<Item = &[I]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let mut size = 0;
        let fits = |item: &&I| {
            size += length(item);
            size <= tokens
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let batch;
        (batch, rest) = rest.split_at(count);
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

    #[test]
    fn a_batch_holds_what_fits_but_at_least_one_item() {
        let sizes =
            |lengths: &[usize]| batches(lengths, 2048, |&length| length).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(&[1000, 1000, 48, 1]), [3, 1]);
        assert_eq!(sizes(&[2049, 1]), [1, 1]);
        assert!(sizes(&[]).is_empty());
    }

    #[test]
    fn results_come_in_order_until_one_is_refused() {
        let items: Vec<usize> = (0..100).collect();
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
                    let end = pool.install(|| passes(true, &items, tokens, |_| 32, <[_]>::to_vec, take));
                    (taken, end)
                };
                assert_eq!(taken(usize::MAX), (items.clone(), Ok(())));
                let (some, end) = taken(50);
                assert!(end == Err("refused") && (50..66).contains(&some.len()) && items.starts_with(&some));
            }
        }
    }

    #[test]
    fn the_first_pass_initialises_what_the_others_read() {
        let items: Vec<usize> = (0..20).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
        let lazy = OnceLock::new();
        let pass = |batch: &[usize]| {
            if lazy.get().is_none() {
                assert_eq!(batch, [0], "only the first pass finds it missing");
                sleep(Duration::from_millis(20));
                lazy.set(()).expect("it is set once");
            }
        };
        let take = |_: &[usize], ()| Ok::<(), Infallible>(());
        let Ok(()) = pool.install(|| passes(true, &items, 1, |_| 1, pass, take));
    }
}
