//! Whether the claims of a plan are well formed.

use std::collections::BTreeMap;

use crate::claim::pair_policies;
use crate::search::{may_come, stands_for_sets};
use crate::{Claim, ClaimTest, Compared, Converged, Drift, FileName, Measure, MoreOf, PlanError, Settings};

/// The names to which the claims of a plan can refer.
struct Scope<'a> {
    settings: &'a Settings,
    /// The plan's languages.
    langs: Vec<&'a str>,
    /// The policies of its cells.
    policies: Vec<&'a str>,
}

/// Checks that all claims of a plan are well formed. A claim about cells that a command line excludes, or that
/// no cell matches, is allowed: the report points it out.
///
/// # Errors
/// Names the first claim that no cell could decide.
pub(crate) fn check(
    claims: &[Claim],
    settings: &Settings,
    grid: &BTreeMap<String, Vec<toml::Value>>,
    treebanks: &BTreeMap<FileName, String>,
) -> Result<(), PlanError> {
    let axis = grid.get("policy").map(|values| values.iter().filter_map(toml::Value::as_str).collect());
    let policies = axis.unwrap_or_else(|| vec![settings.policy.as_str()]);
    let langs = treebanks.keys().map(FileName::as_str).collect();
    let scope = Scope { settings, langs, policies };
    for (number, claim) in claims.iter().enumerate() {
        claim_fault(claim, &scope).map_or(Ok(()), |reason| {
            Err(PlanError::Claim { number: number + 1, says: claim.says.clone(), reason })
        })?;
    }
    Ok(())
}

fn claim_fault(claim: &Claim, scope: &Scope<'_>) -> Option<String> {
    if claim.says.trim().is_empty() {
        return Some("it has no sentence; write it as `says`".into());
    }
    match (claim.tests.is_empty(), claim.untestable.trim().is_empty()) {
        (true, true) => {
            return Some(
                "it has no test; give it at least one in `tests`, or give the reason in `untestable`".into(),
            );
        }
        (false, false) => {
            return Some("it is `untestable` and has tests; remove one of the two".into());
        }
        _ => {}
    }
    for (path, value) in &claim.only {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        if values.is_empty() {
            return Some(format!("`only` allows `{path}` no value; give it at least one or remove it"));
        }
        if let Some(reason) = values.iter().find_map(|value| setting_fault(scope, path, value)) {
            return Some(reason);
        }
    }
    claim.tests.iter().find_map(|test| match test {
        ClaimTest::Less(test) => comparison_fault(test, scope),
        ClaimTest::EqualWithin(test) if test.margin == 0.0 => Some(
            "`equal-within` needs a margin above 0, in points of a score or percent of a time or memory"
                .into(),
        ),
        ClaimTest::LosesAtMost(test) if test.margin == 0.0 => {
            Some("`loses-at-most` needs a margin above 0, in points of a score".into())
        }
        ClaimTest::LosesAtMost(test) if !test.measure.is_score() => {
            Some("`loses-at-most` compares scores; its measure is `dev` or `test`".into())
        }
        ClaimTest::EqualWithin(test) | ClaimTest::LosesAtMost(test) => comparison_fault(test, scope),
        ClaimTest::Converged(test) => convergence_fault(test, scope),
        ClaimTest::MoreOf(test) => more_of(test, scope),
        ClaimTest::Drift(test) => drift_fault(test, scope),
    })
}

fn comparison_fault(test: &Compared, scope: &Scope<'_>) -> Option<String> {
    policy_pairs_fault(&test.a, &test.b, scope)
        .or_else(|| margin_fault(test.margin))
        .or_else(|| measure_fault(test.measure, &test.task))
        .or_else(|| no_task(&test.task, scope))
}

fn convergence_fault(test: &Converged, scope: &Scope<'_>) -> Option<String> {
    if test.epoch == 0 {
        return Some("`converged` at epoch 0 would be before training; epochs count from 1".into());
    }
    if !(test.share > 0.0 && test.share < 1.0) {
        return Some(format!("its share is {}, but must be in (0, 1)", test.share));
    }
    margin_of("`within`", test.within).or_else(|| unknown_policy(&test.policies, scope))
}

