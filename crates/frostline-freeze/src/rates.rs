//! Discriminative learning rates: the ratio of a group's rate to the run's rate.

use crate::Group;

/// A factor from block to block: the top block, the norm after it and the head have the run's rate, every block below has this
/// factor times the rate of the block above, and the embeddings come below the lowest block.
///
/// # Source
/// Sun, Qiu, Xu and Huang, *How to Fine-Tune BERT for Text Classification?*, 2019, section 5.3.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerDecay {
    factor: f64,
    depth: usize,
    head_factor: f64,
}

impl LayerDecay {
    /// This factor per block in an encoder of `depth` blocks.
    #[must_use]
    pub const fn new(factor: f64, depth: usize) -> Self {
        Self { factor, depth, head_factor: 1.0 }
    }

    /// Returns the same with heads at this factor of the run's rate.
    #[must_use]
    pub const fn with_head_factor(self, head_factor: f64) -> Self {
        Self { head_factor, ..self }
    }

    /// Returns the factor of the run's rate in this group.
    #[must_use]
    pub fn of(&self, group: Group) -> f64 {
        let below_the_top = match group {
            Group::Head => return self.head_factor,
            Group::Final => 0,
            Group::Block(number) => self.depth.saturating_sub(number + 1),
            Group::Embeddings => self.depth,
        };
        self.factor.powi(i32::try_from(below_the_top).unwrap_or(i32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_fall_from_the_top_down() {
        let rates = LayerDecay::new(0.5, 3);
        let groups = [Group::Head, Group::Block(2), Group::Block(1), Group::Block(0), Group::Embeddings];
        assert_eq!(groups.map(|group| rates.of(group)), [1.0, 1.0, 0.5, 0.25, 0.125]);
        assert!(groups.iter().all(|&group| LayerDecay::new(1.0, 6).of(group) == 1.0));
        let rates = rates.with_head_factor(20.0);
        assert_eq!(groups.map(|group| rates.of(group)), [20.0, 1.0, 0.5, 0.25, 0.125]);
    }
}
