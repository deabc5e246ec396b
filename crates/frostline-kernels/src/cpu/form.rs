//! Attention within each sentence of a pack, over the whole sentence or within a window, of queries and keys that are already
//! rotated: no padding, no `[B, heads, L, L]` copies.
//!
//! One task is one sentence. Of a long sentence one task is one head, so that a pack of few long sentences keeps all threads busy,
//! and its queries are taken in blocks, whose scores stay in cache.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::attention::{
    SavedAttention, backward_sentence, check_heads, forward_sentence, longest_first, padded,
};
use super::fresh::Fresh;
use super::window::{backward_blocks, forward_blocks, pairs_in_blocks, size_in_blocks};
use crate::profile::{Operation, timed};
use crate::{AttentionForm, Dropout, Pack};

/// The fewest subwords of a long sentence. It is fixed, since gradients of long sentences are added in another order than those of
/// short ones.
const LONG: usize = 1024;

/// What determines the work of attention in a pack.
#[derive(Clone, Copy)]
struct Shapes<'a> {
    pack: &'a Pack,
    h: usize,
    heads: usize,
    /// How far a position sees.
    window: usize,
}

impl<'a> Shapes<'a> {
    fn new(h: usize, form: &AttentionForm, pack: &'a Pack) -> Self {
        check_heads(h, form.heads);
        Self { pack, h, heads: form.heads, window: form.window.unwrap_or(usize::MAX) }
    }

    /// Returns whether a sentence's queries are taken in blocks.
    fn takes_blocks(self, length: usize) -> bool {
        length >= LONG || length > self.window.saturating_add(1)
    }

    /// Returns the number of probabilities of a sentence and head.
    fn size(self, length: usize) -> usize {
        match self.takes_blocks(length) {
            true => size_in_blocks(length, self.window),
            false => length * padded(length),
        }
    }

    /// Returns the number of probabilities in all.
    fn probabilities(self) -> usize {
        self.pack.lengths().map(|length| self.size(length) * self.heads).sum()
    }

    /// Returns the operations of one product of every sentence and head.
    fn product_flop(self) -> usize {
        let pairs = |length| match self.takes_blocks(length) {
            true => pairs_in_blocks(length, self.window),
            false => length * length,
        };
        self.pack.lengths().map(|length| 2 * pairs(length) * self.h).sum()
    }

    /// Returns the tasks: the rows of a sentence, and the heads.
    fn tasks(self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + Clone + 'a {
        let of_sentence = move |rows: Range<usize>| {
            let step = if rows.len() >= LONG { 1 } else { self.heads };
            (0..self.heads).step_by(step).map(move |head| (rows.clone(), head..head + step))
        };
        self.pack.sentence_rows().flat_map(of_sentence)
    }

    /// Returns the channels of some heads.
    fn channels(self, heads: &Range<usize>) -> Range<usize> {
        let d = self.h / self.heads;
        heads.start * d..heads.end * d
    }

    /// Returns how many numbers of \[N, H\] each task has.
    fn numbers(self) -> impl Iterator<Item = usize> + Clone + 'a {
        self.tasks().map(move |(rows, heads)| rows.len() * self.channels(&heads).len())
    }

    /// Returns \[N, H\] with the numbers of each task together: of a long sentence \[heads, L, D\].
    fn split(self, data: &[f32]) -> Cow<'_, [f32]> {
        if self.pack.longest() < LONG {
            return Cow::Borrowed(data);
        }
        let mut out = vec![0f32; data.len()];
        let mut left = &mut out[..];
        let parts = self.numbers().map(|size| left.split_off_mut(..size).expect("the tasks' numbers"));
        let work: Vec<_> = self.tasks().zip(parts).collect();
        work.into_par_iter().for_each(|((rows, heads), part)| {
            let channels = self.channels(&heads);
            let rows = data[rows.start * self.h..rows.end * self.h].chunks_exact(self.h);
            for (to, from) in part.chunks_exact_mut(channels.len()).zip(rows) {
                to.copy_from_slice(&from[channels.clone()]);
            }
        });
        Cow::Owned(out)
    }

    /// Returns what [`split`](Self::split) made as \[N, H\] again.
    fn join(self, data: Vec<f32>) -> Vec<f32> {
        if self.pack.longest() < LONG {
            return data;
        }
        let mut out = vec![0f32; data.len()];
        for rows in self.pack.sentence_rows() {
            let at = rows.start * self.h..rows.end * self.h;
            let (from, to) = (&data[at.clone()], &mut out[at]);
            if rows.len() < LONG {
                to.copy_from_slice(from);
                continue;
            }
            let d = self.h / self.heads;
            to.par_chunks_exact_mut(self.h).enumerate().for_each(|(row, to)| {
                for (head, to) in to.chunks_exact_mut(d).enumerate() {
                    to.copy_from_slice(&from[(head * rows.len() + row) * d..][..d]);
                }
            });
        }
        out
    }

    /// Returns the parts of split numbers that each task has.
    fn parts(self, data: &[f32]) -> impl Iterator<Item = &[f32]> {
        let mut left = data;
        self.numbers().map(move |size| left.split_off(..size).expect("the tasks' numbers"))
    }
}

