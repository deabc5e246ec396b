//! What a training step asks of a GPU: it waits for nothing, one upload brings the batch, and the number of kernels does
//! not grow with that of the parameters.

mod common;

use frostline_kernels::DeviceCalls;

use common::{bert, distilbert, run, setting, settings};

/// Kernels of a block, and of the rest of a step.
const BUDGET: [f64; 2] = [40.0, 30.0];

#[test]
fn a_step_waits_for_nothing_and_keeps_to_its_budget() {
    for (encoder, policy) in [(distilbert(), "none"), (bert(), "none"), (bert(), "first-1"), (bert(), "all")]
    {
        let depth = encoder.depth;
        let setting = setting(encoder, true);
        let never = settings(|settings| settings.train.log_every = 1000);
        let (finished, calls) = DeviceCalls::count(|| run(&setting, policy, &never));
        finished.expect("a run");
        assert_eq!((calls.steps, calls.uploads), (10, 10), "{policy}: uploads");
        // The losses of an epoch are read together, after its last step.
        assert_eq!(calls.reads, 2, "{policy}: reads");
        // The moments begin as zeros, in the first step.
        let beginnings = calls.launches.iter().filter(|(name, _)| name.contains("FullKernel"));
        let beginnings: u64 = beginnings.map(|(_, count)| count).sum();
        let per_step = calls.launches_per_step() - beginnings as f64 / calls.steps as f64;
        println!("{policy}, {depth} blocks: {per_step} kernels a step\n{:#?}", calls.launches);
        assert!(per_step <= BUDGET[0] * depth as f64 + BUDGET[1], "{policy}: {per_step} kernels");
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
