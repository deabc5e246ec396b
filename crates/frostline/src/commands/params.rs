//! `frostline params`: parameter counts and the time that policies are predicted to save.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use frostline_freeze::{FrozenHeads, LayerDecay, Policy, PrefixMode, Timeline, Workload};
use frostline_model::{EncoderConfig, HeadKind, HeadShape};
use frostline_record::{AdapterSettings, FileName, LoraSettings, Settings};
use frostline_train::{extras, timeline};

use super::readable::Readable;
use super::{Compute, Stop, choose_backend, from_one, thread_pool};
use frostline_assets::Places;
use frostline_cell::calibration::{Calibration, Conditions, When};
use frostline_cell::params::{Naming, Outlook};
use frostline_cell::{cost, outcome, params};
use frostline_sweep::note;

/// Count an encoder's parameters and those that are trainable under a policy, and predict the time that it saves.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline params --encoder embedded:demo-distilbert --policy none,first-4,head-only
    frostline params --models DIR --encoder distilbert-base-multilingual-cased \\
        --policy first-4+embeddings --cached-prefix
    frostline params --encoder embedded:demo-distilbert --policy none,first-4 --calibrate
    frostline params --models DIR --encoder distilbert-base-multilingual-cased --memory 4G
    frostline params --encoder DIR --policy none --list --unfreeze-every 1 --layer-decay 0.5
    frostline params --encoder DIR --task classifier=2 --task ner=4 --policy none+head.ner --list --names hugging-face")]
pub struct Params {
    /// Folder of encoders.
    #[arg(long)]
    models: Option<PathBuf>,
    /// A folder in it, a path, or embedded:NAME.
    #[arg(long)]
    encoder: String,
    /// Number of tags of the classifier.
    #[arg(long, default_value_t = 17, value_parser = from_one())]
    labels: usize,
    /// The head: one linear layer, or for sentences DistilBERT's or BERT's head.
    #[arg(long, value_enum, default_value_t = NamedHead::Linear)]
    head: NamedHead,
    /// A model with several heads: one `NAME=LABELS` for each task, or `NAME=HEAD:LABELS`, as in
    /// `--task upos=17 --task genre=pooler:5`. Policies name them, as in none+head.genre.
    #[arg(long, value_name = "NAME=LABELS", value_parser = parse_task, conflicts_with_all = ["labels", "head"])]
    task: Vec<NamedTask>,
    /// What is frozen, for example first-4+embeddings. Several policies, separated by commas, are
    /// compared in a table with one row each.
    #[arg(long, value_delimiter = ',', default_value = "none")]
    policy: Vec<Policy>,
    /// Rank of the matrices of a policy with +lora.
    #[arg(long, default_value_t = LoraSettings::default().rank, value_parser = from_one())]
    lora_rank: usize,
    /// The layers that get LoRA matrices, joined by +, or all.
    #[arg(long, default_value_t = LoraSettings::default().matrices)]
    lora_matrices: String,
    /// Width inside the bottlenecks of a policy with +adapters.
    #[arg(long, default_value_t = AdapterSettings::default().size, value_parser = from_one())]
    adapter_size: usize,
    /// Sentences per step, for the prediction.
    #[arg(long, default_value_t = 16)]
    batch: u32,
    /// Mean subwords per sentence, for the prediction.
    #[arg(long, default_value_t = 21.0)]
    subwords: f64,
    /// Rows of the trained word table (subwords that occur in the data), for the prediction.
    #[arg(long, default_value_t = 12_000, value_parser = from_one())]
    word_rows: usize,
    /// Predict for a run that reads the constant output of frozen embeddings and lowest blocks from a
    /// cache.
    #[arg(long)]
    cached_prefix: bool,
    /// Time steps on this machine for some seconds, and predict milliseconds. The result is kept in the cache, and
    /// used by later calls without this option.
    #[arg(long)]
    calibrate: bool,
    /// What the operands of linear layers are rounded to, for milliseconds.
    #[arg(long, value_enum, default_value_t = Compute::F32)]
    precision: Compute,
    /// flex, amx, ndarray, cuda or wgpu, for milliseconds, if this build has it, or auto: the fastest that can compute here.
    #[arg(long)]
    backend: Option<String>,
    /// Say how many sentences of a step fit into this much memory, for example 8G or 900M.
    #[arg(long, value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Also list every parameter by name, the trainable ones and the frozen ones: its shape, from when it is trainable, and at
    /// which rate. A head is called as its task.
    #[arg(long)]
    list: bool,
    /// The names in the list: Frostline's paths, or those of Hugging Face's models.
    #[arg(long, value_enum, default_value_t = HeadNames::Frostline, requires = "list")]
    names: HeadNames,
    /// Peak learning rate, for the list.
    #[arg(long, default_value_t = 5e-5, value_parser = above_zero)]
    lr: f64,
    /// Learning rate of a block as a share of the one above it, for the list; 1 for the same rate.
    #[arg(long, default_value_t = 1.0, value_parser = above_zero)]
    layer_decay: f64,
    /// Gradual unfreezing: one more block every N epochs or steps, for the list.
    #[arg(long, value_name = "N")]
    unfreeze_every: Option<u64>,
    /// Print JSON: an object, or a list of objects for several policies.
    #[arg(long)]
    json: bool,
}

