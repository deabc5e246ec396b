//! Checks of a record beyond its types, so that every reader can rely on it.

use std::path::{Component, Path};

use serde_json::Value;

use crate::{Accounts, Baseline, Cell, Outcome, Record, Score, SplitFacts, StageOutcome, StoredFile};

/// The largest number in a result or a time, of either sign: counts up to it are exact as floating-point numbers, and
/// thousands of them can be added.
const LARGEST: f64 = 9_007_199_254_740_992.0;

impl Record {
    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.cell.check()?;
        let stages = self.cell.settings.in_stages();
        stages.map_err(|error| format!("a setting of its cell: {error}"))?;
        let numbers =
            serde_json::to_value((&self.result, &self.timing)).map_err(|error| error.to_string())?;
        if let Some(number) = too_large(&numbers) {
            return Err(format!("it has the number {number}, which is above 2^53"));
        }
        match (&self.result, &self.error) {
            (Some(_), Some(_)) => Err("it has both a result and an error".into()),
            (None, None) => Err("it has neither a result nor an error".into()),
            (None, Some(_)) => Ok(()),
            (Some(_), None) if self.timing.is_none() => Err("it has a result but no times".into()),
            (Some(result), None) => check_outcome(result),
        }
    }
}

impl Cell {
    /// Checks the parts of every cell, in a record and in a sweep.
    ///
    /// # Errors
    /// If a part does not fit; the error names it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let id = &self.id;
        if id.len() != 16 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("the cell's id does not have 16 hexadecimal digits".into());
        }
        Ok(())
    }
}

/// Returns the first number that is too large, as it is written.
pub(crate) fn too_large(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            let large = number.as_f64().is_none_or(|number| number.abs() > LARGEST);
            large.then(|| number.to_string())
        }
        Value::Array(items) => items.iter().find_map(too_large),
        Value::Object(fields) => fields.values().find_map(too_large),
        _ => None,
    }
}

fn check_outcome(result: &Outcome) -> Result<(), String> {
    let Outcome { headline, tasks, stages, epochs, baselines, .. } = result;
    if !tasks.contains_key(headline) {
        return Err(format!("the headline task `{headline}` is not among its tasks"));
    }
    if stages.is_empty() {
        return Err("it has no stages".into());
    }
    result.files.check_names()?;
    for (_, split) in tasks.values().flat_map(|task| task.splits()) {
        check_split(split)?;
    }
    for stage in stages {
        if let Some(task) = tasks.keys().find(|task| !stage.tasks.contains_key(*task)) {
            return Err(format!("the stage `{}` has no scores of the task `{task}`", stage.name));
        }
        if stage.selected_epoch as usize > epochs.len() {
            let (name, selected) = (&stage.name, stage.selected_epoch);
            return Err(format!("the stage `{name}` selected epoch {selected} of {}", epochs.len()));
        }
        if let Some(epoch) = stage.stopped_early.filter(|epoch| *epoch as usize > epochs.len()) {
            return Err(format!(
                "the stage `{}` stopped after epoch {epoch} of {}",
                stage.name,
                epochs.len()
            ));
        }
        check_stage(stage)?;
    }
    for point in &result.dev_points {
        if point.epoch == 0 || point.epoch as usize > epochs.len() {
            return Err(format!(
                "it has dev scores of an epoch {}, but {} in all",
                point.epoch,
                epochs.len()
            ));
        }
        check_score(&point.dev)?;
        point.others.values().try_for_each(check_score)?;
    }
    for row in epochs {
        if row.stage == 0 || row.stage as usize > stages.len() {
            return Err(format!("epoch {} is of stage {}, which it does not have", row.epoch, row.stage));
        }
        if row.epoch == 0 || row.epoch as usize > epochs.len() {
            return Err(format!("it has an epoch {}, but {} in all", row.epoch, epochs.len()));
        }
        check_score(&row.dev)?;
        row.others.values().try_for_each(check_score)?;
    }
    if let Some(task) = baselines.keys().find(|task| !tasks.contains_key(*task)) {
        return Err(format!("it has baselines of `{task}`, which is not among its tasks"));
    }
    baselines.values().flat_map(|named| named.values()).try_for_each(check_baseline)
}

fn check_stage(stage: &StageOutcome) -> Result<(), String> {
    check_accounts(&stage.accounts)?;
    for outcome in stage.tasks.values() {
        if !outcome.scores.contains_key("dev") {
            return Err(format!("the stage `{}` has no scores of dev", stage.name));
        }
        outcome.scores.values().try_for_each(check_score)?;
        outcome.predictions.values().try_for_each(check_file)?;
    }
    Ok(())
}

fn check_accounts(accounts: &Accounts) -> Result<(), String> {
    let groups = accounts.groups.iter().map(|row| (row.group.as_str(), row.trainable, row.total));
    let mut all = groups.chain([("all groups", accounts.trainable, accounts.total)]);
    match all.find(|(_, trainable, total)| trainable > total) {
        None => Ok(()),
        Some((group, trainable, total)) => {
            Err(format!("{trainable} of {total} parameters are trainable in {group}"))
        }
    }
}

