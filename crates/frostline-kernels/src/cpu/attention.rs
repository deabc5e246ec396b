//! Attention within each sentence of a pack: no padding, no `[B, heads, L, L]` copies.
//!
//! One task is one sentence; it loops over the heads with scratch buffers that stay in cache.

use rayon::prelude::*;

use super::fresh::{Fresh, Part};
use super::simd::{dispatched, exp, sum};
use super::tile::{StridedMatrix, product};
use crate::profile::{Operation, timed};
use crate::{Dropout, Pack};

/// What the backward pass needs from the forward pass: the softmax of every sentence and head,
/// before dropout. Rows are padded to [`padded`] columns.
#[derive(Clone, Debug)]
pub struct SavedAttention {
    probabilities: Vec<f32>,
}

/// Key positions, rounded up so that rows fill whole registers.
const fn padded(length: usize) -> usize {
    length.next_multiple_of(16)
}

/// The number of probabilities of each sentence, over all heads.
fn sizes(pack: &Pack, heads: usize) -> Vec<usize> {
    pack.offsets().windows(2).map(|pair| (pair[1] - pair[0]) * padded(pair[1] - pair[0]) * heads).collect()
}

/// Operations of one product of every sentence and head: L rows of L positions, over H / heads channels.
fn product_flop(pack: &Pack, h: usize) -> usize {
    pack.offsets().windows(2).map(|pair| 2 * (pair[1] - pair[0]).pow(2) * h).sum()
}

fn lengths(pack: &Pack, h: usize) -> impl Iterator<Item = usize> + '_ {
    pack.offsets().windows(2).map(move |pair| (pair[1] - pair[0]) * h)
}

/// The context \[N, H\], and what the backward pass needs.
pub fn forward(
    q: &[f32],
    k: &[f32],
    v: &[f32],
    h: usize,
    heads: usize,
    pack: &Pack,
    dropout: Dropout,
) -> (Vec<f32>, SavedAttention) {
    let sizes = sizes(pack, heads);
    let floats = 4 * q.len() + sizes.iter().sum::<usize>();
    let _timed = timed(Operation::Attention, 2 * product_flop(pack, h), floats);
    let [mut context, mut probabilities] = [q.len(), sizes.iter().sum()].map(|n| Fresh::new(n, 0f32));
    context.cut(lengths(pack, h)).into_par_iter().zip(probabilities.cut(sizes)).enumerate().for_each(
        |(sentence, (context, probabilities))| {
            let rows = pack.offsets()[sentence]..pack.offsets()[sentence + 1];
            let at = rows.start * h..rows.end * h;
            let identities = &pack.rows().identities()[rows];
            let (q, k, v) = (&q[at.clone()], &k[at.clone()], &v[at]);
            let (context, probabilities) = (context.zeroed(), probabilities.zeroed());
            forward_sentence(q, k, v, h, heads, identities, dropout, context, probabilities);
        },
    );
    (context.finish(), SavedAttention { probabilities: probabilities.finish() })
}

dispatched! {
    /// Forward over one sentence.
    pub fn forward_sentence(
        q: &[f32], k: &[f32], v: &[f32], h: usize, heads: usize, identities: &[u64], dropout: Dropout,
        context: &mut [f32], probabilities: &mut [f32],
    ) {
        let (l, d) = (identities.len(), h / heads);
        let wide = padded(l);
        let scale = 1.0 / (d as f32).sqrt();
        let mut keys = vec![0f32; d * wide];
        let mut dropped = vec![0f32; if dropout.is_off() { 0 } else { l * wide }];
        for head in 0..heads {
            let at = head * d;
            transpose_head(&k[at..], h, l, d, wide, &mut keys);
            let probabilities = &mut probabilities[head * l * wide..(head + 1) * l * wide];
            product::<FMA>([l, wide, d], StridedMatrix { data: &q[at..], row: h, col: 1 }, &keys, wide, probabilities, wide);
            for row in probabilities.chunks_exact_mut(wide) {
                softmax::<FMA>(row, l, scale);
            }
            let weights = if dropout.is_off() { &*probabilities } else {
                drop_rows(probabilities, wide, l, head, identities, dropout, &mut dropped);
                &dropped
            };
            product::<FMA>([l, d, l], StridedMatrix { data: weights, row: wide, col: 1 }, &v[at..], h, &mut context[at..], h);
        }
    }
}

