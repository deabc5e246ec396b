//! Every change of a file of a small sweep fails in turn, or is the last before a power cut.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::{FaultPlace, SweepResults, requested_amount};

/// Two cells with checkpoints at every third step, prefix files, two stages, saved models and features.
const PLAN: &str = r#"
schema = 4
name = "faults"
synthetic = true

[treebanks]
en = "embedded:en"

[grid]
policy = ["none", "head-only"]

[checkpoints]
steps = 3

[prefix_cache]
memory_mib = 0

[settings.encoder]
name = "embedded:demo-distilbert"

[settings.data]
first = 24

[settings.dropout]
frozen = "off"

[settings.train]
batch = 8
epochs = 2

[settings.eval]
test = true

[settings.save]
model = true
features = true

[[settings.stages]]
name = "warm up"
train.epochs = 1

[[settings.stages]]
name = "main"
"#;

/// One operation of a sweep, as its log has it.
struct FaultyOperation {
    role: String,
    number: String,
    name: String,
    path: String,
}

impl FaultyOperation {
    /// Returns the ways in which this operation can go wrong.
    fn fault_kinds(&self) -> &'static [&'static str] {
        match self.name.as_str() {
            "Write" => &["error", "short", "half", "after"],
            "Sync" => &["error", "before"],
            _ => &["error", "before", "after"],
        }
    }
}

/// Foreign files in all folders of a sweep.
const FOREIGN: [&str; 4] = ["out/mine.txt", "out/report/mine.md", "out/prefixes/mine.f32", "out/cells/mine"];

/// Runs the sweep with a fault, then without, and compares the results. Returns whether the fault ended the
/// first run.
fn survives_fault(fault: &str, reference: &SweepResults) -> bool {
    let place = FaultPlace::new(PLAN);
    let ended = !place.run_with_fault(Some(("FROSTLINE_FAULT", fault))).status.success();
    // A cut in the first moments leaves a folder that is not a sweep's yet; with foreign files, no sweep starts
    // in it.
    let marked = fs::metadata(place.path_inside("out/.lock")).is_ok_and(|lock| lock.len() > 0);
    let foreign = if marked { &FOREIGN[..] } else { &[] };
    for name in foreign {
        let path = place.path_inside(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, name).expect("a file");
    }
    let mut found = place.run_to_success();
    found.report.retain(|name| name != "report/mine.md");
    found.files.remove(Path::new("cells/mine"));
    // A cell does not fail for want of a model's card: `frostline export` writes one if it is missing.
    let mut expected = reference.clone();
    expected.files.retain(|path, _| !path.ends_with("model/README.md") || found.files.contains_key(path));
    assert_eq!(found, expected, "{fault}");
    for name in foreign {
        let text = fs::read_to_string(place.path_inside(name)).ok();
        assert_eq!(text.as_deref(), Some(*name), "{fault}: {name} was touched");
    }
    ended
}

#[test]
fn no_failing_operation_costs_a_result_or_a_foreign_file() {
    let place = FaultPlace::new(PLAN);
    let log = place.path_inside("log");
    let output = place.run_with_fault(Some(("FROSTLINE_FAULT_LOG", log.to_str().expect("Unicode"))));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reference = place.run_to_success();
    let text = fs::read_to_string(log).expect("the log");
    let operation = |line: &str| {
        let mut words = line.splitn(4, ' ').map(str::to_string);
        let mut next = || words.next().expect("four words");
        FaultyOperation { role: next(), number: next(), name: next(), path: next() }
    };
    let operations: Vec<FaultyOperation> = text.lines().map(operation).collect();
    let cases: Vec<(&FaultyOperation, &str)> =
        operations.iter().flat_map(|at| at.fault_kinds().iter().map(move |kind| (at, *kind))).collect();
    assert!(operations.len() > 100 && cases.len() > 300, "{} operations", operations.len());

    let all = requested_amount::<String>("FROSTLINE_FAULTS").is_some_and(|text| text == "all");
    // A sample takes other operations and kinds from its beginning to its end.
    let step = if all { 1 } else { cases.len() / 12 };
    let mut counts: BTreeMap<(&str, &str), (u32, u32)> = BTreeMap::new();
    for (operation, kind) in cases.iter().step_by(step) {
        let FaultyOperation { role, number, name, path } = operation;
        let ended = survives_fault(&format!("{role}:{number}:{kind}"), &reference);
        let count = counts.entry((name, kind)).or_default();
        count.0 += 1;
        count.1 += u32::from(ended);
        if all {
            println!(
                "{role} {number} {name} {kind} {path}: {}",
                if ended { "ended the run" } else { "no harm" }
            );
        }
    }
    for ((name, kind), (tried, ended)) in &counts {
        println!(
            "{name:<13} {kind:<7} tried {tried:>4}, ended the first run {ended:>4}, results equal {tried:>4}"
        );
    }
    let tried: u32 = counts.values().map(|count| count.0).sum();
    println!(
        "{} operations, {tried} faults, all results equal bit for bit, no foreign file touched",
        operations.len()
    );
}
