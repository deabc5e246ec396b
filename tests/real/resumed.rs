//! Checkpoints: a cell whose worker is killed repeatedly ends with the same bits as an uninterrupted cell.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use frostline_record::{Cell, Checkpoints, Event, Job, Record, Request, Settings, Sweep, read_record};

use crate::{RUNNER, SweepPlace, repeatable_part};

/// A cell with gradual unfreezing and a second stage, so that an effect of a stop would be visible.
const PLAN: &str = r#"
schema = 4
name = "stopped"
synthetic = true
[treebanks]
en = "embedded:en"
[settings.encoder]
name = "embedded:demo-distilbert"
[settings.data]
first = 120
[settings.train]
batch = 8
log_every = 1
[settings.optimizer]
lr = 1e-3
[settings.eval]
every_steps = 4
[[settings.stages]]
name = "thaw"
train.epochs = 3
train.select = "best"
unfreeze.every = 6
unfreeze.unit = "steps"
[[settings.stages]]
name = "go on"
policy = "first-2"
train.epochs = 2
"#;

/// Returns a job of this cell in a new folder, with a checkpoint after every step.
fn job_with_checkpoints(cell: Cell, folder: &Path) -> Job {
    std::fs::create_dir_all(folder).expect("a folder");
    Job {
        cell,
        folder: folder.display().to_string(),
        prefix_cache: None,
        checkpoints: Checkpoints { steps: 1, minutes: 0.0 },
        verify: false,
        claim: None,
    }
}

/// Gives a job to a new worker and kills it after `steps` steps. Returns whether the cell was done before that.
fn stopped_after(job: &Job, steps: u64) -> bool {
    let mut seen = 0;
    stopped_when(job, |event| {
        seen += u64::from(matches!(event, Event::Step(_)));
        seen == steps
    })
}

