//! Finds the plans that the program contains: `configs/` of the workspace, or of the package.
//!
//! In the workspace `configs` next to this file is a link to that folder, for `cargo package`, which puts the files
//! into the package. A checkout without links, as on Windows, has a file in its place; so the workspace's own folder
//! comes first.

use std::path::Path;

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = here.join("../../configs");
    let is_ours = shared.join("reference.toml").is_file() && here.join("../frostline-record").is_dir();
    let configs = if is_ours { shared } else { here.join("configs") };
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=FROSTLINE_CONFIGS={}", configs.display());
}
