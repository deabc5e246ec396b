//! Gradients of layers' weights and biases. Nothing in a backward pass reads those of parameters, so other threads compute them
//! while the pass goes on with gradients of inputs, each of which needs the one before.

use std::cell::RefCell;
use std::collections::VecDeque;

use burn::backend::autodiff::grads::Gradients;
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::ops::FloatTensorOps as _;

use super::linear;
use super::overlap::BackgroundJobs;
use super::product::{in_matrix_unit, is_shared, outputs, with_matrix_unit};
use super::squares::{self, Summed};
use super::tensors::{TrackedFlex, data, flex, shape2};
use crate::Precision;
use crate::profile::{self, Operation, timed};

thread_local! {
    /// What the backward pass on this thread has left to other threads.
    static PASS: RefCell<Option<BackwardPass>> = const { RefCell::new(None) };
}

/// Gradients that are computed while a backward pass goes on, and whose they are.
struct BackwardPass {
    /// What was computed comes with what it follows from, which is freed by the thread whose allocator it is from.
    found: BackgroundJobs<(Summed, GradientTask)>,
    parents: VecDeque<Vec<TrackedFlex>>,
}

impl BackwardPass {
    fn add(&mut self, InputLayers { mut task, parents }: InputLayers) {
        let in_unit = in_matrix_unit();
        self.parents.push_back(parents);
        self.found.add(move || (with_matrix_unit(in_unit, || task.compute()), task));
    }

    /// Registers what was found until now.
    fn register_ended(&mut self, gradients: &mut Gradients) {
        while let Some((found, _)) = self.found.next_if_ended() {
            self.register(gradients, found);
        }
    }

    /// Registers all, when it is found.
    fn finish(&mut self, gradients: &mut Gradients) {
        while let Some((found, _)) = self.found.next_when_ended() {
            self.register(gradients, found);
        }
    }

    /// Registers the next ones.
    fn register(&mut self, gradients: &mut Gradients, found: Summed) {
        let parents = self.parents.pop_front().expect("what was found is somebody's");
        register_all(gradients, &parents, found);
    }
}

/// Runs a backward pass during which other threads compute gradients of weights.
pub fn overlapped(backward: impl FnOnce() -> Gradients) -> Gradients {
    /// Forgets the pass if it panics.
    struct Ended;
    impl Drop for Ended {
        fn drop(&mut self) {
            PASS.set(None);
        }
    }
    let _ended = Ended;
    PASS.set(Some(BackwardPass { found: BackgroundJobs::new(), parents: VecDeque::new() }));
    let mut gradients = backward();
    if let Some(mut pass) = PASS.take() {
        pass.finish(&mut gradients);
    }
    gradients
}

/// Layers with one input, whose parameters' gradients are wanted.
pub struct InputLayers {
    task: GradientTask,
    /// The weights and biases, in this order.
    parents: Vec<TrackedFlex>,
}

/// What their gradients follow from.
struct GradientTask {
    precision: Precision,
    /// I, if there is an input, and O.
    sizes: [usize; 2],
    /// The layers' input \[N, I\], where a weight has a gradient.
    x: Option<FlexTensor>,
    /// The gradients of outputs \[N, O\] whose layer's weight has a gradient.
    of_weights: Vec<FlexTensor>,
    /// Those whose layer's bias has one.
    of_biases: Vec<FlexTensor>,
    /// The weights' gradients to be. They come from the thread that will free them, whose allocator keeps them.
    outs: Vec<Vec<f32>>,
    /// Whether somebody will ask for the gradients' sums of squares.
    wants_squares: bool,
}

