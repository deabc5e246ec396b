//! Whether a backend computes what it should: every operation, forward and each gradient, against stock burn on a
//! processor.
//!
//! The property tests of the GPU backends draw shapes for these operations; [`check`] is a fixed choice of them that anyone
//! can run on a device of their own in seconds.

use burn::backend::{Autodiff, Flex};
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;
use frostline_random::Stream;

use crate::{
    Activation, AdamW, AddNorm, AttentionForm, Dropout, Index, Kernels, Pack, Precision, RelativePositions,
    Rotary, Rows, Train, Update, share, stock,
};

/// What a backend is compared with.
pub type Reference = Autodiff<Flex>;

/// Largest deviation of a result, as a share of its largest number or of 1, that summing in another order explains.
pub const ROUNDING: f64 = 2e-5;

/// An operation on matrices, in the backend's version and in stock burn's. Vectors are matrices of one row.
#[derive(Clone, Debug)]
pub enum Operation {
    /// x, weight and bias.
    Linear(Precision),
    /// x and weight.
    Product,
    /// x, weight and bias; x is added to what they give, so that it has two gradients.
    Residual(Precision),
    /// x and a row.
    AddRow,
    /// x, weight, bias, residual, gamma and beta.
    LinearNorm(Dropout, Rows),
    /// x.
    Gelu,
    /// x.
    Dropout(Dropout, Rows),
    /// x, gamma, beta, and the residual if there is one.
    Norm(Dropout, Rows),
    /// x and gamma.
    RmsNorm(Rows),
    /// x.
    RepeatHeads(usize, usize),
    /// Queries, keys and values.
    Attention(usize, Pack, Dropout),
    /// x, weight and bias.
    LinearGelu,
    /// x, three weights, three biases.
    SelfAttention(usize, Pack, Dropout),
    /// x.
    Activation(Activation),
    /// x and the gate.
    Gated(Activation),
    /// x and the residual.
    DropAdd(Dropout, Rows),
    /// Queries, keys and values.
    FormAttention(AttentionForm, Pack, Dropout),
    /// x, three weights, three biases.
    FormSelfAttention(AttentionForm, Pack, Dropout),
    /// Queries, keys, values, and keys and queries of relative positions.
    RelativeAttention(usize, RelativePositions, Pack, Dropout),
    /// The table.
    Gather(Index),
    /// Logits.
    CrossEntropy(Index),
}

fn vector<B: Backend>(matrix: &Tensor<B, 2>) -> Tensor<B, 1> {
    let count = matrix.dims().iter().product::<usize>();
    matrix.clone().reshape([count])
}

/// A weight that keeps the spread of what it is multiplied with, so that scores of attention do not saturate.
fn narrow_weight<B: Backend>(weight: &Tensor<B, 2>) -> Tensor<B, 2> {
    let [from, _] = weight.dims();
    weight.clone().div_scalar((from as f64).sqrt())
}

/// Queries, keys and values, and keys and queries of relative positions.
fn split_relative<B: Backend>(i: &[Tensor<B, 2>]) -> ([Tensor<B, 2>; 3], [Tensor<B, 2>; 2]) {
    ([0, 1, 2].map(|at| i[at].clone()), [3, 4].map(|at| i[at].clone()))
}

