//! Attention within one sentence: a loop over heads with scratch buffers that stay in cache.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::fresh::as_room;
use super::prefetch::{LINE, prefetch};
use super::square::{SIDE, turn};
use super::tile::{LeftRows, product};
use super::vector::{LANES, Lanes, Simd, exp};
use crate::Dropout;
use crate::dispatch::dispatched;

/// What the backward pass needs from the forward pass: the softmax of every sentence and head,
/// before dropout. Rows are padded to [`padded`] columns.
#[derive(Clone, Debug)]
pub struct SavedAttention {
    pub probabilities: Vec<f32>,
}

/// Key positions, rounded up so that rows fill whole registers.
pub const fn padded(length: usize) -> usize {
    length.next_multiple_of(LANES)
}

/// Makes sure that the heads share all channels, since each writes only its own.
pub fn check_heads(h: usize, heads: usize) {
    assert_eq!(h % heads, 0, "{h} channels for {heads} heads");
}

/// Runs the tasks, each with its rows and its part of the data, in parallel and the longest first: a long task that begins when all
/// others are done would keep all threads but one waiting.
pub fn longest_first<T: Send>(
    parts: impl Iterator<Item = (Range<usize>, T)>,
    work: impl Fn(Range<usize>, T) + Sync,
) {
    let mut left: Vec<(Range<usize>, T)> = parts.collect();
    left.sort_by_key(|(rows, _)| rows.len());
    let threads = rayon::current_num_threads().min(left.len());
    let left = Mutex::new(left);
    let next = || left.lock().expect("nothing panics while it is locked").pop();
    (0..threads).into_par_iter().with_max_len(1).for_each(|_| {
        while let Some((rows, part)) = next() {
            work(rows, part);
        }
    });
}

dispatched! {
    /// Forward over some heads of one sentence, which have `h` channels in all; all of `context` and `probabilities` is written.
    pub fn forward_sentence(
        simd, q: &[f32], k: &[f32], v: &[f32], h: usize, heads: Range<usize>, identities: &[u64], dropout: Dropout,
        context: &mut [MaybeUninit<f32>], probabilities: &mut [MaybeUninit<f32>],
    ) {
        let (l, d) = (identities.len(), h / heads.len());
        let wide = padded(l);
        let scale = 1.0 / (d as f32).sqrt();
        let mut keys = vec![0f32; d * wide];
        let mut dropped = vec![0f32; if dropout.is_off() { 0 } else { l * wide }];
        for (number, head) in heads.enumerate() {
            let at = number * d;
            if at + d < h {
                [q, k, v].iter().for_each(|data| prefetch_head(&data[at + d..], h, d));
            }
            transpose_head::<S>(&k[at..], h, l, d, wide, &mut keys);
            let probabilities = &mut probabilities[number * l * wide..(number + 1) * l * wide];
            product(simd, [l, wide, d], LeftRows::Rows(&q[at..], h), (&keys, wide), (&mut *probabilities, wide));
            // SAFETY: the product wrote all of it.
            let probabilities = unsafe { probabilities.assume_init_mut() };
            for row in probabilities.chunks_exact_mut(wide) {
                softmax(simd, row, l, scale);
            }
            let weights = if dropout.is_off() { &*probabilities } else {
                fill_mask(simd, &mut dropped, wide, head, identities, dropout);
                for (dropped, probability) in dropped.iter_mut().zip(&*probabilities) {
                    *dropped *= probability;
                }
                &dropped
            };
            product(simd, [l, d, l], LeftRows::Rows(weights, wide), (&v[at..], h), (&mut context[at..], h));
        }
    }
}

dispatched! {
    /// Backward over some heads of one sentence; all of `dq`, `dk` and `dv` is written.
    pub fn backward_sentence(
        simd, gradient: &[f32], q: &[f32], k: &[f32], v: &[f32], h: usize, heads: Range<usize>,
        identities: &[u64], dropout: Dropout, probabilities: &[f32],
        dq: &mut [MaybeUninit<f32>], dk: &mut [MaybeUninit<f32>], dv: &mut [MaybeUninit<f32>],
    ) {
        let (l, d) = (identities.len(), h / heads.len());
        let wide = padded(l);
        let scale = 1.0 / (d as f32).sqrt();
        let mut values = vec![0f32; d * wide];
        let mut scores = vec![0f32; l * wide];
        let [mut mask, mut dropped] = [(); 2].map(|()| vec![0f32; if dropout.is_off() { 0 } else { l * wide }]);
        for (number, head) in heads.enumerate() {
            let at = number * d;
            if at + d < h {
                [gradient, q, k, v].iter().for_each(|data| prefetch_head(&data[at + d..], h, d));
            }
            let probabilities = &probabilities[number * l * wide..(number + 1) * l * wide];
            let weights = if dropout.is_off() { probabilities } else {
                fill_mask(simd, &mut mask, wide, head, identities, dropout);
                for ((dropped, probability), factor) in dropped.iter_mut().zip(probabilities).zip(&mask) {
                    *dropped = probability * factor;
                }
                &dropped
            };
            product(simd, [l, d, l], LeftRows::Columns(weights, wide), (&gradient[at..], h), (&mut dv[at..], h));
            transpose_head::<S>(&v[at..], h, l, d, wide, &mut values);
            // SAFETY: a product writes numbers.
            let room = unsafe { as_room(&mut scores) };
            product(simd, [l, wide, d], LeftRows::Rows(&gradient[at..], h), (&values, wide), (room, wide));
            // Without dropout, the mask is empty.
            for (score, factor) in scores.iter_mut().zip(&mask) {
                *score *= factor;
            }
            for (scores, probabilities) in scores.chunks_exact_mut(wide).zip(probabilities.chunks_exact(wide)) {
                softmax_backward(simd, scores, probabilities, scale);
            }
            product(simd, [l, d, l], LeftRows::Rows(&scores, wide), (&k[at..], h), (&mut dq[at..], h));
            product(simd, [l, d, l], LeftRows::Columns(&scores, wide), (&q[at..], h), (&mut dk[at..], h));
        }
    }
}

