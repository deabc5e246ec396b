//! Scores of an encoder's blocks on a task's data, as a worker computes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BlockScore, Cell};

/// Cells whose encoders' blocks are scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreJob {
    /// The cells, each of another encoder or of other data.
    pub cells: Vec<Cell>,
    /// Train sentences whose gradients are computed, at most.
    pub sentences: usize,
}

/// Scores of the blocks of a cell's encoder before training, from the input to the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockScores {
    /// The cell.
    pub cell: String,
    /// The numbers of the train sentences whose gradients were computed, from 0, in the order in which batches have them.
    pub sentences: Vec<usize>,
    /// Sentences of a batch.
    pub batch: usize,
    /// Diagonal Fisher information: the mean of a squared derivative.
    pub fisher: Vec<f64>,
    /// The norm of a batch's gradient as a share of the norm of the parameters.
    pub relative_gradient: Vec<f64>,
    /// The squared mean of a derivative divided by its variance.
    pub signal_to_noise: Vec<f64>,
    /// The sentences that probes read, likewise: two thirds to be fitted, the others to be scored.
    pub probed: Vec<usize>,
    /// The accuracies in \[0, 1\] of logistic regressions on the output of the embeddings and of each block: one more than there
    /// are blocks. Empty if there are too few sentences.
    pub probe_accuracy: Vec<f64>,
    /// The change of the parameters in a short run that trains everything, as a share of their norm.
    pub drift: Vec<f64>,
    /// Steps of that run.
    pub drift_steps: u64,
    /// The time that all of it took.
    pub seconds: f64,
}

impl BlockScores {
    /// Returns how much accuracy a logistic regression gains from each block over the output below it; empty without probes.
    #[must_use]
    pub fn probe_gains(&self) -> Vec<f64> {
        self.probe_accuracy.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Returns a score of each block; empty if there is none.
    #[must_use]
    pub fn of_score(&self, score: BlockScore) -> Vec<f64> {
        match score {
            BlockScore::Fisher => self.fisher.clone(),
            BlockScore::Rgn => self.relative_gradient.clone(),
            BlockScore::Snr => self.signal_to_noise.clone(),
            BlockScore::Probe => self.probe_gains(),
            BlockScore::Drift => self.drift.clone(),
            BlockScore::Random => Vec::new(),
        }
    }

    /// Returns the scores that there are by name, in the order in which they are shown.
    #[must_use]
    pub fn named_scores(&self) -> Vec<(&'static str, Vec<f64>)> {
        let all = BlockScore::ALL.into_iter().map(|score| (score.name(), self.of_score(score)));
        all.filter(|(_, scores)| !scores.is_empty()).collect()
    }
}

/// What a sweep stores of them, so that its report can compare scores with what freezing each block cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellScores {
    /// The id of the cell that freezes nothing.
    pub cell: String,
    /// For each score that there is a value for each block, from the input to the output.
    pub scores: BTreeMap<BlockScore, Vec<f64>>,
}

impl From<&BlockScores> for CellScores {
    /// Leaves out a score that is not a number for some block.
    fn from(all: &BlockScores) -> Self {
        let scores = BlockScore::ALL.into_iter().map(|score| (score, all.of_score(score)));
        let usable = |values: &Vec<f64>| !values.is_empty() && values.iter().all(|value| value.is_finite());
        Self { cell: all.cell.clone(), scores: scores.filter(|(_, values)| usable(values)).collect() }
    }
}

/// Returns blocks from the highest score to the lowest; of equal ones the lower block comes first.
#[must_use]
pub fn rank_blocks(scores: &[f64]) -> Vec<usize> {
    let mut blocks: Vec<usize> = (0..scores.len()).collect();
    blocks.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_ranked_by_score_and_then_by_place() {
        assert_eq!(rank_blocks(&[0.1, 0.5, 0.5, -0.2]), [1, 2, 0, 3]);
        assert_eq!(rank_blocks(&[]), [0_usize; 0]);
    }
}
