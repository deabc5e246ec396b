//! Every stage compared with the one before it in the same cells, judged by the rule of all verdicts: paired by seed and by
//! sentence.

use crate::study::cells::{CellView, SPLITS, distinct};
use crate::study::comparison::{Judging, PairsBySeed};
use crate::study::groups::CellGroup;
use crate::study::outcomes::{After, Outcomes};
use crate::study::stages::{TaskStats, score_at};

/// A task after a stage of a group, by their places.
type TaskPlace = (usize, usize, usize);

/// Judges what every stage changed of every task. The intervals of all stages and tasks of a language on a split hold
/// together. `margin` is in points.
pub(crate) fn judge_stages(groups: &mut [CellGroup], cells: &[CellView], outcomes: &Outcomes, margin: f64) {
    for split in SPLITS {
        let langs = distinct(groups.iter().map(|group| group.lang.as_str()));
        let row = |place| (place, pairs_of_stage(groups, cells, split, place));
        let table = |lang: &str| places_with_change(groups, lang, split).into_iter().map(row).collect();
        let tables = langs.into_iter().map(table).collect();
        let (verdicts, _) = Judging::new(outcomes.both(), split, margin).compare(tables);
        for ((group, stage, task), verdict) in verdicts {
            let task = &mut groups[group].stages[stage].tasks[task];
            let scored = if split == "dev" { &mut task.dev } else { &mut task.test };
            if let Some(change) = scored.as_mut().and_then(|scored| scored.change.as_mut()) {
                change.verdict = Some(verdict);
            }
        }
    }
}

/// The places with a change.
fn places_with_change(groups: &[CellGroup], lang: &str, split: &str) -> Vec<TaskPlace> {
    let mut places = Vec::new();
    for (at_group, group) in groups.iter().enumerate().filter(|(_, group)| group.lang == lang) {
        for (at_stage, stage) in group.stages.iter().enumerate() {
            let has_change = |task: &TaskStats| task.on(split).is_some_and(|scored| scored.change.is_some());
            let changed = stage.tasks.iter().enumerate().filter(|(_, task)| has_change(task));
            places.extend(changed.map(|(at_task, _)| (at_group, at_stage, at_task)));
        }
    }
    places
}

/// Every cell of the group after the stage and before it.
fn pairs_of_stage<'a>(
    groups: &[CellGroup],
    cells: &'a [CellView],
    split: &str,
    (group, stage, task): TaskPlace,
) -> PairsBySeed<'a> {
    let name = &groups[group].stages[stage].tasks[task].task;
    let pair = |view: &'a CellView| {
        let result = &view.done()?.result;
        let (task, _) = result.tasks.get_key_value(name)?;
        let after = |stage: usize| {
            score_at(result, stage, task, split)?;
            Some(After { cell: &view.cell, stage, task })
        };
        Some((view.cell.settings.seed, (after(stage)?, after(stage.checked_sub(1)?)?)))
    };
    cells.iter().filter(|view| groups[group].holds(view)).filter_map(pair).collect()
}
