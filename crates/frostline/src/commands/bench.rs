//! `frostline bench`: measures this build on this machine, and prints one line of JSON, or a step in parts as a table.
//!
//! `cargo xtask bench` repeats these measurements, compares them with other programs and makes tables of them.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use frostline_assets::Places;
use frostline_freeze::Policy;

use super::{Compute, Stop, choose_backend, from_one, thread_pool};
use frostline_cell::bench::{Folders, Peak, Reading, Step, Tagging};
use frostline_cell::profile::table;
use frostline_tagger::{Options, Tagger};

/// Time parts of this build on this machine, and print one line of JSON.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline bench gemm
    frostline bench step --encoder embedded:demo-distilbert --treebank embedded:en")]
pub struct Bench {
    #[command(subcommand)]
    what: BenchSubject,
}

#[derive(Subcommand)]
enum BenchSubject {
    /// Training steps of one policy
    Step(Box<StepArgs>),
    /// The fastest large matrix product: this build's peak on this machine
    Gemm(GemmArgs),
    /// Parsing a treebank and aligning its words with subwords
    #[command(
        after_help = "Examples:\n    frostline bench read --encoder embedded:demo-distilbert --treebank embedded:en"
    )]
    Read(BenchInputs),
    /// Tagging a treebank's test file with a trained model
    Tag(TagArgs),
}

#[derive(Args)]
struct BenchInputs {
    /// Folder of encoders
    #[arg(long)]
    models: Option<PathBuf>,
    /// A folder in it, a path, or embedded:NAME
    #[arg(long)]
    encoder: String,
    /// A folder with a treebank's files, or embedded:NAME
    #[arg(long)]
    treebank: String,
}

