//! Every fused operation against its stock counterpart: forward and every gradient, over random shapes.
#![cfg(feature = "flex")]
// burn slices the first dimension with a single range.
#![allow(clippy::single_range_in_vec_init)]

use burn::backend::{Autodiff, Flex};
use burn::prelude::*;
use burn::tensor::activation;
use frostline_kernels::{
    Activation, AdamW, AttentionForm, Dropout, Index, Kernels, Pack, Precision, RelativePositions, Rotary,
    Update, stock,
};
use frostline_random::Stream;
use proptest::prelude::*;

type B = Autodiff<Flex>;

fn random<const D: usize>(seed: u64, shape: [usize; D]) -> Tensor<B, D> {
    let stream = Stream::new(seed, "tensor");
    let values: Vec<f32> =
        (0..shape.iter().product::<usize>() as u64).map(|i| stream.normal(i) as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), &Default::default())
}

fn leaf<const D: usize>(seed: u64, shape: [usize; D]) -> Tensor<B, D> {
    random(seed, shape).require_grad()
}

fn values<Bk: Backend, const D: usize>(tensor: Tensor<Bk, D>) -> Vec<f32> {
    tensor.into_data().into_vec().expect("f32")
}

/// Compares two computations of the same leaves: output, then the gradient of every leaf of a
/// weighted sum of the output.
fn same<const D: usize, const R: usize>(
    leaves: &[Tensor<B, D>],
    fused: impl Fn() -> Tensor<B, R>,
    reference: impl Fn() -> Tensor<B, R>,
) -> Result<(), TestCaseError> {
    let run = |f: &dyn Fn() -> Tensor<B, R>| {
        let out = f();
        let weights = random(77, out.dims());
        let gradients = (out.clone() * weights).sum().backward();
        let found: Vec<Vec<f32>> =
            leaves.iter().map(|leaf| values(leaf.grad(&gradients).expect("a gradient"))).collect();
        (values(out), found)
    };
    let (ours, theirs) = (run(&fused), run(&reference));
    close("output", &ours.0, &theirs.0)?;
    for (i, (ours, theirs)) in ours.1.iter().zip(&theirs.1).enumerate() {
        close(&format!("gradient {i}"), ours, theirs)?;
    }
    Ok(())
}

fn close(what: &str, ours: &[f32], theirs: &[f32]) -> Result<(), TestCaseError> {
    prop_assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(1.0f32, |top, value| top.max(value.abs()));
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        prop_assert!((a - b).abs() <= 1e-4 * scale, "{}[{}]: {} against {}", what, i, a, b);
    }
    Ok(())
}

/// Rounded to bf16, to nearest even.
fn bf16(tensor: &Tensor<B, 2>) -> Tensor<B, 2> {
    let round = |value: f32| {
        let bits = value.to_bits();
        f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
    };
    let rounded: Vec<f32> = values(tensor.clone()).into_iter().map(round).collect();
    Tensor::from_data(TensorData::new(rounded, tensor.dims()), &Default::default())
}

fn pack_of(lengths: &[usize]) -> Pack {
    let numbers: Vec<u64> = (0..lengths.len() as u64).map(|i| i * 3 + 1).collect();
    Pack::new(lengths, &numbers)
}

fn site(rate: f32, seed: u64) -> Dropout {
    if rate == 0.0 { Dropout::OFF } else { Dropout::new(rate, seed) }
}