impl Operation {
    /// The backend's.
    #[must_use]
    pub fn own<B: Train>(&self, i: &[Tensor<B, 2>]) -> Tensor<B, 2> {
        let x = i[0].clone();
        match self {
            Self::Linear(precision) => B::k_linear(x, i[1].clone(), vector(&i[2]), *precision),
            Self::Product => B::k_product(x, i[1].clone(), Precision::F32),
            Self::Residual(precision) => B::k_linear(x.clone(), i[1].clone(), vector(&i[2]), *precision) + x,
            Self::AddRow => B::k_add_row(x, i[1].clone()),
            Self::LinearNorm(dropout, rows) => {
                let affine = [vector(&i[4]), vector(&i[5])];
                let add = AddNorm { residual: i[3].clone(), affine, eps: 1e-6, dropout: *dropout, rows };
                B::k_linear_add_norm(x, (i[1].clone(), vector(&i[2])), add, Precision::F32)
            }
            Self::Gelu => B::k_gelu(x),
            Self::LinearGelu => B::k_linear_gelu(x, i[1].clone(), vector(&i[2]), Precision::F32),
            Self::Dropout(dropout, rows) => B::k_dropout(x, *dropout, rows),
            Self::Norm(dropout, rows) => {
                let affine = [vector(&i[1]), vector(&i[2])];
                B::k_drop_add_norm(x, i.get(3).cloned(), affine, 1e-6, *dropout, rows)
            }
            Self::RmsNorm(rows) => B::k_rms_norm(x, vector(&i[1]), 1e-6, rows),
            Self::RepeatHeads(groups, heads) => B::k_repeat_heads(x, *groups, *heads),
            Self::Attention(heads, pack, dropout) => {
                B::k_attention([0, 1, 2].map(|at| i[at].clone()), *heads, pack, *dropout)
            }
            Self::SelfAttention(heads, pack, dropout) => {
                let layers = [1, 2, 3].map(|at| (narrow_weight(&i[at]), vector(&i[at + 3])));
                B::k_self_attention(x, layers, *heads, pack, *dropout, Precision::F32)
            }
            Self::Activation(activation) => B::k_activation(x, *activation),
            Self::Gated(activation) => B::k_gated(x, i[1].clone(), *activation),
            Self::DropAdd(dropout, rows) => B::k_drop_add(x, i[1].clone(), *dropout, rows),
            Self::FormAttention(form, pack, dropout) => {
                B::k_form_attention([0, 1, 2].map(|at| i[at].clone()), form, pack, *dropout)
            }
            Self::FormSelfAttention(form, pack, dropout) => {
                let layers = [1, 2, 3].map(|at| (narrow_weight(&i[at]), vector(&i[at + 3])));
                B::k_form_self_attention(x, layers, form, pack, *dropout, Precision::F32)
            }
            Self::RelativeAttention(heads, positions, pack, dropout) => {
                let (qkv, relative) = split_relative(i);
                B::k_relative_attention(qkv, relative, *heads, positions, pack, *dropout)
            }
            Self::Gather(rows) => B::k_gather(x, rows),
            Self::CrossEntropy(labels) => B::k_cross_entropy(x, labels).reshape([1, 1]),
        }
    }

    /// Stock burn's.
    #[must_use]
    pub fn stock<B: Train>(&self, i: &[Tensor<B, 2>]) -> Tensor<B, 2> {
        let x = i[0].clone();
        match self {
            Self::Linear(_) => stock::linear(x, i[1].clone(), vector(&i[2])),
            Self::Product => x.matmul(i[1].clone()),
            Self::Residual(_) => stock::linear(x.clone(), i[1].clone(), vector(&i[2])) + x,
            Self::AddRow => x + i[1].clone(),
            Self::LinearNorm(dropout, rows) => {
                let x = stock::linear(x, i[1].clone(), vector(&i[2]));
                let affine = [vector(&i[4]), vector(&i[5])];
                stock::drop_add_norm(x, Some(i[3].clone()), affine, 1e-6, *dropout, rows)
            }
            Self::Gelu => stock::gelu(x),
            Self::LinearGelu => stock::gelu(stock::linear(x, i[1].clone(), vector(&i[2]))),
            Self::Dropout(dropout, rows) => stock::dropout(x, *dropout, rows),
            Self::Norm(dropout, rows) => {
                let affine = [vector(&i[1]), vector(&i[2])];
                stock::drop_add_norm(x, i.get(3).cloned(), affine, 1e-6, *dropout, rows)
            }
            Self::RmsNorm(_) => stock::rms_norm(x, vector(&i[1]), 1e-6),
            Self::RepeatHeads(groups, heads) => stock::repeat_heads(x, *groups, *heads),
            Self::Attention(heads, pack, dropout) => {
                stock::attention([0, 1, 2].map(|at| i[at].clone()), *heads, pack, *dropout)
            }
            Self::SelfAttention(heads, pack, dropout) => {
                let layer = |at: usize| stock::linear(x.clone(), narrow_weight(&i[at]), vector(&i[at + 3]));
                stock::attention([1, 2, 3].map(layer), *heads, pack, *dropout)
            }
            Self::Activation(activation) => stock::activation(x, *activation),
            Self::Gated(activation) => stock::activation(x, *activation) * i[1].clone(),
            Self::DropAdd(dropout, rows) => stock::dropout(x, *dropout, rows) + i[1].clone(),
            Self::FormAttention(form, pack, dropout) => {
                stock::form_attention([0, 1, 2].map(|at| i[at].clone()), form, pack, *dropout)
            }
            Self::FormSelfAttention(form, pack, dropout) => {
                let layer = |at: usize| stock::linear(x.clone(), narrow_weight(&i[at]), vector(&i[at + 3]));
                stock::form_attention([1, 2, 3].map(layer), form, pack, *dropout)
            }
            Self::RelativeAttention(heads, positions, pack, dropout) => {
                let (qkv, relative) = split_relative(i);
                stock::relative_attention(qkv, relative, *heads, positions, pack, *dropout)
            }
            Self::Gather(rows) => stock::gather(x, rows),
            Self::CrossEntropy(labels) => stock::cross_entropy(x, labels).reshape([1, 1]),
        }
    }

