//! Cells that are one experiment under two names: policies that freeze the same parameters of an encoder, a treebank or an
//! encoder under two names. Their results are equal, so that they are one piece of evidence.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

use frostline_freeze::Blocks;
use serde::{Deserialize, Serialize};

use crate::{FileName, Policy, Settings, TaskSettings, sha256};

/// The position of cells in a grid, regardless of their seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridPlace {
    /// The dataset's short name.
    pub lang: FileName,
    /// The policy.
    pub policy: Policy,
    /// Values of the further axes, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub axes: BTreeMap<String, toml::Value>,
}

/// Cells that are not run, since others of the same sweep are the same experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Twin {
    /// The cells that are not run.
    pub place: GridPlace,
    /// The cells that have their results.
    pub same_as: GridPlace,
}

impl GridPlace {
    /// Returns the place of a cell with these settings in a grid with these further axes.
    #[must_use]
    pub fn new(settings: &Settings, axes: &[&str]) -> Self {
        let value = |axis: &&str| Some(((*axis).to_string(), settings.get(axis)?));
        let axes = axes.iter().filter_map(value).collect();
        Self { lang: settings.lang.clone(), policy: settings.policy.clone(), axes }
    }

    /// Returns whether a cell with these settings has this position, with any seed.
    #[must_use]
    pub fn is_of(&self, settings: &Settings) -> bool {
        // The axes are last, because reading one takes much longer.
        settings.lang == self.lang && settings.policy == self.policy && settings.has_values(&self.axes)
    }
}

/// The files of a cell: an identity of each by its role, and the encoder's blocks.
#[derive(Clone, Debug)]
pub struct Reading {
    /// A hash of each file's content by role, as in [`crate::Inputs`].
    pub contents: BTreeMap<String, String>,
    /// The encoder's blocks.
    pub blocks: Blocks,
}

/// Returns, for each cell, the index of the cell that represents the same experiment; `None` for a cell that
/// represents itself. Of several equal cells, the one with the policy `none` represents the others, or else the
/// first. A cell without a [`Reading`] represents itself.
pub fn find_twins<S: Borrow<Settings>>(
    cells: impl IntoIterator<Item = (S, Option<Reading>)>,
) -> Vec<Option<usize>> {
    let mut keys = Vec::new();
    // By hash: the representing cell, and whether its policy is `none`.
    let mut first: HashMap<String, (usize, bool)> = HashMap::new();
    for (index, (settings, reading)) in cells.into_iter().enumerate() {
        let settings = settings.borrow();
        let key = reading.and_then(|reading| experiment_hash(settings, &reading));
        if let Some(key) = &key {
            let is_none = settings.policy.as_str() == "none";
            let known = first.entry(key.clone()).or_insert((index, is_none));
            if is_none && !known.1 {
                *known = (index, true);
            }
        }
        keys.push(key);
    }
    let stands_for = |(index, key): (usize, Option<String>)| {
        let (known, _) = first[&key?];
        (known != index).then_some(known)
    };
    keys.into_iter().enumerate().map(stands_for).collect()
}

/// Returns a hash that is equal for cells of the same experiment: settings by stage, with datasets and encoders
/// identified by their content, and policies by their meaning.
fn experiment_hash(settings: &Settings, reading: &Reading) -> Option<String> {
    let own = settings.tasks.iter().filter(|(_, task)| task.shares.is_empty());
    let heads: Vec<&str> = own.map(|(name, _)| name.as_str()).collect();
    let mut stages = Vec::new();
    for (name, mut stage) in settings.in_stages().ok()? {
        let policy = stage.policy.resolve(reading.blocks.clone(), &heads).ok()?.canonical_form();
        let dataset = |task: &TaskSettings| contents_of(reading, &stage.role(stage.dataset_of(task), ""));
        let datasets: Vec<String> = stage.tasks.values().map(dataset).collect();
        for (task, contents) in stage.tasks.values_mut().zip(datasets) {
            task.data = contents;
        }
        let default = Settings::default();
        (stage.lang, stage.policy, stage.encoder.name) = (default.lang, default.policy, default.encoder.name);
        stages.push((name, stage, policy));
    }
    let encoder: Vec<_> = reading.contents.iter().filter(|(role, _)| is_of_encoder(role)).collect();
    Some(sha256(serde_json::to_string(&(stages, encoder)).ok()?.as_bytes()))
}

