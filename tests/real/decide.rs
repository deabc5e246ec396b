//! Sweeps that stop when they know: which cells run follows from the records, whatever happens on the way.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use frostline_record::{Record, Sweep};

use crate::{RUNNER, SweepPlace, output_text, read_records, repeatable_part};

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

/// The rounds need no command of their own: workers add them, and no cell is run twice.
#[test]
fn three_workers_decide_as_a_sweep_does() {
    let study = format!("{STUDY} --decide=verdicts");
    let alone = SweepPlace::new();
    let output = alone.sweep_command(&study).output().expect("xtask starts");
    assert!(output.status.success(), "{}", output_text(&output));

    let shared = SweepPlace::new();
    let begun = shared.sweep_command(&format!("{study} --begin")).output().expect("xtask starts");
    assert!(begun.status.success(), "{}", output_text(&begun));
    let rounds = || Sweep::read(&shared.out_folder()).expect("a sweep").rounds.expect("it grows");
    assert_eq!((rounds().round, rounds().planned.len()), (1, 6));
    let start = |_| {
        let mut worker = Command::new(RUNNER);
        worker.arg("work").arg(shared.out_folder()).args(["--jobs", "1"]);
        worker.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a worker starts")
    };
    let workers: Vec<_> = (0..3).map(start).collect();
    let outputs = workers.into_iter().map(|worker| worker.wait_with_output().expect("it ends"));
    let texts: Vec<String> = outputs.map(|output| output_text(&output)).collect();
    assert_eq!(titles_and_results(&shared), titles_and_results(&alone), "{texts:?}");
    // Each prints how many cells it ran.
    let ran = |text: &String| -> usize {
        let line =
            text.lines().find_map(|line| line.strip_prefix("here      ")).expect("it counts its cells");
        line.split(' ').next().and_then(|count| count.parse().ok()).expect("a number")
    };
    let sweep = Sweep::read(&shared.out_folder()).expect("a sweep");
    assert!(texts.iter().map(ran).sum::<usize>() <= sweep.cells.len(), "{texts:?}");
    assert!(!sweep.search_continues);
    let status = Command::new(RUNNER).arg("status").arg(shared.out_folder()).output().expect("it starts");
    assert!(output_text(&status).contains("\ndecide    "), "{}", output_text(&status));
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
