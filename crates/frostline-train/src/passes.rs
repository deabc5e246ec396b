//! Forward passes over a split that nothing learns from.

use frostline_kernels::Kernels;
use frostline_kernels::backend::MatrixUnitChoice;

use crate::Dataset;

/// Computes a forward pass on `B` for each stretch of `order` of at most `tokens` subwords, and hands what it returns to `take`, in
/// order; see [`frostline_model::passes`].
///
/// # Errors
/// Those of `take`.
pub(crate) fn forward_passes<B: Kernels, T: Send, E>(
    data: &Dataset,
    order: &[usize],
    tokens: usize,
    pass: impl Fn(&[usize]) -> T + Sync,
    take: impl FnMut(&[usize], T) -> Result<(), E>,
) -> Result<(), E> {
    let choice = MatrixUnitChoice::here();
    let pass = |batch: &[usize]| choice.run(|| pass(batch));
    frostline_model::passes(choice.passes_on_threads::<B>(), order, tokens, data.lengths(), pass, take)
}
