//! Passes what cells do to the trackers that the plan names: TensorBoard, MLflow, Weights & Biases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use frostline_record::{
    Cell, EpochRow, Event, Job, Loaded, Mlflow, Plan, Record, Score, StepEvent, TrackSettings,
};
use frostline_track::{
    Background, Ending, MlflowFolder, Parameter, Point, Run, TensorBoard, Tracker, Value, WeightsAndBiases,
};

use crate::executor::Observer;
use crate::fault::{Blame as _, CommandResult};
#[cfg(feature = "fetch")]
use crate::offline::{OFFLINE, environment_variable, is_offline};
use crate::place;

/// What runs are compared by in every study.
const COMPARED: [&str; 5] = ["encoder.name", "lang", "optimizer.lr", "policy", "seed"];

/// Checks that this program can reach the trackers, and may send them what they ask for.
pub(crate) fn check_trackers(settings: &TrackSettings) -> CommandResult<()> {
    match &settings.mlflow {
        Mlflow::Server(url) => check_server(url),
        _ => Ok(()),
    }
}

#[cfg(feature = "fetch")]
fn check_server(url: &str) -> CommandResult<()> {
    if is_offline(environment_variable)? {
        return Ok(());
    }
    frostline_track::Credentials::from_environment().check(url).blame_plan()
}

#[cfg(not(feature = "fetch"))]
pub(crate) fn check_server(url: &str) -> CommandResult<()> {
    Err(anyhow::anyhow!(
        "this program was built without the feature `fetch` and opens no connection to {url}; build it with `--features \
         fetch`, or let MLflow read files: `--track mlflow`"
    ))
    .blame_plan()
}

/// Returns the folder in a sweep's folder for values that a server did not take: a file for each cell.
pub(crate) fn unsent_folder(folder: &Path) -> PathBuf {
    folder.join("unsent")
}

/// Returns an observer that passes events on to trackers, if the plan names any. Prints how each is read.
pub(crate) fn tracking_observer(plan: &Plan, folder: &Path) -> Option<Box<dyn Observer>> {
    let trackers = make_trackers(&plan.track, folder);
    if trackers.is_empty() {
        return None;
    }
    let experiment = match plan.track.experiment.as_str() {
        "" => plan.name.to_string(),
        name => name.into(),
    };
    let compared = COMPARED.into_iter().chain(plan.axes()).map(Into::into).collect();
    let axes = plan.extra_axes().into_iter().map(Into::into).collect();
    let background = Background::start_thread(trackers, |warning| note!("warning   {warning}"));
    Some(Box::new(TrackedCells { background, experiment, compared, axes, cells: BTreeMap::new() }))
}

fn make_trackers(settings: &TrackSettings, folder: &Path) -> Vec<Box<dyn Tracker>> {
    let mut trackers: Vec<Box<dyn Tracker>> = Vec::new();
    let at = |name: &str| {
        let path = folder.join(name);
        (place::shown_path(&path), path)
    };
    if settings.tensorboard.is_on() {
        let (shown, path) = at("tensorboard");
        say!("track     `tensorboard --logdir {shown}`");
        trackers.push(Box::new(TensorBoard::new(path)));
    }
    if settings.wandb.is_on() {
        let (shown, path) = at("wandb");
        say!("track     `wandb sync {shown}/offline-run-*`");
        trackers.push(Box::new(WeightsAndBiases::new(path)));
    }
    match &settings.mlflow {
        Mlflow::Off => {}
        Mlflow::Folder => {
            let (shown, path) = at("mlruns");
            say!("track     `mlflow ui --backend-store-uri {shown}`");
            trackers.push(Box::new(MlflowFolder::new(path)));
        }
        Mlflow::Server(url) => trackers.extend(server_tracker(url, folder)),
    }
    trackers
}

