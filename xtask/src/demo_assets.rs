//! `cargo xtask demo-assets`: the embedded demo made again, text by its grammars and weights by
//! the runner. The results are committed; see [`crate::demo`].

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::args::DemoAssetsArgs;
use crate::build::{Profile, prepare};
use crate::demo;
use frostline_sweep::Ending;
use frostline_sweep::Program;
use frostline_sweep::fault::{Blame as _, Result};
use frostline_sweep::say;

use crate::workspace;

/// The seed of the pretrained weights.
const SEED: u64 = 2026;

/// Makes text and vocabulary, then the weights.
pub(crate) fn make(args: &DemoAssetsArgs) -> Result<Ending> {
    let default = || workspace::root().join("crates").join("frostline-assets").join("demo");
    let into = args.into.clone().unwrap_or_else(default);
    for (name, bytes) in demo::generate() {
        let changed = write(&into.join(&name), &bytes).environment()?;
        say!("{name:<40} {}", if changed { "written" } else { "as it was" });
    }
    if !args.text_only {
        let runner = prepare(args.backend, args.runner.as_deref(), Profile::Runner)?;
        pretrain(args, &runner, &into.join("demo-distilbert")).environment()?;
    }
    Ok(Ending::Done)
}

/// Writes a file where it differs, and says whether it did.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    frostline_files::write(path, bytes)?;
    Ok(true)
}

fn pretrain(args: &DemoAssetsArgs, runner: &Program, encoder: &Path) -> anyhow::Result<()> {
    let text = std::env::temp_dir().join(format!("frostline-pretraining-{}.txt", std::process::id()));
    let sentences = demo::pretraining_text(args.sentences);
    fs::write(&text, sentences.join("\n") + "\n").with_context(|| text.display().to_string())?;
    say!("pretrain  {} sentences, {} epochs", sentences.len(), args.epochs);
    let status = Command::new(&runner.path)
        .args(["pretrain", "--force", "--backend", &runner.backend.to_string(), "--seed", &SEED.to_string()])
        .args(["--epochs", &args.epochs.to_string(), "--batch", &args.batch.to_string()])
        .args(["--lr", &args.lr.to_string()])
        .arg("--folder")
        .arg(encoder)
        .arg("--text")
        .arg(&text)
        .stdin(Stdio::null())
        .status();
    let _ = fs::remove_file(&text);
    if !status.context("the runner cannot be started")?.success() {
        bail!("the runner could not pretrain the demo's encoder; it said why above");
    }
    say!("pretrain  {}", frostline_sweep::shown(&encoder.join("model.safetensors")));
    Ok(())
}
