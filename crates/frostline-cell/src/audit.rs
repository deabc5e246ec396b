//! `frostline audit`: checks rule 6 of ARCHITECTURE.md on the saved files. Every frozen tensor of a trained
//! model must equal the encoder's tensor bit for bit, and every trained tensor must have changed.
//!
//! It reads the selected epochs and their steps from the record, and does not rely on the run's own check.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use frostline_freeze::ResolvedPolicy;
use frostline_model::{Checkpoint, EncoderConfig, HeadShape, ParameterSource, RandomInit};
use frostline_record::{Cell, Outcome, Record, Settings};
use frostline_train::{extras, timeline};

use crate::blocks::blocks_of_cell;
use crate::cell;
use crate::heads::HEAD_STD;
use crate::heads::{head_names, head_owner, make_heads};
use crate::inputs::{self, Verified};

/// Result of comparing the models that one cell saved; a tensor that occurs in several models counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Frozen tensors, all bit-identical.
    pub frozen: usize,
    /// Trainable tensors that moved.
    pub moved: usize,
    /// Number of trainable tensors that did not change, in agreement with the record: their gradient or the
    /// learning rate was 0 in every step.
    pub idle: usize,
    /// Frozen tensors that changed; outside of `model/` with their folder.
    pub changed: Vec<String>,
    /// Trainable tensors that did not move without the record saying so, likewise.
    pub unmoved: Vec<String>,
}

/// Audits cells, and hashes weights that they share once.
#[derive(Debug, Default)]
pub struct Auditor {
    verified: Verified,
}

impl Audit {
    /// Returns whether the law holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.changed.is_empty() && self.unmoved.is_empty()
    }

    /// Returns the result as a sentence for a model card.
    #[must_use]
    pub fn statement(&self) -> String {
        let idle = match self.idle {
            0 => String::new(),
            idle => format!(", {idle} had nothing to learn from"),
        };
        let verdict = if self.holds() { "The policy holds." } else { "The policy is VIOLATED." };
        format!(
            "`frostline audit` compared the saved weights with those before training: {} frozen tensors are bit-identical, {} \
             trainable ones moved{idle}. {verdict}",
            self.frozen, self.moved
        )
    }
}

impl Auditor {
    /// Compares the models saved in a cell's folder with their starting weights.
    ///
    /// # Errors
    /// If there is no record, the cell failed or saved no model, the encoder's files have changed, or a file
    /// cannot be read. The error names the folder.
    pub fn cell(&mut self, folder: &Path) -> Result<(Record, Audit)> {
        self.audit(folder).with_context(|| folder.display().to_string())
    }

    fn audit(&mut self, folder: &Path) -> Result<(Record, Audit)> {
        let (record, result) = cell::read_finished(folder)?;
        let cell = &record.cell;
        // With other weights every frozen tensor would look changed.
        let weights = cell.inputs.iter().filter(|(role, _)| role.starts_with("weights"));
        self.verified.check(weights.map(|(_, input)| input))?;
        let standard = Standard::of(cell, &result)?;
        let main = head_owner(&cell.settings, &result.headline);
        let mut audit = Audit::default();
        for (head, name) in head_names(&cell.settings).into_iter().enumerate() {
            let place = if name == main { "model".to_string() } else { format!("model-{name}") };
            standard.hold(folder, &place, head, name == main, &mut audit)?;
        }
        Ok((record, audit))
    }
}

/// The starting weights to which a cell's saved models are compared.
struct Standard {
    seed: u64,
    encoder: EncoderConfig,
    heads: Vec<HeadShape>,
    stages: Vec<StageTensors>,
    /// Weights into which LoRA matrices were merged.
    merged: HashSet<String>,
    /// Trainable tensors that did not change during the run.
    idle: HashSet<String>,
    start: Box<dyn ParameterSource>,
}

impl Standard {
    fn of(cell: &Cell, result: &Outcome) -> Result<Self> {
        let settings = &cell.settings;
        let encoder = inputs::encoder_config(&cell.inputs)?;
        let tasks = &result.tasks;
        let heads = make_heads(settings, |task| tasks.get(task).map_or(&[], |facts| facts.tags.as_slice()));
        let mut policies = Vec::new();
        for (_, stage) in settings.in_stages()? {
            let policy = stage.policy.resolve(blocks_of_cell(cell, &encoder), &head_names(settings))?;
            policies.push((policy, stage));
        }
        let stages = StageTensors::all(&policies, result)?;
        let all: Vec<&ResolvedPolicy> = policies.iter().map(|(policy, _)| policy).collect();
        let added = extras(settings, &all, encoder.depth)?.parameters(&encoder);
        let merged = |(path, _): (String, Vec<usize>)| {
            let parts: &[&str] =
                if path.ends_with(".ia3.factors") { &["weight", "bias"] } else { &["weight"] };
            let layer = path.strip_suffix(".lora.b").or_else(|| path.strip_suffix(".ia3.factors"));
            let layer = layer.filter(|_| stages.iter().any(|stage| !stage.freezes(&path)));
            let names = layer.map(|layer| parts.iter().map(|part| format!("{layer}.{part}")).collect());
            names.unwrap_or_else(Vec::new)
        };
        let merged = added.into_iter().flat_map(merged).collect();
        let start = inputs::encoder_source(&cell.inputs, settings, &encoder)?;
        let idle = result.stages.iter().flat_map(|stage| stage.freezing.unmoved.iter().cloned()).collect();
        Ok(Self { seed: settings.seed, encoder, heads, stages, merged, idle, start })
    }

