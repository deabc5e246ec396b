//! SIGKILL at random moments, of the sweep, of its worker or of both, until the sweep is done all the same.

use std::process::Stdio;
use std::time::{Duration, Instant};

use frostline_e2e::child_processes;
use frostline_random::Stream;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{FaultPlace, requested_amount};

/// The common part of all plans: two workers, and checkpoints at every second step.
const SHARED: &str = r#"
schema = 4
name = "kills"
synthetic = true
jobs = 2

[timing]
limit_s = 0.0

[treebanks]
en = "embedded:en"

[checkpoints]
steps = 2

[settings.encoder]
name = "embedded:demo-distilbert"

[settings.data]
first = 40

[settings.train]
batch = 8
epochs = 2

[settings.dropout]
frozen = "off"
"#;

/// All kinds of policy, stages and schedule.
const PLANS: [&str; 3] = [
    r#"
[grid]
policy = ["none", "first-1+embeddings", "head-only", "none+lora", "none+adapters", "none+adaptive", "none+bitfit"]
"#,
    r#"
[grid]
policy = ["none", "alternating"]
"schedule.kind" = ["linear", "constant"]

[[settings.stages]]
name = "head"
policy = "head-only"
train.epochs = 1

[[settings.stages]]
name = "all"
optimizer.layer_decay = 0.5
"#,
    r#"
[grid]
policy = ["none"]
seed = [1, 2, 3]

[settings.unfreeze]
every = 1
"#,
];

#[test]
fn no_moment_of_a_kill_changes_a_result() {
    let wanted: u64 = requested_amount("FROSTLINE_KILLS").unwrap_or(6);
    let chance = Stream::new(7, "kills");
    let (mut kills, mut sweeps) = (0, 0);
    while kills < wanted {
        let plan = format!("{SHARED}{}", PLANS[sweeps % PLANS.len()]);
        let started = Instant::now();
        let reference = FaultPlace::new(&plan).run_to_success();
        let whole = started.elapsed();
        let place = FaultPlace::new(&plan);
        // Several kills of one sweep, each at a moment within the time of an undisturbed sweep.
        for _ in 0..wanted.div_ceil(3).min(10) {
            let mut sweep =
                place.sweep_command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            std::thread::sleep(whole.mul_f64(0.6 * chance.unit(2 * kills)));
            let workers = child_processes(&sweep);
            let victims = chance.below(2 * kills + 1, 3);
            if sweep.try_wait().expect("a child").is_some() {
                break;
            }
            if victims != 0 {
                for worker in &workers {
                    let _ = kill(Pid::from_raw(*worker), Signal::SIGKILL);
                }
            }
            if victims != 1 {
                sweep.kill().expect("kill -9");
            }
            kills += 1;
            // After its worker was killed, the sweep continues with others.
            let started = Instant::now();
            while sweep.try_wait().expect("a child").is_none() {
                assert!(started.elapsed() < crate::PATIENCE, "the sweep does not end");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        assert_eq!(place.run_to_success(), reference, "after {kills} kills");
        sweeps += 1;
    }
    println!("{kills} kills in {sweeps} sweeps, all results equal bit for bit");
}
