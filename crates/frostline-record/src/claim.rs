//! Claims: sentences that a plan's cells can support or contradict, with the tests that decide.
//!
//! Owns what can be claimed, and whether a claim is well formed. Refuses to judge one: whoever has
//! the records does. A claim changes no cell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Plan, PlanError, Settings};

/// A sentence and the tests by which cells decide it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence, as a report prints it.
    pub says: String,
    /// Only cells with these settings count: dotted paths, each with the value or a list of values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, toml::Value>,
    /// How many of the tests must hold.
    #[serde(default)]
    pub needs: Needs,
    /// What decides; at least one.
    pub tests: Vec<ClaimTest>,
}

/// How many tests of a claim must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// All of them.
    #[default]
    All,
    /// One is enough.
    Any,
}

/// Something that differences between cells decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimTest {
    /// The policies A give less than the policies B, by more than the margin.
    Less(Compared),
    /// The policies A and B differ by at most the margin.
    EqualWithin(Compared),
    /// Most cells are near their end by some epoch.
    Converged(Converged),
    /// More of a setting gives more.
    MoreOf(MoreOf),
    /// A task loses less under the policies A than under B while a stage learns something else.
    Drift(Drift),
}

/// Policies A against policies B: the first with the first and so on; one alone is held against all
/// of the other side. Cells are paired by seed and by all else but their policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// The policies A.
    pub a: Vec<String>,
    /// The policies B.
    pub b: Vec<String>,
    /// What is compared.
    #[serde(default)]
    pub measure: Measure,
    /// Whose score; empty means the headline's.
    #[serde(default)]
    pub task: String,
    /// Points of a score; percent of B for a time.
    #[serde(default)]
    pub margin: f64,
}

/// What two cells are compared by. A task's score is its accuracy, or the F1 of its entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The score on dev, at the cell's end.
    #[default]
    Dev,
    /// The score on test, at the cell's end.
    Test,
    /// The measured time of all training steps.
    TrainTime,
}

/// Cells whose headline accuracy on dev after an epoch is near that of their end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Converged {
    /// Only cells with these policies; empty means all.
    #[serde(default)]
    pub policies: Vec<String>,
    /// The epoch, counted from 1 over all stages.
    pub epoch: u32,
    /// How near, in points.
    pub within: f64,
    /// What a cell's end is.
    #[serde(default)]
    pub of: End,
    /// The share of cells that must be near, in (0, 1).
    #[serde(default = "half")]
    pub share: f64,
}

/// What a cell's end is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Its last epoch.
    #[default]
    Last,
    /// Its best epoch on dev.
    Best,
}

/// Cells that differ in one further axis of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoreOf {
    /// The dotted path of the axis.
    pub axis: String,
    /// Its value in the cells that should give less.
    pub from: toml::Value,
    /// Its value in those that should give more.
    pub to: toml::Value,
    /// Only cells with these policies; empty means all.
    #[serde(default)]
    pub policies: Vec<String>,
    /// What is compared.
    #[serde(default)]
    pub measure: Measure,
    /// Whose score; empty means the headline's.
    #[serde(default)]
    pub task: String,
    /// The gain that must be exceeded: points of a score, percent for a time.
    #[serde(default)]
    pub margin: f64,
}

/// What a stage costs a task: its score after the stage minus that before it, in the same cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// The task.
    pub task: String,
    /// The stage's name, held against the stage before it; empty means the last.
    #[serde(default)]
    pub stage: String,
    /// The policies under which it should lose less, or gain more.
    pub a: Vec<String>,
    /// The policies that they are held against, in the manner of [`Compared`].
    pub b: Vec<String>,
    /// On which split.
    #[serde(default)]
    pub measure: Measure,
    /// By how many points A must be ahead.
    #[serde(default)]
    pub margin: f64,
}

const fn half() -> f64 {
    0.5
}

impl Compared {
    /// The policies as they are held against each other, A first; none where they do not pair.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        pairs(&self.a, &self.b).unwrap_or_default()
    }
}

impl Drift {
    /// The policies as they are held against each other, A first; none where they do not pair.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        pairs(&self.a, &self.b).unwrap_or_default()
    }
}

