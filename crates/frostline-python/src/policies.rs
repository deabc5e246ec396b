//! `Policy`: what a policy's name means for an encoder of known depth, and `ModelParts`: what it means for the parameters of a
//! model; for the part of the package that is written in Python.

use std::collections::{BTreeMap, BTreeSet};

use frostline_checkpoint::ModelParts;
use frostline_freeze::{FreezeSchedule, Group, ResolvedPolicy, Timeline};
use pyo3::prelude::*;

use crate::checkpoints::raise_checkpoint;
use crate::errors::raise_text;

/// A policy such as "first-4+embeddings", applied to an encoder.
#[pyclass(frozen, module = "frostline")]
pub struct Policy {
    inner: ResolvedPolicy,
    depth: usize,
    heads: Vec<String>,
}

fn resolve(py: Python<'_>, name: &str, depth: usize, heads: &[String]) -> PyResult<ResolvedPolicy> {
    let names: Vec<&str> = heads.iter().map(String::as_str).collect();
    let made = frostline_freeze::Policy::parse(name).and_then(|policy| policy.resolve(depth, &names));
    made.map_err(|error| raise_text(py, "PolicyError", None, &error.to_string()))
}

fn group_names(policy: &ResolvedPolicy, depth: usize, frozen: bool) -> Vec<String> {
    let blocks = (0..depth).map(Group::Block);
    let all = [Group::Embeddings].into_iter().chain(blocks).chain([Group::Final]);
    all.filter(|group| policy.freezes_group(*group) == frozen).map(|group| group.to_string()).collect()
}

#[pymethods]
impl Policy {
    /// Applies the policy to an encoder of `depth` blocks below heads of these names.
    #[new]
    #[pyo3(signature = (name, depth, heads = vec!["head".to_owned()]))]
    fn new(py: Python<'_>, name: &str, depth: usize, heads: Vec<String>) -> PyResult<Self> {
        Ok(Self { inner: resolve(py, name, depth, &heads)?, depth, heads })
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// The frozen groups of the encoder: "embeddings", "block 0" and so on, and "final norm", which freezes with the last block.
    #[getter]
    fn frozen_groups(&self) -> Vec<String> {
        group_names(&self.inner, self.depth, true)
    }

    /// The names of the frozen heads.
    #[getter]
    fn frozen_heads(&self) -> Vec<&str> {
        let places = 0..self.heads.len();
        let frozen = places.filter(|place| self.inner.freezes(&format!("heads.{place}.classifier.weight")));
        frozen.map(|place| self.heads[place].as_str()).collect()
    }

    /// The methods by which blocks learn: "lora", "adapters", "bitfit", "norms"; empty if all their weights learn.
    #[getter]
    fn methods(&self) -> Vec<&str> {
        self.inner.policy().tuning().methods.iter().map(|method| method.name()).collect()
    }

    /// Whether heads read a mix of all blocks' outputs.
    #[getter]
    fn mix(&self) -> bool {
        self.inner.mixes()
    }

    /// Whether what learns changes during the run: `+adaptive`, `lp-ft`, `lisa-K@N`.
    #[getter]
    fn changes(&self) -> bool {
        self.inner.policy().schedule() != FreezeSchedule::Fixed
    }

    /// The number of lowest blocks whose output never changes; None if the embeddings learn.
    #[getter]
    fn constant_prefix(&self) -> Option<usize> {
        self.inner.constant_prefix()
    }

    fn __repr__(&self) -> String {
        format!("Policy({:?}, depth={})", self.inner.name(), self.depth)
    }
}

/// The parts of a model, found in the names of its parameters.
#[pyclass(frozen, module = "frostline", name = "ModelParts")]
pub struct NamedParts {
    inner: ModelParts,
    /// Each parameter with its name in the plain model.
    names: BTreeMap<String, String>,
}

#[pymethods]
impl NamedParts {
    /// Finds the parts. `names` contains each parameter's name with its name in the plain model, without wrappers.
    #[new]
    fn new(py: Python<'_>, names: BTreeMap<String, String>) -> PyResult<Self> {
        let plain: BTreeSet<&str> = names.values().map(String::as_str).collect();
        let inner = ModelParts::find_parts(&plain).map_err(|error| {
            raise_text(py, "PolicyError", None, &error.reason.replace("--frozen PATTERN", "`patterns`"))
        })?;
        Ok(Self { inner, names })
    }

    /// The number of blocks with weights of their own.
    #[getter]
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    /// The names of the heads; ["head"] for a model without one.
    #[getter]
    fn heads(&self) -> Vec<&str> {
        self.inner.head_names()
    }

    /// The part of each parameter: "embeddings", "block 0", "final norm" or "head NAME".
    #[getter]
    fn of(&self) -> BTreeMap<&str, String> {
        let part = |plain: &str| match self.inner.group_of(plain) {
            Group::Head => format!("head {}", self.inner.part_of(plain)),
            group => group.to_string(),
        };
        self.names.iter().map(|(name, plain)| (name.as_str(), part(plain))).collect()
    }

    /// Applies a policy to this model.
    fn resolve(&self, py: Python<'_>, policy: &str) -> PyResult<Policy> {
        let policy = frostline_freeze::Policy::parse(policy);
        let policy = policy.map_err(|error| raise_text(py, "PolicyError", None, &error.to_string()))?;
        let inner = self.inner.resolve_policy(&policy).map_err(|error| raise_checkpoint(py, &error))?;
        let heads = self.inner.head_names().into_iter().map(String::from).collect();
        Ok(Policy { inner, depth: self.inner.depth(), heads })
    }

    /// Whether the policy freezes each parameter. `norms` names parameters of norms that their names do not show.
    #[pyo3(signature = (policy, norms = BTreeSet::new()))]
    fn frozen(&self, policy: &Policy, norms: BTreeSet<String>) -> BTreeMap<&str, bool> {
        let freezes = |name: &str, plain: &str| {
            policy.inner.freezes(&self.inner.policy_path(plain, norms.contains(name)))
        };
        self.names.iter().map(|(name, plain)| (name.as_str(), freezes(name, plain))).collect()
    }
}

/// Gradual unfreezing: steps, from 0, each with the groups of the encoder that are frozen from then on.
#[pyfunction]
pub fn gradual(py: Python<'_>, policy: &Policy, every: u64) -> PyResult<Vec<(u64, Vec<String>)>> {
    if every == 0 {
        let text = "every is 0, expected at least one step between two that unfreeze; give 1 or more";
        return Err(raise_text(py, "SettingError", None, text));
    }
    let (timeline, depth) = (Timeline::gradual(&policy.inner, every), policy.depth);
    let first = (0, group_names(timeline.at(0), depth, true));
    let later = timeline.changes().map(|(step, policy)| (step, group_names(policy, depth, true)));
    Ok([first].into_iter().chain(later).collect())
}
