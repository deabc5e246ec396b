//! Tiles of a matrix on their way to shared memory, in vectors of four numbers.

use cubecl::prelude::*;

/// Four numbers of a line.
pub(super) type Four<E> = Vector<E, Const<4>>;

/// One operand's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OperandTiles {
    /// Rows or columns of the product that a tile has a part in.
    pub across: usize,
    /// Terms of their sums.
    pub depth: usize,
    /// Units of the cube that fetches it.
    pub units: usize,
    /// Whether the matrix lies in memory with the terms of a sum side by side.
    pub k_contiguous: bool,
}

impl OperandTiles {
    /// Vectors in a line of the tile, as the matrix lies in memory.
    pub(super) const fn length(self) -> usize {
        (if self.k_contiguous { self.depth } else { self.across }) / 4
    }

    /// Whether all units fetch the same number of vectors, each from the same places of the lines.
    pub(super) const fn is_even(self) -> bool {
        (self.across * self.depth / 4).is_multiple_of(self.units) && self.units.is_multiple_of(self.length())
    }

    /// Vectors that a unit fetches.
    pub(super) const fn share(self) -> usize {
        self.across * self.depth / 4 / self.units
    }
}

/// Where a tile begins in its matrix, and what that has.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Corner {
    /// The first row or column of the product.
    pub first: usize,
    /// The first term.
    pub from: usize,
    /// Rows or columns of the product.
    pub across: usize,
    /// Terms.
    pub depth: usize,
}

/// Four numbers of a line of a matrix; zeros outside of it.
#[cube]
pub(super) fn read(x: &Array<Four<f32>>, line: usize, at: usize, lines: usize, length: usize) -> Four<f32> {
    let mut value = Four::<f32>::new(0.0f32);
    if line < lines && at < length {
        value = x[line * length + at];
    }
    value
}

/// Fetches a unit's share of a tile as it lies in memory.
#[cube]
pub(super) fn fetch(
    x: &Array<Four<f32>>,
    got: &mut Array<Four<f32>>,
    corner: Corner,
    #[comptime] side: OperandTiles,
) {
    let length = comptime!(side.length());
    #[unroll]
    for turn in 0..comptime!(side.share()) {
        let place = UNIT_POS as usize + turn * comptime!(side.units);
        let (line, at) = (place / length, place % length);
        if comptime!(side.k_contiguous) {
            got[turn] = read(x, corner.first + line, corner.from / 4 + at, corner.across, corner.depth / 4);
        } else {
            got[turn] = read(x, corner.from + line, corner.first / 4 + at, corner.depth, corner.across / 4);
        }
    }
}

/// Adds up the columns of what a unit fetched of a tile whose lines are rows: always of the same four, since a cube's units are
/// a multiple of a line.
#[cube]
pub(super) fn add_columns(sums: &mut Four<f32>, got: &Array<Four<f32>>, #[comptime] side: OperandTiles) {
    #[unroll]
    for turn in 0..comptime!(side.share()) {
        *sums += got[turn];
    }
}

/// Adds what the units have of each column, in their order.
#[cube]
pub(super) fn write_sums(
    parts: &SharedMemory<Four<f32>>,
    sums: &mut Array<Four<f32>>,
    first: usize,
    columns: usize,
    #[comptime] side: OperandTiles,
) {
    let unit = UNIT_POS as usize;
    let length = comptime!(side.length());
    if CUBE_POS_Y == 0 && unit < length && first + unit < columns {
        let mut sum = Four::<f32>::new(0.0f32);
        for turn in 0..comptime!(side.units / length) {
            sum += parts[turn * length + unit];
        }
        sums[first + unit] = sum;
    }
}
