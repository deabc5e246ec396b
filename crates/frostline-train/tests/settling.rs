//! Adaptive freezing in a run: what freezes, what is read instead of computed, and resuming.

mod common;

use std::collections::BTreeMap;

use frostline_freeze::{Group, ResolvedPolicy, SettlingRule, Timeline};
use frostline_model::snapshot;
use frostline_record::Switch;
use frostline_train::{Checkpoints, Finished, Run, RunEvent, Saved, Settings, Task, train};

use common::{B, Setting, bert, model, of, setting, settings};

const RULE: SettlingRule = SettlingRule { every: 3, percentile: 60.0, keep: 1 };

fn constant(dropout: bool) -> Settings {
    settings(|s| {
        s.train.epochs = 4;
        s.dropout.frozen = if dropout { Switch::On } else { Switch::Off };
    })
}

fn only(setting: &Setting) -> [Task<'_>; 1] {
    [Run::task((&setting.train).into(), (&setting.dev).into())]
}

fn adaptive<'a>(
    setting: &'a Setting,
    settings: &'a Settings,
    timeline: &'a Timeline,
    tasks: &'a [Task<'a>],
    memory: usize,
) -> Run<'a> {
    Run { settling: Some(RULE), memory, ..of(setting, settings, timeline, tasks) }
}

fn run(settings: &Settings, memory: usize, sink: &mut dyn FnMut(RunEvent<'_>)) -> (Setting, Finished<B>) {
    let setting = setting(bert(), true);
    let timeline = ResolvedPolicy::parse("none+adaptive", 3).unwrap().into();
    let finished = {
        let tasks = only(&setting);
        let mut sink = sink;
        train(&adaptive(&setting, settings, &timeline, &tasks, memory), model(&setting), None, &mut sink)
            .unwrap()
    };
    (setting, finished)
}

#[test]
fn what_settles_stays_to_the_bit_and_holds_no_state() {
    let mut saved: Vec<Vec<u8>> = Vec::new();
    let setting = setting(bert(), true);
    let timeline = ResolvedPolicy::parse("none+adaptive", 3).unwrap().into();
    let (settings, tasks) = (constant(true), only(&setting));
    let run = adaptive(&setting, &settings, &timeline, &tasks, 0);
    let run = Run { checkpoints: Checkpoints { steps: 1, ..Checkpoints::NEVER }, ..run };
    let mut trainable = Vec::new();
    let finished = train(&run, model(&setting), None, &mut |event: RunEvent<'_>| match event {
        RunEvent::Checkpoint(now) => saved.push(now.to_bytes("")),
        RunEvent::Epoch(_, _, policy) => trainable.push(policy.freezes("encoder.embeddings.word")),
        RunEvent::Loss { .. } | RunEvent::Dev { .. } => {}
    })
    .unwrap();
    assert!(!finished.settled.is_empty(), "something settles in {} steps", finished.steps);
    assert_eq!(finished.settled[0].0, Group::Embeddings, "from the input up");
    assert!(finished.settled.iter().all(|(group, _)| *group != Group::Block(2)), "one block is kept");
    assert!(trainable.windows(2).all(|pair| pair[0] <= pair[1]) && trainable.contains(&true));
    let end = snapshot(&finished.model);
    for &(group, step) in &finished.settled {
        let then = parameters(&saved[step as usize - 1]);
        for (path, bytes) in then.iter().filter(|(path, _)| Group::of(path) == group) {
            let last: Vec<u8> = end[path].data.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert!(last == *bytes, "{path} froze after step {step}");
        }
    }
    let settled = |path: &str| finished.settled.iter().any(|(group, _)| *group == Group::of(path));
    assert_eq!(finished.states, end.keys().filter(|path| !settled(path)).count());
}

/// The bytes of a checkpoint's parameters, by path.
fn parameters(checkpoint: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let file = safetensors::SafeTensors::deserialize(checkpoint).unwrap();
    let model = file.iter().filter_map(|(name, view)| Some((name.strip_prefix("model/")?, view)));
    model.map(|(path, view)| (path.to_string(), view.data().to_vec())).collect()
}

/// Where nothing is dropped in what has frozen, its output is read instead of computed, and nothing else
/// changes.
#[test]
fn a_grown_prefix_changes_no_result() {
    let quiet = &mut |_: RunEvent<'_>| ();
    let settings = constant(false);
    let (_, computed) = run(&settings, 0, quiet);
    let (_, read) = run(&settings, 1 << 30, quiet);
    assert_eq!(computed.settled, read.settled);
    let (a, b) = (snapshot(&computed.model), snapshot(&read.model));
    for (path, values) in &a {
        for (x, y) in values.data.iter().zip(&b[path].data) {
            // Equal to the bit where a product's row does not depend on the rows beside it.
            assert!((x - y).abs() <= 1e-5, "{path}: {x} {y}");
        }
    }
}

#[test]
fn a_stopped_run_settles_as_if_it_had_not_stopped() {
    for (dropout, memory) in [(true, 0), (false, 1 << 30)] {
        let setting = setting(bert(), true);
        let timeline = ResolvedPolicy::parse("none+adaptive", 3).unwrap().into();
        let (settings, tasks) = (constant(dropout), only(&setting));
        let mut saved = Vec::new();
        let run = adaptive(&setting, &settings, &timeline, &tasks, memory);
        let run = Run { checkpoints: Checkpoints { steps: 1, ..Checkpoints::NEVER }, ..run };
        let whole = train(&run, model(&setting), None, &mut |event: RunEvent<'_>| {
            if let RunEvent::Checkpoint(now) = event {
                saved.push(now.to_bytes(""));
            }
        })
        .unwrap();
        // Without checkpoints, the word table is whole only where an epoch ends or something settles.
        let run = Run { checkpoints: Checkpoints::NEVER, ..run };
        for step in [2, 5, 6, 7, 13, 19] {
            let (from, _) = Saved::from_bytes(&saved[step]).unwrap();
            let resumed = train(&run, model(&setting), Some(from), &mut |_: RunEvent<'_>| ()).unwrap();
            assert_eq!(resumed.settled, whole.settled, "from step {step}");
            assert_eq!(snapshot(&resumed.model), snapshot(&whole.model), "from step {step}");
        }
    }
}
