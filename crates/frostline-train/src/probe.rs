//! A multinomial logistic regression on features that do not change: what a head alone could learn.
//!
//! The fit is a convex problem, solved until its gradient vanishes, so that it depends on no learning rate
//! and no seed. [`crate::features`] computes the features.
//!
//! # Source
//! Liu and Nocedal, *On the limited memory BFGS method for large scale optimization* (1989). The loss and
//! the penalty are those of scikit-learn's `LogisticRegression` with C = 1, on standardised features.

use std::collections::VecDeque;

use frostline_kernels::double::{COLUMNS, add_product, exp};
use frostline_score::Tally;
use rayon::prelude::*;

use crate::evaluate::{best_label, cross_entropy};
use crate::{Dataset, Evaluation};

/// Parts of the data whose sums are added in order. A fixed number, so that threads change no bit.
const PARTS: usize = 16;
/// Rows that are multiplied at a time; scaled, they stay in a processor's own cache.
const ROWS: usize = 64;
/// Pairs of steps and gradients that the method remembers.
const MEMORY: usize = 10;

/// How a probe is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeConfig {
    /// The penalty: this times half the sum of squared weights, beside the sum of losses. 1 keeps a
    /// probe of few words from certainty and is next to nothing beside many.
    pub ridge: f64,
    /// Converged is: no number of the mean loss's gradient is further from zero.
    pub tolerance: f64,
    /// Iterations after which the fit is given up and used as it is.
    pub iterations: u32,
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self { ridge: 1.0, tolerance: 1e-4, iterations: 1000 }
    }
}

/// A fitted probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Weights of all classes, then their biases.
    values: Vec<f64>,
    scaling: Scaling,
    classes: usize,
    /// What it was fitted with.
    pub fit: Fit,
}

/// How a fit ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Rows it was fitted to.
    pub rows: usize,
    /// Iterations taken.
    pub iterations: u32,
    /// Whether the gradient came within the tolerance.
    pub converged: bool,
    /// The mean loss with its penalty, in nats.
    pub loss_nats: f64,
}

/// What makes each feature's mean 0 and deviation 1 over the rows that are fitted.
#[derive(Clone, Debug, PartialEq)]
struct Scaling {
    mean: Vec<f64>,
    /// One over the deviation; 0 for a feature that never varies.
    factor: Vec<f64>,
}

/// The problem: features as they came, scaled when they are read.
struct Problem<'a> {
    features: &'a [f32],
    labels: &'a [u32],
    scaling: &'a Scaling,
    classes: usize,
    ridge: f64,
}

impl Probe {
    /// Fits a probe to rows of `hidden` features with a class each.
    ///
    /// # Shapes
    /// `features` is \[rows, hidden\], row-major; there are as many `labels`, each below `classes`.
    ///
    /// # Panics
    /// Where the shapes do not agree or there is no row.
    #[must_use]
    pub fn fit(
        features: &[f32],
        hidden: usize,
        labels: &[u32],
        classes: usize,
        config: &ProbeConfig,
    ) -> Self {
        assert!(!labels.is_empty() && features.len() == labels.len() * hidden, "a row for each label");
        let scaling = Scaling::of(features, hidden);
        let problem = Problem { features, labels, scaling: &scaling, classes, ridge: config.ridge };
        let (values, fit) = minimise(problem.start(), config, &|values| problem.loss(values));
        Self { values, classes, fit: Fit { rows: labels.len(), ..fit }, scaling }
    }

    /// The scores of all classes for each row.
    ///
    /// # Shapes
    /// From \[rows, hidden\] to \[rows, classes\]
    #[must_use]
    pub fn logits(&self, features: &[f32]) -> Vec<f32> {
        let linear = LinearProbe::new(&self.values, self.classes);
        let parts = features.par_chunks(ROWS * self.scaling.mean.len());
        let parts: Vec<Vec<f32>> = parts
            .map(|part| {
                let logits = linear.logits(&self.scaling.scaled(part));
                let rows = logits.chunks_exact(linear.columns);
                rows.flat_map(|row| row[..self.classes].iter().map(|&logit| logit as f32)).collect()
            })
            .collect();
        parts.concat()
    }

