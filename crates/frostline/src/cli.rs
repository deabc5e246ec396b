//! The command line: the list of commands, and the exit codes of their errors.
//!
//! # To add a command
//!
//! Its `Args` with `after_help` that shows examples, which a test in `crates/frostline/src/examples.rs` requires
//! and parses.
//!
//! A file in `crates/frostline/src/commands/`, its variant and its arm in `cli.rs`. Computations belong in a
//! library. `cargo xtask` has only what developers need.

use std::ffi::OsString;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::Result;
use clap::{CommandFactory as _, Parser, Subcommand};
use frostline_args::{
    AdviseArgs, BeginArgs, CancelArgs, FetchArgs, PlanArgs, PublishArgs, ReportArgs, ScoreBlocksArgs,
    StatusArgs, SweepArgs, SweepCommand, WorkArgs,
};
use frostline_kernels::backend;
use frostline_sweep::{Ending, Place, Program, exit_code, fault};
use frostline_sweep::{note, trace};
use frostline_watch::args::{ServeArgs, WatchArgs};

use crate::commands::{
    Stop, align::Align, audit::Audit, bench::Bench, check::Check, check_config, completions::Completions,
    conllu::Conllu, doctor::Doctor, export::Export, is_closed_pipe, logits::Logits, man::Man, params::Params,
    plans::Plans, pretrain::Pretrain, push::Push, score::ScoreCommand, tag::Tag, tagger_server::TaggerServer,
    version::Version, worker::Worker, write_error,
};
use crate::log;

/// How much of a pretrained encoder must thaw to learn a task: run studies of freezing, and use the trained models.
#[derive(Parser)]
#[command(name = "frostline", version, long_version = long_version(), max_term_width = 100)]
#[command(after_help = "\
Examples:
    frostline sweep --lang en,pcm                           # a study on the embedded demo
    frostline sweep --plan paper --data DIR --models DIR    # a built-in plan on files of yours
    frostline tag --run study/cells/CELL --input new.conllu
    frostline doctor                                        # what this machine has and lacks")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: ProgramCommand,
}

#[derive(Subcommand)]
enum ProgramCommand {
    /// Run a study: languages x policies x seeds, ending in a report
    Sweep(Box<SweepArgs>),
    /// Show what a sweep would run: its cells, what each is predicted to cost, and where each input comes from
    Plan(Box<PlanArgs>),
    /// Predict what policies lose and save on a treebank, and say which one to take
    Advise(Box<AdviseArgs>),
    /// Score an encoder's blocks before training: which of them a task asks to change most
    ScoreBlocks(Box<ScoreBlocksArgs>),
    /// Write a sweep's folder for `frostline work`, and run nothing
    Begin(Box<BeginArgs>),
    /// Run cells of an existing sweep, alongside other processes
    Work(WorkArgs),
    /// Show how far a sweep is: what is recorded, what failed, and which processes run cells
    Status(StatusArgs),
    /// End the jobs of a cluster that were submitted for a sweep
    Cancel(CancelArgs),
    /// Follow a sweep that runs somewhere: in this terminal, or as JSON lines
    Watch(WatchArgs),
    /// Serve the live page of a sweep's folder to browsers on this machine
    Serve(ServeArgs),
    /// Write a sweep's report again from its stored records
    Report(ReportArgs),
    /// Copy a sweep's records for publication, without words, models and paths
    Publish(PublishArgs),
    /// Download treebanks and encoders into the cache
    Fetch(FetchArgs),
    Push(Push),
    Plans(Plans),
    Tag(Tag),
    TaggerServer(TaggerServer),
    Export(Export),
    Audit(Audit),
    Score(ScoreCommand),
    Params(Params),
    Conllu(Conllu),
    Align(Align),
    Logits(Logits),
    Pretrain(Pretrain),
    Bench(Bench),
    Doctor(Doctor),
    #[command(hide = true)]
    Worker(Worker),
    #[command(hide = true)]
    Check(Check),
    #[command(hide = true)]
    Version(Version),
    Completions(Completions),
    Man(Man),
}

