//! Columns of matrices: their sums, which are gradients of biases and of LayerNorms, and matrices side by side.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{cubes, fresh, per_element, sides};

/// Columns of a cube.
const WIDTH: usize = 8;

/// Rows that a cube reads at a time.
const HEIGHT: usize = 32;

/// A cube sums 8 columns; each of its units every thirty-second row of one of them.
#[cube(launch_unchecked)]
fn kernel(
    x: &Array<f32>,
    factors: &Array<f32>,
    sums: &mut Array<f32>,
    products: &mut Array<f32>,
    n: usize,
    #[comptime] with_factors: bool,
) {
    let h = sums.len();
    let (across, down) = (UNIT_POS_X as usize, UNIT_POS_Y as usize);
    let column = CUBE_POS * WIDTH + across;
    let mut sum = 0.0f32;
    let mut product = 0.0f32;
    if column < h {
        let mut row = down;
        while row < n {
            let value = x[row * h + column];
            sum += value;
            if with_factors {
                product += value * factors[row * h + column];
            }
            row += HEIGHT;
        }
    }
    let mut sums_below = SharedMemory::<f32>::new(comptime!(WIDTH * HEIGHT));
    let mut products_below = SharedMemory::<f32>::new(comptime!(WIDTH * HEIGHT));
    sums_below[down * WIDTH + across] = sum;
    if with_factors {
        products_below[down * WIDTH + across] = product;
    }
    sync_cube();
    if down == 0 && column < h {
        let mut sum = 0.0f32;
        let mut product = 0.0f32;
        #[unroll]
        for at in 0..HEIGHT {
            sum += sums_below[at * WIDTH + across];
            if with_factors {
                product += products_below[at * WIDTH + across];
            }
        }
        sums[column] = sum;
        if with_factors {
            products[column] = product;
        }
    }
}

/// The sum of the rows of x \[N, H\] -> \[H\].
pub(super) fn sum<R: CubeRuntime>(x: CubeTensor<R>) -> CubeTensor<R> {
    let [n, h] = sides(&x);
    let out = fresh(&x, [h]);
    let unused = [(); 2].map(|()| fresh(&x, [1]));
    launch(x, unused[0].clone(), [out.clone(), unused[1].clone()], n, h, false);
    out
}

/// The sums of the rows of x and of x · factors, both \[N, H\] -> \[H\] each.
pub(super) fn sums<R: CubeRuntime>(x: CubeTensor<R>, factors: CubeTensor<R>) -> [CubeTensor<R>; 2] {
    let [n, h] = sides(&x);
    let out = [(); 2].map(|()| fresh(&x, [h]));
    launch(x, factors, out.clone(), n, h, true);
    out
}

fn launch<R: CubeRuntime>(
    x: CubeTensor<R>,
    factors: CubeTensor<R>,
    [sums, products]: [CubeTensor<R>; 2],
    n: usize,
    h: usize,
    with_factors: bool,
) {
    let client = x.client.clone();
    // SAFETY: the kernel checks its bounds; factors and products are touched only where they have x's size.
    unsafe {
        kernel::launch_unchecked::<R>(
            &client,
            cubes(h.div_ceil(WIDTH)),
            CubeDim::new_2d(WIDTH as u32, HEIGHT as u32),
            x.into_array_arg(),
            factors.into_array_arg(),
            sums.into_array_arg(),
            products.into_array_arg(),
            n,
            with_factors,
        );
    }
}

#[cube(launch_unchecked)]
fn join_kernel(a: &Array<f32>, b: &Array<f32>, c: &Array<f32>, out: &mut Array<f32>, h: usize) {
    if ABSOLUTE_POS < out.len() {
        let (row, column) = (ABSOLUTE_POS / (3 * h), ABSOLUTE_POS % (3 * h));
        let at = row * h + column % h;
        if column < h {
            out[ABSOLUTE_POS] = a[at];
        } else if column < 2 * h {
            out[ABSOLUTE_POS] = b[at];
        } else {
            out[ABSOLUTE_POS] = c[at];
        }
    }
}

#[cube(launch_unchecked)]
fn split_kernel(from: &Array<f32>, a: &mut Array<f32>, b: &mut Array<f32>, c: &mut Array<f32>, h: usize) {
    if ABSOLUTE_POS < from.len() {
        let (row, column) = (ABSOLUTE_POS / (3 * h), ABSOLUTE_POS % (3 * h));
        let at = row * h + column % h;
        if column < h {
            a[at] = from[ABSOLUTE_POS];
        } else if column < 2 * h {
            b[at] = from[ABSOLUTE_POS];
        } else {
            c[at] = from[ABSOLUTE_POS];
        }
    }
}

/// Three matrices side by side: \[N, H\] each -> \[N, 3H\].
pub(super) fn join<R: CubeRuntime>(parts: [CubeTensor<R>; 3]) -> CubeTensor<R> {
    let h = *parts[0].meta.shape().last().expect("a dimension");
    let elements = 3 * parts[0].meta.num_elements();
    let out = fresh(&parts[0], [elements / (3 * h), 3 * h]);
    let (count, dim) = per_element(elements);
    let [a, b, c] = parts.map(CubeTensor::into_array_arg);
    // SAFETY: the kernel checks its bound, and the parts have the same shape.
    unsafe {
        join_kernel::launch_unchecked::<R>(&out.client, count, dim, a, b, c, out.clone().into_array_arg(), h);
    }
    out
}

/// The parts of \[N, 3H\], of this shape each.
pub(super) fn split<R: CubeRuntime, const D: usize>(
    from: CubeTensor<R>,
    shape: [usize; D],
) -> [CubeTensor<R>; 3] {
    let parts = [(); 3].map(|()| fresh(&from, shape));
    let (count, dim) = per_element(from.meta.num_elements());
    let (client, h) = (from.client.clone(), shape[D - 1]);
    let [a, b, c] = parts.clone().map(CubeTensor::into_array_arg);
    // SAFETY: as above.
    unsafe {
        split_kernel::launch_unchecked::<R>(&client, count, dim, from.into_array_arg(), a, b, c, h);
    }
    parts
}
