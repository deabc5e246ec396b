//! Backward passes of the operations that encoders of other forms need: activations, gated products, residuals without a norm,
//! and disentangled attention.

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::flex::FlexTensor;

use super::gradients::{gradient, parents};
use super::tensors::{data, flex, shape2};
use super::weights::register;
use super::{activation, attention, norm, relative};
use crate::{Activation, Dropout, Pack, RelativePositions, Rows};

#[derive(Debug)]
pub(super) struct GatedOp;
#[derive(Clone, Debug)]
pub(super) struct GatedState {
    pub x: FlexTensor,
    pub gate: FlexTensor,
    pub activation: Activation,
}
impl Backward<Flex, 2> for GatedOp {
    type State = GatedState;
    fn backward(self, ops: Ops<Self::State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let shape = shape2(&gradient);
        let GatedState { x, gate, activation } = &ops.state;
        let found = activation::gated_backward(*activation, data(x), data(gate), data(&gradient));
        for (parent, found) in parents!(ops).into_iter().zip(found) {
            if let Some(parent) = parent {
                register(gradients, &parent, flex(found, shape));
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct AddOp;
impl Backward<Flex, 2> for AddOp {
    type State = (Dropout, Rows);
    fn backward(self, ops: Ops<Self::State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let [n, h] = shape2(&gradient);
        let [x, residual] = parents!(ops);
        let (dropout, rows) = &ops.state;
        if let Some(parent) = x {
            let of_x = match dropout.is_off() {
                true => gradient.clone(),
                false => flex(norm::masked(data(&gradient), h, *dropout, rows), [n, h]),
            };
            register(gradients, &parent, of_x);
        }
        if let Some(parent) = residual {
            register(gradients, &parent, gradient);
        }
    }
}

#[derive(Debug)]
pub(super) struct RelativeOp;
#[derive(Clone, Debug)]
pub(super) struct RelativeState {
    pub qkv: [FlexTensor; 3],
    /// Keys and queries of relative positions.
    pub relative: [FlexTensor; 2],
    pub saved: attention::SavedAttention,
    pub heads: usize,
    pub positions: RelativePositions,
    pub pack: Pack,
    pub dropout: Dropout,
}
impl Backward<Flex, 5> for RelativeOp {
    type State = RelativeState;
    fn backward(self, ops: Ops<Self::State, 5>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradient(&ops, gradients);
        let h = shape2(&gradient)[1];
        let RelativeState { qkv, relative, saved, heads, positions, pack, dropout } = &ops.state;
        let found = relative::backward(
            data(&gradient),
            qkv.each_ref().map(data),
            relative.each_ref().map(data),
            [h, *heads],
            positions,
            pack,
            *dropout,
            saved,
        );
        for (parent, found) in parents!(ops).into_iter().zip(found.qkv.into_iter().chain(found.relative)) {
            if let Some(parent) = parent {
                let rows = found.len() / h;
                register(gradients, &parent, flex(found, [rows, h]));
            }
        }
    }
}
