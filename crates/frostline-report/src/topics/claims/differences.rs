//! Which cells a test pairs: those that differ in their policy, in their language, or in one further axis, alone; or the
//! stages of a cell.

use frostline_record::{Along, Compared, Comparisons, Drift, Measure, MoreOf};

use crate::number::listed;
use crate::study::cells::show_value;
use crate::study::comparison::SplitComparison;
use crate::study::hardware::Hardware;
use crate::study::outcomes::After;
use crate::study::{BASELINE, CellView, Study, distinct};
use crate::topics::claims::gauge::Gauge;
use crate::topics::claims::intervals::BySentence;
use crate::topics::claims::memory;
use crate::topics::claims::pairs::CellPair;
use crate::topics::claims::rows::{
    Differences, PairedComparison, comparison_rows, name_comparison, place_without,
};
use crate::topics::claims::steps;
use crate::topics::claims::verdict::{
    ClaimVerdict, DifferenceQuestion, TestAnswer, WantedDifference, by_more_than, has_setting,
    shorten_number, show_amount,
};

/// Which policies A and B are: ` (A: first-2 and first-4; B: none)`.
fn name_sides(a: &[String], b: &[String]) -> String {
    format!(" (A: {}; B: {})", listed(a), listed(b))
}

/// What a test of policies asks of A and B.
#[derive(Clone, Copy, Debug)]
pub(super) enum AskedRelation {
    /// A has less than B.
    Less,
    /// They differ by no more than a margin.
    EqualWithin,
    /// A has at most a margin less than B, or more.
    LosesAtMost,
}

impl AskedRelation {
    /// The question in words and as a rule.
    fn of(self, test: &Compared, gauge: &Gauge<'_>) -> (String, WantedDifference) {
        let (name, unit, sides) = (&gauge.name, gauge.difference_unit(), name_sides(&test.a, &test.b));
        let margin = show_amount(test.margin, unit);
        match self {
            Self::Less => {
                let more = by_more_than(test.margin, unit);
                (format!("A has less {name} than B{more}{sides}"), WantedDifference::Below(test.margin))
            }
            Self::EqualWithin => (
                format!("A and B differ by at most {margin} in {name}{sides}"),
                WantedDifference::Within(test.margin),
            ),
            Self::LosesAtMost => (
                format!("A loses at most {margin} of {name} against B{sides}"),
                WantedDifference::Above(-test.margin),
            ),
        }
    }
}

/// Policies, by a score, by time or by memory.
pub(super) fn judge_policies(
    study: &Study,
    cells: &[&CellView],
    (test, asked): (&Compared, AskedRelation),
    comparisons: Comparisons,
) -> TestAnswer<Differences> {
    let gauge = &Gauge::new(test.measure, &test.task, cells);
    let (asks, wanted) = asked.of(test, gauge);
    let question = DifferenceQuestion { wanted, comparisons };
    if gauge.split().is_none() {
        return by_steps(study, cells, test, gauge, asks, question);
    }
    let mut found = pairs_of_policies(study, cells, &test.pairs(), &|view| gauge.end(view));
    if found.is_empty() {
        let measured = |view: &CellView| gauge.end(view).is_some();
        if cells.iter().any(|view| view.done().is_some()) && !cells.iter().any(|view| measured(view)) {
            return not_tested(asks, format!("no cell that is done has a {}", gauge.name));
        }
        return nothing_compared(asks, cells, test.a.iter().chain(&test.b));
    }
    found.iter_mut().for_each(|pair| pair.in_study = in_study(study, gauge, pair));
    let planned = planned_comparisons(study, cells, &test.pairs());
    let found = MeasuredPairs { pairs: &found, sentences: by_sentence(study, gauge), planned };
    answer_pairs(asks, gauge.titled(), gauge, found, question)
}

/// The row of the study's verdicts that compares what a pair compares: the headline of a policy and of `none`.
fn in_study<'a>(study: &'a Study, gauge: &Gauge<'_>, pair: &CellPair<'_>) -> Option<&'a SplitComparison> {
    let (a, b) = pair.twins.filter(|(_, b)| b.cell.settings.policy == BASELINE)?;
    let view = study.cells.iter().find(|view| view.cell.id == a.cell.id)?;
    let is_headline = [a, b].iter().all(|end| end.task == end.cell.settings.headline());
    let row = study.verdicts.get(view, gauge.split()?);
    row.filter(|_| is_headline).map(|row| &row.compared)
}

