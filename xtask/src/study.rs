//! `cargo xtask study`: computes the pages of `docs/study` again from the records that lie there, packed, and what policies lost in
//! them, from which `frostline advise` predicts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::{Ending, PolicyLoss, measured_losses, report_files, say};

use crate::workspace;

/// How the name of packed records ends.
const PACKED: &str = ".tar.xz";

/// The kinds of file that are kept as pages; tables for programs are in the report that anyone can compute.
const KEPT: [&str; 2] = ["md", "svg"];

/// What policies lost, from the workspace's root.
const LOSSES: &str = "crates/frostline-report/src/policy_losses.json";

/// Writes the pages, or reports which of the existing ones differ.
pub(crate) fn write_study_pages(check: bool) -> CommandResult<Ending> {
    let place = workspace::workspace_root().join("docs/study");
    let mut changed = Vec::new();
    let mut losses = Vec::new();
    for packed in packed_records(&place).blame_environment()? {
        let name = packed.file_name().unwrap_or_default().to_string_lossy().replace(PACKED, "");
        let unpacked = unpack_records(&packed).blame_environment()?;
        let records = unpacked.path().join(&name);
        let now = render_pages(&records).blame_environment()?;
        losses.extend(measured_losses(&records).blame_environment()?);
        let folder = place.join(&name);
        changed.extend(
            differing_paths(&stored_pages(&folder).blame_environment()?, &now)
                .map(|path| format!("docs/study/{name}/{path}")),
        );
        if !check {
            replace_pages(&folder, &now).blame_environment()?;
        }
        say!("study     {name}: {} pages and figures", now.len());
    }
    let (file, text) = (workspace::workspace_root().join(LOSSES), losses_as_json(losses));
    if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
        changed.push(LOSSES.to_string());
        if !check {
            fs::write(&file, text).with_context(|| file.display().to_string()).blame_environment()?;
        }
    }
    for path in &changed {
        say!("{}   {path}", if check { "differs" } else { "written" });
    }
    if check && !changed.is_empty() {
        say!("next      run `cargo xtask study` and commit what it writes");
        return Ok(Ending::Failed);
    }
    Ok(Ending::Done)
}

/// The packed records of a folder, by name.
fn packed_records(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut names = workspace::list_files(folder, &[])?;
    names.retain(|name| name.ends_with(PACKED) && !name.contains('/'));
    names.sort();
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// A line for each loss, sorted.
fn losses_as_json(mut losses: Vec<PolicyLoss>) -> String {
    let key =
        |loss: &PolicyLoss| (loss.policy.clone(), loss.lang.clone(), loss.sentences, loss.encoder.clone());
    losses.sort_by_key(key);
    let lines: Vec<String> = losses.iter().map(|loss| serde_json::json!(loss).to_string()).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// A temporary folder with packed records.
fn unpack_records(packed: &Path) -> anyhow::Result<tempfile::TempDir> {
    let into = tempfile::tempdir().context("no temporary folder can be created")?;
    let ended = Command::new("tar").arg("-xJf").arg(packed).arg("-C").arg(into.path()).status();
    let ended = ended.context("`tar` cannot be started; install tar and xz")?;
    if !ended.success() {
        bail!("{}: tar cannot unpack it ({ended})", packed.display());
    }
    Ok(into)
}

/// The pages of a report on a folder's records, by path.
fn render_pages(records: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let files = report_files(records)?;
    let kept = |path: &str| KEPT.iter().any(|kind| path.ends_with(&format!(".{kind}")));
    Ok(files.into_iter().filter(|file| kept(&file.path)).map(|file| (file.path, file.bytes)).collect())
}

/// The files of a folder of pages, by path relative to it; nothing if there is no folder yet.
fn stored_pages(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let files = if folder.exists() { workspace::list_files(folder, &[])? } else { Vec::new() };
    files.into_iter().map(|file| Ok((file.clone(), fs::read(folder.join(file))?))).collect()
}

/// The paths that only one side has, or that differ.
fn differing_paths<'a>(
    before: &'a BTreeMap<String, Vec<u8>>,
    now: &'a BTreeMap<String, Vec<u8>>,
) -> impl Iterator<Item = &'a String> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    gone.chain(now.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)).map(|(path, _)| path))
}

fn replace_pages(folder: &Path, pages: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (path, bytes) in pages {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_new_gone_or_changed_differs() {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = |of: &[(&str, &str)]| {
            let pages = of.iter().map(|(path, text)| (path.to_string(), text.as_bytes().to_vec()));
            pages.collect::<BTreeMap<_, _>>()
        };
        let before = pages(&[("gone.md", ""), ("report.md", "old"), ("figures/a.svg", "same")]);
        replace_pages(folder.path(), &before).expect("written");
        assert_eq!(stored_pages(folder.path()).expect("read"), before);
        let now = pages(&[("report.md", "new"), ("figures/a.svg", "same"), ("figures/b.svg", "")]);
        let found: Vec<&str> = differing_paths(&before, &now).map(String::as_str).collect();
        assert_eq!(found, ["gone.md", "figures/b.svg", "report.md"]);
        replace_pages(folder.path(), &now).expect("written");
        assert_eq!(stored_pages(folder.path()).expect("read"), now);
    }
}
