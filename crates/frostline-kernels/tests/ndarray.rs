//! Stock operations on burn's ndarray backend, for which burn's own versions are not exact.

#[cfg(not(feature = "ndarray"))]
#[test]
fn the_gradient_of_gelu_is_that_of_gelu() {
    frostline_testing::skipped(frostline_testing::Lack::Build, "test with `--features ndarray`");
}

#[cfg(feature = "ndarray")]
mod exact {
    use burn::backend::{Autodiff, NdArray};
    use burn::prelude::*;
    use frostline_kernels::stock;

    #[test]
    fn the_gradient_of_gelu_is_that_of_gelu() {
        let values: Vec<f32> = (-30..=30).map(|i| i as f32 * 0.1).collect();
        let x = Tensor::<Autodiff<NdArray>, 2>::from_data(
            TensorData::new(values.clone(), [values.len(), 1]),
            &Default::default(),
        )
        .require_grad();
        let gradients = stock::gelu(x.clone()).sum().backward();
        let found = x.grad(&gradients).expect("a gradient").into_data().into_vec::<f32>().expect("f32");
        for (x, found) in values.into_iter().map(f64::from).zip(found) {
            // The derivative as a difference quotient of a function known to 1e-12.
            let gelu = |x: f64| 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2));
            let expected = (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
            assert!((expected - f64::from(found)).abs() < 1e-5, "at {x}: {found} against {expected}");
        }
    }

    /// The error function by its series, for |x| up to 3, where it loses few digits.
    fn erf(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }
}
