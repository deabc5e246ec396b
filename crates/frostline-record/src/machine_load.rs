//! How busy a machine was with other work while something was timed.

use serde::{Deserialize, Serialize};

/// Other work on the machine while something was timed; a number is absent if the system does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Processes that wanted to run, as a mean over the minute before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// Share of the processors' time that other virtual machines took, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<f64>,
    /// Share of the processors' time that other programs took, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// The processors' frequency at the end in MHz, as a mean over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mhz: Option<f64>,
}

/// Other virtual machines that take more of the processors' time make times longer.
const MOST_STOLEN: f64 = 0.01;

/// Other programs that take more of it do too.
const MOST_OTHERS: f64 = 0.1;

impl Load {
    /// Returns whether other work made times longer: more than a hundredth of the processors' time went to
    /// other virtual machines, or more than a tenth to other programs.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.much_stolen().or(self.much_by_others()).is_some()
    }

    /// Returns the share of other virtual machines, if it made times longer.
    #[must_use]
    pub fn much_stolen(&self) -> Option<f64> {
        self.stolen.filter(|&share| share > MOST_STOLEN)
    }

    /// Returns the share of other programs, if it made times longer.
    #[must_use]
    pub fn much_by_others(&self) -> Option<f64> {
        self.others.filter(|&share| share > MOST_OTHERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_busy_by_what_others_take() {
        let load = |stolen, others| Load { before: Some(40.0), stolen, others, mhz: None };
        for (stolen, others, expected) in [
            (None, None, false),
            (Some(0.0), Some(0.1), false),
            (Some(0.02), Some(0.0), true),
            (None, Some(0.11), true),
        ] {
            assert_eq!(load(stolen, others).is_busy(), expected, "{stolen:?} {others:?}");
        }
    }

    /// Records of before the numbers were noted are read, and written as they were.
    #[test]
    fn a_load_of_before_is_read() {
        let old = r#"{"before":3.4,"stolen":0.08}"#;
        let load: Load = serde_json::from_str(old).expect("an old load");
        assert_eq!(serde_json::to_string(&load).expect("plain data"), old);
    }
}
