//! What a training step asks of a GPU: it waits for nothing, one upload brings the batch, and the number of kernels does
//! not grow with that of the parameters.

use frostline_freeze::{ResolvedPolicy, SettlingRule};
use frostline_kernels::DeviceCalls;
use frostline_model::EncoderConfig;
use frostline_train::{Run, RunEvent, train};

use crate::common::{bert, distilbert, model, of, run, run_cached, setting, settings, with_extras};

/// Kernels of a block, and of the rest of a step.
const BUDGET: [f64; 2] = [40.0, 30.0];

/// Kernels of a step under `none` of six blocks of DistilBERT.
const OF_SIX_BLOCKS: f64 = 270.0;

/// Kernels per step, but for those that make the moments' zeros, which only the first step has.
fn per_step(calls: &DeviceCalls) -> f64 {
    let beginnings = calls.launches.iter().filter(|(name, _)| name.contains("FullKernel"));
    let beginnings: u64 = beginnings.map(|(_, count)| count).sum();
    calls.launches_per_step() - beginnings as f64 / calls.steps as f64
}

#[test]
fn a_step_waits_for_nothing_and_keeps_to_its_budget() {
    let six = EncoderConfig { depth: 6, ..distilbert() };
    for (encoder, policy, most) in [
        (six, "none", OF_SIX_BLOCKS),
        (bert(), "none", BUDGET[0] * 3.0 + BUDGET[1]),
        (bert(), "first-1", BUDGET[0] * 3.0 + BUDGET[1]),
        (bert(), "all", BUDGET[0] * 3.0 + BUDGET[1]),
    ] {
        let depth = encoder.depth;
        let setting = setting(encoder, true);
        let never = settings(|settings| settings.train.log_every = 1000);
        let (finished, calls) = DeviceCalls::count(|| run(&setting, policy, &never));
        finished.expect("a run");
        assert_eq!((calls.steps, calls.uploads), (10, 10), "{policy}: uploads");
        // The losses of an epoch are read together, after its last step.
        assert_eq!(calls.reads, 2, "{policy}: reads");
        let per_step = per_step(&calls);
        println!("{policy}, {depth} blocks: {per_step} kernels a step\n{:#?}", calls.launches);
        assert!(per_step <= most, "{policy}: {per_step} kernels");
    }
}

#[test]
fn kernels_do_not_grow_with_the_parameters() {
    let per_step = |policy| {
        let setting = setting(bert(), true);
        let (finished, calls) = DeviceCalls::count(|| run(&setting, policy, &settings(|_| ())));
        finished.expect("a run");
        calls.launches_per_step()
    };
    let (none, head) = (per_step("none"), per_step("all"));
    assert!(head < none * 0.75, "frozen blocks have no backward pass: {head} against {none}");
}

/// What is read instead of computed comes in the same transfer as the batch.
#[test]
fn a_cached_prefix_comes_with_the_batch() {
    let never = settings(|settings| {
        settings.train.log_every = 1000;
        settings.dropout.frozen = frostline_record::Switch::Off;
    });
    let setting = setting(distilbert(), true);
    let (finished, calls) = DeviceCalls::count(|| run_cached(&setting, "first-2+embeddings", 2, &never));
    finished.expect("a run");
    assert_eq!((calls.steps, calls.uploads, calls.reads), (10, 10, 2));
}

/// Norms are read where a window ends, not at every step.
#[test]
fn adaptive_freezing_waits_once_in_a_window() {
    let setting = setting(bert(), true);
    let never = settings(|settings| settings.train.log_every = 1000);
    let timeline = ResolvedPolicy::parse("none+adaptive", 3).unwrap().into();
    let tasks = [Run::task((&setting.train).into(), (&setting.dev).into())];
    let rule = SettlingRule { every: 5, percentile: 0.0, keep: 1 };
    let run = Run { settling: Some(rule), ..of(&setting, &never, &timeline, &tasks) };
    let quiet = &mut |_: RunEvent<'_>| ();
    let (finished, calls) = DeviceCalls::count(|| train(&run, model(&setting), None, quiet));
    assert_eq!(finished.expect("a run").settled, []);
    assert_eq!((calls.steps, calls.uploads), (10, 10));
    // Two windows, and the losses of two epochs.
    assert_eq!(calls.reads, 4);
}

/// LoRA adds two products, a scaling and a sum to a layer, and no zeros.
#[test]
fn low_rank_matrices_upload_and_fill_nothing() {
    let policy = ResolvedPolicy::parse("none+lora", 3).unwrap();
    let setting = setting(with_extras(&bert(), &policy, "query+value"), true);
    let never = settings(|settings| settings.train.log_every = 1000);
    let (finished, calls) = DeviceCalls::count(|| run(&setting, "none+lora", &never));
    let states = finished.expect("a run").states as u64;
    assert_eq!((calls.steps, calls.uploads, calls.reads), (10, 10, 2));
    println!("none+lora, 3 blocks: {} kernels a step\n{:#?}", per_step(&calls), calls.launches);
    let zeros: u64 =
        calls.launches.iter().filter(|(name, _)| name.contains("FullKernel")).map(|(_, count)| count).sum();
    assert!(zeros <= 2 * states + 2 * calls.steps, "{zeros} fills, {states} states");
}