fn rates() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0f32), Just(0.1), Just(0.5)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn linear(n in 1usize..70, i in 1usize..40, o in 1usize..40, seed in 0u64..999) {
        let (x, w, b) = (leaf(seed, [n, i]), leaf(seed + 1, [i, o]), leaf(seed + 2, [o]));
        same(&[x.clone(), w.clone()], || B::k_linear(x.clone(), w.clone(), b.clone(), Precision::F32), || stock::linear(x.clone(), w.clone(), b.clone()))?;
        same(std::slice::from_ref(&b), || B::k_linear(x.clone(), w.clone(), b.clone(), Precision::F32), || stock::linear(x.clone(), w.clone(), b.clone()))?;
        // Of an input that is used several times, whose gradients are added in the product.
        let twice = |one: Tensor<B, 2>, other: Tensor<B, 2>| one + other + x.clone().sum_dim(1);
        same(&[x.clone(), w.clone()], || twice(B::k_linear(x.clone(), w.clone(), b.clone(), Precision::F32), B::k_linear(x.clone(), w.clone(), b.clone(), Precision::F32)), || {
            twice(stock::linear(x.clone(), w.clone(), b.clone()), stock::linear(x.clone(), w.clone(), b.clone()))
        })?;
    }

    /// Shapes beyond one tile, panel and pass of the product.
    #[test]
    fn large_linear(n in 1usize..150, i in 1usize..450, o in 1usize..200, seed in 0u64..999) {
        let (x, w, b) = (leaf(seed, [n, i]), leaf(seed + 1, [i, o]), leaf(seed + 2, [o]));
        same(&[x.clone(), w.clone()], || B::k_linear(x.clone(), w.clone(), b.clone(), Precision::F32), || stock::linear(x.clone(), w.clone(), b.clone()))?;
    }

    /// In bf16 every product equals that of the rounded operands: forward, and both gradients.
    #[test]
    fn bf16_linear(n in 1usize..150, i in 1usize..450, o in 1usize..200, seed in 0u64..999) {
        let (x, w, b) = (leaf(seed, [n, i]), leaf(seed + 1, [i, o]), leaf(seed + 2, [o]));
        let weights: Tensor<B, 2> = random(seed + 3, [n, o]);
        let y = B::k_linear(x.clone(), w.clone(), b.clone(), Precision::Bf16);
        let gradients = (y.clone() * weights.clone()).sum().backward();
        let (x_, w_, g_) = (bf16(&x), bf16(&w), bf16(&weights));
        close("output", &values(y), &values(stock::linear(x_.clone(), w_.clone(), b.clone())))?;
        close("dx", &values(x.grad(&gradients).unwrap()), &values(g_.clone().matmul(w_.transpose())))?;
        close("dw", &values(w.grad(&gradients).unwrap()), &values(x_.transpose().matmul(g_)))?;
        close("db", &values(b.grad(&gradients).unwrap()), &values(weights.sum_dim(0)))?;
    }

    /// A row of a product does not depend on other rows, in either precision; the prefix cache relies on it.
    #[test]
    fn rows_of_a_product_are_independent(n in 2usize..150, i in 1usize..450, o in 1usize..200, first in 0usize..149, seed in 0u64..999) {
        let (x, w, b) = (random(seed, [n, i]).inner(), random(seed + 1, [i, o]).inner(), random(seed + 2, [o]).inner());
        let first = first % n;
        for precision in [Precision::F32, Precision::Bf16] {
            let all = values(Flex::k_linear(x.clone(), w.clone(), b.clone(), precision));
            for rows in [first..first + 1, first..n, 0..first + 1] {
                let some = Flex::k_linear(x.clone().slice([rows.clone()]), w.clone(), b.clone(), precision);
                prop_assert_eq!(&values(some), &all[rows.start * o..rows.end * o], "{:?} rows {:?}", precision, rows);
            }
        }
    }

    #[test]
    fn activations_and_gates(n in 1usize..40, h in 1usize..300, which in 0usize..4, seed in 0u64..999) {
        let activation = Activation::ALL[which];
        let [x, gate] = [seed, seed + 1].map(|seed| leaf(seed, [n, h]).mul_scalar(2.0).detach().require_grad());
        same(std::slice::from_ref(&x), || B::k_activation(x.clone(), activation), || stock::activation(x.clone(), activation))?;
        same(&[x.clone(), gate.clone()], || B::k_gated(x.clone(), gate.clone(), activation), || stock::activation(x.clone(), activation) * gate.clone())?;
    }

    #[test]
    fn dropout_and_residual(n in 1usize..60, h in 1usize..90, rate in rates(), seed in 0u64..999) {
        let (x, residual, pack) = (leaf(seed, [n, h]), leaf(seed + 1, [n, h]), pack_of(&[n]));
        let drop = site(rate, seed);
        same(&[x.clone(), residual.clone()], || B::k_drop_add(x.clone(), residual.clone(), drop, pack.rows()), || stock::dropout(x.clone(), drop, pack.rows()) + residual.clone())?;
    }

    /// Sentences shorter than the window, longer than it, and longer than a block of queries.
    #[test]
    fn rotated_attention_in_windows(
        lengths in prop::collection::vec(prop_oneof![1usize..20, 60usize..150], 1..4), heads in 1usize..4, half in 1usize..12,
        window in prop::option::of(0usize..80), turned in any::<bool>(), rate in rates(), seed in 0u64..999,
    ) {
        let (pack, h) = (pack_of(&lengths), heads * 2 * half);
        let rotary = turned.then(|| Rotary::new(100.0, 2 * half, pack.longest()));
        let form = AttentionForm { heads, rotary, window };
        let qkv = [0, 1, 2].map(|at| leaf(seed + at, [pack.len(), h]));
        let drop = site(rate, seed);
        same(&qkv, || B::k_form_attention(qkv.clone(), &form, &pack, drop), || stock::form_attention(qkv.clone(), &form, &pack, drop))?;
        let layers = || [3, 4, 5].map(|at| (random(seed + at, [h, h]).div_scalar((h as f64).sqrt()), random(seed + at, [h])));
        let [x, ..] = qkv;
        same(std::slice::from_ref(&x), || B::k_form_self_attention(x.clone(), layers(), &form, &pack, drop, Precision::F32), || {
            let qkv = layers().map(|(weight, bias)| stock::linear(x.clone(), weight, bias));
            stock::form_attention(qkv, &form, &pack, drop)
        })?;
    }

    /// Distances that share rows, that have their own, and that are beyond the table.
    #[test]
    fn disentangled_attention(
        lengths in prop::collection::vec(prop_oneof![1usize..20, 60usize..100], 1..4), heads in 1usize..4, d in 1usize..24,
        shared in any::<bool>(), farthest in 14usize..120, rate in rates(), seed in 0u64..999,
    ) {
        let (pack, h) = (pack_of(&lengths), heads * d);
        let positions = RelativePositions::new(shared.then_some(12), farthest, pack.longest());
        let rows = positions.rows(pack.longest()).len();
        let qkv = [0, 1, 2].map(|at| leaf(seed + at, [pack.len(), h]));
        let relative = [3, 4].map(|at| leaf(seed + at, [rows, h]));
        let drop = site(rate, seed);
        let leaves: Vec<_> = qkv.iter().chain(&relative).cloned().collect();
        let own = || B::k_relative_attention(qkv.clone(), relative.clone(), heads, &positions, &pack, drop);
        same(&leaves, own, || {
            stock::relative_attention(qkv.clone(), relative.clone(), heads, &positions, &pack, drop)
        })?;
    }

    #[test]
    fn gelu(n in 1usize..40, h in 1usize..300, seed in 0u64..999) {
        let x = leaf(seed, [n, h]).mul_scalar(2.0).detach().require_grad();
        same(std::slice::from_ref(&x), || B::k_gelu(x.clone()), || stock::gelu(x.clone()))?;
    }

    #[test]
    fn added_row(n in 1usize..80, h in 1usize..70, seed in 0u64..999) {
        let leaves = [leaf(seed, [n, h]), leaf(seed + 1, [1, h])];
        let [x, row] = &leaves;
        same(&leaves, || B::k_add_row(x.clone(), row.clone()), || x.clone() + row.clone())?;
    }

    #[test]
    fn tanh(n in 1usize..20, h in 1usize..70, seed in 0u64..999) {
        let x = leaf(seed, [n, h]).mul_scalar(3.0).detach().require_grad();
        same(std::slice::from_ref(&x), || B::k_tanh(x.clone()), || activation::tanh(x.clone()))?;
    }

    #[test]
    fn shares(d in 1usize..14, seed in 0u64..999) {
        let leaves = [leaf(seed, [d]), leaf(seed + 1, [1])];
        let [weights, gamma] = &leaves;
        let reference = || activation::softmax(weights.clone(), 0) * gamma.clone();
        same(&leaves, || B::k_shares(weights.clone(), gamma.clone()), reference)?;
    }

    #[test]
    fn scaled(n in 1usize..200, h in 1usize..70, d in 1usize..14, at in 0usize..13, seed in 0u64..999) {
        let (x, factors, at) = (leaf(seed, [n, h]), leaf(seed + 1, [d]), at % d);
        let fused = || B::k_scaled(x.clone(), factors.clone(), at);
        let reference = || x.clone() * factors.clone().narrow(0, at, 1).unsqueeze::<2>();
        same(std::slice::from_ref(&x), fused, reference)?;
        same(std::slice::from_ref(&factors), fused, reference)?;
    }

    #[test]
    fn norm(lengths in prop::collection::vec(1usize..40, 1..5), h in 8usize..70, rate in rates(), residual: bool, seed in 0u64..999) {
        let pack = pack_of(&lengths);
        let (x, r) = (leaf(seed, [pack.len(), h]), leaf(seed + 1, [pack.len(), h]));
        let (g, b) = (leaf(seed + 2, [h]), leaf(seed + 3, [h]));
        let drop = site(rate, seed);
        let r = residual.then_some(r);
        let fused = || B::k_drop_add_norm(x.clone(), r.clone(), [g.clone(), b.clone()], 1e-6, drop, pack.rows());
        let reference = || stock::drop_add_norm(x.clone(), r.clone(), [g.clone(), b.clone()], 1e-6, drop, pack.rows());
        let inputs: Vec<_> = std::iter::once(x.clone()).chain(r.clone()).collect();
        same(&inputs, fused, reference)?;
        same(&[g.clone(), b.clone()], fused, reference)?;
    }

    #[test]
    fn rms_norm(n in 1usize..80, h in 1usize..70, seed in 0u64..999) {
        let pack = pack_of(&[n]);
        let leaves = [leaf(seed, [n, h]), leaf(seed + 1, [1, h])];
        let gamma = || leaves[1].clone().reshape([h]);
        let own = || B::k_rms_norm(leaves[0].clone(), gamma(), 1e-6, pack.rows());
        same(&leaves, own, || stock::rms_norm(leaves[0].clone(), gamma(), 1e-6))?;
    }

    #[test]
    fn dropout(lengths in prop::collection::vec(1usize..40, 1..5), h in 1usize..70, rate in rates(), seed in 0u64..999) {
        let pack = pack_of(&lengths);
        let x = leaf(seed, [pack.len(), h]);
        let drop = site(rate, seed);
        same(std::slice::from_ref(&x), || B::k_dropout(x.clone(), drop, pack.rows()), || stock::dropout(x.clone(), drop, pack.rows()))?;
    }

    #[test]
    fn attention(lengths in prop::collection::vec(1usize..40, 1..5), heads in 1usize..4, d in prop_oneof![1usize..20, Just(32), Just(64)], rate in rates(), seed in 0u64..999) {
        let pack = pack_of(&lengths);
        let h = heads * d;
        let qkv = [0, 1, 2].map(|i| leaf(seed + i, [pack.len(), h]));
        let drop = site(rate, seed);
        same(&qkv, || B::k_attention(qkv.clone(), heads, &pack, drop), || stock::attention(qkv.clone(), heads, &pack, drop))?;
    }

    /// Whichever of the operands need a gradient, and where x is used beside it too.
    #[test]
    fn self_attention(lengths in prop::collection::vec(1usize..40, 1..5), heads in 1usize..4, d in 1usize..30, rate in rates(), needed in prop::array::uniform7(any::<bool>()), also in any::<bool>(), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        let (pack, h) = (pack_of(&lengths), heads * d);
        let operand = |at: usize, shape: [usize; 2]| {
            let tensor = random(seed + at as u64, shape).mul_scalar(0.3).detach();
            if needed[at] { tensor.require_grad() } else { tensor }
        };
        let x = operand(0, [pack.len(), h]);
        let weights = [1, 2, 3].map(|at| operand(at, [h, h]));
        let biases = [4, 5, 6].map(|at| operand(at, [1, h]));
        let layers = || [0, 1, 2].map(|at| (weights[at].clone(), biases[at].clone().reshape([h])));
        let drop = site(rate, seed);
        let beside = |out: Tensor<B, 2>| if also { out + x.clone() } else { out };
        let leaves: Vec<_> = std::iter::once(&x).chain(&weights).chain(&biases).filter(|it| it.is_require_grad()).cloned().collect();
        same(&leaves, || beside(B::k_self_attention(x.clone(), layers(), heads, &pack, drop, Precision::F32)), || {
            let qkv = layers().map(|(weight, bias)| stock::linear(x.clone(), weight, bias));
            beside(stock::attention(qkv, heads, &pack, drop))
        })?;
        let plain = Flex::k_self_attention(x.clone().inner(), layers().map(|(weight, bias)| (weight.inner(), bias.inner())), heads, &pack, drop, Precision::F32);
        let tracked = B::k_self_attention(x.clone(), layers(), heads, &pack, drop, Precision::F32);
        prop_assert_eq!(values(plain), values(tracked));
    }

    #[test]
    fn gather(rows in prop::collection::vec(0u32..30, 1..80), h in 1usize..40, seed in 0u64..999) {
        let table = leaf(seed, [30, h]);
        let rows = Index::from(rows);
        same(std::slice::from_ref(&table), || B::k_gather(table.clone(), &rows), || stock::gather(table.clone(), &rows))?;
    }

    #[test]
    fn cross_entropy(labels in prop::collection::vec(0u32..7, 1..80), seed in 0u64..999) {
        let (logits, labels) = (leaf(seed, [labels.len(), 7]), Index::from(labels));
        same(std::slice::from_ref(&logits), || B::k_cross_entropy(logits.clone(), &labels), || stock::cross_entropy(logits.clone(), &labels))?;
    }

    #[test]
    fn adamw(lengths in prop::collection::vec(1usize..9000, 1..4), step in 1u64..2000, clip in prop::option::of(0.1f64..100.0), seed in 0u64..999) {
        let rule = AdamW { lr: 1e-2, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.1, step };
        let inner = |seed, n: usize| random::<1>(seed, [n]).inner();
        let update = |(at, &n): (usize, &usize)| {
            let seed = seed + 10 * at as u64;
            let moments = [inner(seed + 2, n), inner(seed + 3, n).abs()];
            Update { rule, parameter: inner(seed, n), gradient: inner(seed + 1, n), moments }
        };
        let updates = || lengths.iter().enumerate().map(update).collect::<Vec<Update<Flex>>>();
        let gradients: Vec<_> = updates().into_iter().map(|update| update.gradient).collect();
        let squares = Flex::k_squares(&gradients);
        for (gradient, sum) in gradients.iter().zip(values(squares.clone())) {
            let exact: f64 = values(gradient.clone()).iter().map(|&x| f64::from(x).powi(2)).sum();
            prop_assert!((f64::from(sum) - exact).abs() < 1e-5 * exact.max(1e-3));
        }
        close("squares", &values(squares.clone()), &values(stock::squares(&gradients)))?;
        let (ours, theirs) = (Flex::k_adamw(updates(), &squares, clip), stock::adamw(updates(), &squares, clip));
        for ((ours, our_moments), (theirs, their_moments)) in ours.into_iter().zip(theirs) {
            close("parameter", &values(ours), &values(theirs))?;
            for (a, b) in our_moments.into_iter().zip(their_moments) {
                close("moment", &values(a), &values(b))?;
            }
        }
        // A view of part of a tensor is updated like a tensor of its own.
        let view = |update: Update<Flex>| {
            let n = update.parameter.dims()[0];
            let longer = Tensor::cat(vec![update.parameter.clone().slice([0..1]), update.parameter], 0);
            Update { parameter: longer.slice([1..n + 1]), ..update }
        };
        let views = Flex::k_adamw(updates().into_iter().map(view).collect(), &squares, clip);
        for ((view, _), (whole, _)) in views.into_iter().zip(Flex::k_adamw(updates(), &squares, clip)) {
            prop_assert_eq!(values(view), values(whole));
        }
    }

    /// A row that is updated when it is read has the same bits as one that is updated in every step: with moments and without,
    /// decayed or not, also where a table is finished and another is made of it.
    #[test]
    fn lazy_table(
        (height, steps) in (1usize..20).prop_flat_map(|height| {
            let rows = prop::collection::btree_set(0..height as u32, 1..=height);
            (Just(height), prop::collection::vec((rows, any::<bool>(), 0u8..8), 1..30))
        }),
        width in 1usize..80,
        has_moments in prop::collection::vec(any::<bool>(), 20),
        weight_decay in prop::sample::select(vec![0.0, 0.1]),
        seed in 0u64..999,
    ) {
        let make = Flex::k_lazy_table().expect("flex has lazy tables");
        let inner = |seed, n: usize| values(random::<1>(seed, [n]));
        let moment = |seed| -> Vec<f32> {
            let random = inner(seed, height * width).into_iter().enumerate();
            random.map(|(at, value)| if has_moments[at / width] { value.abs() } else { 0.0 }).collect()
        };
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        let mut whole = [inner(seed, height * width), moment(seed + 1), moment(seed + 2)];
        let mut lazy = make(width, whole.clone());
        for (at, (rows, has_gradient, again)) in steps.iter().enumerate() {
            let rows: Vec<u32> = rows.iter().copied().collect();
            let of = |values: &[f32], row: u32| values[row as usize * width..][..width].to_vec();
            let expected: Vec<f32> = rows.iter().flat_map(|&row| of(&whole[0], row)).collect();
            prop_assert_eq!(bits(&lazy.read(&rows)), bits(&expected));
            if !has_gradient {
                continue;
            }
            let gradient = inner(seed + 10 + at as u64, rows.len() * width);
            let lr = 1e-2 / (1 + at) as f64;
            let rule = AdamW { lr, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay, step: 1 + at as u64 };
            lazy.update(&rule, 0.5, &gradient);
            let mut all = vec![0.0; height * width];
            for (&row, gradient) in rows.iter().zip(gradient.chunks(width)) {
                all[row as usize * width..][..width].copy_from_slice(gradient);
            }
            let tensor = |values: Vec<f32>| Tensor::from_floats(values.as_slice(), &Default::default());
            let [parameter, first, second] = std::mem::take(&mut whole).map(tensor);
            let update = Update { rule, parameter, gradient: tensor(all), moments: [first, second] };
            // A norm of 2 that is clipped to 1 halves the gradient.
            let squares = Tensor::from_floats([4.0], &Default::default());
            let (parameter, [first, second]) = Flex::k_adamw(vec![update], &squares, Some(1.0 + 5e-7)).remove(0);
            whole = [parameter, first, second].map(values);
            if *again == 0 {
                let [table, first, second] = lazy.finish();
                prop_assert_eq!([&table, &first, &second].map(|v| bits(v)), whole.each_ref().map(|v| bits(v)));
                lazy = make(width, [table, first, second]);
            }
        }
        let values = lazy.finish();
        prop_assert_eq!(values.each_ref().map(|v| bits(v)), whole.each_ref().map(|v| bits(v)));
    }
}

