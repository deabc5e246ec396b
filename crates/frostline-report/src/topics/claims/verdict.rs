//! The answer of an interval to a test. One seed decides nothing.

use frostline_record::{Comparisons, Needs};
use serde::Serialize;

use crate::number::fixed;
use crate::study::CellView;

/// The answer of cells to a claim or a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClaimVerdict {
    Supported,
    Contradicted,
    NotDecided,
    /// No cell could answer.
    NotTested,
}

impl ClaimVerdict {
    /// The verdict in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Contradicted => "contradicted",
            Self::NotDecided => "not decided",
            Self::NotTested => "not tested",
        }
    }
}

/// What a test found, or why it found nothing.
#[derive(Clone, Debug)]
pub(super) struct TestAnswer<T> {
    /// What must be for the test to hold.
    pub asks: String,
    pub verdict: ClaimVerdict,
    pub found: Result<T, String>,
}

/// What a difference must be for a test to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WantedDifference {
    /// Below 0 by more than this.
    Below(f64),
    /// Above 0 by more than this.
    Above(f64),
    /// At most this far from 0.
    Within(f64),
    /// At most so far from a gain.
    Near { gain: f64, margin: f64 },
}

/// What a test wants of its comparisons.
#[derive(Clone, Copy, Debug)]
pub(super) struct DifferenceQuestion {
    /// What each difference must be, or their mean.
    pub wanted: WantedDifference,
    /// Whether each comparison must hold, or their mean.
    pub comparisons: Comparisons,
}

impl WantedDifference {
    /// Returns the answer of an interval; without one nothing is decided.
    pub fn verdict(self, interval: Option<[f64; 2]>) -> ClaimVerdict {
        let Some([low, high]) = interval else { return ClaimVerdict::NotDecided };
        let near = |gain: f64, margin: f64| {
            let [low, high] = [low - gain, high - gain];
            (low >= -margin && high <= margin, low > margin || high < -margin)
        };
        let (holds, fails) = match self {
            Self::Below(margin) => (high < -margin, low > -margin),
            Self::Above(margin) => (low > margin, high < margin),
            Self::Within(margin) => near(0.0, margin),
            Self::Near { gain, margin } => near(gain, margin),
        };
        match (holds, fails) {
            (true, _) => ClaimVerdict::Supported,
            (_, true) => ClaimVerdict::Contradicted,
            _ => ClaimVerdict::NotDecided,
        }
    }
}

impl WantedDifference {
    /// How far an interval is inside of what is wanted; negative if a part of it is outside.
    pub fn room(self, [low, high]: [f64; 2]) -> f64 {
        let near = |gain: f64, margin: f64| margin - (low - gain).abs().max((high - gain).abs());
        match self {
            Self::Below(margin) => -margin - high,
            Self::Above(margin) => low - margin,
            Self::Within(margin) => near(0.0, margin),
            Self::Near { gain, margin } => near(gain, margin),
        }
    }
}

/// The verdict on a whole from the verdicts on its parts: the tests of a claim, or the comparisons of a test.
pub(super) fn combine_verdicts(needs: Needs, verdicts: &[ClaimVerdict]) -> ClaimVerdict {
    let (decides, needed) = match needs {
        Needs::All => (ClaimVerdict::Contradicted, ClaimVerdict::Supported),
        Needs::Any => (ClaimVerdict::Supported, ClaimVerdict::Contradicted),
    };
    let all = |wanted| verdicts.iter().all(|&verdict| verdict == wanted);
    if verdicts.contains(&decides) {
        decides
    } else if all(ClaimVerdict::NotTested) {
        ClaimVerdict::NotTested
    } else if all(needed) {
        needed
    } else {
        ClaimVerdict::NotDecided
    }
}

/// Whether a cell has a setting at this value; 1 and 1.0 are one value.
pub(super) fn has_setting(view: &CellView, path: &str, value: &toml::Value) -> bool {
    let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|value| value as f64));
    view.cell.settings.get(path).is_some_and(|found| match (number(&found), number(value)) {
        (Some(found), Some(wanted)) => found == wanted,
        _ => found == *value,
    })
}

/// A margin in words: nothing, or ` by more than 0.5 points`.
pub(super) fn by_more_than(margin: f64, unit: &str) -> String {
    if margin > 0.0 { format!(" by more than {}", show_amount(margin, unit)) } else { String::new() }
}

