//! Tracked runs, their parameters and their values.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

/// A training run as it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The unique id of the run: at least eight lower-case letters and digits. A run with the id of an earlier
    /// one continues it if the tracker supports this.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The name of the run's group: an experiment in MLflow, a project in W&B.
    pub experiment: String,
    /// The settings, by dotted path.
    pub parameters: Vec<Parameter>,
    /// When it began.
    pub started: SystemTime,
    /// Number of steps taken before, if it continues from a checkpoint.
    pub step: u64,
}

/// One setting of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The dotted path of the setting.
    pub name: String,
    /// The value of the setting.
    pub value: Value,
    /// Whether runs are compared by it: only such parameters are columns of TensorBoard's table of
    /// hyperparameters.
    pub compared: bool,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(f64),
    /// Anything else, as text.
    Text(String),
}

impl Value {
    /// Returns the value as JSON writes it; a number that JSON cannot write becomes its text.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Bool(value) => (*value).into(),
            Self::Number(value) => match serde_json::Number::from_f64(*value) {
                Some(number) => number.into(),
                None => value.to_string().into(),
            },
            Self::Text(text) => text.as_str().into(),
        }
    }

    /// Returns the value as people write it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// Values of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Optimiser steps taken so far.
    pub step: u64,
    /// When they were known.
    pub time: SystemTime,
    /// The values by name; `/` in a name makes a group. Units are the caller's, and best named there: `train/loss_nats`.
    pub values: Vec<(Cow<'static, str>, f64)>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The run finished.
    Finished,
    /// With an error.
    Failed,
    /// The run was stopped and may continue later.
    Stopped,
}

/// Returns seconds since 1970; 0 for an earlier time.
pub(crate) fn unix_seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Returns milliseconds since 1970; 0 for an earlier time.
pub(crate) fn unix_milliseconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
