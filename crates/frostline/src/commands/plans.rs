//! `frostline plans`: the plans that are built into the program.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use frostline_sweep::{BUILT_IN, BuiltIn};

use super::Stop;

/// List the built-in plans, or print one as TOML: `frostline plans paper > my-plan.toml`.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline plans
    frostline plans paper > my-plan.toml    # a plan to change
    frostline plans reference               # every setting, explained")]
pub struct Plans {
    /// The plan to print; `reference` names and explains every setting.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl Plans {
    /// Prints one line per plan, or the text of one plan.
    ///
    /// # Errors
    /// If there is no plan with the name.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let Some(name) = self.name else {
            let width = BUILT_IN.iter().map(|plan| plan.name.len()).max().unwrap_or(0);
            for plan in BUILT_IN {
                writeln!(out, "{:width$}  {}", plan.name, plan.about())?;
            }
            return Ok(());
        };
        let Some(plan) = BuiltIn::find(&name) else {
            let names: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
            let reason = format!("there is no built-in plan `{name}`; built in are {}", names.join(", "));
            return Err(Stop::Arguments(reason).into());
        };
        Ok(out.write_all(plan.text.as_bytes())?)
    }
}
