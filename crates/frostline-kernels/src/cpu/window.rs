//! Attention within one sentence whose queries are taken in blocks: each position attends to a window around it, or to all others.
//!
//! A block needs only keys up to the window's distance from its rows, so that the cost grows linearly with the length of the
//! sentence. Scores outside the window are left out of the softmax. Without a window, blocks serve long sentences, of whose matrix
//! of scores only some rows stay in cache.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::attention::{fill_mask_from, padded, softmax, softmax_backward, transpose_head};
use super::fresh::as_room;
use super::tile::{LeftRows, product};
use crate::Dropout;
use crate::dispatch::dispatched;

/// Queries of a block.
const ROWS: usize = 64;

/// A block of a sentence: its queries, and the keys that any of them sees.
struct WindowBlock {
    queries: Range<usize>,
    keys: Range<usize>,
}

impl WindowBlock {
    /// Returns the columns of the keys that the query in this row sees.
    fn columns(&self, row: usize, window: usize) -> Range<usize> {
        let position = self.queries.start + row;
        let [from, to] = [position.saturating_sub(window), position.saturating_add(window).saturating_add(1)];
        from.max(self.keys.start) - self.keys.start..to.min(self.keys.end) - self.keys.start
    }

    /// Returns the number of columns, rounded up so that rows fill whole registers.
    fn wide(&self) -> usize {
        padded(self.keys.len())
    }
}

/// The blocks of a sentence of this length.
fn blocks(length: usize, window: usize) -> impl Iterator<Item = WindowBlock> {
    (0..length).step_by(ROWS).map(move |from| {
        let to = (from + ROWS).min(length);
        WindowBlock {
            queries: from..to,
            keys: from.saturating_sub(window)..to.saturating_add(window).min(length),
        }
    })
}

/// The most columns that a block of a sentence has.
fn widest(length: usize, window: usize) -> usize {
    padded(window.saturating_mul(2).saturating_add(ROWS).min(length))
}

/// Returns the number of probabilities of a head.
pub fn size_in_blocks(length: usize, window: usize) -> usize {
    blocks(length, window).map(|block| block.queries.len() * block.wide()).sum()
}

/// Returns the number of pairs of a query and a key in the same block.
pub fn pairs_in_blocks(length: usize, window: usize) -> usize {
    blocks(length, window).map(|block| block.queries.len() * block.keys.len()).sum()
}

dispatched! {
    /// Forward over some heads of one sentence in blocks; all of `context` and `probabilities` is written.
    pub fn forward_blocks(
        simd, q: &[f32], k: &[f32], v: &[f32], h: usize, heads: Range<usize>, window: usize, identities: &[u64],
        dropout: Dropout, context: &mut [MaybeUninit<f32>], probabilities: &mut [MaybeUninit<f32>],
    ) {
        let (l, d) = (identities.len(), h / heads.len());
        let scale = 1.0 / (d as f32).sqrt();
        let widest = widest(l, window);
        let mut keys = vec![0f32; d * widest];
        let mut dropped = vec![0f32; if dropout.is_off() { 0 } else { ROWS * widest }];
        let mut left = probabilities;
        for (number, head) in heads.enumerate() {
            let mut turned = 0..0;
            for block in blocks(l, window) {
                let (rows, wide, n) = (block.queries.len(), block.wide(), block.keys.len());
                let [from, first] = [&block.queries, &block.keys].map(|range| range.start * h + number * d);
                let (probabilities, rest) = left.split_at_mut(rows * wide);
                left = rest;
                let keys = &mut keys[..d * wide];
                if turned != block.keys {
                    transpose_head::<S>(&k[first..], h, n, d, wide, keys);
                    turned = block.keys.clone();
                }
                product(simd, [rows, wide, d], LeftRows::Rows(&q[from..], h), (&*keys, wide), (&mut *probabilities, wide));
                // SAFETY: the product wrote all of it.
                let probabilities = unsafe { probabilities.assume_init_mut() };
                for (row, scores) in probabilities.chunks_exact_mut(wide).enumerate() {
                    let seen = block.columns(row, window);
                    scores[..seen.start].fill(f32::NEG_INFINITY);
                    scores[seen.end..].fill(f32::NEG_INFINITY);
                    softmax(simd, scores, wide, scale);
                    // The exponential of minus infinity is tiny, but not 0.
                    scores[..seen.start].fill(0.0);
                    scores[seen.end..].fill(0.0);
                }
                let weights = if dropout.is_off() { &*probabilities } else {
                    let dropped = &mut dropped[..rows * wide];
                    let identities = &identities[block.queries.clone()];
                    fill_mask_from(simd, dropped, [wide, block.keys.start], head, identities, dropout);
                    for (dropped, probability) in dropped.iter_mut().zip(&*probabilities) {
                        *dropped *= probability;
                    }
                    &*dropped
                };
                product(simd, [rows, d, n], LeftRows::Rows(weights, wide), (&v[first..], h), (&mut context[from..], h));
            }
        }
    }
}