fn more_of(test: &MoreOf, scope: &Scope<'_>) -> Option<String> {
    if ["policy", "seed"].contains(&test.axis.as_str()) {
        return Some(format!(
            "`more-of` compares along `lang`, `stage` or a further axis, such as `train.epochs`, not `{}`",
            test.axis
        ));
    }
    if test.from == test.to {
        return Some(format!("it holds `{} = {}` against itself", test.axis, test.from));
    }
    if test.measure == Measure::Memory {
        return Some("`memory` compares policies: use it with `less` or `equal-within`".into());
    }
    let mut values = [&test.from, &test.to].into_iter();
    let unfit = values.find_map(|value| match test.is_of_stages() {
        true => no_stage(value, scope),
        false => setting_fault(scope, &test.axis, value),
    });
    let rest = || {
        measure_fault(test.measure, &test.task)
            .or_else(|| no_task(&test.task, scope))
            .or_else(|| unknown_policy(&test.policies, scope))
    };
    unfit.or_else(|| gain_fault(test)).or_else(|| margin_fault(test.margin)).or_else(rest)
}

/// Why a value names no stage of the plan's cells.
fn no_stage(value: &toml::Value, scope: &Scope<'_>) -> Option<String> {
    // An error in the stages has a message of its own; then there are no names.
    let stages = scope.settings.in_stages().unwrap_or_default();
    let names: Vec<&str> = stages.iter().map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [_] => Some("it compares stages, but the plan has only one".into()),
        [] => None,
        names if value.as_str().is_some_and(|value| names.contains(&value)) => None,
        names => Some(format!("the stage {value} is not one of the plan's, which are: {}", names.join(", "))),
    }
}

/// Why a gain cannot be claimed.
fn gain_fault(test: &MoreOf) -> Option<String> {
    let gain = test.gain?;
    if !gain.is_finite() {
        return Some(format!("its gain is {gain}, but must be a number"));
    }
    (test.margin == 0.0).then(|| "a `gain` needs a margin above 0: how near the measured gain must be".into())
}

fn drift_fault(test: &Drift, scope: &Scope<'_>) -> Option<String> {
    if test.task.is_empty() {
        return Some("`drift` needs the name of a task".into());
    }
    if !test.measure.is_score() {
        return Some("`drift` compares scores; its measure is `dev` or `test`".into());
    }
    // An error in the stages has a message of its own; then there are no names.
    let names = scope.settings.in_stages().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
    let staged = names.len() > 1 && !test.stage.is_empty();
    if staged && !names[1..].contains(&test.stage.as_str()) {
        let why = if names[0] == test.stage { "has no stage before it" } else { "is not there" };
        let known = names[1..].join(", ");
        return Some(format!("`drift` in the stage `{}`, which {why}; it can be in: {known}", test.stage));
    }
    if names.len() == 1 {
        return Some("`drift` compares a stage with the one before it, but the plan has only one".into());
    }
    let compared = match &test.along {
        None => policy_pairs_fault(&test.a, &test.b, scope),
        Some(_) if !test.a.is_empty() || !test.b.is_empty() => {
            Some("`drift` compares policies (`a` and `b`) or values of an axis (`along`), not both".into())
        }
        Some(along) => axis_values_fault(&along.axis, [&along.from, &along.to], scope)
            .or_else(|| unknown_policy(&along.policies, scope)),
    };
    compared.or_else(|| margin_fault(test.margin)).or_else(|| no_task(&test.task, scope))
}

/// Why two values of an axis cannot be compared.
fn axis_values_fault(axis: &str, [from, to]: [&toml::Value; 2], scope: &Scope<'_>) -> Option<String> {
    if ["lang", "policy", "seed"].contains(&axis) {
        return Some(format!(
            "`along` compares along a further axis, such as `unfreeze.every`, not `{axis}`"
        ));
    }
    if from == to {
        return Some(format!("it holds `{axis} = {from}` against itself"));
    }
    [from, to].into_iter().find_map(|value| setting_fault(scope, axis, value))
}

fn policy_pairs_fault(a: &[String], b: &[String], scope: &Scope<'_>) -> Option<String> {
    let Some(pairs) = pair_policies(a, b) else {
        return Some(format!(
            "{} policies A and {} policies B do not pair; give both sides as many, or one side one",
            a.len(),
            b.len()
        ));
    };
    if let Some((same, _)) = pairs.iter().find(|(a, b)| a == b) {
        return Some(format!("it holds the policy `{same}` against itself"));
    }
    if let Some((at, (a, b))) = pairs.iter().enumerate().find(|(at, pair)| pairs[..*at].contains(pair)) {
        return Some(format!("its pair {} is `{a}` and `{b}` again; give each pair once", at + 1));
    }
    unknown_policy(a, scope).or_else(|| unknown_policy(b, scope))
}

