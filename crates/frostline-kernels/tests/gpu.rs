//! Every operation of the GPU backends against stock burn on a processor: forward and every gradient, over random shapes.
//! Any adapter does, Mesa's software Vulkan too.

use burn::backend::{Autodiff, Flex, Wgpu};
use frostline_kernels::conformance::{Case, Operation, ROUNDING, check_wgpu, deviation, pack, updated};
use frostline_kernels::{AdamW, Dropout, Precision, backend};
use frostline_testing::{Lack, skipped};
use proptest::prelude::*;

type Gpu = Autodiff<Wgpu>;

/// The deviation is relative, of a bias' gradient to the root of the rows that it sums (`Case::deviation`): that of the keys'
/// bias is zero but for rounding, which against 1 was more than [`ROUNDING`] in a case of many rows.
fn same(
    operation: Operation,
    shapes: &[[usize; 2]],
    needed: &[bool],
    seed: u64,
) -> Result<(), TestCaseError> {
    if has_device() {
        let case = Case { operation, shapes: shapes.to_vec(), needed: needed.to_vec(), seed };
        let found = case.deviation::<Gpu>(&Default::default());
        prop_assert!(found <= ROUNDING, "{}: {:?}", found, case);
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

fn site(rate: f32, seed: u64) -> Dropout {
    if rate == 0.0 { Dropout::OFF } else { Dropout::new(rate, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)) }
}

fn rates() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0f32), Just(0.1), Just(0.5)]
}