/// Prefetches one head's \[l, d\].
#[inline(always)]
fn prefetch_head(data: &[f32], stride: usize, d: usize) {
    for row in data.chunks(stride) {
        (0..d).step_by(LINE).for_each(|at| prefetch(row.as_ptr().wrapping_add(at)));
    }
}

/// The transpose of one head's \[l, d\], padded with zeros to \[d, wide\].
#[inline(always)]
pub fn transpose_head<S: Simd>(
    data: &[f32],
    stride: usize,
    l: usize,
    d: usize,
    wide: usize,
    out: &mut [f32],
) {
    assert!((l - 1) * stride + d <= data.len() && (d - 1) * wide + l <= out.len(), "a head [{l}, {d}]");
    let channels = if l < SIDE { 0 } else { d - d % SIDE };
    for row in (0..l).step_by(SIDE).filter(|_| channels > 0) {
        // The last square overlaps the one before, so that no row is left over.
        let row = row.min(l - SIDE);
        for channel in (0..channels).step_by(SIDE) {
            let from = data.as_ptr().wrapping_add(row * stride + channel);
            let to = out.as_mut_ptr().wrapping_add(channel * wide + row).cast();
            // SAFETY: the square is inside both, as was asserted; with FMA, the caller is compiled for AVX2.
            unsafe {
                if S::FMA {
                    turn::<true>(from, stride, to, wide);
                } else {
                    turn::<false>(from, stride, to, wide);
                }
            }
        }
    }
    for row in 0..l {
        for channel in channels..d {
            out[channel * wide + row] = data[row * stride + channel];
        }
    }
}

/// Softmax over the first `l` of a row times `scale`; the padding becomes 0.
#[inline(always)]
pub fn softmax<S: Simd>(simd: S, row: &mut [f32], l: usize, scale: f32) {
    let (chunks, _) = row.as_chunks_mut::<LANES>();
    let (zero, lowest) = (simd.splat(0.0), simd.splat(f32::NEG_INFINITY));
    let left = |number: usize| l - number * LANES;
    let mut tops = lowest;
    for (number, chunk) in chunks.iter().enumerate() {
        tops = simd.load(*chunk).keep_first(left(number), lowest).max(tops);
    }
    let (top, scale) = (simd.splat(tops.reduce_max()), simd.splat(scale));
    let mut sums = zero;
    for (number, chunk) in chunks.iter_mut().enumerate() {
        let powers = exp(simd, simd.load(*chunk).sub(top).mul(scale)).keep_first(left(number), zero);
        sums = sums.add(powers);
        *chunk = powers.to_array();
    }
    let inverse = simd.splat(1.0 / sums.reduce_sum());
    for chunk in chunks {
        *chunk = simd.load(*chunk).mul(inverse).to_array();
    }
}

/// From the gradient of a row of softmax that of its scores, before `scale`. Where the probabilities are 0 it is 0.
#[inline(always)]
pub fn softmax_backward<S: Simd>(simd: S, row: &mut [f32], probabilities: &[f32], scale: f32) {
    let (chunks, _) = row.as_chunks_mut::<LANES>();
    let (probabilities, _) = probabilities.as_chunks::<LANES>();
    let mut sums = simd.splat(0.0);
    for (chunk, probabilities) in chunks.iter().zip(probabilities) {
        sums = sums.add(simd.load(*chunk).mul(simd.load(*probabilities)));
    }
    let (mean, scale) = (simd.splat(sums.reduce_sum()), simd.splat(scale));
    for (chunk, probabilities) in chunks.iter_mut().zip(probabilities) {
        *chunk = simd.load(*chunk).sub(mean).mul(simd.load(*probabilities)).mul(scale).to_array();
    }
}

/// The factors of one head's rows under dropout.
#[inline(always)]
fn fill_mask<S: Simd>(
    simd: S,
    out: &mut [f32],
    wide: usize,
    head: usize,
    identities: &[u64],
    dropout: Dropout,
) {
    fill_mask_from(simd, out, [wide, 0], head, identities, dropout);
}

/// The factors of one head's rows of `wide` columns under dropout, of which the first column has this position.
#[inline(always)]
pub fn fill_mask_from<S: Simd>(
    simd: S,
    out: &mut [f32],
    [wide, position]: [usize; 2],
    head: usize,
    identities: &[u64],
    dropout: Dropout,
) {
    for (row, &identity) in out.chunks_exact_mut(wide).zip(identities) {
        let mask = dropout.row(identity, head as u64 + 1);
        let (chunks, _) = row.as_chunks_mut::<LANES>();
        for (number, chunk) in chunks.iter_mut().enumerate() {
            *chunk = simd.factors(mask, position + number * LANES).to_array();
        }
    }
}
