//! Fused operations with hand-written gradients on burn's flex backend.
//!
//! Each file contains one operation from slices to vectors; `backend` connects them to burn. Sums run
//! in fixed chunks and a fixed order, so results do not depend on the number of threads.

mod activation;
mod adamw;
mod attention;
mod backend;
mod fma;
mod form;
mod form_gradients;
mod fresh;
mod gather;
mod gelu;
mod gradients;
mod lazy;
mod linear;
mod loss;
mod mix;
mod norm;
mod overlap;
mod prefetch;
mod product;
mod relative;
mod residual;
mod rotary;
mod square;
mod squares;
mod tensors;
mod tile;
mod vector;
mod weights;
mod window;

pub use product::{has_matrix_unit, in_matrix_unit, with_matrix_unit};

/// Rows or elements below which an element-wise loop stays on one thread.
const PARALLEL_FROM: usize = 1 << 15;
