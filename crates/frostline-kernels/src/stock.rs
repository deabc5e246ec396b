//! The operations in stock burn: the defaults, and the reference for the fused operations.
//!
//! Dropout masks come from the same hash as in the fused operations, so results agree up to rounding.

use burn::prelude::*;
use burn::tensor::{FloatDType, activation};

use crate::options::clipping;
use crate::{Activation, AttentionForm, Dropout, Pack, RelativePositions, Rotary, Rows, Update, Updated};

/// See [`crate::Kernels::k_linear`].
pub fn linear<B: Backend>(x: Tensor<B, 2>, weight: Tensor<B, 2>, bias: Tensor<B, 1>) -> Tensor<B, 2> {
    x.matmul(weight) + bias.unsqueeze()
}

/// [`linear`] with operands rounded to bf16, for devices that multiply it natively. The bias is
/// added in f32; gradients are rounded in the backward pass.
pub fn linear_bf16<B: Backend>(x: Tensor<B, 2>, weight: Tensor<B, 2>, bias: Tensor<B, 1>) -> Tensor<B, 2> {
    let [x, weight] = [x, weight].map(|operand| operand.cast(FloatDType::BF16));
    x.matmul(weight).cast(FloatDType::F32) + bias.unsqueeze()
}

/// See [`crate::Kernels::k_gelu`]. Not burn's own `gelu`, because its gradient is that of the tanh
/// approximation (burn 0.21), which is off by up to 2e-3.
pub fn gelu<B: Backend>(x: Tensor<B, 2>) -> Tensor<B, 2> {
    let area = x.clone().mul_scalar(std::f64::consts::FRAC_1_SQRT_2).erf().add_scalar(1.0).mul_scalar(0.5);
    x * area
}

/// See [`crate::Kernels::k_activation`].
pub fn activation<B: Backend>(x: Tensor<B, 2>, activation: Activation) -> Tensor<B, 2> {
    match activation {
        Activation::Gelu => gelu(x),
        Activation::GeluTanh => {
            let cube = x.clone().powi_scalar(3).mul_scalar(0.044_715);
            let inner = (x.clone() + cube).mul_scalar((2.0 * std::f64::consts::FRAC_1_PI).sqrt());
            x * inner.tanh().add_scalar(1.0).mul_scalar(0.5)
        }
        Activation::Relu => activation::relu(x),
        Activation::Silu => x.clone() * activation::sigmoid(x),
    }
}

/// See [`crate::Kernels::k_dropout`].
pub fn dropout<B: Backend>(x: Tensor<B, 2>, dropout: Dropout, rows: &Rows) -> Tensor<B, 2> {
    if dropout.is_off() {
        return x;
    }
    let [n, h] = x.dims();
    let mut mask = Vec::with_capacity(n * h);
    for &identity in rows.identities() {
        let row = dropout.row(identity, 0);
        mask.extend((0..h).map(|channel| row.factor(channel)));
    }
    let device = x.device();
    x * Tensor::from_data(TensorData::new(mask, [n, h]), &device)
}

/// See [`crate::Kernels::k_drop_add_norm`].
pub fn drop_add_norm<B: Backend>(
    x: Tensor<B, 2>,
    residual: Option<Tensor<B, 2>>,
    [gamma, beta]: [Tensor<B, 1>; 2],
    eps: f64,
    drop: Dropout,
    rows: &Rows,
) -> Tensor<B, 2> {
    let x = dropout(x, drop, rows);
    let x = match residual {
        Some(residual) => x + residual,
        None => x,
    };
    let centred = x.clone() - x.mean_dim(1);
    let variance = centred.clone().square().mean_dim(1);
    centred / variance.add_scalar(eps).sqrt() * gamma.unsqueeze() + beta.unsqueeze()
}

/// See [`crate::Kernels::k_rms_norm`].
pub fn rms_norm<B: Backend>(x: Tensor<B, 2>, gamma: Tensor<B, 1>, eps: f64) -> Tensor<B, 2> {
    let squares = x.clone().square().mean_dim(1);
    x / squares.add_scalar(eps).sqrt() * gamma.unsqueeze()
}

/// See [`crate::Kernels::k_repeat_heads`].
///
/// # Panics
/// If `heads` is not a multiple of `groups`.
pub fn repeat_heads<B: Backend>(x: Tensor<B, 2>, groups: usize, heads: usize) -> Tensor<B, 2> {
    assert!(heads.is_multiple_of(groups), "{heads} heads in {groups} groups");
    let [n, width] = x.dims();
    let (d, times) = (width / groups, heads / groups);
    x.reshape([n, groups, 1, d]).repeat_dim(2, times).reshape([n, heads * d])
}

/// See [`crate::Kernels::k_attention`]: gathered into padded sentences and scattered back.
pub fn attention<B: Backend>(
    qkv: [Tensor<B, 2>; 3],
    heads: usize,
    pack: &Pack,
    dropout: Dropout,
) -> Tensor<B, 2> {
    attention_padded(qkv, heads, pack, dropout, pack.longest())
}

