//! `dropout(x) + residual`, without a norm after it.

use rayon::prelude::*;

use super::PARALLEL_FROM;
use super::fresh::Fresh;
use crate::dispatch::dispatched;
use crate::profile::{Operation, timed};
use crate::{Dropout, Rows};

/// Rows per task.
const ROWS: usize = 32;

/// The sum \[N, H\].
pub fn forward(x: &[f32], residual: &[f32], h: usize, dropout: Dropout, rows: &Rows) -> Vec<f32> {
    assert_eq!(x.len(), rows.identities().len() * h, "numbers of the rows");
    assert_eq!(x.len(), residual.len(), "numbers of the residual");
    let _timed = timed(Operation::Norm, 0, 3 * x.len());
    let mut out = Fresh::new(x.len());
    out.chunks(ROWS * h)
        .zip(x.par_chunks(ROWS * h))
        .zip(residual.par_chunks(ROWS * h))
        .zip(rows.identities().par_chunks(ROWS))
        .with_min_len((PARALLEL_FROM / (ROWS * h)).max(1))
        .for_each(|(((out, x), residual), identities)| {
            // SAFETY: it has as many rows as there are identities, and all are written.
            add_rows(x, residual, dropout, identities, unsafe { out.room() });
        });
    out.finish()
}

dispatched! {
    /// The sum of a few rows, all of which are written.
    pub fn add_rows(
        x: &[f32], residual: &[f32], dropout: Dropout, identities: &[u64], out: &mut [std::mem::MaybeUninit<f32>],
    ) {
        if dropout.is_off() {
            for ((out, x), residual) in out.iter_mut().zip(x).zip(residual) {
                out.write(x + residual);
            }
            return;
        }
        let h = x.len() / identities.len().max(1);
        for (row, &identity) in identities.iter().enumerate() {
            let mask = dropout.row(identity, 0);
            let at = row * h..(row + 1) * h;
            let (x, residual, out) = (&x[at.clone()][..h], &residual[at.clone()][..h], &mut out[at][..h]);
            for i in 0..h {
                out[i].write(x[i] * mask.factor(i) + residual[i]);
            }
        }
    }
}
