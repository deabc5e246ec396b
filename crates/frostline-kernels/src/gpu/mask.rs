//! Dropout masks on the device: the hash of [`Dropout`], with 64-bit numbers as two words.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{fresh, list, per_element, sides};
use crate::{Dropout, Rows};

/// A dropout site as a kernel's argument.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub(super) struct Site {
    low: u32,
    high: u32,
    threshold: u32,
    scale: f32,
}

/// The site's arguments.
pub(super) fn site<R: Runtime>(dropout: Dropout) -> SiteLaunch<R> {
    let (key, threshold, scale) = dropout.words();
    SiteLaunch::new(key as u32, (key >> 32) as u32, threshold, scale)
}

/// The key of a row's mask; `part` distinguishes heads within a row.
#[cube]
pub(super) fn row_key(site: &Site, identities: &Array<u32>, row: usize, part: u32) -> u32 {
    // part · 0x9E3779B97F4A7C15
    let part_low = part * 0x7F4A_7C15u32;
    let part_high = part.mul_hi(0x7F4A_7C15u32) + part * 0x9E37_79B9u32;
    let low = site.low ^ identities[2 * row] ^ part_low;
    let high = site.high ^ identities[2 * row + 1] ^ part_high;
    // z ^= z >> 30, times 0xBF58476D1CE4E5B9
    let x = low ^ ((low >> 30u32) | (high << 2u32));
    let y = high ^ (high >> 30u32);
    let low = x * 0x1CE4_E5B9u32;
    let high = x.mul_hi(0x1CE4_E5B9u32) + x * 0xBF58_476Du32 + y * 0x1CE4_E5B9u32;
    // z ^= z >> 27, times 0x94D049BB133111EB
    let x = low ^ ((low >> 27u32) | (high << 5u32));
    let y = high ^ (high >> 27u32);
    let low = x * 0x1331_11EBu32;
    let high = x.mul_hi(0x1331_11EBu32) + x * 0x94D0_49BBu32 + y * 0x1331_11EBu32;
    // The low word of z ^ z >> 31.
    low ^ ((low >> 31u32) | (high << 1u32))
}

/// The factor of the unit at `channel`: 0, or 1 / (1 - rate).
#[cube]
pub(super) fn factor(site: &Site, key: u32, channel: u32) -> f32 {
    let mut x = (channel * 0x9E37_79B9u32) ^ key;
    x = (x ^ (x >> 16u32)) * 0x7FEB_352Du32;
    x = (x ^ (x >> 15u32)) * 0x846C_A68Bu32;
    x = x ^ (x >> 16u32);
    select(x >= site.threshold, site.scale, 0.0f32)
}

#[cube(launch_unchecked)]
fn masked_kernel(x: &Array<f32>, identities: &Array<u32>, out: &mut Array<f32>, h: usize, site: Site) {
    if ABSOLUTE_POS < out.len() {
        let row = ABSOLUTE_POS / h;
        let key = row_key(&site, identities, row, 0u32);
        out[ABSOLUTE_POS] = x[ABSOLUTE_POS] * factor(&site, key, (ABSOLUTE_POS % h) as u32);
    }
}

/// x \[N, H\] times its mask; also the gradient of that.
pub(super) fn masked<R: CubeRuntime>(x: CubeTensor<R>, dropout: Dropout, rows: &Rows) -> CubeTensor<R> {
    let [n, h] = sides(&x);
    let (count, dim) = per_element(n * h);
    let out = fresh(&x, [n, h]);
    let identities = list(rows, &x);
    // SAFETY: the kernel checks its bound, and there is an identity for each row.
    unsafe {
        masked_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            x.into_array_arg(),
            identities,
            out.clone().into_array_arg(),
            h,
            site(dropout),
        );
    }
    out
}
