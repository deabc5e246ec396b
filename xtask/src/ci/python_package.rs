//! The step `python-package`: builds the wheels of the library and of the program, checks their tags, and tests them where they are
//! installed.
//!
//! The library's wheel is the one that is released: linked by zig against an old glibc. The program's is built from what the step
//! `sweep-flex` has compiled, for this machine; with `FROSTLINE_WHEELS=release` it is the released one too, which takes ten
//! minutes more on two cores.
//!
//! Every version of Python that is here runs `smoke.py` in a fresh environment; a version that is missing is counted as skipped.
//! The tests, the types and the examples of docs/python.md run with the Python that other tests compare with, and so does the table
//! of faults for `frostline audit`, with the program of its wheel.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::outcome::StepOutcome;
use super::skips::{self, Skip};
use super::{CiSession, venv};
use crate::workspace;
use frostline_sweep::say;

/// The tests, from the workspace's root.
const TESTS: &str = "tests/python-package";

/// The oldest and the newest version that the wheel is installed in, and those between.
const VERSIONS: [&str; 5] = ["3.9", "3.10", "3.11", "3.12", "3.13"];

/// The tag that the wheel promises: glibc 2.17 of 2012 is enough.
const TAG: &str = "manylinux_2_17_x86_64";

/// The variable that asks for the program's wheel as it is released.
const WHEELS: &str = "FROSTLINE_WHEELS";

/// A crate that becomes a package.
pub(crate) struct Package {
    /// Its folder, from the workspace's root.
    pub crate_folder: &'static str,
    /// Whether it is built for every Linux with [`TAG`], and not for this machine with the builds of other steps.
    pub released: bool,
}

/// The library and the program.
fn all_packages() -> [Package; 2] {
    let whole = std::env::var_os(WHEELS).is_some_and(|value| value == "release");
    [("crates/frostline-python", true), ("crates/frostline", whole)]
        .map(|(crate_folder, released)| Package { crate_folder, released })
}

/// Builds and tests the wheels. The tests need the Python of the session, which has torch and transformers.
pub(super) fn build_and_test_wheels(session: &mut CiSession, step: &str) -> anyhow::Result<StepOutcome> {
    let packages = all_packages();
    say!(
        "\n== {step}: the wheels of {}",
        packages.each_ref().map(|package| package.crate_folder).join(" and ")
    );
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(StepOutcome::skip_here("the wheels are built for Linux on x86-64"));
    }
    let place = workspace::target_folder().join("python-package");
    fs::create_dir_all(&place)?;
    let tools = match venv::prepare_environment(&format!("{TESTS}/tools.txt"))? {
        Ok(tools) => tools,
        Err(reason) => return Ok(StepOutcome::skip_here(reason)),
    };
    let mut wheels = Vec::new();
    for package in &packages {
        let Some(wheel) = build_wheel(package, &place, &tools)? else { return Ok(StepOutcome::Failed) };
        if package.released && !has_tag(&tools, &wheel)? {
            return Ok(StepOutcome::Failed);
        }
        wheels.push(wheel);
    }
    if !every_version(step, &place, &wheels, &mut session.skips)? {
        return Ok(StepOutcome::Failed);
    }
    let Some(python) = session.python.clone() else {
        return Ok(StepOutcome::skip_here("there is no Python with torch: nothing but smoke.py was run"));
    };
    let tested = match venv::prepare_environment(&format!("{TESTS}/requirements.txt"))? {
        Ok(tested) => tested,
        Err(reason) => return Ok(StepOutcome::skip_here(reason)),
    };
    borrow_packages(&tested, &python)?;
    Ok(StepOutcome::from_passed(
        install_wheels(&tested, &wheels)?
            && run_tests(session, step, &place, &tested)?
            && audit_faults(&tested)?,
    ))
}

fn requirements_list(name: &str) -> PathBuf {
    workspace::workspace_root().join(TESTS).join(name)
}

/// The wheel of a crate, made by maturin; nothing if the build fails.
pub(crate) fn build_wheel(package: &Package, place: &Path, tools: &Path) -> anyhow::Result<Option<PathBuf>> {
    let folder = place.join("dist").join(package.crate_folder);
    let _ = fs::remove_dir_all(&folder);
    let mut maturin = Command::new(tools.with_file_name("maturin"));
    maturin.args(["build", "--quiet", "--out"]).arg(&folder);
    maturin
        .arg("--manifest-path")
        .arg(workspace::workspace_root().join(package.crate_folder).join("Cargo.toml"));
    if package.released {
        // By way of the source distribution, which has to build from the crates that are here.
        maturin.args(["--sdist", "--release", "--zig", "--compatibility", "manylinux2014"]);
        maturin.env("CARGO_NET_OFFLINE", "true");
        maturin.env("CARGO_TARGET_DIR", place.join("build")).env("PATH", venv::path_with(tools)?);
    } else {
        maturin.args(["--locked", "--profile", "runner", "--compatibility", "linux"]);
    }
    if !venv::run_in_root(&mut maturin)? {
        return Ok(None);
    }
    let found = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let wheel = found.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl"));
    let wheel = wheel.with_context(|| format!("maturin left no wheel in {}", folder.display()))?;
    say!("{}: {:.1} MB", wheel.display(), fs::metadata(&wheel)?.len() as f64 / 1e6);
    Ok(Some(wheel))
}

