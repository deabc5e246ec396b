//! A run that the tests of all trackers use.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Parameter, Point, Run, Value};

/// A run that begins at second 1000, with so many steps behind it.
pub(crate) fn run(step: u64) -> Run {
    let parameter = |name: &str, value, compared| Parameter { name: name.into(), value, compared };
    Run {
        id: "0123abcd0123abcd".into(),
        name: "en first-2 s42".into(),
        experiment: "table: Łódź's".into(),
        parameters: vec![
            parameter("policy", Value::Text("first-2".into()), true),
            parameter("optimizer.lr", Value::Number(5e-5), true),
            parameter("train.shuffle", Value::Bool(true), false),
        ],
        started: UNIX_EPOCH + Duration::from_secs(1000),
        step,
    }
}

/// Returns a loss at a step, which is also its second after the run's begin.
pub(crate) fn point(step: u64, loss: f64) -> Point {
    let time = UNIX_EPOCH + Duration::from_secs(1000 + step);
    Point { step, time, values: vec![("train/loss_nats".into(), loss)] }
}

/// The run's end.
pub(crate) fn end() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1060)
}
