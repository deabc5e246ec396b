//! The same study on a device: what is frozen keeps its bits, a run repeats bit for bit, and so does one that was stopped, under
//! every kind of policy.

use std::collections::BTreeMap;

use frostline_freeze::{Policy, ResolvedPolicy, SettlingRule, Timeline};
use frostline_kernels::Precision;
use frostline_model::{HeadKind, Network, fingerprints, snapshot};
use frostline_record::{Mixing, Select, SelectBy, Settings, Switch};
use frostline_train::conformance::check_training_wgpu;
use frostline_train::{Checkpoints, Finished, Run, RunEvent, Saved, Task, train};

use crate::common::{
    B, as_they_are, bert, distilbert, labelled, model, of, run, run_cached, setting, settings, two_headed,
    with_extras,
};

/// Every number of a model as bits, by path.
fn bits(model: &Network<B>) -> BTreeMap<String, Vec<u32>> {
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
    snapshot(model).into_iter().map(|(path, values)| (path, bits(values.data))).collect()
}

/// The model before a run under a policy with what it adds, and what came of it.
fn learn(name: &str, settings: &Settings) -> (Network<B>, Finished<B>) {
    let policy = ResolvedPolicy::parse(name, 3).unwrap();
    let setting = setting(with_extras(&bert(), &policy, "query+output"), true);
    let before = model(&setting);
    let (timeline, tasks) = (policy.into(), [Run::task((&setting.train).into(), (&setting.dev).into())]);
    let run = of(&setting, settings, &timeline, &tasks);
    let finished = train(&run, before.clone(), None, &mut |_: RunEvent<'_>| ()).unwrap();
    (before, finished)
}

#[test]
fn exactly_what_a_policy_names_moves_and_holds_state() {
    for name in
        ["first-1", "alternating", "first-2+embeddings", "none+lora", "first-1+adapters", "head-only+mix"]
    {
        let (before, finished) = learn(name, &settings(as_they_are));
        let policy = ResolvedPolicy::parse(name, 3).unwrap();
        let (start, end) = (fingerprints(&before), fingerprints(&finished.model));
        for (path, hash) in &start {
            // Keys' biases shift every score of a query alike, so softmax gives them no gradient.
            let no_gradient = path.ends_with("key.bias");
            assert!(policy.freezes(path) == (end[path] == *hash) || no_gradient, "{name}: {path}");
        }
        let learning = start.keys().filter(|path| !policy.freezes(path)).count();
        assert_eq!(finished.states, learning, "{name}: only what learns holds state");
    }
}

#[test]
fn a_run_repeats_bit_for_bit() {
    for name in ["none", "none+lora", "first-1+adapters"] {
        let once = |seed| {
            let (_, finished) = learn(name, &settings(|s| s.seed = seed));
            let losses: Vec<u64> = finished.losses.iter().map(|point| point.loss_nats.to_bits()).collect();
            (losses, bits(&finished.model), finished.dev)
        };
        let first = once(42);
        assert!(first == once(42), "{name}: the same run twice");
        assert!(name != "none" || first.0 != once(43).0, "another seed must differ");
    }
}

/// Rows of a product need not be the same bits where there are other rows, so a device's results may differ in rounding.
#[test]
fn a_cached_prefix_changes_nothing_but_rounding() {
    let setting = setting(bert(), true);
    for (name, blocks) in [("first-2+embeddings", 2), ("head-only", 3)] {
        let precisions: &[Precision] =
            if blocks == 2 { &[Precision::F32, Precision::Bf16] } else { &[Precision::F32] };
        for precision in precisions {
            let settings = settings(|s| {
                s.dropout.frozen = Switch::Off;
                s.train.precision = *precision;
            });
            let computed = run(&setting, name, &settings).unwrap();
            let cached = run_cached(&setting, name, blocks, &settings).unwrap();
            for (a, b) in computed.losses.iter().zip(&cached.losses) {
                assert!((a.loss_nats - b.loss_nats).abs() < 1e-5, "{name} {precision:?}: {a:?} {b:?}");
            }
        }
    }
}

/// Runs with a checkpoint at every step: the run's end, and the checkpoints.
fn with_checkpoints(run: &Run<'_>, model: Network<B>) -> (Finished<B>, Vec<Vec<u8>>) {
    let run = Run { checkpoints: Checkpoints { steps: 1, ..Checkpoints::NEVER }, ..copied(run) };
    let mut files = Vec::new();
    let mut keep = |event: RunEvent<'_>| {
        if let RunEvent::Checkpoint(saved) = event {
            files.push(saved.to_bytes(""));
        }
    };
    let whole = train(&run, model, None, &mut keep).unwrap();
    (whole, files)
}

