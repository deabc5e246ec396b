//! The verdicts on a plan's claims, from the cells that decide them.

use frostline_record::{Claim, ClaimTest, Needs};
use serde::Serialize;

use crate::study::{CellView, Study};
use crate::topics::claims::convergence::{self, NearEnd};
use crate::topics::claims::differences;
use crate::topics::claims::rows::Differences;
use crate::topics::claims::verdict::{Answer, Verdict, has};

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
    Convergence(NearEnd),
    /// Why there is nothing.
    Nothing(String),
}

impl Tested {
    fn of<T>(answer: Answer<T>, found: fn(T) -> Found) -> Self {
        let Answer { asks, verdict, found: answer } = answer;
        Self { asks, verdict, found: answer.map_or_else(Found::Nothing, found) }
    }
}

/// All claims of the plan.
pub(super) fn judge(study: &Study) -> Vec<Judged> {
    study.sweep.plan.claims.iter().map(|claim| of_claim(study, claim)).collect()
}

fn of_claim(study: &Study, claim: &Claim) -> Judged {
    let cells: Vec<&CellView> = study.cells.iter().filter(|view| allowed(claim, view)).collect();
    let tests: Vec<Tested> = claim.tests.iter().map(|test| of_test(study, &cells, test)).collect();
    let verdicts: Vec<Verdict> = tests.iter().map(|test| test.verdict).collect();
    Judged { says: claim.says.clone(), verdict: together(claim.needs, &verdicts), needs: claim.needs, tests }
}

fn of_test(study: &Study, cells: &[&CellView], test: &ClaimTest) -> Tested {
    match test {
        ClaimTest::Less(test) => Tested::of(differences::less(study, cells, test), Found::Differences),
        ClaimTest::EqualWithin(test) => {
            Tested::of(differences::equal_within(study, cells, test), Found::Differences)
        }
        ClaimTest::LosesAtMost(test) => {
            Tested::of(differences::loses_at_most(study, cells, test), Found::Differences)
        }
        ClaimTest::Converged(test) => {
            Tested::of(convergence::converged(study, cells, test), Found::Convergence)
        }
        ClaimTest::MoreOf(test) => Tested::of(differences::more_of(study, cells, test), Found::Differences),
        ClaimTest::Drift(test) => Tested::of(differences::drift(study, cells, test), Found::Differences),
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

#[cfg(test)]
mod tests {
    use super::*;

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
