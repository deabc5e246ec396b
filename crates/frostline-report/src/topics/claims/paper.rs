//! Claims with their verdicts and what decided them, for LaTeX.

use crate::table::{PaperTable, Quantity, TableColumns, TableValue};

use super::judge::{JudgedClaim, TestResult, Tested};

/// A claim, or one of its tests if it has several.
struct ClaimRow<'a> {
    number: String,
    says: &'a str,
    verdict: &'static str,
    test: Option<&'a Tested>,
}

/// The table: a row for each claim, and if it has several tests one for each of them.
pub(super) fn table(judged: &[JudgedClaim]) -> PaperTable {
    let rows: Vec<ClaimRow<'_>> =
        judged.iter().enumerate().flat_map(|(at, claim)| claim_rows(at + 1, claim)).collect();
    let columns = TableColumns::default()
        .column("No.", Quantity::Text, |row: &&ClaimRow<'_>| row.number.clone())
        .column("Claim", Quantity::Text, |row| row.says.lines().map(str::trim).collect::<Vec<_>>().join(" "))
        .column("Verdict", Quantity::Text, |row| row.verdict)
        .optional("Value", Quantity::Signed(2), |row| test_value(row.test?))
        .optional("95 % interval", Quantity::Signed(2), |row| Some(test_interval(row.test?)))
        .optional("In", Quantity::Text, |row| test_unit(row.test?))
        .optional("Of", Quantity::Text, |row| test_count(row.test?));
    let names = rows.iter().map(|row| ["claims".to_string(), row.number.clone()]).collect();
    let caption = "Claims of sources and what was found: A minus B in each, as in the list of claims; of several \
                   comparisons the least favourable to the claim.";
    PaperTable::new("claims", caption, columns.table(&rows)).named(names, 2, "")
}

fn claim_rows(number: usize, claim: &JudgedClaim) -> Vec<ClaimRow<'_>> {
    let number = number.to_string();
    let whole =
        |test| ClaimRow { number: number.clone(), says: &claim.says, verdict: claim.verdict.name(), test };
    if let [test] = claim.tests.as_slice() {
        return vec![whole(Some(test))];
    }
    let one = |(at, test): (usize, &'_ Tested)| (format!("{number}.{}", at + 1), test.verdict.name());
    let tests = claim.tests.iter().enumerate().map(|(at, test)| {
        let (number, verdict) = one((at, test));
        ClaimRow { number, says: &test.asks, verdict, test: Some(test) }
    });
    [whole(None)].into_iter().chain(tests).collect()
}

fn test_value(test: &Tested) -> Option<f64> {
    match &test.found {
        TestResult::Differences(found) => found.deciding().map(|row| row.mean.mean),
        TestResult::Convergence(found) => Some(100.0 * found.share.mean.mean),
        TestResult::Nothing(_) => None,
    }
}

fn test_interval(test: &Tested) -> TableValue {
    match &test.found {
        TestResult::Differences(found) => found.deciding().and_then(|row| row.mean.interval).into(),
        TestResult::Convergence(found) => {
            found.share.mean.interval.map(|ends| ends.map(|end| 100.0 * end)).into()
        }
        TestResult::Nothing(_) => TableValue::Missing,
    }
}

fn test_unit(test: &Tested) -> Option<&'static str> {
    match &test.found {
        TestResult::Differences(found) => found.deciding().map(|_| found.unit),
        TestResult::Convergence(_) => Some("% of cells"),
        TestResult::Nothing(_) => None,
    }
}

fn test_count(test: &Tested) -> Option<String> {
    match &test.found {
        TestResult::Differences(found) => found.deciding().map(super::PairedComparison::count),
        TestResult::Convergence(found) => Some(crate::number::plural(found.share.mean.n, "seed")),
        TestResult::Nothing(_) => None,
    }
}
