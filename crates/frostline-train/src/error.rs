//! What can stop a run.

use frostline_record::DIVERGED;

/// What can stop a run.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A sentence could not be aligned.
    #[error("sentence {number} of {split}: {source}")]
    Align {
        /// The split.
        split: String,
        /// The sentence, counted from 1.
        number: usize,
        /// Why.
        source: frostline_align::AlignError,
    },
    /// Nothing is left of a sentence.
    #[error(
        "sentence {number} of {split} has no subword: the tokenizer makes nothing of its words and adds no \
         special tokens; leave it out"
    )]
    NoSubword {
        /// The split.
        split: String,
        /// The sentence, counted from 1.
        number: usize,
    },
    /// A split has no sentence.
    #[error("the {split} split has no sentence to work on; check the file and `data.first`")]
    EmptySplit {
        /// The split.
        split: String,
    },
    /// The loss is NaN or infinite.
    #[error("{DIVERGED}{loss} at step {step} (learning rate {lr:e}); {}", advice_on_divergence(*step))]
    Diverged {
        /// The step, counted from 1.
        step: u64,
        /// The loss.
        loss: f32,
        /// The step's learning rate.
        lr: f64,
    },
    /// The model's output is NaN or infinite.
    #[error(
        "the model's output for sentence {sentence} is NaN or infinite, so it predicts nothing; try a lower \
         `optimizer.lr`, or other weights if it has not been trained yet"
    )]
    NotFinite {
        /// The sentence of the split, counted from 1.
        sentence: usize,
    },
    /// A checkpoint cannot be read, or belongs to another model.
    #[error("the checkpoint cannot be read: {reason}; delete it to start the run again")]
    Checkpoint {
        /// Why.
        reason: String,
    },
    /// First weights could not be made.
    #[error(transparent)]
    Model(#[from] frostline_model::ModelError),
    /// A frozen parameter changed, which is a bug in Frostline.
    #[error("`{path}` is frozen but changed during training; this is a bug in Frostline, please report it")]
    FrozenChanged {
        /// The parameter.
        path: String,
    },
}

/// The next step after a loss that is no number: before the second step no learning rate can be its cause.
fn advice_on_divergence(step: u64) -> &'static str {
    match step {
        0 | 1 => {
            "nothing has been learned yet, so the learning rate is not the cause: check the encoder's weights, and the \
             factors of what the policy adds (`lora.alpha`) and of the tasks (`weight`)"
        }
        _ => "training diverged: try a lower `optimizer.lr` or a warm-up (`schedule.warmup`)",
    }
}
