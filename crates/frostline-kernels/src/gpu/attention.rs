//! Attention within each sentence of a pack, without padding and without a matrix of probabilities.
//!
//! A cube computes some queries (or keys) of one head of one sentence, one per unit. It passes over the sentence in tiles
//! that its units share; probabilities are computed again in the backward pass, from the logarithm of each row's sum.
//!
//! # Source
//! Dao et al., 2022 (FlashAttention), with one unit per row and the masks of Frostline's dropout.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{Site, factor, row_key, site};
use super::{fresh, list, sides};
use crate::{Dropout, Pack};

/// Rows of a tile, and units of a cube.
const TILE: usize = 32;

/// What the backward pass needs from the forward pass.
#[derive(Clone, Debug)]
pub(super) struct Saved<R: CubeRuntime> {
    /// Side by side, \[N, 3H\].
    qkv: CubeTensor<R>,
    context: CubeTensor<R>,
    /// The logarithm of the sum of the exponentials of each row's scores, \[N, heads\].
    logarithm: CubeTensor<R>,
    heads: usize,
    pack: Pack,
    dropout: Dropout,
}

/// Copies a tile of one head into shared memory; rows from `end` on are left as they are.
#[cube]
fn load(
    from: &Array<f32>,
    tile: &mut SharedMemory<f32>,
    start: usize,
    end: usize,
    stride: usize,
    first: usize,
    #[comptime] d: usize,
) {
    let mut at = UNIT_POS as usize;
    while at < comptime!(TILE * d) {
        let row = start + at / d;
        if row < end {
            tile[at] = from[row * stride + first + at % d];
        }
        at += TILE;
    }
}

/// The product of a row in registers and a row of a tile.
#[cube]
fn dot(row: &Array<f32>, tile: &SharedMemory<f32>, at: usize, #[comptime] d: usize) -> f32 {
    let mut sum = 0.0f32;
    #[unroll]
    for channel in 0..d {
        sum += row[channel] * tile[at * d + channel];
    }
    sum
}

#[cube(launch_unchecked)]
fn forward_kernel(
    qkv: &Array<f32>,
    boundaries: &Array<u32>,
    identities: &Array<u32>,
    context: &mut Array<f32>,
    logarithm: &mut Array<f32>,
    scale: f32,
    site: Site,
    heads: usize,
    #[comptime] d: usize,
    #[comptime] drops: bool,
) {
    let (first, end) =
        (boundaries[CUBE_POS_Z as usize] as usize, boundaries[CUBE_POS_Z as usize + 1] as usize);
    let start = first + CUBE_POS_X as usize * TILE;
    if start >= end {
        terminate!();
    }
    let (head, h) = (CUBE_POS_Y as usize, heads * d);
    let row = start + UNIT_POS as usize;
    let mut keys = SharedMemory::<f32>::new(comptime!(TILE * d));
    let mut values = SharedMemory::<f32>::new(comptime!(TILE * d));
    let mut query = Array::<f32>::new(d);
    let mut sum_of_values = Array::<f32>::new(d);
    let mut key = 0u32;
    if row < end {
        #[unroll]
        for channel in 0..d {
            query[channel] = qkv[3 * row * h + head * d + channel] * scale;
            sum_of_values[channel] = 0.0;
        }
        if drops {
            key = row_key(&site, identities, row, head as u32 + 1);
        }
    }
    let mut top = f32::new(-1e30);
    let mut sum = 0.0f32;
    let mut from = first;
    while from < end {
        load(qkv, &mut keys, from, end, 3 * h, h + head * d, d);
        load(qkv, &mut values, from, end, 3 * h, 2 * h + head * d, d);
        sync_cube();
        if row < end {
            let mut count = end - from;
            if count > TILE {
                count = TILE.runtime();
            }
            for at in 0..count {
                let score = dot(&query, &keys, at, d);
                let higher = top.max(score);
                let fades = (top - higher).exp();
                let weight = (score - higher).exp();
                top = higher;
                sum = sum * fades + weight;
                let mut kept = weight;
                if drops {
                    kept = weight * factor(&site, key, (from + at - first) as u32);
                }
                #[unroll]
                for channel in 0..d {
                    sum_of_values[channel] = sum_of_values[channel] * fades + kept * values[at * d + channel];
                }
            }
        }
        sync_cube();
        from += TILE;
    }
    if row < end {
        #[unroll]
        for channel in 0..d {
            context[row * h + head * d + channel] = sum_of_values[channel] / sum;
        }
        logarithm[row * heads + head] = top + sum.ln();
    }
}