/// Returns a policy that no cell of the plan has.
fn unknown_policy(policies: &[String], scope: &Scope<'_>) -> Option<String> {
    if let Some(word) = policies.iter().find(|policy| stands_for_sets(policy)) {
        return Some(format!("`{word}` means many policies; name one of them, as in `blocks-0.2`"));
    }
    let is_there = |policy: &str| scope.policies.contains(&policy) || may_come(policy, &scope.policies);
    let missing = policies.iter().find(|policy| !is_there(policy))?;
    let known = scope.policies.join(", ");
    Some(format!("the policy `{missing}` is not one of the plan's, which are: {known}"))
}

/// Returns a task that no cell of the plan has.
fn no_task(task: &str, scope: &Scope<'_>) -> Option<String> {
    let tasks = &scope.settings.tasks;
    let is_there = task.is_empty() || tasks.is_empty() || tasks.keys().any(|name| *name == *task);
    (!is_there).then(|| {
        let known: Vec<&str> = tasks.keys().map(FileName::as_str).collect();
        format!("the task `{task}` is not one of the plan's, which are: {}", known.join(", "))
    })
}

fn margin_fault(value: f64) -> Option<String> {
    margin_of("its margin", value)
}

fn margin_of(what: &str, value: f64) -> Option<String> {
    (!(value >= 0.0 && value.is_finite())).then(|| format!("{what} is {value}, but must be 0 or more"))
}

fn measure_fault(measure: Measure, task: &str) -> Option<String> {
    let name = if measure == Measure::Memory { "memory" } else { "train-time" };
    (!measure.is_score() && !task.is_empty())
        .then(|| format!("`{name}` is the whole cell's, so it cannot be the task `{task}`'s; omit `task`"))
}