fn pairs<'a>(a: &'a [String], b: &'a [String]) -> Option<Vec<(&'a str, &'a str)>> {
    let at = |side: &'a [String], i: usize| side[if side.len() == 1 { 0 } else { i }].as_str();
    let count = a.len().max(b.len());
    let fits = |side: &[String]| side.len() == count || side.len() == 1;
    (count > 0 && fits(a) && fits(b)).then(|| (0..count).map(|i| (at(a, i), at(b, i))).collect())
}

/// Whether all claims of a plan are well formed. That cells of another command line or of no cell at
/// all are asked for is no fault: a report says so.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    for (number, claim) in plan.claims.iter().enumerate() {
        fault(claim, plan).map_or(Ok(()), |reason| {
            Err(PlanError::Claim { number: number + 1, says: claim.says.clone(), reason })
        })?;
    }
    Ok(())
}

fn fault(claim: &Claim, plan: &Plan) -> Option<String> {
    if claim.says.trim().is_empty() {
        return Some("it says nothing; write its sentence as `says`".into());
    }
    if claim.tests.is_empty() {
        return Some("it has no test; give it at least one in `tests`".into());
    }
    for (path, value) in &claim.only {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        if values.is_empty() {
            return Some(format!("`only` allows `{path}` no value; give it at least one or remove it"));
        }
        if let Some(reason) = values.iter().find_map(|value| unfit(&plan.settings, path, value)) {
            return Some(reason);
        }
    }
    claim.tests.iter().find_map(|test| match test {
        ClaimTest::Less(test) => compared(test, plan),
        ClaimTest::EqualWithin(test) if test.margin == 0.0 => {
            Some("`equal-within` needs a margin above 0, in points of a score or percent of a time".into())
        }
        ClaimTest::EqualWithin(test) => compared(test, plan),
        ClaimTest::Converged(test) => converged(test, plan),
        ClaimTest::MoreOf(test) => more_of(test, plan),
        ClaimTest::Drift(test) => drift(test, plan),
    })
}

fn compared(test: &Compared, plan: &Plan) -> Option<String> {
    sides(&test.a, &test.b, plan).or_else(|| margin(test.margin)).or_else(|| timed(test.measure, &test.task))
}

fn converged(test: &Converged, plan: &Plan) -> Option<String> {
    if test.epoch == 0 {
        return Some("`converged` at epoch 0 asks for what was before training; epochs count from 1".into());
    }
    if !(test.share > 0.0 && test.share < 1.0) {
        return Some(format!("its share is {}, but must be in (0, 1)", test.share));
    }
    margin(test.within).or_else(|| unknown(&test.policies, plan))
}

fn more_of(test: &MoreOf, plan: &Plan) -> Option<String> {
    if ["lang", "policy", "seed"].contains(&test.axis.as_str()) {
        return Some(format!(
            "`more-of` compares along a further axis, such as `train.epochs`, not `{}`",
            test.axis
        ));
    }
    if test.from == test.to {
        return Some(format!("it holds `{} = {}` against itself", test.axis, test.from));
    }
    let values = [&test.from, &test.to].into_iter();
    let unfit = values.filter_map(|value| unfit(&plan.settings, &test.axis, value)).next();
    let rest = || timed(test.measure, &test.task).or_else(|| unknown(&test.policies, plan));
    unfit.or_else(|| margin(test.margin)).or_else(rest)
}

fn drift(test: &Drift, plan: &Plan) -> Option<String> {
    if test.task.is_empty() {
        return Some("`drift` needs the name of a task".into());
    }
    if test.measure == Measure::TrainTime {
        return Some("`drift` compares scores; its measure is `dev` or `test`".into());
    }
    // A fault of the stages has a message of its own, and then names none.
    let names = plan.settings.in_stages().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
    let staged = names.len() > 1 && !test.stage.is_empty();
    if staged && !names[1..].contains(&test.stage.as_str()) {
        let why = if names[0] == test.stage { "has no stage before it" } else { "is not there" };
        let known = names[1..].join(", ");
        return Some(format!("`drift` in the stage `{}`, which {why}; it can be in: {known}", test.stage));
    }
    sides(&test.a, &test.b, plan).or_else(|| margin(test.margin))
}