impl InputLayers {
    /// Layers by the gradients of their outputs, and their weights and biases, if these need gradients.
    pub fn new<const T: usize>(
        precision: Precision,
        x: Option<FlexTensor>,
        of_outputs: [&FlexTensor; T],
        [weights, biases]: [[Option<TrackedFlex>; T]; 2],
    ) -> Self {
        let wanted = |parents: [Option<TrackedFlex>; T]| -> (Vec<FlexTensor>, Vec<TrackedFlex>) {
            let pairs = of_outputs.into_iter().zip(parents);
            pairs.filter_map(|(of_output, parent)| Some((of_output.clone(), parent?))).unzip()
        };
        let ((of_weights, mut parents), (of_biases, others)) = (wanted(weights), wanted(biases));
        parents.extend(others);
        let sizes = [x.as_ref().map_or(0, |x| shape2(x)[1]), shape2(of_outputs[0])[1]];
        let outs = outputs(of_weights.len(), sizes);
        let wants_squares = squares::are_wanted();
        Self {
            task: GradientTask { precision, sizes, x, of_weights, of_biases, outs, wants_squares },
            parents,
        }
    }

    /// Gives the parameters their gradients, now or before the backward pass returns. What a parameter gets from several layers is
    /// added in the order in which they were registered.
    pub fn register(mut self, gradients: &mut Gradients) {
        if self.parents.is_empty() {
            return;
        }
        let mut pass = PASS.take();
        match &mut pass {
            Some(pass) if self.may_wait() => {
                pass.register_ended(gradients);
                pass.add(self);
            }
            pass => {
                pass.iter_mut().for_each(|pass| pass.finish(gradients));
                register_all(gradients, &self.parents, self.task.compute());
            }
        }
        PASS.set(pass);
    }

    /// Whether nobody reads the gradients before the pass returns, and they are worth another thread's time. With timers, each
    /// operation is timed on its own.
    fn may_wait(&self) -> bool {
        let GradientTask { sizes: [width, _], of_weights, .. } = &self.task;
        let of_weights = of_weights.iter().map(|gradient| data(gradient).len()).sum::<usize>();
        is_shared(of_weights * width)
            && !profile::is_on()
            && self.parents.iter().all(<Autodiff<Flex>>::float_is_require_grad)
    }
}

impl GradientTask {
    /// The gradients of the weights \[I, O\], then of the biases \[O\].
    fn compute(&mut self) -> Summed {
        let Self { precision, sizes: [i, o], ref x, ref of_weights, ref of_biases, .. } = *self;
        let mut found = Vec::with_capacity(of_weights.len() + of_biases.len());
        if let (Some(x), false) = (x, of_weights.is_empty()) {
            let of_weights: Vec<_> = of_weights.iter().map(data).collect();
            let outs = std::mem::take(&mut self.outs);
            let weights = linear::backward_weights(precision, data(x), &of_weights, o, outs);
            found.extend(weights.into_iter().map(|weight| flex(weight, [i, o])));
        }
        let bias = |gradient| flex(linear::backward_bias(data(gradient), o), [o]);
        found.extend(of_biases.iter().map(bias));
        squares::summed(found, self.wants_squares)
    }
}

/// Gives parameters their gradients.
fn register_all(gradients: &mut Gradients, parents: &[TrackedFlex], found: Summed) {
    squares::note(&found);
    for (parent, found) in parents.iter().zip(found.gradients) {
        register(gradients, parent, found);
    }
}

