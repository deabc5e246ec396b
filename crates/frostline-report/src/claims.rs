//! Owns the verdicts on a plan's claims, from the cells that decide them.
//!
//! Refuses a verdict from one seed, and one that a 95 % interval does not give.

mod convergence;
mod differences;
mod gauge;
mod rows;

use frostline_record::{Claim, ClaimTest, Needs};
use serde::Serialize;

use crate::Report;
use crate::number::fixed;
use crate::summary::CellView;

pub(crate) use convergence::{Convergence, Interval};
pub(crate) use rows::{Differences, Row};

/// What cells say to a claim or a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Supported,
    Contradicted,
    NotDecided,
    /// No cell could say anything.
    NotTested,
}

impl Verdict {
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

/// A claim with its verdict.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Judged {
    pub says: String,
    pub verdict: Verdict,
    pub needs: Needs,
    pub tests: Vec<Tested>,
}

/// A test of a claim.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tested {
    /// What must be for the test to hold.
    pub asks: String,
    pub verdict: Verdict,
    pub found: Found,
}

/// What a test found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Found {
    Differences(Differences),
    Convergence(Convergence),
    /// Why there is nothing.
    Nothing(String),
}

/// What a difference must be for a test to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// Below 0 by more than this.
    Below(f64),
    /// Above 0 by more than this.
    Above(f64),
    /// At most this far from 0.
    Within(f64),
}

impl Wanted {
    /// What an interval says; without one nothing is decided.
    pub fn verdict(self, interval: Option<[f64; 2]>) -> Verdict {
        let Some([low, high]) = interval else { return Verdict::NotDecided };
        let (holds, fails) = match self {
            Self::Below(margin) => (high < -margin, low > -margin),
            Self::Above(margin) => (low > margin, high < margin),
            Self::Within(margin) => (low >= -margin && high <= margin, low > margin || high < -margin),
        };
        match (holds, fails) {
            (true, _) => Verdict::Supported,
            (_, true) => Verdict::Contradicted,
            _ => Verdict::NotDecided,
        }
    }
}

/// All claims of the plan.
pub(crate) fn judge(report: &Report) -> Vec<Judged> {
    report.sweep.plan.claims.iter().map(|claim| of_claim(report, claim)).collect()
}

fn of_claim(report: &Report, claim: &Claim) -> Judged {
    let cells: Vec<&CellView> = report.cells.iter().filter(|view| allowed(claim, view)).collect();
    let tests: Vec<Tested> = claim.tests.iter().map(|test| of_test(report, &cells, test)).collect();
    let verdicts: Vec<Verdict> = tests.iter().map(|test| test.verdict).collect();
    Judged { says: claim.says.clone(), verdict: together(claim.needs, &verdicts), needs: claim.needs, tests }
}

fn of_test(report: &Report, cells: &[&CellView], test: &ClaimTest) -> Tested {
    match test {
        ClaimTest::Less(test) => differences::less(report, cells, test),
        ClaimTest::EqualWithin(test) => differences::equal_within(report, cells, test),
        ClaimTest::Converged(test) => convergence::converged(report, cells, test),
        ClaimTest::MoreOf(test) => differences::more_of(report, cells, test),
        ClaimTest::Drift(test) => differences::drift(report, cells, test),
    }
}

/// The verdict on a claim from those on its tests.
fn together(needs: Needs, verdicts: &[Verdict]) -> Verdict {
    let (decides, needed) = match needs {
        Needs::All => (Verdict::Contradicted, Verdict::Supported),
        Needs::Any => (Verdict::Supported, Verdict::Contradicted),
    };
    let all = |wanted| verdicts.iter().all(|&verdict| verdict == wanted);
    if verdicts.contains(&decides) {
        decides
    } else if all(needed) {
        needed
    } else if all(Verdict::NotTested) {
        Verdict::NotTested
    } else {
        Verdict::NotDecided
    }
}

/// Whether a claim speaks of a cell.
fn allowed(claim: &Claim, view: &CellView) -> bool {
    claim.only.iter().all(|(path, value)| {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        values.iter().any(|value| has(view, path, value))
    })
}

/// Whether a cell has a setting at this value; 1 and 1.0 are one value.
fn has(view: &CellView, path: &str, value: &toml::Value) -> bool {
    let pointer = format!("/{}", path.replace('.', "/"));
    let settings = serde_json::to_value(&view.cell.settings).unwrap_or_default();
    let (found, wanted) = (settings.pointer(&pointer), serde_json::to_value(value).unwrap_or_default());
    found.is_some_and(|found| match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => found == wanted,
        _ => *found == wanted,
    })
}

/// A margin in words: nothing, or ` by more than 0.5 points`.
fn by_more_than(margin: f64, unit: &str) -> String {
    if margin > 0.0 { format!(" by more than {} {unit}", short(margin)) } else { String::new() }
}

/// A number with as many decimals as it has, at most four.
fn short(value: f64) -> String {
    let text = fixed(value, 4);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_decide_and_single_seeds_do_not() {
        use Verdict::{Contradicted, NotDecided, Supported};
        let cases = [
            (Wanted::Below(0.0), [-2.0, -1.0], Supported),
            (Wanted::Below(0.0), [-2.0, 1.0], NotDecided),
            (Wanted::Below(0.0), [1.0, 2.0], Contradicted),
            (Wanted::Below(0.0), [0.0, 0.0], NotDecided),
            (Wanted::Below(1.5), [-2.0, -1.0], NotDecided),
            (Wanted::Below(1.5), [-1.0, -0.5], Contradicted),
            (Wanted::Above(0.5), [0.6, 0.7], Supported),
            (Wanted::Above(0.5), [0.1, 0.4], Contradicted),
            (Wanted::Above(0.5), [0.1, 0.7], NotDecided),
            (Wanted::Within(0.5), [-0.5, 0.4], Supported),
            (Wanted::Within(0.5), [-0.6, 0.4], NotDecided),
            (Wanted::Within(0.5), [0.6, 0.7], Contradicted),
            (Wanted::Within(0.5), [-0.7, -0.6], Contradicted),
        ];
        for (wanted, interval, expected) in cases {
            assert_eq!(wanted.verdict(Some(interval)), expected, "{wanted:?} {interval:?}");
        }
        assert_eq!(Wanted::Below(0.0).verdict(None), NotDecided);
    }

    #[test]
    fn tests_make_a_verdict_together() {
        use Verdict::{Contradicted, NotDecided, NotTested, Supported};
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
            assert_eq!(together(needs, &verdicts), expected, "{needs:?} {verdicts:?}");
        }
    }
}