/// The gradients of q, k and v, \[N, H\] each, from that of the context.
#[allow(clippy::too_many_arguments)]
pub fn backward(
    gradient: &[f32],
    q: &[f32],
    k: &[f32],
    v: &[f32],
    h: usize,
    heads: usize,
    pack: &Pack,
    dropout: Dropout,
    saved: &SavedAttention,
) -> [Vec<f32>; 3] {
    let floats = 7 * q.len() + saved.probabilities.len();
    let _timed = timed(Operation::AttentionGradients, 4 * product_flop(pack, h), floats);
    let mut out = [(); 3].map(|()| Fresh::new(q.len(), 0f32));
    let [dq, dk, dv] = &mut out;
    let starts: Vec<usize> = sizes(pack, heads)
        .into_iter()
        .scan(0, |at, size| {
            let start = *at;
            *at += size;
            Some(start)
        })
        .collect();
    dq.cut(lengths(pack, h))
        .into_par_iter()
        .zip(dk.cut(lengths(pack, h)))
        .zip(dv.cut(lengths(pack, h)))
        .enumerate()
        .for_each(|(sentence, ((dq, dk), dv))| {
            let rows = pack.offsets()[sentence]..pack.offsets()[sentence + 1];
            let at = rows.start * h..rows.end * h;
            let identities = &pack.rows().identities()[rows];
            let probabilities = &saved.probabilities[starts[sentence]..];
            let (gradient, q, k, v) = (&gradient[at.clone()], &q[at.clone()], &k[at.clone()], &v[at]);
            let [dq, dk, dv] = [dq, dk, dv].map(Part::zeroed);
            backward_sentence(gradient, q, k, v, h, heads, identities, dropout, probabilities, dq, dk, dv);
        });
    out.map(Fresh::finish)
}

dispatched! {
    /// Backward over one sentence.
    pub fn backward_sentence(
        gradient: &[f32], q: &[f32], k: &[f32], v: &[f32], h: usize, heads: usize,
        identities: &[u64], dropout: Dropout, probabilities: &[f32],
        dq: &mut [f32], dk: &mut [f32], dv: &mut [f32],
    ) {
        let (l, d) = (identities.len(), h / heads);
        let wide = padded(l);
        let scale = 1.0 / (d as f32).sqrt();
        let mut values = vec![0f32; d * wide];
        let mut scores = vec![0f32; l * wide];
        let mut dropped = vec![0f32; if dropout.is_off() { 0 } else { l * wide }];
        for head in 0..heads {
            let at = head * d;
            let probabilities = &probabilities[head * l * wide..(head + 1) * l * wide];
            let weights = if dropout.is_off() { probabilities } else {
                drop_rows(probabilities, wide, l, head, identities, dropout, &mut dropped);
                &dropped
            };
            product::<FMA>([l, d, l], StridedMatrix { data: weights, row: 1, col: wide }, &gradient[at..], h, &mut dv[at..], h);
            transpose_head(&v[at..], h, l, d, wide, &mut values);
            product::<FMA>([l, wide, d], StridedMatrix { data: &gradient[at..], row: h, col: 1 }, &values, wide, &mut scores, wide);
            for (row, scores) in scores.chunks_exact_mut(wide).enumerate() {
                let probabilities = &probabilities[row * wide..(row + 1) * wide];
                if !dropout.is_off() {
                    let mask = dropout.row(identities[row], head as u64 + 1);
                    for (j, score) in scores[..l].iter_mut().enumerate() {
                        *score *= mask.factor(j);
                    }
                }
                let mean = sum(l, |j| scores[j] * probabilities[j]);
                for j in 0..l {
                    scores[j] = (scores[j] - mean) * probabilities[j] * scale;
                }
            }
            product::<FMA>([l, d, l], StridedMatrix { data: &scores, row: wide, col: 1 }, &k[at..], h, &mut dq[at..], h);
            product::<FMA>([l, d, l], StridedMatrix { data: &scores, row: 1, col: wide }, &q[at..], h, &mut dk[at..], h);
        }
    }
}

/// The transpose of one head's \[l, d\], padded with zeros to \[d, wide\].
#[inline(always)]
fn transpose_head(data: &[f32], stride: usize, l: usize, d: usize, wide: usize, out: &mut [f32]) {
    for row in 0..l {
        let line = &data[row * stride..][..d];
        for (channel, &value) in line.iter().enumerate() {
            out[channel * wide + row] = value;
        }
    }
}

/// Softmax over the first `l` of a row times `scale`; the padding becomes 0.
#[inline(always)]
fn softmax<const FMA: bool>(row: &mut [f32], l: usize, scale: f32) {
    let mut top = f32::NEG_INFINITY;
    for value in &row[..l] {
        top = top.max(*value);
    }
    for value in &mut row[..l] {
        *value = exp::<FMA>((*value - top) * scale);
    }
    let inverse = 1.0 / sum(l, |j| row[j]);
    for value in &mut row[..l] {
        *value *= inverse;
    }
    row[l..].fill(0.0);
}

/// The probabilities of one head, multiplied by their dropout mask.
#[inline(always)]
fn drop_rows(
    probabilities: &[f32],
    wide: usize,
    l: usize,
    head: usize,
    identities: &[u64],
    dropout: Dropout,
    out: &mut [f32],
) {
    for (row, &identity) in identities.iter().enumerate() {
        let mask = dropout.row(identity, head as u64 + 1);
        let at = row * wide;
        for j in 0..l {
            out[at + j] = probabilities[at + j] * mask.factor(j);
        }
    }
}
