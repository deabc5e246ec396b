//! Products of rounded numbers on tensor cores, with sums in f32.
//!
//! A cube computes a tile of the product, a plane of units some fragments of it. Operands are rounded on their way to shared
//! memory, where they lie as they do in the matrix; there are two tiles of each, of which one is read while the next is on
//! its way.

use cubecl::prelude::*;

use super::arguments::{Adds, Factors, Rounding, prepared};
use super::tiles::{Corner, Four, OperandTiles, add_columns, fetch, write_sums};

/// Units of a plane.
const PLANE: usize = 32;

/// Rows and columns of a fragment.
const FRAGMENT: usize = 16;

/// Numbers between the lines of a tile in shared memory, so that neighbours lie in different banks.
const GAP: usize = 8;

/// Vectors in a line of the fragment that a plane writes.
const LINE: usize = FRAGMENT / 4 + 1;

/// How a cube divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Planes {
    /// Planes along the rows and the columns.
    pub grid: [usize; 2],
    /// Fragments of each along the rows and the columns.
    pub each: [usize; 2],
    /// Terms of a step.
    pub depth: usize,
    /// Terms of a fragment.
    pub terms: usize,
}

impl Planes {
    /// Rows and columns of a tile.
    pub(super) const fn tile(self) -> [usize; 2] {
        [self.grid[0] * self.each[0] * FRAGMENT, self.grid[1] * self.each[1] * FRAGMENT]
    }

    /// Units of a cube.
    pub(super) const fn count(self) -> usize {
        self.grid[0] * self.grid[1] * PLANE
    }

    pub(super) const fn side(self, operand: usize, k_contiguous: bool) -> OperandTiles {
        OperandTiles { across: self.tile()[operand], depth: self.depth, units: self.count(), k_contiguous }
    }

    /// Vectors of shared memory for sums: a fragment for each plane, or one for each unit.
    const fn sums(self) -> usize {
        self.count() / PLANE * FRAGMENT * LINE
    }

    /// Bytes of shared memory for operands of so many bytes a number.
    pub(super) const fn shared(self, k_contiguous: [bool; 2], bytes: usize) -> usize {
        let tiles = size(self.side(0, k_contiguous[0])) + size(self.side(1, k_contiguous[1]));
        2 * tiles * 4 * bytes + self.sums() * 16
    }
}

/// Vectors from one line of a tile to the next.
const fn line(side: OperandTiles) -> usize {
    side.length() + GAP / 4
}

/// Vectors of a tile.
const fn size(side: OperandTiles) -> usize {
    (if side.k_contiguous { side.across } else { side.depth }) * line(side)
}

/// Where a fragment begins in a tile.
const fn step(side: OperandTiles, [across, depth]: [usize; 2]) -> usize {
    if side.k_contiguous { across * line(side) + depth / 4 } else { depth * line(side) + across / 4 }
}

#[cube]
fn put<E: Float>(
    got: &Array<Four<f32>>,
    tile: &mut SharedMemory<Four<E>>,
    base: usize,
    factor: f32,
    #[comptime] side: OperandTiles,
    #[comptime] rounding: Rounding,
) {
    #[unroll]
    for turn in 0..comptime!(side.share()) {
        let place = UNIT_POS as usize + turn * comptime!(side.units);
        let (row, at) = (place / comptime!(side.length()), place % comptime!(side.length()));
        tile[base + row * comptime!(line(side)) + at] =
            Four::<E>::cast_from(prepared::<Const<4>>(got[turn], factor, comptime!(rounding.clamped())));
    }
}

