//! What a record must be beyond its types, so that nothing that reads it has to doubt it.

use std::path::{Component, Path};

use crate::{Outcome, Record, Score, StoredFile};

impl Record {
    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub(crate) fn check(&self) -> Result<(), String> {
        let id = &self.cell.id;
        if id.len() != 16 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("the cell's id does not have 16 hexadecimal digits".into());
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

fn check_outcome(result: &Outcome) -> Result<(), String> {
    let Outcome { headline, tasks, stages, epochs, .. } = result;
    if !tasks.contains_key(headline) {
        return Err(format!("the headline task `{headline}` is not among its tasks"));
    }
    if stages.is_empty() {
        return Err("it has no stages".into());
    }
    for stage in stages {
        if let Some(task) = tasks.keys().find(|task| !stage.tasks.contains_key(*task)) {
            return Err(format!("the stage `{}` has no scores of the task `{task}`", stage.name));
        }
        for outcome in stage.tasks.values() {
            if !outcome.scores.contains_key("dev") {
                return Err(format!("the stage `{}` has no scores of dev", stage.name));
            }
            outcome.scores.values().try_for_each(check_score)?;
            outcome.predictions.values().try_for_each(check_file)?;
        }
    }
    for row in epochs {
        if row.stage == 0 || row.stage as usize > stages.len() {
            return Err(format!("epoch {} is of stage {}, which it does not have", row.epoch, row.stage));
        }
        check_score(&row.dev)?;
        row.others.values().try_for_each(check_score)?;
    }
    Ok(())
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
    Err(format!("its predictions lie in {file:?}, which is not a file of the cell's folder"))
}
