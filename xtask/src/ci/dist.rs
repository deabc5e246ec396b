//! The step `dist`: the program for Windows, built on this machine and used under Wine.
//!
//! `cargo xtask dist` builds the same in release form. Debian has all that is needed: a compiler with the sources of its standard
//! library, from which cargo builds the one for Windows; the compiler and the linker for C; and Wine.

use std::path::PathBuf;

use super::CiSession;
use super::call::{CargoCall, cargo_call};
use super::outcome::StepOutcome;
use super::script::Script;
use super::venv::on_path;
use crate::dist::{Platform, WINE_SCRIPT};
use crate::workspace;

const TARGET: &str = "x86_64-pc-windows-gnu";
/// The folder of the build, from the workspace's root.
const FOLDER: &str = "target/windows";

/// Returns what this machine lacks for the step, if anything.
pub(super) fn missing_tool() -> Option<&'static str> {
    let no_wine = "Wine is not here; Debian's packages are `wine` and `wine64`";
    Platform::Windows.missing_tool().or_else(|| (!on_path("wine")).then_some(no_wine))
}

/// The calls that build for Windows, of which the first runs the tests of what does to files all that the project does.
pub(super) fn build_calls() -> Vec<CargoCall> {
    let common = "--locked --profile quick --config profile.quick.package.frostline-kernels.opt-level=3 \
                  --config profile.quick.package.frostline-random.opt-level=3 -Zbuild-std=std,panic_unwind";
    let place = format!("--target {TARGET} --target-dir {FOLDER}");
    let wine = format!("python3 {}", workspace::workspace_root().join(WINE_SCRIPT).display());
    [
        format!("test -p frostline-files --lib {common} {place}"),
        // Without names for a debugger, which would be half of a program that Wine reads whole at each start.
        format!(
            "rustc -p frostline --bin frostline --no-default-features --features flex {common} {place} -- -Clink-arg=-s"
        ),
    ]
    .map(|words| {
        cargo_call(&words)
            .with_variable("RUSTC", Platform::Windows.compiler())
            // The compiler is told that it may build its own library, which a stable one otherwise refuses.
            .with_variable("RUSTC_BOOTSTRAP", "1")
            .with_variable("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", wine.clone())
    })
    .into()
}

/// Builds and tests it. The program that the other tests start has to give the same results.
pub(super) fn build_and_use(
    session: &mut CiSession,
    step: &str,
    other_program: &str,
) -> anyhow::Result<StepOutcome> {
    if let Some(reason) = missing_tool() {
        return Ok(StepOutcome::skip_here(reason));
    }
    let outcome = session.run_calls(step, &build_calls())?;
    if outcome != StepOutcome::Passed {
        return Ok(outcome);
    }
    let about = "the program for Windows, as a user uses it";
    let script = Script::new("tests/windows/check.py", about, built_program().display().to_string());
    // Two sweeps at once under Wine take minutes while other steps are built, and Wine's consoles have no Ctrl-C of their own.
    let arguments = ["--only", "study", "--same-as", other_program].map(String::from).into();
    Script { arguments, ..script }.run_script(step, &mut session.skips)
}

/// The program that the second of [`build_calls`] leaves.
fn built_program() -> PathBuf {
    workspace::workspace_root().join(FOLDER).join(TARGET).join("quick/frostline.exe")
}
