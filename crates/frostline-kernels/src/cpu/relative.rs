//! Disentangled attention within each sentence of a pack: a score is a product of query and key, of the query and the key's
//! relative position, and of the key and the query's.
//!
//! The scores of positions of one head are two matrices [L, R] in scratch memory, of which each score reads one number; nothing
//! of [heads, L, L] is kept but the probabilities, as in `attention`.

use std::mem::MaybeUninit;
use std::ops::Range;

use rayon::prelude::*;

use super::attention::{
    SavedAttention, check_heads, fill_mask_from, longest_first, padded, softmax, softmax_backward,
    transpose_head,
};
use super::fresh::{Fresh, FreshPart, as_room};
use super::tile::{LeftRows, product};
use crate::dispatch::dispatched;
use crate::profile::{Operation, timed};
use crate::{Dropout, Pack, RelativePositions};

/// The factor of a sum of three products of D channels each.
fn score_scale(d: usize) -> f32 {
    1.0 / ((3 * d) as f32).sqrt()
}

/// The number of probabilities of a sentence, over all heads.
fn size(length: usize, heads: usize) -> usize {
    length * padded(length) * heads
}

/// Operations of one pass: `whole` products of L rows and L columns, `by_row` of L rows and R columns.
fn flop(pack: &Pack, h: usize, positions: &RelativePositions, [whole, by_row]: [usize; 2]) -> usize {
    let one = |length| 2 * h * length * (whole * length + by_row * positions.rows(length).len());
    pack.lengths().map(one).sum()
}

/// The shapes and the table that all sentences of a pass share.
#[derive(Clone, Copy)]
struct SharedShapes<'a> {
    h: usize,
    positions: &'a RelativePositions,
    /// The first row of the table that the pass reads.
    first: usize,
}

impl SharedShapes<'_> {
    /// The rows that a sentence reads, counted from the first one of the pass.
    fn rows(&self, length: usize) -> Range<usize> {
        let rows = self.positions.rows(length);
        rows.start - self.first..rows.end - self.first
    }

    /// The numbers of the rows that a sentence reads.
    fn numbers(&self, length: usize) -> Range<usize> {
        let rows = self.rows(length);
        rows.start * self.h..rows.end * self.h
    }
}

/// The context \[N, H\], and what the backward pass needs. The keys and queries of relative positions are \[R, H\]: the rows
/// that the longest sentence reads.
pub fn forward(
    [q, k, v]: [&[f32]; 3],
    relative: [&[f32]; 2],
    [h, heads]: [usize; 2],
    positions: &RelativePositions,
    pack: &Pack,
    dropout: Dropout,
) -> (Vec<f32>, SavedAttention) {
    check_heads(h, heads);
    let shared = SharedShapes { h, positions, first: positions.rows(pack.longest()).start };
    let sizes: Vec<usize> = pack.lengths().map(|length| size(length, heads)).collect();
    let floats = 4 * q.len() + sizes.iter().sum::<usize>();
    let _timed = timed(Operation::Attention, flop(pack, h, positions, [2, 2]), floats);
    let [mut context, mut probabilities] = [q.len(), sizes.iter().sum()].map(Fresh::new);
    let parts =
        context.cut(pack.lengths().map(|length| length * h)).into_iter().zip(probabilities.cut(sizes));
    longest_first(pack.sentence_rows().zip(parts), |rows, (context, probabilities)| {
        let at = rows.start * h..rows.end * h;
        let identities = &pack.rows().identities()[rows];
        let [q, k, v] = [q, k, v].map(|all| &all[at.clone()]);
        let [keys, queries] = relative.map(|all| &all[shared.numbers(identities.len())]);
        let columns = columns(positions, identities.len());
        // SAFETY: they have the sizes of a sentence, and all of it is written.
        let (context, probabilities) = unsafe { (context.room(), probabilities.room()) };
        forward_sentence(
            q,
            k,
            v,
            keys,
            queries,
            &columns,
            h,
            heads,
            identities,
            dropout,
            context,
            probabilities,
        );
    });
    (context.finish(), SavedAttention { probabilities: probabilities.finish() })
}

