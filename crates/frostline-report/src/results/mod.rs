//! `results.csv` and `results.parquet`: one row per cell, epoch and task, for pandas and R. docs/records.md explains each
//! column; a test compares the two lists.

mod axes;
mod rows;

use frostline_record::{Score, Timing};

use crate::sheet::{Fields, Sheet};
use crate::study::epochs::labels_sentences;
use crate::study::{CellView, State, Study};

use rows::{Reached, ResultRow};

/// Studies as one sheet, each with its name.
pub(crate) fn sheet(studies: &[(&str, &Study)]) -> Sheet {
    let rows = studies.iter().flat_map(|&(name, study)| {
        study.cells.iter().flat_map(move |view| rows::of(name, study.synthetic(), view))
    });
    let rows: Vec<ResultRow<'_>> = rows.collect();
    let studies: Vec<&Study> = studies.iter().map(|(_, study)| *study).collect();
    let fields = Fields::new()
        .truth("synthetic", |row: &ResultRow<'_>| Some(row.synthetic))
        .text("sweep", |row| Some(row.sweep));
    let fields = fields
        .and(cell())
        .and(axes::fields(&studies))
        .and(epoch())
        .and(of_split("dev"))
        .and(of_split("test"));
    fields.and(whole_cell()).and(maker()).sheet(&rows)
}

/// What tells a cell from others, besides the further axes.
fn cell<'a>() -> Fields<'a, ResultRow<'a>> {
    Fields::new()
        .text("cell_id", |row: &ResultRow<'a>| Some(row.view.cell.id.as_str()))
        .text("status", |row| Some(row.view.state.name()))
        .text("language", |row| Some(row.view.cell.settings.lang.to_string()))
        .text("policy", |row| Some(row.view.cell.settings.policy.as_str()))
        .whole("seed", |row| Some(row.view.cell.settings.seed))
        .text("encoder", |row| Some(row.view.cell.settings.encoder.name.to_string()))
}

/// An epoch of a task.
fn epoch<'a>() -> Fields<'a, ResultRow<'a>> {
    let dev = |row: &ResultRow<'a>| Some(row.epoch?.score);
    Fields::new()
        .text("stage", |row: &ResultRow<'a>| Some(row.epoch?.stage.name.as_str()))
        .whole("stage_number", |row| Some(row.epoch?.row.stage))
        .text("stage_policy", |row| Some(row.epoch?.stage.policy.as_str()))
        .text("task", |row| Some(row.reached?.task))
        .truth("task_is_headline", |row| row.reached.map(|reached| reached.is_headline()))
        .text("unit", |row| row.reached?.unit())
        .whole("epoch", |row| Some(row.epoch?.row.epoch))
        .whole("step", |row| Some(row.epoch?.row.step))
        .truth("stage_selected", |row| Some(row.epoch?.row.epoch == row.epoch?.stage.selected_epoch))
        .truth("selected", |row| Some(row.epoch?.row.epoch == row.reached?.done.result.last().selected_epoch))
        .real("train_loss_nats", |row| Some(row.epoch?.row.train_loss_nats))
        .real("dev_loss_nats", move |row| Some(dev(row)?.loss_nats))
        .real("dev_accuracy", move |row| Some(dev(row)?.accuracy()))
        .real("dev_study_accuracy", move |row| Some(dev(row)?.study_accuracy()))
        .real("dev_macro_f1", |row| row.epoch?.row.dev_macro_f1().filter(|_| row.is_headline()))
        .real("dev_entity_f1", move |row| Some(dev(row)?.entities?.f1()))
        .real("dev_positive_f1", |row| {
            let labels_sentences = labels_sentences(row.reached?.done);
            row.epoch?.row.dev_positive_f1().filter(|_| row.is_headline() && labels_sentences)
        })
        .whole("dev_correct", move |row| Some(dev(row)?.correct))
        .whole("dev_total", move |row| Some(dev(row)?.words))
        .real("epoch_train_s", |row| Some(row.epoch?.time?.train_ms / 1e3))
        .real("epoch_eval_s", |row| Some(row.epoch?.time?.eval_ms / 1e3))
        .whole("trainable_parameters", |row| Some(row.epoch?.row.trainable))
        .whole("total_parameters", |row| Some(row.epoch?.stage.accounts.total))
}

/// A task's scores on a split at the end of the cell.
fn of_split<'a>(split: &'static str) -> Fields<'a, ResultRow<'a>> {
    let score = move |row: &ResultRow<'a>| -> Option<&'a Score> { row.reached?.score(split) };
    let name = |what: &str| format!("final_{split}_{what}");
    Fields::new()
        .real(&name("accuracy"), move |row| Some(score(row)?.accuracy()))
        .real(&name("study_accuracy"), move |row| Some(score(row)?.study_accuracy()))
        .real(&name("entity_f1"), move |row| Some(score(row)?.entities?.f1()))
        .real(&name("loss_nats"), move |row| Some(score(row)?.loss_nats))
        .whole(&name("correct"), move |row| Some(score(row)?.correct))
        .whole(&name("total"), move |row| Some(score(row)?.words))
        .whole(&name("sentences"), move |row| Some(score(row)?.sentences))
        .whole(&name("truncated"), move |row| Some(score(row)?.truncated))
        .whole(&name("vanished"), move |row| Some(score(row)?.vanished))
        .whole(&name("unseen"), move |row| Some(score(row)?.unseen))
}

