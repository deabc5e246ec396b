//! Sums over the units of a cube, in one order.

use cubecl::prelude::*;

/// The sum of one value of every unit, for all of them. `units` is a power of two.
#[cube]
pub(super) fn total(shared: &mut SharedMemory<f32>, value: f32, #[comptime] units: usize) -> f32 {
    let unit = UNIT_POS as usize;
    shared[unit] = value;
    sync_cube();
    #[unroll]
    for step in 0..comptime!(units.ilog2() as usize) {
        let half = comptime!(units >> (step + 1));
        if unit < half {
            let other = shared[unit + half];
            shared[unit] += other;
        }
        sync_cube();
    }
    let sum = shared[0];
    sync_cube();
    sum
}

/// The largest value of every unit, for all of them. `units` is a power of two.
#[cube]
pub(super) fn largest(shared: &mut SharedMemory<f32>, value: f32, #[comptime] units: usize) -> f32 {
    let unit = UNIT_POS as usize;
    shared[unit] = value;
    sync_cube();
    #[unroll]
    for step in 0..comptime!(units.ilog2() as usize) {
        let half = comptime!(units >> (step + 1));
        if unit < half {
            let other = shared[unit + half];
            shared[unit] = shared[unit].max(other);
        }
        sync_cube();
    }
    let top = shared[0];
    sync_cube();
    top
}