/// The gradient of the queries, and of each row the product of context and gradient.
#[cube(launch_unchecked)]
fn queries_kernel(
    qkv: &Array<f32>,
    boundaries: &Array<u32>,
    identities: &Array<u32>,
    context: &Array<f32>,
    gradient: &Array<f32>,
    logarithm: &Array<f32>,
    of_qkv: &mut Array<f32>,
    along: &mut Array<f32>,
    scale: f32,
    site: Site,
    heads: usize,
    #[comptime] d: usize,
    #[comptime] drops: bool,
) {
    let (first, end) =
        (boundaries[CUBE_POS_Z as usize] as usize, boundaries[CUBE_POS_Z as usize + 1] as usize);
    let start = first + CUBE_POS_X as usize * TILE;
    if start >= end {
        terminate!();
    }
    let (head, h) = (CUBE_POS_Y as usize, heads * d);
    let row = start + UNIT_POS as usize;
    let mut keys = SharedMemory::<f32>::new(comptime!(TILE * d));
    let mut values = SharedMemory::<f32>::new(comptime!(TILE * d));
    let mut query = Array::<f32>::new(d);
    let mut outer = Array::<f32>::new(d);
    let mut sum = Array::<f32>::new(d);
    let mut product = 0.0f32;
    let mut log = 0.0f32;
    let mut key = 0u32;
    if row < end {
        #[unroll]
        for channel in 0..d {
            let at = row * h + head * d + channel;
            query[channel] = qkv[3 * row * h + head * d + channel] * scale;
            outer[channel] = gradient[at];
            product += gradient[at] * context[at];
            sum[channel] = 0.0;
        }
        log = logarithm[row * heads + head];
        along[row * heads + head] = product;
        if drops {
            key = row_key(&site, identities, row, head as u32 + 1);
        }
    }
    let mut from = first;
    while from < end {
        load(qkv, &mut keys, from, end, 3 * h, h + head * d, d);
        load(qkv, &mut values, from, end, 3 * h, 2 * h + head * d, d);
        sync_cube();
        if row < end {
            let mut count = end - from;
            if count > TILE {
                count = TILE.runtime();
            }
            for at in 0..count {
                let probability = (dot(&query, &keys, at, d) - log).exp();
                let mut of_probability = dot(&outer, &values, at, d);
                if drops {
                    of_probability *= factor(&site, key, (from + at - first) as u32);
                }
                let of_score = (of_probability - product) * probability * scale;
                #[unroll]
                for channel in 0..d {
                    sum[channel] += of_score * keys[at * d + channel];
                }
            }
        }
        sync_cube();
        from += TILE;
    }
    if row < end {
        #[unroll]
        for channel in 0..d {
            of_qkv[3 * row * h + head * d + channel] = sum[channel];
        }
    }
}

/// The gradients of the keys and the values.
#[cube(launch_unchecked)]
fn keys_kernel(
    qkv: &Array<f32>,
    boundaries: &Array<u32>,
    identities: &Array<u32>,
    gradient: &Array<f32>,
    logarithm: &Array<f32>,
    along: &Array<f32>,
    of_qkv: &mut Array<f32>,
    scale: f32,
    site: Site,
    heads: usize,
    #[comptime] d: usize,
    #[comptime] drops: bool,
) {
    let (first, end) =
        (boundaries[CUBE_POS_Z as usize] as usize, boundaries[CUBE_POS_Z as usize + 1] as usize);
    let start = first + CUBE_POS_X as usize * TILE;
    if start >= end {
        terminate!();
    }
    let (head, h) = (CUBE_POS_Y as usize, heads * d);
    let unit = UNIT_POS as usize;
    let row = start + unit;
    let mut queries = SharedMemory::<f32>::new(comptime!(TILE * d));
    let mut outers = SharedMemory::<f32>::new(comptime!(TILE * d));
    let mut logs = SharedMemory::<f32>::new(TILE);
    let mut products = SharedMemory::<f32>::new(TILE);
    let mut masks = SharedMemory::<u32>::new(TILE);
    let mut key = Array::<f32>::new(d);
    let mut value = Array::<f32>::new(d);
    let mut sum_k = Array::<f32>::new(d);
    let mut sum_v = Array::<f32>::new(d);
    if row < end {
        #[unroll]
        for channel in 0..d {
            let at = 3 * row * h + h + head * d + channel;
            key[channel] = qkv[at] * scale;
            value[channel] = qkv[at + h];
            sum_k[channel] = 0.0;
            sum_v[channel] = 0.0;
        }
    }
    let mut from = first;
    while from < end {
        load(qkv, &mut queries, from, end, 3 * h, head * d, d);
        load(gradient, &mut outers, from, end, h, head * d, d);
        let own = from + unit;
        if own < end {
            logs[unit] = logarithm[own * heads + head];
            products[unit] = along[own * heads + head];
            if drops {
                masks[unit] = row_key(&site, identities, own, head as u32 + 1);
            }
        }
        sync_cube();
        if row < end {
            let mut count = end - from;
            if count > TILE {
                count = TILE.runtime();
            }
            for at in 0..count {
                let probability = (dot(&key, &queries, at, d) - logs[at]).exp();
                let mut of_probability = dot(&value, &outers, at, d);
                let mut kept = probability;
                if drops {
                    let factor = factor(&site, masks[at], (row - first) as u32);
                    of_probability *= factor;
                    kept *= factor;
                }
                let of_score = (of_probability - products[at]) * probability * scale;
                #[unroll]
                for channel in 0..d {
                    sum_k[channel] += of_score * queries[at * d + channel];
                    sum_v[channel] += kept * outers[at * d + channel];
                }
            }
        }
        sync_cube();
        from += TILE;
    }
    if row < end {
        #[unroll]
        for channel in 0..d {
            let at = 3 * row * h + h + head * d + channel;
            of_qkv[at] = sum_k[channel];
            of_qkv[at + h] = sum_v[channel];
        }
    }
}

