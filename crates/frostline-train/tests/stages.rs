//! Runs that change: gradual unfreezing, several tasks and heads, and runs that were stopped and resumed.

mod common;

use burn::module::AutodiffModule as _;
use frostline_freeze::{Policy, ResolvedPolicy, Timeline};
use frostline_model::{HeadKind, Network, Values, fingerprints, snapshot};
use frostline_random::Stream;
use frostline_record::{Mixing, ScheduleKind, Select, SelectBy};
use frostline_train::{
    Checkpoints, Finished, Run, RunEvent, Saved, Settings, Task, TrainError, features, train,
};

use common::{B, Setting, as_they_are, bert, distilbert, labelled, model, of, setting, settings, two_headed};

fn gradual(depth: usize, every: u64) -> Timeline {
    Timeline::gradual(&ResolvedPolicy::parse("none", depth).unwrap(), every)
}

fn run_on(
    setting: &Setting,
    timeline: &Timeline,
    settings: &Settings,
    tasks: &[Task<'_>],
    model: Network<B>,
) -> Finished<B> {
    train(&of(setting, settings, timeline, tasks), model, None, &mut |_: RunEvent<'_>| ()).unwrap()
}

/// The timeline of a policy's own schedule in a run of so many steps.
fn scheduled(name: &str, settings: &Settings, steps: u64) -> Timeline {
    frostline_train::timeline(&ResolvedPolicy::parse(name, 3).unwrap(), settings, steps)
}

fn only<'a>(setting: &'a Setting) -> [Task<'a>; 1] {
    [Run::task((&setting.train).into(), (&setting.dev).into())]
}

/// The parameters that are the same before and after.
fn same(before: &Network<B>, after: &Network<B>) -> Vec<String> {
    let after = fingerprints(after);
    fingerprints(before)
        .into_iter()
        .filter(|(path, hash)| after[path] == *hash)
        .map(|(path, _)| path)
        .collect()
}

#[test]
fn blocks_unfreeze_one_by_one() {
    // Five steps an epoch; at the end of the third, the head and two of three blocks have learned.
    let setting = setting(distilbert(), true);
    let before = model(&setting);
    let thawed = |epochs| {
        let settings = settings(|s| s.train.epochs = epochs);
        let finished = run_on(&setting, &gradual(3, 5), &settings, &only(&setting), before.clone());
        assert!(finished.freezing.unmoved.is_empty(), "{:?}", finished.freezing.unmoved);
        let still = same(&before, &finished.model);
        assert_eq!(still.len() as u64, finished.freezing.frozen);
        let frozen = |part: &str| still.iter().any(|path| path.contains(part));
        ["heads.0", "blocks.2", "blocks.1", "blocks.0", "embeddings"].map(frozen)
    };
    assert_eq!(thawed(1), [false, true, true, true, true]);
    assert_eq!(thawed(3), [false, false, false, true, true]);
    assert_eq!(thawed(5), [false; 5]);
}

/// What thaws late begins its optimiser's count late: its first step is as large as any first step.
#[test]
fn a_late_parameter_takes_a_full_first_step() {
    let mut setting = setting(distilbert(), true);
    setting.train.examples.truncate(8);
    let settings = settings(|s| {
        (s.train.epochs, s.train.batch) = (3, 8);
        s.optimizer.weight_decay = 0.0;
        s.schedule.kind = ScheduleKind::Constant;
    });
    let before = model(&setting);
    let finished = run_on(&setting, &gradual(3, 2), &settings, &only(&setting), before.clone());
    let (before, after) = (snapshot(&before), snapshot(&finished.model));
    let path = "encoder.blocks.2.value.weight";
    let moved =
        before[path].data.iter().zip(&after[path].data).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!((moved / 1e-3 - 1.0).abs() < 0.01, "{moved}");
}

#[test]
fn a_run_in_which_nothing_learns_only_scores() {
    let setting = setting(distilbert(), true);
    let before = model(&setting);
    let policy = ResolvedPolicy::parse("all+embeddings+heads", 3).unwrap();
    let finished = run_on(&setting, &policy.into(), &settings(as_they_are), &only(&setting), before.clone());
    assert_eq!((finished.steps, finished.selected, finished.states), (0, 0, 0));
    assert_eq!(same(&before, &finished.model).len() as u64, finished.freezing.frozen);
    assert_eq!(finished.dev[0].words.len(), setting.dev.examples.len());
    let settings = settings(|s| s.eval.batch_tokens = 50);
    let rows = features(&finished.model.valid(), &setting.encoder, (&setting.dev).into(), &settings);
    let positions = setting.dev.examples.iter().flat_map(|e| &e.words).filter(|word| word.is_ok()).count();
    assert_eq!(rows.len(), positions * setting.encoder.hidden);
}

#[test]
fn sentences_are_learned_with_every_head() {
    let setting = setting(bert(), false);
    let (train_set, dev) = (labelled(&setting, 3, 60), labelled(&setting, 4, 40));
    let task = |weight| Task { name: "old", head: 1, weight, train: (&train_set).into(), dev: (&dev).into() };
    for kind in [HeadKind::Linear, HeadKind::DistilBert, HeadKind::Pooler] {
        let settings = settings(|s| (s.train.epochs, s.optimizer.lr) = (30, 5e-3));
        let tasks = [task(1.0)];
        let timeline = Policy::parse("none").unwrap().resolve(3, &["words", "old"]).unwrap().into();
        let finished = run_on(&setting, &timeline, &settings, &tasks, two_headed(&setting, kind));
        let tally = finished.dev[0].tally;
        assert_eq!(tally.words as usize, dev.examples.len(), "one label per sentence");
        assert!(tally.correct * 10 >= tally.words * 9, "{kind:?}: {} of {}", tally.correct, tally.words);
    }
}

#[test]
fn a_frozen_head_keeps_its_bits_while_its_scores_drift_with_the_encoder() {
    let setting = setting(bert(), false);
    let (old, old_dev) = (labelled(&setting, 3, 40), labelled(&setting, 4, 20));
    let tasks = |weights: [f64; 2]| {
        let words = Run::task((&setting.train).into(), (&setting.dev).into());
        let old =
            Task { name: "old", head: 1, weight: weights[1], train: (&old).into(), dev: (&old_dev).into() };
        [Task { name: "words", weight: weights[0], ..words }, old]
    };
    let policy =
        |name| -> Timeline { Policy::parse(name).unwrap().resolve(3, &["words", "old"]).unwrap().into() };
    let start = two_headed(&setting, HeadKind::Linear);
    let both = run_on(&setting, &policy("none"), &settings(as_they_are), &tasks([1.0, 1.0]), start);
    assert!(both.freezing.unmoved.is_empty());
    let loss = |finished: &Finished<B>, task: usize| finished.dev[task].loss_nats;
    // The encoder learns on: the frozen head's bits stay, its scores move.
    let on = run_on(
        &setting,
        &policy("none+head.words"),
        &settings(as_they_are),
        &tasks([0.0, 1.0]),
        both.model.clone(),
    );
    let still = same(&both.model, &on.model);
    assert_eq!(still, ["heads.0.classifier.bias", "heads.0.classifier.weight"]);
    assert_ne!(loss(&on, 0), loss(&both, 0));
    // Encoder and head frozen: the score is the same bit for bit.
    let frozen = policy("all+embeddings+head.words");
    let on = run_on(&setting, &frozen, &settings(as_they_are), &tasks([0.0, 1.0]), both.model.clone());
    assert_eq!(loss(&on, 0).to_bits(), loss(&both, 0).to_bits());
    assert_eq!(on.dev[0], both.dev[0]);
    assert_ne!(loss(&on, 1), loss(&both, 1));
}

#[test]
fn heads_learn_first_and_blocks_in_turn() {
    // Five steps an epoch.
    let setting = setting(distilbert(), true);
    let before = model(&setting);
    let run = |name: &str, steps, epochs| {
        let settings = settings(|s| s.train.epochs = epochs);
        let timeline = scheduled(name, &settings, steps);
        let finished = run_on(&setting, &timeline, &settings, &only(&setting), before.clone());
        assert!(finished.freezing.unmoved.is_empty(), "{:?}", finished.freezing.unmoved);
        let still = same(&before, &finished.model);
        assert_eq!(still.len() as u64, finished.freezing.frozen);
        let moved = ["heads.0", "blocks.2", "blocks.1", "blocks.0", "embeddings"];
        (moved.map(|part| !still.iter().any(|path| path.contains(part))), finished.states)
    };
    // Half of ten steps, and of twenty.
    assert_eq!(run("lp-ft", 20, 1).0, [true, false, false, false, false]);
    assert_eq!(run("lp-ft", 10, 2).0, [true; 5]);
    // One block, drawn once in five steps and three times in fifteen.
    let (moved, states) = run("lisa-1@5", 5, 1);
    assert_eq!(moved.iter().filter(|moved| **moved).count(), 3, "{moved:?}");
    let (later, later_states) = run("lisa-1@5", 15, 3);
    assert!(later.iter().filter(|moved| **moved).count() > 3, "{later:?}");
    // Only the block that learns now has optimiser state.
    assert_eq!(states, later_states);
    assert!(!run("lisa-1@5+embeddings", 5, 1).0[4]);
}

/// Stopped at any step, also where a block's turn begins or ends, and resumed: every bit is as if nothing had happened.
#[test]
fn a_resumed_run_whose_blocks_take_turns_ends_bit_for_bit_the_same() {
    let setting = setting(distilbert(), true);
    let settings = settings(|s| s.train.epochs = 3);
    for name in ["lisa-1@4", "lp-ft"] {
        let (timeline, tasks) = (scheduled(name, &settings, 15), only(&setting));
        let mut run = of(&setting, &settings, &timeline, &tasks);
        run.checkpoints = Checkpoints { steps: 1, ..Checkpoints::NEVER };
        let (whole, _, files) = watched(&run, model(&setting), None);
        assert_eq!((whole.steps, files.len()), (15, 15));
        for (at, file) in files.iter().enumerate() {
            let (saved, _) = Saved::from_bytes(file).unwrap();
            let (again, ..) = watched(&run, model(&setting), Some(saved));
            assert_eq!(
                fingerprints(&again.model),
                fingerprints(&whole.model),
                "{name} after step {}",
                at + 1
            );
            assert_eq!((again.states, &again.freezing), (whole.states, &whole.freezing));
        }
    }
}

/// Stopped at twenty moments in the middle of a gradual unfreezing with several tasks, once with the
/// best epoch kept, and resumed: every bit is as if nothing had happened.
#[test]
fn a_resumed_run_ends_bit_for_bit_the_same() {
    let full = setting(bert(), false);
    for (select, mixing) in [(Select::Last, Mixing::Turns), (Select::Best, Mixing::Temperature)] {
        let (old, old_dev) = (labelled(&full, 3, 30), labelled(&full, 4, 20));
        let words = Run::task((&full.train).into(), (&full.dev).into());
        let tasks =
            [words, Task { name: "old", head: 1, weight: 0.5, train: (&old).into(), dev: (&old_dev).into() }];
        let policy = Policy::parse("none").unwrap().resolve(3, &["words", "old"]).unwrap();
        let timeline = Timeline::gradual(&policy, 7);
        let settings = settings(|s| {
            s.train.epochs = 5;
            (s.train.select, s.train.select_by) = (select, SelectBy::Loss);
            (s.train.mixing, s.train.temperature) = (mixing, 2.0);
        });
        let mut run = of(&full, &settings, &timeline, &tasks);
        run.checkpoints = Checkpoints { steps: 1, ..Checkpoints::NEVER };
        let mut files = Vec::new();
        let mut keep = |event: RunEvent<'_>| {
            if let RunEvent::Checkpoint(saved) = event {
                files.push(saved.to_bytes("a note"));
            }
        };
        let whole = train(&run, two_headed(&full, HeadKind::Pooler), None, &mut keep).unwrap();
        assert_eq!(files.len() as u64, whole.steps);
        let moments = Stream::new(9, "moments").sample(files.len(), 20);
        run.checkpoints = Checkpoints::NEVER;
        for at in moments.into_iter().chain([files.len() - 1]) {
            let (saved, note) = Saved::from_bytes(&files[at]).unwrap();
            assert_eq!((saved.step(), note.as_str()), (at as u64 + 1, "a note"));
            // What the model starts with must not matter.
            let other = two_headed(&full, HeadKind::Pooler);
            let gone_on = train(&run, other, Some(saved), &mut |_: RunEvent<'_>| ()).unwrap();
            let bits = |finished: &Finished<B>| -> Vec<(String, Vec<u32>)> {
                let bits = |values: Values| values.data.iter().map(|value| value.to_bits()).collect();
                snapshot(&finished.model).into_iter().map(|(path, values)| (path, bits(values))).collect()
            };
            assert!(bits(&gone_on) == bits(&whole), "stopped after step {}", at + 1);
            assert_eq!(gone_on.epochs, whole.epochs);
            assert_eq!(gone_on.losses, whole.losses);
            assert_eq!((gone_on.selected, &gone_on.dev), (whole.selected, &whole.dev));
            assert_eq!(gone_on.untouched_rows.to_bits(), whole.untouched_rows.to_bits());
            assert_eq!(gone_on.freezing, whole.freezing);
        }
        let (saved, _) = Saved::from_bytes(&files[0]).unwrap();
        let other = two_headed(&full, HeadKind::Linear);
        let error = train(&run, other, Some(saved), &mut |_: RunEvent<'_>| ()).err().unwrap().to_string();
        assert!(error.contains("it is of another model") && error.contains("dense"), "{error}");
    }
}

/// Dev after so many steps of a run: the step, the epoch and the loss's bits.
type DevSteps = Vec<(u64, u32, u64)>;

/// Trains on, and notes dev within epochs and the bytes of checkpoints.
fn watched(run: &Run<'_>, start: Network<B>, saved: Option<Saved>) -> (Finished<B>, DevSteps, Vec<Vec<u8>>) {
    let (mut points, mut files) = (Vec::new(), Vec::new());
    let mut keep = |event: RunEvent<'_>| match event {
        RunEvent::Dev { step, epoch, dev } => points.push((step, epoch, dev[0].loss_nats.to_bits())),
        RunEvent::Checkpoint(saved) => files.push(saved.to_bytes("")),
        _ => {}
    };
    (train(run, start, saved, &mut keep).unwrap(), points, files)
}

/// A rate this high makes dev worse after a while, so that patience ends the run: at the same epoch and with the same bits
/// when it is resumed, also from the last step before the decision.
#[test]
fn a_run_that_stops_early_stops_at_the_same_epoch_after_a_checkpoint() {
    let setting = setting(distilbert(), true);
    let timeline: Timeline = ResolvedPolicy::parse("none", 3).unwrap().into();
    let settings = settings(|s| {
        (s.train.epochs, s.train.patience, s.eval.every_steps) = (40, 2, 3);
        (s.optimizer.lr, s.schedule.kind) = (3e-2, ScheduleKind::Constant);
    });
    let tasks = only(&setting);
    let mut run = of(&setting, &settings, &timeline, &tasks);
    run.checkpoints = Checkpoints { steps: 1, ..Checkpoints::NEVER };
    let (whole, points, files) = watched(&run, model(&setting), None);
    let epochs = whole.epochs.len();
    assert!((3..40).contains(&epochs), "{epochs} epochs");
    let losses: Vec<f64> = whole.epochs.iter().map(|epoch| epoch.dev[0].loss_nats).collect();
    let best = (0..epochs).min_by(|a, b| losses[*a].total_cmp(&losses[*b])).unwrap();
    assert_eq!(epochs - 1 - best, 2, "{losses:?}");
    assert_eq!((whole.selected as usize, whole.steps as usize), (epochs, 5 * epochs));
    // Every third step of five an epoch, also where it ends one.
    let steps: Vec<(u64, u32)> = points.iter().map(|point| (point.0, point.1)).collect();
    let expected = (1..=whole.steps).filter(|step| step % 3 == 0).map(|step| (step, step.div_ceil(5) as u32));
    assert_eq!(steps, expected.collect::<Vec<_>>());
    let of_epoch = points.iter().filter(|(step, ..)| step % 5 == 0);
    for (_, epoch, loss) in of_epoch {
        assert_eq!(losses[*epoch as usize - 1].to_bits(), *loss);
    }
    for at in [2, 3, files.len() / 2, files.len() - 1] {
        let (saved, _) = Saved::from_bytes(&files[at]).unwrap();
        let (again, rest, _) = watched(&run, model(&setting), Some(saved));
        assert_eq!(fingerprints(&again.model), fingerprints(&whole.model), "stopped after step {}", at + 1);
        assert_eq!(again.epochs, whole.epochs);
        let is_after = |point: &&(u64, u32, u64)| point.0 > at as u64 + 1;
        // What an epoch's end scores is scored again where the checkpoint lies before it.
        assert!(rest.ends_with(&points.iter().filter(is_after).copied().collect::<Vec<_>>()));
        assert!(rest.len() <= points.iter().filter(is_after).count() + 1);
    }
    // Without patience it goes on, with the same epochs up to there; scoring within epochs changes no bit.
    let plain = common::settings(|s| {
        (s.train.epochs, s.optimizer.lr, s.schedule.kind) = (epochs as u32, 3e-2, ScheduleKind::Constant);
    });
    let plain = run_on(&setting, &timeline, &plain, &tasks, model(&setting));
    assert_eq!(plain.epochs, whole.epochs);
    assert_eq!(fingerprints(&plain.model), fingerprints(&whole.model));
}

#[test]
fn a_checkpoint_of_another_vocabulary_is_an_error() {
    let [full, compact] = [false, true].map(|compact| setting(bert(), compact));
    let (settings, timeline) = (settings(as_they_are), ResolvedPolicy::parse("none", 3).unwrap().into());
    let mut files = Vec::new();
    let tasks = [Run::task((&full.train).into(), (&full.dev).into())];
    let mut run = of(&full, &settings, &timeline, &tasks);
    run.checkpoints = Checkpoints { steps: 1, ..Checkpoints::NEVER };
    let mut keep = |event: RunEvent<'_>| {
        if let RunEvent::Checkpoint(saved) = event {
            files.push(saved.to_bytes(""));
        }
    };
    train(&run, model(&full), None, &mut keep).unwrap();
    let (saved, _) = Saved::from_bytes(&files[0]).unwrap();
    let tasks = [Run::task((&compact.train).into(), (&compact.dev).into())];
    let run = of(&compact, &settings, &timeline, &tasks);
    let error = train(&run, model(&compact), Some(saved), &mut |_: RunEvent<'_>| ()).err().unwrap();
    assert!(matches!(error, TrainError::Checkpoint { .. }), "{error}");
    assert!(error.to_string().contains("encoder.embeddings.word"), "{error}");
}

#[test]
fn bytes_that_are_no_checkpoint_are_an_error() {
    let error = Saved::from_bytes(b"not this").unwrap_err().to_string();
    assert!(error.contains("delete it to start the run again"), "{error}");
}