/// Returns the row of each difference of positions in a sentence, from the largest to the smallest, counted from the sentence's
/// own first row: the rows of query i begin at `length - 1 - i`, one for each key.
fn columns(positions: &RelativePositions, length: usize) -> Vec<u32> {
    let (first, farthest) = (positions.rows(length).start, length as isize - 1);
    (-farthest..=farthest).rev().map(|difference| (positions.row(difference) - first) as u32).collect()
}

dispatched! {
    /// Forward over one sentence; all of `context` and `probabilities` is written.
    pub fn forward_sentence(
        simd, q: &[f32], k: &[f32], v: &[f32], position_keys: &[f32], position_queries: &[f32], columns: &[u32],
        h: usize, heads: usize, identities: &[u64], dropout: Dropout,
        context: &mut [MaybeUninit<f32>], probabilities: &mut [MaybeUninit<f32>],
    ) {
        let (l, r, d) = (identities.len(), position_keys.len() / h, h / heads);
        let (wide, across) = (padded(l), padded(r));
        let scale = score_scale(d);
        let mut turned = vec![0f32; d * wide.max(across)];
        let [mut of_keys, mut of_queries] = [(); 2].map(|()| vec![0f32; l * across]);
        let mut dropped = vec![0f32; if dropout.is_off() { 0 } else { l * wide }];
        for head in 0..heads {
            let at = head * d;
            for (rows, table, out) in [(q, position_keys, &mut of_keys), (k, position_queries, &mut of_queries)] {
                let turned = &mut turned[..d * across];
                turned.fill(0.0);
                transpose_head::<S>(&table[at..], h, r, d, across, turned);
                // SAFETY: a product writes numbers.
                let room = unsafe { as_room(out) };
                product(simd, [l, across, d], LeftRows::Rows(&rows[at..], h), (&*turned, across), (room, across));
            }
            let turned = &mut turned[..d * wide];
            turned.fill(0.0);
            transpose_head::<S>(&k[at..], h, l, d, wide, turned);
            let probabilities = &mut probabilities[head * l * wide..(head + 1) * l * wide];
            product(simd, [l, wide, d], LeftRows::Rows(&q[at..], h), (&*turned, wide), (&mut *probabilities, wide));
            // SAFETY: the product wrote all of it.
            let probabilities = unsafe { probabilities.assume_init_mut() };
            for (i, row) in probabilities.chunks_exact_mut(wide).enumerate() {
                let of_query = &of_keys[i * across..(i + 1) * across];
                let by_key = of_queries.chunks_exact(across);
                for ((score, &column), of_key) in row.iter_mut().zip(&columns[l - 1 - i..][..l]).zip(by_key) {
                    *score += of_query[column as usize];
                    *score += of_key[column as usize];
                }
                softmax(simd, row, l, scale);
            }
            let weights = if dropout.is_off() { &*probabilities } else {
                fill_mask_from(simd, &mut dropped, [wide, 0], head, identities, dropout);
                for (dropped, probability) in dropped.iter_mut().zip(&*probabilities) {
                    *dropped *= probability;
                }
                &dropped
            };
            product(simd, [l, d, l], LeftRows::Rows(weights, wide), (&v[at..], h), (&mut context[at..], h));
        }
    }
}

/// Gradients of a disentangled attention: of q, k and v, \[N, H\] each, and of the keys and queries of relative positions,
/// \[R, H\] each.
pub struct RelativeGradients {
    pub qkv: [Vec<f32>; 3],
    pub relative: [Vec<f32>; 2],
}