/// [`attention`] with sentences padded to `l` positions: few shapes suit a backend that compiles or
/// tunes a kernel per shape.
///
/// # Panics
/// If a sentence is longer than `l`.
pub fn attention_padded<B: Backend>(
    [q, k, v]: [Tensor<B, 2>; 3],
    heads: usize,
    pack: &Pack,
    dropout: Dropout,
    l: usize,
) -> Tensor<B, 2> {
    padded_attention([q, k, v], (heads, Scores::Whole), pack, dropout, l)
}

/// See [`crate::Kernels::k_form_attention`]: gathered into padded sentences, with scores of all pairs.
pub fn form_attention<B: Backend>(
    qkv: [Tensor<B, 2>; 3],
    form: &AttentionForm,
    pack: &Pack,
    dropout: Dropout,
) -> Tensor<B, 2> {
    let qkv = rotated(qkv, form, pack);
    let scores = form.window.map_or(Scores::Whole, Scores::Window);
    padded_attention(qkv, (form.heads, scores), pack, dropout, pack.longest())
}

/// See [`crate::Kernels::k_relative_attention`]: gathered into padded sentences, with scores of all pairs.
pub fn relative_attention<B: Backend>(
    qkv: [Tensor<B, 2>; 3],
    relative: [Tensor<B, 2>; 2],
    heads: usize,
    positions: &RelativePositions,
    pack: &Pack,
    dropout: Dropout,
) -> Tensor<B, 2> {
    padded_attention(qkv, (heads, Scores::Relative(relative, positions)), pack, dropout, pack.longest())
}

/// The terms and limits of scores besides the products of queries and keys.
enum Scores<'a, B: Backend> {
    /// Every pair of positions has a score.
    Whole,
    /// Only pairs of positions up to this distance have a score.
    Window(usize),
    /// Products with keys and queries of relative positions, \[R, H\] each, are added.
    Relative([Tensor<B, 2>; 2], &'a RelativePositions),
}

/// Queries, keys and values, of which the form rotates the first two.
pub(crate) fn rotated<B: Backend>(
    [q, k, v]: [Tensor<B, 2>; 3],
    form: &AttentionForm,
    pack: &Pack,
) -> [Tensor<B, 2>; 3] {
    match &form.rotary {
        None => [q, k, v],
        Some(rotary) => [rotate(q, rotary, pack), rotate(k, rotary, pack), v],
    }
}

/// Rotates the heads of each row by the row's position in its sentence.
///
/// # Shapes
/// \[N, H\] -> \[N, H\]
pub fn rotate<B: Backend>(x: Tensor<B, 2>, rotary: &Rotary, pack: &Pack) -> Tensor<B, 2> {
    let ([n, h], half) = (x.dims(), rotary.half());
    let positions = || pack.offsets().windows(2).flat_map(|pair| 0..pair[1] - pair[0]);
    let device = x.device();
    let [cosine, sine] = [0, 1].map(|which| {
        let of_position = |position| rotary.turns(position).iter().map(move |turn| turn[which]);
        let values: Vec<f32> = positions().flat_map(of_position).collect();
        Tensor::<B, 4>::from_data(TensorData::new(values, [n, 1, 1, half]), &device)
    });
    let heads = x.reshape([n, h / (2 * half), 2, half]);
    let [first, second] = [0, 1].map(|which| heads.clone().narrow(2, which, 1));
    let turned = first.clone() * cosine.clone() - second.clone() * sine.clone();
    Tensor::cat(vec![turned, second * cosine + first * sine], 2).reshape([n, h])
}