/// Packing changes nothing: a sentence has the same context alone and in a pack.
#[test]
fn attention_does_not_cross_sentences() {
    let (h, heads) = (24, 2);
    let q = random::<2>(5, [20, h]);
    let drop = Dropout::new(0.1, 3);
    let together = Pack::new(&[7, 13], &[4, 9]);
    let alone = Pack::new(&[13], &[9]);
    let all = B::k_attention([q.clone(), q.clone(), q.clone()], heads, &together, drop);
    let part = q.slice([7..20]);
    let one = B::k_attention([part.clone(), part.clone(), part], heads, &alone, drop);
    assert_eq!(values(all.slice([7..20])), values(one));
}

/// More padding changes only rounding.
#[test]
fn attention_does_not_depend_on_its_padding() {
    let pack = pack_of(&[7, 13, 2]);
    let q = random::<2>(5, [22, 24]);
    let drop = Dropout::new(0.1, 3);
    let qkv = || [q.clone(), q.clone(), q.clone()];
    let tight = values(stock::attention(qkv(), 2, &pack, drop));
    let wide = values(stock::attention_padded(qkv(), 2, &pack, drop, 32));
    for (a, b) in tight.iter().zip(&wide) {
        assert!((a - b).abs() < 1e-6, "{a} against {b}");
    }
}