    /// Whether its numbers are rounded to bf16 before they are multiplied.
    fn rounds(&self) -> bool {
        matches!(self, Self::Linear(precision) | Self::Residual(precision) if *precision != Precision::F32)
    }
}

/// An operation on matrices of these shapes, drawn from a seed; some of them need a gradient.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is computed.
    pub operation: Operation,
    /// Rows and columns of each matrix.
    pub shapes: Vec<[usize; 2]>,
    /// Whether it needs a gradient.
    pub needed: Vec<bool>,
    /// Of the matrices.
    pub seed: u64,
}

impl Case {
    /// One in which every matrix needs a gradient.
    #[must_use]
    pub fn of(operation: Operation, shapes: &[[usize; 2]]) -> Self {
        Self { operation, shapes: shapes.to_vec(), needed: vec![true; shapes.len()], seed: 1 }
    }

    /// The output, and the gradient of each input that needs one, of the backend's operation or of stock burn's.
    ///
    /// # Panics
    /// If a gradient is missing.
    #[must_use]
    pub fn results<B: Train>(&self, own: bool, device: &B::Device) -> Vec<Vec<f32>> {
        let rounds = self.operation.rounds();
        let draw = |seed, shape| draw_normal::<B>(seed, shape, rounds, device);
        let inputs = self.shapes.iter().zip(&self.needed).zip(self.seed..);
        let inputs: Vec<Tensor<B, 2>> =
            inputs.map(|((shape, needed), seed)| draw(seed, *shape).set_require_grad(*needed)).collect();
        let out = if own { self.operation.own(&inputs) } else { self.operation.stock(&inputs) };
        // The gradient of the output.
        let weights = draw(77, out.dims());
        let gradients = (out.clone() * weights).sum().backward();
        let needed = inputs.iter().zip(&self.needed).filter(|(_, needed)| **needed);
        let found = needed.map(|(input, _)| values(input.grad(&gradients).expect("a gradient")));
        std::iter::once(values(out)).chain(found).collect()
    }

    /// The largest deviation from stock burn on a processor.
    #[must_use]
    pub fn deviation<B: Train>(&self, device: &B::Device) -> f64 {
        let ours = self.results::<B>(true, device);
        let theirs = self.results::<Reference>(false, &Default::default());
        deviation_beside(&ours, &theirs, &self.sizes())
    }

