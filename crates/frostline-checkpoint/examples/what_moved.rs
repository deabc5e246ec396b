//! What moved between two checkpoints:
//! `cargo run -p frostline-checkpoint --example what_moved -- before.safetensors after.safetensors`.

use std::error::Error;
use std::path::{Path, PathBuf};

use frostline_checkpoint::{Checkpoint, ComparedSide, FreezeRule, compare};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match paths.as_slice() {
        [before, after] => print!("{}", describe_changes(before, after)?),
        _ => print!("{}", shown_on_two_small_files()?),
    }
    Ok(())
}

fn describe_changes(before: &Path, after: &Path) -> Result<String, Box<dyn Error>> {
    let (before, after) = (Checkpoint::open(before)?, Checkpoint::open(after)?);
    Ok(compare(ComparedSide::from(&before), ComparedSide::from(&after), &FreezeRule::Nothing)?.to_string())
}

/// Compares two files with one tensor, of which one element moves.
fn shown_on_two_small_files() -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let header = br#"{"head.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let paths = ["before.safetensors", "after.safetensors"].map(|name| folder.path().join(name));
    for (path, value) in paths.iter().zip([1.0f32, 1.5]) {
        let values = [1.0f32.to_le_bytes(), value.to_le_bytes()].concat();
        std::fs::write(path, [&(header.len() as u64).to_le_bytes()[..], header, &values].concat())?;
    }
    describe_changes(&paths[0], &paths[1])
}

#[test]
fn the_element_that_moved_is_named() {
    let text = shown_on_two_small_files().unwrap();
    assert!(text.contains("5.0e-1  head.bias [1]"), "{text}");
}
