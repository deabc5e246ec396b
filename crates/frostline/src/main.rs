//! The command line of the runner: which commands there are, and what an error's exit code is.

use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use frostline::commands::{
    Stop, align::Align, audit::Audit, bench::Bench, check::Check, conllu::Conllu, data::Data, export::Export,
    is_closed_pipe, logits::Logits, params::Params, pretrain::Pretrain, score::Score, tag::Tag,
    version::Version, worker::Worker,
};

/// burn allocates fresh tensors at every step; this allocator hands pages back out without the
/// system's help, which halves a step's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lets the allocator keep what a step has freed for the next step. Giving pages back and having
/// them zeroed again took up to a sixth of a step, for a few percent less memory.
fn keep_pages() {
    /// `mi_option_purge_delay`, which the bindings do not name.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    // SAFETY: sets an option of the allocator; -1 means never.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) };
}

/// Runs the cells of freezing experiments, and answers questions about encoders and treebanks.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Worker(Worker),
    Check(Check),
    Data(Data),
    Audit(Audit),
    Export(Export),
    Params(Params),
    Pretrain(Pretrain),
    Tag(Tag),
    Logits(Logits),
    Align(Align),
    Score(Score),
    Conllu(Conllu),
    Bench(Bench),
    Version(Version),
}

fn main() -> ExitCode {
    keep_pages();
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            if !Stop::is_silent(&error) {
                eprintln!("error: {error:#}");
            }
            ExitCode::from(Stop::exit_code(&error))
        }
    }
}

fn run(command: Command) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout());
    let done = match command {
        // It tells its events line by line, by itself.
        Command::Worker(worker) => worker.run(),
        Command::Check(check) => check.run(),
        Command::Data(data) => data.run(&mut out),
        Command::Audit(audit) => audit.run(&mut out),
        Command::Export(export) => export.run(&mut out),
        Command::Params(params) => params.run(&mut out),
        Command::Pretrain(pretrain) => pretrain.run(),
        Command::Tag(tag) => tag.run(&mut out),
        Command::Logits(logits) => logits.run(&mut out),
        Command::Align(align) => align.run(&mut out),
        Command::Score(score) => score.run(&mut out),
        Command::Conllu(conllu) => conllu.run(&mut out),
        Command::Bench(bench) => bench.run(&mut out),
        Command::Version(version) => version.run(&mut out),
    };
    // Also what was written before an error.
    let flushed = out.flush();
    done?;
    Ok(flushed?)
}