fn sides(a: &[String], b: &[String], plan: &Plan) -> Option<String> {
    let Some(pairs) = pairs(a, b) else {
        return Some(format!(
            "{} policies A and {} policies B do not pair; give both sides as many, or one side one",
            a.len(),
            b.len()
        ));
    };
    if let Some((same, _)) = pairs.iter().find(|(a, b)| a == b) {
        return Some(format!("it holds the policy `{same}` against itself"));
    }
    unknown(a, plan).or_else(|| unknown(b, plan))
}

/// A policy that no cell of the plan has.
fn unknown(policies: &[String], plan: &Plan) -> Option<String> {
    let axis = plan.grid.get("policy").map(|values| values.iter().filter_map(toml::Value::as_str).collect());
    let there: Vec<&str> = axis.unwrap_or_else(|| vec![plan.settings.policy.as_str()]);
    let missing = policies.iter().find(|policy| !there.contains(&policy.as_str()))?;
    Some(format!("the policy `{missing}` is not one of the plan's, which are: {}", there.join(", ")))
}

fn margin(value: f64) -> Option<String> {
    (!(value >= 0.0 && value.is_finite())).then(|| format!("its margin is {value}, but must be 0 or more"))
}

fn timed(measure: Measure, task: &str) -> Option<String> {
    (measure == Measure::TrainTime && !task.is_empty()).then(|| {
        format!("`train-time` is the whole cell's, so it cannot be the task `{task}`'s; leave `task` away")
    })
}

