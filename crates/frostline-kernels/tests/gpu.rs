//! Every operation of the GPU backends against stock burn on a processor: forward and every gradient, over random shapes.
//! Any adapter does, Mesa's software Vulkan too.

use burn::backend::{Autodiff, Flex, Wgpu};
use burn::prelude::*;
use frostline_kernels::{
    AdamW, Dropout, Index, Kernels, Pack, Precision, Rows, Shared, Train, Update, backend, share, stock,
};
use frostline_random::Stream;
use frostline_testing::{Lack, skipped};
use proptest::prelude::*;

type Gpu = Autodiff<Wgpu>;
type Cpu = Autodiff<Flex>;

/// An operation on some matrices, in two versions.
trait Operation {
    fn own<B: Train>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2>;
    fn stock<B: Train>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2>;
}

fn random<B: Backend>(seed: u64, shape: [usize; 2]) -> Tensor<B, 2> {
    let stream = Stream::new(seed, "tensor");
    let values: Vec<f32> = (0..(shape[0] * shape[1]) as u64).map(|i| stream.normal(i) as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), &Default::default())
}

fn values<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().into_vec().expect("f32")
}

fn vector<B: Backend>(matrix: &Tensor<B, 2>) -> Tensor<B, 1> {
    let count = matrix.dims().iter().product::<usize>();
    matrix.clone().reshape([count])
}

/// The output, and the gradient of each input that needs one.
fn results<B: Train>(
    shapes: &[[usize; 2]],
    needed: &[bool],
    seed: u64,
    run: impl Fn(Vec<Tensor<B, 2>>) -> Tensor<B, 2>,
) -> Vec<Vec<f32>> {
    let inputs = shapes.iter().zip(needed).zip(seed..);
    let inputs: Vec<Tensor<B, 2>> =
        inputs.map(|((shape, needed), seed)| random(seed, *shape).set_require_grad(*needed)).collect();
    let out = run(inputs.clone());
    let weights = random(77, out.dims());
    let gradients = (out.clone() * weights).sum().backward();
    let needed = inputs.iter().zip(needed).filter(|(_, needed)| **needed);
    let found = needed.map(|(input, _)| values(input.grad(&gradients).expect("a gradient")));
    std::iter::once(values(out)).chain(found).collect()
}

fn same(
    operation: &impl Operation,
    shapes: &[[usize; 2]],
    needed: &[bool],
    seed: u64,
) -> Result<(), TestCaseError> {
    if !has_device() {
        return Ok(());
    }
    let ours = results::<Gpu>(shapes, needed, seed, |inputs| operation.own(inputs));
    let theirs = results::<Cpu>(shapes, needed, seed, |inputs| operation.stock(inputs));
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        close(&format!("result {at}"), ours, theirs)?;
    }
    Ok(())
}

fn close(what: &str, ours: &[f32], theirs: &[f32]) -> Result<(), TestCaseError> {
    prop_assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(1.0f32, |top, value| top.max(value.abs()));
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        prop_assert!((a - b).abs() <= 2e-5 * scale, "{}[{}]: {} against {}", what, i, a, b);
    }
    Ok(())
}

fn has_device() -> bool {
    let found = backend::check("wgpu").is_ok();
    if !found {
        skipped(Lack::Device, "no adapter for wgpu; Mesa's software Vulkan is one");
    }
    found
}

fn pack_of(lengths: &[usize]) -> Pack {
    let numbers: Vec<u64> = (0..lengths.len() as u64).map(|i| i * 3 + 1).collect();
    let mut pack = Pack::new(lengths, &numbers);
    share(pack.shared());
    pack
}

fn site(rate: f32, seed: u64) -> Dropout {
    if rate == 0.0 { Dropout::OFF } else { Dropout::new(rate, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)) }
}

fn rates() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0f32), Just(0.1), Just(0.5)]
}

struct Linear;

impl Operation for Linear {
    fn own<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        B::k_linear(i[0].clone(), i[1].clone(), vector(&i[2]), Precision::F32)
    }
    fn stock<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        stock::linear(i[0].clone(), i[1].clone(), vector(&i[2]))
    }
}

struct Gelu;

impl Operation for Gelu {
    fn own<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        B::k_gelu(i[0].clone().mul_scalar(2.0))
    }
    fn stock<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        stock::gelu(i[0].clone().mul_scalar(2.0))
    }
}

struct Dropped(Dropout, Rows);

impl Operation for Dropped {
    fn own<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        B::k_dropout(i[0].clone(), self.0, &self.1)
    }
    fn stock<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        stock::dropout(i[0].clone(), self.0, &self.1)
    }
}

/// The last input is the residual, if there is one.
struct Norm(Dropout, Rows);

impl Operation for Norm {
    fn own<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        let affine = [vector(&i[1]), vector(&i[2])];
        B::k_drop_add_norm(i[0].clone(), i.get(3).cloned(), affine, 1e-6, self.0, &self.1)
    }
    fn stock<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        let affine = [vector(&i[1]), vector(&i[2])];
        stock::drop_add_norm(i[0].clone(), i.get(3).cloned(), affine, 1e-6, self.0, &self.1)
    }
}

struct Attention(usize, Pack, Dropout);

impl Operation for Attention {
    fn own<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        B::k_attention([0, 1, 2].map(|at| i[at].clone()), self.0, &self.1, self.2)
    }
    fn stock<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        stock::attention([0, 1, 2].map(|at| i[at].clone()), self.0, &self.1, self.2)
    }
}

