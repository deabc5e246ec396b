//! The operations as burn backends: `Flex` for evaluation and updates, `Autodiff<Flex>` for
//! training. A gradient is computed only for parents that need one.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::prelude::*;
use burn::tensor::TensorPrimitive;
use burn::tensor::ops::FloatTensor;

use super::{adamw, attention, gather, gelu, linear, loss, norm, product, simd};
use crate::options::clipping;
use crate::{Dropout, Index, Kernels, Pack, Precision, Rows, Update, Updated};

/// A tensor of `Autodiff<Flex, C>`: one type for every checkpoint strategy C.
type Tracked = FloatTensor<Autodiff<Flex>>;

fn raw<const D: usize>(tensor: Tensor<Flex, D>) -> FlexTensor {
    contiguous(tensor.into_primitive().tensor())
}

fn tracked<C: CheckpointStrategy, const D: usize>(tensor: Tensor<Autodiff<Flex, C>, D>) -> Tracked {
    let mut tensor = tensor.into_primitive().tensor();
    tensor.primitive = contiguous(tensor.primitive);
    tensor
}

fn wrap<B: Backend, const D: usize>(tensor: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(tensor))
}

fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.as_slice::<f32>().is_some() { tensor } else { tensor.to_contiguous() }
}

/// A tensor that owns all of its buffer, so that writing to the buffer changes only this tensor.
fn whole<const D: usize>(tensor: Tensor<Flex, D>) -> FlexTensor {
    raw(tensor).to_contiguous()
}

fn data(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("kernels see contiguous f32 tensors")
}

fn flex<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

fn shape2(tensor: &FlexTensor) -> [usize; 2] {
    let shape = tensor.layout().shape();
    [shape[0], shape[1]]
}

/// Consumes the gradient of an operation's output.
fn gradient<S, const N: usize>(ops: &Ops<S, N>, gradients: &mut Gradients) -> FlexTensor {
    contiguous(gradients.consume::<Flex>(&ops.node))
}

/// Finishes an operation: with saved state where a gradient is needed, without it elsewhere.
macro_rules! finish {
    ($op:expr, $strategy:ty, [$($node:expr),*], $state:expr, $out:expr) => {
        match $op.prepare::<$strategy>([$($node),*]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => wrap(prepared.finish($state, $out)),
            OpsKind::UnTracked(prepared) => wrap(prepared.finish($out)),
        }
    };
}

impl Kernels for Flex {
    fn k_isa() -> &'static str {
        simd::isa().name()
    }

    fn k_bf16(_: &Self::Device) -> bool {
        product::has_bf16()
    }

    fn k_linear(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let shape = [x.dims()[0], weight.dims()[1]];
        let (x, weight, bias) = (raw(x), raw(weight), raw(bias));
        wrap(flex(linear::forward(precision, data(&x), data(&weight), data(&bias)), shape))
    }

    fn k_gelu(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let shape = x.dims();
        wrap(flex(gelu::forward(data(&raw(x))), shape))
    }

    fn k_dropout(x: Tensor<Self, 2>, dropout: Dropout, rows: &Rows) -> Tensor<Self, 2> {
        let [n, h] = x.dims();
        if dropout.is_off() { x } else { wrap(flex(norm::masked(data(&raw(x)), h, dropout, rows), [n, h])) }
    }

    fn k_drop_add_norm(
        x: Tensor<Self, 2>,
        residual: Option<Tensor<Self, 2>>,
        [gamma, beta]: [Tensor<Self, 1>; 2],
        eps: f64,
        dropout: Dropout,
        rows: &Rows,
    ) -> Tensor<Self, 2> {
        let shape = x.dims();
        let (x, residual, gamma, beta) = (raw(x), residual.map(raw), raw(gamma), raw(beta));
        let residual = residual.as_ref().map(data);
        let out = norm::forward(data(&x), residual, data(&gamma), data(&beta), eps as f32, dropout, rows);
        wrap(flex(out.0, shape))
    }

    fn k_attention(
        [q, k, v]: [Tensor<Self, 2>; 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        let [n, h] = q.dims();
        let [q, k, v] = [q, k, v].map(raw);
        wrap(flex(attention::forward(data(&q), data(&k), data(&v), h, heads, pack, dropout).0, [n, h]))
    }

    fn k_gather(table: Tensor<Self, 2>, rows: &Index) -> Tensor<Self, 2> {
        let h = table.dims()[1];
        wrap(flex(gather::forward(data(&raw(table)), h, rows), [rows.len(), h]))
    }

    fn k_cross_entropy(logits: Tensor<Self, 2>, labels: &Index) -> Tensor<Self, 1> {
        wrap(flex(vec![loss::forward(data(&raw(logits)), labels).0], [1]))
    }

    fn k_squares(tensors: &[Tensor<Self, 1>]) -> Tensor<Self, 1> {
        let sums = tensors.iter().map(|tensor| adamw::sum_squares(data(&raw(tensor.clone()))) as f32);
        wrap(flex(sums.collect(), [tensors.len()]))
    }

    fn k_adamw(
        updates: Vec<Update<Self>>,
        squares: &Tensor<Self, 1>,
        clip: Option<f64>,
    ) -> Vec<Updated<Self>> {
        let scale = clipping(squares, clip);
        let update = |Update { rule, parameter, gradient, moments: [first, second] }| {
            let gradient = raw(gradient);
            let [mut parameter, mut first, mut second] = [parameter, first, second].map(whole);
            adamw::step(
                &rule,
                scale,
                parameter.storage_mut(),
                data(&gradient),
                first.storage_mut(),
                second.storage_mut(),
            );
            (wrap(parameter), [wrap(first), wrap(second)])
        };
        updates.into_iter().map(update).collect()
    }
}

