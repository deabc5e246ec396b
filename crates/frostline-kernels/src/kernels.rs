//! [`Kernels`]: the operations of a transformer's training step.
//!
//! Every method has a default in stock burn; a backend overrides those it can do better. Shapes:
//! N packed rows, H hidden, B sentences.

use burn::prelude::*;
use burn::tensor::activation;
use burn::tensor::backend::AutodiffBackend;

use crate::{
    Activation, AddNorm, AttentionForm, Dropout, Index, MakeLazyTable, Pack, Precision, RelativePositions,
    Rows, Update, Updated, Values, stock,
};

/// The operations of a training step on a backend.
pub trait Kernels: Backend {
    /// The name of the instruction set: `avx512`, `avx2`, `neon`, `portable`, `amx`, `gpu`, or `stock` for a backend without
    /// kernels of this crate.
    fn k_isa() -> &'static str {
        "stock"
    }

    /// Whether results have the same bits on every processor, with any number of threads.
    fn k_reproducible() -> bool {
        false
    }

    /// Whether operations only queue their work, so that their time is not that of the work. [`Backend::sync`] waits for it.
    fn k_queues() -> bool {
        false
    }

    /// Whether products of operands that are rounded to this precision are faster than in f32 on a device. Elsewhere they are
    /// computed in f32; only bf16 where [`Self::k_reproducible`] is rounded all the same, with the same bits.
    fn k_native(precision: Precision, _device: &Self::Device) -> bool {
        precision == Precision::F32
    }

    /// The result of some work, and the most bytes of a GPU's memory that were in use at once meanwhile, as its allocator counts
    /// them; nothing on a processor. Watching slows the work.
    fn k_watch_memory<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
        (work(), None)
    }

    /// `x W + b`. A row of the result depends only on the same row of x, not on the other rows: bit for
    /// bit on flex, up to rounding elsewhere.
    ///
    /// # Shapes
    /// x \[N, I\], weight \[I, O\], bias \[O\] -> \[N, O\]
    fn k_linear(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        _precision: Precision,
    ) -> Tensor<Self, 2> {
        stock::linear(x, weight, bias)
    }

    /// `x W`.
    ///
    /// # Shapes
    /// x \[N, I\], weight \[I, O\] -> \[N, O\]
    fn k_product(x: Tensor<Self, 2>, weight: Tensor<Self, 2>, precision: Precision) -> Tensor<Self, 2> {
        let none = Tensor::zeros([weight.dims()[1]], &x.device());
        Self::k_linear(x, weight, none, precision)
    }

    /// `LayerNorm(dropout(x W + b) + residual)`, of a weight and a bias.
    ///
    /// # Shapes
    /// x \[N, I\], weight \[I, H\], bias \[H\] -> \[N, H\]
    fn k_linear_add_norm(
        x: Tensor<Self, 2>,
        (weight, bias): (Tensor<Self, 2>, Tensor<Self, 1>),
        add: AddNorm<'_, Self>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let AddNorm { residual, affine, eps, dropout, rows } = add;
        let x = Self::k_linear(x, weight, bias, precision);
        Self::k_drop_add_norm(x, Some(residual), affine, eps, dropout, rows)
    }

    /// GELU with the exact error function.
    fn k_gelu(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
        stock::gelu(x)
    }

    /// `GELU(x W + b)`.
    ///
    /// # Shapes
    /// x \[N, I\], weight \[I, O\], bias \[O\] -> \[N, O\]
    fn k_linear_gelu(
        x: Tensor<Self, 2>,
        weight: Tensor<Self, 2>,
        bias: Tensor<Self, 1>,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        Self::k_gelu(Self::k_linear(x, weight, bias, precision))
    }

    /// The activation of each number.
    fn k_activation(x: Tensor<Self, 2>, activation: Activation) -> Tensor<Self, 2> {
        match activation {
            Activation::Gelu => Self::k_gelu(x),
            other => stock::activation(x, other),
        }
    }

    /// The activation of x times the gate, number by number.
    ///
    /// # Shapes
    /// x and gate \[N, I\] -> \[N, I\]
    fn k_gated(x: Tensor<Self, 2>, gate: Tensor<Self, 2>, activation: Activation) -> Tensor<Self, 2> {
        Self::k_activation(x, activation) * gate
    }

    /// Dropout, with a mask that depends only on the rows' identities.
    fn k_dropout(x: Tensor<Self, 2>, dropout: Dropout, rows: &Rows) -> Tensor<Self, 2> {
        stock::dropout(x, dropout, rows)
    }

    /// `dropout(x) + residual`.
    ///
    /// # Shapes
    /// x and residual \[N, H\] -> \[N, H\]
    fn k_drop_add(
        x: Tensor<Self, 2>,
        residual: Tensor<Self, 2>,
        dropout: Dropout,
        rows: &Rows,
    ) -> Tensor<Self, 2> {
        Self::k_dropout(x, dropout, rows) + residual
    }

    /// `LayerNorm(dropout(x) + residual)`.
    ///
    /// # Shapes
    /// x and residual \[N, H\], gamma and beta \[H\] -> \[N, H\]
    fn k_drop_add_norm(
        x: Tensor<Self, 2>,
        residual: Option<Tensor<Self, 2>>,
        [gamma, beta]: [Tensor<Self, 1>; 2],
        eps: f64,
        dropout: Dropout,
        rows: &Rows,
    ) -> Tensor<Self, 2> {
        stock::drop_add_norm(x, residual, [gamma, beta], eps, dropout, rows)
    }

    /// Each row over the root of the mean of its squares, times gamma.
    ///
    /// # Shapes
    /// x \[N, H\], gamma \[H\] -> \[N, H\]
    ///
    /// # Source
    /// Zhang and Sennrich, *Root Mean Square Layer Normalization*, 2019.
    fn k_rms_norm(x: Tensor<Self, 2>, gamma: Tensor<Self, 1>, eps: f64, _rows: &Rows) -> Tensor<Self, 2> {
        stock::rms_norm(x, gamma, eps)
    }

    /// The heads of each row, each repeated so that there are `heads` of them: queries of a group share keys and values.
    ///
    /// # Shapes
    /// x \[N, G × D\] -> \[N, `heads` × D\]; `heads` is a multiple of G
    fn k_repeat_heads(x: Tensor<Self, 2>, groups: usize, heads: usize) -> Tensor<Self, 2> {
        stock::repeat_heads(x, groups, heads)
    }

    /// Scaled dot-product attention within each sentence of a pack, with dropout on the probabilities.
    ///
    /// # Shapes
    /// q, k, v \[N, H\] -> \[N, H\]; H is a multiple of `heads`
    fn k_attention(
        [q, k, v]: [Tensor<Self, 2>; 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        stock::attention([q, k, v], heads, pack, dropout)
    }

    /// Attention of x with itself: its queries, keys and values come from three linear layers, each a weight and a bias.
    ///
    /// # Shapes
    /// x \[N, I\], weights \[I, H\], biases \[H\] -> \[N, H\]; H is a multiple of `heads`
    fn k_self_attention(
        x: Tensor<Self, 2>,
        layers: [(Tensor<Self, 2>, Tensor<Self, 1>); 3],
        heads: usize,
        pack: &Pack,
        dropout: Dropout,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        let qkv = layers.map(|(weight, bias)| Self::k_linear(x.clone(), weight, bias, precision));
        Self::k_attention(qkv, heads, pack, dropout)
    }

    /// [`Self::k_attention`] in any form: queries and keys may be rotated by their positions, and a position may see only a
    /// window of its sentence.
    ///
    /// # Shapes
    /// q, k, v \[N, H\] -> \[N, H\]; H is a multiple of the form's heads
    fn k_form_attention(
        qkv: [Tensor<Self, 2>; 3],
        form: &AttentionForm,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        match form.window {
            None => Self::k_attention(stock::rotated(qkv, form, pack), form.heads, pack, dropout),
            Some(_) => stock::form_attention(qkv, form, pack, dropout),
        }
    }

    /// [`Self::k_self_attention`] in any form.
    ///
    /// # Shapes
    /// x \[N, I\], weights \[I, H\], biases \[H\] -> \[N, H\]; H is a multiple of the form's heads
    fn k_form_self_attention(
        x: Tensor<Self, 2>,
        layers: [(Tensor<Self, 2>, Tensor<Self, 1>); 3],
        form: &AttentionForm,
        pack: &Pack,
        dropout: Dropout,
        precision: Precision,
    ) -> Tensor<Self, 2> {
        if form.is_plain() {
            return Self::k_self_attention(x, layers, form.heads, pack, dropout, precision);
        }
        let qkv = layers.map(|(weight, bias)| Self::k_linear(x.clone(), weight, bias, precision));
        Self::k_form_attention(qkv, form, pack, dropout)
    }

    /// Disentangled attention: a score is the sum of three products, of query and key, of the query and the key of their relative
    /// position, and of the key and the query of that position, divided by the root of three times the channels of a head.
    /// `relative` are keys and queries of the positions that the longest sentence has, in the order of the table's rows.
    ///
    /// # Shapes
    /// q, k, v \[N, H\], `relative` \[R, H\] -> \[N, H\]; H is a multiple of `heads`
    ///
    /// # Source
    /// He et al., *DeBERTa: Decoding-enhanced BERT with Disentangled Attention*, 2021.
    fn k_relative_attention(
        qkv: [Tensor<Self, 2>; 3],
        relative: [Tensor<Self, 2>; 2],
        heads: usize,
        positions: &RelativePositions,
        pack: &Pack,
        dropout: Dropout,
    ) -> Tensor<Self, 2> {
        stock::relative_attention(qkv, relative, heads, positions, pack, dropout)
    }

    /// Selects rows of a table.
    ///
    /// # Shapes
    /// table \[V, H\], N row numbers below V -> \[N, H\]
    fn k_gather(table: Tensor<Self, 2>, rows: &Index) -> Tensor<Self, 2> {
        stock::gather(table, rows)
    }

    /// A row added to every row.
    ///
    /// # Shapes
    /// x \[N, H\], row \[1, H\] -> \[N, H\]
    fn k_add_row(x: Tensor<Self, 2>, row: Tensor<Self, 2>) -> Tensor<Self, 2> {
        x + row
    }

    /// The hyperbolic tangent.
    fn k_tanh(x: Tensor<Self, 2>) -> Tensor<Self, 2> {
        activation::tanh(x)
    }

    /// The shares of a mix: gamma times the softmax of the weights.
    ///
    /// # Shapes
    /// weights \[D\], gamma \[1\] -> \[D\]
    fn k_shares(weights: Tensor<Self, 1>, gamma: Tensor<Self, 1>) -> Tensor<Self, 1> {
        activation::softmax(weights, 0) * gamma
    }

    /// `x` times one of the factors.
    ///
    /// # Shapes
    /// x \[N, H\], factors \[D\], `at` below D -> \[N, H\]
    fn k_scaled(x: Tensor<Self, 2>, factors: Tensor<Self, 1>, at: usize) -> Tensor<Self, 2> {
        x * factors.narrow(0, at, 1).unsqueeze::<2>()
    }

    /// The matrix of these values.
    fn k_values(values: Values, device: &Self::Device) -> Tensor<Self, 2> {
        let shape = values.shape();
        Tensor::from_data(TensorData::new(values.into_numbers(), shape), device)
    }

    /// Sum of the cross-entropies of each row with its label, in nats.
    ///
    /// # Shapes
    /// logits \[N, C\], N labels below C -> \[1\]
    fn k_cross_entropy(logits: Tensor<Self, 2>, labels: &Index) -> Tensor<Self, 1> {
        stock::cross_entropy(logits, labels)
    }

    /// The backward pass of a loss. With `wants_squares`, the inner backend is asked for its gradients'
    /// [squares](Kernels::k_squares) next, and can sum them on the way.
    fn k_backward(loss: &Tensor<Self, 1>, _wants_squares: bool) -> Self::Gradients
    where
        Self: AutodiffBackend,
    {
        loss.backward()
    }

    /// The sum of the squares of each tensor, in a fixed order. There is at least one.
    ///
    /// # Shapes
    /// T tensors -> \[T\]
    fn k_squares(tensors: &[Tensor<Self, 1>]) -> Tensor<Self, 1> {
        stock::squares(tensors)
    }

    /// The AdamW updates of parameters, in the order of the updates. Gradients are first multiplied by one factor, so
    /// that their global norm, the root of the sum of `squares`, is at most `clip`.
    ///
    /// # Shapes
    /// The tensors of an update are of one length; squares \[T\]
    fn k_adamw(
        updates: Vec<Update<Self>>,
        squares: &Tensor<Self, 1>,
        clip: Option<f64>,
    ) -> Vec<Updated<Self>> {
        stock::adamw(updates, squares, clip)
    }

    /// How a table is made of which a step updates only the rows that it reads; nothing where a backend updates whole tables.
    #[must_use]
    fn k_lazy_table() -> Option<MakeLazyTable> {
        None
    }
}

/// An autodiff backend whose inner backend has the kernels, too.
pub trait Train: Kernels + AutodiffBackend<InnerBackend: Kernels> {}
impl<B: Kernels + AutodiffBackend<InnerBackend: Kernels>> Train for B {}
