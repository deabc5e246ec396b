//! Owns the CSV files of cells that have more to tell than one score: per stage, and per stage,
//! task and split.
//!
//! Refuses means over seeds: one row is one cell's.

use frostline_record::{Score, TaskOutcome};

use crate::Report;
use crate::csv::{float, key, key_head, row};
use crate::sentences::SPLITS;
use crate::stages::{Metric, learns, value};

/// `stages.csv`: every stage of every cell that is done.
pub(crate) fn stages(report: &Report) -> String {
    let mut head = key_head(report);
    head.extend(
        [
            "number",
            "stage",
            "stage_policy",
            "total_parameters",
            "trainable_parameters",
            "epochs",
            "steps",
            "selected_epoch",
            "dev_score",
            "test_score",
        ]
        .map(String::from),
    );
    let mut text = row(&head);
    for view in &report.cells {
        let Some(done) = view.done() else { continue };
        for (at, stage) in done.result.stages.iter().enumerate() {
            let epochs = done.result.epochs.iter().filter(|epoch| epoch.stage as usize == at + 1).count();
            let score = |split: &str| {
                let score = stage.tasks.get(&done.result.headline)?.scores.get(split)?;
                Some(float(value(score)))
            };
            let mut fields = key(report, view);
            fields.extend([
                (at + 1).to_string(),
                stage.name.clone(),
                stage.policy.clone(),
                stage.accounts.total.to_string(),
                stage.accounts.trainable.to_string(),
                epochs.to_string(),
                stage.steps.to_string(),
                stage.selected_epoch.to_string(),
                score("dev").unwrap_or_default(),
                score("test").unwrap_or_default(),
            ]);
            text += &row(&fields);
        }
    }
    text
}

/// `tasks.csv`: every scored split of every task after every stage of every cell that is done.
pub(crate) fn tasks(report: &Report) -> String {
    let mut head = key_head(report);
    head.extend(
        [
            "number",
            "stage",
            "task",
            "unit",
            "learned",
            "split",
            "metric",
            "score",
            "accuracy",
            "loss_nats",
            "sentences",
            "units",
            "correct",
            "truncated",
            "vanished",
            "unseen",
            "gold_entities",
            "predicted_entities",
            "correct_entities",
            "predictions_sha256",
        ]
        .map(String::from),
    );
    let mut text = row(&head);
    for view in &report.cells {
        let Some(done) = view.done() else { continue };
        let settings = view.cell.settings.in_stages().unwrap_or_default();
        for (at, stage) in done.result.stages.iter().enumerate() {
            for (task, found) in &stage.tasks {
                let learned = settings.get(at).is_some_and(|(_, settings)| learns(settings, task));
                let unit = done.result.tasks.get(task).map(|facts| serde_json::json!(facts.unit));
                for split in SPLITS {
                    let Some(score) = found.scores.get(split) else { continue };
                    let mut fields = key(report, view);
                    fields.extend([
                        (at + 1).to_string(),
                        stage.name.clone(),
                        task.clone(),
                        unit.as_ref().and_then(|unit| unit.as_str()).unwrap_or_default().into(),
                        learned.to_string(),
                        split.into(),
                    ]);
                    fields.extend(counts(score, found, split));
                    text += &row(&fields);
                }
            }
        }
    }
    text
}

fn counts(score: &Score, found: &TaskOutcome, split: &str) -> Vec<String> {
    let entities = score.entities.map_or_else(
        || vec![String::new(); 3],
        |entities| {
            [entities.gold, entities.predicted, entities.correct].map(|count| count.to_string()).to_vec()
        },
    );
    let mut fields = vec![
        Metric::of(score).name().replace(' ', "_").to_lowercase(),
        float(value(score)),
        float(score.accuracy()),
        float(score.loss_nats),
        score.sentences.to_string(),
        score.words.to_string(),
        score.correct.to_string(),
        score.truncated.to_string(),
        score.vanished.to_string(),
        score.unseen.to_string(),
    ];
    fields.extend(entities);
    fields.push(found.predictions.get(split).map_or_else(String::new, |file| file.sha256.clone()));
    fields
}