/// The context \[N, H\], and what the backward pass needs.
pub fn forward(
    inputs: [&[f32]; 3],
    h: usize,
    form: &AttentionForm,
    pack: &Pack,
    dropout: Dropout,
) -> (Vec<f32>, SavedAttention) {
    let shapes = Shapes::new(h, form, pack);
    let floats = 4 * inputs[0].len() + shapes.probabilities();
    let _timed = timed(Operation::Attention, 2 * shapes.product_flop(), floats);
    let inputs = inputs.map(|data| shapes.split(data));
    let [mut context, mut probabilities] = [inputs[0].len(), shapes.probabilities()].map(Fresh::new);
    let sizes = shapes.tasks().map(|(rows, heads)| shapes.size(rows.len()) * heads.len());
    let [q, k, v] = inputs.each_ref().map(|data| shapes.parts(data));
    let parts = q.zip(k).zip(v).zip(context.cut(shapes.numbers())).zip(probabilities.cut(sizes));
    let tasks = shapes.tasks().zip(parts).map(|((rows, heads), parts)| (rows, (heads, parts)));
    longest_first(tasks, |rows, (heads, ((((q, k), v), context), probabilities))| {
        let h = shapes.channels(&heads).len();
        let identities = &pack.rows().identities()[rows];
        // SAFETY: they have the sizes of the task, and all of it is written.
        let (context, probabilities) = unsafe { (context.room(), probabilities.room()) };
        if shapes.takes_blocks(identities.len()) {
            forward_blocks(q, k, v, h, heads, shapes.window, identities, dropout, context, probabilities);
        } else {
            forward_sentence(q, k, v, h, heads, identities, dropout, context, probabilities);
        }
    });
    (shapes.join(context.finish()), SavedAttention { probabilities: probabilities.finish() })
}

