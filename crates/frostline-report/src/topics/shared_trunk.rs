//! Trained models that are equal up to a block: one process can load these parts once and compute them once.

use std::collections::BTreeMap;

use frostline_record::{AccountRow, Cell};
use serde::Serialize;

use crate::fields::JsonFields;
use crate::keys;
use crate::page::Page;
use crate::study::{CellView, Done, Study};
use crate::table::Quantity;
use crate::topic::{ReportPlace, Topic};

/// Shared trunks.
pub(crate) struct SharedTrunksTopic;

/// The models of a policy, one of each language, which keep the encoder's own lowest parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SharedTrunk {
    policy: String,
    #[serde(skip)]
    extras: Vec<String>,
    languages: Vec<String>,
    /// The frozen groups from the input up: `embeddings`, `block 0`, ...
    groups: Vec<String>,
    parameters: TrunkParameters,
}

/// Numbers of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct TrunkParameters {
    /// In the shared groups.
    shared: u64,
    /// In all models, each loaded alone.
    apart: u64,
    /// In all models on one trunk.
    together: u64,
}

impl Topic for SharedTrunksTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        let trunks = find_trunks(study);
        if place != ReportPlace::Appendix || trunks.is_empty() {
            return;
        }
        page.section(2, "Taggers that can share blocks");
        page.paragraph(
            "Models with the same frozen parameters up to a block can be loaded together (`frostline tag` and `frostline \
             tagger-server` with several `--run`): that part is kept in memory once, and is computed once for a text that all of \
             them tag. Each tags as it does alone. The table has one model for each language; models are kept with \
             `save.model = true`.",
        );
        let million = |parameters: u64| parameters as f64 * 1e-6;
        let columns = keys::policy_columns(study, |row: &SharedTrunk| row.policy.clone(), |row| &row.extras)
            .column("Models", Quantity::Count, |row| row.languages.len() as u64)
            .column("Shared", Quantity::Text, |row| name_groups(&row.groups))
            .column("Million parameters apart", Quantity::Number(1, ""), move |row| {
                million(row.parameters.apart)
            })
            .column("On one trunk", Quantity::Number(1, ""), move |row| million(row.parameters.together))
            .column("Share", Quantity::Percent(0), |row| {
                row.parameters.together as f64 / row.parameters.apart.max(1) as f64
            });
        page.table(columns.table(trunks));
    }

    fn facts(&self, study: &Study) -> JsonFields {
        JsonFields::default().with_some("shared_trunks", &find_trunks(study))
    }
}

/// Returns the trunks that models of at least two languages share, in the order of policies.
fn find_trunks(study: &Study) -> Vec<SharedTrunk> {
    let mut models: Vec<(PolicyKey<'_>, BTreeMap<&str, ModelParts<'_>>)> = Vec::new();
    for view in &study.cells {
        let Some(parts) = view.done().and_then(|done| ModelParts::of_cell(&view.cell, done)) else {
            continue;
        };
        let CellView { cell, extras, .. } = view;
        let key = (cell.settings.policy.as_str(), extras.as_slice());
        let at = models.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            models.push((key, BTreeMap::new()));
            models.len() - 1
        });
        models[at].1.entry(&cell.settings.lang).or_insert(parts);
    }
    models.into_iter().filter_map(|((policy, extras), models)| share_parts(policy, extras, &models)).collect()
}

/// A policy and the values of the further axes.
type PolicyKey<'a> = (&'a str, &'a [String]);

/// What is equal in all of these models.
fn share_parts(
    policy: &str,
    extras: &[String],
    models: &BTreeMap<&str, ModelParts<'_>>,
) -> Option<SharedTrunk> {
    let first = models.values().next()?;
    let weights_differ = models.values().any(|model| model.weights != first.weights);
    let frozen = models.values().map(|model| model.frozen.len()).min()?;
    let frozen = &first.frozen[..frozen];
    if models.len() < 2 || weights_differ || frozen.is_empty() {
        return None;
    }
    let shared: u64 = frozen.iter().map(|row| row.total).sum();
    let apart: u64 = models.values().map(|model| model.total).sum();
    Some(SharedTrunk {
        policy: policy.to_string(),
        extras: extras.to_vec(),
        languages: models.keys().map(ToString::to_string).collect(),
        groups: frozen.iter().map(|row| row.group.clone()).collect(),
        parameters: TrunkParameters { shared, apart, together: apart - shared * (models.len() as u64 - 1) },
    })
}

/// A trained model's parts.
struct ModelParts<'a> {
    /// SHA-256 of the encoder's weights.
    weights: &'a str,
    /// The groups, from the input up, in which no step trained a parameter.
    frozen: &'a [AccountRow],
    /// All parameters.
    total: u64,
}

impl<'a> ModelParts<'a> {
    /// Nothing if the encoder was drawn at random, or if steps differ in what they train.
    fn of_cell(cell: &'a Cell, done: &'a Done) -> Option<Self> {
        let weights = ["weights", "weights-index"].iter().find_map(|role| cell.inputs.get(*role))?;
        let [stage] = done.result.stages.as_slice() else { return None };
        if !cell.settings.has_even_steps() {
            return None;
        }
        let groups = &stage.accounts.groups;
        let trunk = groups.iter().take_while(|row| row.trainable == 0 && is_of_trunk(&row.group)).count();
        Some(Self { weights: &weights.sha256, frozen: &groups[..trunk], total: stage.accounts.total })
    }
}

fn is_of_trunk(group: &str) -> bool {
    group == "embeddings" || group.starts_with("block ")
}

/// Names the groups in short: `embeddings, blocks 0 to 3`.
fn name_groups(groups: &[String]) -> String {
    match groups {
        [embeddings] => embeddings.clone(),
        [embeddings, block] => format!("{embeddings}, {block}"),
        [embeddings, _, _] => format!("{embeddings}, blocks 0 and 1"),
        [embeddings, blocks @ ..] => format!("{embeddings}, blocks 0 to {}", blocks.len() - 1),
        [] => String::new(),
    }
}