/// Times and costs of the whole cell, the same in all of its rows.
fn whole_cell<'a>() -> Fields<'a, ResultRow<'a>> {
    let time =
        |get: fn(&Timing) -> f64| move |row: &ResultRow<'a>| row.reached?.done.timing.as_ref().map(get);
    // The memory of a worker whose steps are on a GPU is not the memory of its steps.
    let peak = move |row: &ResultRow<'a>| {
        let on_gpu = row.reached?.done.made_by.on_gpu();
        time(|time| time.peak_rss_mib)(row).filter(|&mib| mib > 0.0 && !on_gpu)
    };
    let load = |row: &ResultRow<'a>| row.reached?.done.timing.as_ref()?.load;
    let cost = |row: &ResultRow<'a>| row.reached.map(|reached| &reached.done.result.cost);
    let prefix = |row: &ResultRow<'a>| row.reached?.done.timing.as_ref().map(|time| time.prefix);
    let train = |row: &ResultRow<'a>| row.reached.map(|reached| &reached.done.result.facts().train);
    Fields::new()
        .whole("cell_steps", |row: &ResultRow<'a>| Some(row.reached?.done.result.steps))
        .real("cell_load_s", time(|time| time.load_ms / 1e3))
        .real("cell_train_s", time(|time| time.train_ms / 1e3))
        .real("cell_eval_s", time(|time| time.eval_ms / 1e3))
        .real("cell_total_s", time(|time| time.total_ms / 1e3))
        .real("cell_step_median_ms", time(|time| time.step_ms_median))
        .real("cell_tokens_per_s", time(|time| time.tokens_per_s))
        .real("cell_sentences_per_s", time(|time| time.samples_per_s))
        .real("cell_steps_per_s", time(|time| time.steps_per_s))
        .real("cell_peak_memory_mib", peak)
        .real("cell_load_before", move |row| load(row)?.before)
        .real("cell_load_stolen_share", move |row| load(row)?.stolen)
        .real("cell_load_others_share", move |row| load(row)?.others)
        .real("cell_processor_mhz", move |row| load(row)?.mhz)
        .truth("cell_machine_busy", move |row| Some(load(row)?.is_busy()))
        .real("cell_gflop_per_step", move |row| Some(cost(row)?.gflop_per_step))
        .real("cell_predicted_speedup", move |row| Some(cost(row)?.predicted_speedup))
        .real("cell_predicted_speedup_cached", move |row| Some(cost(row)?.predicted_speedup_cached))
        .real("cell_predicted_step_ms", |row| row.reached?.done.timing.as_ref()?.predicted_step_ms)
        .text("cell_prefix_state", move |row| Some(prefix(row)?.state.name()))
        .whole("cell_prefix_blocks", move |row| Some(prefix(row)?.blocks))
        .real("cell_prefix_s", move |row| Some(prefix(row)?.fill_ms / 1e3))
        .whole("cell_learned_sentences", move |row| Some(train(row)?.sentences))
        .whole("cell_learned_words", move |row| Some(train(row)?.words))
        .whole("cell_learned_subwords", move |row| Some(train(row)?.subwords))
        .whole("cell_stopped_early_after_epoch", |row| {
            row.reached?.done.result.stages.iter().filter_map(|stage| stage.stopped_early).next_back()
        })
        .real("cell_learning_rate", |row| Some(row.view.cell.settings.optimizer.lr))
        .text("cell_error", |row| match &row.view.state {
            State::Failed { error, .. } => Some(error.as_str()),
            _ => None,
        })
}

/// Who made the record, on what.
fn maker<'a>() -> Fields<'a, ResultRow<'a>> {
    let view = |row: &ResultRow<'a>| -> &'a CellView { row.view };
    Fields::new()
        .text("backend", move |row| Some(view(row).made_by()?.backend.as_str()))
        .text("device", move |row| Some(view(row).made_by()?.device.as_str()))
        .text("instruction_set", move |row| Some(view(row).made_by()?.isa.as_str()))
        .whole("threads", move |row| Some(view(row).made_by()?.threads))
        .text("node", move |row| Some(view(row).made_by()?.node.as_str()).filter(|node| !node.is_empty()))
        .text("precision", move |row| Some(view(row).computed_in()?.name()))
        .text("code", move |row| Some(view(row).made_by()?.code.as_str()))
        .text("revision", move |row| Some(view(row).made_by()?.revision.as_str()).filter(|it| !it.is_empty()))
        .text("frostline_version", move |row| Some(view(row).made_by()?.version.as_str()))
}

impl ResultRow<'_> {
    fn is_headline(&self) -> bool {
        self.reached.is_some_and(Reached::is_headline)
    }
}