    /// Returns whether a tensor must have the bits with which it started.
    fn freezes(&self, path: &str) -> bool {
        !self.merged.contains(path) && self.stages.iter().all(|stage| stage.freezes(path))
    }

    /// Compares the model in a cell's folder `place`, the encoder with one head. The encoder's tensors
    /// count in the `main` model alone.
    fn hold(&self, cell: &Path, place: &str, head: usize, main: bool, audit: &mut Audit) -> Result<()> {
        let saved = cell.join(place).join("model.safetensors");
        if !saved.exists() {
            bail!("it holds no {place}/model.safetensors; run the sweep again with `--set save.model=true`");
        }
        let end = Checkpoint::open(&saved, &self.encoder)?;
        let this = format!("heads.{head}.");
        for (path, shape) in self.encoder.parameters(&self.heads) {
            let of_head = path.starts_with("heads.");
            if of_head && !path.starts_with(&this) {
                continue;
            }
            let before = self.before(&path, &shape, head, &this)?;
            let after = end.values(&path, &shape)?;
            let same = before.iter().map(|v| v.to_bits()).eq(after.iter().map(|v| v.to_bits()));
            let counts = usize::from(main || of_head);
            let shown = || if main { path.clone() } else { format!("{place}/{path}") };
            match (self.freezes(&path), same) {
                (true, true) => audit.frozen += counts,
                (false, false) => audit.moved += counts,
                (true, false) => audit.changed.push(shown()),
                (false, true) if self.idle.contains(&path) => audit.idle += counts,
                (false, true) => audit.unmoved.push(shown()),
            }
        }
        Ok(())
    }

    /// Returns a parameter's numbers before the first step; `this` is how the paths of the model's head start.
    fn before(&self, path: &str, shape: &[usize], head: usize, this: &str) -> Result<Vec<f32>> {
        let Some(part) = path.strip_prefix(this) else { return Ok(self.start.values(path, shape)?) };
        let (from, of_encoder) = self.heads[head].source_of(part, &*self.start);
        if of_encoder {
            return Ok(self.start.values(&from, shape)?);
        }
        Ok(RandomInit::new(self.seed, HEAD_STD).values(&from, shape)?)
    }
}

/// The trainable parameters of one stage, up to its selected epoch.
struct StageTensors {
    /// The policy in that epoch's last step; `None` if no step was taken.
    policy: Option<ResolvedPolicy>,
    /// How the paths of heads start that no task of the stage trained.
    idle: Vec<String>,
}

impl StageTensors {
    /// Returns the stages of a cell, given the policy and the settings of each.
    fn all(policies: &[(ResolvedPolicy, Settings)], result: &Outcome) -> Result<Vec<Self>> {
        let (recorded, planned) = (result.stages.len(), policies.len());
        ensure!(
            recorded == planned,
            "its record has {recorded} stages, its settings {planned}; run the cell again"
        );
        let mut before = 0;
        let mut stages = Vec::new();
        for (number, ((policy, settings), found)) in policies.iter().zip(&result.stages).enumerate() {
            let timeline = timeline(policy, settings, found.steps);
            let mut rows = result.epochs.iter().filter(|row| row.stage as usize == number + 1);
            let selected = rows.find(|row| row.epoch == found.selected_epoch);
            // A record counts steps over all stages and from 1; a timeline counts them within a stage and from
            // 0.
            let policy = selected.map(|row| timeline.trained_until(row.step.saturating_sub(before + 1)));
            stages.push(Self { policy, idle: idle_heads(settings) });
            before += found.steps;
        }
        Ok(stages)
    }

    /// Returns whether the stage leaves a tensor as it is.
    fn freezes(&self, path: &str) -> bool {
        let idle = self.idle.iter().any(|head| path.starts_with(head));
        idle || self.policy.as_ref().is_none_or(|policy| policy.freezes(path))
    }
}

/// How the paths of heads start whose tasks all have the weight 0: they are scored and get no gradient.
fn idle_heads(settings: &Settings) -> Vec<String> {
    let trains = |head: &str| {
        settings.tasks.iter().any(|(name, task)| head_owner(settings, name) == head && task.weight > 0.0)
    };
    let heads = head_names(settings).into_iter().enumerate();
    heads.filter(|(_, name)| !trains(name)).map(|(number, _)| format!("heads.{number}.")).collect()
}