/// A sentence gets the same bits alone as in a pack with a longer sentence, which needs more relative positions.
#[test]
fn relative_positions_do_not_depend_on_other_sentences() {
    let (positions, h) = (RelativePositions::new(Some(8), 64, 64), 24);
    let [q, k, v] = [1, 2, 3].map(|seed| random::<2>(seed, [40, h]));
    let table = [4, 5].map(|seed| random::<2>(seed, [16, h]));
    let context = |lengths: &[usize]| {
        let pack = pack_of(lengths);
        let rows = positions.rows(pack.longest());
        let relative = table.each_ref().map(|table| table.clone().narrow(0, rows.start, rows.len()));
        let qkv = [&q, &k, &v].map(|all| all.clone().narrow(0, 0, pack.len()));
        values(B::k_relative_attention(qkv, relative, 3, &positions, &pack, Dropout::OFF))
    };
    let (alone, both) = (context(&[9]), context(&[9, 31]));
    assert!(alone.iter().zip(&both).all(|(a, b)| a.to_bits() == b.to_bits()));
}

/// One thread and several threads give the same bits.
#[test]
fn results_do_not_depend_on_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let lengths: Vec<usize> = (5..45).collect();
            let pack = pack_of(&lengths);
            let x = leaf(1, [pack.len(), 96]);
            let (w, b) = (leaf(2, [96, 96]), leaf(3, [96]));
            let drop = Dropout::new(0.1, 8);
            let y = B::k_linear(x.clone(), w.clone(), b.clone(), Precision::F32);
            let y = B::k_attention([y.clone(), y.clone(), y], 4, &pack, drop);
            let positions = RelativePositions::new(Some(8), 64, 64);
            let table = x.clone().narrow(0, 0, positions.rows(pack.longest()).len());
            let y = B::k_relative_attention(
                [y.clone(), y.clone(), y],
                [table.clone(), table],
                4,
                &positions,
                &pack,
                drop,
            );
            let y = B::k_drop_add_norm(y, Some(x.clone()), [b.clone(), b.clone()], 1e-12, drop, pack.rows());
            let gradients = B::k_gelu(y.clone()).sum().backward();
            let mut bits: Vec<u32> = values(y).iter().map(|v| v.to_bits()).collect();
            for found in [
                values(x.grad(&gradients).unwrap()),
                values(w.grad(&gradients).unwrap()),
                values(b.grad(&gradients).unwrap()),
            ] {
                bits.extend(found.iter().map(|v| v.to_bits()));
            }
            bits
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}