/// The gradients of q, k and v, \[N, H\] each, from the gradient of the context.
pub fn backward(
    gradient: &[f32],
    inputs: [&[f32]; 3],
    h: usize,
    form: &AttentionForm,
    pack: &Pack,
    dropout: Dropout,
    saved: &SavedAttention,
) -> [Vec<f32>; 3] {
    let shapes = Shapes::new(h, form, pack);
    let floats = 7 * gradient.len() + saved.probabilities.len();
    let _timed = timed(Operation::AttentionGradients, 4 * shapes.product_flop(), floats);
    let gradient = shapes.split(gradient);
    let inputs = inputs.map(|data| shapes.split(data));
    let mut out = [(); 3].map(|()| Fresh::new(gradient.len()));
    let [dq, dk, dv] = out.each_mut().map(|out| out.cut(shapes.numbers()).into_iter());
    let mut left = &saved.probabilities[..];
    let probabilities = shapes.tasks().map(|(rows, heads)| {
        left.split_off(..shapes.size(rows.len()) * heads.len()).expect("the tasks' probabilities")
    });
    let [q, k, v] = inputs.each_ref().map(|data| shapes.parts(data));
    let read = shapes.parts(&gradient).zip(q).zip(k).zip(v).zip(probabilities);
    let parts = read.zip(dq.zip(dk).zip(dv));
    let tasks = shapes.tasks().zip(parts).map(|((rows, heads), parts)| (rows, (heads, parts)));
    longest_first(tasks, |rows, (heads, (((((gradient, q), k), v), probabilities), ((dq, dk), dv)))| {
        let h = shapes.channels(&heads).len();
        let identities = &pack.rows().identities()[rows];
        // SAFETY: as in the forward pass.
        let [dq, dk, dv] = [dq, dk, dv].map(|part| unsafe { part.room() });
        if shapes.takes_blocks(identities.len()) {
            backward_blocks(
                gradient,
                q,
                k,
                v,
                h,
                heads,
                shapes.window,
                identities,
                dropout,
                probabilities,
                dq,
                dk,
                dv,
            );
        } else {
            backward_sentence(gradient, q, k, v, h, heads, identities, dropout, probabilities, dq, dk, dv);
        }
    });
    out.map(|out| shapes.join(out.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: usize = 6;
    const HEADS: usize = 2;

    /// Returns some numbers, \[N, H\].
    fn numbers(rows: usize, seed: usize) -> Vec<f32> {
        (0..rows * H).map(|at| ((at * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
    }

    /// Returns the context and the gradients of q, k and v on this many threads.
    fn compute(pack: &Pack, window: Option<usize>, dropout: Dropout, threads: usize) -> [Vec<f32>; 4] {
        let form = AttentionForm { window, ..AttentionForm::plain(HEADS) };
        let [q, k, v, gradient] = [0, 1, 2, 3].map(|seed| numbers(pack.rows().identities().len(), seed));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let (context, saved) = forward([&q, &k, &v], H, &form, pack, dropout);
            let [dq, dk, dv] = backward(&gradient, [&q, &k, &v], H, &form, pack, dropout, &saved);
            [context, dq, dk, dv]
        })
    }

    /// Returns the same of one sentence with 64-bit numbers, from the definition.
    fn reference(length: usize, window: usize, first: usize, rows: usize) -> [Vec<f64>; 4] {
        let d = H / HEADS;
        let [q, k, v, gradient] = [0, 1, 2, 3].map(|seed| {
            let all = numbers(rows, seed);
            all[first * H..(first + length) * H].iter().map(|value| f64::from(*value)).collect::<Vec<f64>>()
        });
        let scale = 1.0 / (d as f64).sqrt();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut out = [(); 4].map(|()| vec![0f64; length * H]);
        for head in 0..HEADS {
            let row = |data: &'_ [f64], at: usize| data[at * H + head * d..][..d].to_vec();
            for i in 0..length {
                let seen = i.saturating_sub(window)..(i + window + 1).min(length);
                let powers: Vec<f64> =
                    seen.clone().map(|j| (dot(&row(&q, i), &row(&k, j)) * scale).exp()).collect();
                let sum: f64 = powers.iter().sum();
                let back: Vec<f64> = seen.clone().map(|j| dot(&row(&gradient, i), &row(&v, j))).collect();
                let mean = dot(&powers, &back) / sum;
                for ((j, power), back) in seen.zip(&powers).zip(&back) {
                    let probability = power / sum;
                    let score = probability * (back - mean) * scale;
                    for c in head * d..(head + 1) * d {
                        out[0][i * H + c] += probability * v[j * H + c];
                        out[1][i * H + c] += score * k[j * H + c];
                        out[2][j * H + c] += score * q[i * H + c];
                        out[3][j * H + c] += probability * gradient[i * H + c];
                    }
                }
            }
        }
        out
    }

    #[test]
    fn long_sentences_attend_as_short_ones_do() {
        let lengths = [3, LONG + 7, 40];
        let (pack, rows) = (Pack::new(&lengths, &[5, 6, 7]), lengths.iter().sum());
        for window in [None, Some(50)] {
            let found = compute(&pack, window, Dropout::OFF, 2);
            for (sentence, at) in pack.sentence_rows().enumerate() {
                let expected = reference(at.len(), window.unwrap_or(usize::MAX / 2), at.start, rows);
                for (found, expected) in found.iter().zip(&expected) {
                    for (found, expected) in found[at.start * H..at.end * H].iter().zip(expected) {
                        let far = (f64::from(*found) - expected).abs();
                        assert!(far < 2e-6, "sentence {sentence}, window {window:?}: {found} and {expected}");
                    }
                }
            }
        }
    }

    /// Neither sums nor dropout depend on the number of threads, and dropout reaches every head.
    #[test]
    fn long_sentences_have_the_same_bits_on_any_number_of_threads() {
        let pack = Pack::new(&[LONG, 9], &[1, 2]);
        for window in [None, Some(30)] {
            for dropout in [Dropout::OFF, Dropout::new(0.1, 3)] {
                let [one, five] = [1, 5].map(|threads| compute(&pack, window, dropout, threads));
                assert_eq!(one, five);
            }
        }
        let [plain, dropped] =
            [Dropout::OFF, Dropout::new(0.5, 3)].map(|dropout| compute(&pack, None, dropout, 2)[0].clone());
        let of_head = |data: &[f32], head: usize| data[head * H / HEADS];
        assert!((0..HEADS).all(|head| of_head(&plain, head) != of_head(&dropped, head)));
    }
}
