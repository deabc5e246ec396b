//! How far two models are from one another: in their numbers, and in what their blocks put out.

use std::collections::BTreeMap;

use burn::prelude::*;
use frostline_freeze::Group;
use frostline_kernels::{Kernels, Precision};
use frostline_model::{EncoderConfig, Network, Values, batches};
use frostline_record::Settings;

use crate::batch::Batch;
use crate::{View, pass};

/// How far each group of an encoder is from where it started: the norm of its parameters'
/// difference, relative to their norm at the start. Heads are left out, and what one of the two lacks.
#[must_use]
pub fn relative_changes(
    start: &BTreeMap<String, Values>,
    end: &BTreeMap<String, Values>,
) -> BTreeMap<Group, f64> {
    let mut squares: BTreeMap<Group, [f64; 2]> = BTreeMap::new();
    for (path, before) in start {
        let group = Group::of(path);
        let Some(after) = end.get(path).filter(|_| group != Group::Head) else { continue };
        let sums = squares.entry(group).or_default();
        for (a, b) in before.data.iter().zip(&after.data) {
            sums[0] += f64::from(b - a).powi(2);
            sums[1] += f64::from(*a).powi(2);
        }
    }
    let ratio = |[difference, norm]: [f64; 2]| (difference / norm.max(f64::MIN_POSITIVE)).sqrt();
    squares.into_iter().map(|(group, sums)| (group, ratio(sums))).collect()
}

/// Linear CKA between the outputs of two models at a split's label positions: of the embeddings,
/// then of each block. 1 where one is the other turned, scaled or shifted.
///
/// # Source
/// Kornblith, Norouzi, Lee and Hinton, *Similarity of Neural Network Representations Revisited*,
/// 2019, section 3.
#[must_use]
pub fn linear_cka<B: Kernels>(
    models: [&Network<B>; 2],
    config: &EncoderConfig,
    view: View<'_>,
    settings: &Settings,
) -> Vec<f64> {
    let pass = pass::scoring_pass(config, settings);
    let order: Vec<usize> = (0..view.data.examples.len()).collect();
    let whole = View { prefix: None, ..view };
    let mut sums: Vec<Products<B>> = Vec::new();
    for sentences in batches(&order, settings.eval.batch_tokens, view.data.lengths()) {
        let batch = Batch::new(config, whole, sentences, false);
        if batch.labels.is_empty() {
            continue;
        }
        let [before, after] = models.map(|model| {
            let x = model.encoder.embed(config, &batch.input, &pass);
            model.layers(0, config, x, &batch.input, &pass)
        });
        for (layer, pair) in before.into_iter().zip(after).enumerate() {
            if sums.len() == layer {
                sums.push(Products::around([&pair.0, &pair.1]));
            }
            sums[layer].add(pair.into());
        }
    }
    sums.iter().map(Products::cka).collect()
}

/// Sums over rows of two matrices, from which their covariances follow.
struct Products<B: Backend> {
    /// Near the means, \[1, H\] each: what is left after them is small enough for f32.
    around: [Tensor<B, 2>; 2],
    rows: f64,
    /// Of each matrix's columns.
    columns: [Vec<f64>; 2],
    /// Inner products of columns: of the first with itself, of both, of the second with itself.
    inner: [Vec<f64>; 3],
}

impl<B: Kernels> Products<B> {
    fn around(pair: [&Tensor<B, 2>; 2]) -> Self {
        let [rows, h] = pair[0].dims();
        let around = pair.map(|x| column_sums(x).div_scalar(rows as f64));
        Self {
            around,
            rows: 0.0,
            columns: [vec![0.0; h], vec![0.0; h]],
            inner: [vec![0.0; h * h], vec![0.0; h * h], vec![0.0; h * h]],
        }
    }