/// Runs one command and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command = Cli::parse_from(arguments).command;
    let trace = match &command {
        ProgramCommand::Sweep(args) => args.trace_file().map(PathBuf::from),
        ProgramCommand::Work(args) => args.trace_file().map(PathBuf::from),
        _ => std::env::var_os(trace::VARIABLE).map(PathBuf::from),
    };
    log::start_log(trace.as_deref());
    match command {
        ProgramCommand::Sweep(args) => exit_code(args.into_command().and_then(run_sweep)),
        ProgramCommand::Plan(args) => exit_code(run_sweep(args.into_command())),
        ProgramCommand::Advise(args) => exit_code(run_sweep(args.into_command())),
        ProgramCommand::ScoreBlocks(args) => exit_code(run_sweep(args.into_command())),
        ProgramCommand::Begin(args) => exit_code(run_sweep(args.into_command())),
        ProgramCommand::Status(args) => exit_code(frostline_sweep::print_status(&args.folder)),
        ProgramCommand::Cancel(args) => exit_code(frostline_sweep::cancel_cluster_jobs(&args.folder)),
        ProgramCommand::Work(args) => {
            exit_code(frostline_sweep::work(&args.into_request(), Program::current_program))
        }
        ProgramCommand::Watch(args) => exit_code(frostline_watch::watch(&args)),
        ProgramCommand::Serve(args) => exit_code(frostline_watch::serve(&args)),
        ProgramCommand::Report(args) => {
            exit_code(frostline_sweep::report(&args.folders, args.out.as_deref()))
        }
        ProgramCommand::Publish(args) => exit_code(frostline_sweep::publish(&args.folder, &args.to)),
        ProgramCommand::Fetch(args) => {
            let check = Some(check_config as frostline_sweep::ConfigCheck);
            exit_code(frostline_sweep::fetch(&args.into_request(), &Place::current_folder(), check))
        }
        ProgramCommand::Push(args) => exit_code(args.run()),
        command => match run_printing(command) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
            Err(error) => {
                if !Stop::is_silent(&error) {
                    note!("error: {error:#}");
                }
                ExitCode::from(Stop::exit_code(&error))
            }
        },
    }
}

/// Carries out what a command of a sweep asks for, with this program as its worker.
fn run_sweep(command: SweepCommand) -> fault::CommandResult<Ending> {
    // A name that only a newer build has cannot occur: both lists are of this build.
    let default = backend::default_name().and_then(|name| name.parse().ok()).unwrap_or_default();
    command.run_sweep(&Place::current_folder(), default, Program::current_program)
}

/// Runs a command that prints to standard output.
fn run_printing(command: ProgramCommand) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout());
    let result = match command {
        ProgramCommand::Plans(plans) => plans.run(&mut out),
        ProgramCommand::Tag(tag) => tag.run(&mut out),
        ProgramCommand::TaggerServer(server) => server.run(),
        ProgramCommand::Export(export) => export.run(&mut out),
        ProgramCommand::Audit(audit) => audit.run(&mut out),
        ProgramCommand::Score(score) => score.run(&mut out),
        ProgramCommand::Params(params) => params.run(&mut out),
        ProgramCommand::Conllu(conllu) => conllu.run(&mut out),
        ProgramCommand::Align(align) => align.run(&mut out),
        ProgramCommand::Logits(logits) => logits.run(&mut out),
        ProgramCommand::Pretrain(pretrain) => pretrain.run(),
        ProgramCommand::Bench(bench) => bench.run(&mut out),
        ProgramCommand::Doctor(doctor) => doctor.run(&mut out),
        // A worker locks standard output itself and flushes it after every event.
        ProgramCommand::Worker(worker) => worker.run(),
        ProgramCommand::Check(check) => check.run(&mut out),
        ProgramCommand::Version(version) => version.run(&mut out),
        ProgramCommand::Completions(completions) => completions.run(Cli::command(), &mut out),
        ProgramCommand::Man(man) => man.run(Cli::command(), &mut out),
        ProgramCommand::Sweep(_)
        | ProgramCommand::Plan(_)
        | ProgramCommand::Advise(_)
        | ProgramCommand::ScoreBlocks(_)
        | ProgramCommand::Begin(_)
        | ProgramCommand::Status(_)
        | ProgramCommand::Cancel(_)
        | ProgramCommand::Watch(_)
        | ProgramCommand::Serve(_)
        | ProgramCommand::Work(_)
        | ProgramCommand::Report(_)
        | ProgramCommand::Publish(_)
        | ProgramCommand::Fetch(_)
        | ProgramCommand::Push(_) => {
            unreachable!("handled in `run`")
        }
    };
    // Output that was written before an error is flushed too. Faults that could not all be printed were not printed.
    let flushed = out.flush().map_err(write_error);
    match result {
        Err(error) if !Stop::is_silent(&error) => Err(error),
        Err(faults) => match flushed {
            Err(error) if !is_closed_pipe(&error) => Err(error),
            _ => Err(faults),
        },
        Ok(()) => flushed,
    }
}

/// Version, backends and instruction set, for bug reports.
fn long_version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let names = backend::names();
        let isa = names.first().map(|name| frostline_cell::version::isa(name));
        let isa = match isa {
            Some(Ok(isa)) => isa,
            Some(Err(error)) => error.to_string(),
            None => "none".into(),
        };
        format!(
            "{}\ncode: {}\nbackends: {}\ninstruction set: {isa}",
            env!("CARGO_PKG_VERSION"),
            frostline_cell::version::code(),
            names.join(", "),
        )
    })
}
