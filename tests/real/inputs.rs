//! Inputs that change under a running sweep: every cell reads only the bytes named in its record.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use frostline_record::{Cell, Checkpoints, Event, Job, Request, read_record};

use crate::{RUNNER, SweepPlace, repeatable_part, write_encoder};

/// Sends a worker one job per cell, and calls `hear` with the job's number and each event. Returns the error of
/// each job, if any.
fn run_in_worker(
    place: &SweepPlace,
    cells: &[Cell],
    mut hear: impl FnMut(usize, &Event),
) -> Vec<Option<String>> {
    let mut worker = Command::new(RUNNER)
        .args(["worker", "--backend", "flex", "--threads", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a worker");
    let mut input = worker.stdin.take().expect("its input");
    let mut events = BufReader::new(worker.stdout.take().expect("its output")).lines();
    let mut errors = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let folder = place.path_inside(&format!("again-{number}"));
        fs::create_dir_all(&folder).expect("a folder");
        let job = Job {
            cell: cell.clone(),
            folder: folder.display().to_string(),
            prefix_cache: None,
            checkpoints: Checkpoints { steps: 0, minutes: 0.0 },
            verify: false,
            claim: None,
        };
        writeln!(input, "{}", serde_json::to_string(&Request::Run(Box::new(job))).expect("plain data"))
            .expect("a job");
        errors.push(events.by_ref().find_map(|line| {
            let event = serde_json::from_str(&line.expect("a line")).expect("an event");
            hear(number, &event);
            match event {
                Event::Done { .. } => Some(None),
                Event::Failed { error, .. } => Some(Some(error)),
                _ => None,
            }
        }));
    }
    drop(input);
    worker.wait().expect("it ends");
    errors.into_iter().map(|error| error.expect("each job ends")).collect()
}

/// Flips the last bit of a file in place, and restores its times if the system permits it.
fn flip_last_bit(path: &Path) {
    let times = fs::metadata(path).expect("a file");
    let mut bytes = fs::read(path).expect("a file");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(path, bytes).expect("written");
    let file = fs::File::options().write(true).open(path).expect("a file");
    file.set_modified(times.modified().expect("a time")).expect("set");
}

#[test]
fn an_input_that_changes_between_two_cells_is_noticed_or_not_read_again() {
    for file in ["model.safetensors", "config.json", "tokenizer.json"] {
        let place = SweepPlace::new();
        write_encoder(&place.path_inside("models/tiny"));
        let words = format!(
            "--models {} --encoder tiny --lang en --seeds 1,2 --policies head-only --set train.epochs=1 \
             --set data.first=20 --set eval.baselines=off",
            place.path_inside("models").display()
        );
        let records = place.run_sweep(&words);
        let cells: Vec<Cell> = records.iter().map(|record| record.cell.clone()).collect();
        assert_eq!(run_in_worker(&place, &cells, |_, _| {}), [None, None]);
        let changed = place.path_inside("models/tiny").join(file);
        let errors = run_in_worker(&place, &cells, |number, event| {
            if number == 0 && matches!(event, Event::Done { .. }) {
                flip_last_bit(&changed);
            }
        });
        assert_eq!(errors[0], None);
        match &errors[1] {
            Some(error) => assert!(error.contains(file) && error.contains("changed"), "{file}: {error}"),
            // The worker still had the first cell's data.
            None => {
                assert_ne!(file, "model.safetensors", "weights are read for each cell");
                let again = read_record(&place.path_inside("again-1")).expect("a record").expect("one");
                assert_eq!(repeatable_part(&again), repeatable_part(&records[1]), "{file}");
            }
        }
    }
}

/// The baselines are computed after training, with weights that are read again.
#[test]
fn weights_that_change_while_a_cell_trains_are_not_read_again() {
    let place = SweepPlace::new();
    write_encoder(&place.path_inside("models/tiny"));
    let words = format!(
        "--models {} --encoder tiny --lang en --seeds 1 --policies head-only --set train.epochs=40 \
         --set data.first=20",
        place.path_inside("models").display()
    );
    let cells: Vec<Cell> = place.run_sweep(&words).iter().map(|record| record.cell.clone()).collect();
    let weights = place.path_inside("models/tiny/model.safetensors");
    let errors = run_in_worker(&place, &cells, |_, event| {
        if matches!(event, Event::Loaded(_)) {
            flip_last_bit(&weights);
        }
    });
    let [Some(error)] = &errors[..] else { panic!("no fault: {errors:?}") };
    assert!(error.contains("model.safetensors was changed while the cell read it"), "{error}");
    assert!(read_record(&place.path_inside("again-0")).expect("no fault").is_none(), "nothing is recorded");
}
