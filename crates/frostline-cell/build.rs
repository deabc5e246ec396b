//! Hashes the sources that determine results, so that a record can name the code that made it.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates folder");
    let names = [
        "frostline-align",
        "frostline-cell",
        "frostline-conllu",
        "frostline-freeze",
        "frostline-kernels",
        "frostline-model",
        "frostline-random",
        "frostline-record",
        "frostline-score",
        "frostline-tagger",
        "frostline-train",
    ];
    let mut files = Vec::new();
    for name in names {
        let source = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", source.display());
        collect(&source, &mut files);
    }
    let lock = crates.join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    files.push(lock);
    let mut hash = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(crates).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let bytes = fs::read(file).unwrap_or_default();
        hash.update(format!("{name} {}\n", bytes.len()));
        hash.update(bytes);
    }
    let hash: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=FROSTLINE_CODE={hash}");
}

/// All files below a folder, in the order of their names.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