/// Sends to a server. What it does not take is kept in the sweep's folder; so is everything if nothing may be sent.
#[cfg(feature = "fetch")]
fn server_tracker(url: &str, folder: &Path) -> Option<Box<dyn Tracker>> {
    use frostline_track::{Credentials, MlflowServer};
    let kept = |server: MlflowServer| {
        let command = format!("frostline sweep --send-tracked {}", place::shown_path(folder));
        server.keep_unsent_in(unsent_folder(folder), command)
    };
    let offline = |why: &str| {
        note!("warning   nothing is sent to MLflow at {url} ({why}); it is kept in the sweep's folder");
        let server = MlflowServer::new(url, Credentials::None).expect("nothing secret is sent");
        Some(Box::new(kept(server.offline())) as Box<dyn Tracker>)
    };
    match is_offline(environment_variable) {
        Ok(false) => {}
        Ok(true) => return offline(OFFLINE),
        Err(fault) => return offline(&format!("{:#}", fault.error)),
    }
    match MlflowServer::new(url, Credentials::from_environment()) {
        Ok(server) => {
            say!("track     MLflow at {url}");
            Some(Box::new(kept(server)))
        }
        Err(error) => offline(&error.to_string()),
    }
}

/// A worker of a sweep that another build has begun.
#[cfg(not(feature = "fetch"))]
fn server_tracker(url: &str, _folder: &Path) -> Option<Box<dyn Tracker>> {
    note!("warning   nothing is sent to MLflow at {url}: this program was built without the feature `fetch`");
    None
}

/// Tells the trackers of the cells that run here.
struct TrackedCells {
    background: Background,
    experiment: String,
    /// The settings that runs are compared by, as dotted paths.
    compared: BTreeSet<String>,
    /// The grid's axes that a cell's title does not tell.
    axes: Vec<String>,
    /// The cells that are running, by id.
    cells: BTreeMap<String, Followed>,
}

/// A cell that is running.
struct Followed {
    cell: Cell,
    started: SystemTime,
    /// Whether the trackers know it.
    told: bool,
    /// Optimiser steps taken so far.
    step: u64,
}

impl TrackedCells {
    /// A cell begins, with what is known of it once it is loaded.
    fn start_run(&mut self, id: &str, loaded: Option<&Loaded>) {
        let Some(followed) = self.cells.get_mut(id) else { return };
        if std::mem::replace(&mut followed.told, true) {
            return;
        }
        let cell = &followed.cell;
        let settings = cell.settings.by_path().into_iter().map(|(name, value)| Parameter {
            compared: self.compared.contains(&name),
            name,
            value: as_value(value),
        });
        let text = |name: &str, text: &str| named_parameter(name, Value::Text(text.into()));
        let count = |name: &str, count: u64| named_parameter(name, Value::Number(count as f64));
        let made = [text("backend", &cell.backend), text("cell", &cell.id), text("code", &cell.code)];
        let sizes = loaded.map(|loaded| {
            [
                count("steps", loaded.steps),
                count("parameters.total", loaded.accounts.total),
                count("parameters.trainable", loaded.accounts.trainable),
            ]
        });
        let axes = self.axes.iter().filter_map(|axis| Some(format!(" {axis}={}", cell.settings.get(axis)?)));
        followed.step = loaded.map_or(0, |loaded| loaded.resumed);
        self.background.start(Run {
            id: cell.id.clone(),
            name: format!("{}{}", cell.title(), axes.collect::<String>()),
            experiment: self.experiment.clone(),
            parameters: settings.chain(made).chain(sizes.into_iter().flatten()).collect(),
            started: followed.started,
            step: followed.step,
        });
    }

    fn log_values(&mut self, id: &str, step: u64, values: Vec<NamedValue>) {
        let Some(followed) = self.cells.get_mut(id) else { return };
        followed.step = step;
        self.background.log(id, Point { step, time: SystemTime::now(), values });
    }

