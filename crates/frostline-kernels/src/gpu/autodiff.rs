//! Operations with gradients of their own in burn's differentiating backend.

use std::fmt;

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::prelude::*;
use burn::tensor::ops::FloatTensor;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime};

use super::{Cube, wrap};

/// A tensor of the differentiating backend.
pub(super) type TrackedCube<R, BT> = FloatTensor<Autodiff<Cube<R, BT>>>;

/// The contiguous values of a tensor with its place in the graph.
pub(super) fn tracked<R: CubeRuntime, BT: BoolElement, C: CheckpointStrategy, const D: usize>(
    tensor: Tensor<Autodiff<Cube<R, BT>, C>, D>,
) -> TrackedCube<R, BT> {
    let mut tensor = tensor.into_primitive().tensor();
    tensor.primitive = into_contiguous(tensor.primitive);
    tensor
}

/// The gradients of an operation's parents, of which some are needed.
type ParentGradients<R, const N: usize> = [Option<CubeTensor<R>>; N];

/// Gradients from what was kept, the gradient of the output, and which parents need one.
pub(super) type Gradient<R, S, const N: usize> = fn(S, CubeTensor<R>, [bool; N]) -> ParentGradients<R, N>;

/// The same, and from what the first parent has of later operations, to which its gradient is added.
pub(super) type SummedGradient<R, S, const N: usize> =
    fn(S, CubeTensor<R>, Option<CubeTensor<R>>, [bool; N]) -> ParentGradients<R, N>;

/// How an operation's gradients are computed.
pub(super) enum GradientRule<R: CubeRuntime, S, const N: usize> {
    Gradient(Gradient<R, S, N>),
    Sum(SummedGradient<R, S, N>),
}

impl<R: CubeRuntime, S, const N: usize> fmt::Debug for GradientRule<R, S, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an operation of {N} parents")
    }
}

impl<R, BT, S, const N: usize> Backward<Cube<R, BT>, N> for GradientRule<R, S, N>
where
    R: CubeRuntime,
    BT: BoolElement,
    S: Clone + Send + fmt::Debug + 'static,
{
    type State = S;

    fn backward(self, ops: Ops<S, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = into_contiguous(gradients.consume::<Cube<R, BT>>(&ops.node));
        let needed = std::array::from_fn(|at| ops.parents[at].is_some());
        let found = match self {
            Self::Gradient(of) => of(ops.state, gradient, needed),
            Self::Sum(of) => {
                let before = ops.parents[0].as_ref().and_then(|node| {
                    // Only the node counts.
                    let mut parent = TrackedCube::<R, BT>::new(gradient.clone());
                    parent.node = node.clone();
                    gradients.remove(&parent).map(into_contiguous)
                });
                of(ops.state, gradient, before, needed)
            }
        };
        for (parent, gradient) in ops.parents.into_iter().zip(found) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                gradients.register::<Cube<R, BT>>(parent.id, gradient);
            }
        }
    }
}

/// An operation's output as a node of the graph. What was kept is dropped where no parent needs a gradient.
pub(super) fn node<R, BT, C, S, const N: usize, const D: usize>(
    parents: [&TrackedCube<R, BT>; N],
    out: CubeTensor<R>,
    kept: S,
    rule: GradientRule<R, S, N>,
) -> Tensor<Autodiff<Cube<R, BT>, C>, D>
where
    R: CubeRuntime,
    BT: BoolElement,
    C: CheckpointStrategy,
    S: Clone + Send + fmt::Debug + 'static,
{
    let nodes = parents.map(|parent| parent.node.clone());
    wrap(match Backward::<Cube<R, BT>, N>::prepare::<C>(rule, nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(kept, out),
        OpsKind::UnTracked(prepared) => prepared.finish(out),
    })
}
