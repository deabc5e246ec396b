#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod baseline;
mod confusion;
pub mod conll18;
pub mod crossed;
mod distribution;
pub mod dunnett;
pub mod entity;
mod error;
pub mod interval;
pub mod linear;
mod median;
pub mod moderation;
mod multiple;
pub mod order;
pub mod paired;
pub mod predict;
pub mod question;
pub mod rank;
pub mod report;
pub mod sequential;
pub mod shapley;
mod spread;
pub mod strata;
pub mod student;
mod summary;
mod tally;
pub mod verdict;

pub use confusion::{Averages, Confusion, Prf, TagScore};
pub use crossed::{CrossedDifference, Scored, Stratum};
pub use error::{ScoreError, SentenceFault};
pub use interval::{Estimate, Limits, Resampling, Share, bootstrap, bootstrap_share, wilson};
pub use median::median;
pub use moderation::SeedScatter;
pub use multiple::holm;
pub use order::{StochasticOrder, almost_stochastic_order, bonferroni, violation_ratio};
pub use paired::{McNemar, PairedBootstrap, paired_bootstrap, paired_permutation};
pub use report::{Comparison, TaggingReport};
pub use sequential::SeedLevels;
pub use spread::{MeanStd, ShareInterval};
pub use strata::{ByFamiliarity, ByLength, Familiarity, Lexicon};
pub use student::MeanInterval;
pub use summary::mean_std;
pub use tally::{Prediction, Tally, WordOutcome};
pub use verdict::{Judged, Needed, Verdict};