    /// Scores a dataset whose features these are, as [`crate::features`] gives them: a row for every
    /// word that has a label position.
    #[must_use]
    pub fn evaluate(&self, data: &Dataset, features: &[f32]) -> Evaluation {
        let logits = self.logits(features);
        let mut rows = logits.chunks_exact(self.classes);
        let (mut tally, mut loss, mut words) = (Tally::default(), 0.0, Vec::new());
        for example in &data.examples {
            let mut predicted = Vec::new();
            for (_, gold) in example.words.iter().zip(&example.gold).filter(|(word, _)| word.is_ok()) {
                let row = rows.next().expect("one row per label position");
                predicted.push(best_label(row));
                loss += gold.map_or(0.0, |gold| cross_entropy(row, gold));
            }
            let outcomes: Vec<_> = example.outcomes(predicted.into_iter()).collect();
            tally.extend(outcomes.iter().copied());
            words.push(outcomes);
        }
        let known = (tally.scored - tally.unseen_scored).max(1);
        Evaluation { loss_nats: loss / known as f64, tally, words }
    }
}

impl Scaling {
    fn of(features: &[f32], hidden: usize) -> Self {
        let rows = (features.len() / hidden) as f64;
        let mean: Vec<f64> =
            column_sums(features, hidden, |_, value| value).iter().map(|sum| sum / rows).collect();
        let squares = column_sums(features, hidden, |column, value| (value - mean[column]).powi(2));
        let factor = squares.iter().map(|sum| {
            let deviation = (sum / rows).sqrt();
            if deviation > 1e-12 { 1.0 / deviation } else { 0.0 }
        });
        Self { factor: factor.collect(), mean }
    }

    /// Rows of features, scaled: \[rows, hidden\]
    fn scaled(&self, features: &[f32]) -> Vec<f64> {
        let mut scaled = Vec::with_capacity(features.len());
        for row in features.chunks_exact(self.mean.len()) {
            let scales = self.mean.iter().zip(&self.factor);
            scaled.extend(
                row.iter().zip(scales).map(|(&value, (mean, factor))| (f64::from(value) - mean) * factor),
            );
        }
        scaled
    }
}

/// Weights and biases by feature, with columns of zeros up to whole tiles of the product.
struct LinearProbe {
    /// Classes, up to a multiple of [`COLUMNS`].
    columns: usize,
    /// \[hidden, columns\]
    weights: Vec<f64>,
    /// \[columns\]
    biases: Vec<f64>,
}

impl LinearProbe {
    /// Of the weights of all classes, then their biases.
    fn new(values: &[f64], classes: usize) -> Self {
        let columns = classes.next_multiple_of(COLUMNS);
        let hidden = values.len() / classes - 1;
        let (by_class, biases) = values.split_at(classes * hidden);
        let mut weights = vec![0.0; hidden * columns];
        for (class, of_class) in by_class.chunks_exact(hidden).enumerate() {
            for (feature, &weight) in of_class.iter().enumerate() {
                weights[feature * columns + class] = weight;
            }
        }
        let mut biases = biases.to_vec();
        biases.resize(columns, 0.0);
        Self { columns, weights, biases }
    }

    /// From \[rows, hidden\] to \[rows, columns\]
    fn logits(&self, scaled: &[f64]) -> Vec<f64> {
        let hidden = self.weights.len() / self.columns;
        let rows = scaled.len() / hidden;
        let mut out = self.biases.repeat(rows);
        add_product([rows, self.columns, hidden], scaled, &self.weights, &mut out);
        out
    }
}

/// A sum for each column, over parts in order.
fn column_sums(features: &[f32], hidden: usize, of: impl Fn(usize, f64) -> f64 + Sync) -> Vec<f64> {
    let parts: Vec<Vec<f64>> = features
        .par_chunks(part_rows(features.len() / hidden) * hidden)
        .map(|part| {
            let mut sums = vec![0.0; hidden];
            for row in part.chunks_exact(hidden) {
                for (column, (sum, &value)) in sums.iter_mut().zip(row).enumerate() {
                    *sum += of(column, f64::from(value));
                }
            }
            sums
        })
        .collect();
    add_parts(parts)
}

/// Rows of each of the parts.
fn part_rows(rows: usize) -> usize {
    rows.div_ceil(PARTS).max(1)
}

fn add_parts(parts: Vec<Vec<f64>>) -> Vec<f64> {
    let mut parts = parts.into_iter();
    let mut sum = parts.next().unwrap_or_default();
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
    }
    sum
}