/// Rows or columns of a matrix: few, or a multiple of four, which is read in vectors, up to many tiles.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![1usize..40, (1usize..20).prop_map(|four| 4 * four), (1usize..100).prop_map(|four| 4 * four)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn linear(n in 1usize..400, i in size(), o in size(), needed in prop::array::uniform3(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        same(Operation::Linear(Precision::F32), &[[n, i], [i, o], [1, o]], &needed, seed)?;
    }

    /// In bf16 or f16, or in f32 where the device has no such numbers: both hold the operands.
    #[test]
    fn linear_of_rounded_operands(precision in prop_oneof![Just(Precision::Bf16), Just(Precision::F16)], n in 1usize..400, i in size(), o in size(), needed in prop::array::uniform3(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        same(Operation::Linear(precision), &[[n, i], [i, o], [1, o]], &needed, seed)?;
    }

    #[test]
    fn product(n in 1usize..400, i in size(), o in size(), needed in prop::array::uniform2(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        same(Operation::Product, &[[n, i], [i, o]], &needed, seed)?;
    }

    #[test]
    fn add_row(n in 1usize..400, h in 1usize..70, needed in prop::array::uniform2(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        same(Operation::AddRow, &[[n, h], [1, h]], &needed, seed)?;
    }

    #[test]
    fn linear_norm(lengths in prop::collection::vec(1usize..30, 1..4), i in size(), h in 8usize..150, rate in rates(), needed in prop::array::uniform6(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        let pack = pack(&lengths);
        let shapes = [[pack.len(), i], [i, h], [1, h], [pack.len(), h], [1, h], [1, h]];
        same(Operation::LinearNorm(site(rate, seed), pack.rows().clone()), &shapes, &needed, seed)?;
    }

    #[test]
    fn linear_gelu(n in 1usize..200, i in size(), o in size(), needed in prop::array::uniform3(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        same(Operation::LinearGelu, &[[n, i], [i, o], [1, o]], &needed, seed)?;
    }

    #[test]
    fn gelu(n in 1usize..40, h in 1usize..300, seed in 0u64..999) {
        same(Operation::Gelu, &[[n, h]], &[true], seed)?;
    }

    #[test]
    fn dropout(lengths in prop::collection::vec(1usize..40, 1..5), h in 1usize..70, rate in rates(), seed in 0u64..999) {
        let pack = pack(&lengths);
        same(Operation::Dropout(site(rate, seed), pack.rows().clone()), &[[pack.len(), h]], &[true], seed)?;
    }

    #[test]
    fn norm(lengths in prop::collection::vec(1usize..40, 1..5), h in 8usize..300, rate in rates(), residual: bool, needed in prop::array::uniform4(any::<bool>()), seed in 0u64..999) {
        let pack = pack(&lengths);
        let shapes = [[pack.len(), h], [1, h], [1, h], [pack.len(), h]];
        let count = if residual { 4 } else { 3 };
        prop_assume!(needed[..count].contains(&true));
        same(Operation::Norm(site(rate, seed), pack.rows().clone()), &shapes[..count], &needed[..count], seed)?;
    }

    #[test]
    fn attention(lengths in prop::collection::vec(1usize..90, 1..5), heads in 1usize..4, d in prop_oneof![1usize..20, Just(32), Just(64), Just(96), Just(100)], rate in rates(), needed in prop::array::uniform3(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        let pack = pack(&lengths);
        same(Operation::Attention(heads, pack.clone(), site(rate, seed)), &[[pack.len(), heads * d]; 3], &needed, seed)?;
    }

    #[test]
    fn self_attention(lengths in prop::collection::vec(1usize..50, 1..4), i in size(), heads in 1usize..4, d in prop_oneof![1usize..20, Just(32)], rate in rates(), needed in prop::array::uniform7(any::<bool>()), seed in 0u64..999) {
        prop_assume!(needed.contains(&true));
        let (pack, h) = (pack(&lengths), heads * d);
        let shapes = [[pack.len(), i], [i, h], [i, h], [i, h], [1, h], [1, h], [1, h]];
        same(Operation::SelfAttention(heads, pack.clone(), site(rate, seed)), &shapes, &needed, seed)?;
    }

    #[test]
    fn gather(rows in prop::collection::vec(0u32..30, 1..80), h in 1usize..40, seed in 0u64..999) {
        same(Operation::Gather(rows.into()), &[[30, h]], &[true], seed)?;
    }

    #[test]
    fn cross_entropy(labels in prop::collection::vec(0u32..7, 1..80), classes in 7usize..90, seed in 0u64..999) {
        same(Operation::CrossEntropy(labels.clone().into()), &[[labels.len(), classes]], &[true], seed)?;
    }

    #[test]
    fn adamw(lengths in prop::collection::vec(1usize..9000, 1..20), step in 1u64..2000, clip in prop::option::of(0.1f64..100.0), seed in 0u64..999) {
        if has_device() {
            let rule = AdamW { lr: 1e-2, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.1, step };
            let ours = updated::<Wgpu>(rule, &lengths, clip, seed, &Default::default());
            let theirs = updated::<Flex>(rule, &lengths, clip, seed, &Default::default());
            prop_assert!(deviation(&ours, &theirs) <= ROUNDING);
        }
    }
}

/// What `frostline doctor --conformance` says of the operations.
#[test]
fn the_device_conforms() {
    if has_device() {
        let failed: Vec<_> =
            check_wgpu(&Default::default()).into_iter().filter(|one| !one.passes()).collect();
        assert_eq!(failed, []);
    }
}

/// CUDA's compiler accepts the kernels. In CI the step `nvrtc` has it do so: a driver that computes nothing stands in for a
/// GPU's, so that the results mean nothing. Libraries are found by what a process is started with, so this starts itself again.
#[cfg(feature = "cuda")]
#[test]
fn kernels_compile_for_cuda() {
    let given = ["FROSTLINE_CUDA_TOOLKIT", "FROSTLINE_CUDA_LIBRARIES"].map(std::env::var_os);
    let [Some(toolkit), Some(libraries)] = given else {
        skipped(Lack::Device, "no driver to compile for; `cargo xtask ci --only nvrtc` has one");
        return;
    };
    if std::env::var_os("LD_LIBRARY_PATH").as_ref() == Some(&libraries) {
        assert!(!frostline_kernels::conformance::check_cuda(&Default::default()).is_empty());
        return;
    }
    let mut again = std::process::Command::new(std::env::current_exe().expect("this program"));
    again.args(["--exact", "kernels_compile_for_cuda", "--nocapture"]);
    again.env("CUDA_PATH", toolkit).env("LD_LIBRARY_PATH", libraries);
    assert!(again.status().expect("it starts").success());
}

/// Without an NVIDIA GPU, `cuda` starts, finds nothing and says what it needs.
#[cfg(feature = "cuda")]
#[test]
fn cuda_without_its_gpu_says_so() {
    if backend::gpus("cuda") > 0 {
        skipped(Lack::Device, "there is an NVIDIA GPU, which cannot be missed");
        return;
    }
    let error = backend::check("cuda").expect_err("no GPU").to_string();
    assert!(error.contains("an NVIDIA GPU with its driver"), "{error}");
    assert_ne!(backend::best(), Some("cuda"));
}
