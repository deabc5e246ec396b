//! `frostline man`: the manual pages.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use super::readable::Readable;

/// Write the manual pages, for example `frostline man --out ~/.local/share/man/man1`, then `man frostline-sweep`.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline man --out ~/.local/share/man/man1    # then: man frostline-sweep
    frostline man > frostline.1")]
pub struct Man {
    /// The folder for one page per command; without it the main page is printed to standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    /// Prints the main page of this command line, or writes all pages.
    ///
    /// # Errors
    /// If the output or the folder cannot be written.
    pub fn run(self, command: clap::Command, out: &mut dyn Write) -> Result<()> {
        let Some(folder) = self.out else {
            return Ok(clap_mangen::Man::new(command).render(&mut &mut *out)?);
        };
        let place = || format!("{}: the pages cannot be written; choose another --out", folder.display());
        frostline_files::create_folder(&folder).with_context(place)?;
        clap_mangen::generate_to(command, &folder).with_context(place)?;
        Ok(writeln!(Readable(out), "{}", folder.display())?)
    }
}