impl<C: CheckpointStrategy> Kernels for Autodiff<Flex, C> {
    fn k_isa() -> &'static str {
        simd::isa().name()
    }

    fn k_bf16(_: &Self::Device) -> bool {
        product::has_bf16()
    }

    fn k_linear(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let shape = [x.dims()[0], weight.dims()[1]];
        let (x, weight, bias) = (tracked(x), tracked(weight), tracked(bias));
        let out =
            linear::forward(precision, data(&x.primitive), data(&weight.primitive), data(&bias.primitive));
        let state = LinearState {
            x: weight.is_tracked().then(|| x.primitive.clone()),
            weight: x.is_tracked().then(|| weight.primitive.clone()),
            precision,
        };
        finish!(LinearOp, C, [x.node, weight.node, bias.node], state, flex(out, shape))
    }

    fn k_gelu(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let shape = x.dims();
        let x = tracked(x);
        let out = gelu::forward(data(&x.primitive));
        finish!(GeluOp, C, [x.node], x.primitive, flex(out, shape))
    }

    fn k_dropout(x: Tensor<Self, 2>, dropout: Dropout, rows: &Rows) -> Tensor<Self, 2> {
        if dropout.is_off() {
            return x;
        }
        let [n, h] = x.dims();
        let x = tracked(x);
        let out = norm::masked(data(&x.primitive), h, dropout, rows);
        finish!(DropoutOp, C, [x.node], (dropout, rows.clone()), flex(out, [n, h]))
    }

    fn k_drop_add_norm(
        x: Tensor<Self, 2>,
        residual: Option<Tensor<Self, 2>>,
        [gamma, beta]: [Tensor<Self, 1>; 2],
        eps: f64,
        dropout: Dropout,
        rows: &Rows,
    ) -> Tensor<Self, 2> {
        let shape = x.dims();
        let with_residual = residual.is_some();
        // An untracked leaf replaces a missing residual.
        let residual = residual.unwrap_or_else(|| Tensor::zeros([1, 1], &x.device()));
        let (x, residual, gamma, beta) = (tracked(x), tracked(residual), tracked(gamma), tracked(beta));
        let (out, saved) = norm::forward(
            data(&x.primitive),
            with_residual.then(|| data(&residual.primitive)),
            data(&gamma.primitive),
            data(&beta.primitive),
            eps as f32,
            dropout,
            rows,
        );
        let state = NormState { saved, gamma: gamma.primitive, dropout, rows: rows.clone() };
        finish!(NormOp, C, [x.node, residual.node, gamma.node, beta.node], state, flex(out, shape))
    }

    fn k_attention(
        [q, k, v]: [Tensor<Self, 2>; 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        let [n, h] = q.dims();
        let [q, k, v] = [q, k, v].map(tracked);
        let (out, saved) = attention::forward(
            data(&q.primitive),
            data(&k.primitive),
            data(&v.primitive),
            h,
            heads,
            pack,
            dropout,
        );
        let qkv = [q.primitive, k.primitive, v.primitive];
        let state = AttentionState { qkv, saved, heads, pack: pack.clone(), dropout };
        finish!(AttentionOp, C, [q.node, k.node, v.node], state, flex(out, [n, h]))
    }

    fn k_gather(table: Tensor<Self, 2>, rows: &Index) -> Tensor<Self, 2> {
        let [height, h] = table.dims();
        let table = tracked(table);
        let out = gather::forward(data(&table.primitive), h, rows);
        finish!(GatherOp, C, [table.node], (height, rows.clone()), flex(out, [rows.len(), h]))
    }

    fn k_cross_entropy(logits: Tensor<Self, 2>, labels: &Index) -> Tensor<Self, 1> {
        let shape = logits.dims();
        let logits = tracked(logits);
        let (total, slope) = loss::forward(data(&logits.primitive), labels);
        finish!(LossOp, C, [logits.node], flex(slope, shape), flex(vec![total], [1]))
    }
}