    /// The size that is to be expected of the output and of each gradient. That of a vector is a sum over rows, and so grows
    /// with their root, and its rounding with it; also where the terms cancel, as they do in the bias of the keys: attention
    /// stays the same if all scores of a query move alike, so its gradient is zero but for rounding.
    fn sizes(&self) -> Vec<f32> {
        let rows = (self.shapes[0][0] as f32).sqrt();
        let needed = self.shapes.iter().zip(&self.needed).filter(|(_, needed)| **needed);
        let sizes = needed.map(|(shape, _)| if shape[0] == 1 { rows } else { 1.0 });
        std::iter::once(1.0).chain(sizes).collect()
    }
}

/// Normal numbers.
fn draw_normal<B: Backend>(seed: u64, shape: [usize; 2], rounds: bool, device: &B::Device) -> Tensor<B, 2> {
    let stream = Stream::new(seed, "tensor");
    // The upper half of the bits is a number that bf16 holds.
    let round = |value: f32| if rounds { f32::from_bits(value.to_bits() & 0xFFFF_0000) } else { value };
    let values = (0..(shape[0] * shape[1]) as u64).map(|i| round(stream.normal(i) as f32));
    Tensor::from_data(TensorData::new(values.collect::<Vec<f32>>(), shape), device)
}

fn values<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().into_vec().expect("f32")
}

/// The largest difference of two lists of results, each as a share of the list's largest number or of 1. It is infinite
/// where a number is not finite, or the lists differ in their lengths.
#[must_use]
pub fn deviation(ours: &[Vec<f32>], theirs: &[Vec<f32>]) -> f64 {
    deviation_beside(ours, theirs, &vec![1.0; theirs.len()])
}

/// The same, as a share of each list's largest number or of its expected size.
fn deviation_beside(ours: &[Vec<f32>], theirs: &[Vec<f32>], sizes: &[f32]) -> f64 {
    let of_list = |((ours, theirs), size): ((&Vec<f32>, &Vec<f32>), &f32)| {
        let scale = theirs.iter().fold(*size, |top, value| top.max(value.abs()));
        let difference = |(a, b): (&f32, &f32)| f64::from((a - b).abs() / scale);
        let largest = ours
            .iter()
            .zip(theirs)
            .map(difference)
            .fold(0.0, |a: f64, b| if b >= a || b.is_nan() { b } else { a });
        if ours.len() == theirs.len() && largest.is_finite() { largest } else { f64::INFINITY }
    };
    let lists = ours.iter().zip(theirs).zip(sizes).map(of_list).fold(0.0, f64::max);
    if ours.len() == theirs.len() { lists } else { f64::INFINITY }
}

/// The squares of gradients, then parameters and moments after an update, then the parameters as they were before, which
/// must not have changed.
#[must_use]
pub fn updated<B: Kernels>(
    rule: AdamW,
    lengths: &[usize],
    clip: Option<f64>,
    seed: u64,
    device: &B::Device,
) -> Vec<Vec<f32>> {
    let vector = |seed, n: usize| draw_normal::<B>(seed, [1, n], false, device).reshape([n]);
    let updates = lengths.iter().zip((seed..).step_by(10)).map(|(&n, seed)| Update {
        rule,
        parameter: vector(seed, n),
        gradient: vector(seed + 1, n),
        moments: [vector(seed + 2, n), vector(seed + 3, n).abs()],
    });
    let updates: Vec<Update<B>> = updates.collect();
    let before: Vec<Tensor<B, 1>> = updates.iter().map(|update| update.parameter.clone()).collect();
    let gradients: Vec<Tensor<B, 1>> = updates.iter().map(|update| update.gradient.clone()).collect();
    let squares = B::k_squares(&gradients);
    let after = B::k_adamw(updates, &squares, clip);
    let after = after.into_iter().flat_map(|(parameter, [first, second])| [parameter, first, second]);
    [squares].into_iter().chain(after).chain(before).map(values).collect()
}

/// The sentences of a pack, ready for a device.
#[must_use]
pub fn pack(lengths: &[usize]) -> Pack {
    let numbers: Vec<u64> = (0..lengths.len() as u64).map(|i| i * 3 + 1).collect();
    let mut pack = Pack::new(lengths, &numbers);
    share(pack.shared());
    pack
}

