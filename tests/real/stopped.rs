//! A running cell is stored when its job is ended, whichever of the job's processes the engine signals first and how often.

use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use frostline_e2e::child_processes;
use frostline_record::Sweep;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{SweepPlace, output_text, repeatable_part};

const PLAN: &str = "--lang en --policies none --seeds 42 --threads 1 --set train.epochs=2";

fn send_signal(process: i32, signal: Signal) {
    // A process that has ended meanwhile gets no signal.
    let _ = kill(Pid::from_raw(process), signal);
}

fn parent_process(sweep: &Child) -> i32 {
    sweep.id().try_into().expect("a process id")
}

/// Stops a sweep of one cell in its middle, with these signals to its worker and to itself.
fn stop_sweep(place: &SweepPlace, signals: impl Fn(i32, i32)) -> Output {
    let mut command = place.sweep_command(PLAN);
    let sweep = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("xtask");
    let begun = Instant::now();
    let is_in_the_middle = || {
        let cells = std::fs::read_dir(place.out_folder().join("cells")).into_iter().flatten().flatten();
        let metrics = |cell: std::fs::DirEntry| std::fs::read_to_string(cell.path().join("metrics.jsonl"));
        cells.flat_map(metrics).any(|events| events.contains("\"step\""))
    };
    while !is_in_the_middle() {
        assert!(begun.elapsed() < Duration::from_secs(300), "no step was logged");
        std::thread::sleep(Duration::from_millis(5));
    }
    let workers = child_processes(&sweep);
    assert_eq!(workers.len(), 1);
    signals(workers[0], parent_process(&sweep));
    sweep.wait_with_output().expect("its end")
}

#[test]
fn a_cell_is_stored_whoever_is_signalled_first() {
    let whole = SweepPlace::new().run_sweep(PLAN);
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGUSR1] {
        let place = SweepPlace::new();
        let output = stop_sweep(&place, |worker, parent| {
            // A batch system signals all processes of a job, and `timeout` a process and its group, in this
            // way.
            [worker, parent, parent, worker].into_iter().for_each(|process| send_signal(process, signal));
        });
        assert_eq!(output.status.code(), Some(130), "{signal}: {}", output_text(&output));
        let folder = Sweep::cell_folder(&place.out_folder(), &whole[0].cell);
        assert!(!folder.join("record.json").exists(), "{signal}: {}", output_text(&output));
        assert!(folder.join("checkpoint.safetensors").exists(), "{signal}: {}", output_text(&output));
        let again = place.sweep_command(PLAN).output().expect("xtask starts");
        assert!(again.status.success(), "{}", output_text(&again));
        assert!(output_text(&again).contains("goes on after step"), "{}", output_text(&again));
        let records = crate::read_records(&place.out_folder());
        assert_eq!(repeatable_part(&records[0]), repeatable_part(&whole[0]));
    }
}
