//! The operations as burn backends: `Flex` for evaluation and updates, `Autodiff<Flex>` for
//! training, whose backward passes are in `gradients`.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::ops::{Backward as _, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;

use super::adamw::StepConstants;
use super::form_gradients::{AddOp, GatedOp, GatedState, RelativeOp, RelativeState};
use super::gradients::{
    AddRowOp, AttentionOp, AttentionState, DropoutOp, GatherOp, GeluOp, LinearOp, LinearState, LossOp,
    NormOp, NormState, ScaledOp, ScaledState, SelfAttentionOp, SelfAttentionState, SharesOp, TanhOp,
};
use super::lazy::MemoryTable;
use super::tensors::{TrackedFlex, contiguous, data, flex, shape2, whole, wrap};
use super::{
    activation, adamw, form, gather, gelu, linear, loss, mix, norm, product, relative, residual, rotary,
    squares, weights,
};
use crate::options::clipping;
use crate::{
    Activation, AttentionForm, Dropout, Index, Kernels, MakeLazyTable, Pack, Precision, RelativePositions,
    Rows, Update, Updated,
};

fn raw<const D: usize>(tensor: Tensor<Flex, D>) -> FlexTensor {
    contiguous(tensor.into_primitive().tensor())
}

fn tracked<C: CheckpointStrategy, const D: usize>(tensor: Tensor<Autodiff<Flex, C>, D>) -> TrackedFlex {
    let mut tensor = tensor.into_primitive().tensor();
    tensor.primitive = contiguous(tensor.primitive);
    tensor
}

/// Rotates queries and keys in their own buffers, if the form does.
fn rotate_first_two(qkv: &mut [Vec<f32>; 3], h: usize, form: &AttentionForm, pack: &Pack) {
    if let Some(rotary) = &form.rotary {
        qkv[..2].iter_mut().for_each(|part| rotary::rotate(part, h, pack, rotary, false));
    }
}

/// Queries, keys and values, of which the form rotates copies of the first two.
fn rotate_heads(qkv: [FlexTensor; 3], form: &AttentionForm, pack: &Pack) -> [FlexTensor; 3] {
    let Some(rotary) = &form.rotary else { return qkv };
    let [q, k, v] = qkv;
    let [q, k] = [q, k].map(|part| {
        let shape = shape2(&part);
        let mut numbers = data(&part).to_vec();
        rotary::rotate(&mut numbers, shape[1], pack, rotary, false);
        flex(numbers, shape)
    });
    [q, k, v]
}

/// An update: its constants, the gradient, and the parameter and its two moments in buffers of their own.
type ReadyUpdate = (StepConstants, FlexTensor, [FlexTensor; 3]);

