//! `cargo xtask dist`: the program for systems without Rust, as archives and wheels, with checksums and bills of materials.
//!
//! What this machine cannot build is skipped, named with the package that is missing, and counted. `install.sh` takes
//! the archives and `SHA256SUMS` from the folder.

mod archive;
mod inspect;
#[cfg(all(test, unix))]
mod install;
mod licences;
pub(crate) mod part;
mod platform;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::say;
use frostline_sweep::units::count_noun;

use crate::args::{DistArgs, SbomArgs};
use crate::ci::python_package::{Package, build_wheel};
use crate::ci::venv::prepare_environment;
use crate::{sbom, workspace};
use archive::ArchiveFile;
use part::Part;
use platform::Optimisation;
pub(crate) use platform::{Platform, WINE_SCRIPT};

/// The pinned tools that build and link: maturin and zig.
const TOOLS: &str = "tests/python-package/tools.txt";

/// The file with the checksums of all others.
const SUMS: &str = "SHA256SUMS";

/// Files of the repository that every archive contains.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// The script that installs an archive.
const SCRIPT: &str = "install.sh";

/// Shells with their completion scripts in an archive.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "completions/frostline.bash"),
    ("zsh", "completions/_frostline"),
    ("fish", "completions/frostline.fish"),
    ("powershell", "completions/_frostline.ps1"),
];

/// One line of the closing table.
struct MadeFile {
    name: String,
    bytes: u64,
    /// `None` if this machine cannot run it.
    start: Option<String>,
    needs: String,
}

/// A finished folder, and what could not be made.
struct Release {
    out: PathBuf,
    /// A folder for what is made on the way.
    scratch: PathBuf,
    optimisation: Optimisation,
    made: Vec<MadeFile>,
    skipped: Vec<String>,
}

/// Makes what was asked for, and prints what is in the folder.
pub(crate) fn make_release(args: &DistArgs) -> CommandResult<Ending> {
    let out = std::path::absolute(&args.out).blame_environment()?;
    let scratch = workspace::target_folder().join("dist");
    let optimisation = if args.quick { Optimisation::Quick } else { Optimisation::Release };
    let mut release = Release { out, scratch, optimisation, made: Vec::new(), skipped: Vec::new() };
    release.fill_folder(&args.only).blame_environment()?;
    release.print_table();
    if release.made.is_empty() || !(args.only.is_empty() || release.skipped.is_empty()) {
        return Ok(Ending::Failed);
    }
    Ok(Ending::Done)
}

/// Returns the platform's part of a release.
const fn part_of(platform: Platform) -> Part {
    match platform {
        Platform::LinuxX86 => Part::LinuxX86,
        Platform::LinuxArm => Part::LinuxArm,
        Platform::Windows => Part::Windows,
    }
}

impl Release {
    fn fill_folder(&mut self, only: &[Part]) -> anyhow::Result<()> {
        let wants = |part| only.is_empty() || only.contains(&part);
        fs::create_dir_all(&self.out).with_context(|| self.out.display().to_string())?;
        let tools = match prepare_environment(TOOLS)? {
            Ok(tools) => tools,
            Err(reason) => bail!("maturin and zig, which build a release, are not here: {reason}"),
        };
        for platform in Platform::ALL.into_iter().filter(|platform| wants(part_of(*platform))) {
            match platform.missing_tool() {
                Some(reason) => self.skip(platform.triple(), reason),
                None => self.add_archive(platform, &tools, wants(Part::Wheels))?,
            }
        }
        if wants(Part::Wheels) {
            self.add_library(&tools)?;
        }
        fs::copy(workspace::workspace_root().join(SCRIPT), self.out.join(SCRIPT)).context(SCRIPT)?;
        write_sums(&self.out)
    }

    fn skip(&mut self, what: &str, reason: &str) {
        say!("SKIP {what}: {reason}");
        self.skipped.push(format!("{what}: {reason}"));
    }

