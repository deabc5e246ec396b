//! Saves the trained model of a cell as folders.

use std::path::Path;

use anyhow::Result;
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::Train;
use frostline_model::{
    EncoderConfig, HuggingFaceExport, Network, ParameterSource, PeftExport, hugging_face_config, snapshot,
};
use frostline_record::{Cell, Settings};

use crate::data::CellData;
use crate::{inputs, saved_model};

/// A trained model and its origin.
pub(crate) struct Trained<'a> {
    pub cell: &'a Cell,
    pub data: &'a CellData,
    /// The encoder, including parameters that policies added.
    pub encoder: &'a EncoderConfig,
    /// The last stage's settings.
    pub last: &'a Settings,
    /// The policies of all stages.
    pub policies: &'a [&'a ResolvedPolicy],
    /// The factor of a word-table row without gradients.
    pub untouched: f64,
}

impl Trained<'_> {
    /// Writes the encoder with the headline's head as a Hugging Face folder `model/`, and with every other head
    /// as `model-NAME/`. If only LoRA was trained in the encoder, its matrices are also written to `peft/` or
    /// `peft-NAME/`.
    pub fn save<B: Train>(
        &self,
        model: &Network<B>,
        source: &dyn ParameterSource,
        folder: &Path,
    ) -> Result<()> {
        self.save_as(["model", "peft"], model, source, folder)
    }

    /// Same as [`Trained::save`], with the given names in place of `model` and `peft`.
    pub fn save_as<B: Train>(
        &self,
        [whole, adapter]: [&str; 2],
        model: &Network<B>,
        source: &dyn ParameterSource,
        folder: &Path,
    ) -> Result<()> {
        let Self { cell, data, encoder, .. } = *self;
        let parameters = snapshot(model);
        for (number, task) in data.tasks.iter().enumerate() {
            let main = number == data.headline;
            if !main && (!task.settings.shares.is_empty() || task.head == data.main().head) {
                continue;
            }
            let named =
                |what: &str| folder.join(if main { what.into() } else { format!("{what}-{}", task.name) });
            let target = named(whole);
            frostline_files::create_own_folder(&target)?;
            let export = HuggingFaceExport {
                config: encoder,
                parameters: &parameters,
                head: task.head,
                vocabulary: &data.vocabulary,
                source,
                other_rows: self.untouched,
            };
            let kind = data.heads[task.head].kind;
            let config = hugging_face_config(&inputs::text(&cell.inputs, "config")?, &task.tags, kind)?;
            frostline_files::write(&target.join("model.safetensors"), &export.safetensors()?)?;
            frostline_files::write(&target.join("config.json"), config.as_bytes())?;
            saved_model::write_tokenizer(&target, &cell.inputs)?;
            let served = data.tasks.iter().filter(|other| other.head == task.head);
            saved_model::write_notes(&target, self.last, served)?;
            let lora = encoder.extras.lora.as_ref();
            if let Some(lora) =
                lora.filter(|_| self.policies.iter().all(|policy| policy.learns_by_lora_alone()))
            {
                let name = &cell.settings.encoder.name;
                let peft = PeftExport {
                    config: encoder,
                    parameters: &parameters,
                    head: task.head,
                    kind,
                    encoder: name,
                };
                let target = named(adapter);
                frostline_files::create_own_folder(&target)?;
                frostline_files::write(&target.join("adapter_model.safetensors"), &peft.safetensors()?)?;
                frostline_files::write(&target.join("adapter_config.json"), peft.config(lora).as_bytes())?;
            }
        }
        Ok(())
    }
}
