//! The operations' backward passes. A gradient is computed only for parents that need one.

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::flex::FlexTensor;

use super::tensors::{TrackedFlex, contiguous, data, flex, shape2, whole};
use super::weights::{InputLayers, register};
use super::{attention, form, gather, gelu, linear, mix, norm, rotary};
use crate::{AttentionForm, Dropout, Index, Pack, Precision, Rows};

/// Consumes the gradient of an operation's output.
pub(super) fn gradient<S, const N: usize>(ops: &Ops<S, N>, gradients: &mut Gradients) -> FlexTensor {
    contiguous(gradients.consume::<Flex>(&ops.node))
}

/// The parents that need a gradient. This is a macro because the type of a node has no public name.
macro_rules! parents {
    ($ops:expr) => {
        $ops.parents.map(|node| {
            node.map(|node| {
                // Only the node counts.
                let empty = burn::backend::flex::FlexTensor::empty(
                    burn::prelude::Shape::new([0]),
                    burn::tensor::DType::F32,
                );
                let mut parent = super::tensors::TrackedFlex::new(empty);
                parent.node = node;
                parent
            })
        })
    };
}
pub(super) use parents;

/// Gives a parent its gradient as the input x \[N, I\] of layers with O outputs; terms are the gradient of an output and a
/// weight each. The products are added to what the parent has of the operations after this one.
fn register_input<const T: usize>(
    gradients: &mut Gradients,
    parent: &TrackedFlex,
    precision: Precision,
    terms: [(&FlexTensor, &FlexTensor); T],
) {
    let [n, o] = shape2(terms[0].0);
    let [i, _] = shape2(terms[0].1);
    let terms = terms.map(|(gradient, weight)| (data(gradient), data(weight)));
    let sum = match gradients.remove(parent) {
        None => flex(linear::backward_x(precision, terms, o), [n, i]),
        Some(before) => {
            let mut sum = whole(before);
            linear::add_backward_x(precision, terms, o, sum.storage_mut());
            sum
        }
    };
    gradients.register::<Flex>(parent.node.id, sum);
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
        let LinearState { x, weight, precision } = ops.state;
        let [x_parent, weight_parent, bias_parent] = parents!(ops);
        InputLayers::new(precision, x, [&gradient], [[weight_parent], [bias_parent]]).register(gradients);
        if let (Some(parent), Some(weight)) = (x_parent, weight) {
            register_input(gradients, &parent, precision, [(&gradient, &weight)]);
        }
    }
}