    /// Builds a platform's program, and adds its archive, bill of materials and, if wanted, its wheel.
    fn add_archive(&mut self, platform: Platform, tools: &Path, with_wheel: bool) -> anyhow::Result<()> {
        say!("\n== {}", platform.triple());
        let (wheel, program) = build_program(platform, self.optimisation, tools, &self.scratch)?;
        let needs = inspect::needs_of(platform, &program)?;
        // Its pages and completions are what it prints.
        let starter =
            platform.starter().with_context(|| format!("{} cannot be started", program.display()))?;
        let start = inspect::start_ms(starter, &program)?;
        let by = if starter.is_empty() { String::new() } else { format!(" ({starter})") };
        let start = format!("{start:.1}{by}");
        let files = self.archive_files(platform, starter, &program)?;
        let bytes = match platform {
            Platform::Windows => archive::pack_zip(&platform.stem(), &files)?,
            Platform::LinuxX86 | Platform::LinuxArm => archive::pack_tar(&platform.stem(), &files)?,
        };
        let row = |name: &str, bytes: u64| MadeFile {
            name: name.into(),
            bytes,
            start: Some(start.clone()),
            needs: needs.clone(),
        };
        let mut rows = vec![row(platform.program(), fs::metadata(&program)?.len())];
        self.write_file(&platform.archive_name(), &bytes)?;
        rows.push(row(&platform.archive_name(), bytes.len() as u64));
        if with_wheel {
            let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = fs::read(&wheel)?;
            self.write_file(&name, &bytes)?;
            rows.push(row(&name, bytes.len() as u64));
        }
        self.made.extend(rows);
        Ok(())
    }

