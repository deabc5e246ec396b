//! `LayerNorm(dropout(x) + residual)` in one kernel forward and one backward.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{Site, factor, row_key, site};
use super::reduce::total;
use super::{columns, cubes, fresh, list, sides};
use crate::{Dropout, Rows};

/// Units of a cube, which computes one row.
const UNITS: usize = 128;

/// What the backward pass needs from the forward pass.
#[derive(Clone, Debug)]
pub(super) struct SavedNormTensors<R: CubeRuntime> {
    /// The normalised rows before gamma and beta, \[N, H\].
    normal: CubeTensor<R>,
    /// One over each row's standard deviation, \[N\].
    inverse: CubeTensor<R>,
    gamma: CubeTensor<R>,
    dropout: Dropout,
    rows: Rows,
}

#[cube(launch_unchecked)]
fn forward_kernel(
    x: &Array<f32>,
    bias: &Array<f32>,
    residual: &Array<f32>,
    gamma: &Array<f32>,
    beta: &Array<f32>,
    identities: &Array<u32>,
    out: &mut Array<f32>,
    normal: &mut Array<f32>,
    inverse: &mut Array<f32>,
    eps: f32,
    site: Site,
    #[comptime] with_bias: bool,
    #[comptime] with_residual: bool,
    #[comptime] drops: bool,
) {
    let row = CUBE_POS;
    if row >= inverse.len() {
        terminate!();
    }
    let h = gamma.len();
    let unit = UNIT_POS as usize;
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let mut key = 0u32;
    if drops {
        key = row_key(&site, identities, row, 0u32);
    }
    let mut sum = 0.0f32;
    let mut column = unit;
    while column < h {
        let at = row * h + column;
        let mut value = x[at];
        if with_bias {
            value += bias[column];
        }
        if drops {
            value *= factor(&site, key, column as u32);
        }
        if with_residual {
            value += residual[at];
        }
        normal[at] = value;
        sum += value;
        column += UNITS;
    }
    let mean = total(&mut shared, sum, UNITS) / h as f32;
    let mut squares = 0.0f32;
    let mut column = unit;
    while column < h {
        let centred = normal[row * h + column] - mean;
        squares += centred * centred;
        column += UNITS;
    }
    let scale = 1.0 / (total(&mut shared, squares, UNITS) / h as f32 + eps).sqrt();
    let mut column = unit;
    while column < h {
        let at = row * h + column;
        let value = (normal[at] - mean) * scale;
        normal[at] = value;
        out[at] = value * gamma[column] + beta[column];
        column += UNITS;
    }
    if unit == 0 {
        inverse[row] = scale;
    }
}

/// The gradients of the sum under the norm, and of x.
#[cube(launch_unchecked)]
fn backward_kernel(
    gradient: &Array<f32>,
    gamma: &Array<f32>,
    normal: &Array<f32>,
    inverse: &Array<f32>,
    identities: &Array<u32>,
    of_sum: &mut Array<f32>,
    of_x: &mut Array<f32>,
    site: Site,
    #[comptime] drops: bool,
) {
    let row = CUBE_POS;
    if row >= inverse.len() {
        terminate!();
    }
    let h = gamma.len();
    let unit = UNIT_POS as usize;
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let mut sum = 0.0f32;
    let mut product = 0.0f32;
    let mut column = unit;
    while column < h {
        let at = row * h + column;
        let value = gradient[at] * gamma[column];
        sum += value;
        product += value * normal[at];
        column += UNITS;
    }
    let mean = total(&mut shared, sum, UNITS) / h as f32;
    let along = total(&mut shared, product, UNITS) / h as f32;
    let scale = inverse[row];
    let mut key = 0u32;
    if drops {
        key = row_key(&site, identities, row, 0u32);
    }
    let mut column = unit;
    while column < h {
        let at = row * h + column;
        let value = scale * (gradient[at] * gamma[column] - mean - normal[at] * along);
        of_sum[at] = value;
        if drops {
            of_x[at] = value * factor(&site, key, column as u32);
        }
        column += UNITS;
    }
}

/// The output \[N, H\], and what the backward pass needs. A bias \[H\] is added to x before anything else.
pub(super) fn forward<R: CubeRuntime>(
    x: CubeTensor<R>,
    [bias, residual]: [Option<CubeTensor<R>>; 2],
    [gamma, beta]: [CubeTensor<R>; 2],
    eps: f64,
    dropout: Dropout,
    rows: &Rows,
) -> (CubeTensor<R>, SavedNormTensors<R>) {
    let [n, h] = sides(&x);
    let (out, normal, inverse) = (fresh(&x, [n, h]), fresh(&x, [n, h]), fresh(&x, [n]));
    let (with_bias, with_residual) = (bias.is_some(), residual.is_some());
    let [bias, residual] = [bias, residual].map(|tensor| tensor.unwrap_or_else(|| gamma.clone()));
    let client = x.client.clone();
    let identities = list(rows, &x);
    // SAFETY: a cube stays in its row, and what may be of another size is not read.
    unsafe {
        forward_kernel::launch_unchecked::<R>(
            &client,
            cubes(n),
            CubeDim::new_1d(UNITS as u32),
            x.into_array_arg(),
            bias.into_array_arg(),
            residual.into_array_arg(),
            gamma.clone().into_array_arg(),
            beta.into_array_arg(),
            identities,
            out.clone().into_array_arg(),
            normal.clone().into_array_arg(),
            inverse.clone().into_array_arg(),
            eps as f32,
            site(dropout),
            with_bias,
            with_residual,
            !dropout.is_off(),
        );
    }
    (out, SavedNormTensors { normal, inverse, gamma, dropout, rows: rows.clone() })
}

/// The gradients of x, of the residual, of gamma and of beta, of which some are needed.
pub(super) fn backward<R: CubeRuntime>(
    saved: SavedNormTensors<R>,
    gradient: CubeTensor<R>,
    [x, residual, gamma, beta]: [bool; 4],
) -> [Option<CubeTensor<R>>; 4] {
    let [n, h] = sides(&gradient);
    let affine = (gamma || beta).then(|| columns::sums(gradient.clone(), saved.normal.clone()));
    let [of_beta, of_gamma] = affine.map_or([None, None], |sums| sums.map(Some));
    let below = (x || residual).then(|| {
        let drops = !saved.dropout.is_off();
        let of_sum = fresh(&gradient, [n, h]);
        let of_x = if drops { fresh(&gradient, [n, h]) } else { fresh(&gradient, [1, 1]) };
        let client = gradient.client.clone();
        let identities = list(&saved.rows, &gradient);
        // SAFETY: as above.
        unsafe {
            backward_kernel::launch_unchecked::<R>(
                &client,
                cubes(n),
                CubeDim::new_1d(UNITS as u32),
                gradient.into_array_arg(),
                saved.gamma.into_array_arg(),
                saved.normal.into_array_arg(),
                saved.inverse.into_array_arg(),
                identities,
                of_sum.clone().into_array_arg(),
                of_x.clone().into_array_arg(),
                site(saved.dropout),
                drops,
            );
        }
        [if drops { of_x } else { of_sum.clone() }, of_sum]
    });
    let [of_x, of_residual] = below.map_or([None, None], |both| both.map(Some));
    [of_x, of_residual, of_gamma, of_beta]
}