/// Returns the contents of a dataset's files: the files whose role is a split of this folder (empty for the
/// cell's own dataset).
fn contents_of(reading: &Reading, folder: &str) -> String {
    let split = |role: &str| role.strip_prefix(folder).filter(|rest| SPLITS.contains(rest)).map(String::from);
    let files = reading.contents.iter().filter_map(|(role, hash)| Some((split(role)?, hash)));
    files.map(|(split, hash)| format!("{split} {hash}")).collect::<Vec<_>>().join(", ")
}

const SPLITS: [&str; 3] = ["train", "dev", "test"];

fn is_of_encoder(role: &str) -> bool {
    !role.contains('/') && !SPLITS.contains(&role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_settings(lang: &str, policy: &str, encoder: &str) -> Settings {
        let (lang, policy) = (lang.parse().unwrap(), policy.parse().unwrap());
        let mut settings = Settings { lang, policy, ..Settings::default() };
        settings.encoder.name = encoder.into();
        settings
    }

    fn test_reading(data: &str, weights: &str, blocks: impl Into<Blocks>) -> Reading {
        let role = |role: &str, hash: &str| (role.to_string(), hash.to_string());
        let contents = [role("train", data), role("dev", data), role("weights", weights)].into();
        Reading { contents, blocks: blocks.into() }
    }

    fn find_twins_of(cells: &[(Settings, Reading)]) -> Vec<Option<usize>> {
        find_twins(cells.iter().map(|(settings, reading)| (settings, Some(reading.clone()))))
    }

    #[test]
    fn names_for_the_same_parameters_are_one_policy() {
        let names = ["first-50%", "none", "first-3", "blocks-0.1.2", "first-2", "blocks-2.1.0"];
        let of = |blocks: usize| {
            find_twins_of(&names.map(|name| (test_settings("en", name, "m"), test_reading("d", "w", blocks))))
        };
        assert_eq!(of(6), [None, None, Some(0), Some(0), None, Some(0)]);
        // With twelve blocks, half of them are six.
        assert_eq!(of(12), [None, None, None, Some(2), None, Some(2)]);
    }

    #[test]
    fn blocks_of_one_kind_are_a_policy_like_their_list() {
        let local = Blocks::new(6, [1, 2, 4, 5]);
        let cells = ["global", "blocks-0.3", "local", "first-1", "blocks-1.2.4.5"]
            .map(|name| (test_settings("en", name, "m"), test_reading("d", "w", local.clone())));
        assert_eq!(find_twins_of(&cells), [None, Some(0), None, None, Some(2)]);
    }

    #[test]
    fn nothing_frozen_stands_for_what_is_equal_to_it() {
        let cells = ["none+embeddings+lora", "none+lora", "none"]
            .map(|name| (test_settings("en", name, "m"), test_reading("d", "w", 2)));
        assert_eq!(find_twins_of(&cells), [None, Some(0), None]);
        let all = ["blocks-0.1", "all", "last-2", "first-2"]
            .map(|name| (test_settings("en", name, "m"), test_reading("d", "w", 2)));
        assert_eq!(find_twins_of(&all), [None, Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn a_dataset_and_an_encoder_are_what_they_contain() {
        let cell = |lang, encoder, data, weights| {
            (test_settings(lang, "none", encoder), test_reading(data, weights, 2))
        };
        let cells = [
            cell("en", "m", "d", "w"),
            cell("english", "m", "d", "w"),
            cell("en", "copy", "d", "w"),
            cell("pcm", "m", "e", "w"),
            cell("en", "other", "d", "v"),
        ];
        assert_eq!(find_twins_of(&cells), [None, Some(0), Some(0), None, None]);
    }

    #[test]
    fn a_setting_or_a_seed_that_differs_makes_two() {
        let mut cells = vec![(test_settings("en", "none", "m"), test_reading("d", "w", 2)); 3];
        cells[1].0.seed += 1;
        cells[2].0.optimizer.lr *= 2.0;
        assert_eq!(find_twins_of(&cells), [None, None, None]);
        assert_eq!(find_twins([(&cells[0].0, None), (&cells[0].0, None)]), [None, None]);
    }

    #[test]
    fn a_task_with_data_of_its_own_is_known_by_that_data() {
        let cell = |name: &str, hash: &str| {
            let mut settings = test_settings("en", "none", "m");
            let mut ner = settings.tasks.values().next().unwrap().clone();
            ner.data = name.into();
            settings.tasks.insert("ner".parse().unwrap(), ner);
            let mut reading = test_reading("d", "w", 2);
            reading.contents.insert(format!("{name}/train"), hash.into());
            (settings, reading)
        };
        assert_eq!(find_twins_of(&[cell("a", "x"), cell("b", "x"), cell("c", "y")]), [None, Some(0), None]);
    }
}