struct Gather(Index);

impl Operation for Gather {
    fn own<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        B::k_gather(i[0].clone(), &self.0)
    }
    fn stock<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        stock::gather(i[0].clone(), &self.0)
    }
}

struct CrossEntropy(Index);

impl Operation for CrossEntropy {
    fn own<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        B::k_cross_entropy(i[0].clone(), &self.0).reshape([1, 1])
    }
    fn stock<B: Train>(&self, i: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        stock::cross_entropy(i[0].clone(), &self.0).reshape([1, 1])
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn linear(n in 1usize..70, i in 1usize..40, o in 1usize..40, needed in prop::array::uniform3(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        same(&Linear, &[[n, i], [i, o], [1, o]], &needed, seed)?;
    }

    #[test]
    fn gelu(n in 1usize..40, h in 1usize..300, seed in 0u64..999) {
        same(&Gelu, &[[n, h]], &[true], seed)?;
    }

    #[test]
    fn dropout(lengths in prop::collection::vec(1usize..40, 1..5), h in 1usize..70, rate in rates(), seed in 0u64..999) {
        let pack = pack_of(&lengths);
        same(&Dropped(site(rate, seed), pack.rows().clone()), &[[pack.len(), h]], &[true], seed)?;
    }

    #[test]
    fn norm(lengths in prop::collection::vec(1usize..40, 1..5), h in 8usize..300, rate in rates(), residual: bool, needed in prop::array::uniform4(any::<bool>()), seed in 0u64..999) {
        let pack = pack_of(&lengths);
        let shapes = [[pack.len(), h], [1, h], [1, h], [pack.len(), h]];
        let count = if residual { 4 } else { 3 };
        prop_assume!(needed[..count].contains(&true));
        same(&Norm(site(rate, seed), pack.rows().clone()), &shapes[..count], &needed[..count], seed)?;
    }

    #[test]
    fn attention(lengths in prop::collection::vec(1usize..90, 1..5), heads in 1usize..4, d in prop_oneof![1usize..20, Just(32), Just(64)], rate in rates(), needed in prop::array::uniform3(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        let pack = pack_of(&lengths);
        same(&Attention(heads, pack.clone(), site(rate, seed)), &[[pack.len(), heads * d]; 3], &needed, seed)?;
    }

    #[test]
    fn gather(rows in prop::collection::vec(0u32..30, 1..80), h in 1usize..40, seed in 0u64..999) {
        same(&Gather(rows.into()), &[[30, h]], &[true], seed)?;
    }

    #[test]
    fn cross_entropy(labels in prop::collection::vec(0u32..7, 1..80), classes in 7usize..90, seed in 0u64..999) {
        same(&CrossEntropy(labels.clone().into()), &[[labels.len(), classes]], &[true], seed)?;
    }

    #[test]
    fn adamw(lengths in prop::collection::vec(1usize..9000, 1..20), step in 1u64..2000, clip in prop::option::of(0.1f64..100.0), seed in 0u64..999) {
        if has_device() {
            let rule = AdamW { lr: 1e-2, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.1, step };
            let ours = updated::<Wgpu>(rule, &lengths, clip, seed);
            let theirs = updated::<Flex>(rule, &lengths, clip, seed);
            for (ours, theirs) in ours.iter().zip(&theirs) {
                close("update", ours, theirs)?;
            }
        }
    }
}

/// The squares of gradients, parameters and moments after an update, and the parameters before it, which must not
/// have changed.
fn updated<B: Kernels>(rule: AdamW, lengths: &[usize], clip: Option<f64>, seed: u64) -> Vec<Vec<f32>> {
    let vector = |seed, n| random::<B>(seed, [1, n]).reshape([n]);
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

/// The same units are dropped as on a processor, bit for bit.
#[test]
fn masks_are_those_of_the_processor() {
    if has_device() {
        let (pack, drop) = (pack_of(&[40, 3, 17]), Dropout::new(0.1, 0xDEAD_BEEF_0BAD_CAFE));
        let mask = values(<Wgpu as Kernels>::k_dropout(
            Tensor::ones([60, 384], &Default::default()),
            drop,
            pack.rows(),
        ));
        let expected =
            values(stock::dropout::<Flex>(Tensor::ones([60, 384], &Default::default()), drop, pack.rows()));
        assert_eq!(mask, expected);
    }
}

/// Two runs give the same bits.
#[test]
fn results_repeat() {
    if has_device() {
        let (pack, drop) = (pack_of(&[40, 3, 17]), Dropout::new(0.1, 3));
        let mut index = Index::from(vec![3, 1, 3, 2, 3]);
        share([Shared::Index(&mut index)]);
        let attention = Attention(2, pack.clone(), drop);
        let norm = Norm(drop, pack.rows().clone());
        let all = || {
            [
                results::<Gpu>(&[[60, 64]; 3], &[true; 3], 1, |i| attention.own(i)),
                results::<Gpu>(&[[60, 64], [1, 64], [1, 64], [60, 64]], &[true; 4], 2, |i| norm.own(i)),
                results::<Gpu>(&[[9, 64]], &[true], 3, |i| Gather(index.clone()).own(i)),
            ]
            .concat()
            .concat()
            .into_iter()
            .map(f32::to_bits)
            .collect::<Vec<u32>>()
        };
        assert_eq!(all(), all());
    }
}
