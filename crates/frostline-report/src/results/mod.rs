//! `results.csv` and `results.parquet`: one row per cell, epoch and task, for pandas and R. docs/records.md explains each
//! column; a test compares the two lists.

mod axes;
mod rows;

use frostline_record::{Score, Timing};

use crate::study::epochs::labels_sentences;
use crate::study::{CellResult, CellView, Study};
use crate::table::{Quantity, Table, TableColumns};

use Quantity::{Count, Exact, Text, Truth};
use rows::{ResultRow, TaskOfCell};

/// Studies as one table, each with its name.
pub(crate) fn build_table(studies: &[(&str, &Study)]) -> Table {
    let rows = studies.iter().flat_map(|&(name, study)| {
        study.cells.iter().flat_map(move |view| rows::rows_of_cell(name, study.synthetic(), view))
    });
    let rows: Vec<ResultRow<'_>> = rows.collect();
    let studies: Vec<&Study> = studies.iter().map(|(_, study)| *study).collect();
    let fields = TableColumns::default()
        .column("synthetic", Truth, |row: &ResultRow<'_>| Some(row.synthetic))
        .column("sweep", Text, |row| Some(row.sweep));
    let fields = fields
        .and(cell_columns())
        .and(axes::axis_columns(&studies))
        .and(epoch_columns())
        .and(of_split("dev"))
        .and(of_split("test"));
    fields.and(whole_cell()).and(maker_columns()).table(rows)
}

/// The identity of a cell, without the further axes.
fn cell_columns<'a>() -> TableColumns<'a, ResultRow<'a>> {
    TableColumns::default()
        .column("cell_id", Text, |row: &ResultRow<'a>| Some(row.view.cell.id.as_str()))
        .column("status", Text, |row| Some(row.view.state.name()))
        .column("language", Text, |row| Some(row.view.cell.settings.lang.to_string()))
        .column("policy", Text, |row| Some(row.view.cell.settings.policy.as_str()))
        .column("seed", Count, |row| Some(row.view.cell.settings.seed))
        .column("encoder", Text, |row| Some(row.view.cell.settings.encoder.name.to_string()))
}

/// An epoch of a task.
fn epoch_columns<'a>() -> TableColumns<'a, ResultRow<'a>> {
    let dev = |row: &ResultRow<'a>| Some(row.epoch?.score);
    TableColumns::default()
        .column("stage", Text, |row: &ResultRow<'a>| Some(row.epoch?.stage.name.as_str()))
        .column("stage_number", Count, |row| Some(row.epoch?.row.stage))
        .column("stage_policy", Text, |row| Some(row.epoch?.stage.policy.as_str()))
        .column("task", Text, |row| Some(row.reached?.task))
        .column("task_is_headline", Truth, |row| row.reached.map(|reached| reached.is_headline()))
        .column("unit", Text, |row| row.reached?.unit())
        .column("epoch", Count, |row| Some(row.epoch?.row.epoch))
        .column("step", Count, |row| Some(row.epoch?.row.step))
        .column("stage_selected", Truth, |row| Some(row.epoch?.row.epoch == row.epoch?.stage.selected_epoch))
        .column("selected", Truth, |row| {
            Some(row.epoch?.row.epoch == row.reached?.done.result.last().selected_epoch)
        })
        .column("train_loss_nats", Exact, |row| Some(row.epoch?.row.train_loss_nats))
        .column("dev_loss_nats", Exact, move |row| Some(dev(row)?.loss_nats))
        .column("dev_accuracy", Exact, move |row| Some(dev(row)?.accuracy()))
        .column("dev_study_accuracy", Exact, move |row| Some(dev(row)?.study_accuracy()))
        .column("dev_macro_f1", Exact, |row| row.epoch?.row.dev_macro_f1().filter(|_| row.is_headline()))
        .column("dev_entity_f1", Exact, move |row| Some(dev(row)?.entities?.f1()))
        .column("dev_positive_f1", Exact, |row| {
            let labels_sentences = labels_sentences(row.reached?.done);
            row.epoch?.row.dev_positive_f1().filter(|_| row.is_headline() && labels_sentences)
        })
        .column("dev_correct", Count, move |row| Some(dev(row)?.correct))
        .column("dev_total", Count, move |row| Some(dev(row)?.words))
        .column("epoch_train_s", Exact, |row| Some(row.epoch?.time?.train_ms / 1e3))
        .column("epoch_eval_s", Exact, |row| Some(row.epoch?.time?.eval_ms / 1e3))
        .column("trainable_parameters", Count, |row| Some(row.epoch?.row.trainable))
        .column("total_parameters", Count, |row| Some(row.epoch?.stage.accounts.total))
}

/// A task's scores on a split at the end of the cell.
fn of_split<'a>(split: &'static str) -> TableColumns<'a, ResultRow<'a>> {
    let score = move |row: &ResultRow<'a>| -> Option<&'a Score> { row.reached?.score(split) };
    let name = |what: &str| format!("final_{split}_{what}");
    TableColumns::default()
        .column(name("accuracy"), Exact, move |row| Some(score(row)?.accuracy()))
        .column(name("study_accuracy"), Exact, move |row| Some(score(row)?.study_accuracy()))
        .column(name("entity_f1"), Exact, move |row| Some(score(row)?.entities?.f1()))
        .column(name("loss_nats"), Exact, move |row| Some(score(row)?.loss_nats))
        .column(name("correct"), Count, move |row| Some(score(row)?.correct))
        .column(name("total"), Count, move |row| Some(score(row)?.words))
        .column(name("sentences"), Count, move |row| Some(score(row)?.sentences))
        .column(name("truncated"), Count, move |row| Some(score(row)?.truncated))
        .column(name("vanished"), Count, move |row| Some(score(row)?.vanished))
        .column(name("unseen"), Count, move |row| Some(score(row)?.unseen))
}

