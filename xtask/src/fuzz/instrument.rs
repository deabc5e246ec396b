//! The compiler's wrapper for `cargo xtask fuzz`: adds coverage counters to the project's own crates. Dependencies are
//! compiled without them, so that all other builds can share them.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Set by `cargo xtask fuzz`, for which this program is the wrapper.
pub(crate) const ASKED: &str = "FROSTLINE_FUZZ_COVERAGE";

/// What libFuzzer reads: a counter for each edge, and the operands of comparisons.
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// Compiles a crate, if these are the arguments that cargo gives to a wrapper: the compiler, then its own.
pub(crate) fn compile_instrumented(arguments: &[OsString]) -> Option<ExitCode> {
    let compiler =
        arguments.get(1).filter(|path| Path::new(path).file_stem().is_some_and(|name| name == "rustc"))?;
    std::env::var_os(ASKED)?;
    let own = &arguments[2..];
    let mut command = Command::new(compiler);
    command.args(own);
    if is_counted(own) {
        command.args(FLAGS);
    }
    let code =
        command.status().ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    Some(ExitCode::from(code.unwrap_or(1)))
}

/// Whether a crate gets counters. Build scripts are linked without libFuzzer; the kernels read no file.
fn is_counted(arguments: &[OsString]) -> bool {
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.to_str()
    };
    let name = value("--crate-name").unwrap_or_default();
    name.starts_with("frostline") && name != "frostline_kernels" && value("--crate-type") == Some("lib")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_project_get_counters() {
        let counted = |text: &str| is_counted(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(counted(
            "--crate-name frostline_record --edition=2024 src/lib.rs --crate-type lib --emit=link"
        ));
        assert!(!counted("--crate-name frostline_kernels src/lib.rs --crate-type lib"));
        assert!(!counted("--crate-name build_script_build build.rs --crate-type bin"));
        assert!(!counted("--crate-name fuzz_engine tests/engine.rs --test"));
        assert!(!counted("- --crate-name ___ --print=file-names --crate-type bin"));
    }

    #[test]
    fn a_command_is_not_a_call_of_the_compiler() {
        let arguments = ["xtask", "tidy"].map(OsString::from);
        assert!(compile_instrumented(&arguments).is_none());
    }
}