/// Whether what the wheel needs fits its tag; auditwheel reads it from the symbols of the extension or the program.
fn has_tag(tools: &Path, wheel: &Path) -> anyhow::Result<bool> {
    let mut show = Command::new(tools.with_file_name("auditwheel"));
    let shown =
        show.arg("show").arg(wheel).env("PATH", venv::path_with(tools)?).output().context("auditwheel")?;
    let text = String::from_utf8_lossy(&shown.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = shown.status.success()
        && text.contains(&format!("is consistent with the following platform tag: \"{TAG}\""));
    say!("auditwheel: {}", if fits { TAG } else { &text });
    Ok(fits)
}

/// Runs `smoke.py` in a fresh environment of every version that is here.
fn every_version(
    step: &str,
    place: &Path,
    wheels: &[PathBuf],
    skips: &mut Vec<Skip>,
) -> anyhow::Result<bool> {
    for version in VERSIONS {
        let Some(python) = find_interpreter(version) else {
            let reason = format!("there is no Python {version}: the wheel is not tried in it");
            say!("SKIP {reason}");
            skips.push(Skip::of_step(step, "platform", &reason));
            continue;
        };
        let folder = place.join(format!("fresh-{version}"));
        let _ = fs::remove_dir_all(&folder);
        let arguments = [OsStr::new("-m"), OsStr::new("venv"), folder.as_os_str()];
        if !venv::run_quietly(&python, arguments, place) {
            bail!("{} -m venv {} failed", python.display(), folder.display());
        }
        let fresh = folder.join("bin/python");
        let mut smoke = Command::new(&fresh);
        smoke.arg(requirements_list("smoke.py")).env_remove("PYTHONPATH");
        if !install_wheels(&fresh, wheels)? || !venv::run_in_root(&mut smoke)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Finds the Python of a version: on the search path, or among the versions of pyenv.
fn find_interpreter(version: &str) -> Option<PathBuf> {
    let versions = std::env::home_dir()?.join(".pyenv/versions");
    let of_pyenv = fs::read_dir(versions).into_iter().flatten().flatten().filter(|entry| {
        entry.file_name().to_string_lossy().strip_prefix(version).is_some_and(|rest| rest.starts_with('.'))
    });
    let named = PathBuf::from(format!("python{version}"));
    let mut all = of_pyenv.map(|entry| entry.path().join("bin/python")).chain([named]);
    all.find(|python| venv::run_quietly(python, ["-c", "import venv"], Path::new(".")))
}

fn install_wheels(python: &Path, wheels: &[PathBuf]) -> anyhow::Result<bool> {
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "install",
        "--no-index",
        "--no-deps",
        "--force-reinstall",
    ]);
    venv::run_in_root(pip.args(wheels))
}

/// Lets an environment import the packages of another one, which come after its own.
fn borrow_packages(own: &Path, other: &Path) -> anyhow::Result<()> {
    let ask = |python: &Path| -> anyhow::Result<String> {
        let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let output = Command::new(python).args(["-c", code]).output().context("Python cannot be started")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let file = Path::new(&ask(own)?).join("borrowed.pth");
    fs::write(&file, ask(other)? + "\n").with_context(|| file.display().to_string())
}

/// Runs the tests with the installed program, and collects what they skip.
fn run_tests(session: &mut CiSession, step: &str, place: &Path, python: &Path) -> anyhow::Result<bool> {
    let file = place.join("skips");
    let mut pytest = Command::new(python);
    pytest
        .args(["-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"])
        .arg(workspace::workspace_root().join(TESTS));
    pytest.env(skips::FILE, &file).env("FROSTLINE_PROGRAM", installed_program(python));
    if let Some(shared) = &session.shared {
        pytest.env(skips::SHARED, shared);
    }
    let passed = venv::run_in_root(&mut pytest)?;
    session.skips.extend(skips::take_skips(&file, step)?);
    Ok(passed)
}

/// Runs the faults of freezing with real frameworks, and compares what `frostline audit` prints about each.
fn audit_faults(python: &Path) -> anyhow::Result<bool> {
    let mut faults = Command::new(python);
    faults
        .arg(workspace::workspace_root().join("tests/audit/faults.py"))
        .arg("--program")
        .arg(installed_program(python));
    venv::run_in_root(&mut faults)
}

/// The program that the wheel put next to a Python.
fn installed_program(python: &Path) -> PathBuf {
    python.with_file_name("frostline")
}
