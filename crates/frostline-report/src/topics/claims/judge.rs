//! The verdicts on a plan's claims, from the cells that decide them.

use std::collections::BTreeMap;

use frostline_record::{Claim, ClaimTest, Comparisons, Needs};
use serde::Serialize;

use crate::study::twins::OtherNames;
use crate::study::{CellView, Study};
use crate::topics::claims::convergence::{self, NearEnd};
use crate::topics::claims::differences::{self, AskedRelation, judge_policies};
use crate::topics::claims::rows::Differences;
use crate::topics::claims::verdict::{ClaimVerdict, TestAnswer, combine_verdicts, has_setting};

/// A claim with its verdict.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct JudgedClaim {
    pub says: String,
    pub verdict: ClaimVerdict,
    pub needs: Needs,
    pub comparisons: Comparisons,
    pub tests: Vec<Tested>,
}

/// A test of a claim.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tested {
    /// What must be for the test to hold.
    pub asks: String,
    pub verdict: ClaimVerdict,
    pub found: TestResult,
}

/// What a test found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TestResult {
    Differences(Differences),
    Convergence(NearEnd),
    /// Why there is nothing.
    Nothing(String),
}

impl Tested {
    /// Whether it makes more than one comparison.
    pub fn compares_several(&self) -> bool {
        matches!(&self.found, TestResult::Differences(found) if found.rows.len() + found.missing.len() > 1)
    }

    fn of<T>(answer: TestAnswer<T>, found: fn(T) -> TestResult) -> Self {
        let TestAnswer { asks, verdict, found: answer } = answer;
        Self { asks, verdict, found: answer.map_or_else(TestResult::Nothing, found) }
    }
}

/// All claims of the plan.
pub(super) fn judge_claims(study: &Study) -> Vec<JudgedClaim> {
    let names = OtherNames::of(&study.sweep);
    study.sweep.plan.claims.iter().map(|claim| of_claim(study, &names, claim)).collect()
}

fn of_claim(study: &Study, names: &OtherNames<'_>, claim: &Claim) -> JudgedClaim {
    let only = names.in_filter(&claim.only);
    let judged = |test: &ClaimTest| {
        let test = test.clone().renamed(|name| names.policy(name).to_string());
        let others = names.cells_named(&test.policies(), &study.cells);
        let cells: Vec<&CellView> =
            study.cells.iter().chain(&others).filter(|view| claim_covers(&only, view)).collect();
        of_test(study, &cells, &test, claim.comparisons)
    };
    let mut tests: Vec<Tested> = claim.tests.iter().map(judged).collect();
    if !claim.untestable.is_empty() {
        let found = TestResult::Nothing(claim.untestable.trim().trim_end_matches('.').into());
        tests = vec![Tested {
            asks: "nothing here can decide it".into(),
            verdict: ClaimVerdict::NotTested,
            found,
        }];
    }
    let verdicts: Vec<ClaimVerdict> = tests.iter().map(|test| test.verdict).collect();
    let verdict = combine_verdicts(claim.needs, &verdicts);
    JudgedClaim {
        says: claim.says.clone(),
        verdict,
        needs: claim.needs,
        comparisons: claim.comparisons,
        tests,
    }
}

fn of_test(study: &Study, cells: &[&CellView], test: &ClaimTest, comparisons: Comparisons) -> Tested {
    let answer = match test {
        ClaimTest::Converged(test) => {
            return Tested::of(convergence::judge_convergence(study, cells, test), TestResult::Convergence);
        }
        ClaimTest::Less(test) => judge_policies(study, cells, (test, AskedRelation::Less), comparisons),
        ClaimTest::EqualWithin(test) => {
            judge_policies(study, cells, (test, AskedRelation::EqualWithin), comparisons)
        }
        ClaimTest::LosesAtMost(test) => {
            judge_policies(study, cells, (test, AskedRelation::LosesAtMost), comparisons)
        }
        ClaimTest::MoreOf(test) => differences::more_of(study, cells, test, comparisons),
        ClaimTest::Drift(test) => differences::judge_drift(study, cells, test, comparisons),
    };
    Tested::of(answer, TestResult::Differences)
}

/// Whether a claim speaks of a cell.
fn claim_covers(only: &BTreeMap<String, toml::Value>, view: &CellView) -> bool {
    only.iter().all(|(path, value)| {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        values.iter().any(|value| has_setting(view, path, value))
    })
}