/// Checks that no part of a split is larger than the whole.
fn check_split(split: &SplitFacts) -> Result<(), String> {
    let SplitFacts { forms, .. } = split;
    let [like_train, like_dev] = [split.like_train, split.like_dev].map(Option::unwrap_or_default);
    let parts = [
        ("words that are lost", split.truncated.saturating_add(split.vanished), split.words),
        ("repeated sentences", split.repeated, split.sentences),
        ("sentences of train", like_train.sentences, split.sentences),
        ("words of train sentences", like_train.words, forms.words),
        ("sentences of dev", like_dev.sentences, split.sentences),
        ("words of dev sentences", like_dev.words, forms.words),
        ("unlabelled sentences", split.unlabelled, split.sentences),
        ("words without a form", split.blank, forms.words),
        ("unknown words", forms.unknown_words, forms.words),
        ("ambiguous words", forms.ambiguous_words, forms.words),
        ("unknown forms", forms.unknown_types, forms.types),
        ("ambiguous forms", forms.ambiguous_types, forms.types),
    ];
    match parts.into_iter().find(|(_, part, whole)| part > whole) {
        None => Ok(()),
        Some((what, part, whole)) => Err(format!("a split has {part} {what} of {whole}")),
    }
}

fn check_baseline(baseline: &Baseline) -> Result<(), String> {
    baseline.scores.values().try_for_each(check_score)?;
    match baseline.fit.as_ref().filter(|fit| fit.fitted > fit.of) {
        None => Ok(()),
        Some(fit) => Err(format!("a baseline was fitted to {} of {}", fit.fitted, fit.of)),
    }
}

fn check_score(score: &Score) -> Result<(), String> {
    let Score { words, correct, truncated, vanished, unseen, entities, .. } = score;
    let parts = [correct, truncated, vanished, unseen];
    let sum = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(**part));
    if sum.is_none_or(|sum| sum > *words) {
        return Err(format!(
            "{correct} correct, {truncated} truncated, {vanished} vanished and {unseen} unseen words are more than \
             all {words}"
        ));
    }
    if let Some(found) = entities.filter(|found| found.correct > found.gold.min(found.predicted)) {
        return Err(format!("{} of {} entities are right", found.correct, found.gold.min(found.predicted)));
    }
    Ok(())
}

fn check_file(stored: &StoredFile) -> Result<(), String> {
    let file = &stored.file;
    let mut parts = Path::new(file).components();
    let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    if plain && !file.contains(['/', '\\']) && !file.contains(char::is_control) {
        return Ok(());
    }
    Err(format!("its predictions are in {file:?}, which is not a file of the cell's folder"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_record;

    /// A record of a real cell, as the fuzz targets use it.
    const GOOD: &str = include_str!("../../../tests/fuzz/corpus/record/good.json");

    /// Reads a record with one value replaced.
    fn read_changed(pointer: &str, value: Value) -> Result<Option<Record>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut record: Value = serde_json::from_str(GOOD).expect("JSON");
        *record.pointer_mut(pointer).expect(pointer) = value;
        std::fs::write(folder.path().join("record.json"), record.to_string()).expect("written");
        let shown = |error: crate::FolderError| error.to_string();
        read_record(folder.path())
            .map_err(shown)
            .map_err(|error| error.replace(&folder.path().display().to_string(), "FOLDER"))
    }

    #[test]
    fn a_record_whose_parts_do_not_fit_is_not_readable() {
        assert!(read_changed("/error", Value::Null).expect("nothing was changed").is_some());
        let faults = [
            ("/cell/id", "08e0".into()),
            ("/cell/settings/train/batch", 0.into()),
            ("/error", "it ran out of memory".into()),
            ("/result", Value::Null),
            ("/timing", Value::Null),
            ("/result/headline", "pos".into()),
            ("/result/stages", Value::Array(Vec::new())),
            ("/result/stages/0/tasks", Value::Object(serde_json::Map::new())),
            ("/result/stages/0/selected_epoch", 7.into()),
            ("/result/stages/0/accounts/trainable", 900_000_000.into()),
            ("/result/stages/0/tasks/upos/scores/dev/unseen", 5000.into()),
            ("/result/stages/0/tasks/upos/predictions/dev/file", "../dev.tsv".into()),
            ("/result/epochs/0/stage", 0.into()),
            ("/result/baselines/upos/most-frequent/scores/dev/words", 3.into()),
            ("/result/tasks/upos/dev/forms/unknown_words", 70_000.into()),
            ("/result/steps", u64::MAX.into()),
            ("/timing/train_ms", 1e300.into()),
        ];
        let errors = faults.map(|(pointer, value)| read_changed(pointer, value).expect_err(pointer));
        insta::assert_snapshot!(errors.join("\n"));
    }
}
