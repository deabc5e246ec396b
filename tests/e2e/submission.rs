//! Tests the files that `--executor slurm` leaves behind if a submission fails, with replacements of SLURM's
//! commands. A real cluster runs in tests/cluster.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use frostline_e2e::{Ended, World};

use crate::new_world;

/// Gives job 41, then 42; the file `at-report`, if there is one, is run in place of the second.
const SBATCH: &str = r#"#!/bin/sh
echo "$@" >> "$CALLS/sbatch"
if [ "$(wc -l < "$CALLS/sbatch")" = 1 ]; then echo 41; exit; fi
if [ -e "$CALLS/at-report" ]; then . "$CALLS/at-report"; fi
echo 42
"#;

/// Returns a world whose cluster does this when the report's job is submitted.
fn world_with_cluster(at_report: &str) -> World {
    let world = new_world();
    for (name, text) in [
        ("sbatch", SBATCH),
        ("scancel", "#!/bin/sh\necho \"$@\" >> \"$CALLS/scancel\"\n"),
        ("scontrol", "#!/bin/sh\necho MaxArraySize = 1001\n"),
        ("squeue", "#!/bin/sh\n"),
    ] {
        let name = format!("bin/{name}");
        world.write_file(&name, text);
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(world.path_of(&name), all).expect("the permissions");
    }
    world.write_file("calls/at-report", at_report);
    world
}

/// Returns a command that finds that cluster.
fn with_cluster(world: &World, mut command: Command) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", world.path_of("bin").display()));
    command.env("CALLS", world.path_of("calls"));
    command
}

fn submit_sweep(world: &World) -> Ended {
    Ended::run_to_end(&mut with_cluster(world, world.sweep_command(&["--executor", "slurm", "--detach"])))
}

/// Returns the arguments of each call of a command.
fn recorded_calls(world: &World, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.path_of(&format!("calls/{name}"))).unwrap_or_default();
    text.lines().map(String::from).collect()
}

#[test]
fn what_was_submitted_can_be_cancelled() {
    let world = world_with_cluster("");
    let ended = submit_sweep(&world);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("in array 41, the report in job 42"), "{}", ended.out);
    let cancelled =
        Ended::run_to_end(&mut with_cluster(&world, world.xtask_command(&["sweep", "--cancel", "out"])));
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert_eq!(recorded_calls(&world, "scancel"), ["41 42"]);
}

/// The command can end, or lose its machine, while it submits.
#[test]
fn an_array_is_noted_before_the_report_is_submitted() {
    let world = world_with_cluster("kill -9 $PPID; sleep 1");
    assert_eq!(submit_sweep(&world).code, None);
    let cancelled =
        Ended::run_to_end(&mut with_cluster(&world, world.xtask_command(&["sweep", "--cancel", "out"])));
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert_eq!(recorded_calls(&world, "scancel"), ["41"]);
}

#[test]
fn a_refused_report_or_a_note_that_cannot_be_kept_leaves_no_job() {
    let unwritable = "rm out/slurm/jobs.json; mkdir out/slurm/jobs.json";
    for (at_report, jobs) in [("echo no >&2; exit 1", "41"), (unwritable, "41 42")] {
        let world = world_with_cluster(at_report);
        let ended = submit_sweep(&world);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert_eq!(recorded_calls(&world, "scancel"), [jobs], "{ended:?}");
        let shown = format!("jobs {} were submitted and have been cancelled", jobs.replace(' ', ", "));
        assert!(ended.err.contains(&shown), "{}", ended.err);
    }
}

#[test]
fn nothing_is_submitted_where_notes_are_damaged() {
    let world = world_with_cluster("");
    assert_eq!(submit_sweep(&world).code, Some(0));
    world.write_file("out/slurm/jobs.json", "[{");
    let ended = submit_sweep(&world);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("jobs.json: damaged; `squeue --me` shows"), "{}", ended.err);
    assert_eq!(recorded_calls(&world, "sbatch").len(), 2, "the report and the array of the first time");
}
