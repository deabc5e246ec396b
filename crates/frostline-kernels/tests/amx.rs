//! The backend `amx`: its products of bf16 come from the matrix unit, forward and backward, and all else is as on `flex`.
#![cfg(feature = "flex")]

use burn::tensor::{Tensor, TensorData};
use frostline_kernels::backend::{self, MatrixUnitChoice, Work};
use frostline_kernels::{Precision, Train};
use frostline_random::Stream;
use frostline_testing::{Lack, skipped};

/// A linear layer: its output, and the gradients of input and weight.
struct Linear(Precision);

impl Work for Linear {
    type Output = Vec<Vec<f32>>;

    fn run<B: Train>(self, device: &B::Device) -> Self::Output {
        let drawn = |name: &str, shape: [usize; 2]| {
            let stream = Stream::new(3, name);
            let values: Vec<f32> =
                (0..(shape[0] * shape[1]) as u64).map(|at| stream.normal(at) as f32).collect();
            Tensor::<B, 2>::from_data(TensorData::new(values, shape), device).require_grad()
        };
        let (x, weight) = (drawn("x", [70, 100]), drawn("weight", [100, 90]));
        let y = B::k_linear(x.clone(), weight.clone(), Tensor::zeros([90], device), self.0);
        let gradients = (y.clone() * drawn("gradient", [70, 90]).detach()).sum().backward();
        let values = |tensor: Tensor<B::InnerBackend, 2>| tensor.into_data().to_vec().expect("f32");
        let gradient = |of: &Tensor<B, 2>| values(of.grad(&gradients).expect("a gradient"));
        vec![values(y.inner()), gradient(&x), gradient(&weight)]
    }
}

/// The largest difference.
fn deviation(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn bf16_is_computed_in_the_matrix_unit_forward_and_backward() {
    if backend::check("amx").is_err() {
        return skipped(Lack::Processor, "no matrix unit (AMX) here");
    }
    let on =
        |name: &str, precision| backend::on(name, Linear(precision)).expect("a backend that computes here");
    assert_eq!(on("amx", Precision::F32), on("flex", Precision::F32));
    for (amx, flex) in on("amx", Precision::Bf16).iter().zip(on("flex", Precision::Bf16)) {
        assert!(*amx != flex, "the order of sums differs");
        assert!(deviation(amx, &flex) < 1e-4, "{}", deviation(amx, &flex));
    }
    assert_eq!(on("amx", Precision::Bf16), on("amx", Precision::Bf16));
}

#[test]
fn a_choice_holds_for_its_work_alone() {
    struct Here;
    impl Work for Here {
        type Output = MatrixUnitChoice;
        fn run<B: Train>(self, _: &B::Device) -> MatrixUnitChoice {
            MatrixUnitChoice::here()
        }
    }
    assert!(!backend::on("flex", Here).expect("flex").is_matrix_unit());
    let Ok(choice) = backend::on("amx", Here) else {
        let error = backend::check("amx").expect_err("it was not usable").to_string();
        assert!(error.contains("AMX"), "{error}");
        return skipped(Lack::Processor, "no matrix unit (AMX) here");
    };
    assert!(choice.is_matrix_unit() && !MatrixUnitChoice::here().is_matrix_unit());
    let on_another_thread =
        std::thread::spawn(move || choice.run(|| MatrixUnitChoice::here().is_matrix_unit()));
    assert!(on_another_thread.join().expect("no panic"));
    assert!(backend::on("flex", Here).is_ok_and(|choice| !choice.is_matrix_unit()));
}