/// Time or memory of policies' steps, which only steps in turns and processes of their own can compare.
fn by_steps(
    study: &Study,
    cells: &[&CellView],
    test: &Compared,
    gauge: &Gauge<'_>,
    asks: String,
    question: DifferenceQuestion,
) -> TestAnswer<Differences> {
    let planned = planned_comparisons(study, cells, &test.pairs());
    if planned.iter().all(|(place, _)| place.is_empty()) {
        return nothing_compared(asks, cells, test.a.iter().chain(&test.b));
    }
    let on_gpu = cells.iter().filter_map(|view| study.step_costs.find(view)).any(|cost| cost.on_gpu);
    let (rows, measured) = match (test.measure, on_gpu) {
        (Measure::Memory, true) => {
            (memory::memory_rows(study, cells, &test.pairs(), question), "peak GPU memory, MiB")
        }
        (Measure::Memory, false) => {
            (memory::memory_rows(study, cells, &test.pairs(), question), "peak memory, MiB")
        }
        _ => (steps::step_rows(study, cells, &test.pairs(), question), "a step in turns, ms"),
    };
    let Some((rows, together)) = rows else {
        let found = pairs_of_policies(study, cells, &test.pairs(), &|view| gauge.end(view));
        let is_even = |pair: &CellPair<'_>| pair.all(|cell| cell.settings.has_even_steps());
        return match test.measure {
            Measure::Memory => not_tested(asks, memory::UNMEASURED.into()),
            _ if found.is_empty() => nothing_compared(asks, cells, test.a.iter().chain(&test.b)),
            _ => not_tested(asks, if found.iter().all(is_even) { UNTIMED } else { UNEVEN }.into()),
        };
    };
    let missing = missing_comparisons(&planned, &rows);
    let (unit, comparisons) = (gauge.difference_unit(), question.comparisons);
    answer_of(asks, Differences { measured: measured.into(), unit, comparisons, rows, together, missing })
}

/// Why training times of policies are not compared.
const UNTIMED: &str = "the steps of these policies were not taken in turns, and training times of single cells hold whatever \
                       else the machine did; the same sweep command without `--no-timing` takes them";

/// Why they never are.
const UNEVEN: &str = "what learns changes during a cell here, so that its steps are not alike, and training times of single \
                      cells hold whatever else the machine did";

/// Over a stage, a task falls less under A than under B.
pub(super) fn judge_drift<'a>(
    study: &Study,
    cells: &[&'a CellView],
    test: &'a Drift,
    comparisons: Comparisons,
) -> TestAnswer<Differences> {
    let gauge = Gauge::new(test.measure, &test.task, cells);
    let stage = match test.stage.as_str() {
        "" => "the last stage".into(),
        name => format!("the stage `{name}`"),
    };
    let margin = by_more_than(test.margin, gauge.difference_unit());
    let names = test.along.as_ref().map(|along| name_values(&along.axis, [&along.to, &along.from]));
    let sides = match &names {
        Some([a, b]) => format!(" (A: {a}; B: {b})"),
        None => name_sides(&test.a, &test.b),
    };
    let asks = format!(
        "over {stage}, {} falls less, or rises more, under A than under B{margin}{sides}",
        gauge.name
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
    let (pairs, planned) = match &test.along {
        Some(along) => along_axis(study, cells, along, &of_cell),
        None => (
            pairs_of_policies(study, cells, &test.pairs(), &of_cell),
            planned_comparisons(study, cells, &test.pairs()),
        ),
    };
    if pairs.is_empty() {
        if !cells.iter().any(|view| of_cell(view).is_some()) {
            let why = format!("no cell that is done scored a task `{}` before and after {stage}", test.task);
            return not_tested(asks, why);
        }
        return match names {
            Some(names) => not_tested(asks, no_twins(&names)),
            None => nothing_compared(asks, cells, test.a.iter().chain(&test.b)),
        };
    }
    let found = MeasuredPairs { pairs: &pairs, sentences: None, planned };
    let question = DifferenceQuestion { wanted: WantedDifference::Above(test.margin), comparisons };
    answer_pairs(asks, format!("change of {}, points", gauge.name), &gauge, found, question)
}

/// Two values of an axis in words, A first.
fn name_values(axis: &str, values: [&toml::Value; 2]) -> [String; 2] {
    values.map(|value| format!("{axis} = {}", written_value(value)))
}

/// Why no cells differ in two values of an axis.
fn no_twins(names: &[String; 2]) -> String {
    format!("no two cells that are done differ in {} and nothing else", names.join(" against "))
}

/// Cells that differ in their values of an axis alone, and which of them the sweep has, done or not.
fn along_axis<'a>(
    study: &Study,
    cells: &[&'a CellView],
    along: &Along,
    measured: &dyn Fn(&'a CellView) -> Option<(After<'a>, f64)>,
) -> (Vec<CellPair<'a>>, Vec<PlannedComparison>) {
    let (mut found, mut planned) = (Vec::new(), Vec::new());
    let Some(axis) = study.axes().iter().position(|axis| *axis == along.axis) else {
        return (found, planned);
    };
    let names = name_values(&along.axis, [&along.to, &along.from]);
    let of_policy = |view: &CellView| {
        along.policies.is_empty() || along.policies.iter().any(|policy| view.cell.settings.policy == *policy)
    };
    for &view in cells.iter().filter(|view| of_policy(view) && has_setting(view, &along.axis, &along.to)) {
        let is_twin = |b: &&&'a CellView| {
            has_setting(b, &along.axis, &along.from) && are_twins_but_for(Some(axis), view, b)
        };
        let Some(twin) = cells.iter().find(is_twin) else { continue };
        let of_cells = format!("{}, {}", place_without(study, view, Some(axis)), view.cell.settings.policy);
        planned.push((of_cells.clone(), names.clone()));
        if let [Some((a, of_a)), Some((b, of_b))] = [view, *twin].map(measured) {
            found.push(CellPair::new([a, b], of_cells, names.clone(), [of_a, of_b]));
        }
    }
    (found, planned)
}

