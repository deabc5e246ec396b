//! How fast this machine trains an encoder, from a few seconds of real steps: what turns the cost model's counts into
//! milliseconds. It is kept in the cache, by everything that it depends on.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use frostline_assets::Places;
use frostline_freeze::{Machine, Policy};
use frostline_kernels::{Precision, Train, backend};
use frostline_model::EncoderConfig;
use frostline_record::sha256;
use serde::{Deserialize, Serialize};

use crate::bench::{Folders, Step, StepTask};
use crate::version;
use frostline_kernels::backend::Work;

/// Which steps are measured: a policy, and subwords per sentence. They differ in every kind of work.
const STEPS: [(&str, usize); 6] =
    [("none", 8), ("none", 32), ("none", 96), ("all", 32), ("all+embeddings", 64), ("none+lora", 32)];

/// What a calibration is for: another one of these takes other times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The program's code.
    pub code: String,
    /// `flex`, `ndarray`, `cuda` or `wgpu`.
    pub backend: String,
    /// The processor's or GPU's name.
    pub device: String,
    /// The machine's name, where it has one.
    pub node: String,
    /// As records state it.
    pub isa: String,
    /// Threads.
    pub threads: usize,
    /// Of the linear layers.
    pub precision: Precision,
    /// Width, width inside the feed-forward layer, blocks and heads of the encoder.
    pub shape: [usize; 4],
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Under which conditions.
    pub conditions: Conditions,
    /// How fast the machine is.
    pub machine: Machine,
    /// The median relative error of the fit.
    pub error: f64,
}

impl Conditions {
    /// Those of this program on this machine.
    ///
    /// # Errors
    /// Where the backend cannot run here.
    pub fn here(encoder: &EncoderConfig, backend: &str, precision: Precision) -> Result<Self> {
        let by = version::made_by(backend)?;
        Ok(Self {
            code: by.code,
            backend: by.backend,
            device: by.device,
            node: by.node,
            isa: by.isa,
            threads: by.threads,
            precision,
            shape: [encoder.hidden, encoder.intermediate, encoder.depth, encoder.heads],
        })
    }

    fn file(&self, cache: &Path) -> PathBuf {
        let text = serde_json::to_string(self).unwrap_or_default();
        cache.join("calibrations").join(format!("{}.json", &sha256(text.as_bytes())[..16]))
    }
}

impl Calibration {
    /// The one for these conditions, if it was measured before. A damaged file counts as none.
    #[must_use]
    pub fn kept(cache: &Path, conditions: &Conditions) -> Option<Self> {
        let text = frostline_files::read_text(&conditions.file(cache), 1 << 20).ok()?;
        let found: Self = serde_json::from_str(&text).ok()?;
        (found.conditions == *conditions).then_some(found)
    }

    /// Keeps it for later.
    ///
    /// # Errors
    /// Where the cache cannot be written.
    pub fn keep(&self, cache: &Path) -> Result<()> {
        let path = self.conditions.file(cache);
        let folder = path.parent().unwrap_or(cache);
        frostline_files::create_own_folder(folder)?;
        Ok(frostline_files::write(&path, serde_json::to_string_pretty(self)?.as_bytes())?)
    }

    /// Times steps of an encoder of this shape with random weights, on the words of the embedded treebank, with the threads of
    /// the caller's pool.
    ///
    /// # Errors
    /// Where its config or tokenizer cannot be read, or the backend cannot run here.
    pub fn measure(places: &Places, encoder: &str, backend: &str, precision: Precision) -> Result<Self> {
        let folders = Folders::find(places, [encoder, "embedded:en"], false)?;
        let conditions = Conditions::here(&folders.encoder()?, backend, precision)?;
        let samples = backend::on(backend, Samples { folders: &folders, precision })??;
        let machine = Machine::fitted(&samples);
        let mut errors: Vec<f64> = samples
            .iter()
            .map(|(work, seconds)| (machine.step_seconds(work) / seconds - 1.0).abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        Ok(Self { conditions, machine, error: errors[errors.len() / 2] })
    }
}

/// Times steps.
struct Samples<'a> {
    folders: &'a Folders,
    precision: Precision,
}

impl Work for Samples<'_> {
    type Output = Result<Vec<(frostline_freeze::Work, f64)>>;

    fn run<B: Train>(self, device: &B::Device) -> Self::Output {
        let longest = self.folders.encoder()?.longest_input();
        let sample = |(policy, length): &(&str, usize)| {
            let policy: Policy = policy.parse().with_context(|| format!("the policy `{policy}`"))?;
            let step = Step {
                random_init: true,
                policy,
                steps: 5,
                warmup: 2,
                batch: 8,
                first: 0,
                seed: 42,
                prefix_cache: false,
                precision: self.precision,
                length: Some((*length).min(longest)),
                trace_device: false,
            };
            let timed = StepTask { folders: self.folders, step: &step }.run::<B>(device)?;
            Ok((timed.work, timed.step_ms_median / 1e3))
        };
        STEPS.iter().map(sample).collect()
    }
}
