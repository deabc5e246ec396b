//! Queries, keys and values by one product, and their attention.
//!
//! The three layers' weights are put side by side, which costs a copy and saves two products in each direction, and the
//! addition of three gradients of x.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;

use super::{attention, columns, product, sides};
use crate::{Dropout, Pack, Precision};

/// What the backward pass needs from the forward pass.
#[derive(Clone, Debug)]
pub(super) struct SavedSelfAttention<R: CubeRuntime> {
    linear: product::SavedProductTensors<R>,
    attention: attention::SavedAttentionTensors<R>,
}

/// The three layers' weights \[I, H\] and biases \[H\].
pub(super) type LayerWeights<R> = ([CubeTensor<R>; 3], [CubeTensor<R>; 3]);

/// The context \[N, H\] of x \[N, I\], and what the backward pass needs; `needed` says it of x and of any weight.
pub(super) fn forward<R: CubeRuntime>(
    x: CubeTensor<R>,
    (weights, biases): LayerWeights<R>,
    (heads, pack, dropout): (usize, &Pack, Dropout),
    precision: Precision,
    needed: [bool; 2],
) -> (CubeTensor<R>, SavedSelfAttention<R>) {
    let (qkv, linear) =
        product::forward([x, columns::join(weights), columns::join(biases)], precision, needed);
    let (context, attention) = attention::forward(qkv, heads, pack, dropout);
    (context, SavedSelfAttention { linear, attention })
}

/// The gradients of x, of the three weights, and of the three biases. That of x is added to what it has `before`.
pub(super) fn backward<R: CubeRuntime>(
    saved: SavedSelfAttention<R>,
    gradient: CubeTensor<R>,
    before: Option<CubeTensor<R>>,
    [x, w1, w2, w3, b1, b2, b3]: [bool; 7],
) -> [Option<CubeTensor<R>>; 7] {
    let of_qkv = attention::backward(saved.attention, gradient);
    let needed = [x, w1 || w2 || w3, b1 || b2 || b3];
    let [of_x, of_weights, of_biases] = product::backward(saved.linear, of_qkv, before, needed);
    let weights = of_weights.map(|joined| {
        let [rows, columns] = sides(&joined);
        columns::split(joined, [rows, columns / 3])
    });
    let biases = of_biases.map(|joined| {
        let columns = joined.meta.num_elements();
        columns::split(joined, [columns / 3])
    });
    let parts = |three: Option<[CubeTensor<R>; 3]>| three.map_or([const { None }; 3], |all| all.map(Some));
    let ([w1, w2, w3], [b1, b2, b3]) = (parts(weights), parts(biases));
    [of_x, w1, w2, w3, b1, b2, b3]
}
