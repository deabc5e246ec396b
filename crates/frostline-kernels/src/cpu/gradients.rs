//! The operations' backward passes. A gradient is computed only for parents that need one.

use burn::backend::Flex;
use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::flex::FlexTensor;

use super::tensors::{contiguous, data, flex, shape2};
use super::{attention, gather, gelu, linear, mix, norm};
use crate::profile::{begin_backward, timed_addition};
use crate::{Dropout, Index, Pack, Precision, Rows};

/// Consumes the gradient of an operation's output.
fn gradient<S, const N: usize>(ops: &Ops<S, N>, gradients: &mut Gradients) -> FlexTensor {
    contiguous(gradients.consume::<Flex>(&ops.node))
}

/// Gives a node a gradient, which is added to what it has of the operations after this one.
fn register(gradients: &mut Gradients, node: NodeId, gradient: FlexTensor) {
    let _timed = timed_addition(node.value, gradient.layout().num_elements());
    gradients.register::<Flex>(node, gradient);
}

#[derive(Debug)]
pub(super) struct LinearOp;
#[derive(Clone, Debug)]
pub(super) struct LinearState {
    /// Kept for the weight's gradient.
    pub x: Option<FlexTensor>,
    /// Kept for the input's gradient.
    pub weight: Option<FlexTensor>,
    pub precision: Precision,
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
            register(gradients, node.id, flex(dx, [n, i]));
        }
        if let (Some(node), Some(x)) = (weight_node, ops.state.x) {
            let dw = linear::backward_weight(ops.state.precision, data(&x), data(&gradient), o);
            let i = dw.len() / o;
            register(gradients, node.id, flex(dw, [i, o]));
        }
        if let Some(node) = bias_node {
            register(gradients, node.id, flex(linear::backward_bias(data(&gradient), o), [o]));
        }
    }
}

#[derive(Debug)]
pub(super) struct GeluOp;
impl Backward<Flex, 1> for GeluOp {
    type State = FlexTensor;
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let shape = shape2(&gradient);
        if let [Some(node)] = ops.parents {
            let dx = gelu::backward(data(&ops.state), data(&gradient));
            register(gradients, node.id, flex(dx, shape));
        }
    }
}

#[derive(Debug)]
pub(super) struct DropoutOp;
impl Backward<Flex, 1> for DropoutOp {
    type State = (Dropout, Rows);
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [n, h] = shape2(&gradient);
        if let [Some(node)] = ops.parents {
            let (dropout, rows) = ops.state;
            register(gradients, node.id, flex(norm::masked(data(&gradient), h, dropout, &rows), [n, h]));
        }
    }
}

#[derive(Debug)]
pub(super) struct NormOp;
#[derive(Clone, Debug)]
pub(super) struct NormState {
    pub saved: norm::SavedNorm,
    pub gamma: FlexTensor,
    pub dropout: Dropout,
    pub rows: Rows,
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
            register(gradients, node.id, flex(found.gamma, [h]));
        }
        if let Some(node) = beta {
            register(gradients, node.id, flex(found.beta, [h]));
        }
        let sum = want_sum.then(|| flex(found.sum, [n, h]));
        if let (Some(node), Some(sum)) = (x, &sum) {
            let dx = if state.dropout.is_off() {
                sum.clone()
            } else {
                flex(norm::masked(data(sum), h, state.dropout, &state.rows), [n, h])
            };
            register(gradients, node.id, dx);
        }
        if let (Some(node), Some(sum)) = (residual, sum) {
            register(gradients, node.id, sum);
        }
    }
}

#[derive(Debug)]
pub(super) struct AttentionOp;
#[derive(Clone, Debug)]
pub(super) struct AttentionState {
    pub qkv: [FlexTensor; 3],
    pub saved: attention::SavedAttention,
    pub heads: usize,
    pub pack: Pack,
    pub dropout: Dropout,
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
                register(gradients, node.id, flex(found, [n, h]));
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct GatherOp;
impl Backward<Flex, 1> for GatherOp {
    type State = (usize, Index);
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [_, h] = shape2(&gradient);
        if let [Some(node)] = ops.parents {
            let (height, rows) = ops.state;
            let table = gather::backward(data(&gradient), height, h, &rows);
            register(gradients, node.id, flex(table, [height, h]));
        }
    }
}

#[derive(Debug)]
pub(super) struct LossOp;
impl Backward<Flex, 1> for LossOp {
    type State = FlexTensor;
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        // Every backward pass begins with the loss.
        begin_backward();
        let gradient = gradient(&ops, gradients);
        let scale = data(&gradient)[0];
        if let [Some(node)] = ops.parents {
            let shape = shape2(&ops.state);
            let slope = data(&ops.state).iter().map(|value| value * scale).collect();
            register(gradients, node.id, flex(slope, shape));
        }
    }
}

#[derive(Debug)]
pub(super) struct AddRowOp;
impl Backward<Flex, 2> for AddRowOp {
    type State = ();
    fn backward(self, ops: Ops<Self::State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [_, h] = shape2(&gradient);
        let [x, row] = ops.parents;
        if let Some(node) = row {
            register(gradients, node.id, flex(linear::backward_bias(data(&gradient), h), [1, h]));
        }
        if let Some(node) = x {
            register(gradients, node.id, gradient);
        }
    }
}

#[derive(Debug)]
pub(super) struct TanhOp;
impl Backward<Flex, 1> for TanhOp {
    /// The output.
    type State = FlexTensor;
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let shape = shape2(&gradient);
        if let [Some(node)] = ops.parents {
            let dx = mix::tanh_backward(data(&ops.state), data(&gradient));
            register(gradients, node.id, flex(dx, shape));
        }
    }
}

#[derive(Debug)]
pub(super) struct SharesOp;
impl Backward<Flex, 2> for SharesOp {
    /// The weights and gamma.
    type State = (FlexTensor, FlexTensor);
    fn backward(self, ops: Ops<Self::State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let (weights, gamma) = ops.state;
        let found = mix::shares_backward(data(&gradient), data(&weights), data(&gamma)[0]);
        let [weights, gamma] = ops.parents;
        if let Some(node) = weights {
            let d = found.0.len();
            register(gradients, node.id, flex(found.0, [d]));
        }
        if let Some(node) = gamma {
            register(gradients, node.id, flex(vec![found.1], [1]));
        }
    }
}

#[derive(Debug)]
pub(super) struct ScaledOp;
#[derive(Clone, Debug)]
pub(super) struct ScaledState {
    /// Kept for the factor's gradient.
    pub x: Option<FlexTensor>,
    pub factors: FlexTensor,
    pub at: usize,
}
impl Backward<Flex, 2> for ScaledOp {
    type State = ScaledState;
    fn backward(self, ops: Ops<Self::State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let shape = shape2(&gradient);
        let ScaledState { x, factors, at } = ops.state;
        let factors = data(&factors);
        let [x_node, factors_node] = ops.parents;
        if let (Some(node), Some(x)) = (factors_node, x) {
            let mut slope = vec![0.0; factors.len()];
            slope[at] = mix::dot(data(&gradient), data(&x));
            register(gradients, node.id, flex(slope, [factors.len()]));
        }
        if let Some(node) = x_node {
            register(gradients, node.id, flex(mix::scaled(data(&gradient), factors[at]), shape));
        }
    }
}
