//! Owns the CSV files: one row per cell, per epoch, and per point of the train-loss curve.
//!
//! Refuses rounding and grouping of digits: these files are for programs. Accuracies are in
//! [0, 1]; an empty field means that there is no such number.

mod baselines;
mod blocks;
mod errors;
mod stages;

use frostline_record::{Precision, Timing};

use crate::Report;
use crate::epoch::thaws;
use crate::paired::measured_speedup;
use crate::summary::{CellView, NOTHING, State};

pub(crate) use baselines::baselines;
pub(crate) use blocks::blocks;
pub(crate) use errors::{confusions, differences, strata, tags};
pub(crate) use stages::{stages, tasks};

const CELL: [&str; 6] = ["synthetic", "cell", "status", "lang", "policy", "seed"];

/// `cells.csv`: every planned cell, done or not.
pub(crate) fn cells(report: &Report) -> String {
    let mut head = key_head(report);
    head.extend(
        [
            "dev_accuracy",
            "dev_study_accuracy",
            "dev_loss_nats",
            "dev_words",
            "dev_correct",
            "dev_truncated",
            "dev_vanished",
            "dev_unseen",
            "test_accuracy",
            "test_study_accuracy",
            "test_loss_nats",
            "test_words",
            "selected_epoch",
            "steps",
            "train_sentences",
            "train_words",
            "train_subwords",
            "total_parameters",
            "trainable_parameters",
            "gflop_per_step",
            "predicted_speedup",
            "predicted_speedup_cached",
            "measured_speedup",
            "load_ms",
            "train_ms",
            "eval_ms",
            "total_ms",
            "step_ms_median",
            "samples_per_s",
            "steps_per_s",
            "tokens_per_s",
            "peak_rss_mib",
            "prefix_state",
            "prefix_blocks",
            "prefix_fill_ms",
            "version",
            "revision",
            "code",
            "backend",
            "device",
            "isa",
            "computed_in",
            "threads",
            "error",
        ]
        .map(String::from),
    );
    let mut text = row(&head);
    for view in &report.cells {
        let mut fields = key(report, view);
        fields.extend(results(view));
        fields.push(measured_speedup(view, &report.cells).map_or_else(String::new, float));
        fields.extend(timing(view));
        fields.extend(made_by(view));
        fields.push(match &view.state {
            State::Failed { error, .. } => error.clone(),
            _ => String::new(),
        });
        debug_assert_eq!(fields.len(), head.len());
        text += &row(&fields);
    }
    text
}

/// `epochs.csv`: every epoch of every cell that is done.
pub(crate) fn epochs(report: &Report) -> String {
    let mut head = key_head(report);
    head.extend(
        [
            "epoch",
            "step",
            "selected",
            "train_loss_nats",
            "dev_loss_nats",
            "dev_accuracy",
            "dev_study_accuracy",
            "train_ms",
            "eval_ms",
        ]
        .map(String::from),
    );
    let changing = report.is_staged() || report.cells.iter().filter_map(CellView::done).any(thaws);
    if changing {
        head.extend(["stage", "trainable_parameters"].map(String::from));
    }
    let mut text = row(&head);
    for view in &report.cells {
        let Some(done) = view.done() else { continue };
        for (i, epoch) in done.result.epochs.iter().enumerate() {
            let time = done.timing.as_ref().and_then(|t| t.epochs.get(i));
            let mut fields = key(report, view);
            fields.extend([
                epoch.epoch.to_string(),
                epoch.step.to_string(),
                (epoch.epoch == done.result.last().selected_epoch).to_string(),
                float(epoch.train_loss_nats),
                float(epoch.dev.loss_nats),
                float(epoch.dev.accuracy()),
                float(epoch.dev.study_accuracy()),
                time.map_or_else(String::new, |time| float(time.train_ms)),
                time.map_or_else(String::new, |time| float(time.eval_ms)),
            ]);
            if changing {
                let stage = done.result.stages.get((epoch.stage as usize).wrapping_sub(1));
                fields.push(stage.map_or_else(String::new, |stage| stage.name.clone()));
                fields.push(epoch.trainable.to_string());
            }
            text += &row(&fields);
        }
    }
    text
}