/// What was compared, and how far it deviates.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What.
    pub name: String,
    /// The largest deviation.
    pub deviation: f64,
    /// What it may be at most.
    pub limit: f64,
}

impl Checked {
    /// Whether the deviation is within its limit.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.deviation <= self.limit
    }
}

/// Compares every operation of a backend on a device.
#[must_use]
pub fn check<B: Train>(device: &B::Device) -> Vec<Checked> {
    let mut all: Vec<Checked> = cases()
        .into_iter()
        .map(|(name, case)| Checked { name, deviation: case.deviation::<B>(device), limit: ROUNDING })
        .collect();
    all.push(Checked { name: "AdamW, 20 tensors".into(), deviation: adamw::<B>(device), limit: ROUNDING });
    all.push(Checked { name: "dropout masks".into(), deviation: masks::<B>(device), limit: 0.0 });
    all.push(Checked { name: "two times the same".into(), deviation: repeated::<B>(device), limit: 0.0 });
    all
}

/// [`check`] of wgpu's devices. It is compiled here, with all kernels, so that in builds without optimisation other crates
/// use these instead of compiling their own, which takes minutes.
#[cfg(feature = "wgpu")]
#[must_use]
pub fn check_wgpu(device: &burn::backend::wgpu::WgpuDevice) -> Vec<Checked> {
    check::<Autodiff<burn::backend::Wgpu>>(device)
}

/// The same of CUDA's devices.
#[cfg(feature = "cuda")]
#[must_use]
pub fn check_cuda(device: &burn::backend::cuda::CudaDevice) -> Vec<Checked> {
    check::<Autodiff<burn::backend::Cuda>>(device)
}