#[derive(Args)]
struct BenchMachine {
    /// Threads [default: all]
    #[arg(long)]
    threads: Option<usize>,
    /// flex, amx, ndarray, cuda or wgpu, if this build has it, or auto: the fastest that can compute here
    #[arg(long)]
    backend: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline bench step --encoder embedded:demo-distilbert --treebank embedded:en \\
        --policy first-4+embeddings --prefix-cache
    frostline bench step --encoder embedded:demo-distilbert --treebank embedded:en --profile")]
struct StepArgs {
    #[command(flatten)]
    inputs: BenchInputs,
    #[command(flatten)]
    machine: BenchMachine,
    /// Draw the encoder's weights at random instead of reading them
    #[arg(long)]
    random_init: bool,
    /// What is frozen, for example first-4+embeddings
    #[arg(long, default_value = "none")]
    policy: Policy,
    /// Steps that are timed
    #[arg(long, default_value_t = 30, value_parser = from_one())]
    steps: usize,
    /// Steps before them that are not
    #[arg(long, default_value_t = 3)]
    warmup: usize,
    /// Sentences per step
    #[arg(long, default_value_t = 16, value_parser = from_one())]
    batch: usize,
    /// Draw batches from the first N train sentences; 0 means all
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// What the operands of linear layers are rounded to
    #[arg(long, value_enum, default_value_t = Compute::F32)]
    precision: Compute,
    /// Switch off dropout in frozen parts, compute the constant prefix before the first step, and read it
    #[arg(long)]
    prefix_cache: bool,
    /// The seed of batches, dropout and random weights
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Count the kernels, uploads and reads of a step, instead of logging its loss
    #[arg(long)]
    trace_device: bool,
    /// Show a step in parts: how long each kind of operation takes, what it does, and which share of this machine's
    /// peak it reaches. Takes all steps twice, with and without timers; for the backend flex
    #[arg(long, conflicts_with = "trace_device")]
    profile: bool,
    /// With --profile, print JSON instead of a table
    #[arg(long, requires = "profile")]
    json: bool,
    /// Instead of sentences of the treebank, random ones of this many subwords
    #[arg(long, value_name = "SUBWORDS", value_parser = from_one())]
    length: Option<usize>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline bench gemm --threads 1 --precision bf16")]
struct GemmArgs {
    #[command(flatten)]
    machine: BenchMachine,
    /// What the operands are rounded to
    #[arg(long, value_enum, default_value_t = Compute::F32)]
    precision: Compute,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline bench tag --run study/cells/CELL --treebank embedded:en")]
struct TagArgs {
    /// Folder of a cell that saved its model, or of the model
    #[arg(long)]
    run: PathBuf,
    /// A folder with a treebank's files, or embedded:NAME
    #[arg(long)]
    treebank: String,
    /// What the operands of linear layers are rounded to [default: as in training]
    #[arg(long, value_enum)]
    precision: Option<Compute>,
    #[command(flatten)]
    machine: BenchMachine,
}

impl Bench {
    /// Measures and prints.
    ///
    /// # Errors
    /// If an input cannot be read or does not fit the options.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let found = match self.what {
            BenchSubject::Step(args) => args.run()?,
            BenchSubject::Gemm(GemmArgs { machine, precision }) => {
                let backend = choose_backend(machine.backend)?;
                let measure = || Peak::measure(&backend, precision.into());
                serde_json::to_string(&thread_pool(machine.threads)?.install(measure)?)?
            }
            BenchSubject::Read(inputs) => serde_json::to_string(
                &thread_pool(None)?.install(|| Reading::measure(&inputs.find_folders(false)?))?,
            )?,
            BenchSubject::Tag(TagArgs {
                run,
                treebank,
                precision,
                machine: BenchMachine { threads, backend },
            }) => {
                let (precision, backend) = (precision.map(Into::into), Some(choose_backend(backend)?));
                let options = Options { threads, backend, precision, ..Options::default() };
                let tagger = Tagger::open(&run, &options).map_err(super::tag::with_exit_code)?;
                serde_json::to_string(&Tagging::measure(&tagger, &treebank)?)?
            }
        };
        writeln!(out, "{found}")?;
        Ok(())
    }
}

impl BenchInputs {
    fn find_folders(&self, weights: bool) -> Result<Folders> {
        let places = Places::new(None, self.models.clone());
        Folders::find(&places, [&self.encoder, &self.treebank], weights)
    }
}

impl StepArgs {
    fn run(self) -> Result<String> {
        let folders = self.inputs.find_folders(!self.random_init)?;
        self.check_options(&folders)?;
        let backend = choose_backend(self.machine.backend)?;
        if self.profile && !["flex", "amx"].contains(&backend.as_str()) {
            let reason = format!(
                "--profile times the operations of the backend flex, not of {backend}; give --backend flex, or for a GPU \
                 --trace-device instead of --profile"
            );
            return Err(Stop::Arguments(reason).into());
        }
        let step = Step {
            random_init: self.random_init,
            policy: self.policy,
            steps: self.steps,
            warmup: self.warmup,
            batch: self.batch,
            first: self.first,
            seed: self.seed,
            precision: self.precision.into(),
            prefix_cache: self.prefix_cache,
            length: self.length,
            trace_device: self.trace_device,
            profile: self.profile,
        };
        let timed = thread_pool(self.machine.threads)?.install(|| step.time(&folders, &backend))?;
        match &timed.profile {
            Some(profile) if !self.json => Ok(table(profile).trim_end().into()),
            _ => Ok(serde_json::to_string(&timed)?),
        }
    }

    /// Checks that this encoder can take a step with these options.
    fn check_options(&self, folders: &Folders) -> Result<()> {
        let (encoder, name) = (folders.encoder()?, &self.inputs.encoder);
        let longest = encoder.longest_input();
        if let Some(length) = self.length.filter(|length| *length > longest) {
            let reason = format!("{name} has {longest} positions, but --length is {length}; lower it");
            return Err(Stop::Arguments(reason).into());
        }
        let policy = self
            .policy
            .resolve(frostline_cell::blocks::encoder_blocks(&encoder), &["head"])
            .map_err(|error| Stop::Arguments(error.to_string()))?;
        if policy.freezes_all() {
            let reason = "freezes everything, so there is no step to time; leave the head, as head-only does";
            return Err(Stop::Arguments(format!("--policy {policy} {reason}")).into());
        }
        Ok(())
    }
}
