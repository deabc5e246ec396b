//! Which cells a test pairs: those that differ in their policy, in their language, or in one further axis, alone; or the
//! stages of a cell.

use frostline_record::{Compared, Drift, Measure, MoreOf};

use crate::number::listed;
use crate::study::cells::shown;
use crate::study::hardware::Hardware;
use crate::study::outcomes::After;
use crate::study::{CellView, Study};
use crate::topics::claims::gauge::Gauge;
use crate::topics::claims::rows::{BySentence, Differences, Pair, place, rows};
use crate::topics::claims::steps;
use crate::topics::claims::verdict::{Answer, Verdict, Wanted, amount, by_more_than, has, short};

/// Which policies A and B are: ` (A: first-2 and first-4; B: none)`.
fn sides(a: &[String], b: &[String]) -> String {
    format!(" (A: {}; B: {})", listed(a), listed(b))
}

/// A has less than B.
pub(super) fn less(study: &Study, cells: &[&CellView], test: &Compared) -> Answer<Differences> {
    let gauge = Gauge::new(test.measure, &test.task, cells);
    let margin = by_more_than(test.margin, gauge.difference_unit());
    let asks = format!("A has less {} than B{margin}{}", gauge.name, sides(&test.a, &test.b));
    between(study, cells, test, &gauge, asks, Wanted::Below(test.margin))
}

/// A and B differ by no more than a margin.
pub(super) fn equal_within(study: &Study, cells: &[&CellView], test: &Compared) -> Answer<Differences> {
    let gauge = Gauge::new(test.measure, &test.task, cells);
    let margin = amount(test.margin, gauge.difference_unit());
    let asks = format!("A and B differ by at most {margin} in {}{}", gauge.name, sides(&test.a, &test.b));
    between(study, cells, test, &gauge, asks, Wanted::Within(test.margin))
}

/// A has at most a margin less than B, or more.
pub(super) fn loses_at_most(study: &Study, cells: &[&CellView], test: &Compared) -> Answer<Differences> {
    let gauge = Gauge::new(test.measure, &test.task, cells);
    let margin = amount(test.margin, gauge.difference_unit());
    let asks = format!("A loses at most {margin} of {} against B{}", gauge.name, sides(&test.a, &test.b));
    between(study, cells, test, &gauge, asks, Wanted::Above(-test.margin))
}

fn between(
    study: &Study,
    cells: &[&CellView],
    test: &Compared,
    gauge: &Gauge<'_>,
    asks: String,
    wanted: Wanted,
) -> Answer<Differences> {
    if test.measure == Measure::TrainTime {
        return by_steps(study, cells, test, gauge, asks, wanted);
    }
    let found = policies(study, cells, &test.pairs(), &|view| gauge.end(view));
    if found.is_empty() {
        let measured = |view: &CellView| gauge.end(view).is_some();
        if cells.iter().any(|view| view.done().is_some()) && !cells.iter().any(|view| measured(view)) {
            return not_tested(asks, format!("no cell that is done has a {}", gauge.name));
        }
        return nothing(asks, cells, test.a.iter().chain(&test.b));
    }
    decided(asks, gauge.titled(), gauge, (&found, by_sentence(study, gauge)), wanted)
}

/// Training times of policies, which only steps in turns can compare.
fn by_steps(
    study: &Study,
    cells: &[&CellView],
    test: &Compared,
    gauge: &Gauge<'_>,
    asks: String,
    wanted: Wanted,
) -> Answer<Differences> {
    let Some((rows, together)) = steps::rows(study, cells, &test.pairs(), wanted) else {
        let found = policies(study, cells, &test.pairs(), &|view| gauge.end(view));
        if found.is_empty() {
            return nothing(asks, cells, test.a.iter().chain(&test.b));
        }
        let even = found.iter().all(|pair| pair.all(|cell| cell.settings.has_even_steps()));
        return not_tested(asks, if even { UNTIMED } else { UNEVEN }.into());
    };
    let measured = "a step in turns, ms".into();
    answer(asks, Differences { measured, unit: gauge.difference_unit(), rows, together })
}

