//! Hashes the sources that determine results, so that a record can name the code that made it.
//!
//! In the workspace, and where all crates are vendored, these are the sources of every crate that computes, and
//! `Cargo.lock`. A package from a registry has no workspace. The version of this crate determines the sources
//! of the other crates: its manifest requires exactly one version of each, and a registry never changes the
//! content of a version. So only this crate's own sources and manifest are hashed. Other dependencies of such a
//! build, which a workspace's `Cargo.lock` would pin, are not part of the hash, unless a manifest pins them
//! exactly, such as burn and gemm.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The crates that compute results.
const NAMES: [&str; 11] = [
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

fn main() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = own.parent().expect("the crates folder");
    let present = NAMES.iter().filter(|name| crates.join(name).join("src").is_dir()).count();
    let (folder, sources, manifest) = if present == NAMES.len() {
        let sources = NAMES.map(|name| crates.join(name).join("src")).to_vec();
        (crates, sources, crates.join("../Cargo.lock"))
    } else {
        // In a registry's folder, `frostline-train-0.1.0` is not `frostline-train`.
        assert!(present <= 1, "{}: some of Frostline's crates are missing: {NAMES:?}", crates.display());
        (own, vec![own.join("src")], own.join("Cargo.toml"))
    };
    let mut files = Vec::new();
    for source in &sources {
        println!("cargo::rerun-if-changed={}", source.display());
        collect(source, &mut files);
    }
    println!("cargo::rerun-if-changed={}", manifest.display());
    files.push(manifest);
    let mut hash = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('\\', "/");
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
