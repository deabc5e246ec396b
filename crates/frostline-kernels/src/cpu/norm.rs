//! `LayerNorm(dropout(x) + residual)` in one forward pass and one backward pass, and RMSNorm, which subtracts no mean.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::PARALLEL_FROM;
use super::fresh::Fresh;
use super::vector::sum;
use crate::dispatch::dispatched;
use crate::profile::{Operation, timed};
use crate::{Dropout, Rows};

/// Rows per task; gradients of gamma and beta are summed per task and then in task order.
const ROWS: usize = 32;

/// What the backward pass needs from the forward pass.
#[derive(Clone, Debug)]
pub struct SavedNorm {
    /// The normalised rows before gamma and beta, \[N, H\].
    normal: Vec<f32>,
    /// One over each row's standard deviation, \[N\].
    inverse: Vec<f32>,
    /// Whether each row's mean was subtracted.
    centred: bool,
}

/// Gradients of `dropout(x) + residual`, of gamma and of beta; those that are not needed are empty.
pub struct Gradients {
    pub sum: Vec<f32>,
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
}

fn tasks_per_split(h: usize) -> usize {
    (PARALLEL_FROM / (ROWS * h)).max(1)
}

/// The output \[N, H\], and what the backward pass needs. If it is not centred, no mean is subtracted: RMSNorm.
pub fn forward(
    x: &[f32],
    residual: Option<&[f32]>,
    [gamma, beta]: [&[f32]; 2],
    (eps, centred): (f32, bool),
    dropout: Dropout,
    rows: &Rows,
) -> (Vec<f32>, SavedNorm) {
    let h = gamma.len();
    // Every row that has an identity is written.
    assert_eq!(x.len(), rows.identities().len() * h, "numbers of the rows");
    let residuals = residual.map_or(0, <[f32]>::len);
    let _timed = timed(Operation::Norm, 0, 3 * x.len() + residuals + rows.identities().len());
    let [mut y, mut normal, mut inverse] = [x.len(), x.len(), x.len() / h].map(Fresh::new);
    y.chunks(ROWS * h)
        .zip(normal.chunks(ROWS * h))
        .zip(inverse.chunks(ROWS))
        .zip(rows.identities().par_chunks(ROWS))
        .enumerate()
        .with_min_len(tasks_per_split(h))
        .for_each(|(task, (((y, normal), inverse), identities))| {
            // SAFETY: they have as many rows as there are identities, and all are written.
            let (y, normal, inverse) = unsafe { (y.room(), normal.room(), inverse.room()) };
            let range = task * ROWS * h..task * ROWS * h + y.len();
            let residual = residual.map(|residual| &residual[range.clone()]);
            forward_rows(
                &x[range], residual, gamma, beta, eps, centred, dropout, identities, y, normal, inverse,
            );
        });
    (y.finish(), SavedNorm { normal: normal.finish(), inverse: inverse.finish(), centred })
}

dispatched! {
    /// Forward over a few rows; all of `y`, `normal` and `inverse` is written.
    pub fn forward_rows(
        simd, x: &[f32], residual: Option<&[f32]>, gamma: &[f32], beta: &[f32], eps: f32,
        centred: bool, dropout: Dropout, identities: &[u64],
        y: &mut [MaybeUninit<f32>], normal: &mut [MaybeUninit<f32>], inverse: &mut [MaybeUninit<f32>],
    ) {
        let h = gamma.len();
        let beta = &beta[..h];
        for (row, &identity) in identities.iter().enumerate() {
            let at = row * h..(row + 1) * h;
            let (x, y) = (&x[at.clone()][..h], &mut y[at.clone()][..h]);
            let normal = &mut normal[at.clone()][..h];
            if dropout.is_off() {
                normal.write_copy_of_slice(x);
            } else {
                let mask = dropout.row(identity, 0);
                for i in 0..h {
                    normal[i].write(x[i] * mask.factor(i));
                }
            }
            // SAFETY: all of it was just written.
            let normal = unsafe { normal.assume_init_mut() };
            if let Some(residual) = residual {
                for (normal, residual) in normal.iter_mut().zip(&residual[at]) {
                    *normal += residual;
                }
            }
            let mean = if centred { sum(simd, [normal], |[x]| x) / h as f32 } else { 0.0 };
            let variance = sum(simd, [normal], |[x]| (x - mean) * (x - mean)) / h as f32;
            let scale = 1.0 / (variance + eps).sqrt();
            inverse[row].write(scale);
            for i in 0..h {
                normal[i] = (normal[i] - mean) * scale;
                y[i].write(simd.fma(normal[i], gamma[i], beta[i]));
            }
        }
    }
}

