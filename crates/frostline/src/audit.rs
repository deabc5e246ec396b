//! `frostline audit`: law 6 against the saved files. Every frozen tensor of a trained model must
//! equal the encoder's own bit for bit; every trainable one must have moved.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use frostline_freeze::Policy;
use frostline_model::{Checkpoint, RandomInit, Source};
use frostline_record::{Record, read_record};

use crate::cell::HEAD_STD;
use crate::config::extras;
use crate::data::{head_names, heads};
use crate::inputs;

/// What was found in one cell's saved model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Frozen tensors, all bit-identical.
    pub frozen: usize,
    /// Trainable tensors that moved.
    pub moved: usize,
    /// Frozen tensors that changed.
    pub changed: Vec<String>,
    /// Trainable tensors that did not move.
    pub unmoved: Vec<String>,
}

impl Audit {
    /// Whether the law holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.changed.is_empty() && self.unmoved.is_empty()
    }
}

/// Compares the model saved in a cell's folder with what it started from.
///
/// # Errors
/// Where there is no record, no saved model, or a file cannot be read.
pub fn cell(folder: &Path) -> Result<(Record, Audit)> {
    let record = read_record(folder)?.with_context(|| format!("{} holds no record", folder.display()))?;
    let (cell, Some(result)) = (&record.cell, &record.result) else {
        bail!("the cell in {} failed", folder.display())
    };
    let saved = folder.join("model").join("model.safetensors");
    if !saved.exists() {
        bail!("{} holds no saved model; run the sweep with `--set save.model=true`", folder.display());
    }
    let encoder = inputs::encoder_config(&cell.inputs)?;
    let names = head_names(&cell.settings);
    let stages = cell.settings.in_stages()?;
    let policies = stages.iter().map(|(_, stage)| Policy::parse_for(&stage.policy, encoder.depth, &names));
    let policies = policies.collect::<Result<Vec<_>, _>>()?;
    // What one stage lets learn may move.
    let freezes = |path: &str| policies.iter().all(|policy| policy.freezes(path));
    // LoRA's matrices are merged into the weights beside which they stood.
    let added = extras(&cell.settings, &policies.iter().collect::<Vec<_>>(), encoder.depth)?;
    let matrices = added.parameters(&encoder).into_iter();
    let layers: HashSet<String> =
        matrices.filter_map(|(path, _)| Some(format!("{}.weight", path.strip_suffix(".lora.a")?))).collect();
    let freezes = |path: &str| freezes(path) && !layers.contains(path);
    let shapes =
        heads(&cell.settings, |task| result.tasks.get(task).map_or(&[], |facts| facts.tags.as_slice()));
    let main = cell.settings.tasks[&result.headline].shares.as_str();
    let main = if main.is_empty() { result.headline.as_str() } else { main };
    let main = names.iter().position(|name| *name == main).unwrap_or(0);
    let this = format!("heads.{main}.");
    let start = inputs::encoder_source(&cell.inputs, &cell.settings, &encoder)?;
    let head = RandomInit::new(cell.settings.seed, HEAD_STD);
    let end = Checkpoint::open(&saved, encoder.family)?;
    let mut audit = Audit::default();
    let parameters = encoder.parameters(&shapes).into_iter();
    for (path, shape) in parameters.filter(|(path, _)| !path.starts_with("heads.") || path.starts_with(&this))
    {
        let before = match path.strip_prefix(&this) {
            None => start.values(&path, &shape),
            Some(part) => {
                let (from, of_encoder) = shapes[main].source_of(part, &*start);
                if of_encoder { start.values(&from, &shape) } else { head.values(&from, &shape) }
            }
        }?;
        let after = end.values(&path, &shape)?;
        let same = before.iter().map(|v| v.to_bits()).eq(after.iter().map(|v| v.to_bits()));
        match (freezes(&path), same) {
            (true, true) => audit.frozen += 1,
            (false, false) => audit.moved += 1,
            (true, false) => audit.changed.push(path),
            (false, true) => audit.unmoved.push(path),
        }
    }
    Ok((record, audit))
}
