//! Attention within each sentence of a pack, without padding and without a matrix of probabilities.
//!
//! A cube computes some queries (or keys) of one head of one sentence, four units for each. It passes over the sentence in
//! tiles that its units share: each unit computes a quarter of a row's scores, then a quarter of the channels of their weighted
//! sum. Probabilities are computed again in the backward pass, from the logarithm of each row's sum.
//!
//! # Source
//! Dao et al., 2022 (FlashAttention), with the masks of Frostline's dropout.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{Site, factor, row_key, site};
use super::{fresh, list, sides};
use crate::{Dropout, Pack};

/// Rows of a cube.
const ROWS: usize = 32;

/// Units of a row.
const PARTS: usize = 4;

/// Bytes of shared memory that any desktop's GPU has.
const ROOM: usize = 32 * 1024;

/// What the backward pass needs from the forward pass.
#[derive(Clone, Debug)]
pub(super) struct SavedAttentionTensors<R: CubeRuntime> {
    /// Side by side, \[N, 3H\].
    qkv: CubeTensor<R>,
    context: CubeTensor<R>,
    /// The logarithm of the sum of the exponentials of each row's scores, \[N, heads\].
    logarithm: CubeTensor<R>,
    heads: usize,
    pack: Pack,
    dropout: Dropout,
}

/// Rows of a tile, for heads of so many channels: as many as there is room for in the backward pass, which needs most.
const fn tile(d: usize) -> usize {
    let mut rows = ROWS;
    while rows > 1 && 4 * (2 * rows * (d + 1) + 2 * ROWS * (rows + 1) + 3 * rows) > ROOM {
        rows /= 2;
    }
    rows
}

/// Numbers of a tile, whose rows have a gap between them so that units read from different banks.
const fn size(d: usize) -> usize {
    tile(d) * (d + 1)
}

/// From one row of scores to the next.
const fn pitch(d: usize) -> usize {
    tile(d) + 1
}

/// Copies a tile of one head into shared memory; rows from `end` on are left as they are.
#[cube]
fn load(
    from: &Array<f32>,
    to: &mut SharedMemory<f32>,
    start: usize,
    end: usize,
    stride: usize,
    first: usize,
    #[comptime] d: usize,
) {
    let mut at = UNIT_POS as usize;
    while at < comptime!(tile(d) * d) {
        let (row, channel) = (at / d, at % d);
        if start + row < end {
            to[row * comptime!(d + 1) + channel] = from[(start + row) * stride + first + channel];
        }
        at += comptime!(ROWS * PARTS);
    }
}

/// The product of a row in registers and a row of a tile.
#[cube]
fn dot(row: &Array<f32>, tile: &SharedMemory<f32>, at: usize, #[comptime] d: usize) -> f32 {
    let mut sum = 0.0f32;
    #[unroll]
    for channel in 0..d {
        sum += row[channel] * tile[at * comptime!(d + 1) + channel];
    }
    sum
}

/// Adds a row of a tile, weighted, to the channels of a unit.
#[cube]
fn add(
    sums: &mut Array<f32>,
    weight: f32,
    tile: &SharedMemory<f32>,
    at: usize,
    part: usize,
    #[comptime] d: usize,
) {
    #[unroll]
    for turn in 0..comptime!(d.div_ceil(PARTS)) {
        let channel = turn * PARTS + part;
        if comptime!((turn + 1) * PARTS <= d) || channel < d {
            sums[turn] += weight * tile[at * comptime!(d + 1) + channel];
        }
    }
}

/// Writes a unit's channels.
#[cube]
fn write(
    sums: &Array<f32>,
    to: &mut Array<f32>,
    first: usize,
    part: usize,
    share: f32,
    #[comptime] d: usize,
) {
    #[unroll]
    for turn in 0..comptime!(d.div_ceil(PARTS)) {
        let channel = turn * PARTS + part;
        if comptime!((turn + 1) * PARTS <= d) || channel < d {
            to[first + channel] = sums[turn] * share;
        }
    }
}

