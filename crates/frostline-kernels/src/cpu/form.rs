//! Attention of any form: over whole sentences or within a window, of queries and keys that are already rotated.

use super::attention::{self, SavedAttention};
use super::window;
use crate::{AttentionForm, Dropout, Pack};

/// The context \[N, H\], and what the backward pass needs.
pub fn forward(
    [q, k, v]: [&[f32]; 3],
    h: usize,
    form: &AttentionForm,
    pack: &Pack,
    dropout: Dropout,
) -> (Vec<f32>, SavedAttention) {
    match form.window {
        None => attention::forward(q, k, v, h, form.heads, pack, dropout),
        Some(window) => window::forward([q, k, v], h, form.heads, window, pack, dropout),
    }
}

/// The gradients of q, k and v, \[N, H\] each, from the gradient of the context.
pub fn backward(
    gradient: &[f32],
    [q, k, v]: [&[f32]; 3],
    h: usize,
    form: &AttentionForm,
    pack: &Pack,
    dropout: Dropout,
    saved: &SavedAttention,
) -> [Vec<f32>; 3] {
    match form.window {
        None => attention::backward(gradient, q, k, v, h, form.heads, pack, dropout, saved),
        Some(window) => window::backward(gradient, [q, k, v], h, form.heads, window, pack, dropout, saved),
    }
}