fn padded_attention<B: Backend>(
    [q, k, v]: [Tensor<B, 2>; 3],
    (heads, extra): (usize, Scores<'_, B>),
    pack: &Pack,
    dropout: Dropout,
    l: usize,
) -> Tensor<B, 2> {
    assert!(l >= pack.longest(), "sentences of {} positions do not fit into {l}", pack.longest());
    let device = q.device();
    let [n, h] = q.dims();
    let (b, d) = (pack.sentences(), h / heads);
    let int = |values: Vec<i32>| {
        let count = values.len();
        Tensor::<B, 1, Int>::from_data(TensorData::new(values, [count]), &device)
    };
    // Position (sentence, i) of the padded form comes from this row; padding repeats row 0.
    let mut source = vec![0i32; b * l];
    let mut target = Vec::with_capacity(n);
    let mut padding = vec![true; b * l];
    for (sentence, pair) in pack.offsets().windows(2).enumerate() {
        for (i, row) in (pair[0]..pair[1]).enumerate() {
            source[sentence * l + i] = row as i32;
            padding[sentence * l + i] = false;
            target.push((sentence * l + i) as i32);
        }
    }
    let source = int(source);
    let padding = Tensor::<B, 4, Bool>::from_data(TensorData::new(padding, [b, 1, 1, l]), &device);
    let split = |t: Tensor<B, 2>| t.select(0, source.clone()).reshape([b, l, heads, d]).swap_dims(1, 2);
    let (q, k) = (split(q), split(k));
    let scores = q.clone().matmul(k.clone().swap_dims(2, 3));
    let scores = match &extra {
        Scores::Relative([keys, queries], positions) => {
            // The row of each pair of positions, from the first one that is given.
            let first = positions.rows(l).start;
            let row = |at: usize| (positions.row((at / l) as isize - (at % l) as isize) - first) as i32;
            let rows = int((0..l * l).map(row).collect()).reshape([1, 1, l, l]).expand([b, heads, l, l]);
            let table = |rows: &Tensor<B, 2>| {
                let count = rows.dims()[0];
                rows.clone().reshape([1, count, heads, d]).permute([0, 2, 3, 1])
            };
            let of_queries = q.matmul(table(keys)).gather(3, rows.clone());
            let of_keys = k.matmul(table(queries)).gather(3, rows.swap_dims(2, 3)).swap_dims(2, 3);
            (scores + of_queries + of_keys).mul_scalar(1.0 / (3.0 * d as f64).sqrt())
        }
        _ => scores.mul_scalar(1.0 / (d as f64).sqrt()),
    };
    let scores = scores.mask_fill(padding.expand([b, heads, l, l]), -1e30);
    let scores = match extra {
        Scores::Whole | Scores::Relative(..) => scores,
        Scores::Window(window) => {
            let far = (0..l * l).map(|at| (at / l).abs_diff(at % l) > window).collect();
            let far = Tensor::<B, 4, Bool>::from_data(TensorData::new::<bool, _>(far, [1, 1, l, l]), &device);
            scores.mask_fill(far.expand([b, heads, l, l]), -1e30)
        }
    };
    let mut probabilities = activation::softmax(scores, 3);
    if !dropout.is_off() {
        probabilities = probabilities * attention_mask(heads, pack, dropout, l, &device);
    }
    let context = probabilities.matmul(split(v)).swap_dims(1, 2).reshape([b * l, h]);
    context.select(0, int(target))
}

/// The dropout factors of padded attention, \[B, heads, L, L\].
fn attention_mask<B: Backend>(
    heads: usize,
    pack: &Pack,
    dropout: Dropout,
    l: usize,
    device: &B::Device,
) -> Tensor<B, 4> {
    let b = pack.sentences();
    let identities = pack.rows().identities();
    let mut mask = vec![0f32; b * heads * l * l];
    for (sentence, pair) in pack.offsets().windows(2).enumerate() {
        let length = pair[1] - pair[0];
        for head in 0..heads {
            for i in 0..length {
                let row = dropout.row(identities[pair[0] + i], head as u64 + 1);
                let start = ((sentence * heads + head) * l + i) * l;
                for (j, slot) in mask[start..start + length].iter_mut().enumerate() {
                    *slot = row.factor(j);
                }
            }
        }
    }
    Tensor::from_data(TensorData::new(mask, [b, heads, l, l]), device)
}

/// See [`crate::Kernels::k_gather`].
pub fn gather<B: Backend>(table: Tensor<B, 2>, rows: &[u32]) -> Tensor<B, 2> {
    let device = table.device();
    let rows: Vec<i32> = rows.iter().map(|&row| row as i32).collect();
    let count = rows.len();
    table.select(0, Tensor::<B, 1, Int>::from_data(TensorData::new(rows, [count]), &device))
}

/// See [`crate::Kernels::k_cross_entropy`].
pub fn cross_entropy<B: Backend>(logits: Tensor<B, 2>, labels: &[u32]) -> Tensor<B, 1> {
    let device = logits.device();
    let labels: Vec<i32> = labels.iter().map(|&label| label as i32).collect();
    let count = labels.len();
    let labels = Tensor::<B, 2, Int>::from_data(TensorData::new(labels, [count, 1]), &device);
    activation::log_softmax(logits, 1).gather(1, labels).sum().neg()
}

/// See [`crate::Kernels::k_squares`].
pub fn squares<B: Backend>(tensors: &[Tensor<B, 1>]) -> Tensor<B, 1> {
    Tensor::cat(tensors.iter().map(|tensor| tensor.clone().square().sum()).collect(), 0)
}

/// See [`crate::Kernels::k_adamw`].
pub fn adamw<B: Backend>(
    updates: Vec<Update<B>>,
    squares: &Tensor<B, 1>,
    clip: Option<f64>,
) -> Vec<Updated<B>> {
    let scale = clipping(squares, clip);
    updates.into_iter().map(|update| adamw_one(update, scale)).collect()
}

fn adamw_one<B: Backend>(update: Update<B>, scale: f64) -> Updated<B> {
    let Update { rule, parameter, gradient, moments: [first, second] } = update;
    let gradient = gradient.mul_scalar(scale);
    let first = first.mul_scalar(rule.beta1) + gradient.clone().mul_scalar(1.0 - rule.beta1);
    let second = second.mul_scalar(rule.beta2) + gradient.square().mul_scalar(1.0 - rule.beta2);
    let [bias1, bias2] = rule.bias();
    let root = second.clone().div_scalar(bias2).sqrt().add_scalar(rule.eps);
    let moved = parameter.mul_scalar(1.0 - rule.lr * rule.weight_decay)
        - (first.clone() / root).mul_scalar(rule.lr / bias1);
    (moved, [first, second])
}