/// Rows of a tile that there are.
#[cube]
fn rows_of(from: usize, end: usize, #[comptime] d: usize) -> usize {
    let mut count = end - from;
    if count > comptime!(tile(d)) {
        count = comptime!(tile(d)).runtime();
    }
    count
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
    let start = first + CUBE_POS_X as usize * ROWS;
    if start >= end {
        terminate!();
    }
    let (head, h) = (CUBE_POS_Y as usize, heads * d);
    let (line, part) = (UNIT_POS as usize / PARTS, UNIT_POS as usize % PARTS);
    let (row, line) = (start + line, line * comptime!(pitch(d)));
    let mut keys = SharedMemory::<f32>::new(comptime!(size(d)));
    let mut values = SharedMemory::<f32>::new(comptime!(size(d)));
    let mut scores = SharedMemory::<f32>::new(comptime!(ROWS * pitch(d)));
    let mut factors = SharedMemory::<f32>::new(comptime!(if drops { ROWS * pitch(d) } else { 1 }));
    let mut query = Array::<f32>::new(d);
    let mut sum_of_values = Array::<f32>::new(comptime!(d.div_ceil(PARTS)));
    #[unroll]
    for turn in 0..comptime!(d.div_ceil(PARTS)) {
        sum_of_values[turn] = 0.0;
    }
    let mut key = 0u32;
    if row < end {
        #[unroll]
        for channel in 0..d {
            query[channel] = qkv[3 * row * h + head * d + channel] * scale;
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
        let count = rows_of(from, end, d);
        if row < end {
            let mut at = part;
            while at < count {
                scores[line + at] = dot(&query, &keys, at, d);
                if drops {
                    factors[line + at] = factor(&site, key, (from + at - first) as u32);
                }
                at += PARTS;
            }
        }
        sync_cube();
        if row < end {
            let mut higher = top;
            for at in 0..count {
                higher = higher.max(scores[line + at]);
            }
            let fades = (top - higher).exp();
            top = higher;
            sum *= fades;
            #[unroll]
            for turn in 0..comptime!(d.div_ceil(PARTS)) {
                sum_of_values[turn] *= fades;
            }
            for at in 0..count {
                let weight = (scores[line + at] - top).exp();
                sum += weight;
                let mut kept = weight;
                if drops {
                    kept = weight * factors[line + at];
                }
                add(&mut sum_of_values, kept, &values, at, part, d);
            }
        }
        sync_cube();
        from += comptime!(tile(d));
    }
    if row < end {
        write(&sum_of_values, context, row * h + head * d, part, 1.0 / sum, d);
        if part == 0 {
            logarithm[row * heads + head] = top + sum.ln();
        }
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
    let start = first + CUBE_POS_X as usize * ROWS;
    if start >= end {
        terminate!();
    }
    let (head, h) = (CUBE_POS_Y as usize, heads * d);
    let (line, part) = (UNIT_POS as usize / PARTS, UNIT_POS as usize % PARTS);
    let (row, line) = (start + line, line * comptime!(pitch(d)));
    let mut keys = SharedMemory::<f32>::new(comptime!(size(d)));
    let mut values = SharedMemory::<f32>::new(comptime!(size(d)));
    let mut scores = SharedMemory::<f32>::new(comptime!(ROWS * pitch(d)));
    let mut query = Array::<f32>::new(d);
    let mut outer = Array::<f32>::new(d);
    let mut sum = Array::<f32>::new(comptime!(d.div_ceil(PARTS)));
    #[unroll]
    for turn in 0..comptime!(d.div_ceil(PARTS)) {
        sum[turn] = 0.0;
    }
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
        }
        log = logarithm[row * heads + head];
        if part == 0 {
            along[row * heads + head] = product;
        }
        if drops {
            key = row_key(&site, identities, row, head as u32 + 1);
        }
    }
    let mut from = first;
    while from < end {
        load(qkv, &mut keys, from, end, 3 * h, h + head * d, d);
        load(qkv, &mut values, from, end, 3 * h, 2 * h + head * d, d);
        sync_cube();
        let count = rows_of(from, end, d);
        if row < end {
            let mut at = part;
            while at < count {
                let probability = (dot(&query, &keys, at, d) - log).exp();
                let mut of_probability = dot(&outer, &values, at, d);
                if drops {
                    of_probability *= factor(&site, key, (from + at - first) as u32);
                }
                scores[line + at] = (of_probability - product) * probability * scale;
                at += PARTS;
            }
        }
        sync_cube();
        if row < end {
            for at in 0..count {
                add(&mut sum, scores[line + at], &keys, at, part, d);
            }
        }
        sync_cube();
        from += comptime!(tile(d));
    }
    if row < end {
        write(&sum, of_qkv, 3 * row * h + head * d, part, 1.0f32, d);
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
    let start = first + CUBE_POS_X as usize * ROWS;
    if start >= end {
        terminate!();
    }
    let (head, h) = (CUBE_POS_Y as usize, heads * d);
    let unit = UNIT_POS as usize;
    let (line, part) = (unit / PARTS, unit % PARTS);
    let (row, line) = (start + line, line * comptime!(pitch(d)));
    let mut queries = SharedMemory::<f32>::new(comptime!(size(d)));
    let mut outers = SharedMemory::<f32>::new(comptime!(size(d)));
    let mut scores = SharedMemory::<f32>::new(comptime!(ROWS * pitch(d)));
    let mut weights = SharedMemory::<f32>::new(comptime!(ROWS * pitch(d)));
    let mut logs = SharedMemory::<f32>::new(comptime!(tile(d)));
    let mut products = SharedMemory::<f32>::new(comptime!(tile(d)));
    let mut masks = SharedMemory::<u32>::new(comptime!(tile(d)));
    let mut key = Array::<f32>::new(d);
    let mut value = Array::<f32>::new(d);
    let mut sum_k = Array::<f32>::new(comptime!(d.div_ceil(PARTS)));
    let mut sum_v = Array::<f32>::new(comptime!(d.div_ceil(PARTS)));
    #[unroll]
    for turn in 0..comptime!(d.div_ceil(PARTS)) {
        sum_k[turn] = 0.0;
        sum_v[turn] = 0.0;
    }
    if row < end {
        #[unroll]
        for channel in 0..d {
            let at = 3 * row * h + h + head * d + channel;
            key[channel] = qkv[at] * scale;
            value[channel] = qkv[at + h];
        }
    }
    let mut from = first;
    while from < end {
        load(qkv, &mut queries, from, end, 3 * h, head * d, d);
        load(gradient, &mut outers, from, end, h, head * d, d);
        let own = from + unit;
        if unit < comptime!(tile(d)) && own < end {
            logs[unit] = logarithm[own * heads + head];
            products[unit] = along[own * heads + head];
            if drops {
                masks[unit] = row_key(&site, identities, own, head as u32 + 1);
            }
        }
        sync_cube();
        let count = rows_of(from, end, d);
        if row < end {
            let mut at = part;
            while at < count {
                let probability = (dot(&key, &queries, at, d) - logs[at]).exp();
                let mut of_probability = dot(&value, &outers, at, d);
                let mut kept = probability;
                if drops {
                    let factor = factor(&site, masks[at], (row - first) as u32);
                    of_probability *= factor;
                    kept *= factor;
                }
                scores[line + at] = (of_probability - products[at]) * probability * scale;
                weights[line + at] = kept;
                at += PARTS;
            }
        }
        sync_cube();
        if row < end {
            for at in 0..count {
                add(&mut sum_k, scores[line + at], &queries, at, part, d);
                add(&mut sum_v, weights[line + at], &outers, at, part, d);
            }
        }
        sync_cube();
        from += comptime!(tile(d));
    }
    if row < end {
        let at = 3 * row * h + h + head * d;
        write(&sum_k, of_qkv, at, part, 1.0f32, d);
        write(&sum_v, of_qkv, at + h, part, 1.0f32, d);
    }
}

/// A cube for some rows of the longest sentence, for each head and sentence.
fn count(pack: &Pack, heads: usize) -> CubeCount {
    CubeCount::Static(pack.longest().div_ceil(ROWS) as u32, heads as u32, pack.sentences() as u32)
}

/// The context \[N, H\] of queries, keys and values side by side \[N, 3H\], and what the backward pass needs.
pub(super) fn forward<R: CubeRuntime>(
    qkv: CubeTensor<R>,
    heads: usize,
    pack: &Pack,
    dropout: Dropout,
) -> (CubeTensor<R>, SavedAttentionTensors<R>) {
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
            CubeDim::new_1d((ROWS * PARTS) as u32),
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
    let saved = SavedAttentionTensors {
        qkv,
        context: context.clone(),
        logarithm,
        heads,
        pack: pack.clone(),
        dropout,
    };
    (context, saved)
}

/// The gradients of queries, keys and values side by side \[N, 3H\], from that of the context.
pub(super) fn backward<R: CubeRuntime>(
    saved: SavedAttentionTensors<R>,
    gradient: CubeTensor<R>,
) -> CubeTensor<R> {
    let SavedAttentionTensors { qkv, context, logarithm, heads, pack, dropout } = saved;
    let [n, h] = sides(&context);
    let (d, client) = (h / heads, qkv.client.clone());
    let (of_qkv, along) = (fresh(&qkv, [n, 3 * h]), fresh(&qkv, [n, heads]));
    let (dim, scale, drops) =
        (CubeDim::new_1d((ROWS * PARTS) as u32), 1.0 / (d as f32).sqrt(), !dropout.is_off());
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
