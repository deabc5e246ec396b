//! The step `docs`: the commands of README.md and `docs/` run on the embedded demo, and the book of `docs/` is built. The step
//! `links`: links in Markdown lead to files and headings.
//!
//! Each page has a folder of its own, which is new. Marks above blocks ([`crate::marks`]) decide which run. If a block
//! shows output, each shown line is printed, in this order; numbers may be others, and more lines may be printed, since both
//! depend on the machine. mdBook and lychee are packages of a Python environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;

use super::outcome::StepOutcome;
use super::venv::{prepare_environment, run_in_root};
use crate::marks::{self, Mark};
use crate::tidy::docs::is_page;
use crate::tidy::files_of_the_project;
use crate::{markdown, workspace};
use frostline_bench::TimeLimit;
use frostline_sweep::say;
use frostline_sweep::units::{count_noun, format_clock};

/// The list of packages with mdBook and lychee, from the workspace's root.
const REQUIREMENTS: &str = "tests/book/requirements.txt";

/// The longest that a command may take, in minutes.
const LIMIT: f64 = 10.0;

/// Runs the commands with this program and builds the book.
pub(super) fn check_documentation(step: &str, program: &str, scratch: &Path) -> anyhow::Result<StepOutcome> {
    say!("\n== {step}: the commands of README.md and docs, and the book");
    let place = scratch.join("docs");
    let mut passed = true;
    for name in files_of_the_project()?.iter().filter(|name| is_page(name)) {
        let started = Instant::now();
        let page = CommandPage::new(name, &place, Path::new(program))?;
        let (count, faults) = page.run()?;
        if count > 0 {
            say!(
                "{:<24} {:<12} {}",
                name,
                count_noun(count, "command"),
                format_clock(started.elapsed().as_secs_f64())
            );
        }
        faults.iter().for_each(|fault| say!("error: {fault}"));
        passed &= faults.is_empty();
    }
    if passed { build_book() } else { Ok(StepOutcome::Failed) }
}

/// Checks the links of all Markdown files of the project, without a connection.
pub(super) fn check_links(step: &str) -> anyhow::Result<StepOutcome> {
    say!("\n== {step}: links in Markdown");
    match prepare_environment(REQUIREMENTS)? {
        Ok(python) => {
            let files = files_of_the_project()?.into_iter().filter(|name| name.ends_with(".md"));
            run_in_root(venv_program(&python, "lychee").args(LYCHEE).args(files))
                .map(StepOutcome::from_passed)
        }
        Err(reason) => Ok(StepOutcome::skip_here(reason)),
    }
}

/// Links of the project alone, with the headings that they name.
const LYCHEE: [&str; 4] = ["--offline", "--include-fragments", "--no-progress", "--index-files=index.html,."];