/// Returns a number with its unit, points or percent.
pub(super) fn show_amount(value: f64, unit: &str) -> String {
    let unit = if value == 1.0 && unit == "points" { "point" } else { unit };
    format!("{} {unit}", shorten_number(value))
}

/// A number with as many decimals as it has, at most four.
pub(super) fn shorten_number(value: f64) -> String {
    let text = fixed(value, 4);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_decide_and_single_seeds_do_not() {
        use ClaimVerdict::{Contradicted, NotDecided, Supported};
        let cases = [
            (WantedDifference::Below(0.0), [-2.0, -1.0], Supported),
            (WantedDifference::Below(0.0), [-2.0, 1.0], NotDecided),
            (WantedDifference::Above(-0.5), [-0.4, 1.0], Supported),
            (WantedDifference::Above(-0.5), [-0.6, 0.0], NotDecided),
            (WantedDifference::Above(-0.5), [-1.0, -0.6], Contradicted),
            (WantedDifference::Below(0.0), [1.0, 2.0], Contradicted),
            (WantedDifference::Below(0.0), [0.0, 0.0], NotDecided),
            (WantedDifference::Below(1.5), [-2.0, -1.0], NotDecided),
            (WantedDifference::Below(1.5), [-1.0, -0.5], Contradicted),
            (WantedDifference::Above(0.5), [0.6, 0.7], Supported),
            (WantedDifference::Above(0.5), [0.1, 0.4], Contradicted),
            (WantedDifference::Above(0.5), [0.1, 0.7], NotDecided),
            (WantedDifference::Within(0.5), [-0.5, 0.4], Supported),
            (WantedDifference::Within(0.5), [-0.6, 0.4], NotDecided),
            (WantedDifference::Within(0.5), [0.6, 0.7], Contradicted),
            (WantedDifference::Within(0.5), [-0.7, -0.6], Contradicted),
            (WantedDifference::Near { gain: 8.0, margin: 1.0 }, [7.5, 8.5], Supported),
            (WantedDifference::Near { gain: 8.0, margin: 1.0 }, [6.5, 8.5], NotDecided),
            (WantedDifference::Near { gain: 8.0, margin: 1.0 }, [5.0, 6.5], Contradicted),
            (WantedDifference::Near { gain: 8.0, margin: 1.0 }, [9.5, 11.0], Contradicted),
            (WantedDifference::Near { gain: 8.0, margin: 1.0 }, [-0.5, 0.5], Contradicted),
        ];
        for (wanted, interval, expected) in cases {
            assert_eq!(wanted.verdict(Some(interval)), expected, "{wanted:?} {interval:?}");
        }
        assert_eq!(WantedDifference::Below(0.0).verdict(None), NotDecided);
    }

    #[test]
    fn tests_make_a_verdict_together() {
        use ClaimVerdict::{Contradicted, NotDecided, NotTested, Supported};
        let cases = [
            (Needs::All, vec![Supported, Supported], Supported),
            (Needs::All, vec![Supported, NotDecided], NotDecided),
            (Needs::All, vec![NotDecided, Contradicted], Contradicted),
            (Needs::All, vec![Supported, NotTested], NotDecided),
            (Needs::All, vec![NotTested], NotTested),
            (Needs::Any, vec![Contradicted, Supported], Supported),
            (Needs::Any, vec![Contradicted, Contradicted], Contradicted),
            (Needs::Any, vec![Contradicted, NotTested], NotDecided),
        ];
        for (needs, verdicts, expected) in cases {
            assert_eq!(combine_verdicts(needs, &verdicts), expected, "{needs:?} {verdicts:?}");
        }
    }

    #[test]
    fn room_is_left_where_a_test_holds_and_lacks_elsewhere() {
        let cases = [
            (WantedDifference::Below(0.5), [-2.0, -0.75], 0.25),
            (WantedDifference::Above(-0.5), [-0.25, 1.0], 0.25),
            (WantedDifference::Above(-0.5), [-1.0, 1.0], -0.5),
            (WantedDifference::Within(0.5), [-0.25, 0.0], 0.25),
            (WantedDifference::Within(0.5), [-0.25, 0.75], -0.25),
            (WantedDifference::Near { gain: 8.0, margin: 1.0 }, [7.5, 8.25], 0.5),
        ];
        for (wanted, interval, room) in cases {
            assert_eq!(wanted.room(interval), room, "{wanted:?} {interval:?}");
        }
    }
}