/// The gradients, from the gradient of the output \[N, H\].
pub fn backward(
    gradient: &[f32],
    gamma: &[f32],
    saved: &SavedNorm,
    want_sum: bool,
    want_affine: bool,
) -> Gradients {
    let h = gamma.len();
    assert_eq!(gradient.len(), saved.inverse.len() * h, "numbers of the rows");
    let passes = 3 * usize::from(want_sum) + 2 * usize::from(want_affine);
    let _timed = timed(Operation::Norm, 0, passes * gradient.len());
    let mut out = Gradients { sum: vec![], gamma: vec![], beta: vec![] };
    if want_sum {
        let mut sum = Fresh::new(gradient.len());
        sum.chunks(ROWS * h)
            .zip(gradient.par_chunks(ROWS * h))
            .zip(saved.normal.par_chunks(ROWS * h))
            .zip(saved.inverse.par_chunks(ROWS))
            .with_min_len(tasks_per_split(h))
            .for_each(|(((sum, gradient), normal), inverse)| {
                // SAFETY: it has as many rows as the gradient, and all are written.
                backward_rows(gradient, gamma, normal, inverse, saved.centred, unsafe { sum.room() });
            });
        out.sum = sum.finish();
    }
    if want_affine {
        let parts: Vec<(Vec<f32>, Vec<f32>)> = gradient
            .par_chunks(ROWS * h)
            .zip(saved.normal.par_chunks(ROWS * h))
            .with_min_len(tasks_per_split(h))
            .map(|(gradient, normal)| {
                let (mut gamma, mut beta) = (vec![0f32; h], vec![0f32; h]);
                affine_rows(gradient, normal, &mut gamma, &mut beta);
                (gamma, beta)
            })
            .collect();
        (out.gamma, out.beta) = (vec![0f32; h], vec![0f32; h]);
        for (gamma, beta) in &parts {
            for i in 0..h {
                out.gamma[i] += gamma[i];
                out.beta[i] += beta[i];
            }
        }
    }
    out
}

dispatched! {
    /// The gradient of the normalised sum over a few rows, all of which are written.
    pub fn backward_rows(
        simd, gradient: &[f32], gamma: &[f32], normal: &[f32], inverse: &[f32], centred: bool,
        out: &mut [MaybeUninit<f32>],
    ) {
        let h = gamma.len();
        for (row, &scale) in inverse.iter().enumerate() {
            let at = row * h..(row + 1) * h;
            let (gradient, normal, out) = (&gradient[at.clone()][..h], &normal[at.clone()][..h], &mut out[at][..h]);
            let mean = match centred {
                true => sum(simd, [gradient, gamma], |[gradient, gamma]| gradient * gamma) / h as f32,
                false => 0.0,
            };
            let slope = sum(simd, [gradient, gamma, normal], |[gradient, gamma, normal]| gradient * gamma * normal) / h as f32;
            for i in 0..h {
                out[i].write(scale * (gradient[i] * gamma[i] - mean - normal[i] * slope));
            }
        }
    }
}

dispatched! {
    /// Adds a few rows to the gradients of gamma and beta.
    pub fn affine_rows(simd, gradient: &[f32], normal: &[f32], gamma: &mut [f32], beta: &mut [f32]) {
        let h = gamma.len();
        let beta = &mut beta[..h];
        for (gradient, normal) in gradient.chunks_exact(h).zip(normal.chunks_exact(h)) {
            for i in 0..h {
                gamma[i] = simd.fma(gradient[i], normal[i], gamma[i]);
                beta[i] += gradient[i];
            }
        }
    }
}

/// `x * mask`, row by row: dropout and its gradient.
pub fn masked(x: &[f32], h: usize, dropout: Dropout, rows: &Rows) -> Vec<f32> {
    assert_eq!(x.len(), rows.identities().len() * h, "numbers of the rows");
    let _timed = timed(Operation::Norm, 0, 2 * x.len());
    let mut out = Fresh::new(x.len());
    out.chunks(ROWS * h)
        .zip(x.par_chunks(ROWS * h))
        .zip(rows.identities().par_chunks(ROWS))
        .with_min_len(tasks_per_split(h))
        // SAFETY: it has as many rows as there are identities, and all are written.
        .for_each(|((out, x), identities)| masked_rows(x, dropout, identities, unsafe { out.room() }));
    out.finish()
}

dispatched! {
    /// `x * mask` over a few rows, all of which are written.
    pub fn masked_rows(x: &[f32], dropout: Dropout, identities: &[u64], out: &mut [MaybeUninit<f32>]) {
        let h = x.len() / identities.len().max(1);
        for (row, &identity) in identities.iter().enumerate() {
            let mask = dropout.row(identity, 0);
            let (x, out) = (&x[row * h..][..h], &mut out[row * h..][..h]);
            for i in 0..h {
                out[i].write(x[i] * mask.factor(i));
            }
        }
    }
}