    /// Returns the files of an archive: the program, what it prints about itself, and the texts of the repository.
    fn archive_files(
        &self,
        platform: Platform,
        starter: &str,
        program: &Path,
    ) -> anyhow::Result<Vec<ArchiveFile>> {
        let mut files = vec![ArchiveFile {
            path: platform.program().into(),
            bytes: fs::read(program)?,
            is_program: true,
        }];
        for name in TEXTS {
            files.push(ArchiveFile::plain(
                name,
                fs::read(workspace::workspace_root().join(name)).context(name)?,
            ));
        }
        files.push(ArchiveFile::plain("LICENSES-CRATES.txt", licences::licence_texts(platform.triple())?));
        let bill = self.out.join(format!("{}.cdx.json", platform.stem()));
        let args = SbomArgs {
            out: Some(bill.clone()),
            features: Vec::new(),
            no_default_features: false,
            target: Some(platform.triple().into()),
        };
        sbom::write_sbom(&args).map_err(|fault| fault.error)?;
        files.push(ArchiveFile::plain("sbom.cdx.json", fs::read(bill)?));
        for (shell, path) in SHELLS {
            let mut command = inspect::starting_command(starter, program);
            let script = workspace::command_output(command.args(["completions", shell]))?;
            files.push(ArchiveFile::plain(path, script));
        }
        if platform != Platform::Windows {
            let pages = self.scratch.join("man");
            let _ = fs::remove_dir_all(&pages);
            let mut command = inspect::starting_command(starter, program);
            workspace::command_output(command.args(["man", "--out"]).arg(&pages))?;
            for page in workspace::list_files(&pages, &[])? {
                files.push(ArchiveFile::plain(format!("man/{page}"), fs::read(pages.join(&page))?));
            }
        }
        // The program first; the rest does not depend on the order in which a folder is listed.
        files[1..].sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Adds the Python package of the library, as a wheel and as sources.
    fn add_library(&mut self, tools: &Path) -> anyhow::Result<()> {
        say!("\n== the Python package");
        let package = Package { crate_folder: "crates/frostline-python", released: true };
        let place = workspace::target_folder().join("python-package");
        fs::create_dir_all(&place)?;
        let Some(wheel) = build_wheel(&package, &place, tools)? else {
            bail!("the Python package does not build; see the messages above");
        };
        let folder = wheel.parent().context("the folder of the wheel")?;
        for name in workspace::list_files(folder, &[])? {
            let bytes = fs::read(folder.join(&name))?;
            self.write_file(&name, &bytes)?;
            let needs = if name.ends_with(".whl") { "Python 3.9, glibc 2.17" } else { "Rust" };
            self.made.push(MadeFile { name, bytes: bytes.len() as u64, start: None, needs: needs.into() });
        }
        Ok(())
    }

    fn write_file(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        fs::write(self.out.join(name), bytes).with_context(|| self.out.join(name).display().to_string())
    }

    fn print_table(&self) {
        say!("\n| file | MB | start (ms) | needs |\n|---|---|---|---|");
        for MadeFile { name, bytes, start, needs } in &self.made {
            let start = start.as_deref().unwrap_or("-");
            say!("| `{name}` | {:.1} | {start} | {needs} |", *bytes as f64 / 1e6);
        }
        say!("");
        for skipped in &self.skipped {
            say!("SKIP {skipped}");
        }
        let made = count_noun(self.made.len(), "file");
        say!("{}: {made}, {} skipped", self.out.display(), self.skipped.len());
    }
}

/// Builds the program of a platform, and returns its wheel and the program itself.
fn build_program(
    platform: Platform,
    optimisation: Optimisation,
    tools: &Path,
    scratch: &Path,
) -> anyhow::Result<(PathBuf, PathBuf)> {
    let folder = scratch.join(platform.triple());
    let _ = fs::remove_dir_all(&folder);
    let wheels = folder.join("wheels");
    let mut command = platform.build_command(optimisation, tools, &wheels)?;
    let status =
        command.current_dir(workspace::workspace_root()).status().context("maturin cannot be started")?;
    if !status.success() {
        bail!("the program for {} does not build; see the messages above", platform.triple());
    }
    let names = workspace::list_files(&wheels, &[])?;
    let [name] = names.as_slice() else { bail!("maturin left {} wheels, not one", names.len()) };
    let wheel = wheels.join(name);
    let program = folder.join(platform.program());
    fs::write(&program, archive::wheel_program(&fs::read(&wheel)?, platform.program())?)?;
    make_executable(&program)?;
    Ok((wheel, program))
}

fn make_executable(program: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(program, fs::Permissions::from_mode(0o755))?;
    }
    #[cfg(not(unix))]
    let _ = program;
    Ok(())
}

/// Writes the checksums of all files in a folder, as `sha256sum --check` reads them.
fn write_sums(folder: &Path) -> anyhow::Result<()> {
    let mut names = workspace::list_files(folder, &[])?;
    names.retain(|name| name != SUMS);
    names.sort();
    let mut sums = String::new();
    for name in names {
        let bytes = fs::read(folder.join(&name)).with_context(|| name.clone())?;
        sums.push_str(&format!("{}  {name}\n", frostline_assets::sha256(&bytes)));
    }
    fs::write(folder.join(SUMS), sums).with_context(|| folder.join(SUMS).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_have_the_usual_names() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            Platform::ALL.map(Platform::archive_name),
            [
                format!("frostline-{version}-x86_64-unknown-linux-gnu.tar.gz"),
                format!("frostline-{version}-aarch64-unknown-linux-gnu.tar.gz"),
                format!("frostline-{version}-x86_64-pc-windows-gnu.zip"),
            ]
        );
    }

    #[test]
    fn the_sums_are_those_of_all_other_files() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("b.zip"), "").expect("a file");
        fs::write(folder.path().join("a.tar.gz"), "abc").expect("a file");
        for _ in 0..2 {
            write_sums(folder.path()).expect("written");
            // The sums of these two texts are in the standard, FIPS 180-4, and its examples.
            let text = fs::read_to_string(folder.path().join(SUMS)).expect("the sums");
            assert_eq!(
                text,
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.tar.gz\n\
                 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b.zip\n"
            );
        }
    }
}
