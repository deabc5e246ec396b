//! A sweep's report, written from what is stored.

use std::path::Path;

use frostline_record::Sweep;

use crate::Ending;
use crate::fault::{Blame as _, Result};

/// `cargo xtask report DIR`.
pub(crate) fn again(folder: &Path) -> Result<Ending> {
    write(folder)?;
    Ok(Ending::Done)
}

/// Writes the report and shows its table.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let sweep = Sweep::read(folder).environment()?;
    let records = sweep.records(folder).environment()?;
    println!("{} of {} cells", records.len(), sweep.cells.len());
    Ok(())
}