/// Returns the command of a program in an environment.
fn venv_program(python: &Path, name: &str) -> Command {
    Command::new(python.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Builds the site of `docs/` into `target/book/site`, and checks its links.
fn build_book() -> anyhow::Result<StepOutcome> {
    let python = match prepare_environment(REQUIREMENTS)? {
        Ok(python) => python,
        Err(reason) => {
            return Ok(StepOutcome::skip_here(format!("the commands ran, but there is no mdBook: {reason}")));
        }
    };
    let site = workspace::workspace_root().join("target/book/site");
    let _ = fs::remove_dir_all(&site);
    if !run_in_root(venv_program(&python, "mdbook").args(["build", "docs"]))? {
        return Ok(StepOutcome::Failed);
    }
    // The page for a missing address is shown at any address, so its links start at the site's root.
    let mut lychee = venv_program(&python, "lychee");
    run_in_root(lychee.args(LYCHEE).args(["--exclude-path", "404.html"]).arg(site))
        .map(StepOutcome::from_passed)
}

/// A page whose commands run.
struct CommandPage<'a> {
    name: &'a str,
    text: String,
    folder: PathBuf,
    program: &'a Path,
}

impl<'a> CommandPage<'a> {
    fn new(name: &'a str, place: &Path, program: &'a Path) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(workspace::workspace_root().join(name)).with_context(|| name.to_string())?;
        let folder = place.join(name.replace(['/', '.'], "-"));
        Ok(Self { name, text, folder, program })
    }

    /// Returns the number of commands, and the fault of the first one that does not do what the page shows.
    fn run(&self) -> anyhow::Result<(usize, Vec<String>)> {
        fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        let (mut count, mut last) = (0, String::new());
        for block in markdown::fenced_blocks(&self.text) {
            let place = format!("{}:{}", self.name, block.line);
            let code = match marks::mark_of_block(&block).with_context(|| place.clone())? {
                Mark::Run(code) => code,
                Mark::Printed => {
                    if let Some(line) = first_missing_line(&block.lines, &last) {
                        let fault =
                            format!("{place}: the command above it does not print `{line}` but\n{last}");
                        return Ok((count, vec![fault]));
                    }
                    continue;
                }
                Mark::File(name) => {
                    self.write_file(&name, &block.lines)?;
                    continue;
                }
                Mark::NotRun | Mark::None => continue,
            };
            let commands = marks::commands_of_block(&block);
            for (at, command) in commands.iter().enumerate() {
                count += 1;
                let expected = if at + 1 == commands.len() { code } else { 0 };
                let (ended, printed) = self.execute_command(&command.text)?;
                if let Some(fault) = command_fault(command, expected, ended, &printed) {
                    let text = &command.text;
                    return Ok((count, vec![format!("{place}: `{text}`: {fault}; it printed\n{printed}")]));
                }
                last = printed;
            }
        }
        Ok((count, Vec::new()))
    }

    fn write_file(&self, name: &str, lines: &[String]) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
        fs::write(&path, format!("{}\n", lines.join("\n"))).with_context(|| path.display().to_string())
    }

    /// Runs a command in the page's folder; gives its exit code, and what it printed to both outputs.
    fn execute_command(&self, text: &str) -> anyhow::Result<(Option<i32>, String)> {
        let own = self.program.parent().unwrap_or(Path::new("."));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([own.to_path_buf()].into_iter().chain(std::env::split_paths(&path)))?;
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &format!("exec 2>&1\n{text}")]).current_dir(&self.folder).env("PATH", path);
        let names = std::env::vars_os().map(|(name, _)| name);
        for name in names.filter(|name| name.to_string_lossy().starts_with("FROSTLINE_")) {
            shell.env_remove(name);
        }
        shell.env("FROSTLINE_CACHE", self.folder.with_extension("cache"));
        shell.env("FROSTLINE_OFFLINE", "1").env("NO_COLOR", "1");
        let output = TimeLimit::from_now(LIMIT).run_process(&mut shell).context("`sh` cannot be started")?;
        let output = output.with_context(|| {
            format!("`{text}` took longer than {LIMIT} minutes; mark its block `not run` if it does not end")
        })?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// Returns how a command's result differs from its page, if it does.
fn command_fault(
    command: &marks::MarkedCommand,
    expected: i32,
    ended: Option<i32>,
    printed: &str,
) -> Option<String> {
    if ended == Some(expected) {
        return first_missing_line(&command.shown, printed).map(|line| format!("it does not print `{line}`"));
    }
    let ended = ended.map_or("no exit code".into(), |ended| format!("exit code {ended}"));
    Some(format!("it ends with {ended} instead of {expected}"))
}

/// Returns the first of the shown lines that was not printed after the one before it.
fn first_missing_line<'a>(shown: &'a [String], printed: &str) -> Option<&'a String> {
    let mut lines = printed.lines().map(mask_variable_parts);
    shown.iter().filter(|line| !line.trim().is_empty()).find(|line| {
        let wanted = mask_variable_parts(line);
        !lines.any(|line| line == wanted)
    })
}

/// A line without what differs from machine to machine: numbers with their signs, hashes, the widths of columns.
fn mask_variable_parts(line: &str) -> String {
    line.split_whitespace().map(mask_word).collect::<Vec<_>>().join(" ")
}