/// The gradients, from the gradient of the context.
#[allow(clippy::too_many_arguments)]
pub fn backward(
    gradient: &[f32],
    [q, k, v]: [&[f32]; 3],
    relative: [&[f32]; 2],
    [h, heads]: [usize; 2],
    positions: &RelativePositions,
    pack: &Pack,
    dropout: Dropout,
    saved: &SavedAttention,
) -> RelativeGradients {
    check_heads(h, heads);
    let shared = SharedShapes { h, positions, first: positions.rows(pack.longest()).start };
    let floats = 7 * q.len() + saved.probabilities.len();
    let _timed = timed(Operation::AttentionGradients, flop(pack, h, positions, [4, 4]), floats);
    let mut out = [(); 3].map(|()| Fresh::new(q.len()));
    let [dq, dk, dv] = out.each_mut().map(|out| out.cut(pack.lengths().map(|length| length * h)).into_iter());
    // The gradients of the rows that each sentence reads.
    let sizes: Vec<usize> = pack.lengths().map(|length| shared.numbers(length).len()).collect();
    let mut added = [(); 2].map(|()| Fresh::new(sizes.iter().sum()));
    let [to_keys, to_queries] = added.each_mut().map(|added| added.cut(sizes.iter().copied()).into_iter());
    let probabilities = pack.lengths().scan(&saved.probabilities[..], |left, length| {
        let part;
        (part, *left) = left.split_at(size(length, heads));
        Some(part)
    });
    let parts = dq.zip(dk).zip(dv).zip(to_keys).zip(to_queries).zip(probabilities);
    let tasks = pack.sentence_rows().zip(parts);
    longest_first(tasks, |rows, (((((dq, dk), dv), to_keys), to_queries), probabilities)| {
        let at = rows.start * h..rows.end * h;
        let identities = &pack.rows().identities()[rows];
        let [gradient, q, k, v] = [gradient, q, k, v].map(|all| &all[at.clone()]);
        let [keys, queries] = relative.map(|all| &all[shared.numbers(identities.len())]);
        let columns = columns(positions, identities.len());
        // SAFETY: as in the forward pass.
        let [dq, dk, dv, to_keys, to_queries] =
            [dq, dk, dv, to_keys, to_queries].map(|part: FreshPart<'_, f32>| unsafe { part.room() });
        backward_sentence(
            gradient,
            q,
            k,
            v,
            keys,
            queries,
            &columns,
            h,
            heads,
            identities,
            dropout,
            probabilities,
            dq,
            dk,
            dv,
            to_keys,
            to_queries,
        );
    });
    let relative = added.map(|added| summed_rows(&added.finish(), &shared, pack));
    RelativeGradients { qkv: out.map(Fresh::finish), relative }
}

dispatched! {
    /// Backward over one sentence; all outputs are written.
    pub fn backward_sentence(
        simd, gradient: &[f32], q: &[f32], k: &[f32], v: &[f32], position_keys: &[f32], position_queries: &[f32],
        columns: &[u32], h: usize, heads: usize, identities: &[u64], dropout: Dropout, probabilities: &[f32],
        dq: &mut [MaybeUninit<f32>], dk: &mut [MaybeUninit<f32>], dv: &mut [MaybeUninit<f32>],
        to_keys: &mut [MaybeUninit<f32>], to_queries: &mut [MaybeUninit<f32>],
    ) {
        let (l, r, d) = (identities.len(), position_keys.len() / h, h / heads);
        let (wide, across) = (padded(l), padded(r));
        let scale = score_scale(d);
        let mut values = vec![0f32; d * wide];
        let mut scores = vec![0f32; l * wide];
        let [mut of_queries, mut of_keys] = [(); 2].map(|()| vec![0f32; l * across]);
        let mut part = vec![0f32; l * d];
        let [mut mask, mut dropped] = [(); 2].map(|()| vec![0f32; if dropout.is_off() { 0 } else { l * wide }]);
        for head in 0..heads {
            let at = head * d;
            let probabilities = &probabilities[head * l * wide..(head + 1) * l * wide];
            let weights = if dropout.is_off() { probabilities } else {
                fill_mask_from(simd, &mut mask, [wide, 0], head, identities, dropout);
                for ((dropped, probability), factor) in dropped.iter_mut().zip(probabilities).zip(&mask) {
                    *dropped = probability * factor;
                }
                &dropped
            };
            product(simd, [l, d, l], LeftRows::Columns(weights, wide), (&gradient[at..], h), (&mut dv[at..], h));
            transpose_head::<S>(&v[at..], h, l, d, wide, &mut values);
            // SAFETY: a product writes numbers, here and below.
            let room = unsafe { as_room(&mut scores) };
            product(simd, [l, wide, d], LeftRows::Rows(&gradient[at..], h), (&values, wide), (room, wide));
            // Without dropout, the mask is empty.
            for (score, factor) in scores.iter_mut().zip(&mask) {
                *score *= factor;
            }
            for (scores, probabilities) in scores.chunks_exact_mut(wide).zip(probabilities.chunks_exact(wide)) {
                softmax_backward(simd, scores, probabilities, scale);
            }
            of_queries.fill(0.0);
            of_keys.fill(0.0);
            for (i, row) in scores.chunks_exact(wide).enumerate() {
                let of_query = &mut of_queries[i * across..(i + 1) * across];
                let by_key = of_keys.chunks_exact_mut(across);
                for ((score, &column), of_key) in row.iter().zip(&columns[l - 1 - i..][..l]).zip(by_key) {
                    of_query[column as usize] += score;
                    of_key[column as usize] += score;
                }
            }
            product(simd, [l, d, l], LeftRows::Rows(&scores, wide), (&k[at..], h), (&mut dq[at..], h));
            product(simd, [l, d, l], LeftRows::Columns(&scores, wide), (&q[at..], h), (&mut dk[at..], h));
            for (sums, table, out) in
                [(&of_queries, position_keys, &mut *dq), (&of_keys, position_queries, &mut *dk)]
            {
                // SAFETY: as above.
                let room = unsafe { as_room(&mut part) };
                product(simd, [l, d, r], LeftRows::Rows(sums, across), (&table[at..], h), (room, d));
                add_head(&part, d, &mut out[at..], h);
            }
            product(simd, [r, d, l], LeftRows::Columns(&of_queries, across), (&q[at..], h), (&mut to_keys[at..], h));
            product(simd, [r, d, l], LeftRows::Columns(&of_keys, across), (&k[at..], h), (&mut to_queries[at..], h));
        }
    }
}

/// Adds a head's \[L, D\] to its channels of \[L, H\], which are written.
#[inline(always)]
fn add_head(from: &[f32], d: usize, to: &mut [MaybeUninit<f32>], h: usize) {
    for (to, from) in to.chunks_mut(h).zip(from.chunks_exact(d)) {
        for (to, from) in to[..d].iter_mut().zip(from) {
            // SAFETY: the product before wrote this head's channels.
            to.write(unsafe { to.assume_init() } + from);
        }
    }
}

/// Returns the sums over sentences, in their order, of the gradients of each row.
fn summed_rows(added: &[f32], shared: &SharedShapes<'_>, pack: &Pack) -> Vec<f32> {
    let h = shared.h;
    // The rows of each sentence, and where its part begins.
    let parts: Vec<(Range<usize>, usize)> = pack
        .lengths()
        .scan(0, |next, length| {
            let begin = *next;
            *next += shared.numbers(length).len();
            Some((shared.rows(length), begin))
        })
        .collect();
    let mut sums = vec![0f32; shared.numbers(pack.longest()).len()];
    sums.par_chunks_mut(h).enumerate().for_each(|(row, sum)| {
        for (_, begin) in parts
            .iter()
            .filter(|(rows, _)| rows.contains(&row))
            .map(|(rows, begin)| (rows, begin + (row - rows.start) * h))
        {
            sum.iter_mut().zip(&added[begin..begin + h]).for_each(|(sum, added)| *sum += added);
        }
    });
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_reads_falling_rows() {
        let positions = RelativePositions::new(Some(8), 64, 64);
        assert_eq!(columns(&positions, 2), [2, 1, 0]);
        // Query 0 of three has the differences 0, -1 and -2.
        assert_eq!(columns(&positions, 3)[2..], [2, 1, 0]);
    }
}
