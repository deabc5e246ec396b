//! Tests the files that `--executor slurm` leaves behind if a submission fails, with replacements of SLURM's
//! commands. A real cluster runs in tests/cluster.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use frostline_e2e::{Ended, World};

use crate::new_world;

/// Gives job 41, then 42; the file `at-report`, if there is one, is run in place of the second. Scripts are queued.
const SBATCH: &str = r#"#!/bin/sh
echo "$@" >> "$CALLS/sbatch"
for script; do :; done
if [ "$(wc -l < "$CALLS/sbatch")" = 1 ]; then echo "41|$script" >> "$CALLS/queue"; echo 41; exit; fi
if [ -e "$CALLS/at-report" ]; then . "$CALLS/at-report"; fi
echo "42|$script" >> "$CALLS/queue"
echo 42
"#;

/// Returns a world whose cluster does this when the report's job is submitted.
fn world_with_cluster(at_report: &str) -> World {
    let world = new_world();
    for (name, text) in [
        ("sbatch", SBATCH),
        ("scancel", "#!/bin/sh\necho \"$@\" >> \"$CALLS/scancel\"\n"),
        ("scontrol", "#!/bin/sh\necho MaxArraySize = 1001\n"),
        ("squeue", "#!/bin/sh\ncat \"$CALLS/queue\"\n"),
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

/// The folder can be another person's, and its list can contain any numbers.
#[test]
fn only_jobs_that_run_the_scripts_of_the_folder_are_cancelled() {
    let world = world_with_cluster("");
    assert_eq!(submit_sweep(&world).code, Some(0));
    let cancel =
        || Ended::run_to_end(&mut with_cluster(&world, world.xtask_command(&["sweep", "--cancel", "out"])));
    let queue = std::fs::read_to_string(world.path_of("calls/queue")).expect("a queue");
    let elsewhere = queue.replace("out/slurm/report.sh", "other/report.sh");
    assert_ne!(elsewhere, queue);
    world.write_file("calls/queue", &elsewhere);
    let ended = cancel();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.err.contains("lists job 42, which runs ") && ended.err.contains("scancel 42"),
        "{}",
        ended.err
    );
    assert_eq!(recorded_calls(&world, "scancel"), ["41"]);
    world.write_file("calls/queue", "");
    let ended = cancel();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("all jobs of this folder have ended"), "{}", ended.out);
    assert_eq!(recorded_calls(&world, "scancel"), ["41"]);
}

#[test]
fn a_folder_whose_name_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = world_with_cluster("");
    let named = world.sweep_command(&["--executor", "slurm", "--detach", "--out", "NAME"]);
    let name = OsStr::from_bytes(b"out-\xff");
    let mut sweep = world.xtask_command(&[]);
    sweep.args(named.get_args().map(|argument| if argument == "NAME" { name } else { argument }));
    let ended = Ended::run_to_end(&mut with_cluster(&world, sweep));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("SLURM needs a path of UTF-8"), "{}", ended.err);
    assert!(recorded_calls(&world, "sbatch").is_empty());
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
