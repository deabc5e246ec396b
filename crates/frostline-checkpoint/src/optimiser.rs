//! The state of an optimiser: which parameters it holds, and how that agrees with what was frozen.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::pickle::{Node, Pickle, PickleValue};

/// A parameter in an optimiser's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateEntry {
    /// The parameter's name, or its number if the file has no names.
    pub key: String,
    /// Whether `key` is a name.
    pub is_named: bool,
    /// The shape of its largest state tensor, such as Adam's first moment; `None` without any state.
    pub shape: Option<Vec<u64>>,
}

/// An optimiser's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OptimiserState {
    /// The file.
    pub place: String,
    /// The parameters in the order of the groups.
    pub entries: Vec<StateEntry>,
}

/// How an optimiser's parameters agree with the rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OptimiserReport {
    /// The file.
    pub place: String,
    /// Number of parameters that the optimiser holds.
    pub held: usize,
    /// Number of them that have a state.
    pub with_state: usize,
    /// Number of trainable parameters.
    pub trainable: usize,
    /// Frozen parameters with a state; numbers from a file without names are matched by their shapes.
    pub frozen_with_state: usize,
    /// Names of some of them, if the file has names.
    pub frozen_names: Vec<String>,
    /// Trainable parameters that the optimiser does not hold.
    pub trainable_missing: usize,
    /// Names of some of them, if the file has names or all of a shape are missing.
    pub missing_names: Vec<String>,
}

/// A parameter as the comparison sees it.
pub(crate) struct KnownParameter<'a> {
    pub name: &'a str,
    pub shape: &'a [u64],
    pub is_frozen: bool,
}

/// Returns the state in a value such as `{'state': {0: {...}}, 'param_groups': [...]}`.
pub(crate) fn parse_state(pickle: &Pickle<'_>, value: PickleValue, place: &str) -> Option<OptimiserState> {
    let states = pickle.get(value, "state").and_then(|state| match pickle.value_node(state) {
        Some(Node::Dict(pairs)) => Some(pairs),
        _ => None,
    })?;
    let groups = pickle.value_list(pickle.get(value, "param_groups")?)?;
    let mut state_of: BTreeMap<String, PickleValue> =
        states.iter().filter_map(|(key, state)| Some((key_of(pickle, *key)?, *state))).collect();
    let mut entries = Vec::new();
    for group in groups {
        let params =
            pickle.get(*group, "params").and_then(|params| pickle.value_list(params)).unwrap_or_default();
        let names =
            pickle.get(*group, "param_names").and_then(|names| pickle.value_list(names)).unwrap_or_default();
        for (number, param) in params.iter().enumerate() {
            let Some(key) = key_of(pickle, *param) else { continue };
            let shape = state_of.remove(&key).and_then(|state| shape_of(pickle, state));
            let name = names.get(number).and_then(|name| pickle.value_text(*name)).map(String::from);
            let is_named = name.is_some() || pickle.value_text(*param).is_some();
            entries.push(StateEntry { key: name.unwrap_or(key), is_named, shape });
        }
    }
    // States without a group are kept too.
    entries.extend(state_of.into_iter().map(|(key, state)| {
        let is_named = key.parse::<u64>().is_err();
        StateEntry { is_named, shape: shape_of(pickle, state), key }
    }));
    Some(OptimiserState { place: place.into(), entries })
}

fn key_of(pickle: &Pickle<'_>, key: PickleValue) -> Option<String> {
    match key {
        PickleValue::Int(number) => Some(number.to_string()),
        other => pickle.value_text(other).map(String::from),
    }
}

/// Returns the shape of the largest tensor among a parameter's states. A count of steps is a tensor without dimensions.
fn shape_of(pickle: &Pickle<'_>, state: PickleValue) -> Option<Vec<u64>> {
    let tensors =
        pickle.value_pairs(state)?.iter().filter_map(|(key, value)| match pickle.value_node(*value) {
            Some(Node::Tensor(spec)) if pickle.value_text(*key) != Some("step") => Some(&spec.shape),
            _ => None,
        });
    tensors
        .max_by_key(|shape| shape.iter().map(|size| u128::from(*size)).fold(1, u128::saturating_mul))
        .cloned()
}

/// Compares an optimiser's parameters with the model's. Without names, parameters are matched by their shapes: a state
/// belongs to a trainable parameter as long as there is one of its shape.
pub(crate) fn compare_state(state: &OptimiserState, known: &[KnownParameter<'_>]) -> OptimiserReport {
    /// The most names that are listed.
    const MOST_NAMES: usize = 10;
    let trainable: Vec<&KnownParameter<'_>> = known.iter().filter(|known| !known.is_frozen).collect();
    let mut report = OptimiserReport {
        place: state.place.clone(),
        held: state.entries.len(),
        with_state: state.entries.iter().filter(|entry| entry.shape.is_some()).count(),
        trainable: trainable.len(),
        ..OptimiserReport::default()
    };
    if !state.entries.is_empty() && state.entries.iter().all(|entry| entry.is_named) {
        let held: BTreeMap<&str, bool> =
            state.entries.iter().map(|entry| (entry.key.as_str(), entry.shape.is_some())).collect();
        let with_state = |known: &&KnownParameter<'_>| known.is_frozen && held.get(known.name) == Some(&true);
        let frozen: Vec<String> = known.iter().filter(with_state).map(|known| known.name.into()).collect();
        let missing = trainable.iter().filter(|known| !held.contains_key(known.name));
        let missing: Vec<String> = missing.map(|known| known.name.into()).collect();
        (report.frozen_with_state, report.trainable_missing) = (frozen.len(), missing.len());
        report.frozen_names = frozen.into_iter().take(MOST_NAMES).collect();
        report.missing_names = missing.into_iter().take(MOST_NAMES).collect();
        return report;
    }
    let mut shapes: BTreeMap<&[u64], [usize; 3]> = BTreeMap::new();
    for known in known {
        shapes.entry(known.shape).or_default()[usize::from(known.is_frozen)] += 1;
    }
    for shape in state.entries.iter().filter_map(|entry| entry.shape.as_deref()) {
        if let Some(counts) = shapes.get_mut(shape) {
            counts[2] += 1;
        }
    }
    for [trainable, frozen, held] in shapes.values() {
        report.frozen_with_state += held.saturating_sub(*trainable).min(*frozen);
    }
    let all_of_shape =
        |known: &&&KnownParameter<'_>| shapes.get(known.shape).is_some_and(|counts| counts[2] == 0);
    // Parameters that the optimiser holds without a state have no shape in its file.
    report.trainable_missing =
        trainable.len().saturating_sub(report.held.saturating_sub(report.frozen_with_state));
    if report.trainable_missing > 0 && report.with_state == report.held {
        let missing = trainable.iter().filter(all_of_shape).map(|known| known.name.to_string());
        report.missing_names = missing.take(MOST_NAMES).collect();
    }
    report
}