/// Why a setting cannot have this value.
fn setting_fault(scope: &Scope<'_>, path: &str, value: &toml::Value) -> Option<String> {
    if path == "lang" && !value.as_str().is_some_and(|lang| scope.langs.contains(&lang)) {
        let known = scope.langs.join(", ");
        return Some(format!("the language {value} is not one of the plan's, which are: {known}"));
    }
    scope.settings.clone().set(path, value.clone()).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, Plan};

    fn parse_claims(claims: &str) -> Result<Plan, PlanError> {
        let plan = "schema = 4\nname = 'x'\ntreebanks = { en = 'UD_English-EWT' }\n\
                    [grid]\npolicy = ['none', 'first-1', 'last-1', 'first-2', 'last-2']\n";
        Plan::parse(&format!("{plan}{claims}"), "x.toml")
    }

    fn plan_with_test(test: &str) -> Result<Plan, PlanError> {
        parse_claims(&format!("[[claims]]\nsays = 'It is so.'\ntests = [{{ {test} }}]"))
    }

    #[test]
    fn every_kind_of_claim_can_be_written() {
        let plan = parse_claims(
            "[[claims]]\nsays = 'The last blocks matter more.'\nonly.lang = 'en'\nonly.'optimizer.lr' = [5e-5, 1e-4]\n\
             tests = [{ less = { a = ['last-1', 'last-2'], b = ['first-1', 'first-2'], measure = 'test' } }]\n\
             [[claims]]\nsays = 'Either is enough.'\nneeds = 'any'\n\
             tests = [\n{ equal-within = { a = ['first-1'], b = ['none'], margin = 0.5 } },\n\
             { loses-at-most = { a = ['first-1'], b = ['none'], margin = 0.5 } },\n\
             { converged = { epoch = 4, within = 0.2, of = 'best' } },\n\
             { more-of = { axis = 'train.epochs', from = 5, to = 15, policies = ['none'], gain = 1.5, margin = 0.5 } },\n\
             { drift = { task = 'upos', a = ['first-1', 'first-2'], b = ['none'] } } ]\n\
             [[settings.stages]]\nname = 'one'\n[[settings.stages]]\nname = 'two'\n",
        );
        let plan = plan.expect("a plan");
        assert_eq!(plan.claims[1].tests.len(), 5);
        let ClaimTest::Converged(test) = &plan.claims[1].tests[2] else { panic!("{:?}", plan.claims[1]) };
        assert_eq!((test.share, test.of), (0.5, End::Best));
        let text = serde_json::to_string(&plan).expect("plain data");
        assert_eq!(serde_json::from_str::<Plan>(&text).expect("the same plan"), plan);
    }

    #[test]
    fn a_drift_over_stages_with_a_fault_leaves_the_word_to_the_fault() {
        let plan = parse_claims(
            "[[settings.stages]]\nname = 'one'\n[[settings.stages]]\nname = 'two'\ntrain.epoch = 3\n\
             [[claims]]\nsays = 'It forgets.'\n\
             tests = [{ drift = { task = 'upos', stage = 'two', a = ['first-1'], b = ['none'] } }]",
        );
        let fault = plan.expect("a plan").expand().expect_err("a setting that is not there");
        assert!(fault.to_string().contains("train.epoch"), "{fault}");
    }

    #[test]
    fn a_plan_needs_no_claims() {
        assert_eq!(parse_claims("").expect("a plan").claims, []);
    }

    #[test]
    fn a_claim_that_cannot_be_tested_is_an_error() {
        let cases = [
            ("less = { a = ['last-1'], b = ['first-3'] }", "the policy `first-3` is not one of the plan's"),
            ("less = { a = ['last-1'], b = ['last-1'] }", "it holds the policy `last-1` against itself"),
            ("less = { a = ['last-1', 'last-2', 'none'], b = ['first-1', 'first-2'] }", "3 policies A and 2"),
            ("less = { a = [], b = ['first-1'] }", "0 policies A and 1"),
            ("less = { a = ['last-1', 'last-1'], b = ['none'] }", "its pair 2 is `last-1` and `none` again"),
            ("less = { a = ['subsets'], b = ['none'] }", "`subsets` means many policies"),
            ("less = { a = ['last-1'], b = ['none'], margin = -1 }", "its margin is -1"),
            ("less = { a = ['last-1'], b = ['none'], measure = 'train-time', task = 'x' }", "whole cell's"),
            ("less = { a = ['last-1'], b = ['none'], stage = 'x' }", "unknown field `stage`"),
            ("lesser = { a = ['last-1'], b = ['none'] }", "unknown variant `lesser`"),
            ("equal-within = { a = ['last-1'], b = ['none'] }", "`equal-within` needs a margin above 0"),
            ("loses-at-most = { a = ['last-1'], b = ['none'] }", "`loses-at-most` needs a margin above 0"),
            (
                "loses-at-most = { a = ['last-1'], b = ['none'], margin = 1, measure = 'train-time' }",
                "`loses-at-most` compares scores",
            ),
            ("converged = { epoch = 0, within = 1 }", "epochs count from 1"),
            ("converged = { epoch = 1, within = 1, share = 1 }", "its share is 1"),
            ("converged = { epoch = 1, within = -1 }", "`within` is -1"),
            (
                "less = { a = ['last-1'], b = ['none'], task = 'ner' }",
                "the task `ner` is not one of the plan's, which are: upos",
            ),
            (
                "more-of = { axis = 'lang', from = 'en', to = 'de' }",
                "the language \"de\" is not one of the plan's, which are: en",
            ),
            ("drift = { task = 'upos', a = ['none'], b = ['last-1'] }", "the plan has only one"),
            (
                "loses-at-most = { a = ['last-1'], b = ['none'], margin = 1, measure = 'memory' }",
                "`loses-at-most` compares scores",
            ),
            (
                "less = { a = ['last-1'], b = ['none'], measure = 'memory', task = 'x' }",
                "`memory` is the whole",
            ),
            (
                "more-of = { axis = 'train.epochs', from = 5, to = 15, measure = 'memory' }",
                "`memory` compares policies",
            ),
            ("more-of = { axis = 'train.epoch', from = 5, to = 15 }", "there is no setting `train.epoch`"),
            (
                "more-of = { axis = 'train.epochs', from = 5, to = 'x' }",
                "does not fit the setting `train.epochs`",
            ),
            ("more-of = { axis = 'train.epochs', from = 5, to = 5 }", "`train.epochs = 5` against itself"),
            ("more-of = { axis = 'seed', from = 5, to = 6 }", "or a further axis"),
            ("more-of = { axis = 'stage', from = 'a', to = 'b' }", "the plan has only one"),
            ("more-of = { axis = 'train.epochs', from = 5, to = 15, gain = 1 }", "needs a margin above 0"),
            ("more-of = { axis = 'train.epochs', from = 5, to = 15, gain = inf }", "must be a number"),
            ("drift = { task = '', a = ['none'], b = ['last-1'] }", "needs the name of a task"),
            (
                "drift = { task = 'x', a = ['none'], b = ['last-1'], measure = 'train-time' }",
                "`dev` or `test`",
            ),
        ];
        for (written, expected) in cases {
            let error = plan_with_test(written).expect_err(written).to_string();
            assert!(error.contains(expected), "{written}: {error}");
        }
        let error = parse_claims("[[claims]]\nsays = ' '\ntests = []").expect_err("no sentence").to_string();
        assert!(error.contains("claim 1") && error.contains("has no sentence"), "{error}");
        let error = parse_claims(
            "[[claims]]\nsays = 'x'\nuntestable = 'no head'\ntests = [{ converged = { epoch = 1, within = 1 } }]",
        );
        let error = error.expect_err("a reason and a test").to_string();
        assert!(error.contains("`untestable` and has tests"), "{error}");
        assert!(parse_claims("[[claims]]\nsays = 'x'\nuntestable = 'no head'").is_ok());
        let error = parse_claims("[[claims]]\nsays = 'x'\ntests = []").expect_err("no test").to_string();
        assert!(error.contains("at least one in `tests`"), "{error}");
        let only =
            "[[claims]]\nsays = 'x'\nonly.seeds = 1\ntests = [{ less = { a = ['last-1'], b = ['none'] } }]";
        let error = parse_claims(only).expect_err("no such setting").to_string();
        assert!(error.contains("there is no setting `seeds`"), "{error}");
    }

    #[test]
    fn sets_of_blocks_are_policies_of_a_plan_that_searches_them() {
        let claim = |policies: &str, a: &str, b: &str| {
            let plan = "schema = 4\nname = 'x'\ntreebanks = { en = 'UD_English-EWT' }\n";
            let tests = format!("tests = [{{ less = {{ a = ['{a}'], b = ['{b}'] }} }}]");
            let text = format!("{plan}[grid]\npolicy = ['{policies}']\n[[claims]]\nsays = 'x'\n{tests}\n");
            Plan::parse(&text, "x.toml")
        };
        for word in ["subsets", "greedy"] {
            claim(word, "blocks-5", "blocks-0").expect("two sets");
            claim(word, "all", "none").expect("the ends");
            for other in ["first-2", "blocks-", "blocks-x", "blocks-2.0", "blocks-1.1", "blocks-0+lora"] {
                let error = claim(word, other, "none").expect_err(other).to_string();
                assert!(error.contains(&format!("the policy `{other}` is not one of the plan's")), "{error}");
            }
        }
        assert!(claim("first-2", "blocks-5", "first-2").is_err());
    }

    #[test]
    fn stages_are_compared_by_their_names() {
        let stages = "[[settings.stages]]\nname = 'head'\n[[settings.stages]]\nname = 'full'\n";
        let claim = |from: &str, to: &str| {
            let test = format!("{{ more-of = {{ axis = 'stage', from = {from}, to = {to} }} }}");
            parse_claims(&format!("[[claims]]\nsays = 'x'\ntests = [{test}]\n{stages}"))
        };
        assert!(claim("'head'", "'full'").is_ok());
        let cases = [
            ("'head'", "'all'", "the stage \"all\" is not one of the plan's, which are: head, full"),
            ("1", "'full'", "the stage 1 is not one of the plan's"),
            ("'full'", "'full'", "against itself"),
        ];
        for (from, to, expected) in cases {
            let error = claim(from, to).expect_err(to).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_drift_needs_a_stage_before_it() {
        let stages = "[[settings.stages]]\nname = 'a'\n[[settings.stages]]\nname = 'b'\n";
        let drift = |stage: &str| {
            let test =
                format!("{{ drift = {{ task = 'upos', stage = '{stage}', a = ['last-1'], b = ['none'] }} }}");
            parse_claims(&format!("[[claims]]\nsays = 'x'\ntests = [{test}]\n{stages}"))
        };
        assert!(drift("b").is_ok() && drift("").is_ok());
        let along = |keys: &str| {
            let test = format!("{{ drift = {{ task = 'upos', {keys} }} }}");
            parse_claims(&format!("[[claims]]\nsays = 'x'\ntests = [{test}]\n{stages}"))
        };
        let gradual = "along = { axis = 'unfreeze.every', from = 0, to = 1, policies = ['none'] }";
        assert!(along(gradual).is_ok());
        for (keys, expected) in [
            (format!("a = ['none'], b = ['last-1'], {gradual}"), "not both"),
            ("along = { axis = 'unfreeze.every', from = 1, to = 1 }".into(), "against itself"),
            (
                "along = { axis = 'unfreeze.each', from = 0, to = 1 }".into(),
                "there is no setting `unfreeze.each`",
            ),
            ("along = { axis = 'policy', from = 'none', to = 'all' }".into(), "not `policy`"),
            (gradual.replace("'none'", "'first-9'"), "the policy `first-9` is not one"),
            (String::new(), "0 policies A"),
        ] {
            let error = along(&keys).expect_err(&keys).to_string();
            assert!(error.contains(expected), "{keys}: {error}");
        }
        for (stage, expected) in [("a", "has no stage before it; it can be in: b"), ("c", "is not there")] {
            let error = drift(stage).expect_err(stage).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