/// Why a setting cannot have this value.
fn unfit(settings: &Settings, path: &str, value: &toml::Value) -> Option<String> {
    settings.clone().set(path, value.clone()).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(claims: &str) -> Result<Plan, PlanError> {
        let plan = "schema = 4\nname = 'x'\ntreebanks = { en = 'UD_English-EWT' }\n\
                    [grid]\npolicy = ['none', 'first-1', 'last-1', 'first-2', 'last-2']\n";
        Plan::parse(&format!("{plan}{claims}"), "x.toml")
    }

    fn test(test: &str) -> Result<Plan, PlanError> {
        parse(&format!("[[claims]]\nsays = 'It is so.'\ntests = [{{ {test} }}]"))
    }

    #[test]
    fn every_kind_of_claim_can_be_written() {
        let plan = parse(
            "[[claims]]\nsays = 'The last blocks matter more.'\nonly.lang = 'en'\nonly.'optimizer.lr' = [5e-5, 1e-4]\n\
             tests = [{ less = { a = ['last-1', 'last-2'], b = ['first-1', 'first-2'], measure = 'test' } }]\n\
             [[claims]]\nsays = 'Either is enough.'\nneeds = 'any'\n\
             tests = [\n{ equal-within = { a = ['first-1'], b = ['none'], margin = 0.5 } },\n\
             { converged = { epoch = 4, within = 0.2, of = 'best' } },\n\
             { more-of = { axis = 'train.epochs', from = 5, to = 15, policies = ['none'] } },\n\
             { drift = { task = 'en', a = ['first-1', 'first-2'], b = ['none'] } } ]",
        );
        let plan = plan.expect("a plan");
        assert_eq!(plan.claims[1].tests.len(), 4);
        let ClaimTest::Converged(test) = &plan.claims[1].tests[1] else { panic!("{:?}", plan.claims[1]) };
        assert_eq!((test.share, test.of), (0.5, End::Best));
        let text = serde_json::to_string(&plan).expect("plain data");
        assert_eq!(serde_json::from_str::<Plan>(&text).expect("the same plan"), plan);
    }

    #[test]
    fn a_drift_over_stages_with_a_fault_leaves_the_word_to_the_fault() {
        let plan = parse(
            "[[settings.stages]]\nname = 'one'\n[[settings.stages]]\nname = 'two'\ntrain.epoch = 3\n\
             [[claims]]\nsays = 'It forgets.'\n\
             tests = [{ drift = { task = 'en', stage = 'two', a = ['first-1'], b = ['none'] } }]",
        );
        let fault = plan.expect("a plan").expand().expect_err("a setting that is not there");
        assert!(fault.to_string().contains("train.epoch"), "{fault}");
    }

    #[test]
    fn a_plan_needs_no_claims() {
        assert_eq!(parse("").expect("a plan").claims, []);
    }

    #[test]
    fn one_policy_is_held_against_all_of_the_other_side() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (one, two) = (names(&["x"]), names(&["y", "z"]));
        assert_eq!(pairs(&two, &one), Some(vec![("y", "x"), ("z", "x")]));
        assert_eq!(pairs(&two, &names(&["a", "b", "c"])), None);
        assert_eq!(pairs(&[], &one), None);
    }

    #[test]
    fn a_claim_that_cannot_be_tested_is_an_error() {
        let cases = [
            ("less = { a = ['last-1'], b = ['first-3'] }", "the policy `first-3` is not one of the plan's"),
            ("less = { a = ['last-1'], b = ['last-1'] }", "it holds the policy `last-1` against itself"),
            ("less = { a = ['last-1', 'last-2', 'none'], b = ['first-1', 'first-2'] }", "3 policies A and 2"),
            ("less = { a = [], b = ['first-1'] }", "0 policies A and 1"),
            ("less = { a = ['last-1'], b = ['none'], margin = -1 }", "its margin is -1"),
            ("less = { a = ['last-1'], b = ['none'], measure = 'train-time', task = 'x' }", "whole cell's"),
            ("less = { a = ['last-1'], b = ['none'], stage = 'x' }", "unknown field `stage`"),
            ("lesser = { a = ['last-1'], b = ['none'] }", "unknown variant `lesser`"),
            ("equal-within = { a = ['last-1'], b = ['none'] }", "`equal-within` needs a margin above 0"),
            ("converged = { epoch = 0, within = 1 }", "epochs count from 1"),
            ("converged = { epoch = 1, within = 1, share = 1 }", "its share is 1"),
            ("more-of = { axis = 'train.epoch', from = 5, to = 15 }", "there is no setting `train.epoch`"),
            (
                "more-of = { axis = 'train.epochs', from = 5, to = 'x' }",
                "does not fit the setting `train.epochs`",
            ),
            ("more-of = { axis = 'train.epochs', from = 5, to = 5 }", "`train.epochs = 5` against itself"),
            ("more-of = { axis = 'seed', from = 5, to = 6 }", "along a further axis"),
            ("drift = { task = '', a = ['none'], b = ['last-1'] }", "needs the name of a task"),
            (
                "drift = { task = 'x', a = ['none'], b = ['last-1'], measure = 'train-time' }",
                "`dev` or `test`",
            ),
        ];
        for (written, expected) in cases {
            let error = test(written).expect_err(written).to_string();
            assert!(error.contains(expected), "{written}: {error}");
        }
        let error = parse("[[claims]]\nsays = ' '\ntests = []").expect_err("no sentence").to_string();
        assert!(error.contains("claim 1") && error.contains("says nothing"), "{error}");
        let error = parse("[[claims]]\nsays = 'x'\ntests = []").expect_err("no test").to_string();
        assert!(error.contains("at least one in `tests`"), "{error}");
        let only =
            "[[claims]]\nsays = 'x'\nonly.seeds = 1\ntests = [{ less = { a = ['last-1'], b = ['none'] } }]";
        let error = parse(only).expect_err("no such setting").to_string();
        assert!(error.contains("there is no setting `seeds`"), "{error}");
    }

    #[test]
    fn a_drift_needs_a_stage_before_it() {
        let stages = "[[settings.stages]]\nname = 'a'\n[[settings.stages]]\nname = 'b'\n";
        let drift = |stage: &str| {
            let test =
                format!("{{ drift = {{ task = 'x', stage = '{stage}', a = ['last-1'], b = ['none'] }} }}");
            parse(&format!("[[claims]]\nsays = 'x'\ntests = [{test}]\n{stages}"))
        };
        assert!(drift("b").is_ok() && drift("").is_ok());
        for (stage, expected) in [("a", "has no stage before it; it can be in: b"), ("c", "is not there")] {
            let error = drift(stage).expect_err(stage).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