dispatched! {
    /// Backward over some heads of one sentence in blocks; all of `dq`, `dk` and `dv` is written.
    pub fn backward_blocks(
        simd, gradient: &[f32], q: &[f32], k: &[f32], v: &[f32], h: usize, heads: Range<usize>, window: usize,
        identities: &[u64], dropout: Dropout, probabilities: &[f32],
        dq: &mut [MaybeUninit<f32>], dk: &mut [MaybeUninit<f32>], dv: &mut [MaybeUninit<f32>],
    ) {
        let (l, d) = (identities.len(), h / heads.len());
        let scale = 1.0 / (d as f32).sqrt();
        let widest = widest(l, window);
        let [mut values, mut part] = [(); 2].map(|()| vec![0f32; d * widest]);
        let mut scores = vec![0f32; ROWS * widest];
        let [mut mask, mut dropped] = [(); 2].map(|()| vec![0f32; if dropout.is_off() { 0 } else { ROWS * widest }]);
        // Sums over the blocks of a head, [L, D].
        let [mut of_keys, mut of_values] = [(); 2].map(|()| vec![0f32; l * d]);
        let mut left = probabilities;
        for (number, head) in heads.enumerate() {
            let mut turned = 0..0;
            of_keys.fill(0.0);
            of_values.fill(0.0);
            for block in blocks(l, window) {
                let (rows, wide, n) = (block.queries.len(), block.wide(), block.keys.len());
                let [from, first] = [&block.queries, &block.keys].map(|range| range.start * h + number * d);
                let sums = block.keys.start * d..block.keys.end * d;
                let probabilities;
                (probabilities, left) = left.split_at(rows * wide);
                let mask = if dropout.is_off() { &mut [][..] } else { &mut mask[..rows * wide] };
                let weights = if dropout.is_off() { probabilities } else {
                    let identities = &identities[block.queries.clone()];
                    fill_mask_from(simd, mask, [wide, block.keys.start], head, identities, dropout);
                    for ((dropped, probability), factor) in dropped.iter_mut().zip(probabilities).zip(&*mask) {
                        *dropped = probability * factor;
                    }
                    &dropped
                };
                let part = &mut part[..n * d];
                // SAFETY: a product writes numbers, here and below.
                let room = unsafe { as_room(part) };
                product(simd, [n, d, rows], LeftRows::Columns(weights, wide), (&gradient[from..], h), (room, d));
                of_values[sums.clone()].iter_mut().zip(&*part).for_each(|(sum, part)| *sum += part);
                let values = &mut values[..d * wide];
                if turned != block.keys {
                    transpose_head::<S>(&v[first..], h, n, d, wide, values);
                    turned = block.keys.clone();
                }
                let scores = &mut scores[..rows * wide];
                // SAFETY: as above.
                let room = unsafe { as_room(scores) };
                product(simd, [rows, wide, d], LeftRows::Rows(&gradient[from..], h), (&*values, wide), (room, wide));
                for (score, factor) in scores.iter_mut().zip(&*mask) {
                    *score *= factor;
                }
                for (scores, probabilities) in scores.chunks_exact_mut(wide).zip(probabilities.chunks_exact(wide)) {
                    softmax_backward(simd, scores, probabilities, scale);
                }
                product(simd, [rows, d, n], LeftRows::Rows(scores, wide), (&k[first..], h), (&mut dq[from..], h));
                // SAFETY: as above.
                let room = unsafe { as_room(part) };
                product(simd, [n, d, rows], LeftRows::Columns(scores, wide), (&q[from..], h), (room, d));
                of_keys[sums].iter_mut().zip(&*part).for_each(|(sum, part)| *sum += part);
            }
            write_head(&of_keys, d, &mut dk[number * d..], h);
            write_head(&of_values, d, &mut dv[number * d..], h);
        }
    }
}

/// Writes a head's \[L, D\] to its channels of \[L, H\].
#[inline(always)]
fn write_head(from: &[f32], d: usize, to: &mut [MaybeUninit<f32>], h: usize) {
    for (to, from) in to.chunks_mut(h).zip(from.chunks_exact(d)) {
        to[..d].write_copy_of_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_what_their_queries_see() {
        for (length, window) in [(130, 3), (64, 1), (65, 64), (200, 64), (7, 2)] {
            let mut next = 0;
            for block in blocks(length, window) {
                assert_eq!(block.queries.start, next);
                next = block.queries.end;
                for (row, position) in block.queries.clone().enumerate() {
                    let seen = block.columns(row, window);
                    let seen = seen.start + block.keys.start..seen.end + block.keys.start;
                    let expected = position.saturating_sub(window)..(position + window + 1).min(length);
                    assert_eq!(seen, expected, "position {position} of {length}, window {window}");
                }
            }
            assert_eq!(next, length);
        }
    }

    #[test]
    fn work_grows_linearly_with_the_length() {
        let flop = |length| pairs_in_blocks(length, 64) as f64;
        assert!(flop(8192) < 2.05 * flop(4096) && flop(4096) > 1.9 * flop(2048));
    }
}