/// Gives a job to a new worker and kills it when one of its events is the moment for that. Returns whether the cell was done before.
fn stopped_when(job: &Job, mut is_moment: impl FnMut(&Event) -> bool) -> bool {
    let mut worker = Command::new(RUNNER)
        .args(["worker", "--backend", "flex", "--threads", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a worker");
    let mut input = worker.stdin.take().expect("its input");
    writeln!(input, "{}", serde_json::to_string(&Request::Run(Box::new(job.clone()))).expect("plain data"))
        .expect("a job");
    let mut done = false;
    for line in BufReader::new(worker.stdout.take().expect("its output")).lines() {
        let event: Event = serde_json::from_str(&line.expect("a line")).expect("an event");
        match &event {
            Event::Done { .. } => done = true,
            Event::Failed { error, .. } => panic!("{error}"),
            _ => {}
        }
        if done || is_moment(&event) {
            break;
        }
    }
    worker.kill().expect("it can be killed");
    worker.wait().expect("it ends");
    done
}

#[test]
fn a_cell_killed_again_and_again_ends_with_the_same_bits() {
    let place = SweepPlace::new();
    let plan = place.path_inside("plan.toml");
    std::fs::write(&plan, PLAN).expect("the plan");
    let whole: Vec<Record> = place.run_sweep(&format!("--plan {} --threads 1", plan.display()));
    assert_eq!(whole.len(), 1, "one cell");
    let points = &whole[0].result.as_ref().expect("a result").dev_points;
    // The first stage has 45 steps, the second 30.
    let steps: Vec<u64> = points.iter().map(|point| point.step).collect();
    assert_eq!(steps, (1..=11).map(|at| 4 * at).chain((1..=7).map(|at| 45 + 4 * at)).collect::<Vec<_>>());
    assert_eq!((points[3].epoch, points[17].epoch), (2, 5));
    let folder = Sweep::cell_folder(&place.out_folder(), &whole[0].cell);
    assert!(!folder.join("checkpoint.safetensors").exists(), "it is no longer needed");

    let job = job_with_checkpoints(whole[0].cell.clone(), &place.path_inside("stopped"));
    // There are 75 steps; a worker takes one to three, and a few more before it dies.
    let mut stops = 0;
    while !stopped_after(&job, 1 + stops % 3) {
        stops += 1;
        assert!(stops < 75, "it does not come to an end");
    }
    assert!(stops >= 5, "only {stops} stops");
    let again = read_record(Path::new(&job.folder)).expect("a record").expect("one");
    assert_eq!(repeatable_part(&again), repeatable_part(&whole[0]));
}

/// Baselines come after all training, of which the next worker finds the results.
#[test]
fn a_cell_killed_after_its_last_epoch_ends_with_the_same_bits() {
    let place = SweepPlace::new();
    let plan = place.path_inside("plan.toml");
    std::fs::write(&plan, PLAN).expect("the plan");
    let whole = place.run_sweep(&format!("--plan {} --threads 1", plan.display()));
    let mut stops = 0;
    for attempt in 0..5 {
        let job =
            job_with_checkpoints(whole[0].cell.clone(), &place.path_inside(&format!("attempt-{attempt}")));
        let mut epochs = 0;
        let done = stopped_when(&job, |event| {
            epochs += u32::from(matches!(event, Event::Epoch { .. }));
            epochs == 5
        });
        // The worker may have written the record just before.
        if !done && read_record(Path::new(&job.folder)).expect("a folder").is_none() {
            stops += 1;
            let is_step = |event: &Event| matches!(event, Event::Step(_));
            assert!(stopped_when(&job, is_step), "training is not repeated");
        }
        let record = read_record(Path::new(&job.folder)).expect("a record").expect("one");
        assert_eq!(repeatable_part(&record), repeatable_part(&whole[0]));
    }
    assert!(stops > 0, "no worker was killed before its record was written");
}

/// A file that is another cell's checkpoint, or not a checkpoint, is not used for resuming.
#[test]
fn a_checkpoint_that_does_not_fit_is_ignored() {
    let place = SweepPlace::new();
    let plan = place.path_inside("plan.toml");
    std::fs::write(&plan, PLAN).expect("the plan");
    let words = format!("--plan {} --threads 1", plan.display());
    let whole = place.run_sweep(&words);
    let folder = Sweep::cell_folder(&place.out_folder(), &whole[0].cell);
    let cell = &whole[0].cell;
    let settings = Settings { seed: 1234, ..cell.settings.clone() };
    let other = Cell::new(settings, cell.inputs.clone(), &cell.backend, &whole[0].made_by.code);
    let elsewhere = place.path_inside("elsewhere");
    let job = job_with_checkpoints(other, &elsewhere);
    assert!(!stopped_after(&job, 5), "it is stopped in its middle");
    let of_another_cell = std::fs::read(elsewhere.join("checkpoint.safetensors")).expect("a checkpoint");
    for checkpoint in [b"half a file".as_slice(), &of_another_cell] {
        std::fs::remove_file(folder.join("record.json")).expect("the record was there");
        std::fs::write(folder.join("checkpoint.safetensors"), checkpoint).expect("a file");
        let again = place.run_sweep(&words);
        assert_eq!(repeatable_part(&again[0]), repeatable_part(&whole[0]));
    }
}

/// A checkpoint with any flipped bit is not used; the previous one is.
#[test]
fn a_damaged_checkpoint_is_noticed_and_the_one_before_is_used() {
    let place = SweepPlace::new();
    let plan = place.path_inside("plan.toml");
    std::fs::write(&plan, PLAN).expect("the plan");
    let words = format!("--plan {} --threads 1", plan.display());
    let whole = place.run_sweep(&words);
    let folder = place.path_inside("damaged");
    let job = job_with_checkpoints(whole[0].cell.clone(), &folder);
    assert!(!stopped_after(&job, 9), "it is stopped in its middle");
    let [last, previous] =
        ["checkpoint.safetensors", "checkpoint.previous.safetensors"].map(|name| folder.join(name));
    let checkpoint = std::fs::read(&last).expect("a checkpoint");
    assert!(previous.exists(), "the one before is kept");
    // From the header to the seal.
    for place_of_bit in (0..8).map(|part| part * (checkpoint.len() - 1) / 7) {
        let mut damaged = checkpoint.clone();
        damaged[place_of_bit] ^= 4;
        std::fs::write(&last, damaged).expect("a file");
        // A few more steps, so that it does resume.
        let before = std::fs::read(&previous).expect("the one before");
        stopped_after(&job, 1);
        std::fs::write(&previous, before).expect("a file");
    }
    while !stopped_after(&job, 40) {}
    let again = read_record(&folder).expect("a record").expect("one");
    assert_eq!(repeatable_part(&again), repeatable_part(&whole[0]));
}