impl Problem<'_> {
    fn hidden(&self) -> usize {
        self.scaling.mean.len()
    }

    /// No weights, and biases that say how frequent each class is; one is added to each count.
    fn start(&self) -> Vec<f64> {
        let mut counts = vec![1.0_f64; self.classes];
        self.labels.iter().for_each(|&label| counts[label as usize] += 1.0);
        let mut values = vec![0.0; self.classes * self.hidden()];
        values.extend(counts.iter().map(|&count| libm::log(count)));
        values
    }

    /// The mean loss with its penalty, and its gradient.
    fn loss(&self, values: &[f64]) -> (f64, Vec<f64>) {
        let (hidden, rows) = (self.hidden(), self.labels.len());
        let size = part_rows(rows);
        let linear = LinearProbe::new(values, self.classes);
        let parts: Vec<Vec<f64>> = self
            .features
            .par_chunks(size * hidden)
            .zip(self.labels.par_chunks(size))
            .map(|(features, labels)| self.part(&linear, features, labels))
            .collect();
        let mut sums = add_parts(parts);
        let mut loss = sums.pop().expect("the last number is the loss");
        let weights = self.classes * hidden;
        for (sum, value) in sums[..weights].iter_mut().zip(values) {
            *sum += self.ridge * value;
            loss += 0.5 * self.ridge * value * value;
        }
        let scale = 1.0 / rows as f64;
        sums.iter_mut().for_each(|sum| *sum *= scale);
        (loss * scale, sums)
    }

    /// The summed gradient of some rows, and their summed loss as the last number.
    fn part(&self, linear: &LinearProbe, features: &[f32], labels: &[u32]) -> Vec<f64> {
        let (hidden, classes) = (self.hidden(), self.classes);
        let mut sums = vec![0.0; classes * hidden + classes + 1];
        let (weights, rest) = sums.split_at_mut(classes * hidden);
        for (features, labels) in features.chunks(ROWS * hidden).zip(labels.chunks(ROWS)) {
            let x = self.scaling.scaled(features);
            let mut logits = linear.logits(&x);
            let rows = labels.len();
            // [classes, rows]
            let mut errors = vec![0.0; classes * rows];
            let mut own = Vec::with_capacity(rows);
            for (row, &label) in logits.chunks_exact_mut(linear.columns).zip(labels) {
                let top = row[..classes].iter().copied().fold(f64::NEG_INFINITY, f64::max);
                own.push(row[label as usize] - top);
                row.iter_mut().for_each(|value| *value -= top);
            }
            exp(&mut logits);
            for (at, (row, &label)) in logits.chunks_exact(linear.columns).zip(labels).enumerate() {
                let row = &row[..classes];
                let sum: f64 = row.iter().sum();
                rest[classes] += libm::log(sum) - own[at];
                for (class, value) in row.iter().enumerate() {
                    let target = f64::from(u8::from(class == label as usize));
                    let error = value / sum - target;
                    rest[class] += error;
                    errors[class * rows + at] = error;
                }
            }
            add_product([classes, hidden, rows], &errors, &x, weights);
        }
        sums
    }
}

/// A function's value and its gradient at a place.
type Function<'a> = dyn Fn(&[f64]) -> (f64, Vec<f64>) + 'a;

/// Minimises a smooth convex function by L-BFGS with backtracking.
fn minimise(mut at: Vec<f64>, config: &ProbeConfig, function: &Function<'_>) -> (Vec<f64>, Fit) {
    let (mut loss, mut gradient) = function(&at);
    let mut memory: VecDeque<CurvaturePair> = VecDeque::new();
    let mut iterations = 0;
    let flat = |gradient: &[f64]| gradient.iter().all(|value| value.abs() <= config.tolerance);
    while iterations < config.iterations && !flat(&gradient) {
        iterations += 1;
        let mut direction = descent_direction(&gradient, &memory);
        if dot(&direction, &gradient) >= 0.0 {
            memory.clear();
            direction = descent_direction(&gradient, &memory);
        }
        let Some((next, next_loss, next_gradient)) = backtrack(&at, loss, &gradient, &direction, function)
        else {
            break;
        };
        let pair = CurvaturePair { step: minus(&next, &at), change: minus(&next_gradient, &gradient) };
        if dot(&pair.step, &pair.change) > 1e-14 * dot(&pair.change, &pair.change) {
            memory.push_back(pair);
            memory.drain(..memory.len().saturating_sub(MEMORY));
        }
        (at, loss, gradient) = (next, next_loss, next_gradient);
    }
    let converged = flat(&gradient);
    (at, Fit { rows: 0, iterations, converged, loss_nats: loss })
}

/// A step and what it did to the gradient.
struct CurvaturePair {
    step: Vec<f64>,
    change: Vec<f64>,
}