#[derive(Debug)]
struct LinearOp;
#[derive(Clone, Debug)]
struct LinearState {
    /// Kept for the weight's gradient.
    x: Option<FlexTensor>,
    /// Kept for the input's gradient.
    weight: Option<FlexTensor>,
    precision: Precision,
}
impl Backward<Flex, 3> for LinearOp {
    type State = LinearState;
    fn backward(self, ops: Ops<Self::State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [n, o] = shape2(&gradient);
        let [x_node, weight_node, bias_node] = ops.parents;
        if let (Some(node), Some(weight)) = (x_node, ops.state.weight) {
            let dx = linear::backward_x(ops.state.precision, data(&gradient), data(&weight), o);
            let i = dx.len() / n.max(1);
            gradients.register::<Flex>(node.id, flex(dx, [n, i]));
        }
        if let (Some(node), Some(x)) = (weight_node, ops.state.x) {
            let dw = linear::backward_weight(ops.state.precision, data(&x), data(&gradient), o);
            let i = dw.len() / o;
            gradients.register::<Flex>(node.id, flex(dw, [i, o]));
        }
        if let Some(node) = bias_node {
            gradients.register::<Flex>(node.id, flex(linear::backward_bias(data(&gradient), o), [o]));
        }
    }
}

#[derive(Debug)]
struct GeluOp;
impl Backward<Flex, 1> for GeluOp {
    type State = FlexTensor;
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let shape = shape2(&gradient);
        if let [Some(node)] = ops.parents {
            let dx = gelu::backward(data(&ops.state), data(&gradient));
            gradients.register::<Flex>(node.id, flex(dx, shape));
        }
    }
}

#[derive(Debug)]
struct DropoutOp;
impl Backward<Flex, 1> for DropoutOp {
    type State = (Dropout, Rows);
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [n, h] = shape2(&gradient);
        if let [Some(node)] = ops.parents {
            let (dropout, rows) = ops.state;
            gradients
                .register::<Flex>(node.id, flex(norm::masked(data(&gradient), h, dropout, &rows), [n, h]));
        }
    }
}

#[derive(Debug)]
struct NormOp;
#[derive(Clone, Debug)]
struct NormState {
    saved: norm::SavedNorm,
    gamma: FlexTensor,
    dropout: Dropout,
    rows: Rows,
}
impl Backward<Flex, 4> for NormOp {
    type State = NormState;
    fn backward(self, ops: Ops<Self::State, 4>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [n, h] = shape2(&gradient);
        let [x, residual, gamma, beta] = ops.parents;
        let state = ops.state;
        let want_sum = x.is_some() || residual.is_some();
        let want_affine = gamma.is_some() || beta.is_some();
        let found = norm::backward(data(&gradient), data(&state.gamma), &state.saved, want_sum, want_affine);
        if let Some(node) = gamma {
            gradients.register::<Flex>(node.id, flex(found.gamma, [h]));
        }
        if let Some(node) = beta {
            gradients.register::<Flex>(node.id, flex(found.beta, [h]));
        }
        let sum = want_sum.then(|| flex(found.sum, [n, h]));
        if let (Some(node), Some(sum)) = (x, &sum) {
            let dx = if state.dropout.is_off() {
                sum.clone()
            } else {
                flex(norm::masked(data(sum), h, state.dropout, &state.rows), [n, h])
            };
            gradients.register::<Flex>(node.id, dx);
        }
        if let (Some(node), Some(sum)) = (residual, sum) {
            gradients.register::<Flex>(node.id, sum);
        }
    }
}

#[derive(Debug)]
struct AttentionOp;
#[derive(Clone, Debug)]
struct AttentionState {
    qkv: [FlexTensor; 3],
    saved: attention::SavedAttention,
    heads: usize,
    pack: Pack,
    dropout: Dropout,
}
impl Backward<Flex, 3> for AttentionOp {
    type State = AttentionState;
    fn backward(self, ops: Ops<Self::State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [n, h] = shape2(&gradient);
        let AttentionState { qkv: [q, k, v], saved, heads, pack, dropout } = &ops.state;
        let gradient = data(&gradient);
        let found =
            attention::backward(gradient, data(q), data(k), data(v), h, *heads, pack, *dropout, saved);
        for (node, found) in ops.parents.into_iter().zip(found) {
            if let Some(node) = node {
                gradients.register::<Flex>(node.id, flex(found, [n, h]));
            }
        }
    }
}

#[derive(Debug)]
struct GatherOp;
impl Backward<Flex, 1> for GatherOp {
    type State = (usize, Index);
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [_, h] = shape2(&gradient);
        if let [Some(node)] = ops.parents {
            let (height, rows) = ops.state;
            let table = gather::backward(data(&gradient), height, h, &rows);
            gradients.register::<Flex>(node.id, flex(table, [height, h]));
        }
    }
}

#[derive(Debug)]
struct LossOp;
impl Backward<Flex, 1> for LossOp {
    type State = FlexTensor;
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let scale = data(&gradient)[0];
        if let [Some(node)] = ops.parents {
            let shape = shape2(&ops.state);
            let slope = data(&ops.state).iter().map(|value| value * scale).collect();
            gradients.register::<Flex>(node.id, flex(slope, shape));
        }
    }
}
