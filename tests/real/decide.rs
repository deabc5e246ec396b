//! Sweeps that stop when they know: which cells run follows from the records, whatever happens on the way.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use frostline_record::{Record, Sweep};

use crate::{SweepPlace, output_text, read_records, repeatable_part};

const STUDY: &str =
    "--lang en --policies none,first-2,all --seeds 42-45 --set data.first=120 --set train.epochs=1 --jobs 1";

/// The cells' titles in order, with the results of each.
fn titles_and_results(place: &SweepPlace) -> Vec<(String, String)> {
    let sweep = Sweep::read(&place.out_folder()).expect("a sweep");
    let records: BTreeMap<String, Record> = read_records(&place.out_folder())
        .into_iter()
        .map(|record| (record.cell.id.clone(), record))
        .collect();
    sweep.cells.iter().map(|cell| (cell.title(), repeatable_part(&records[&cell.id]))).collect()
}

#[test]
fn a_sweep_that_is_killed_again_and_again_decides_the_same() {
    let study = format!("{STUDY} --decide=verdicts");
    let quiet = SweepPlace::new();
    let output = quiet.sweep_command(&study).output().expect("xtask starts");
    assert!(output.status.success(), "{}", output_text(&output));
    let text = output_text(&output);
    assert!(
        text.contains("decide    starts with 2 of 4 seeds and stops when it knows (verdicts): 6 to 12 cells"),
        "{text}"
    );
    assert!(text.contains("decide    round 1, 6 cells: "), "{text}");
    let expected = titles_and_results(&quiet);
    assert!((6..=12).contains(&expected.len()), "{expected:?}");
    assert!(
        !Sweep::read(&quiet.out_folder()).expect("a sweep").search_continues,
        "no further cells will come"
    );
    let report = std::fs::read_to_string(quiet.path_inside("out/report/report.md")).expect("a report");
    assert!(report.contains("judged after each further seed"), "{report}");

    // The same command again runs nothing and decides the same.
    let again = quiet.sweep_command(&study).output().expect("xtask starts");
    let decisions = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("decide")).map(String::from).collect()
    };
    assert_eq!(decisions(&output_text(&again)), decisions(&text));

    let place = SweepPlace::new();
    let recorded = || std::fs::read_dir(place.path_inside("out/cells")).into_iter().flatten().flatten();
    let count = || recorded().filter(|cell| cell.path().join("record.json").exists()).count();
    let mut kills = 0;
    loop {
        let before = count();
        let mut sweep = place
            .sweep_command(&format!("{study} --lease-s 3"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("xtask starts");
        let start = Instant::now();
        while count() < before + 1 && sweep.try_wait().expect("its state").is_none() {
            assert!(start.elapsed() < Duration::from_secs(300), "no cell is recorded");
            std::thread::sleep(Duration::from_millis(2));
        }
        if count() == before {
            assert!(sweep.wait().expect("its end").success(), "it had nothing to run, and ended badly");
            break;
        }
        sweep.kill().expect("it is killed");
        sweep.wait().expect("its end");
        kills += 1;
    }
    assert!(kills >= 6, "{kills}");
    assert_eq!(titles_and_results(&place), expected);
}

#[test]
fn a_sweep_decides_within_its_budget_and_refuses_what_it_cannot_do() {
    let place = SweepPlace::new();
    let run = |words: &str| {
        let output = place.sweep_command(&format!("{STUDY} {words}")).output().expect("xtask starts");
        (output.status.code(), output_text(&output))
    };
    let (code, text) = run("--decide=verdicts --set decide.cells=7");
    assert_eq!(code, Some(0), "{text}");
    let cells = || Sweep::read(&place.out_folder()).expect("a sweep").cells.len();
    assert!(cells() <= 7, "{text}");
    // The cells that are recorded have taken longer, so that only the first two seeds are there.
    let (code, text) = run("--decide=verdicts --set decide.hours=1e-6");
    assert_eq!((code, cells()), (Some(0), 6), "{text}");
    for (words, message) in [
        ("--decide --begin", "the command has to stay"),
        ("--decide --seeds 42,43", "starts with 2 seeds, and the plan has 2"),
        ("--decide --policies first-2,all", "compared with `none`"),
    ] {
        let seeds = if words.contains("--seeds") { STUDY.replace("--seeds 42-45", "") } else { STUDY.into() };
        let study = if words.contains("--policies") {
            seeds.replace("--policies none,first-2,all", "")
        } else {
            seeds
        };
        let output = place.sweep_command(&format!("{study} {words}")).output().expect("xtask starts");
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(message), "{words}: {text}");
    }
}
