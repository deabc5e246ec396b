//! The command line of the runner. Each command is a few lines over a library.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use frostline::{audit, backend, cell, check, params, pretrain::Pretrain, version, worker};
use frostline_freeze::Policy;
use frostline_model::EncoderConfig;

/// burn allocates fresh tensors at every step; this allocator hands pages back out without the
/// system's help, which halves a step's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the cells of freezing experiments, and answers questions about encoders.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run cells: jobs in on standard input, events out on standard output (JSON lines).
    Worker {
        /// flex, ndarray or cuda, as far as this build has it.
        #[arg(long)]
        backend: Option<String>,
        /// Threads to compute with; all processors by default.
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Say what this build is.
    Version {
        /// As one line of JSON.
        #[arg(long)]
        json: bool,
        /// Check that this backend's device is there.
        #[arg(long)]
        backend: Option<String>,
    },
    /// Make a small encoder from random weights by masked-language modelling.
    Pretrain {
        /// Folder with config.json and tokenizer; model.safetensors is written into it.
        #[arg(long)]
        folder: PathBuf,
        /// Text file: a sentence per line, words separated by spaces.
        #[arg(long)]
        text: PathBuf,
        /// Passes over the text.
        #[arg(long, default_value_t = 10)]
        epochs: u32,
        /// Sentences per step.
        #[arg(long, default_value_t = 64)]
        batch: usize,
        /// Peak learning rate.
        #[arg(long, default_value_t = 1e-3)]
        lr: f64,
        /// Seed of first weights, order, masks and dropout.
        #[arg(long, default_value_t = 42)]
        seed: u64,
        /// flex, ndarray or cuda, as far as this build has it.
        #[arg(long)]
        backend: Option<String>,
    },
    /// Try what can go wrong before a cell starts: a JSON list of cells on standard input.
    Check,
    /// Show that saved models kept every bit of what was frozen, and moved everything else.
    Audit {
        /// Folders of cells whose model was saved (`--set save.model=true`).
        #[arg(required = true)]
        cells: Vec<PathBuf>,
    },
    /// Count an encoder's parameters and those that learn under a policy.
    Params {
        /// Folder of encoders.
        #[arg(long)]
        models: Option<PathBuf>,
        /// A folder in it, a path, or embedded:NAME.
        #[arg(long)]
        encoder: String,
        /// Tags of the classifier on top.
        #[arg(long, default_value_t = 17)]
        labels: usize,
        /// What is frozen, for example first-4+embeddings.
        #[arg(long, default_value = "none")]
        policy: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Worker { backend, threads } => {
            let backend = named(backend)?;
            pool(threads)?.install(|| worker::serve(&backend))
        }
        Command::Version { json, backend } => {
            let backend = named(backend)?;
            let made_by = version::made_by(&backend)?;
            let backends = backend::names();
            if json {
                let (version, code, isa) = (made_by.version, made_by.code, made_by.isa);
                println!(
                    "{}",
                    serde_json::json!({"version": version, "code": code, "backends": backends, "isa": isa})
                );
            } else {
                println!("frostline {} (code {})", made_by.version, made_by.code);
                println!("backends: {}", backends.join(", "));
                println!("{}: {} on {}", made_by.backend, made_by.isa, made_by.device);
            }
            Ok(())
        }
        Command::Pretrain { folder, text, epochs, batch, lr, seed, backend } => {
            let job = Pretrain { folder, text, epochs, batch, lr, seed };
            pool(None)?.install(|| frostline::backend::on(&named(backend)?, &job)?)
        }
        Command::Check => {
            let cells: Vec<frostline_record::Cell> = serde_json::from_reader(std::io::stdin().lock())
                .context("standard input: no list of cells")?;
            check::cells(&cells)
        }
        Command::Audit { cells } => {
            let mut violated = 0;
            for folder in &cells {
                let (record, found) = audit::cell(folder)?;
                let verdict = if found.holds() { "holds" } else { "VIOLATED" };
                let (title, frozen, moved) = (record.cell.title(), found.frozen, found.moved);
                println!(
                    "{title}: {frozen} frozen tensors bit-identical, {moved} trainable ones moved: {verdict}"
                );
                found.changed.iter().for_each(|path| println!("  frozen, but changed: {path}"));
                found.unmoved.iter().for_each(|path| println!("  trainable, but the same: {path}"));
                violated += usize::from(!found.holds());
            }
            anyhow::ensure!(violated == 0, "{violated} of {} cells violate their policy", cells.len());
            Ok(())
        }
        Command::Params { models, encoder, labels, policy, json } => {
            let places = frostline_assets::Places::new(None, models);
            let files = places.encoder(&encoder, false)?;
            let config = &files.sources["config"];
            let text = String::from_utf8(frostline_assets::read(&config.path)?.into_owned())
                .with_context(|| format!("{}: no UTF-8", config.path))?;
            let config = EncoderConfig::parse(&text, &config.path)?;
            let accounts = cell::accounts(&config, labels, &Policy::parse(&policy, config.depth)?);
            if json {
                println!("{}", serde_json::to_string_pretty(&accounts)?);
            } else {
                print!("{}", params::table(&accounts));
            }
            Ok(())
        }
    }
}

/// The threads to compute with. Everything runs inside the pool, so that small parallel loops need
/// no hand-over.
fn pool(threads: Option<usize>) -> Result<rayon::ThreadPool> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).stack_size(16 << 20).build()?)
}

/// The backend asked for, or this build's preferred one.
fn named(backend: Option<String>) -> Result<String> {
    let preferred = || backend::names().first().map(|name| (*name).to_string());
    backend.or_else(preferred).context("this build has no backend; build with --features flex")
}