/// Whose names parameters have in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HeadNames {
    Frostline,
    HuggingFace,
}

/// The head on the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NamedHead {
    Linear,
    Distilbert,
    Pooler,
}

/// A task of a model with several heads.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedTask {
    name: String,
    head: NamedHead,
    labels: usize,
}

/// Reads bytes such as `8G`, `900M` or `1.5GiB`; the units are powers of 1,024, and one must be given.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    let factor = match text[number.len()..].to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B')
    {
        "K" => 1024.0,
        "M" => 1024.0_f64.powi(2),
        "G" => 1024.0_f64.powi(3),
        "T" => 1024.0_f64.powi(4),
        _ => f64::NAN,
    };
    let found = number.trim().parse::<f64>().map(|number| number * factor);
    let found = found.ok().filter(|bytes| bytes.is_finite() && *bytes >= 1.0);
    found
        .map(|bytes| bytes as u64)
        .ok_or_else(|| format!("`{text}`: expected a size with its unit, such as 8G or 900M"))
}

/// Reads a rate or a factor.
fn above_zero(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    found.ok_or_else(|| format!("`{text}`: expected a number above 0"))
}

/// Reads `NAME=LABELS` or `NAME=HEAD:LABELS`.
fn parse_task(text: &str) -> Result<NamedTask, String> {
    let expected =
        || format!("`{text}`: expected NAME=LABELS or NAME=HEAD:LABELS, as in upos=17 or genre=pooler:5");
    let (name, rest) = text.split_once('=').ok_or_else(expected)?;
    let (head, labels) = match rest.split_once(':') {
        None => (NamedHead::Linear, rest),
        Some((head, labels)) => (NamedHead::from_str(head, false).map_err(|_| expected())?, labels),
    };
    let labels = labels.parse().ok().filter(|labels| *labels > 0).ok_or_else(expected)?;
    name.parse::<FileName>().map_err(|error| format!("`{name}`: {error}"))?;
    Ok(NamedTask { name: name.into(), head, labels })
}

impl NamedHead {
    fn head_shape(self, labels: usize) -> HeadShape {
        let kind = match self {
            Self::Linear => HeadKind::Linear,
            Self::Distilbert => HeadKind::DistilBert,
            Self::Pooler => HeadKind::Pooler,
        };
        HeadShape { kind, ..HeadShape::linear(labels) }
    }
}

