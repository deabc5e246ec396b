//! Rows of a table, and their gradient without atomics.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{fresh, list, numbers, per_element, sides};
use crate::Index;

#[cube(launch_unchecked)]
fn forward_kernel(table: &Array<f32>, rows: &Array<u32>, out: &mut Array<f32>, h: usize) {
    if ABSOLUTE_POS < out.len() {
        let row = rows[ABSOLUTE_POS / h] as usize;
        out[ABSOLUTE_POS] = table[row * h + ABSOLUTE_POS % h];
    }
}

/// A row of the table sums the gradients of the places that have its number, which stand together in `order`.
#[cube(launch_unchecked)]
fn backward_kernel(
    gradient: &Array<f32>,
    rows: &Array<u32>,
    order: &Array<u32>,
    out: &mut Array<f32>,
    h: usize,
    n: usize,
) {
    if ABSOLUTE_POS < out.len() {
        let row = (ABSOLUTE_POS / h) as u32;
        let column = ABSOLUTE_POS % h;
        let mut low = 0usize.runtime();
        let mut high = n;
        while low < high {
            let middle = (low + high) / 2;
            if rows[order[middle] as usize] < row {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut sum = 0.0f32;
        let mut goes_on = low < n;
        while goes_on {
            let at = order[low] as usize;
            if rows[at] == row {
                sum += gradient[at * h + column];
                low += 1;
                goes_on = low < n;
            } else {
                goes_on = false.runtime();
            }
        }
        out[ABSOLUTE_POS] = sum;
    }
}

/// table \[V, H\], N row numbers -> \[N, H\].
pub(super) fn forward<R: CubeRuntime>(table: CubeTensor<R>, rows: &Index) -> CubeTensor<R> {
    let [_, h] = sides(&table);
    let out = fresh(&table, [rows.len(), h]);
    let (count, dim) = per_element(rows.len() * h);
    let rows = list(rows, &table);
    // SAFETY: the kernel checks its bound, and row numbers lie below V.
    unsafe {
        forward_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            table.into_array_arg(),
            rows,
            out.clone().into_array_arg(),
            h,
        );
    }
    out
}

/// The gradient of a table of so many rows, from that of the gathered rows.
pub(super) fn backward<R: CubeRuntime>(gradient: CubeTensor<R>, rows: &Index, table: usize) -> CubeTensor<R> {
    let [n, h] = sides(&gradient);
    let out = fresh(&gradient, [table, h]);
    let (count, dim) = per_element(table * h);
    let [rows, order] = numbers(rows, &gradient);
    // SAFETY: as above.
    unsafe {
        backward_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            gradient.into_array_arg(),
            rows,
            order,
            out.clone().into_array_arg(),
            h,
            n,
        );
    }
    out
}
