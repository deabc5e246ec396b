//! `frostline pretrain`: a small encoder from random weights by masked-language modelling.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use frostline_align::{AlignOptions, Aligner};
use frostline_kernels::Train;
use frostline_model::{EncoderConfig, HuggingFaceExport, RandomInit, Vocabulary, snapshot};
use frostline_train::{PretrainConfig, pretrain};
use rayon::prelude::*;

use frostline_kernels::backend::{self, Work};

/// The encoder to pretrain and the output folder.
pub struct Pretrain {
    /// Folder with `config.json` and the tokenizer; [`Self::target`] is written into it.
    pub folder: PathBuf,
    /// One sentence of whitespace-separated words per line.
    pub text: PathBuf,
    /// Passes over the text.
    pub epochs: u32,
    /// Sentences per step.
    pub batch: usize,
    /// Peak learning rate.
    pub lr: f64,
    /// The seed.
    pub seed: u64,
}

/// The largest file that is read: a config, or text to pretrain on.
///
/// # Units
/// Bytes.
const MOST_TEXT: u64 = 4 << 30;

impl Pretrain {
    /// Returns the path of the weights; an existing file is replaced.
    #[must_use]
    pub fn target(&self) -> PathBuf {
        self.folder.join("model.safetensors")
    }

    /// Trains on this backend, with the threads of the caller's pool, and writes the weights.
    ///
    /// # Errors
    /// If a file cannot be read or written, training diverges, or the backend cannot run here.
    pub fn run_on(&self, backend: &str) -> Result<()> {
        backend::on(backend, self)?
    }
}

impl Work for &Pretrain {
    type Output = Result<()>;

    fn run<B: Train>(self, device: &B::Device) -> Result<()> {
        let read = |path: &Path| frostline_files::read_text(path, MOST_TEXT);
        let place = self.folder.join("config.json");
        let encoder = EncoderConfig::parse(&read(&place)?, &place.display().to_string())?;
        let options =
            AlignOptions { max_length: encoder.longest_input().min(128), ..AlignOptions::default() };
        let aligner = Aligner::from_folder(&self.folder)?.with_options(options)?;
        let lines = read(&self.text)?;
        let lines: Vec<&str> = lines.lines().filter(|line| !line.trim().is_empty()).collect();
        let text = lines
            .par_iter()
            .map(|line| Ok(aligner.align(&line.split_whitespace().collect::<Vec<_>>())?.ids))
            .collect::<Result<Vec<_>>>()?;
        let text: Vec<Vec<u32>> = text.into_iter().filter(|ids| !ids.is_empty()).collect();
        let mask_id = aligner.id_of("[MASK]").context("the tokenizer has no [MASK]")?;
        let ids = text.iter().flatten().chain([&mask_id]);
        if let Some(id) = ids.max().filter(|id| **id as usize >= encoder.vocabulary) {
            bail!(
                "{}: `vocab_size` is {}, but the tokenizer gives the id {id}; they do not belong together",
                place.display(),
                encoder.vocabulary
            );
        }
        let config = PretrainConfig {
            seed: self.seed,
            epochs: self.epochs,
            batch: self.batch,
            lr: self.lr,
            masked: 0.15,
            mask_id,
            special_ids: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
                .iter()
                .filter_map(|t| aligner.id_of(t))
                .collect(),
        };
        let mut tell = |step, steps, loss| {
            if step % 1000 == 0 || step == steps {
                let _ = writeln!(std::io::stderr(), "step {step} of {steps}: loss {loss:.4} nats");
            }
        };
        let trained = pretrain::<B>(&encoder, &text, &config, device, &mut tell)?;
        let parameters =
            snapshot(&trained).into_iter().map(|(path, values)| (format!("encoder.{path}"), values));
        let export = HuggingFaceExport {
            config: &encoder,
            parameters: &parameters.collect(),
            head: 0,
            vocabulary: &Vocabulary::full(encoder.vocabulary),
            source: &RandomInit::new(0, 0.0),
            other_rows: 1.0,
        };
        let target = self.target();
        frostline_files::write(&target, &export.safetensors()?)?;
        let _ = writeln!(std::io::stderr(), "{}", target.display());
        Ok(())
    }
}