/// Why training times of policies are not compared.
const UNTIMED: &str = "the steps of these policies were not taken in turns, and training times of single cells hold whatever \
                       else the machine did; the same sweep command without `--no-timing` takes them";

/// Why they never are.
const UNEVEN: &str = "what learns changes during a cell here, so that no step stands for all of its steps, and training times of single \
                      cells hold whatever else the machine did";

/// Over a stage, a task falls less under A than under B.
pub(super) fn drift<'a>(study: &Study, cells: &[&'a CellView], test: &'a Drift) -> Answer<Differences> {
    let gauge = Gauge::new(test.measure, &test.task, cells);
    let stage = match test.stage.as_str() {
        "" => "the last stage".into(),
        name => format!("the stage `{name}`"),
    };
    let margin = by_more_than(test.margin, gauge.difference_unit());
    let asks = format!(
        "over {stage}, {} falls less, or rises more, under A than under B{margin}{}",
        gauge.name,
        sides(&test.a, &test.b)
    );
    let of_cell = |view: &'a CellView| {
        let (end, done) = (gauge.end(view)?.0, view.done()?);
        let stages = &done.result.stages;
        let at = match test.stage.as_str() {
            "" => stages.len().checked_sub(1)?,
            name => stages.iter().position(|stage| stage.name == name)?,
        };
        Some((end, gauge.after(done, at)? - gauge.after(done, at.checked_sub(1)?)?))
    };
    let found = policies(study, cells, &test.pairs(), &of_cell);
    if found.is_empty() {
        if !cells.iter().any(|view| of_cell(view).is_some()) {
            let why = format!("no cell that is done scored a task `{}` before and after {stage}", test.task);
            return not_tested(asks, why);
        }
        return nothing(asks, cells, test.a.iter().chain(&test.b));
    }
    decided(
        asks,
        format!("change of {}, points", gauge.name),
        &gauge,
        (&found, None),
        Wanted::Above(test.margin),
    )
}

/// One value of a further axis, one language, or one stage gives more than another.
pub(super) fn more_of(study: &Study, cells: &[&CellView], test: &MoreOf) -> Answer<Differences> {
    let gauge = Gauge::new(test.measure, &test.task, cells);
    let names = [&test.to, &test.from].map(|value| format!("{} = {}", test.axis, written(value)));
    let (asks, wanted) = more(test, &gauge, &names);
    let axis = study.axes().iter().position(|axis| *axis == test.axis);
    let of_langs = test.axis == "lang";
    if axis.is_none() && !of_langs && !test.is_of_stages() {
        return not_tested(asks, format!("the sweep does not vary `{}`", test.axis));
    }
    let of_policy = |view: &&CellView| {
        test.policies.is_empty() || test.policies.iter().any(|policy| view.cell.settings.policy == *policy)
    };
    let mut found = Vec::new();
    for &view in cells.iter().filter(|view| of_policy(view)) {
        let ends = if test.is_of_stages() {
            [&test.to, &test.from].map(|name| gauge.stage(view, name.as_str()?))
        } else {
            let b = cells.iter().find(|b| has(b, &test.axis, &test.from) && are_twins_but_for(axis, view, b));
            let b = b.filter(|b| gauge.split().is_some() || same_hardware(view, b));
            let a = Some(view).filter(|view| has(view, &test.axis, &test.to));
            [a, b.copied()].map(|view| gauge.end(view?))
        };
        if let [Some((a, of_a)), Some((b, of_b))] = ends {
            let cells = format!("{}, {}", place(study, view, axis), view.cell.settings.policy);
            found.push(Pair::new([a, b], cells, names.clone(), [of_a, of_b]));
        }
    }
    if found.is_empty() {
        let names = names.join(" against ");
        return not_tested(
            asks,
            match test.is_of_stages() {
                true => format!("no cell that is done has a {} after {names}", gauge.name),
                false => format!("no two cells that are done differ in {names} and nothing else"),
            },
        );
    }
    // Two languages have no sentence in common.
    let sentences = by_sentence(study, &gauge).filter(|_| !of_langs);
    decided(asks, gauge.titled(), &gauge, (&found, sentences), wanted)
}