/// Prepares updates to be computed in place.
fn prepare_updates(
    updates: Vec<Update<Flex>>,
    squares: &Tensor<Flex, 1>,
    clip: Option<f64>,
) -> impl Iterator<Item = ReadyUpdate> {
    let scale = clipping(squares, clip);
    updates.into_iter().map(move |Update { rule, parameter, gradient, moments: [first, second] }| {
        let written = [parameter, first, second].map(|tensor| whole(raw(tensor)));
        (StepConstants::new(&rule, scale), raw(gradient), written)
    })
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
        product::instructions()
    }

    fn k_reproducible() -> bool {
        !product::in_matrix_unit()
    }

    fn k_native(precision: Precision, _: &Self::Device) -> bool {
        product::is_native(precision)
    }

    fn k_linear(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let shape = [x.dims()[0], weight.dims()[1]];
        let (x, weight, bias) = (raw(x), raw(weight), raw(bias));
        let [out] = linear::forward(precision, data(&x), [(data(&weight), data(&bias))]);
        wrap(flex(out, shape))
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
        let affine = [data(&gamma), data(&beta)];
        let out = norm::forward(data(&x), residual, affine, (eps as f32, true), dropout, rows);
        wrap(flex(out.0, shape))
    }

    fn k_rms_norm(x: Tensor<Self, 2>, gamma: Tensor<Self, 1>, eps: f64, rows: &Rows) -> Tensor<Self, 2> {
        let shape = x.dims();
        let (x, gamma, none) = (raw(x), raw(gamma), vec![0f32; shape[1]]);
        let affine = [data(&gamma), &none];
        let out = norm::forward(data(&x), None, affine, (eps as f32, false), Dropout::OFF, rows);
        wrap(flex(out.0, shape))
    }

    fn k_attention(
        qkv: [Tensor<Self, 2>; 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        Self::k_form_attention(qkv, &AttentionForm::plain(heads), pack, dropout)
    }

    fn k_self_attention(
        x: Tensor<Self, 2>,
        layers: [(Tensor<Self, 2>, Tensor<Self, 1>); 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        Self::k_form_self_attention(x, layers, &AttentionForm::plain(heads), pack, dropout, precision)
    }

    fn k_activation(x: Tensor<Self, 2>, activation: Activation) -> Tensor<Self, 2> {
        if activation == Activation::Gelu {
            return Self::k_gelu(x);
        }
        let shape = x.dims();
        wrap(flex(activation::forward(activation, data(&raw(x))), shape))
    }

    fn k_gated(x: Tensor<Self, 2>, gate: Tensor<Self, 2>, activation: Activation) -> Tensor<Self, 2> {
        let shape = x.dims();
        wrap(flex(activation::gated(activation, data(&raw(x)), data(&raw(gate))), shape))
    }

    fn k_drop_add(
        x: Tensor<Self, 2>,
        residual: Tensor<Self, 2>,
        dropout: Dropout,
        rows: &Rows,
    ) -> Tensor<Self, 2> {
        let [n, h] = x.dims();
        wrap(flex(residual::forward(data(&raw(x)), data(&raw(residual)), h, dropout, rows), [n, h]))
    }

    fn k_form_attention(
        qkv: [Tensor<Self, 2>; 3],
        form: &AttentionForm,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        let [n, h] = qkv[0].dims();
        let qkv = rotate_heads(qkv.map(raw), form, pack);
        wrap(flex(form::forward(qkv.each_ref().map(data), h, form, pack, dropout).0, [n, h]))
    }

    fn k_form_self_attention(
        x: Tensor<Self, 2>,
        layers: [(Tensor<Self, 2>, Tensor<Self, 1>); 3],
        form: &AttentionForm,
        pack: &Pack,
        dropout: Dropout,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let n = x.dims()[0];
        let (x, layers) = (raw(x), layers.map(|(weight, bias)| (raw(weight), raw(bias))));
        let parts = layers.each_ref().map(|(weight, bias)| (data(weight), data(bias)));
        let h = parts[0].1.len();
        let mut qkv = linear::forward(precision, data(&x), parts);
        rotate_first_two(&mut qkv, h, form, pack);
        let (context, _) = form::forward(qkv.each_ref().map(Vec::as_slice), h, form, pack, dropout);
        wrap(flex(context, [n, h]))
    }

    fn k_relative_attention(
        qkv: [Tensor<Self, 2>; 3],
        relative: [Tensor<Self, 2>; 2],
        heads: usize,
        positions: &RelativePositions,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        let [n, h] = qkv[0].dims();
        let (qkv, relative) = (qkv.map(raw), relative.map(raw));
        let (qkv, relative) = (qkv.each_ref().map(data), relative.each_ref().map(data));
        wrap(flex(relative::forward(qkv, relative, [h, heads], positions, pack, dropout).0, [n, h]))
    }

    fn k_gather(table: Tensor<Self, 2>, rows: &Index) -> Tensor<Self, 2> {
        let h = table.dims()[1];
        wrap(flex(gather::forward(data(&raw(table)), h, rows), [rows.len(), h]))
    }

    fn k_add_row(x: Tensor<Self, 2>, row: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let shape = x.dims();
        wrap(flex(mix::with_row(data(&raw(x)), data(&raw(row))), shape))
    }

    fn k_tanh(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let shape = x.dims();
        wrap(flex(mix::tanh(data(&raw(x))), shape))
    }

    fn k_shares(weights: Tensor<Self, 1>, gamma: Tensor<Self, 1>) -> Tensor<Self, 1> {
        let shape = weights.dims();
        wrap(flex(mix::shares(data(&raw(weights)), data(&raw(gamma))[0]), shape))
    }

    fn k_scaled(x: Tensor<Self, 2>, factors: Tensor<Self, 1>, at: usize) -> Tensor<Self, 2> {
        let shape = x.dims();
        wrap(flex(mix::scaled(data(&raw(x)), data(&raw(factors))[at]), shape))
    }

    fn k_cross_entropy(logits: Tensor<Self, 2>, labels: &Index) -> Tensor<Self, 1> {
        wrap(flex(vec![loss::forward(data(&raw(logits)), labels).0], [1]))
    }

    fn k_squares(tensors: &[Tensor<Self, 1>]) -> Tensor<Self, 1> {
        let raw: Vec<FlexTensor> = tensors.iter().map(|tensor| raw(tensor.clone())).collect();
        wrap(flex(squares::of(&raw).into_iter().map(|sum| sum as f32).collect(), [tensors.len()]))
    }

    fn k_adamw(
        updates: Vec<Update<Self>>,
        squares: &Tensor<Self, 1>,
        clip: Option<f64>,
    ) -> Vec<Updated<Self>> {
        let mut all: Vec<_> = prepare_updates(updates, squares, clip).collect();
        let steps =
            all.iter_mut().map(|(constants, gradient, [parameter, first, second])| adamw::UpdateStep {
                constants: *constants,
                parameter: parameter.storage_mut(),
                gradient: data(gradient),
                moments: [first.storage_mut(), second.storage_mut()],
            });
        adamw::step(steps.collect());
        let written = all.into_iter().map(|(_, _, written)| written);
        written.map(|[parameter, first, second]| (wrap(parameter), [wrap(first), wrap(second)])).collect()
    }

    fn k_lazy_table() -> Option<MakeLazyTable> {
        Some(|width, values| Box::new(MemoryTable::new(width, values)))
    }
}

impl<C: CheckpointStrategy> Kernels for Autodiff<Flex, C> {
    fn k_isa() -> &'static str {
        product::instructions()
    }

    fn k_reproducible() -> bool {
        !product::in_matrix_unit()
    }

    fn k_native(precision: Precision, _: &Self::Device) -> bool {
        product::is_native(precision)
    }

    fn k_linear(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let shape = [x.dims()[0], weight.dims()[1]];
        let (x, weight, bias) = (tracked(x), tracked(weight), tracked(bias));
        let layer = (data(&weight.primitive), data(&bias.primitive));
        let [out] = linear::forward(precision, data(&x.primitive), [layer]);
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
        let (out, slope) = if x.is_tracked() {
            let [out, slope] = gelu::forward_with_slope(data(&x.primitive));
            (out, Some(flex(slope, shape)))
        } else {
            (gelu::forward(data(&x.primitive)), None)
        };
        finish!(GeluOp, C, [x.node], slope, flex(out, shape))
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
            [data(&gamma.primitive), data(&beta.primitive)],
            (eps as f32, true),
            dropout,
            rows,
        );
        let state = NormState { saved, gamma: gamma.primitive, dropout, rows: rows.clone() };
        finish!(NormOp, C, [x.node, residual.node, gamma.node, beta.node], state, flex(out, shape))
    }

    fn k_rms_norm(x: Tensor<Self, 2>, gamma: Tensor<Self, 1>, eps: f64, rows: &Rows) -> Tensor<Self, 2> {
        let shape = x.dims();
        // Untracked leaves replace what this norm lacks.
        let none = || tracked(Tensor::<Self, 1>::zeros([shape[1]], &x.device()));
        let (residual, beta) = (none(), none());
        let (x, gamma) = (tracked(x), tracked(gamma));
        let affine = [data(&gamma.primitive), data(&beta.primitive)];
        let (out, saved) =
            norm::forward(data(&x.primitive), None, affine, (eps as f32, false), Dropout::OFF, rows);
        let state = NormState { saved, gamma: gamma.primitive, dropout: Dropout::OFF, rows: rows.clone() };
        finish!(NormOp, C, [x.node, residual.node, gamma.node, beta.node], state, flex(out, shape))
    }

    fn k_attention(
        qkv: [Tensor<Self, 2>; 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        Self::k_form_attention(qkv, &AttentionForm::plain(heads), pack, dropout)
    }

    fn k_self_attention(
        x: Tensor<Self, 2>,
        layers: [(Tensor<Self, 2>, Tensor<Self, 1>); 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        Self::k_form_self_attention(x, layers, &AttentionForm::plain(heads), pack, dropout, precision)
    }

    fn k_activation(x: Tensor<Self, 2>, activation: Activation) -> Tensor<Self, 2> {
        if activation == Activation::Gelu {
            return Self::k_gelu(x);
        }
        let shape = x.dims();
        let x = tracked(x);
        let (out, slope) = if x.is_tracked() {
            let [out, slope] = activation::forward_with_slope(activation, data(&x.primitive));
            (out, Some(flex(slope, shape)))
        } else {
            (activation::forward(activation, data(&x.primitive)), None)
        };
        finish!(GeluOp, C, [x.node], slope, flex(out, shape))
    }

    fn k_gated(x: Tensor<Self, 2>, gate: Tensor<Self, 2>, activation: Activation) -> Tensor<Self, 2> {
        let shape = x.dims();
        let (x, gate) = (tracked(x), tracked(gate));
        let out = activation::gated(activation, data(&x.primitive), data(&gate.primitive));
        let state = GatedState { x: x.primitive, gate: gate.primitive, activation };
        finish!(GatedOp, C, [x.node, gate.node], state, flex(out, shape))
    }

    fn k_drop_add(
        x: Tensor<Self, 2>,
        residual: Tensor<Self, 2>,
        dropout: Dropout,
        rows: &Rows,
    ) -> Tensor<Self, 2> {
        let [n, h] = x.dims();
        let (x, residual) = (tracked(x), tracked(residual));
        let out = residual::forward(data(&x.primitive), data(&residual.primitive), h, dropout, rows);
        finish!(AddOp, C, [x.node, residual.node], (dropout, rows.clone()), flex(out, [n, h]))
    }

    fn k_form_attention(
        qkv: [Tensor<Self, 2>; 3],
        form: &AttentionForm,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        let [n, h] = qkv[0].dims();
        let [q, k, v] = qkv.map(tracked);
        let nodes = [q.node, k.node, v.node];
        let qkv = rotate_heads([q.primitive, k.primitive, v.primitive], form, pack);
        let (out, saved) = form::forward(qkv.each_ref().map(data), h, form, pack, dropout);
        let state = AttentionState { qkv, saved, form: form.clone(), pack: pack.clone(), dropout };
        let [q, k, v] = nodes;
        finish!(AttentionOp, C, [q, k, v], state, flex(out, [n, h]))
    }

    fn k_form_self_attention(
        x: Tensor<Self, 2>,
        layers: [(Tensor<Self, 2>, Tensor<Self, 1>); 3],
        form: &AttentionForm,
        pack: &Pack,
        dropout: Dropout,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let n = x.dims()[0];
        let x = tracked(x);
        let [(w1, b1), (w2, b2), (w3, b3)] = layers.map(|(weight, bias)| (tracked(weight), tracked(bias)));
        let (weights, biases) = ([&w1, &w2, &w3], [&b1, &b2, &b3]);
        let parts = std::array::from_fn(|at| (data(&weights[at].primitive), data(&biases[at].primitive)));
        let h = parts[0].1.len();
        let mut qkv = linear::forward::<3>(precision, data(&x.primitive), parts);
        rotate_first_two(&mut qkv, h, form, pack);
        let (context, saved) = form::forward(qkv.each_ref().map(Vec::as_slice), h, form, pack, dropout);
        let qkv = qkv.map(|part| flex(part, [n, h]));
        let state = SelfAttentionState {
            x: weights.iter().any(|weight| weight.is_tracked()).then(|| x.primitive.clone()),
            weights: x.is_tracked().then(|| weights.map(|weight| weight.primitive.clone())),
            attention: AttentionState { qkv, saved, form: form.clone(), pack: pack.clone(), dropout },
            precision,
        };
        let out = flex(context, [n, h]);
        finish!(
            SelfAttentionOp,
            C,
            [x.node, w1.node, w2.node, w3.node, b1.node, b2.node, b3.node],
            state,
            out
        )
    }

    fn k_relative_attention(
        qkv: [Tensor<Self, 2>; 3],
        relative: [Tensor<Self, 2>; 2],
        heads: usize,
        positions: &RelativePositions,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        let [n, h] = qkv[0].dims();
        let ([q, k, v], [keys, queries]) = (qkv.map(tracked), relative.map(tracked));
        let qkv = [q.primitive, k.primitive, v.primitive];
        let relative = [keys.primitive, queries.primitive];
        let (out, saved) = relative::forward(
            qkv.each_ref().map(data),
            relative.each_ref().map(data),
            [h, heads],
            positions,
            pack,
            dropout,
        );
        let (positions, pack) = (positions.clone(), pack.clone());
        let state = RelativeState { qkv, relative, saved, heads, positions, pack, dropout };
        let out = flex(out, [n, h]);
        finish!(RelativeOp, C, [q.node, k.node, v.node, keys.node, queries.node], state, out)
    }

    fn k_gather(table: Tensor<Self, 2>, rows: &Index) -> Tensor<Self, 2> {
        let [height, h] = table.dims();
        let table = tracked(table);
        let out = gather::forward(data(&table.primitive), h, rows);
        finish!(GatherOp, C, [table.node], (height, rows.clone()), flex(out, [rows.len(), h]))
    }

    fn k_add_row(x: Tensor<Self, 2>, row: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let shape = x.dims();
        let (x, row) = (tracked(x), tracked(row));
        let out = mix::with_row(data(&x.primitive), data(&row.primitive));
        finish!(AddRowOp, C, [x.node, row.node], (), flex(out, shape))
    }

    fn k_tanh(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let shape = x.dims();
        let x = tracked(x);
        let out = flex(mix::tanh(data(&x.primitive)), shape);
        finish!(TanhOp, C, [x.node], out.clone(), out)
    }

    fn k_shares(weights: Tensor<Self, 1>, gamma: Tensor<Self, 1>) -> Tensor<Self, 1> {
        let shape = weights.dims();
        let (weights, gamma) = (tracked(weights), tracked(gamma));
        let out = mix::shares(data(&weights.primitive), data(&gamma.primitive)[0]);
        let state = (weights.primitive, gamma.primitive);
        finish!(SharesOp, C, [weights.node, gamma.node], state, flex(out, shape))
    }

    fn k_scaled(x: Tensor<Self, 2>, factors: Tensor<Self, 1>, at: usize) -> Tensor<Self, 2> {
        let shape = x.dims();
        let (x, factors) = (tracked(x), tracked(factors));
        let out = mix::scaled(data(&x.primitive), data(&factors.primitive)[at]);
        let state = ScaledState {
            x: factors.is_tracked().then(|| x.primitive.clone()),
            factors: factors.primitive,
            at,
        };
        finish!(ScaledOp, C, [x.node, factors.node], state, flex(out, shape))
    }

    fn k_backward(loss: &Tensor<Self, 1>, wants_squares: bool) -> <Self as AutodiffBackend>::Gradients {
        squares::ask(wants_squares);
        weights::overlapped(|| loss.backward())
    }

    fn k_cross_entropy(logits: Tensor<Self, 2>, labels: &Index) -> Tensor<Self, 1> {
        let shape = logits.dims();
        let logits = tracked(logits);
        let (total, slope) = loss::forward(data(&logits.primitive), labels);
        finish!(LossOp, C, [logits.node], flex(slope, shape), flex(vec![total], [1]))
    }
}
