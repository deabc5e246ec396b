//! `compare_checkpoints`: the comparison of `frostline audit`, for `python/frostline/_audit.py`; `tensor_shapes` for `_params.py`.

use std::path::PathBuf;

use frostline_checkpoint::{Checkpoint, CheckpointError, ComparedSide, FreezeRule, Weights as _, compare};
use frostline_freeze::Policy;
use pyo3::prelude::*;

use crate::errors::{raise_text, split_advice};

/// The comparison of two checkpoints as JSON and as the table that the program prints. Python code may run meanwhile.
#[pyfunction]
#[pyo3(signature = (before, after, policy = None, frozen = Vec::new()))]
pub fn compare_checkpoints(
    py: Python<'_>,
    before: PathBuf,
    after: PathBuf,
    policy: Option<&str>,
    frozen: Vec<String>,
) -> PyResult<(String, String)> {
    let rule = match policy.map(Policy::parse).transpose() {
        Ok(Some(policy)) => FreezeRule::Policy(policy),
        Ok(None) if frozen.is_empty() => FreezeRule::Nothing,
        Ok(None) => FreezeRule::Patterns(frozen),
        Err(error) => return Err(raise_text(py, "PolicyError", None, &error.to_string())),
    };
    let found = py.detach(|| {
        let (before, after) = (Checkpoint::open(&before)?, Checkpoint::open(&after)?);
        compare(ComparedSide::from(&before), ComparedSide::from(&after), &rule)
    });
    let found = found.map_err(|error| raise_checkpoint(py, &error))?;
    let json = serde_json::to_string(&found).map_err(|error| {
        raise_text(py, "FrostlineError", None, &format!("the comparison cannot be written: {error}"))
    })?;
    Ok((json, found.to_string()))
}

/// The shape of every tensor of a checkpoint, from its headers alone.
#[pyfunction]
pub fn tensor_shapes(py: Python<'_>, path: PathBuf) -> PyResult<Vec<(String, Vec<u64>)>> {
    let checkpoint = py.detach(|| Checkpoint::open(&path)).map_err(|error| raise_checkpoint(py, &error))?;
    let tensors = checkpoint.tensors().iter();
    Ok(tensors.map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect())
}

/// An error about a file is one of data; an error about a rule, whose place is an option of the program, one of a policy.
pub fn raise_checkpoint(py: Python<'_>, error: &CheckpointError) -> PyErr {
    if error.place.starts_with("--") {
        let reason = error.reason.replace("--frozen PATTERN", "`frozen`");
        return raise_text(py, "PolicyError", None, &reason);
    }
    let (message, advice) = split_advice(&error.reason);
    crate::errors::raise(
        py,
        "DataError",
        (message.into(), advice.into(), Some(error.place.clone()), None, None),
    )
}