/// The same run.
fn copied<'a>(run: &Run<'a>) -> Run<'a> {
    let Run { settings, encoder, timeline, tasks, settling, memory, .. } = *run;
    Run { settling, memory, ..Run::new(settings, encoder, timeline, tasks) }
}

/// What froze adaptively, and where a stopped run ends, do not depend on when norms were read from the device: here at every
/// step, where a checkpoint needs them, and there at the end of each window.
#[test]
fn adaptive_freezing_does_not_depend_on_stops() {
    let setting = setting(bert(), true);
    let timeline = ResolvedPolicy::parse("none+adaptive", 3).unwrap().into();
    let settings = settings(|s| {
        s.train.epochs = 3;
        s.dropout.frozen = Switch::Off;
    });
    let tasks = [Run::task((&setting.train).into(), (&setting.dev).into())];
    let rule = SettlingRule { every: 3, percentile: 60.0, keep: 1 };
    let run = Run { settling: Some(rule), memory: 1 << 30, ..of(&setting, &settings, &timeline, &tasks) };
    let (whole, files) = with_checkpoints(&run, model(&setting));
    assert!(!whole.settled.is_empty(), "something settles in {} steps", whole.steps);
    let quiet = &mut |_: RunEvent<'_>| ();
    let alone = train(&run, model(&setting), None, quiet).unwrap();
    assert_eq!((&alone.settled, bits(&alone.model)), (&whole.settled, bits(&whole.model)));
    for step in [4, 10] {
        let (saved, _) = Saved::from_bytes(&files[step]).unwrap();
        let resumed = train(&run, model(&setting), Some(saved), quiet).unwrap();
        assert_eq!(
            (&resumed.settled, bits(&resumed.model)),
            (&whole.settled, bits(&whole.model)),
            "from {step}"
        );
    }
}

/// Gradual unfreezing with two tasks and heads, the best epoch kept, stopped and resumed.
#[test]
fn a_resumed_run_ends_bit_for_bit_the_same() {
    let setting = setting(distilbert(), false);
    let (old, old_dev) = (labelled(&setting, 3, 30), labelled(&setting, 4, 20));
    let words = Run::task((&setting.train).into(), (&setting.dev).into());
    let tasks =
        [words, Task { name: "old", head: 1, weight: 0.5, train: (&old).into(), dev: (&old_dev).into() }];
    let policy = Policy::parse("none").unwrap().resolve(3, &["words", "old"]).unwrap();
    let timeline = Timeline::gradual(&policy, 6);
    let settings = settings(|s| {
        s.train.epochs = 3;
        (s.train.select, s.train.select_by) = (Select::Best, SelectBy::Loss);
        (s.train.mixing, s.train.temperature) = (Mixing::Temperature, 2.0);
    });
    let run = of(&setting, &settings, &timeline, &tasks);
    let (whole, files) = with_checkpoints(&run, two_headed(&setting, HeadKind::DistilBert));
    assert_eq!(files.len() as u64, whole.steps);
    for step in [1, 8, files.len() - 2] {
        let (saved, _) = Saved::from_bytes(&files[step]).unwrap();
        let other = two_headed(&setting, HeadKind::DistilBert);
        let resumed = train(&run, other, Some(saved), &mut |_: RunEvent<'_>| ()).unwrap();
        assert!(bits(&resumed.model) == bits(&whole.model), "stopped after step {}", step + 1);
        assert_eq!((&resumed.epochs, &resumed.losses), (&whole.epochs, &whole.losses));
        assert_eq!((resumed.selected, &resumed.dev), (whole.selected, &whole.dev));
        assert_eq!(resumed.freezing, whole.freezing);
    }
}

/// What `frostline doctor --conformance` says of training: gradients and short runs against a processor.
#[test]
fn training_conforms() {
    let all = check_training_wgpu(&Default::default());
    for one in &all {
        println!("{:<46}{:>12.1e}{:>10.0e}", one.name, one.deviation, one.limit);
    }
    let failed: Vec<_> = all.iter().filter(|one| !one.passes()).collect();
    assert!(failed.is_empty(), "{failed:?}");
}
