//! Owns the figures that the study's sibling published on sentiment.
//!
//! Refuses figures that do not agree with one another: a test holds accuracies against confusions.

use serde::Deserialize;

/// The figures; see the head of the file for their source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sibling {
    pub encoder: String,
    pub train_sentences: u64,
    pub test_sentences: u64,
    pub epochs: u32,
    pub head_only: Run,
    pub full: Run,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub trainable: u64,
    pub dev_accuracy: Vec<f64>,
    pub dev_loss_nats: Vec<f64>,
    pub train_loss_nats: Vec<f64>,
    pub test_accuracy: f64,
    pub test_f1: f64,
    pub confusion: [[u64; 2]; 2],
}

impl Sibling {
    pub fn load() -> Self {
        toml::from_str(include_str!("../../data/published_sst2.toml")).expect("a test reads the same file")
    }

    /// The two runs: the policy that is theirs, and their name.
    pub fn runs(&self) -> [(&'static str, &'static str, &Run); 2] {
        [("head-only", "head only", &self.head_only), ("none", "everything", &self.full)]
    }
}

#[cfg(test)]
mod tests {
    use frostline_score::Confusion;

    use super::*;

    #[test]
    fn the_embedded_figures_agree_with_one_another() {
        let sibling = Sibling::load();
        for (_, name, run) in sibling.runs() {
            let counts =
                Confusion { counts: run.confusion.map(Vec::from).to_vec(), ..Confusion::new(["0", "1"]) };
            assert_eq!(counts.words(), sibling.test_sentences, "{name}");
            let accuracy = counts.correct() as f64 / counts.words() as f64;
            assert!((accuracy - run.test_accuracy).abs() < 1e-12, "{name}: {accuracy}");
            assert!((counts.per_tag()[1].prf.f1 - run.test_f1).abs() < 1e-12, "{name}");
            assert_eq!(run.dev_accuracy.len(), sibling.epochs as usize);
        }
        assert!(sibling.full.trainable > 100 * sibling.head_only.trainable);
    }
}