/// The direction of descent: the gradient turned by what earlier steps tell of the curvature.
fn descent_direction(gradient: &[f64], memory: &VecDeque<CurvaturePair>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|value| -value).collect();
    let mut shares = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let share = dot(&pair.step, &direction) / dot(&pair.step, &pair.change);
        add(&mut direction, -share, &pair.change);
        shares.push(share);
    }
    // Without any memory a step of length 1 at most, since nothing is known of the curvature.
    let scale = memory.back().map_or_else(
        || 1.0 / dot(gradient, gradient).sqrt().max(1.0),
        |pair| dot(&pair.step, &pair.change) / dot(&pair.change, &pair.change),
    );
    direction.iter_mut().for_each(|value| *value *= scale);
    for (pair, share) in memory.iter().zip(shares.into_iter().rev()) {
        let turn = dot(&pair.change, &direction) / dot(&pair.step, &pair.change);
        add(&mut direction, share - turn, &pair.step);
    }
    direction
}

/// The first of 1, 1/2, 1/4 ... of a step that lowers the function enough; nothing where none does, which
/// is where rounding ends the descent.
fn backtrack(
    at: &[f64],
    loss: f64,
    gradient: &[f64],
    direction: &[f64],
    function: &Function<'_>,
) -> Option<(Vec<f64>, f64, Vec<f64>)> {
    let slope = dot(gradient, direction);
    (0..40).find_map(|halvings| {
        let length = 0.5_f64.powi(halvings);
        let mut next = at.to_vec();
        add(&mut next, length, direction);
        let (next_loss, next_gradient) = function(&next);
        (next_loss <= loss + 1e-4 * length * slope).then_some((next, next_loss, next_gradient))
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], factor: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += factor * what);
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of two features whose class follows from them, with some that are mislabelled.
    fn rows(count: usize) -> (Vec<f32>, Vec<u32>) {
        let stream = frostline_random::Stream::new(7, "probe");
        let mut features = Vec::new();
        let mut labels = Vec::new();
        for row in 0..count {
            let value = |at: usize| stream.unit((4 * row + at) as u64) as f32;
            let (a, b) = (value(0) * 40.0, value(1));
            features.extend([a, b]);
            let noise = value(2) < 0.1;
            labels.push(u32::from(a > 20.0) + u32::from(b > 0.5 && !noise));
        }
        (features, labels)
    }

    #[test]
    fn two_balanced_points_have_the_weight_that_calculus_gives() {
        // At x = -1 and 1 with classes 0 and 1, both biases are equal and the weights are w and -w with
        // the loss 2 ln(1 + exp(-2w)) + w² · ridge: its derivative is zero where w = 2 / (1 + exp(2w)).
        let config = ProbeConfig { tolerance: 1e-10, ..ProbeConfig::default() };
        let probe = Probe::fit(&[-1.0, 1.0], 1, &[0, 1], 2, &config);
        let w = probe.values[1];
        assert!(probe.fit.converged && w > 0.1, "{probe:?}");
        assert!((w - 2.0 / (1.0 + (2.0 * w).exp())).abs() < 1e-8, "{w}");
        assert!((probe.values[0] + w).abs() < 1e-8);
    }

    #[test]
    fn a_fit_ends_where_the_gradient_is_nothing_and_threads_change_no_bit() {
        let (features, labels) = rows(3000);
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| Probe::fit(&features, 2, &labels, 3, &ProbeConfig::default()))
        };
        let probe = fit(1);
        assert!(probe.fit.converged && probe.fit.iterations > 3, "{:?}", probe.fit);
        assert_eq!(probe, fit(3));
        let logits = probe.logits(&features);
        let right = logits.chunks(3).zip(&labels).filter(|(row, label)| best_label(row) == **label).count();
        assert!(right > 2200, "{right} of 3000");
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let (features, labels) = rows(300);
        let scaling = Scaling::of(&features, 2);
        let problem =
            Problem { features: &features, labels: &labels, scaling: &scaling, classes: 3, ridge: 2.0 };
        let at: Vec<f64> = (0..9).map(|i| 0.3 * f64::from(i) - 1.0).collect();
        let (_, gradient) = problem.loss(&at);
        for (place, slope) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut at = at.clone();
                at[place] += by;
                problem.loss(&at).0
            };
            let measured = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - measured).abs() < 1e-8, "{place}: {slope} {measured}");
        }
    }

    #[test]
    fn a_feature_that_never_varies_and_a_class_that_never_occurs_do_no_harm() {
        let (features, labels) = ([1.0, 5.0, 2.0, 5.0, 3.0, 5.0], [0, 0, 2]);
        let probe = Probe::fit(&features, 2, &labels, 3, &ProbeConfig::default());
        assert!(probe.fit.converged && probe.values.iter().all(|value| value.is_finite()), "{probe:?}");
        assert_eq!(probe.logits(&features).chunks(3).map(best_label).collect::<Vec<_>>(), [0, 0, 2]);
    }
}