/// Shapes that fill tiles and shapes that do not. Operands of bf16 are numbers that bf16 holds, so that products are the
/// same where a device has no bf16 and computes in f32.
fn cases() -> Vec<(String, Case)> {
    let (pack, drop) = (pack(&[40, 1, 33, 128, 7]), Dropout::new(0.1, 0xDEAD_BEEF_0BAD_CAFE));
    let (n, rows) = (pack.len(), pack.rows().clone());
    let index: Index = (0..300u32).map(|at| at * at % 97).collect::<Vec<u32>>().into();
    let labels: Index = (0..n as u32).map(|at| at % 17).collect::<Vec<u32>>().into();
    let linear =
        |precision, [n, i, o]: [usize; 3]| Case::of(Operation::Linear(precision), &[[n, i], [i, o], [1, o]]);
    let cases = vec![
        ("product, 209 x 64 x 6", Case::of(Operation::Product, &[[n, 64], [64, 6]])),
        (
            "linear, dropout, residual and LayerNorm",
            Case::of(
                Operation::LinearNorm(drop, rows.clone()),
                &[[n, 40], [40, 70], [1, 70], [n, 70], [1, 70], [1, 70]],
            ),
        ),
        ("linear with GELU", Case::of(Operation::LinearGelu, &[[n, 24], [24, 50], [1, 50]])),
        ("GELU", Case::of(Operation::Gelu, &[[n, 250]])),
        ("dropout", Case::of(Operation::Dropout(drop, rows.clone()), &[[n, 70]])),
        (
            "dropout, residual and LayerNorm",
            Case::of(Operation::Norm(drop, rows.clone()), &[[n, 384], [1, 384], [1, 384], [n, 384]]),
        ),
        ("LayerNorm", Case::of(Operation::Norm(Dropout::OFF, rows), &[[n, 70], [1, 70], [1, 70]])),
        ("attention, 2 heads of 32", Case::of(Operation::Attention(2, pack.clone(), drop), &[[n, 64]; 3])),
        ("attention, 1 head of 64", Case::of(Operation::Attention(1, pack.clone(), drop), &[[n, 64]; 3])),
        ("attention, 1 head of 100", Case::of(Operation::Attention(1, pack.clone(), drop), &[[n, 100]; 3])),
        (
            "attention, 3 heads of 5",
            Case::of(Operation::Attention(3, pack.clone(), Dropout::OFF), &[[n, 15]; 3]),
        ),
        (
            "queries, keys, values and attention",
            Case::of(
                Operation::SelfAttention(2, pack, drop),
                &[[n, 64], [64, 64], [64, 64], [64, 64], [1, 64], [1, 64], [1, 64]],
            ),
        ),
        ("rows of a table", Case::of(Operation::Gather(index), &[[97, 64]])),
        ("cross-entropy", Case::of(Operation::CrossEntropy(labels), &[[n, 17]])),
        ("a row added to every row", Case::of(Operation::AddRow, &[[n, 70], [1, 70]])),
    ];
    let cases = cases.into_iter().map(|(name, case)| (name.to_string(), case)).chain(form_cases());
    // Beside small products those with as many tiles as a large GPU has multiprocessors, so that the kernels for them compute.
    let precisions: [(&str, Precision, &[usize]); 4] = [
        ("f32", Precision::F32, &[752]),
        ("bf16", Precision::Bf16, &[752, 1520]),
        ("f16", Precision::F16, &[752]),
        ("tf32", Precision::Tf32, &[752]),
    ];
    let of_precision = |(name, precision, many): (&str, Precision, &[usize])| {
        // What is large is the product, then the gradient of x, then that of the weight.
        let large = many.iter().flat_map(|&many| [[many, 36, many], [many, many, 36], [36, many, many]]);
        let mut cases: Vec<(String, Case)> = [[n, 64, 96], [5, 33, 7]]
            .into_iter()
            .chain(large)
            .map(|sizes| {
                (
                    format!("linear, {name}, {}", sizes.map(|size| size.to_string()).join(" x ")),
                    linear(precision, sizes),
                )
            })
            .collect();
        let residual = Case::of(Operation::Residual(precision), &[[n, 64], [64, 64], [1, 64]]);
        cases.push((format!("linear and residual, {name}"), residual));
        cases
    };
    let products = precisions.into_iter().flat_map(of_precision);
    products.chain(cases).collect()
}

/// Operations of encoders in other forms: activations, gated products, rotations, windows and relative positions.
fn form_cases() -> Vec<(String, Case)> {
    let (pack, drop) = (pack(&[40, 1, 33, 128, 7]), Dropout::new(0.1, 0xDEAD_BEEF_0BAD_CAFE));
    let (n, rows) = (pack.len(), pack.rows().clone());
    let form = |heads, channels, rotated: bool, window| AttentionForm {
        heads,
        rotary: rotated.then(|| Rotary::new(10_000.0, channels, 128)),
        window,
    };
    let attention = |form: AttentionForm, h, drop| {
        Case::of(Operation::FormAttention(form, pack.clone(), drop), &[[n, h]; 3])
    };
    let layers = [[n, 64], [64, 64], [64, 64], [64, 64], [1, 64], [1, 64], [1, 64]];
    let within = Operation::FormSelfAttention(form(2, 32, true, Some(16)), pack.clone(), drop);
    let mut cases = vec![
        (
            "attention in a window, 2 heads of 32".to_string(),
            attention(form(2, 32, false, Some(16)), 64, drop),
        ),
        ("rotated attention, 3 heads of 6".into(), attention(form(3, 6, true, None), 18, Dropout::OFF)),
        ("rotated queries, keys, values and attention in a window".into(), Case::of(within, &layers)),
        ("RMSNorm".into(), Case::of(Operation::RmsNorm(rows.clone()), &[[n, 70], [1, 70]])),
        ("heads of groups".into(), Case::of(Operation::RepeatHeads(3, 6), &[[n, 3 * 7]])),
        ("dropout and residual".into(), Case::of(Operation::DropAdd(drop, rows), &[[n, 70], [n, 70]])),
    ];
    for (name, heads, h, positions, drop) in [
        ("disentangled attention, 2 heads of 32", 2, 64, RelativePositions::new(Some(32), 128, 128), drop),
        ("disentangled attention, 3 heads of 6", 3, 18, RelativePositions::new(None, 128, 128), Dropout::OFF),
    ] {
        let rows = positions.rows(pack.longest()).len();
        let shapes = [[n, h], [n, h], [n, h], [rows, h], [rows, h]];
        let operation = Operation::RelativeAttention(heads, positions, pack.clone(), drop);
        cases.push((name.into(), Case::of(operation, &shapes)));
    }
    for activation in Activation::ALL {
        let one = Case::of(Operation::Activation(activation), &[[n, 50]]);
        let gated = Case::of(Operation::Gated(activation), &[[n, 50], [n, 50]]);
        cases.push((format!("{activation:?}"), one));
        cases.push((format!("{activation:?} times a gate"), gated));
    }
    cases
}

