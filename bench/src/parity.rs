//! Compares the predictions of cells trained on a device and on a processor: three cells of the demo, run on both, tag by
//! tag.
//!
//! The two round differently, so the scores of two tags that are nearly equal may change places.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use frostline_record::{Record, StoredFile, Sweep};
use frostline_sweep::Backend;
use frostline_sweep::Program;
use frostline_sweep::units::group_thousands;

use crate::process::last_lines;
use crate::time_limit::TimeLimit;

/// What is run on both, of the embedded demo: one seed, and policies of which nothing, most and all of the encoder is
/// frozen. Baselines are not tags that a device predicts.
const CELLS: [&str; 11] = [
    "--plan",
    "demo",
    "--lang",
    "en",
    "--seeds",
    "42",
    "--policies",
    "none,first-4,head-only",
    "--set",
    "eval.baselines=\"off\"",
    "--no-timing",
];

/// One cell's tags on the device and on a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedCell {
    /// The cell's policy.
    pub policy: String,
    /// How many tags of dev and test were compared.
    pub tags: usize,
    /// How many of them are different.
    pub different: usize,
}

/// Formats the cell as `none: 3 of 4,100 tags of dev and test differ`.
impl fmt::Display for ComparedCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [different, tags] = [self.different, self.tags].map(|count| group_thousands(count as u64));
        write!(f, "{}: {different} of {tags} tags of dev and test differ from those of flex", self.policy)
    }
}

/// Summarises all cells.
pub(crate) fn summarise_cells(compared: &[ComparedCell]) -> String {
    let of =
        |count: fn(&ComparedCell) -> usize| group_thousands(compared.iter().map(count).sum::<usize>() as u64);
    format!("{} of {} tags differ from those of flex", of(|one| one.different), of(|one| one.tags))
}

/// Runs the cells on the device and on flex, and compares their predictions; `None` if there was no time for it.
///
/// # Errors
/// If a cell fails, or what it left is not complete.
pub(crate) fn compare_predictions(
    runner: &Program,
    limit: &TimeLimit,
) -> anyhow::Result<Option<Vec<ComparedCell>>> {
    let scratch = tempfile::tempdir().context("no folder can be made")?;
    let mut folders = Vec::new();
    for (name, backend) in [("device", runner.backend), ("flex", Backend::Flex)] {
        let Some(folder) = run_cells(runner, backend, scratch.path().join(name), limit)? else {
            return Ok(None);
        };
        folders.push(folder);
    }
    compare_sweeps(&folders[0], &folders[1]).map(Some)
}

/// Runs the cells on a backend.
fn run_cells(
    runner: &Program,
    backend: Backend,
    out: PathBuf,
    limit: &TimeLimit,
) -> anyhow::Result<Option<PathBuf>> {
    let mut command = Command::new(&runner.path);
    command.arg("sweep").args(CELLS).args(["--backend", &backend.to_string(), "--jobs", "1", "--quiet"]);
    let output = limit.run_process(command.arg("--out").arg(&out)).context("the sweep cannot be started")?;
    let Some(output) = output else { return Ok(None) };
    if !output.status.success() {
        bail!("the sweep on {backend} failed: {}", last_lines(&output.stderr));
    }
    Ok(Some(out))
}

/// Compares the predictions of every cell of a sweep with the predictions of the same cell in another sweep.
fn compare_sweeps(ours: &Path, theirs: &Path) -> anyhow::Result<Vec<ComparedCell>> {
    let records = |folder: &Path| anyhow::Ok(Sweep::read(folder)?.records(folder)?);
    let (own, others) = (records(ours)?, records(theirs)?);
    ensure!(!own.is_empty(), "the sweep has no cells");
    let compared = own.iter().map(|record| {
        let settings = &record.cell.settings;
        let other = others.iter().find(|other| other.cell.settings == *settings);
        let other = other.with_context(|| format!("{} has no record on flex", settings.policy))?;
        let files =
            [(ours, record), (theirs, other)].map(|(folder, record)| read_predictions(folder, record));
        let [own, other] = files;
        let different = count_differences(&own?, &other?).with_context(|| settings.policy.to_string())?;
        Ok(ComparedCell { policy: settings.policy.to_string(), tags: different.0, different: different.1 })
    });
    compared.collect()
}