/// One value of a further axis, one language, or one stage gives more than another.
pub(super) fn more_of(
    study: &Study,
    cells: &[&CellView],
    test: &MoreOf,
    comparisons: Comparisons,
) -> TestAnswer<Differences> {
    let gauge = Gauge::new(test.measure, &test.task, cells);
    let names = name_values(&test.axis, [&test.to, &test.from]);
    let (asks, wanted) = question_of_more(test, &gauge, &names);
    let axis = study.axes().iter().position(|axis| *axis == test.axis);
    let of_langs = test.axis == "lang";
    if axis.is_none() && !of_langs && !test.is_of_stages() {
        return not_tested(asks, format!("the sweep does not vary `{}`", test.axis));
    }
    let of_policy = |view: &&CellView| {
        test.policies.is_empty() || test.policies.iter().any(|policy| view.cell.settings.policy == *policy)
    };
    let (mut found, mut planned) = (Vec::new(), Vec::new());
    for &view in cells.iter().filter(|view| of_policy(view)) {
        let of_cells = format!("{}, {}", place_without(study, view, axis), view.cell.settings.policy);
        let ends = if test.is_of_stages() {
            planned.push((of_cells.clone(), names.clone()));
            [&test.to, &test.from].map(|name| gauge.stage(view, name.as_str()?))
        } else {
            let b = cells
                .iter()
                .find(|b| has_setting(b, &test.axis, &test.from) && are_twins_but_for(axis, view, b));
            let a = Some(view).filter(|view| has_setting(view, &test.axis, &test.to));
            if a.is_some() && b.is_some() {
                planned.push((of_cells.clone(), names.clone()));
            }
            let b = b.filter(|b| gauge.split().is_some() || same_hardware(view, b));
            [a, b.copied()].map(|view| gauge.end(view?))
        };
        if let [Some((a, of_a)), Some((b, of_b))] = ends {
            found.push(CellPair::new([a, b], of_cells, names.clone(), [of_a, of_b]));
        }
    }
    if found.is_empty() {
        return not_tested(
            asks,
            match test.is_of_stages() {
                true => {
                    format!("no cell that is done has a {} after {}", gauge.name, names.join(" against "))
                }
                false => no_twins(&names),
            },
        );
    }
    // Two languages have no sentence in common.
    let sentences = by_sentence(study, &gauge).filter(|_| !of_langs);
    let found = MeasuredPairs { pairs: &found, sentences, planned };
    answer_pairs(asks, gauge.titled(), &gauge, found, DifferenceQuestion { wanted, comparisons })
}

/// What the test asks, in words and as a rule.
fn question_of_more(test: &MoreOf, gauge: &Gauge<'_>, [a, b]: &[String; 2]) -> (String, WantedDifference) {
    let (name, unit) = (&gauge.name, gauge.difference_unit());
    match test.gain {
        None => {
            let margin = by_more_than(test.margin, unit);
            (format!("{a} (A) gives more {name} than {b} (B){margin}"), WantedDifference::Above(test.margin))
        }
        Some(gain) => {
            let (shown, margin) = (shorten_number(gain), shorten_number(test.margin));
            let asks = format!("{a} (A) gives {shown} ± {margin} {unit} more {name} than {b} (B)");
            (asks, WantedDifference::Near { gain, margin: test.margin })
        }
    }
}

