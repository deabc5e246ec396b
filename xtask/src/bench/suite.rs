//! The figures that are measured, the sections that they belong to, and how two figures are compared.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Figures that are measured together, and stored and shown as one section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Suite {
    /// Time per training step and peak memory, by policy
    Steps,
    /// Time per training step of a GPU, in two precisions and two sizes of a step: a part of `cargo xtask device`
    Device,
    /// Speed of parsing CoNLL-U and of splitting words into subwords
    Reading,
    /// Tagging a test file with a trained model; trains one first, so only on request
    Tagging,
    /// From the start of the command to its first training step; saves a model first where an encoder has no weights, so
    /// only on request
    Starts,
    /// Whole runs with dev scored after each epoch, in time and accuracy
    Runs,
    /// The study's sweeps, cut to half an hour with a peer; only on request
    ShortSweeps,
    /// The study's whole sweeps; hours with a peer, so only on request
    Sweeps,
}

/// A figure that both sides report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Mean time of a training step.
    Step,
    /// Peak resident memory of the process.
    Memory,
    /// Parsing, in sentences.
    Parse,
    /// Parsing, in bytes.
    ParseBytes,
    /// Aligning.
    Align,
    /// Tagging, in sentences.
    Tag,
    /// From the start of the command to its first training step.
    Start,
    /// The same where nothing was kept of earlier commands.
    FirstStart,
    /// Total time, including the start of the process.
    Wall,
    /// Training time, including the computation of a cached prefix.
    Train,
}

impl Measure {
    /// Its key in both sides' output.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Step => "step_ms_mean",
            Self::Memory => "peak_rss_mib",
            Self::Parse => "parse_sentences_per_s",
            Self::ParseBytes => "parse_mb_per_s",
            Self::Align => "align_sentences_per_s",
            Self::Tag => "tag_sentences_per_s",
            Self::Start => "start_s",
            Self::FirstStart => "first_start_s",
            Self::Wall => "wall_s",
            Self::Train => "train_s",
        }
    }

    /// Its unit in tables.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Step => "ms",
            Self::Memory => "MiB",
            Self::Parse | Self::Align | Self::Tag => "sentences/s",
            Self::ParseBytes => "MB/s",
            Self::Start | Self::FirstStart | Self::Wall | Self::Train => "s",
        }
    }

    /// The heading of its table.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Step => "Time per training step",
            Self::Memory => "Peak memory",
            Self::Parse => "Parsing, in sentences",
            Self::ParseBytes => "Parsing, in bytes",
            Self::Align => "Alignment",
            Self::Tag => "Tagging",
            Self::Start => "Time to the first step",
            Self::FirstStart => "Time to the first step where nothing was kept of earlier commands",
            Self::Wall => "Time from start to end",
            Self::Train => "Time of training, a cached prefix included",
        }
    }

    /// How many times better we are: less time or memory, more speed.
    pub(crate) fn ratio(self, ours: f64, peer: f64) -> f64 {
        match self {
            Self::Parse | Self::ParseBytes | Self::Align | Self::Tag => ours / peer,
            _ => peer / ours,
        }
    }
}

impl Suite {
    /// The figures of its tables.
    pub(crate) const fn measures(self) -> &'static [Measure] {
        match self {
            Self::Steps => &[Measure::Step, Measure::Memory],
            Self::Device => &[Measure::Step],
            Self::Reading => &[Measure::Parse, Measure::ParseBytes, Measure::Align],
            Self::Tagging => &[Measure::Tag, Measure::Memory],
            Self::Starts => &[Measure::Start, Measure::FirstStart],
            Self::Runs | Self::ShortSweeps | Self::Sweeps => &[Measure::Wall, Measure::Train],
        }
    }

    /// Its heading.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Steps => "Training steps",
            Self::Device => "Training steps on a GPU",
            Self::Reading => "Reading",
            Self::Tagging => "Using what was trained",
            Self::Starts => "Starts",
            Self::Runs => "Whole runs",
            Self::ShortSweeps => "Shorter sweeps",
            Self::Sweeps => "Whole sweeps",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_above_one_is_always_our_gain() {
        assert_eq!(Measure::Step.ratio(100.0, 400.0), 4.0);
        assert_eq!(Measure::Parse.ratio(400.0, 100.0), 4.0);
    }
}
