//! Where measurements go: the terminal, a raw file, and `docs/`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use frostline_sweep::fault::{Blame as _, Result, environment};
use frostline_sweep::{Ending, say, shown};

use crate::stored::Measured;
use crate::{page, tables};

/// Shows all tables.
pub(crate) fn show(measured: &Measured) {
    for table in tables::tables(measured) {
        let section = table.suite.section();
        say!("\n{}: {}\n{}", section.title, table.title, table.grid.plain().trim_end());
    }
    say!("");
}

/// Writes all measurements, including those that the page leaves out, and returns where.
pub(crate) fn keep_raw(root: &Path, measured: &Measured, started: &str) -> anyhow::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join("bench");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(format!("bench-{started}.json"));
    frostline_files::write(&path, measured.text().as_bytes())?;
    Ok(path)
}

/// Adds the new measurements to the stored ones, and renders the page.
pub(crate) fn publish(root: &Path, new: Measured) -> anyhow::Result<()> {
    let path = root.join("docs/benchmarks.json");
    let mut stored = Measured::read(&path)?;
    for left in stored.update(new) {
        say!("left      {left}");
    }
    frostline_files::write(&path, stored.text().as_bytes())?;
    say!("stored    {}", shown(&path));
    write_page(root, &stored)
}

/// Renders the page again from the stored measurements.
pub(crate) fn render_again(root: &Path) -> Result<Ending> {
    let stored = Measured::read(&root.join("docs/benchmarks.json")).environment()?;
    if stored.rows.is_empty() {
        return environment("docs/benchmarks.json holds no measurements; measure with --write first");
    }
    write_page(root, &stored).environment()?;
    Ok(Ending::Done)
}

fn write_page(root: &Path, stored: &Measured) -> anyhow::Result<()> {
    let path = root.join("docs/benchmarks.md");
    frostline_files::write(&path, page::render(stored).as_bytes())?;
    say!("page      {}", shown(&path));
    Ok(())
}
