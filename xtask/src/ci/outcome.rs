//! How a step ends.

use frostline_sweep::say;

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Passed,
    Failed,
    /// It could not run on this machine, for this reason.
    Skipped(String),
}

impl StepOutcome {
    /// The end of a check that ran.
    pub(super) fn from_passed(passed: bool) -> Self {
        if passed { Self::Passed } else { Self::Failed }
    }

    /// The end of a step that cannot run here, which is shown at once too.
    pub(super) fn skip_here(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        say!("NOTHING IS CHECKED: {reason}");
        Self::Skipped(reason)
    }
}
