//! Sums over the rows of a matrix: gradients of biases and of LayerNorms.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{cubes, fresh, sides};

/// Columns of a cube.
const WIDTH: usize = 32;

/// Rows that a cube reads at a time.
const HEIGHT: usize = 8;

/// A cube sums 32 columns; each of its units every eighth row of one of them.
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
    // Sound: the kernel checks its bounds; factors and products are touched only where they have x's size.
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