/// Gives a parent a gradient, which is added to what it has of the operations after this one.
pub fn register(gradients: &mut Gradients, parent: &TrackedFlex, gradient: FlexTensor) {
    let sum = match gradients.remove(parent) {
        None => gradient,
        Some(before) => {
            let _timed = timed(Operation::Additions, 0, 3 * gradient.layout().num_elements());
            Flex::float_add(gradient, before)
        }
    };
    gradients.register::<Flex>(parent.node.id, sum);
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use burn::prelude::*;
    use burn::tensor::Distribution;

    use super::*;
    use crate::Kernels;

    type Training = Autodiff<Flex>;

    const WIDTH: usize = 192;
    const ROWS: usize = 96;

    /// Leaves: matrices and a row, in this order.
    struct Leaves {
        matrices: Vec<Tensor<Training, 2>>,
        bias: Tensor<Training, 1>,
    }

    impl Leaves {
        fn new() -> Self {
            let device = Default::default();
            let spread = Distribution::Normal(0.0, 0.1);
            let matrix = |_| Tensor::random([WIDTH, WIDTH], spread, &device).require_grad();
            Self {
                matrices: (0..5).map(matrix).collect(),
                bias: Tensor::random([WIDTH], spread, &device).require_grad(),
            }
        }

        /// A loss of all of them: one is used twice, and the weight of one layer is computed from a leaf.
        fn loss(&self, x: &Tensor<Training, 2>, precision: Precision) -> Tensor<Training, 1> {
            let Self { matrices, bias } = self;
            let none = Tensor::zeros([WIDTH], &bias.device());
            let [twice, computed, last, frozen, query] = [0, 1, 2, 3, 4].map(|at| matrices[at].clone());
            let mut x = x.clone();
            for weight in [twice.clone(), computed.mul_scalar(0.5), twice] {
                x = Training::k_gelu(Training::k_linear(x, weight, bias.clone(), precision));
            }
            let layers = [(query, bias.clone()), (last.clone(), none.clone()), (last, none)];
            let pack = crate::Pack::new(&[ROWS / 2, ROWS / 2], &[0, 1]);
            let x = Training::k_self_attention(x, layers, 4, &pack, crate::Dropout::OFF, precision);
            Training::k_linear(x, frozen.detach(), bias.clone(), precision).powi_scalar(2).sum()
        }

        /// The bits of all gradients and of their sums of squares; the frozen matrix has none.
        fn bits(&self, mut gradients: Gradients) -> Vec<Option<Vec<u32>>> {
            let matrices =
                self.matrices.iter().map(|matrix| Some(matrix.grad_remove(&mut gradients)?.flatten(0, 1)));
            let mut all: Vec<Option<Tensor<Flex, 1>>> = matrices.collect();
            all.push(self.bias.grad_remove(&mut gradients));
            let found: Vec<_> = all.iter().flatten().cloned().collect();
            all.push(Some(Flex::k_squares(&found)));
            let numbers =
                |tensor: Tensor<Flex, 1>| tensor.into_data().iter::<f32>().map(f32::to_bits).collect();
            all.into_iter().map(|tensor| tensor.map(numbers)).collect()
        }
    }

    #[test]
    fn gradients_have_the_bits_of_those_that_nobody_deferred() {
        assert!(is_shared(ROWS * WIDTH * WIDTH), "large enough to be deferred");
        let leaves = Leaves::new();
        let x = Tensor::random([ROWS, WIDTH], Distribution::Normal(0.0, 1.0), &leaves.bias.device());
        for precision in [Precision::F32, Precision::Bf16] {
            let expected = leaves.bits(leaves.loss(&x, precision).backward());
            assert_eq!(
                expected.iter().map(Option::is_some).collect::<Vec<_>>(),
                [true, true, true, false, true, true, true]
            );
            for (threads, wants_squares) in [(1, true), (2, true), (5, true), (2, false)] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                let found = pool.install(|| {
                    leaves.bits(Training::k_backward(&leaves.loss(&x, precision), wants_squares))
                });
                assert!(found == expected, "{precision:?} on {threads} threads");
            }
        }
    }

    #[test]
    fn nothing_is_deferred_outside_of_a_pass_nor_after_one_that_failed() {
        let leaves = Leaves::new();
        let x = Tensor::ones([ROWS, WIDTH], &leaves.bias.device());
        let failed = catch_unwind(AssertUnwindSafe(|| overlapped(|| panic!("the pass fails"))));
        assert!(failed.is_err() && PASS.take().is_none());
        let gradients = leaves.loss(&x, Precision::F32).backward();
        assert!(leaves.matrices[0].grad(&gradients).is_some());
    }
}
