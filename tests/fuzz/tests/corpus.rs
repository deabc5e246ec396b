//! Every file of the corpus and every past failure through its target: no panic, no more memory than allowed, no hang.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use frostline_fuzz::{Meter, TARGETS, allowed_bytes, measure_peak};

#[global_allocator]
static METER: Meter = Meter;

/// The longest that one input may take.
///
/// # Units
/// Seconds.
const LONGEST_S: f64 = 10.0;

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

#[test]
fn the_corpus_and_past_failures_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for target in TARGETS {
        let corpus = list_files(&root.join("corpus").join(target.name));
        assert!(!corpus.is_empty(), "the target `{}` has no corpus", target.name);
        for path in corpus.into_iter().chain(list_files(&root.join("regressions").join(target.name))) {
            eprintln!("{}", path.strip_prefix(root).unwrap_or(&path).display());
            let data = fs::read(&path).expect("a file of the repository");
            // Values that are made once do not count.
            (target.run)(&data);
            let started = Instant::now();
            measure_peak(allowed_bytes(data.len()), || (target.run)(&data));
            let elapsed_s = started.elapsed().as_secs_f64();
            assert!(elapsed_s < LONGEST_S, "{}: {elapsed_s} s", path.display());
        }
    }
}

#[test]
fn every_folder_belongs_to_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in ["corpus", "regressions"].iter().flat_map(|kind| fs::read_dir(root.join(kind))).flatten() {
        let name = entry.expect("an entry").file_name();
        assert!(TARGETS.iter().any(|target| name == target.name), "{}", name.display());
    }
}