/// Cells of A with cells of B that differ in their policy alone.
fn pairs_of_policies<'a>(
    study: &Study,
    cells: &[&'a CellView],
    pairs: &[(&str, &str)],
    measured: &dyn Fn(&'a CellView) -> Option<(After<'a>, f64)>,
) -> Vec<CellPair<'a>> {
    let mut found = Vec::new();
    for &(a, b) in pairs {
        for &view in cells.iter().filter(|view| view.cell.settings.policy == a) {
            let twin =
                cells.iter().copied().find(|other| other.cell.settings.policy == b && other.is_twin_of(view));
            let values = [Some(view), twin].map(|view| view.and_then(measured));
            if let [Some((end_a, of_a)), Some((end_b, of_b))] = values {
                let names = [a, b].map(String::from);
                found.push(CellPair::new(
                    [end_a, end_b],
                    place_without(study, view, None),
                    names,
                    [of_a, of_b],
                ));
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

/// What each cell has right, sentence by sentence; nothing if predictions are missing.
fn by_sentence<'a>(study: &'a Study, gauge: &Gauge<'_>) -> Option<BySentence<'a>> {
    let split = gauge.split()?;
    let verdicts = &study.verdicts;
    Some(BySentence {
        outcomes: &study.outcomes,
        split,
        margin: study.margin(),
        scatter: verdicts.scatter(split),
    })
}

/// A comparison that a test asks for: its cells, and what is compared.
type PlannedComparison = (String, [String; 2]);

/// What was measured for a test.
struct MeasuredPairs<'a> {
    pairs: &'a [CellPair<'a>],
    sentences: Option<BySentence<'a>>,
    planned: Vec<PlannedComparison>,
}

/// The comparisons of policies that a test asks for, done or not. A pair that no cells of the sweep have is one too.
fn planned_comparisons(study: &Study, cells: &[&CellView], pairs: &[(&str, &str)]) -> Vec<PlannedComparison> {
    let mut planned = Vec::new();
    for &(a, b) in pairs {
        let names = [a, b].map(String::from);
        let of_a = cells.iter().filter(|view| view.cell.settings.policy == a);
        let has_twin = |view: &&&CellView| {
            cells.iter().any(|b_of| b_of.cell.settings.policy == b && b_of.is_twin_of(view))
        };
        let places: Vec<String> =
            of_a.filter(has_twin).map(|view| place_without(study, view, None)).collect();
        if places.is_empty() {
            planned.push((String::new(), names));
        } else {
            planned.extend(distinct(places).into_iter().map(|place| (place, names.clone())));
        }
    }
    planned
}

/// The names of planned comparisons that have no row.
fn missing_comparisons(planned: &[PlannedComparison], rows: &[PairedComparison]) -> Vec<String> {
    let has_row = |(cells, names): &&PlannedComparison| {
        rows.iter().any(|row| row.cells == *cells && row.names.as_ref() == Some(names))
    };
    distinct(planned.iter().filter(|one| !has_row(one)).map(|(cells, names)| name_comparison(cells, names)))
}

fn answer_pairs(
    asks: String,
    measured: String,
    gauge: &Gauge<'_>,
    found: MeasuredPairs<'_>,
    question: DifferenceQuestion,
) -> TestAnswer<Differences> {
    let (rows, together) = comparison_rows(gauge, found.pairs, found.sentences, question);
    let missing = missing_comparisons(&found.planned, &rows);
    let (unit, comparisons) = (gauge.difference_unit(), question.comparisons);
    answer_of(asks, Differences { measured, unit, comparisons, rows, together, missing })
}

fn answer_of(asks: String, found: Differences) -> TestAnswer<Differences> {
    TestAnswer { asks, verdict: found.verdict(), found: Ok(found) }
}

/// A setting's value as everywhere in the study.
fn written_value(value: &toml::Value) -> String {
    show_value(&serde_json::to_value(value).unwrap_or_default())
}

/// Why policies could not be compared.
fn nothing_compared<'a>(
    asks: String,
    cells: &[&CellView],
    policies: impl Iterator<Item = &'a String>,
) -> TestAnswer<Differences> {
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

fn not_tested(asks: String, why: String) -> TestAnswer<Differences> {
    TestAnswer { asks, verdict: ClaimVerdict::NotTested, found: Err(why) }
}
