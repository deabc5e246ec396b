//! What a built program needs from its system, and how soon it starts.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::platform::{GLIBC, Platform, wine_prefix};
use crate::workspace::command_output;

/// How often a start is timed.
const STARTS: usize = 15;

/// Libraries that every Windows since 10 has. The names that begin with `api-ms-win-` are parts of these.
const WINDOWS_LIBRARIES: [&str; 19] = [
    "advapi32.dll",
    "bcrypt.dll",
    "bcryptprimitives.dll",
    "combase.dll",
    "crypt32.dll",
    "dbghelp.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ncrypt.dll",
    "ntdll.dll",
    "ole32.dll",
    "oleaut32.dll",
    "powrprof.dll",
    "psapi.dll",
    "secur32.dll",
    "shell32.dll",
    "user32.dll",
    "userenv.dll",
    "ws2_32.dll",
];

/// Returns what a program needs, in words.
///
/// # Errors
/// If it needs what its platform may not have.
pub(super) fn needs_of(platform: Platform, program: &Path) -> anyhow::Result<String> {
    if platform == Platform::Windows {
        let mut objdump = Command::new("x86_64-w64-mingw32-objdump");
        let text = command_output(objdump.arg("-p").arg(program))?;
        let foreign: Vec<String> =
            imported_libraries(&text).into_iter().filter(|name| !is_of_windows(name)).collect();
        if !foreign.is_empty() {
            bail!("{}: it needs {}, which no Windows has by itself", program.display(), foreign.join(", "));
        }
        return Ok("Windows 10".into());
    }
    let mut readelf = Command::new("readelf");
    let text = command_output(readelf.args(["--version-info", "--wide"]).arg(program))?;
    let (major, minor) = newest_glibc(&text)
        .with_context(|| format!("{}: readelf lists no version of glibc", program.display()))?;
    if (major, minor) > GLIBC {
        let (most, of_it) = GLIBC;
        bail!(
            "{}: it needs glibc {major}.{minor}, but a release needs at most {most}.{of_it}",
            program.display()
        );
    }
    Ok(format!("glibc {major}.{minor}"))
}

/// Returns the newest version of glibc whose symbols a program uses, from what `readelf --version-info` prints.
fn newest_glibc(text: &str) -> Option<(u32, u32)> {
    let versions = text.split("GLIBC_").skip(1).filter_map(|rest| {
        let mut numbers = rest.split(|c: char| !c.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    });
    versions.max()
}

/// Returns the libraries that a program for Windows loads, in lower case, from what `objdump -p` prints.
fn imported_libraries(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("DLL Name:"));
    names.map(|name| name.trim().to_ascii_lowercase()).collect()
}

fn is_of_windows(name: &str) -> bool {
    name.starts_with("api-ms-win-") || WINDOWS_LIBRARIES.contains(&name)
}

/// Returns the median time of `PROGRAM --version`, started by another program if there is a name.
///
/// # Units
/// Milliseconds.
///
/// # Errors
/// If it does not start, or prints another version.
pub(super) fn start_ms(starter: &str, program: &Path) -> anyhow::Result<f64> {
    let mut times: Vec<f64> = Vec::with_capacity(STARTS);
    for _ in 0..=STARTS {
        let mut command = starting_command(starter, program);
        command.arg("--version");
        let begun = Instant::now();
        let printed = command_output(&mut command)?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let wanted = concat!("frostline ", env!("CARGO_PKG_VERSION"));
        if !printed.starts_with(wanted) {
            bail!("{}: it printed `{}`, not `{wanted}`", program.display(), printed.trim());
        }
    }
    // The first start reads the program from the disk.
    let mut times = times.split_off(1);
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Returns the command that starts a program, by another one if there is a name.
pub(super) fn starting_command(starter: &str, program: &Path) -> Command {
    let mut command = if starter.is_empty() { Command::new(program) } else { Command::new(starter) };
    if !starter.is_empty() {
        command.arg(program);
    }
    let wine =
        [("WINEDEBUG", "-all".as_ref()), ("DISPLAY", "".as_ref()), ("WINEPREFIX", wine_prefix().as_os_str())]
            .map(|(name, value): (_, &OsStr)| (name, value.to_os_string()));
    command.envs(wine).stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_a_number_and_not_a_text() {
        let text = "  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 5\n  0x0020:   Name: GLIBC_2.17  Flags: none\n\
                    0x0030: Name: GLIBC_2.2.5 Flags: none\n 0x0040: Name: GCC_3.0\n";
        assert_eq!(newest_glibc(text), Some((2, 17)));
        assert_eq!(newest_glibc("No version information found in this file."), None);
    }

    #[test]
    fn a_library_that_windows_lacks_is_found() {
        let text = "\tDLL Name: KERNEL32.dll\n\tvma: Hint\n\tDLL Name: libgcc_s_seh-1.dll\n\
                    \tDLL Name: api-ms-win-core-synch-l1-2-0.dll\n";
        let foreign: Vec<String> =
            imported_libraries(text).into_iter().filter(|name| !is_of_windows(name)).collect();
        assert_eq!(foreign, ["libgcc_s_seh-1.dll"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_of_another_version_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("frostline");
        std::fs::write(&program, "echo frostline 0.0.9\n").expect("a script");
        let error = start_ms("sh", &program).expect_err("another version").to_string();
        assert!(error.contains("it printed `frostline 0.0.9`"), "{error}");
        std::fs::write(&program, concat!("echo frostline ", env!("CARGO_PKG_VERSION"), "\n"))
            .expect("a script");
        assert!(start_ms("sh", &program).expect("it starts") > 0.0);
    }
}
