//! `frostline pretrain`: makes a small encoder, such as the demo's.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{Stop, choose_backend, from_one, thread_pool};
use frostline_cell::pretrain::Pretrain as Job;

/// Train a small encoder from random weights by masked-language modelling.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline pretrain --folder my-encoder --text sentences.txt --epochs 5")]
pub struct Pretrain {
    /// Folder with config.json and tokenizer; model.safetensors is written to it.
    #[arg(long)]
    folder: PathBuf,
    /// Replace an existing model.safetensors.
    #[arg(long)]
    force: bool,
    /// Text file: a sentence per line, words separated by spaces.
    #[arg(long)]
    text: PathBuf,
    /// Passes over the text.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    epochs: u32,
    /// Sentences per step.
    #[arg(long, default_value_t = 64, value_parser = from_one())]
    batch: usize,
    /// Peak learning rate.
    #[arg(long, default_value_t = 1e-3)]
    lr: f64,
    /// Seed of the initial weights, order, masks and dropout.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// flex, amx, ndarray, cuda or wgpu, if this build has it, or auto: the fastest that can compute here.
    #[arg(long)]
    backend: Option<String>,
}

impl Pretrain {
    /// Trains the encoder and writes its weights.
    ///
    /// # Errors
    /// If a file cannot be read or written, weights exist and `--force` is not given, or training diverges.
    pub fn run(self) -> Result<()> {
        let Self { folder, force, text, epochs, batch, lr, seed, backend } = self;
        let job = Job { folder, text, epochs, batch, lr, seed };
        let target = job.target();
        if target.exists() && !force {
            return Err(Stop::Arguments(format!(
                "{} exists already and would be replaced; give another folder, or --force to replace it",
                target.display()
            ))
            .into());
        }
        thread_pool(None)?.install(|| job.run_on(&choose_backend(backend)?))
    }
}
