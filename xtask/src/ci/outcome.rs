//! How a step ends.

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    /// It could not run on this machine, for this reason.
    Skipped(String),
}

impl Outcome {
    /// Of a check that ran.
    pub(super) fn of(passed: bool) -> Self {
        if passed { Self::Passed } else { Self::Failed }
    }
}