#[derive(Debug)]
pub(super) struct GeluOp;
impl Backward<Flex, 1> for GeluOp {
    /// The slope; nothing where no gradient is needed.
    type State = Option<FlexTensor>;
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let mut gradient = whole(gradient(&ops, gradients));
        if let ([Some(parent)], Some(slope)) = (parents!(ops), &ops.state) {
            gelu::backward(data(slope), gradient.storage_mut());
            register(gradients, &parent, gradient);
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
        if let [Some(parent)] = parents!(ops) {
            let (dropout, rows) = ops.state;
            register(gradients, &parent, flex(norm::masked(data(&gradient), h, dropout, &rows), [n, h]));
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
        let [x, residual, gamma, beta] = parents!(ops);
        let state = ops.state;
        let want_sum = x.is_some() || residual.is_some();
        let want_affine = gamma.is_some() || beta.is_some();
        let found = norm::backward(data(&gradient), data(&state.gamma), &state.saved, want_sum, want_affine);
        if let Some(parent) = gamma {
            register(gradients, &parent, flex(found.gamma, [h]));
        }
        if let Some(parent) = beta {
            register(gradients, &parent, flex(found.beta, [h]));
        }
        let sum = want_sum.then(|| flex(found.sum, [n, h]));
        if let (Some(parent), Some(sum)) = (x, &sum) {
            let dx = if state.dropout.is_off() {
                sum.clone()
            } else {
                flex(norm::masked(data(sum), h, state.dropout, &state.rows), [n, h])
            };
            register(gradients, &parent, dx);
        }
        if let (Some(parent), Some(sum)) = (residual, sum) {
            register(gradients, &parent, sum);
        }
    }
}

#[derive(Debug)]
pub(super) struct AttentionOp;
#[derive(Clone, Debug)]
pub(super) struct AttentionState {
    pub qkv: [FlexTensor; 3],
    pub saved: attention::SavedAttention,
    pub form: AttentionForm,
    pub pack: Pack,
    pub dropout: Dropout,
}
impl AttentionState {
    /// The gradients of queries, keys and values, from that of the context.
    fn backward(&self, gradient: &FlexTensor) -> [Vec<f32>; 3] {
        let Self { qkv, saved, form, pack, dropout } = self;
        let [_, h] = shape2(gradient);
        let qkv = qkv.each_ref().map(data);
        let mut found = form::backward(data(gradient), qkv, h, form, pack, *dropout, saved);
        if let Some(rotary) = &form.rotary {
            found[..2].iter_mut().for_each(|found| rotary::rotate(found, h, pack, rotary, true));
        }
        found
    }
}
impl Backward<Flex, 3> for AttentionOp {
    type State = AttentionState;
    fn backward(self, ops: Ops<Self::State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [n, h] = shape2(&gradient);
        let found = ops.state.backward(&gradient);
        for (parent, found) in parents!(ops).into_iter().zip(found) {
            if let Some(parent) = parent {
                register(gradients, &parent, flex(found, [n, h]));
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct SelfAttentionOp;
#[derive(Clone, Debug)]
pub(super) struct SelfAttentionState {
    /// Kept for the weights' gradients.
    pub x: Option<FlexTensor>,
    /// Kept for the input's gradient.
    pub weights: Option<[FlexTensor; 3]>,
    pub attention: AttentionState,
    pub precision: Precision,
}
impl Backward<Flex, 7> for SelfAttentionOp {
    type State = SelfAttentionState;
    fn backward(self, ops: Ops<Self::State, 7>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [n, h] = shape2(&gradient);
        let SelfAttentionState { x, weights, attention, precision } = ops.state;
        let of_qkv = attention.backward(&gradient).map(|found| flex(found, [n, h]));
        let [x_parent, w1, w2, w3, b1, b2, b3] = parents!(ops);
        let parameters = [[w1, w2, w3], [b1, b2, b3]];
        InputLayers::new(precision, x, of_qkv.each_ref(), parameters).register(gradients);
        if let (Some(parent), Some(weights)) = (x_parent, weights) {
            // The order of the terms is part of every result.
            let terms = [2, 1, 0].map(|at: usize| (&of_qkv[at], &weights[at]));
            register_input::<3>(gradients, &parent, precision, terms);
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
        if let [Some(parent)] = parents!(ops) {
            let (height, rows) = ops.state;
            let table = gather::backward(data(&gradient), height, h, &rows);
            register(gradients, &parent, flex(table, [height, h]));
        }
    }
}

#[derive(Debug)]
pub(super) struct LossOp;
impl Backward<Flex, 1> for LossOp {
    type State = FlexTensor;
    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let scale = data(&gradient)[0];
        if let [Some(parent)] = parents!(ops) {
            let shape = shape2(&ops.state);
            let slope = data(&ops.state).iter().map(|value| value * scale).collect();
            register(gradients, &parent, flex(slope, shape));
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
        let [x, row] = parents!(ops);
        if let Some(parent) = row {
            register(gradients, &parent, flex(linear::backward_bias(data(&gradient), h), [1, h]));
        }
        if let Some(parent) = x {
            register(gradients, &parent, gradient);
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
        if let [Some(parent)] = parents!(ops) {
            let dx = mix::tanh_backward(data(&ops.state), data(&gradient));
            register(gradients, &parent, flex(dx, shape));
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
        let [weights, gamma] = parents!(ops);
        if let Some(parent) = weights {
            let d = found.0.len();
            register(gradients, &parent, flex(found.0, [d]));
        }
        if let Some(parent) = gamma {
            register(gradients, &parent, flex(vec![found.1], [1]));
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
        let [x_parent, factors_parent] = parents!(ops);
        if let (Some(parent), Some(x)) = (factors_parent, x) {
            let mut slope = vec![0.0; factors.len()];
            slope[at] = mix::dot(data(&gradient), data(&x));
            register(gradients, &parent, flex(slope, [factors.len()]));
        }
        if let Some(parent) = x_parent {
            register(gradients, &parent, flex(mix::scaled(data(&gradient), factors[at]), shape));
        }
    }
}
