//! What an encoder's architecture determines about its operations: the activation of a feed-forward layer, and the form of
//! attention.

use std::sync::Arc;

/// The function between the two layers of a feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x Φ(x), with the exact error function.
    Gelu,
    /// The approximation of GELU by a hyperbolic tangent.
    GeluTanh,
    /// max(x, 0).
    Relu,
    /// x / (1 + e⁻ˣ).
    Silu,
}

impl Activation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Gelu, Self::GeluTanh, Self::Relu, Self::Silu];
}

/// The form of attention in a block.
#[derive(Clone, Debug)]
pub struct AttentionForm {
    /// Number of heads.
    pub heads: usize,
    /// Queries and keys are rotated by their positions, if given.
    pub rotary: Option<Rotary>,
    /// The distance up to which a position sees others of its sentence; without it, it sees all of them.
    pub window: Option<usize>,
}

impl AttentionForm {
    /// Attention to the whole sentence, without rotations.
    #[must_use]
    pub const fn plain(heads: usize) -> Self {
        Self { heads, rotary: None, window: None }
    }

    /// Returns whether there is neither a rotation nor a window.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        self.rotary.is_none() && self.window.is_none()
    }
}

/// Rotary position embeddings: channel i of a head and channel i + D/2 are a point in the plane, which is rotated by
/// its position times base^(-2i/D).
///
/// # Source
/// Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding*, 2021.
#[derive(Clone, Debug)]
pub struct Rotary {
    /// Half of the channels of a head, D/2.
    half: usize,
    /// Cosine and sine of each angle, \[positions, D/2, 2\].
    turns: Arc<[[f32; 2]]>,
}

impl Rotary {
    /// Returns the rotations for heads of `channels` channels at this many positions. The angles are products of f32, as in
    /// PyTorch, since far from the start of a text rounding them in another way changes the result.
    ///
    /// # Panics
    /// If the number of channels is odd.
    #[must_use]
    pub fn new(base: f64, channels: usize, positions: usize) -> Self {
        assert!(channels.is_multiple_of(2), "{channels} channels of a head make no pairs");
        let half = channels / 2;
        let frequency = |i: usize| {
            let exponent = (2 * i) as f32 / channels as f32;
            1.0 / libm::pow(base, f64::from(exponent)) as f32
        };
        let frequencies: Vec<f32> = (0..half).map(frequency).collect();
        let turn = |angle: f32| {
            let (sine, cosine) = libm::sincos(f64::from(angle));
            [cosine as f32, sine as f32]
        };
        let of_position =
            |position| frequencies.iter().map(move |frequency| turn(position as f32 * frequency));
        Self { half, turns: (0..positions).flat_map(of_position).collect() }
    }

    /// Returns half of the channels of a head, D/2.
    #[must_use]
    pub const fn half(&self) -> usize {
        self.half
    }

    /// Returns cosine and sine of each angle at a position, \[D/2\].
    ///
    /// # Panics
    /// If there are fewer positions.
    #[must_use]
    pub fn turns(&self, position: usize) -> &[[f32; 2]] {
        &self.turns[position * self.half..(position + 1) * self.half]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_grow_with_the_position_and_fall_with_the_channel() {
        let rotary = Rotary::new(100.0, 4, 3);
        assert_eq!(rotary.turns(0), [[1.0, 0.0]; 2]);
        let [[cosine, sine], [_, slow]] = [rotary.turns(2)[0], rotary.turns(2)[1]];
        assert!((f64::from(cosine) - 2f64.cos()).abs() < 1e-7 && (f64::from(sine) - 2f64.sin()).abs() < 1e-7);
        assert!((f64::from(slow) - 0.2f64.sin()).abs() < 1e-7);
    }
}
