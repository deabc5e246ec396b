//! `frostline completions`: scripts with which a shell completes commands and options.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use clap_complete::Shell;

/// Print a completion script: `frostline completions bash > ~/.local/share/bash-completion/completions/frostline`.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline completions bash > ~/.local/share/bash-completion/completions/frostline
    frostline completions zsh > ~/.zfunc/_frostline")]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script for this command line.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn run(self, mut command: clap::Command, out: &mut dyn Write) -> Result<()> {
        // The generator panics if it cannot write, so it writes to memory first.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "frostline", &mut script);
        Ok(out.write_all(&script)?)
    }
}
