//! Owns `baselines.csv`: what needs no training of the encoder, per language, seed, task and split.
//!
//! Refuses policies: a baseline belongs to the data.

use crate::Report;
use crate::baselines::first_of_seeds;
use crate::csv::{float, row};
use crate::summary::NOTHING;

/// `baselines.csv`.
pub(crate) fn baselines(report: &Report) -> String {
    let mut head: Vec<String> = ["synthetic", "lang", "seed"].map(String::from).to_vec();
    head.extend(report.axes().into_iter().map(String::from));
    head.extend(
        [
            "task",
            "baseline",
            "split",
            "accuracy",
            "study_accuracy",
            "loss_nats",
            "units",
            "correct",
            "gold_entities",
            "predicted_entities",
            "correct_entities",
            "fitted",
            "fitted_of",
            "iterations",
            "converged",
        ]
        .map(String::from),
    );
    let mut text = row(&head);
    for view in first_of_seeds(report) {
        let Some(done) = view.done() else { continue };
        let settings = &view.cell.settings;
        let mut key = vec![report.synthetic().to_string(), settings.lang.clone(), settings.seed.to_string()];
        key.extend(
            view.extras.iter().map(|value| if value == NOTHING { String::new() } else { value.clone() }),
        );
        for (task, all) in &done.result.baselines {
            for (name, baseline) in all {
                for (split, score) in &baseline.scores {
                    // Without probabilities there is no loss.
                    let loss = baseline.fit.as_ref().map_or_else(String::new, |_| float(score.loss_nats));
                    let entities = score.entities.map_or_else(
                        || vec![String::new(); 3],
                        |e| [e.gold, e.predicted, e.correct].map(|count| count.to_string()).to_vec(),
                    );
                    let fit = baseline.fit.as_ref().map_or_else(
                        || vec![String::new(); 4],
                        |fit| {
                            let counts = [fit.fitted, fit.of, fit.iterations].map(|count| count.to_string());
                            counts.into_iter().chain([fit.converged.to_string()]).collect()
                        },
                    );
                    let mut fields = key.clone();
                    fields.extend([task.clone(), name.clone(), split.clone()]);
                    fields.extend([float(score.accuracy()), float(score.study_accuracy()), loss]);
                    fields.extend([score.words.to_string(), score.correct.to_string()]);
                    fields.extend(entities);
                    fields.extend(fit);
                    text += &row(&fields);
                }
            }
        }
    }
    text
}