fn mask_word(text: &str) -> String {
    if text.chars().all(|c| c == '─' || c == '-') {
        return "-".into();
    }
    let mut result = String::new();
    let parts = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && !".,".contains(c));
    for part in parts {
        let end = part.chars().next_back().filter(|c| !c.is_ascii_alphanumeric() && !".,".contains(*c));
        let body = &part[..part.len() - end.map_or(0, char::len_utf8)];
        let is_hash = body.len() > 5 && body.chars().all(|c| c.is_ascii_hexdigit());
        let digits = body.chars().any(|c| c.is_ascii_digit());
        match (is_hash && digits, digits) {
            (true, _) => result.push('0'),
            (_, true) => result.push_str(&without_numbers(body)),
            _ => result.push_str(body),
        }
        result.extend(end.filter(|c| !"-−+".contains(*c)));
    }
    result
}

/// Each number is `0`.
fn without_numbers(text: &str) -> String {
    let mut result = String::new();
    for c in text.chars() {
        let follows = result.ends_with('0');
        match c {
            '0'..='9' if follows => {}
            '0'..='9' => result.push('0'),
            '.' | ',' if follows => {}
            c => result.push(c),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_of_an_output_may_differ() {
        for (shown, printed) in [
            ("none   99.65 ± 0.53   −0.03 [31.2, 32.7]", "none 9.1 ± 12.25 0.03  [1, 1,000]"),
            ("sweeps/demo-4cbdad/report", "sweeps/demo-00aa11/report"),
            ("────  ──", "──────  ─────"),
            ("30 cells in 1:02", "2 cells in 0:59"),
            ("all    1 tag", "all   12 tag"),
        ] {
            assert_eq!(mask_variable_parts(shown), mask_variable_parts(printed), "{shown}");
        }
        for (shown, printed) in [("first 2 worse", "first 2 better"), ("en", "pcm"), ("99 %", "99")] {
            assert_ne!(mask_variable_parts(shown), mask_variable_parts(printed), "{shown}");
        }
    }

    #[test]
    fn shown_lines_are_printed_in_their_order() {
        let shown = ["a 1", "c"].map(String::from);
        assert_eq!(first_missing_line(&shown, "x\na  2\nb\nc\n"), None);
        assert_eq!(first_missing_line(&shown, "c\na 2\n"), Some(&shown[1]));
        assert_eq!(first_missing_line(&shown, "a\nc\n"), Some(&shown[0]));
    }

    #[cfg(unix)]
    #[test]
    fn a_page_runs_in_a_folder_of_its_own() {
        let place = tempfile::tempdir().expect("a folder");
        let text = "<!-- file: a/b.txt -->\n```text\n1 word\n```\n<!-- run -->\n```text\n$ cat a/b.txt\n2 word\n$ A=1\n```\n";
        let page = |more: &str| CommandPage {
            name: "page.md",
            text: format!("{text}{more}"),
            folder: place.path().join("page"),
            program: Path::new("bin/frostline"),
        };
        assert_eq!(page("").run().expect("it runs"), (2, Vec::new()));
        let (count, faults) = page("<!-- run: exits 3 -->\n```sh\nexit 3\n```\n").run().expect("it runs");
        assert_eq!((count, faults.len()), (3, 0));
        let (count, faults) = page("<!-- run -->\n```sh\nexit 3\n```\n").run().expect("it runs");
        assert_eq!((count, faults.len()), (3, 1));
        assert!(
            faults[0].starts_with("page.md:12: `exit 3`: it ends with exit code 3 instead of 0"),
            "{faults:?}"
        );
        let (_, faults) = page("<!-- run -->\n```sh\n$ echo a\nb\n```\n").run().expect("it runs");
        assert!(faults[0].contains("it does not print `b`; it printed\na"), "{faults:?}");
        let printed = |shown: &str| {
            format!("<!-- run -->\n```sh\necho a 1\n```\n<!-- printed -->\n```\n{shown}\n```\n")
        };
        assert_eq!(page(&printed("a 2")).run().expect("it runs"), (3, Vec::new()));
        let (_, faults) = page(&printed("b 2")).run().expect("it runs");
        assert!(faults[0].starts_with("page.md:16: the command above"), "{faults:?}");
    }
}
