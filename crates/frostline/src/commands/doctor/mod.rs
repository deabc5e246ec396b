//! `frostline doctor`: what this machine has, and what is missing; whether a device computes what it should.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use frostline_assets::Places;
use frostline_cell::version;
use frostline_kernels::backend::{self, BackendError};

mod assets;

use super::readable::Readable;
use super::{Stop, choose_backend};

/// Show what this machine has for Frostline and what is missing, and check that a device computes correctly.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline doctor
    frostline doctor --models MODELS --data TREEBANKS
    frostline doctor --conformance --backend wgpu")]
pub struct Doctor {
    /// Folder of encoders
    #[arg(long)]
    models: Option<PathBuf>,
    /// Folder or ZIP archive of treebanks
    #[arg(long)]
    data: Option<PathBuf>,
    /// Compare every operation of the backend, and the gradients and short runs of a tiny encoder under 18 policies, with a
    /// processor; takes one or two minutes. The table belongs in a bug report
    #[arg(long)]
    conformance: bool,
    /// Check this backend: flex, amx, ndarray, cuda, wgpu, or auto, the fastest that can compute here
    #[arg(long, default_value = "auto")]
    backend: String,
}

impl Doctor {
    /// Prints what was found.
    ///
    /// # Errors
    /// If the backend cannot compute here, or computes something else than a processor.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let mut out = Readable(out);
        print_machine(&mut out)?;
        if self.conformance {
            return print_conformance(&mut out, &choose_backend(Some(self.backend))?);
        }
        print_backends(&mut out)?;
        assets::show_assets(&mut out, &Places::new(self.data, self.models).unpacked()?)
    }
}

/// A line: what, and what was found.
fn print_line(out: &mut dyn Write, what: &str, found: &str) -> Result<()> {
    Ok(writeln!(out, "{what:<12}{found}")?)
}

/// What to do about what the line above lacks.
fn print_fix(out: &mut dyn Write, what: &str) -> Result<()> {
    print_line(out, "", &format!("fix: {what}"))
}

fn print_machine(out: &mut dyn Write) -> Result<()> {
    print_line(out, "frostline", &format!("{} (code {})", env!("CARGO_PKG_VERSION"), version::code()))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    print_line(out, "processor", &format!("{}, {cores} cores to use", version::processor()))?;
    if let Some(memory) = frostline_sweep::system_memory::describe_available() {
        print_line(out, "memory", &memory)?;
    }
    Ok(())
}

/// Every backend there is, and what it would compute on.
fn print_backends(out: &mut dyn Write) -> Result<()> {
    let best = backend::best();
    for name in ["flex", "amx", "ndarray", "cuda", "wgpu"] {
        let choice = if best == Some(name) { ", the choice of --backend auto" } else { "" };
        let devices = backend::devices(name);
        for device in &devices {
            let backend::Found { asked, about, gpu } = device;
            let slow = if *gpu { "" } else { ", slower than flex" };
            print_line(out, name, &format!("FROSTLINE_DEVICE={asked}: {about}{slow}{choice}"))?;
        }
        match version::isa(name) {
            Ok(isa) if devices.is_empty() => print_line(out, name, &format!("{isa}{choice}"))?,
            Err(error) if devices.is_empty() => print_lacking(out, name, &error)?,
            _ => {}
        }
    }
    Ok(())
}

/// Why a backend cannot be used, and what changes that.
fn print_lacking(out: &mut dyn Write, name: &str, error: &anyhow::Error) -> Result<()> {
    match error.downcast_ref() {
        Some(BackendError::NotBuilt(_)) => {
            print_line(out, name, "not in this build")?;
            print_fix(
                out,
                &format!(
                    "cargo install --path crates/frostline --locked --features {}, in a checkout",
                    backend::feature(name)
                ),
            )
        }
        Some(BackendError::InstructionSet(_)) => {
            print_line(out, name, &format!("not usable: {error:#}"))?;
            print_fix(out, "unset FROSTLINE_ISA")
        }
        Some(BackendError::NoSuchDevice { .. } | BackendError::Asked(_)) => {
            print_line(out, name, &format!("not usable: {error:#}"))?;
            print_fix(out, "unset FROSTLINE_DEVICE")
        }
        _ => print_line(out, name, &format!("not usable: {error:#}")),
    }
}

/// The table of deviations.
#[cfg(feature = "flex")]
fn print_conformance(out: &mut dyn Write, backend: &str) -> Result<()> {
    let made_by = version::made_by(backend)?;
    print_line(out, "backend", &format!("{backend}, {} on {}", made_by.isa, made_by.device))?;
    print_line(out, "against", &format!("stock burn and the backend flex, {}", version::isa("flex")?))?;
    let all = frostline_cell::conformance::compare(backend)?;
    writeln!(out, "\n{:<46}{:>12}{:>10}", "compared", "deviation", "limit")?;
    for one in &all {
        let verdict = if one.passes() { "ok" } else { "DEVIATES" };
        writeln!(out, "{:<46}{:>12.1e}{:>10.0e}  {verdict}", one.name, one.deviation, one.limit)?;
    }
    let failed = all.iter().filter(|one| !one.passes()).count();
    writeln!(out, "\n{} of {} agree", all.len() - failed, all.len())?;
    if failed > 0 {
        let reason =
            format!("{failed} results of {backend} deviate; do not train with it, and report the table");
        return Err(Stop::Input(reason).into());
    }
    Ok(())
}

#[cfg(not(feature = "flex"))]
fn print_conformance(_: &mut dyn Write, backend: &str) -> Result<()> {
    let reason =
        format!("{backend} is compared with the backend flex, which this build lacks; build with it");
    Err(Stop::Arguments(reason).into())
}