fn adamw<B: Train>(device: &B::Device) -> f64 {
    let rule = AdamW { lr: 1e-2, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.1, step: 3 };
    let lengths: Vec<usize> = (0..20).map(|at| 1 + at * at * 13).collect();
    type InnerBackend<B> = <B as AutodiffBackend>::InnerBackend;
    let ours = updated::<InnerBackend<B>>(rule, &lengths, Some(1.0), 5, device);
    deviation(&ours, &updated::<Flex>(rule, &lengths, Some(1.0), 5, &Default::default()))
}

/// The same units are dropped as on a processor.
fn masks<B: Train>(device: &B::Device) -> f64 {
    let (pack, drop) = (pack(&[40, 3, 17]), Dropout::new(0.1, 0xDEAD_BEEF_0BAD_CAFE));
    let ours = values(B::k_dropout(Tensor::<B, 2>::ones([60, 384], device), drop, pack.rows()));
    let ones = Tensor::<Flex, 2>::ones([60, 384], &Default::default());
    deviation(&[ours], &[values(stock::dropout(ones, drop, pack.rows()))])
}

/// Two computations give the same bits.
fn repeated<B: Train>(device: &B::Device) -> f64 {
    let all = || {
        let results = cases().into_iter().map(|(_, case)| case.results::<B>(true, device).concat());
        results.collect::<Vec<_>>()
    };
    deviation(&all(), &all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_kernels_pass() {
        let failed: Vec<_> = check::<Reference>(&Default::default())
            .into_iter()
            .filter(|one| !one.passes() && !one.name.contains("bf16"))
            .collect();
        assert_eq!(failed, []);
    }

    #[test]
    fn a_bias_is_as_large_as_a_sum_over_rows() {
        let shapes = [[16, 3], [3, 4], [1, 4]];
        let case = Case { needed: vec![false, true, true], ..Case::of(Operation::Gelu, &shapes) };
        assert_eq!(case.sizes(), [1.0, 1.0, 4.0]);
        let lists = |value: f32| vec![vec![0.0], vec![value], vec![value]];
        assert_eq!(deviation_beside(&lists(0.0), &lists(2e-5), &[1.0, 4.0, 4.0]), f64::from(2e-5f32 / 4.0));
        assert_eq!(deviation_beside(&lists(0.0), &lists(2e-5), &case.sizes()), f64::from(2e-5f32));
    }

    #[test]
    fn what_is_missing_or_not_finite_deviates_most() {
        let one = || vec![vec![1.0f32, -4.0]];
        assert_eq!(deviation(&one(), &one()), 0.0);
        assert_eq!(deviation(&[vec![1.0, -3.0]], &one()), 0.25);
        assert_eq!(deviation(&[vec![1.0]], &one()), f64::INFINITY);
        assert_eq!(deviation(&[], &one()), f64::INFINITY);
        assert_eq!(deviation(&[vec![f32::NAN, -4.0]], &one()), f64::INFINITY);
        assert_eq!(deviation(&[vec![f32::INFINITY, -4.0]], &one()), f64::INFINITY);
    }
}
