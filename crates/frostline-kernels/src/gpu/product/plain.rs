//! Products of matrices of any size, a unit for each number: for lines whose length is not a multiple of four, such as a head's.

use cubecl::prelude::*;

use super::arguments::{Adds, Factors, Rounding, prepared};

/// `a b + bias + before`; a matrix that is `turned` lies in memory as its transpose.
#[cube(launch_unchecked)]
pub(super) fn kernel(
    a: &Array<f32>,
    b: &Array<f32>,
    bias: &Array<f32>,
    before: &Array<f32>,
    out: &mut Array<f32>,
    m: usize,
    n: usize,
    k: usize,
    factors: Factors,
    #[comptime] turned: [bool; 2],
    #[comptime] rounding: Rounding,
    #[comptime] adds: Adds,
) {
    if ABSOLUTE_POS < out.len() {
        let (row, column) = (ABSOLUTE_POS / n, ABSOLUTE_POS % n);
        let mut sum = 0.0f32;
        for term in 0..k {
            let mut at = row * k + term;
            if comptime!(turned[0]) {
                at = term * m + row;
            }
            let left = prepared::<Const<1>>(Vector::new(a[at]), factors.a, rounding);
            let mut at = term * n + column;
            if comptime!(turned[1]) {
                at = column * k + term;
            }
            let right = prepared::<Const<1>>(Vector::new(b[at]), factors.b, rounding);
            sum += left[0] * right[0];
        }
        if comptime!(rounding.scales()) {
            sum *= factors.out;
        }
        if comptime!(adds.bias) {
            sum += bias[column];
        }
        if comptime!(adds.before) {
            sum += before[ABSOLUTE_POS];
        }
        out[ABSOLUTE_POS] = sum;
    }
}