/// What the test asks, in words and as a rule.
fn more(test: &MoreOf, gauge: &Gauge<'_>, [a, b]: &[String; 2]) -> (String, Wanted) {
    let (name, unit) = (&gauge.name, gauge.difference_unit());
    match test.gain {
        None => {
            let margin = by_more_than(test.margin, unit);
            (format!("{a} (A) gives more {name} than {b} (B){margin}"), Wanted::Above(test.margin))
        }
        Some(gain) => {
            let (shown, margin) = (short(gain), short(test.margin));
            let asks = format!("{a} (A) gives {shown} ± {margin} {unit} more {name} than {b} (B)");
            (asks, Wanted::Near { gain, margin: test.margin })
        }
    }
}

/// Cells that differ in their policy alone, those of A with those of B.
fn policies<'a>(
    study: &Study,
    cells: &[&'a CellView],
    pairs: &[(&str, &str)],
    measured: &dyn Fn(&'a CellView) -> Option<(After<'a>, f64)>,
) -> Vec<Pair<'a>> {
    let mut found = Vec::new();
    for &(a, b) in pairs {
        for &view in cells.iter().filter(|view| view.cell.settings.policy == a) {
            let twin =
                cells.iter().copied().find(|other| other.cell.settings.policy == b && other.is_twin_of(view));
            let values = [Some(view), twin].map(|view| view.and_then(measured));
            if let [Some((end_a, of_a)), Some((end_b, of_b))] = values {
                let names = [a, b].map(String::from);
                found.push(Pair::new([end_a, end_b], place(study, view, None), names, [of_a, of_b]));
            }
        }
    }
    found
}

/// Whether times of both may be compared.
fn same_hardware(a: &CellView, b: &CellView) -> bool {
    a.made_by().map(Hardware::of) == b.made_by().map(Hardware::of)
}

/// Whether cells differ in one further axis alone; in their language, if none is given.
fn are_twins_but_for(axis: Option<usize>, a: &CellView, b: &CellView) -> bool {
    let mut b = b.clone();
    match axis {
        Some(axis) => b.extras[axis].clone_from(&a.extras[axis]),
        None => b.cell.settings.lang.clone_from(&a.cell.settings.lang),
    }
    a.cell.settings.policy == b.cell.settings.policy && a.is_twin_of(&b)
}

/// Where the sentences of a score are.
fn by_sentence<'a>(study: &'a Study, gauge: &Gauge<'_>) -> Option<BySentence<'a>> {
    let split = gauge.split()?;
    let scatter = study.verdicts.scatter(split);
    Some(BySentence { outcomes: &study.outcomes, split, scatter })
}

fn decided(
    asks: String,
    measured: String,
    gauge: &Gauge<'_>,
    (pairs, by_sentence): (&[Pair<'_>], Option<BySentence<'_>>),
    wanted: Wanted,
) -> Answer<Differences> {
    let (rows, together) = rows(gauge, pairs, by_sentence, wanted);
    answer(asks, Differences { measured, unit: gauge.difference_unit(), rows, together })
}

fn answer(asks: String, found: Differences) -> Answer<Differences> {
    let verdict = found.deciding().map_or(Verdict::NotDecided, |row| row.verdict);
    Answer { asks, verdict, found: Ok(found) }
}

/// A setting's value as everywhere in the study.
fn written(value: &toml::Value) -> String {
    shown(&serde_json::to_value(value).unwrap_or_default())
}

/// Why policies could not be compared.
fn nothing<'a>(
    asks: String,
    cells: &[&CellView],
    policies: impl Iterator<Item = &'a String>,
) -> Answer<Differences> {
    let planned = |policy: &&String| cells.iter().any(|view| view.cell.settings.policy == **policy);
    let missing: Vec<String> =
        policies.filter(|policy| !planned(policy)).map(|policy| format!("`{policy}`")).collect();
    let why = if missing.is_empty() {
        "no two cells of one seed that are done differ in these policies and nothing else".into()
    } else {
        format!("the sweep has no cells here with {}", listed(&missing))
    };
    not_tested(asks, why)
}

fn not_tested(asks: String, why: String) -> Answer<Differences> {
    Answer { asks, verdict: Verdict::NotTested, found: Err(why) }
}