impl Params {
    /// Returns the heads with their names: the one of `--labels` and `--head`, or the ones of `--task`.
    fn named_heads(&self) -> Result<(Vec<&str>, Vec<HeadShape>)> {
        if self.task.is_empty() {
            return Ok((vec!["head"], vec![self.head.head_shape(self.labels)]));
        }
        let names: Vec<&str> = self.task.iter().map(|task| task.name.as_str()).collect();
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(*name)) {
            return Err(
                Stop::Arguments(format!("--task names `{}` twice; give each head once", twice.1)).into()
            );
        }
        let shape = |(at, task): (usize, &NamedTask)| {
            let name = if at == 0 { "head".into() } else { format!("head.{}", task.name) };
            HeadShape { name, ..task.head.head_shape(task.labels) }
        };
        Ok((names, self.task.iter().enumerate().map(shape).collect()))
    }

    /// How to describe the heads that a policy names, if it names one.
    fn about_heads(&self, policy: &Policy) -> String {
        let FrozenHeads::Named(names) = &policy.frozen().heads else { return String::new() };
        if !self.task.is_empty() {
            return String::new();
        }
        let each: String = names.iter().map(|name| format!(" --task {name}=LABELS")).collect();
        format!(". Here there is one head; describe all with --task, as in `--task TAGGER=17{each}`")
    }

    /// Returns the speed of this machine: measured now if that is asked for, else from the cache, if it has it.
    fn find_calibration(&self, places: &Places, encoder: &EncoderConfig) -> Result<Option<Calibration>> {
        let cache = frostline_assets::default_cache();
        let when = if self.calibrate { When::Always } else { When::Never };
        thread_pool(None)?.install(|| {
            let (backend, precision) = (choose_backend(self.backend.clone())?, self.precision.into());
            let conditions = Conditions::here(encoder, &backend, precision)?;
            let measure = || Calibration::measure(places, &self.encoder, &backend, precision);
            let mut note = |line: &str| note!("{line}");
            Calibration::find(cache.as_deref(), &conditions, when, measure, &mut note)
        })
    }

    /// Prints parameter counts and predictions.
    ///
    /// # Errors
    /// If the encoder's config cannot be read, a policy does not fit the encoder, or a setting is out of range.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let places = Places::new(None, self.models.clone());
        let files = places.encoder(&self.encoder, false)?;
        let config = &files.sources["config"];
        let text = String::from_utf8(frostline_assets::read(&config.path)?.into_owned())
            .with_context(|| format!("{}: not UTF-8", config.path))?;
        let config = EncoderConfig::parse(&text, &config.path)?;
        if self.batch == 0 || !self.subwords.is_finite() || self.subwords < 1.0 {
            let (batch, subwords) = (self.batch, self.subwords);
            let reason =
                format!("--batch {batch} --subwords {subwords} is an empty step; both must be at least 1");
            return Err(Stop::Arguments(reason).into());
        }
        let machine = self.find_calibration(&places, &config)?.map(|found| found.machine);
        let workload = Workload::typical(self.batch.into(), self.subwords);
        let backend = frostline_kernels::backend::choose_backend(self.backend.as_deref())?.name;
        let prefix = if self.cached_prefix { PrefixMode::ALL_CACHED } else { PrefixMode::Computed };
        let (names, heads) = self.named_heads()?;
        // A step trains one task; which one is not known here.
        let labels = heads.iter().map(|head| head.labels).sum::<usize>().div_ceil(heads.len());
        let mut settings = Settings::default();
        settings.lora.rank = self.lora_rank;
        settings.lora.matrices.clone_from(&self.lora_matrices);
        settings.adapters.size = self.adapter_size;
        settings.check().map_err(|error| Stop::Arguments(error.to_string()))?;
        let outlook = |policy: &Policy| {
            let name = policy.to_string();
            let policy = policy
                .resolve(frostline_cell::blocks::encoder_blocks(&config), &names)
                .map_err(|error| Stop::Arguments(format!("{error}{}", self.about_heads(policy))))?;
            let added = extras(&settings, &[&policy], config.depth)?;
            let config = EncoderConfig { extras: added, ..config.clone() };
            let table = cost::shape(&config, labels, self.word_rows);
            let reading = |workload: &Workload| cost::on_backend(table, workload.subwords as usize, &backend);
            let shape = reading(&workload);
            // Blocks that learn in turn cost the same, whichever they are.
            let typical = timeline(&policy, &settings, 1).typical().clone();
            let timeline = match self.unfreeze_every {
                None | Some(0) => Timeline::from(policy.clone()),
                Some(every) => Timeline::gradual(&policy, every),
            };
            let accounts = outcome::accounts(&config, &heads, &policy);
            let mut cost = cost::predict(&shape, &workload, &typical, prefix);
            cost.memory = Some(cost::memory(&shape, &workload, &typical));
            // Rows of the word table that the data do not need are not on the device.
            let unneeded = config.vocabulary.saturating_sub(self.word_rows) * config.hidden;
            let parameter_bytes = 4 * accounts.total.saturating_sub(unneeded as u64);
            let rates = LayerDecay::new(self.layer_decay, config.depth);
            let naming = Naming { heads: &names, hugging_face: self.names == HeadNames::HuggingFace };
            let list = || params::list(&config, (&heads, naming), &timeline, self.lr, rates);
            let parameters = self.list.then(list);
            let cached_prefix = self.cached_prefix;
            let step_ms = machine.map(|machine| cost::step_ms(&shape, &workload, &typical, prefix, &machine));
            let most_sentences = self.memory.map(|bytes| {
                params::fitting(bytes, |sentences| {
                    let workload = Workload::typical(sentences as f64, self.subwords);
                    parameter_bytes + cost::memory(&reading(&workload), &workload, &typical).total()
                })
            });
            Ok(Outlook {
                policy: name,
                accounts,
                cached_prefix,
                cost,
                step_ms,
                most_sentences,
                parameter_bytes,
                parameters,
            })
        };
        let outlooks = self.policy.iter().map(outlook).collect::<Result<Vec<_>>>()?;
        match &outlooks[..] {
            [one] if self.json => writeln!(out, "{}", serde_json::to_string_pretty(one)?)?,
            all if self.json => writeln!(out, "{}", serde_json::to_string_pretty(all)?)?,
            [one] => write!(Readable(out), "{}", params::table(one))?,
            all => write!(Readable(out), "{}", params::comparison(all))?,
        }
        for outlook in outlooks.iter().filter(|_| !self.json) {
            write!(Readable(out), "{}", params::listing(outlook))?;
        }
        Ok(())
    }
}