/// `train_loss.csv`: every point of the train-loss curve of every cell that is done.
pub(crate) fn train_loss(report: &Report) -> String {
    let mut head = key_head(report);
    head.extend(["step", "loss_nats", "lr"].map(String::from));
    let mut text = row(&head);
    for view in &report.cells {
        let Some(done) = view.done() else { continue };
        for point in &done.result.train_loss {
            let mut fields = key(report, view);
            fields.extend([point.step.to_string(), float(point.loss_nats), float(point.lr)]);
            text += &row(&fields);
        }
    }
    text
}

pub(crate) fn key_head(report: &Report) -> Vec<String> {
    let axes = report.axes();
    CELL.iter().chain(&axes).map(|&name| name.into()).collect()
}

pub(crate) fn key(report: &Report, view: &CellView) -> Vec<String> {
    let settings = &view.cell.settings;
    let mut fields = vec![
        report.synthetic().to_string(),
        view.cell.id.clone(),
        view.state.name().into(),
        settings.lang.clone(),
        settings.policy.to_string(),
        settings.seed.to_string(),
    ];
    let raw = |value: &String| if value == NOTHING { String::new() } else { value.clone() };
    fields.extend(view.extras.iter().map(raw));
    fields
}

fn results(view: &CellView) -> Vec<String> {
    let Some(done) = view.done() else {
        return vec![String::new(); 22];
    };
    let mut fields = Vec::new();
    match done.score("dev") {
        Some(dev) => fields.extend([
            float(dev.accuracy()),
            float(dev.study_accuracy()),
            float(dev.loss_nats),
            dev.words.to_string(),
            dev.correct.to_string(),
            dev.truncated.to_string(),
            dev.vanished.to_string(),
            dev.unseen.to_string(),
        ]),
        None => fields.extend(vec![String::new(); 8]),
    }
    match done.score("test") {
        Some(test) => fields.extend([
            float(test.accuracy()),
            float(test.study_accuracy()),
            float(test.loss_nats),
            test.words.to_string(),
        ]),
        None => fields.extend(vec![String::new(); 4]),
    }
    let result = &done.result;
    fields.extend([
        result.last().selected_epoch.to_string(),
        result.steps.to_string(),
        result.facts().train.sentences.to_string(),
        result.facts().train.words.to_string(),
        result.facts().train.subwords.to_string(),
        result.accounts().total.to_string(),
        result.accounts().trainable.to_string(),
        float(result.cost.gflop_per_step),
        float(result.cost.predicted_speedup),
        float(result.cost.predicted_speedup_cached),
    ]);
    fields
}

fn timing(view: &CellView) -> Vec<String> {
    let gets: [fn(&Timing) -> f64; 9] = [
        |t| t.load_ms,
        |t| t.train_ms,
        |t| t.eval_ms,
        |t| t.total_ms,
        |t| t.step_ms_median,
        |t| t.samples_per_s,
        |t| t.steps_per_s,
        |t| t.tokens_per_s,
        |t| t.peak_rss_mib,
    ];
    let timing = view.done().and_then(|done| done.timing.as_ref());
    let mut fields: Vec<String> =
        gets.iter().map(|get| timing.map_or_else(String::new, |timing| float(get(timing)))).collect();
    match timing.map(|timing| timing.prefix) {
        Some(used) => fields.extend([used.state.name().into(), used.blocks.to_string(), float(used.fill_ms)]),
        None => fields.extend(vec![String::new(); 3]),
    }
    fields
}

fn made_by(view: &CellView) -> Vec<String> {
    match view.made_by() {
        Some(by) => vec![
            by.version.clone(),
            by.revision.clone(),
            by.code.clone(),
            by.backend.clone(),
            by.device.clone(),
            by.isa.clone(),
            view.computed_in().map_or("", Precision::name).into(),
            by.threads.to_string(),
        ],
        None => vec![String::new(); 8],
    }
}

/// The shortest decimal that reads back as the same number; empty where there is none.
pub(crate) fn float(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// One line, quoted as RFC 4180 says.
pub(crate) fn row(fields: &[String]) -> String {
    let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    format!("{}\n", quoted.join(","))
}

fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_need_quotes_get_them() {
        let fields = ["a", "b,c", "say \"no\"", "two\nlines"].map(String::from);
        assert_eq!(row(&fields), "a,\"b,c\",\"say \"\"no\"\"\",\"two\nlines\"\n");
        assert_eq!((float(0.1), float(f64::NAN)), ("0.1".into(), String::new()));
    }
}