/// Returns the tags that a cell predicts, split by split.
fn read_predictions(folder: &Path, record: &Record) -> anyhow::Result<Vec<Vec<String>>> {
    let title = record.cell.title();
    let result = record.result.as_ref().with_context(|| format!("{title} has no result"))?;
    let read = |file: &StoredFile| {
        let path = Sweep::cell_folder(folder, &record.cell).join(&file.file);
        let text = std::fs::read_to_string(&path).with_context(|| format!("{title}: {}", file.file))?;
        predicted_tags(&text).with_context(|| format!("{title}: {}", file.file))
    };
    result.predictions().values().map(read).collect()
}

/// Returns the column of predicted tags.
fn predicted_tags(text: &str) -> anyhow::Result<Vec<String>> {
    let mut lines = text.lines();
    let head = lines.next().context("the file is empty")?;
    let at = head.split('\t').position(|name| name == "predicted");
    let at = at.context("the file has no column `predicted`")?;
    let tag = |line: &str| line.split('\t').nth(at).map(String::from).context("a line is too short");
    lines.map(tag).collect()
}

/// Returns how many tags there are, and how many of them differ.
fn count_differences(ours: &[Vec<String>], theirs: &[Vec<String>]) -> anyhow::Result<(usize, usize)> {
    let lengths = |all: &[Vec<String>]| all.iter().map(Vec::len).collect::<Vec<_>>();
    let (own, others) = (lengths(ours), lengths(theirs));
    ensure!(own == others, "{own:?} words were tagged on the device, {others:?} on flex");
    let pairs = ours.iter().flatten().zip(theirs.iter().flatten());
    Ok((own.iter().sum(), pairs.filter(|(own, other)| own != other).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "sent_id\tid\tform\tgold\tpredicted\ttrain\n";

    fn prediction_file(predicted: &[&str]) -> String {
        let line = |tag: &&str| format!("s1\t1\tword\tNOUN\t{tag}\tunknown\n");
        HEAD.to_string() + &predicted.iter().map(line).collect::<String>()
    }

    #[test]
    fn tags_that_differ_are_counted() {
        let of = |predicted: &[&str]| predicted_tags(&prediction_file(predicted)).expect("tags");
        let (dev, test) = (of(&["NOUN", "VERB", "ADJ"]), of(&["NOUN"]));
        let ours = [dev.clone(), test.clone()];
        assert_eq!(count_differences(&ours, &ours).expect("the same words"), (4, 0));
        let theirs = [of(&["NOUN", "NOUN", "ADJ"]), of(&["VERB"])];
        assert_eq!(count_differences(&ours, &theirs).expect("the same words"), (4, 2));
        let error = count_differences(&ours, &[dev, Vec::new()]).expect_err("other words").to_string();
        assert_eq!(error, "[3, 1] words were tagged on the device, [3, 0] on flex");
    }

    #[test]
    fn files_that_hold_no_predictions_are_faults() {
        for (text, why) in [
            ("", "the file is empty"),
            ("a\tb\n", "the file has no column `predicted`"),
            (&format!("{HEAD}s1\t1\n"), "a line is too short"),
        ] {
            assert_eq!(predicted_tags(text).expect_err(why).to_string(), why);
        }
    }

    #[test]
    fn a_sweep_that_is_not_there_is_a_fault() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(compare_sweeps(folder.path(), folder.path()).is_err());
    }

    #[test]
    fn cells_are_summed() {
        let one = |policy: &str, different| ComparedCell { policy: policy.into(), tags: 1_200, different };
        let all = [one("none", 2), one("first-4", 1)];
        assert_eq!(all[0].to_string(), "none: 2 of 1,200 tags of dev and test differ from those of flex");
        assert_eq!(summarise_cells(&all), "3 of 2,400 tags differ from those of flex");
    }
}
