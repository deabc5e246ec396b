//! The outputs of measurements: the terminal, a raw file, and `docs/`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use frostline_sweep::fault::{Blame as _, CommandResult, environment_fault};
use frostline_sweep::{Ending, say, shown_path};

use crate::stored::StoredMeasurements;
use crate::{page, tables};

/// Shows all tables.
pub(crate) fn print_tables(measured: &StoredMeasurements) {
    for table in tables::render_tables(measured) {
        let section = table.suite.suite_section();
        say!("\n{}: {}\n{}", section.title, table.title, table.grid.render_plain().trim_end());
    }
    say!("");
}

/// Writes all measurements, including the ones that the page leaves out, and returns the file's path.
pub(crate) fn keep_raw(root: &Path, measured: &StoredMeasurements, started: &str) -> anyhow::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join("bench");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(format!("bench-{started}.json"));
    frostline_files::write(&path, measured.file_text().as_bytes())?;
    Ok(path)
}

/// Adds the new measurements to the stored ones, and renders the page.
pub(crate) fn publish_results(root: &Path, new: StoredMeasurements) -> anyhow::Result<()> {
    let path = root.join("docs/benchmarks.json");
    let mut stored = StoredMeasurements::read_file(&path)?;
    for left in stored.merge_new(new) {
        say!("left      {left}");
    }
    frostline_files::write(&path, stored.file_text().as_bytes())?;
    say!("stored    {}", shown_path(&path));
    write_page(root, &stored)
}

/// Renders the page again from the stored measurements.
pub(crate) fn render_again(root: &Path) -> CommandResult<Ending> {
    let stored = StoredMeasurements::read_file(&root.join("docs/benchmarks.json")).blame_environment()?;
    if stored.rows.is_empty() {
        return environment_fault("docs/benchmarks.json holds no measurements; measure with --write first");
    }
    write_page(root, &stored).blame_environment()?;
    Ok(Ending::Done)
}

fn write_page(root: &Path, stored: &StoredMeasurements) -> anyhow::Result<()> {
    let path = root.join("docs/benchmarks.md");
    frostline_files::write(&path, page::render_page(stored).as_bytes())?;
    say!("page      {}", shown_path(&path));
    Ok(())
}
