//! Steps that policies take in turns after the cells of a sweep.

use std::fs;
use std::process::Command;

use frostline_record::{PairedTimes, Record, Sweep};

use crate::{SweepPlace, output_text, read_records, repeatable_part};

const WORDS: &str = "--lang en --policies none,first-4,first-4+embeddings,none+lora,none+adaptive --seeds 42,43 --set \
     data.first=48 --set train.epochs=1 --set eval.baselines=off --set dropout.frozen=off";

fn stored_times(place: &SweepPlace) -> (Vec<PairedTimes>, Vec<String>) {
    let sweep = Sweep::read(&place.out_folder()).expect("a sweep");
    let groups = sweep.timed_groups(|_| true);
    let policies =
        groups.iter().flatten().map(|cell| format!("{} {}", cell.settings.policy, cell.settings.seed));
    let read = |cells: &Vec<_>| {
        Sweep::read_times(&place.out_folder(), cells).expect("times").expect("they are there")
    };
    let times = groups.iter().map(read);
    (times.collect(), policies.collect())
}

#[test]
fn policies_of_a_language_are_timed_in_turns_and_only_once() {
    let place = SweepPlace::new();
    let swept = || {
        let output = place.timed_sweep(WORDS).output().expect("xtask starts");
        assert!(output.status.success(), "{}", output_text(&output));
        output_text(&output)
    };
    let said = swept();
    assert!(said.contains("1 comparison of 4 policies, at most 0:10 of steps; then 4 short runs"), "{said}");
    let (times, policies) = stored_times(&place);
    // The trainable parameters change during an adaptive run, so no single step is typical.
    assert_eq!(policies, ["none 42", "first-4 42", "first-4+embeddings 42", "none+lora 42"]);
    let [times] = times.as_slice() else { panic!("{} files", times.len()) };
    let rounds = times.subwords.len();
    assert!(rounds >= 6, "{rounds} rounds");
    for policy in &times.policies {
        assert_eq!(policy.step_ms.len(), rounds);
        #[cfg(target_os = "linux")]
        {
            assert!(policy.peak_rss_mib.expect("Linux reports it") > 10.0);
            assert_eq!(policy.cpu_ms.as_ref().expect("Linux reports it").len(), rounds);
        }
    }
    let page = fs::read_to_string(place.out_folder().join("report/report.md")).expect("a report");
    assert!(page.contains("### What a step costs"), "{page}");

    // Results do not depend on it, nothing is measured twice, and a damaged file is measured again.
    let results = |records: &[Record]| records.iter().map(repeatable_part).collect::<Vec<_>>();
    let before = results(&read_records(&place.out_folder()));
    assert!(!swept().contains("timing    "));
    let folder = place.out_folder().join("timings");
    let file = folder.read_dir().expect("timings").next().expect("a file").expect("a file").path();
    let mut bytes = fs::read(&file).expect("times");
    let last = bytes.len() - 9;
    bytes[last] ^= 1;
    fs::write(&file, bytes).expect("written");
    let report =
        Command::new(env!("CARGO_BIN_EXE_xtask-under-test")).arg("report").arg(place.out_folder()).output();
    let said = output_text(&report.expect("xtask starts"));
    let name = file.file_name().expect("a name").to_string_lossy();
    assert!(said.contains("left out  ") && said.contains(&*name), "{said}");
    assert!(said.contains("the same sweep command without --no-timing measures them again"), "{said}");
    assert!(swept().contains("timing    "));
    assert_eq!(stored_times(&place).0.len(), 1);
    assert_eq!(results(&read_records(&place.out_folder())), before);
}

#[test]
fn one_policy_is_compared_with_nothing() {
    let place = SweepPlace::new();
    let words = "--lang en --policies head-only --seeds 42,43 --set data.first=16 --set train.epochs=1 --set \
         eval.baselines=off";
    let output = place.timed_sweep(words).output().expect("xtask starts");
    assert!(
        output.status.success() && !output_text(&output).contains("timing    "),
        "{}",
        output_text(&output)
    );
    assert!(!place.out_folder().join("timings").exists());
}
