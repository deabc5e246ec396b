//! The operations as burn backends: a runtime's devices for evaluation and updates, and their differentiating backend for
//! training. A gradient is computed only for parents that need one.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::prelude::*;
use burn::tensor::Shape;
use burn_cubecl::ops::reshape;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime};

use super::autodiff::{GradientRule, TrackedCube, node, tracked};
use super::{
    Cube, adamw, attention, columns, gather, gelu, loss, mask, matrix, memory, norm, product, raw,
    self_attention, sides, wrap,
};
use crate::{AddNorm, Dropout, Index, Kernels, Pack, Precision, Rows, Update, Updated, Values};

impl<R: CubeRuntime, BT: BoolElement> Kernels for Cube<R, BT> {
    fn k_isa() -> &'static str {
        "gpu"
    }

    fn k_queues() -> bool {
        true
    }

    fn k_native(precision: Precision, device: &Self::Device) -> bool {
        product::is_native(&R::client(device), precision)
    }

    fn k_watch_memory<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
        memory::watched(work)
    }

    fn k_linear(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        wrap(product::forward([raw(x), raw(weight), raw(bias)], precision, [false; 2]).0)
    }

    fn k_product(x: Tensor<Self, 2>, weight: Tensor<Self, 2>, precision: Precision) -> Tensor<Self, 2> {
        wrap(product::without_bias([raw(x), raw(weight)], precision, [false; 2]).0)
    }

    fn k_linear_add_norm(
        x: Tensor<Self, 2>,
        (weight, bias): (Tensor<Self, 2>, Tensor<Self, 1>),
        add: AddNorm<'_, Self>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let AddNorm { residual, affine, eps, dropout, rows } = add;
        let (inner, _) = product::without_bias([raw(x), raw(weight)], precision, [false; 2]);
        let beside = [Some(raw(bias)), Some(raw(residual))];
        wrap(norm::forward(inner, beside, affine.map(raw), eps, dropout, rows).0)
    }

    fn k_values(values: Values, device: &Self::Device) -> Tensor<Self, 2> {
        wrap(matrix(&values, device))
    }

    fn k_gelu(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
        wrap(gelu::forward(raw(x)))
    }

    fn k_linear_gelu(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let (inner, _) = product::without_bias([raw(x), raw(weight)], precision, [false; 2]);
        wrap(gelu::biased(&inner, raw(bias)))
    }

    fn k_dropout(x: Tensor<Self, 2>, dropout: Dropout, rows: &Rows) -> Tensor<Self, 2> {
        if dropout.is_off() { x } else { wrap(mask::masked(raw(x), dropout, rows)) }
    }

    fn k_drop_add_norm(
        x: Tensor<Self, 2>,
        residual: Option<Tensor<Self, 2>>,
        affine: [Tensor<Self, 1>; 2],
        eps: f64,
        dropout: Dropout,
        rows: &Rows,
    ) -> Tensor<Self, 2> {
        wrap(norm::forward(raw(x), [None, residual.map(raw)], affine.map(raw), eps, dropout, rows).0)
    }

    fn k_attention(
        qkv: [Tensor<Self, 2>; 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        wrap(attention::forward(columns::join(qkv.map(raw)), heads, pack, dropout).0)
    }

    fn k_self_attention(
        x: Tensor<Self, 2>,
        layers: [(Tensor<Self, 2>, Tensor<Self, 1>); 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let [(w1, b1), (w2, b2), (w3, b3)] = layers;
        let layers = ([w1, w2, w3].map(raw), [b1, b2, b3].map(raw));
        let attention = (heads, pack, dropout);
        wrap(self_attention::forward(raw(x), layers, attention, precision, [false; 2]).0)
    }

    fn k_gather(table: Tensor<Self, 2>, rows: &Index) -> Tensor<Self, 2> {
        wrap(gather::forward(raw(table), rows))
    }

    fn k_cross_entropy(logits: Tensor<Self, 2>, labels: &Index) -> Tensor<Self, 1> {
        wrap(loss::forward(raw(logits), labels).0)
    }

    fn k_squares(tensors: &[Tensor<Self, 1>]) -> Tensor<Self, 1> {
        wrap(adamw::squares(&tensors.iter().cloned().map(raw).collect::<Vec<_>>()))
    }

    fn k_adamw(
        updates: Vec<Update<Self>>,
        squares: &Tensor<Self, 1>,
        clip: Option<f64>,
    ) -> Vec<Updated<Self>> {
        let inner = |tensor: Tensor<Self, 1>| tensor.into_primitive().tensor();
        let updates = updates.into_iter().map(|Update { rule, parameter, gradient, moments }| {
            (rule, inner(parameter), inner(gradient), moments.map(inner))
        });
        let done = adamw::step(updates.collect(), raw(squares.clone()), clip);
        done.into_iter().map(|(parameter, moments)| (wrap(parameter), moments.map(wrap))).collect()
    }
}

impl<R: CubeRuntime, BT: BoolElement, C: CheckpointStrategy> Kernels for Autodiff<Cube<R, BT>, C> {
    fn k_isa() -> &'static str {
        Cube::<R, BT>::k_isa()
    }

    fn k_queues() -> bool {
        Cube::<R, BT>::k_queues()
    }

    fn k_native(precision: Precision, device: &Self::Device) -> bool {
        Cube::<R, BT>::k_native(precision, device)
    }

    fn k_watch_memory<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
        Cube::<R, BT>::k_watch_memory(work)
    }

    fn k_linear(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let [x, weight, bias] = [tracked(x), tracked(weight), tracked(bias)];
        let needed = [x.is_tracked(), weight.is_tracked()];
        let operands = [&x, &weight, &bias].map(|tensor| tensor.primitive.clone());
        let (out, saved) = product::forward(operands, precision, needed);
        node([&x, &weight, &bias], out, saved, GradientRule::Sum(product::backward))
    }

    fn k_product(x: Tensor<Self, 2>, weight: Tensor<Self, 2>, precision: Precision) -> Tensor<Self, 2> {
        let [x, weight] = [tracked(x), tracked(weight)];
        let needed = [x.is_tracked(), weight.is_tracked()];
        let operands = [&x, &weight].map(|tensor| tensor.primitive.clone());
        let (out, saved) = product::without_bias(operands, precision, needed);
        node(
            [&x, &weight],
            out,
            saved,
            GradientRule::Sum(|saved: product::SavedProductTensors<R>, gradient, before, [x, weight]| {
                let [of_x, of_weight, _] = product::backward(saved, gradient, before, [x, weight, false]);
                [of_x, of_weight]
            }),
        )
    }

    fn k_linear_add_norm(
        x: Tensor<Self, 2>,
        (weight, bias): (Tensor<Self, 2>, Tensor<Self, 1>),
        add: AddNorm<'_, Self>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let AddNorm { residual, affine, eps, dropout, rows } = add;
        let [x, weight, residual] = [x, weight, residual].map(tracked);
        let ([gamma, beta], bias) = (affine.map(tracked), tracked(bias));
        let needed = [x.is_tracked(), weight.is_tracked()];
        let operands = [&x, &weight].map(|tensor| tensor.primitive.clone());
        let (inner, linear) = product::without_bias(operands, precision, needed);
        let beside = [&bias.primitive, &residual.primitive].map(|tensor| Some(tensor.clone()));
        let affine = [&gamma, &beta].map(|tensor| tensor.primitive.clone());
        let (out, norm) = norm::forward(inner, beside, affine, eps, dropout, rows);
        let kept: (product::SavedProductTensors<R>, norm::SavedNormTensors<R>) = (linear, norm);
        node(
            [&x, &weight, &bias, &residual, &gamma, &beta],
            out,
            kept,
            GradientRule::Gradient(|(linear, norm), gradient, needed| {
                let [x, weight, bias, residual, gamma, beta] = needed;
                let below = [x || weight || bias, residual, gamma, beta];
                let [of_inner, of_residual, of_gamma, of_beta] = norm::backward(norm, gradient, below);
                let of_layer =
                    of_inner.map(|of_inner| product::backward(linear, of_inner, None, [x, weight, bias]));
                let [of_x, of_weight, of_bias] = of_layer.unwrap_or([const { None }; 3]);
                [of_x, of_weight, of_bias, of_residual, of_gamma, of_beta]
            }),
        )
    }

    fn k_values(values: Values, device: &Self::Device) -> Tensor<Self, 2> {
        Tensor::from_inner(Cube::<R, BT>::k_values(values, device))
    }

    fn k_add_row(x: Tensor<Self, 2>, row: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let [x, row] = [x, row].map(tracked);
        let [inner, added] = [&x, &row].map(|tensor| wrap::<Cube<R, BT>, 2>(tensor.primitive.clone()));
        node(
            [&x, &row],
            raw(inner + added),
            (),
            GradientRule::Gradient(|(), gradient: CubeTensor<R>, [x, row]| {
                let [_, h] = sides(&gradient);
                let of_row = row.then(|| reshape(columns::sum(gradient.clone()), Shape::new([1, h])));
                [x.then_some(gradient), of_row]
            }),
        )
    }

    fn k_gelu(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
        let x = tracked(x);
        let out = gelu::forward(x.primitive.clone());
        node(
            [&x],
            out,
            x.primitive.clone(),
            GradientRule::Gradient(|x, gradient, _| [Some(gelu::backward(x, gradient))]),
        )
    }

    fn k_linear_gelu(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let [x, weight, bias] = [tracked(x), tracked(weight), tracked(bias)];
        let needed = [x.is_tracked(), weight.is_tracked()];
        let operands = [&x, &weight].map(|tensor| tensor.primitive.clone());
        let (inner, saved) = product::without_bias(operands, precision, needed);
        let out = gelu::biased(&inner, bias.primitive.clone());
        let kept: (CubeTensor<R>, product::SavedProductTensors<R>) = (inner, saved);
        node(
            [&x, &weight, &bias],
            out,
            kept,
            GradientRule::Sum(|(inner, saved), gradient, before, needed| {
                product::backward(saved, gelu::backward(inner, gradient), before, needed)
            }),
        )
    }

    fn k_dropout(x: Tensor<Self, 2>, dropout: Dropout, rows: &Rows) -> Tensor<Self, 2> {
        if dropout.is_off() {
            return x;
        }
        let x = tracked(x);
        let out = mask::masked(x.primitive.clone(), dropout, rows);
        node(
            [&x],
            out,
            (dropout, rows.clone()),
            GradientRule::Gradient(|(dropout, rows), gradient, _| {
                [Some(mask::masked(gradient, dropout, &rows))]
            }),
        )
    }

    fn k_drop_add_norm(
        x: Tensor<Self, 2>,
        residual: Option<Tensor<Self, 2>>,
        affine: [Tensor<Self, 1>; 2],
        eps: f64,
        dropout: Dropout,
        rows: &Rows,
    ) -> Tensor<Self, 2> {
        let with_residual = residual.is_some();
        // An untracked leaf replaces a missing residual.
        let residual = residual.unwrap_or_else(|| x.clone().detach());
        let ([x, residual], [gamma, beta]) = ([x, residual].map(tracked), affine.map(tracked));
        let (out, saved) = norm::forward(
            x.primitive.clone(),
            [None, with_residual.then(|| residual.primitive.clone())],
            [gamma.primitive.clone(), beta.primitive.clone()],
            eps,
            dropout,
            rows,
        );
        node([&x, &residual, &gamma, &beta], out, saved, GradientRule::Gradient(norm::backward))
    }

    fn k_attention(
        qkv: [Tensor<Self, 2>; 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        let [q, k, v] = qkv.map(tracked);
        let joined = columns::join([&q, &k, &v].map(|tensor| tensor.primitive.clone()));
        let (out, saved) = attention::forward(joined, heads, pack, dropout);
        node(
            [&q, &k, &v],
            out,
            saved,
            GradientRule::Gradient(|saved: attention::SavedAttentionTensors<R>, gradient, _| {
                let shape = sides(&gradient);
                columns::split(attention::backward(saved, gradient), shape).map(Some)
            }),
        )
    }

    fn k_self_attention(
        x: Tensor<Self, 2>,
        layers: [(Tensor<Self, 2>, Tensor<Self, 1>); 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let x = tracked(x);
        let [(w1, b1), (w2, b2), (w3, b3)] = layers;
        let (weights, biases) = ([w1, w2, w3].map(tracked), [b1, b2, b3].map(tracked));
        let needed = [x.is_tracked(), weights.iter().any(|weight| weight.is_tracked())];
        let primitives =
            |three: &[TrackedCube<R, BT>; 3]| [0, 1, 2].map(|at: usize| three[at].primitive.clone());
        let layers = (primitives(&weights), primitives(&biases));
        let attention = (heads, pack, dropout);
        let (out, saved) = self_attention::forward(x.primitive.clone(), layers, attention, precision, needed);
        let ([w1, w2, w3], [b1, b2, b3]) = (&weights, &biases);
        node([&x, w1, w2, w3, b1, b2, b3], out, saved, GradientRule::Sum(self_attention::backward))
    }

    fn k_gather(table: Tensor<Self, 2>, rows: &Index) -> Tensor<Self, 2> {
        let table = tracked(table);
        let [size, _] = sides(&table.primitive);
        let out = gather::forward(table.primitive.clone(), rows);
        node(
            [&table],
            out,
            (rows.clone(), size),
            GradientRule::Gradient(|(rows, size), gradient, _| {
                [Some(gather::backward(gradient, &rows, size))]
            }),
        )
    }

    fn k_cross_entropy(logits: Tensor<Self, 2>, labels: &Index) -> Tensor<Self, 1> {
        let logits = tracked(logits);
        let (out, of_logits) = loss::forward(logits.primitive.clone(), labels);
        node(
            [&logits],
            out,
            of_logits,
            GradientRule::Gradient(|of_logits: CubeTensor<R>, gradient, _| {
                [Some(loss::backward(of_logits, gradient))]
            }),
        )
    }
}
