//! Products in f32 without tensor cores.
//!
//! A cube computes a tile of the product. It keeps two tiles of each operand in shared memory: one is read while the next
//! is on its way. Where `split_k` is more than one, several units share a part of the tile, each summing some of the terms; for
//! products of few numbers with long sums, which would leave most of a GPU idle.

use cubecl::prelude::*;

use super::arguments::{Adds, Factors, Rounding, prepared};
use super::tiles::{Corner, Four, OperandTiles, add_columns, fetch, read, write_sums};

/// How a cube divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CubeUnits {
    /// Rows and columns of a tile.
    pub tile: [usize; 2],
    /// Terms of a step.
    pub depth: usize,
    /// Rows and columns of a unit, multiples of four.
    pub each: [usize; 2],
    /// Units that share their numbers.
    pub split_k: usize,
}

impl CubeUnits {
    /// Units along the rows and the columns.
    const fn grid(self) -> [usize; 2] {
        [self.tile[0] / self.each[0], self.tile[1] / self.each[1]]
    }

    /// Units of a cube.
    pub(super) const fn count(self) -> usize {
        self.grid()[0] * self.grid()[1] * self.split_k
    }

    /// Vectors of the product that a unit has.
    const fn own(self) -> usize {
        self.each[0] * self.each[1] / 4
    }

    /// Vectors in a line of an operand's tile in shared memory.
    const fn line(self, operand: usize) -> usize {
        self.tile[operand] / 4 + 1
    }

    /// Vectors of shared memory.
    pub(super) const fn shared(self) -> usize {
        let tiles = 2 * self.depth * (self.line(0) + self.line(1));
        let sums = (self.count() - self.count() / self.split_k) * self.own();
        let most = if tiles > sums { tiles } else { sums };
        if most > self.count() { most } else { self.count() }
    }

    pub(super) const fn side(self, operand: usize, k_contiguous: bool) -> OperandTiles {
        OperandTiles { across: self.tile[operand], depth: self.depth, units: self.count(), k_contiguous }
    }
}

/// Vectors that a unit fetches at most: of a matrix with its terms side by side, blocks of four lines.
const fn share(side: OperandTiles) -> usize {
    if side.k_contiguous { blocks(side).div_ceil(side.units) * 4 } else { side.share() }
}

/// Blocks of four by four numbers in a tile.
const fn blocks(side: OperandTiles) -> usize {
    side.across * side.depth / 16
}

/// Fetches a unit's share of a tile.
#[cube]
fn fetch_share(
    x: &Array<Four<f32>>,
    got: &mut Array<Four<f32>>,
    corner: Corner,
    #[comptime] side: OperandTiles,
) {
    if comptime!(side.k_contiguous) {
        #[unroll]
        for turn in 0..comptime!(blocks(side).div_ceil(side.units)) {
            let block = UNIT_POS as usize + turn * comptime!(side.units);
            if block < comptime!(blocks(side)) {
                let (across, depth) = (block / comptime!(side.depth / 4), block % comptime!(side.depth / 4));
                #[unroll]
                for row in 0..4usize {
                    let line = corner.first + across * 4 + row;
                    got[turn * 4 + row] =
                        read(x, line, corner.from / 4 + depth, corner.across, corner.depth / 4);
                }
            }
        }
    } else {
        fetch(x, got, corner, side);
    }
}

/// Puts what was fetched into shared memory, one line for each term: blocks of a matrix with its terms side by side are turned.
#[cube]
fn put(
    got: &Array<Four<f32>>,
    tiles: &mut SharedMemory<Four<f32>>,
    base: usize,
    factor: f32,
    #[comptime] side: OperandTiles,
    #[comptime] rounding: Rounding,
) {
    let line = comptime!(side.across / 4 + 1);
    if comptime!(side.k_contiguous) {
        #[unroll]
        for turn in 0..comptime!(blocks(side).div_ceil(side.units)) {
            let block = UNIT_POS as usize + turn * comptime!(side.units);
            if block < comptime!(blocks(side)) {
                let (across, depth) = (block / comptime!(side.depth / 4), block % comptime!(side.depth / 4));
                #[unroll]
                for term in 0..4usize {
                    let mut value = Four::<f32>::empty();
                    #[unroll]
                    for row in 0..4usize {
                        value[row] = got[turn * 4 + row][term];
                    }
                    tiles[base + (depth * 4 + term) * line + across] =
                        prepared::<Const<4>>(value, factor, rounding);
                }
            }
        }
    } else {
        #[unroll]
        for turn in 0..comptime!(side.share()) {
            let place = UNIT_POS as usize + turn * comptime!(side.units);
            let (row, at) = (place / comptime!(side.length()), place % comptime!(side.length()));
            tiles[base + row * line + at] = prepared::<Const<4>>(got[turn], factor, rounding);
        }
    }
}

