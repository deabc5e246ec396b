//! Every stage compared with the one before it in the same cells, judged by the rule of all verdicts: paired by seed and by
//! sentence.

use frostline_score::SeedScatter;

use crate::study::cells::{CellView, SPLITS, distinct};
use crate::study::comparison::{Judging, PairsBySeed};
use crate::study::groups::Group;
use crate::study::outcomes::{After, Outcomes, Twins};
use crate::study::scores::ScoreKind;
use crate::study::stages::{StageChange, TaskStats, score_at};

/// A task after a stage of a group, by their places.
type TaskPlace = (usize, usize, usize);

/// Judges what every stage changed of every task. The intervals of all stages and tasks of a language on a split hold
/// together. `margin` is in points.
pub(crate) fn judge(groups: &mut [Group], cells: &[CellView], outcomes: &Outcomes, margin: f64) {
    for split in SPLITS {
        let langs = distinct(groups.iter().map(|group| group.lang.clone()));
        let places: Vec<Vec<TaskPlace>> =
            langs.iter().map(|lang| places_with_change(groups, lang, split)).collect();
        let row = |&place: &TaskPlace| pairs_of_stage(groups, cells, split, place);
        let rows: Vec<Vec<PairsBySeed<'_>>> =
            places.iter().map(|places| places.iter().map(row).collect()).collect();
        let judging = Judging {
            outcomes: outcomes.both(),
            split,
            kind: ScoreKind::Own,
            margin,
            scatter: SeedScatter::default(),
        };
        let (verdicts, _) = judging.compare(&rows);
        for ((group, stage, task), verdict) in
            places.into_iter().flatten().zip(verdicts.into_iter().flatten())
        {
            let task = &mut groups[group].stages[stage].tasks[task];
            if let Some(change) = change_of(task, split) {
                change.verdict = Some(verdict);
            }
        }
    }
}

/// What a stage changed of a task on a split.
fn change_of<'a>(task: &'a mut TaskStats, split: &str) -> Option<&'a mut StageChange> {
    let scored = if split == "dev" { task.dev.as_mut() } else { task.test.as_mut() };
    scored?.change.as_mut()
}

/// The places with a change.
fn places_with_change(groups: &mut [Group], lang: &str, split: &str) -> Vec<TaskPlace> {
    let mut places = Vec::new();
    for (at_group, group) in groups.iter_mut().enumerate().filter(|(_, group)| group.lang == lang) {
        for (at_stage, stage) in group.stages.iter_mut().enumerate() {
            for (at_task, task) in stage.tasks.iter_mut().enumerate() {
                if change_of(task, split).is_some() {
                    places.push((at_group, at_stage, at_task));
                }
            }
        }
    }
    places
}

/// Every cell of the group after the stage and before it.
fn pairs_of_stage<'a>(
    groups: &[Group],
    cells: &'a [CellView],
    split: &str,
    (group, stage, task): TaskPlace,
) -> Vec<(u64, Twins<'a>)> {
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