/// Times and costs of the whole cell, the same in all of its rows.
fn whole_cell<'a>() -> TableColumns<'a, ResultRow<'a>> {
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
    TableColumns::default()
        .column("cell_steps", Count, |row: &ResultRow<'a>| Some(row.reached?.done.result.steps))
        .column("cell_load_s", Exact, time(|time| time.load_ms / 1e3))
        .column("cell_train_s", Exact, time(|time| time.train_ms / 1e3))
        .column("cell_eval_s", Exact, time(|time| time.eval_ms / 1e3))
        .column("cell_total_s", Exact, time(|time| time.total_ms / 1e3))
        .column("cell_step_median_ms", Exact, time(|time| time.step_ms_median))
        .column("cell_tokens_per_s", Exact, time(|time| time.tokens_per_s))
        .column("cell_sentences_per_s", Exact, time(|time| time.samples_per_s))
        .column("cell_steps_per_s", Exact, time(|time| time.steps_per_s))
        .column("cell_peak_memory_mib", Exact, peak)
        .column("cell_load_before", Exact, move |row| load(row)?.before)
        .column("cell_load_stolen_share", Exact, move |row| load(row)?.stolen)
        .column("cell_load_others_share", Exact, move |row| load(row)?.others)
        .column("cell_processor_mhz", Exact, move |row| load(row)?.mhz)
        .column("cell_machine_busy", Truth, move |row| Some(load(row)?.is_busy()))
        .column("cell_gflop_per_step", Exact, move |row| Some(cost(row)?.gflop_per_step))
        .column("cell_predicted_speedup", Exact, move |row| Some(cost(row)?.predicted_speedup))
        .column("cell_predicted_speedup_cached", Exact, move |row| Some(cost(row)?.predicted_speedup_cached))
        .column("cell_predicted_step_ms", Exact, |row| row.reached?.done.timing.as_ref()?.predicted_step_ms)
        .column("cell_prefix_state", Text, move |row| Some(prefix(row)?.state.name()))
        .column("cell_prefix_blocks", Count, move |row| Some(prefix(row)?.blocks))
        .column("cell_prefix_s", Exact, move |row| Some(prefix(row)?.fill_ms / 1e3))
        .column("cell_learned_sentences", Count, move |row| Some(train(row)?.sentences))
        .column("cell_learned_words", Count, move |row| Some(train(row)?.words))
        .column("cell_learned_subwords", Count, move |row| Some(train(row)?.subwords))
        .column("cell_stopped_early_after_epoch", Count, |row| {
            row.reached?.done.result.stages.iter().filter_map(|stage| stage.stopped_early).next_back()
        })
        .column("cell_learning_rate", Exact, |row| Some(row.view.cell.settings.optimizer.lr))
        .column("cell_error", Text, |row| match &row.view.state {
            CellResult::Failed { error, .. } => Some(error.as_str()),
            _ => None,
        })
}

/// The program and machine that made the record.
fn maker_columns<'a>() -> TableColumns<'a, ResultRow<'a>> {
    let view = |row: &ResultRow<'a>| -> &'a CellView { row.view };
    TableColumns::default()
        .column("backend", Text, move |row| Some(view(row).made_by()?.backend.as_str()))
        .column("device", Text, move |row| Some(view(row).made_by()?.device.as_str()))
        .column("instruction_set", Text, move |row| Some(view(row).made_by()?.isa.as_str()))
        .column("threads", Count, move |row| Some(view(row).made_by()?.threads))
        .column("node", Text, move |row| {
            Some(view(row).made_by()?.node.as_str()).filter(|node| !node.is_empty())
        })
        .column("precision", Text, move |row| Some(view(row).computed_in()?.name()))
        .column("code", Text, move |row| Some(view(row).made_by()?.code.as_str()))
        .column("revision", Text, move |row| {
            Some(view(row).made_by()?.revision.as_str()).filter(|it| !it.is_empty())
        })
        .column("frostline_version", Text, move |row| Some(view(row).made_by()?.version.as_str()))
}

impl ResultRow<'_> {
    fn is_headline(&self) -> bool {
        self.reached.is_some_and(TaskOfCell::is_headline)
    }
}