    fn add(&mut self, pair: [Tensor<B, 2>; 2]) {
        let mut at = self.around.iter();
        let [x, y] = pair.map(|x| x - at.next().expect("two of them").clone());
        self.rows += x.dims()[0] as f64;
        for (sum, x) in self.columns.iter_mut().zip([&x, &y]) {
            accumulate(sum, column_sums(x));
        }
        for (sum, (a, b)) in self.inner.iter_mut().zip([(&x, &x), (&x, &y), (&y, &y)]) {
            accumulate(sum, product(a.clone().transpose(), b));
        }
    }

    /// Squared Frobenius norm of the covariance of matrices `a` and `b`.
    fn covariance(&self, product: usize, a: usize, b: usize) -> f64 {
        let h = self.columns[0].len();
        let term = |(at, value): (usize, &f64)| {
            (value - self.columns[a][at / h] * self.columns[b][at % h] / self.rows).powi(2)
        };
        self.inner[product].iter().enumerate().map(term).sum()
    }

    fn cka(&self) -> f64 {
        let [xx, xy, yy] = [(0, 0, 0), (1, 0, 1), (2, 1, 1)].map(|(at, a, b)| self.covariance(at, a, b));
        xy / (xx * yy).sqrt().max(f64::MIN_POSITIVE)
    }
}

/// The sum of each column: \[N, H\] -> \[1, H\].
fn column_sums<B: Kernels>(x: &Tensor<B, 2>) -> Tensor<B, 2> {
    product(Tensor::ones([1, x.dims()[0]], &x.device()), x)
}

/// `a b`, as linear layers compute it.
fn product<B: Kernels>(a: Tensor<B, 2>, b: &Tensor<B, 2>) -> Tensor<B, 2> {
    let none = Tensor::zeros([b.dims()[1]], &b.device());
    B::k_linear(a, b.clone(), none, Precision::F32)
}

fn accumulate<B: Backend>(sum: &mut [f64], part: Tensor<B, 2>) {
    let part = part.into_data().into_vec::<f32>().expect("hidden states are f32");
    for (sum, value) in sum.iter_mut().zip(part) {
        *sum += f64::from(value);
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Flex;

    use super::*;

    fn cka(x: &[[f32; 2]], y: &[[f32; 2]], cut: usize) -> f64 {
        let tensor = |rows: &[[f32; 2]]| {
            let flat: Vec<f32> = rows.iter().flatten().copied().collect();
            Tensor::<Flex, 2>::from_data(TensorData::new(flat, [rows.len(), 2]), &Default::default())
        };
        let mut products = Products::around([&tensor(&x[..cut]), &tensor(&y[..cut])]);
        products.add([tensor(&x[..cut]), tensor(&y[..cut])]);
        products.add([tensor(&x[cut..]), tensor(&y[cut..])]);
        products.cka()
    }

    #[test]
    fn turning_scaling_and_shifting_change_nothing() {
        let x = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.0], [-2.0, 4.0]];
        let turned = x.map(|[a, b]| [3.0 - 2.0 * b, 2.0 * a - 7.0]);
        assert!((cka(&x, &turned, 2) - 1.0).abs() < 1e-6);
        let squeezed = x.map(|[a, b]| [a, 0.1 * b]);
        assert!(cka(&x, &squeezed, 1) < 0.99);
    }

    #[test]
    fn unrelated_columns_have_none() {
        let (x, y) = (
            [[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]],
            [[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]],
        );
        assert!(cka(&x, &y, 2).abs() < 1e-9);
    }

    #[test]
    fn changes_are_relative_to_the_start() {
        let values = |data: &[f32]| Values { shape: vec![data.len()], data: data.to_vec() };
        let start = [
            ("encoder.blocks.1.query.bias", values(&[3.0, 4.0])),
            ("heads.0.classifier.bias", values(&[1.0])),
        ];
        let end = [
            ("encoder.blocks.1.query.bias", values(&[3.0, 4.5])),
            ("heads.0.classifier.bias", values(&[2.0])),
        ];
        let map = |all: [(&str, Values); 2]| all.map(|(path, values)| (path.to_string(), values)).into();
        let changes = relative_changes(&map(start), &map(end));
        assert_eq!(changes, BTreeMap::from([(Group::Block(1), 0.1)]));
    }
}