    fn end_run(&mut self, id: &str, ending: Ending) {
        if self.cells.remove(id).is_some_and(|followed| followed.told) {
            self.background.end(id, ending);
        }
    }

    fn end_failed(&mut self, id: &str) {
        self.start_run(id, None);
        self.end_run(id, Ending::Failed);
    }
}

impl Observer for TrackedCells {
    fn job_started(&mut self, job: &Job, _: Option<&str>) {
        let cell = job.cell.clone();
        let followed = Followed { cell, started: SystemTime::now(), told: false, step: 0 };
        self.cells.insert(job.cell.id.clone(), followed);
    }

    fn cell_progressed(&mut self, event: &Event) {
        match event {
            Event::Loaded(loaded) => self.start_run(&loaded.id, Some(loaded)),
            Event::Step(step) => self.log_values(&step.id, step.step, of_step(step)),
            Event::Epoch { id, row } => self.log_values(id, row.step, of_epoch(row)),
            // At the end of an epoch its row has the same.
            Event::Dev { id, point } => self.log_values(id, point.step, of_dev(&point.dev, &point.others)),
            _ => {}
        }
    }

    fn cell_done(&mut self, cell: &Cell, record: Option<&Record>) {
        let test = record.and_then(|record| record.result.as_ref()?.scores().get("test"));
        if let (Some(test), Some(followed)) = (test, self.cells.get(&cell.id)) {
            self.log_values(&cell.id, followed.step, vec![("test/accuracy".into(), test.accuracy())]);
        }
        self.end_run(&cell.id, Ending::Finished);
    }

    fn cell_failed(&mut self, cell: &Cell, _: &str) {
        self.end_failed(&cell.id);
    }

    fn cell_retried(&mut self, cell: &Cell, _: &str) {
        self.end_failed(&cell.id);
    }

    fn cell_recorded_elsewhere(&mut self, cell: &Cell, _: Option<&str>) {
        self.end_run(&cell.id, Ending::Stopped);
    }

    fn cell_lost(&mut self, cell: &Cell) {
        self.end_run(&cell.id, Ending::Stopped);
    }

    fn sweep_interrupted(&mut self) {}
}

/// The cells that still run are those of a sweep that was interrupted.
impl Drop for TrackedCells {
    fn drop(&mut self) {
        let running: Vec<String> = self.cells.keys().cloned().collect();
        running.iter().for_each(|id| self.end_run(id, Ending::Stopped));
    }
}

/// A value with its name.
type NamedValue = (std::borrow::Cow<'static, str>, f64);

fn of_step(step: &StepEvent) -> Vec<NamedValue> {
    vec![
        ("train/loss_nats".into(), step.loss_nats),
        ("train/learning_rate".into(), step.lr),
        ("train/tokens_per_s".into(), step.tokens_per_s),
    ]
}

fn of_epoch(row: &EpochRow) -> Vec<NamedValue> {
    let mut all = of_dev(&row.dev, &row.others);
    all.splice(1..1, row.dev_macro_f1().map(|f1| ("dev/macro_f1".into(), f1)));
    all
}

fn of_dev(dev: &Score, others: &BTreeMap<String, Score>) -> Vec<NamedValue> {
    let accuracy =
        |(task, score): (&String, &Score)| (format!("dev/{task}/accuracy").into(), score.accuracy());
    std::iter::once(("dev/accuracy".into(), dev.accuracy())).chain(others.iter().map(accuracy)).collect()
}

fn named_parameter(name: &str, value: Value) -> Parameter {
    Parameter { name: name.into(), value, compared: false }
}

fn as_value(value: toml::Value) -> Value {
    match value {
        toml::Value::Boolean(value) => Value::Bool(value),
        toml::Value::Integer(value) => Value::Number(value as f64),
        toml::Value::Float(value) => Value::Number(value),
        toml::Value::String(text) => Value::Text(text),
        other => Value::Text(other.to_string()),
    }
}
