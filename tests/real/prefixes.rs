//! The prefix cache: a cell's result is the same without it and with every way to store it.

use std::path::{Path, PathBuf};

use frostline_record::{PrefixState, Record};

use crate::{SweepPlace, repeatable_part};

const SWEEP: &str = "--lang en --seeds 42,43 --set train.epochs=2 --set data.first=150 \
                     --policies none,first-2+embeddings,head-only --set dropout.frozen=\"off\"";

fn prefix_states(records: &[Record]) -> Vec<PrefixState> {
    records.iter().map(|record| record.timing.as_ref().expect("a timing").prefix.state).collect()
}

#[test]
fn results_are_those_without_it() {
    use PrefixState::{Computed, None, Shared, SwitchedOff};
    let run = |place: &SweepPlace, more: &str| {
        let records = place.run_sweep(&format!("{SWEEP} {more}"));
        (records.iter().map(repeatable_part).collect::<Vec<_>>(), prefix_states(&records))
    };
    let (without, states) = run(&SweepPlace::new(), "--no-prefix-cache");
    assert_eq!(states, [None, SwitchedOff, SwitchedOff, None, SwitchedOff, SwitchedOff]);

    let place = SweepPlace::new();
    let (memory, states) = run(&place, "");
    assert_eq!(memory, without, "kept in memory");
    assert_eq!(states, [None, Computed, Computed, None, Shared, Shared], "the second seed reads the first's");
    assert!(!place.out_folder().join("prefixes").exists(), "nothing is left");

    // Several workers share files; the remains of a crash are overwritten.
    let place = SweepPlace::new();
    let prefixes = place.out_folder().join("prefixes");
    std::fs::create_dir_all(&prefixes).expect("a folder");
    let mark = "This folder belongs to a sweep of Frostline.\n";
    std::fs::write(place.out_folder().join(".lock"), mark).expect("a file");
    let key = "0123456789abcdef0123456789abcdef";
    for ending in ["f32.0123456789abcdef.part", "claim", "claim.0123456789abcdef", "f32.part", "lock"] {
        std::fs::write(prefixes.join(format!("{key}.{ending}")), "half a").expect("a file");
    }
    let (files, states) = run(&place, "--jobs 2");
    assert_eq!(files, without, "kept in files");
    assert_eq!(states.iter().filter(|state| **state == Shared).count(), 2, "{states:?}");
    assert!(!prefixes.exists(), "nothing is left");
}

#[test]
fn a_cell_that_could_use_it_says_so() {
    let records = SweepPlace::new()
        .run_sweep("--lang en --seeds 42 --set train.epochs=1 --set data.first=40 --policies all,head-only");
    assert_eq!(prefix_states(&records), [PrefixState::None, PrefixState::DropoutActs]);
}

/// Another command may have begun cells that `sweep.json` no longer names.
#[test]
fn files_that_cells_of_another_command_may_be_reading_stay() {
    let place = SweepPlace::new();
    let plan = place.path_inside("files.toml");
    let demo = include_str!("../../configs/demo.toml");
    std::fs::write(&plan, format!("{demo}\n[prefix_cache]\nmemory_mib = 0\n")).expect("the plan");
    let words = |seed: u64| {
        format!(
            "--plan {} --lang en --seeds {seed} --policies head-only --set train.epochs=1 --set data.first=40 \
             --set dropout.frozen=\"off\"",
            plan.display()
        )
    };
    let claim = place.out_folder().join("cells/another/.claim");
    std::fs::create_dir_all(claim.parent().expect("a folder")).expect("a folder");
    std::fs::write(place.out_folder().join(".lock"), "This folder belongs to a sweep of Frostline.\n")
        .expect("a file");
    std::fs::write(&claim, "a process on another machine").expect("a file");
    place.run_sweep(&words(1));
    let rows = || std::fs::read_dir(place.out_folder().join("prefixes")).map_or(0, Iterator::count);
    assert!(rows() >= 2, "train and dev");
    std::fs::remove_file(&claim).expect("the claim");
    place.run_sweep(&words(2));
    assert_eq!(rows(), 0, "nobody reads them");
}

/// Flips a bit in the middle of a file.
fn flip_middle_bit(path: &Path) {
    let mut bytes = std::fs::read(path).expect("rows");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 16;
    std::fs::write(path, bytes).expect("rows");
}

#[test]
fn a_prefix_file_that_is_damaged_or_of_another_prefix_is_computed_again() {
    let more = "--jobs 2";
    let reference: Vec<String> =
        SweepPlace::new().run_sweep(&format!("{SWEEP} {more}")).iter().map(repeatable_part).collect();
    let place = SweepPlace::new();
    let plan = place.path_inside("keep.toml");
    let demo = include_str!("../../configs/demo.toml");
    std::fs::write(&plan, format!("{demo}\n[prefix_cache]\nkeep = \"on\"\nmemory_mib = 0\n"))
        .expect("the plan");
    let words = format!("--plan {} {SWEEP} {more}", plan.display());
    place.run_sweep(&words);
    let again = || {
        std::fs::remove_dir_all(place.out_folder().join("cells")).expect("the cells");
        place.run_sweep(&words).iter().map(repeatable_part).collect::<Vec<_>>()
    };
    let entries = std::fs::read_dir(place.out_folder().join("prefixes")).expect("kept").flatten();
    let is_rows = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "f32");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_rows).collect();
    assert!(files.len() >= 4, "{files:?}");
    files.iter().for_each(|path| flip_middle_bit(path));
    assert_eq!(again(), reference, "damaged");

    // Two policies have prefixes of the same size for each split.
    files.sort_by_key(|path| std::fs::metadata(path).expect("rows").len());
    let mut swapped = 0;
    for pair in files.as_chunks::<2>().0 {
        let [a, b] = pair.clone().map(|path| std::fs::read(path).expect("rows"));
        if a.len() == b.len() {
            std::fs::write(&pair[0], b).expect("rows");
            std::fs::write(&pair[1], a).expect("rows");
            swapped += 1;
        }
    }
    assert!(swapped >= 2, "{swapped} pairs of equal size");
    assert_eq!(again(), reference, "swapped");
}