/// `a b + bias + before`, and the sums of the columns of b; a matrix that is `k_contiguous` lies in memory with its terms side by side.
#[cube(launch_unchecked)]
pub(super) fn kernel<E: Float>(
    a: &Array<Four<f32>>,
    b: &Array<Four<f32>>,
    bias: &Array<Four<f32>>,
    before: &Array<Four<f32>>,
    out: &mut Array<Four<f32>>,
    sums: &mut Array<Four<f32>>,
    m: usize,
    n: usize,
    k: usize,
    factors: Factors,
    #[comptime] planes: Planes,
    #[comptime] k_contiguous: [bool; 2],
    #[comptime] rounding: Rounding,
    #[comptime] adds: Adds,
    #[comptime] with_sums: bool,
) {
    let (left, right) = comptime!((planes.side(0, k_contiguous[0]), planes.side(1, k_contiguous[1])));
    let (size_a, size_b) = comptime!((size(left), size(right)));
    let [rows, columns] = comptime!(planes.each);
    let (depth, terms) = comptime!((planes.depth, planes.terms));
    let mut tiles_a = SharedMemory::<Four<E>>::new_aligned(comptime!(2 * size_a), 32usize);
    let mut tiles_b = SharedMemory::<Four<E>>::new_aligned(comptime!(2 * size_b), 32usize);
    let mut parts = SharedMemory::<Four<f32>>::new_aligned(comptime!(planes.sums()), 32usize);
    let mut got_a = Array::<Four<f32>>::new(comptime!(left.share()));
    let mut got_b = Array::<Four<f32>>::new(comptime!(right.share()));
    let mut of_columns = Four::<f32>::new(0.0f32);
    let (plane, lane) = (UNIT_POS as usize / PLANE, UNIT_POS as usize % PLANE);
    let (down, across) = (plane / comptime!(planes.grid[1]), plane % comptime!(planes.grid[1]));
    let first_row = CUBE_POS_Y as usize * comptime!(planes.tile()[0]);
    let first_column = CUBE_POS_X as usize * comptime!(planes.tile()[1]);

    let mut own = Sequence::<cmma::Matrix<f32>>::new();
    #[unroll]
    for _ in 0..comptime!(rows * columns) {
        own.push(cmma::Matrix::<f32>::from_value(
            cmma::MatrixIdent::Accumulator,
            FRAGMENT,
            FRAGMENT,
            terms,
            cmma::MatrixLayout::Undefined,
            0.0,
        ));
    }
    let mut from = 0usize.runtime();
    let mut half = 0usize.runtime();
    while from < k + depth {
        // What the last turn fetched is computed while the next is fetched.
        if from < k {
            let corner = Corner { first: first_row, from, across: m, depth: k };
            fetch(a, &mut got_a, corner, left);
            let corner = Corner { first: first_column, from, across: n, depth: k };
            fetch(b, &mut got_b, corner, right);
            if with_sums {
                add_columns(&mut of_columns, &got_b, right);
            }
        }
        if from > 0 {
            let base_a = half * size_a + down * comptime!(step(left, [rows * FRAGMENT, 0]));
            let base_b = half * size_b + across * comptime!(step(right, [columns * FRAGMENT, 0]));
            #[unroll]
            for turn in 0..comptime!(depth / terms) {
                let mut lefts = Sequence::<cmma::Matrix<Four<E>>>::new();
                #[unroll]
                for row in 0..rows {
                    let start = base_a + comptime!(step(left, [row * FRAGMENT, turn * terms]));
                    lefts.push(cmma::Matrix::<Four<E>>::from_slice(
                        cmma::MatrixIdent::A,
                        FRAGMENT,
                        FRAGMENT,
                        terms,
                        comptime!(if k_contiguous[0] {
                            cmma::MatrixLayout::RowMajor
                        } else {
                            cmma::MatrixLayout::ColMajor
                        }),
                        &tiles_a.slice(start, comptime!(2 * size_a)),
                        comptime!(4 * line(left) as u32).runtime(),
                    ));
                }
                #[unroll]
                for column in 0..columns {
                    let start = base_b + comptime!(step(right, [column * FRAGMENT, turn * terms]));
                    let right = cmma::Matrix::<Four<E>>::from_slice(
                        cmma::MatrixIdent::B,
                        FRAGMENT,
                        FRAGMENT,
                        terms,
                        comptime!(if k_contiguous[1] {
                            cmma::MatrixLayout::ColMajor
                        } else {
                            cmma::MatrixLayout::RowMajor
                        }),
                        &tiles_b.slice(start, comptime!(2 * size_b)),
                        comptime!(4 * line(right) as u32).runtime(),
                    );
                    #[unroll]
                    for row in 0..rows {
                        let sum = own.index(comptime!(row * columns + column));
                        cmma::execute::<Four<E>, Four<E>, f32, f32>(lefts.index(row), &right, sum, sum);
                    }
                }
            }
            half = 1 - half;
        }
        if from < k {
            put::<E>(&got_a, &mut tiles_a, half * size_a, factors.a, left, rounding);
            put::<E>(&got_b, &mut tiles_b, half * size_b, factors.b, right, rounding);
        }
        sync_cube();
        from += depth;
    }

    let part = plane * comptime!(FRAGMENT * LINE);
    #[unroll]
    for row in 0..rows {
        #[unroll]
        for column in 0..columns {
            let sum = own.index(comptime!(row * columns + column));
            let mut to = parts.slice_mut(part, part + comptime!(FRAGMENT * LINE));
            cmma::store(&mut to, sum, comptime!(4 * LINE as u32).runtime(), cmma::MatrixLayout::RowMajor);
            sync_plane();
            #[unroll]
            for turn in 0..comptime!(FRAGMENT * FRAGMENT / 4 / PLANE) {
                let (line, at) = (lane / 4 + comptime!(turn * PLANE / 4), lane % 4);
                let to_row = first_row + (down * rows + row) * FRAGMENT + line;
                let to_column = (first_column + (across * columns + column) * FRAGMENT) / 4 + at;
                if to_row < m && to_column < n / 4 {
                    let mut value = parts[part + line * LINE + at];
                    if comptime!(rounding.scales()) {
                        value *= Four::new(factors.out);
                    }
                    let to = to_row * (n / 4) + to_column;
                    if comptime!(adds.bias) {
                        value += bias[to_column];
                    }
                    if comptime!(adds.before) {
                        value += before[to];
                    }
                    out[to] = value;
                }
            }
            sync_plane();
        }
    }
    if with_sums {
        sync_cube();
        parts[UNIT_POS as usize] = of_columns;
        sync_cube();
        write_sums(&parts, sums, first_column / 4, n / 4, right);
    }
}
