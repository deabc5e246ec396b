//! What is tracked: runs, their parameters and the values they report.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

/// A training run as it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Names the run among all: lower-case letters and digits, at least eight. A run of the same id goes on with the
    /// one before where the tracker can do that.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The name for people of what it belongs to: an experiment in MLflow, a project in W&B.
    pub experiment: String,
    /// What was set, by dotted path.
    pub parameters: Vec<Parameter>,
    /// When it began.
    pub started: SystemTime,
    /// Steps that it had taken before, where it goes on from a checkpoint.
    pub step: u64,
}

/// One setting of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its dotted path.
    pub name: String,
    /// What it was set to.
    pub value: Value,
    /// Whether runs are to be compared by it: only these are columns of TensorBoard's table of hyperparameters.
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
    /// The value as JSON writes it; a number that JSON cannot write becomes its text.
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

    /// The value as people write it.
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
    /// As it should.
    Finished,
    /// With an error.
    Failed,
    /// Somebody stopped it; it may go on later.
    Stopped,
}

/// Seconds since 1970; 0 for a clock that stands before.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Milliseconds since 1970; 0 for a clock that stands before.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