/// A cube per tile of the longest sentence, per head and per sentence.
fn count(pack: &Pack, heads: usize) -> CubeCount {
    CubeCount::Static(pack.longest().div_ceil(TILE) as u32, heads as u32, pack.sentences() as u32)
}

/// The context \[N, H\] of queries, keys and values side by side \[N, 3H\], and what the backward pass needs.
pub(super) fn forward<R: CubeRuntime>(
    qkv: CubeTensor<R>,
    heads: usize,
    pack: &Pack,
    dropout: Dropout,
) -> (CubeTensor<R>, Saved<R>) {
    let [n, sides] = sides(&qkv);
    let h = sides / 3;
    let d = h / heads;
    let (context, logarithm) = (fresh(&qkv, [n, h]), fresh(&qkv, [n, heads]));
    let [boundaries, identities] = [list(&pack.boundaries, &qkv), list(&pack.rows, &qkv)];
    // SAFETY: rows lie within their sentence, and sentences within the pack.
    unsafe {
        forward_kernel::launch_unchecked::<R>(
            &qkv.client,
            count(pack, heads),
            CubeDim::new_1d(TILE as u32),
            qkv.clone().into_array_arg(),
            boundaries,
            identities,
            context.clone().into_array_arg(),
            logarithm.clone().into_array_arg(),
            1.0 / (d as f32).sqrt(),
            site(dropout),
            heads,
            d,
            !dropout.is_off(),
        );
    }
    let saved = Saved { qkv, context: context.clone(), logarithm, heads, pack: pack.clone(), dropout };
    (context, saved)
}

/// The gradients of queries, keys and values side by side \[N, 3H\], from that of the context.
pub(super) fn backward<R: CubeRuntime>(saved: Saved<R>, gradient: CubeTensor<R>) -> CubeTensor<R> {
    let Saved { qkv, context, logarithm, heads, pack, dropout } = saved;
    let [n, h] = sides(&context);
    let (d, client) = (h / heads, qkv.client.clone());
    let (of_qkv, along) = (fresh(&qkv, [n, 3 * h]), fresh(&qkv, [n, heads]));
    let (dim, scale, drops) = (CubeDim::new_1d(TILE as u32), 1.0 / (d as f32).sqrt(), !dropout.is_off());
    let lists = || [list(&pack.boundaries, &qkv), list(&pack.rows, &qkv)];
    let ([boundaries, identities], [boundaries_again, identities_again]) = (lists(), lists());
    // SAFETY: as above. The products that the first kernel writes are read by the second.
    unsafe {
        queries_kernel::launch_unchecked::<R>(
            &client,
            count(&pack, heads),
            dim,
            qkv.clone().into_array_arg(),
            boundaries,
            identities,
            context.into_array_arg(),
            gradient.clone().into_array_arg(),
            logarithm.clone().into_array_arg(),
            of_qkv.clone().into_array_arg(),
            along.clone().into_array_arg(),
            scale,
            site(dropout),
            heads,
            d,
            drops,
        );
        keys_kernel::launch_unchecked::<R>(
            &client,
            count(&pack, heads),
            dim,
            qkv.clone().into_array_arg(),
            boundaries_again,
            identities_again,
            gradient.into_array_arg(),
            logarithm.into_array_arg(),
            along.into_array_arg(),
            of_qkv.clone().into_array_arg(),
            scale,
            site(dropout),
            heads,
            d,
            drops,
        );
    }
    of_qkv
}
