//! Calibration: the speed of this machine when training an encoder, from a few seconds of real steps. It turns
//! the cost model's counts into milliseconds. The cache stores it under all conditions on which it depends.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use frostline_assets::Places;
use frostline_freeze::{Machine, Policy};
use frostline_kernels::{Precision, Train, backend};
use frostline_model::EncoderConfig;
use frostline_record::{MadeBy, sha256};
use serde::{Deserialize, Serialize};

use crate::bench::{Folders, Step, StepTask};
use crate::version;
use frostline_kernels::backend::Work;

/// Which steps are measured: a policy, and subwords per sentence. They differ in every kind of work.
const STEPS: [(&str, usize); 6] =
    [("none", 8), ("none", 32), ("none", 96), ("all", 32), ("all+embeddings", 64), ("none+lora", 32)];

/// The conditions of a calibration. A change of any of them changes the times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The program's code.
    pub code: String,
    /// `flex`, `amx`, `ndarray`, `cuda` or `wgpu`.
    pub backend: String,
    /// The processor's or GPU's name.
    pub device: String,
    /// The machine's name, if it has one.
    pub node: String,
    /// The instruction set, in the form used in records.
    pub isa: String,
    /// Threads.
    pub threads: usize,
    /// Precision of the linear layers.
    pub precision: Precision,
    /// The encoder's family: encoders of the same sizes may have gates or windows.
    pub family: String,
    /// Width, width inside the feed-forward layer, blocks and heads of the encoder.
    pub shape: [usize; 4],
}

/// The measured speeds.
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

/// When steps are timed for a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Never calibrate; use only the cache.
    Never,
    /// Calibrate if the cache has no calibration.
    Missing,
    /// Always calibrate, and replace the cached calibration.
    Always,
}

impl Conditions {
    /// Returns the conditions of this program on this machine.
    ///
    /// # Errors
    /// If the backend cannot run here.
    pub fn here(encoder: &EncoderConfig, backend: &str, precision: Precision) -> Result<Self> {
        Ok(Self::of(&version::made_by(backend)?, encoder, precision))
    }

    /// Returns the conditions of the program and machine that made a record.
    #[must_use]
    pub fn of(by: &MadeBy, encoder: &EncoderConfig, precision: Precision) -> Self {
        Self {
            code: by.code.clone(),
            backend: by.backend.clone(),
            device: by.device.clone(),
            node: by.node.clone(),
            isa: by.isa.clone(),
            threads: by.threads,
            precision,
            family: encoder.family.name().into(),
            shape: [encoder.hidden, encoder.intermediate, encoder.depth, encoder.heads],
        }
    }

    fn file(&self, cache: &Path) -> PathBuf {
        let text = serde_json::to_string(self).unwrap_or_default();
        cache.join("calibrations").join(format!("{}.json", &sha256(text.as_bytes())[..16]))
    }
}

impl Calibration {
    /// Returns the calibration for these conditions, from the cache or from `measure`, whose result is then
    /// cached. `note` gets a line before and after steps are timed.
    ///
    /// # Errors
    /// Errors of `measure`, or if the cache cannot be written.
    pub fn find(
        cache: Option<&Path>,
        conditions: &Conditions,
        when: When,
        measure: impl FnOnce() -> Result<Self>,
        note: &mut dyn FnMut(&str),
    ) -> Result<Option<Self>> {
        let kept = cache.filter(|_| when != When::Always).and_then(|cache| Self::kept(cache, conditions));
        if kept.is_some() || when == When::Never {
            return Ok(kept);
        }
        note("calibrate timing some steps on this machine");
        let found = measure()?;
        note(&format!("calibrate median error of the fit: {:.1} %", 100.0 * found.error));
        match cache {
            Some(cache) => found.keep(cache)?,
            None => note("calibrate not kept: there is no cache; set FROSTLINE_CACHE to a folder"),
        }
        Ok(Some(found))
    }

    /// Returns the one for these conditions, if it was measured before. A damaged file counts as none.
    #[must_use]
    pub fn kept(cache: &Path, conditions: &Conditions) -> Option<Self> {
        let text = frostline_files::read_text(&conditions.file(cache), 1 << 20).ok()?;
        let found: Self = serde_json::from_str(&text).ok()?;
        (found.conditions == *conditions).then_some(found)
    }

    /// Stores the calibration in the cache.
    ///
    /// # Errors
    /// If the cache cannot be written.
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
    /// If its config or tokenizer cannot be read, or the backend cannot run here.
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
                profile: false,
            };
            let timed = StepTask { folders: self.folders, step: &step }.run::<B>(device)?;
            Ok((timed.work, timed.step_ms_median / 1e3))
        };
        STEPS.iter().map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(error: f64) -> Calibration {
        let [code, backend, device, node, isa, family] =
            ["code", "flex", "processor", "node", "avx2", "bert"].map(String::from);
        let (precision, shape) = (Precision::F32, [16, 64, 2, 4]);
        let conditions =
            Conditions { code, backend, device, node, isa, threads: 2, precision, family, shape };
        Calibration { conditions, machine: Machine::default(), error }
    }

    #[test]
    fn steps_are_timed_only_when_they_are_asked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut notes = Vec::new();
        let other = Conditions { threads: 4, ..calibration(0.0).conditions };
        let gated = Conditions { family: "gte".into(), ..calibration(0.0).conditions };
        let mut find = |when, conditions: &Conditions, error| {
            let mut timed = 0;
            let measure = || {
                timed += 1;
                Ok(Calibration { conditions: conditions.clone(), ..calibration(error) })
            };
            let mut note = |line: &str| notes.push(line.to_string());
            let found = Calibration::find(Some(folder.path()), conditions, when, measure, &mut note);
            (found.expect("found").map(|found| found.error), timed)
        };
        let here = calibration(0.0).conditions;
        assert_eq!(find(When::Never, &here, 0.1), (None, 0));
        assert_eq!(find(When::Missing, &here, 0.25), (Some(0.25), 1));
        assert_eq!(find(When::Missing, &here, 0.5), (Some(0.25), 0));
        assert_eq!(find(When::Never, &other, 0.5), (None, 0));
        assert_eq!(find(When::Never, &gated, 0.5), (None, 0));
        assert_eq!(find(When::Always, &here, 0.5), (Some(0.5), 1));
        assert_eq!(find(When::Never, &here, 0.1), (Some(0.5), 0));
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert_eq!(notes[1], "calibrate median error of the fit: 25.0 %");
    }

    #[test]
    fn without_a_cache_it_is_measured_and_said_to_be_lost() {
        let mut notes = Vec::new();
        let mut note = |line: &str| notes.push(line.to_string());
        let measure = || Ok(calibration(0.1));
        let here = calibration(0.0).conditions;
        let found = Calibration::find(None, &here, When::Missing, measure, &mut note).expect("found");
        assert_eq!(found, Some(calibration(0.1)));
        assert!(notes[2].contains("FROSTLINE_CACHE"), "{notes:?}");
    }
}