/// `a b + bias + before`, and the sums of the columns of b; a matrix that is `k_contiguous` lies in memory with its terms side by side.
#[cube(launch_unchecked)]
pub(super) fn kernel(
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
    #[comptime] units: CubeUnits,
    #[comptime] k_contiguous: [bool; 2],
    #[comptime] rounding: Rounding,
    #[comptime] adds: Adds,
    #[comptime] with_sums: bool,
) {
    let (left, right) = comptime!((units.side(0, k_contiguous[0]), units.side(1, k_contiguous[1])));
    let [down, across] = comptime!(units.grid());
    let (line_a, line_b) = comptime!((units.line(0), units.line(1)));
    let [rows, columns] = comptime!([units.each[0] / 4, units.each[1] / 4]);
    let (depth, split_k, team) = comptime!((units.depth, units.split_k, down * across));
    // Two tiles of a, then two of b.
    let mut tiles = SharedMemory::<Four<f32>>::new(comptime!(units.shared()));
    let after = comptime!(2 * depth * line_a);
    let mut got_a = Array::<Four<f32>>::new(comptime!(share(left)));
    let mut got_b = Array::<Four<f32>>::new(comptime!(share(right)));
    let mut part_a = Array::<Four<f32>>::new(rows);
    let mut part_b = Array::<Four<f32>>::new(columns);
    let mut own = Array::<Four<f32>>::new(comptime!(units.own()));
    #[unroll]
    for at in 0..comptime!(units.own()) {
        own[at] = Four::new(0.0f32);
    }
    let mut of_columns = Four::<f32>::new(0.0f32);
    let unit = UNIT_POS as usize;
    let (slice, place) = (unit / team, unit % team);
    let (row, column) = (place / across, place % across);
    let first_row = CUBE_POS_Y as usize * comptime!(units.tile[0]);
    let first_column = CUBE_POS_X as usize * comptime!(units.tile[1]);

    let mut from = 0usize.runtime();
    let mut half = 0usize.runtime();
    while from < k + depth {
        // What the last turn fetched is computed while the next is fetched.
        if from < k {
            let corner = Corner { first: first_row, from, across: m, depth: k };
            fetch_share(a, &mut got_a, corner, left);
            let corner = Corner { first: first_column, from, across: n, depth: k };
            fetch_share(b, &mut got_b, corner, right);
            if with_sums {
                add_columns(&mut of_columns, &got_b, right);
            }
        }
        if from > 0 {
            let terms = comptime!(depth / split_k);
            let base_a = (half * depth + slice * terms) * line_a + row;
            let base_b = (half * depth + slice * terms) * line_b + column + after;
            #[unroll]
            for term in 0..terms {
                #[unroll]
                for at in 0..rows {
                    part_a[at] = tiles[base_a + comptime!(term * line_a + at * down)];
                }
                #[unroll]
                for at in 0..columns {
                    part_b[at] = tiles[base_b + comptime!(term * line_b + at * across)];
                }
                #[unroll]
                for at in 0..comptime!(units.own()) {
                    let (line, part) = comptime!((at / columns, at % columns));
                    own[at] += Four::new(part_a[comptime!(line / 4)][comptime!(line % 4)]) * part_b[part];
                }
            }
            half = 1 - half;
        }
        if from < k {
            put(&got_a, &mut tiles, half * comptime!(depth * line_a), factors.a, left, rounding);
            put(&got_b, &mut tiles, half * comptime!(depth * line_b) + after, factors.b, right, rounding);
        }
        sync_cube();
        from += depth;
    }

    if comptime!(split_k > 1) {
        if slice > 0 {
            #[unroll]
            for at in 0..comptime!(units.own()) {
                tiles[((slice - 1) * comptime!(units.own()) + at) * team + place] = own[at];
            }
        }
        sync_cube();
        if slice == 0 {
            #[unroll]
            for other in 0..comptime!(split_k - 1) {
                #[unroll]
                for at in 0..comptime!(units.own()) {
                    own[at] += tiles[comptime!((other * units.own() + at) * team) + place];
                }
            }
        }
    }
    if slice == 0 {
        #[unroll]
        for at in 0..comptime!(units.own()) {
            let (line, part) = comptime!((at / columns, at % columns));
            let line = first_row + 4 * (row + comptime!(line / 4 * down)) + comptime!(line % 4);
            let part = first_column / 4 + column + comptime!(part * across);
            if line < m && part < n / 4 {
                let mut value = own[at];
                if comptime!(rounding.scales()) {
                    value *= Four::new(factors.out);
                }
                let to = line * (n / 4) + part;
                if comptime!(adds.bias) {
                    value += bias[part];
                }
                if comptime!(adds.before) {
                    value += before[to];
                }
                out[to] = value;
            }
        }
    }
    if with_sums {
        sync_cube();
        tiles[unit] = of_columns;
        sync_cube();
        write_sums(&tiles, sums, first_column / 4, n / 4, right);
    }
}
