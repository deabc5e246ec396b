//! `frostline params`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use frostline_freeze::{LayerDecay, Policy, PrefixMode, Timeline, Workload};
use frostline_model::{EncoderConfig, HeadKind, HeadShape};
use frostline_record::{AdapterSettings, LoraSettings, Settings};
use frostline_train::extras;

use super::Stop;
use frostline_cell::params::Outlook;
use frostline_cell::{cost, outcome, params};

/// Count an encoder's parameters and those that learn under a policy, and predict its speed-up.
#[derive(Args)]
pub struct Params {
    /// Folder of encoders.
    #[arg(long)]
    models: Option<PathBuf>,
    /// A folder in it, a path, or embedded:NAME.
    #[arg(long)]
    encoder: String,
    /// Tags of the classifier on top.
    #[arg(long, default_value_t = 17)]
    labels: usize,
    /// What stands on the encoder: one linear layer, or for sentences DistilBERT's or BERT's head.
    #[arg(long, value_enum, default_value_t = Head::Linear)]
    head: Head,
    /// What is frozen, for example first-4+embeddings. Several policies, separated by commas, are
    /// compared in one row each.
    #[arg(long, value_delimiter = ',', default_value = "none")]
    policy: Vec<Policy>,
    /// Rank of the matrices of a policy with +lora.
    #[arg(long, default_value_t = LoraSettings::default().rank)]
    lora_rank: usize,
    /// The layers that have them, joined by +, or all.
    #[arg(long, default_value_t = LoraSettings::default().matrices)]
    lora_matrices: String,
    /// Width inside the bottlenecks of a policy with +adapters.
    #[arg(long, default_value_t = AdapterSettings::default().size)]
    adapter_size: usize,
    /// Sentences per step, for the prediction.
    #[arg(long, default_value_t = 16)]
    batch: u32,
    /// Mean subwords per sentence, for the prediction.
    #[arg(long, default_value_t = 21.0)]
    subwords: f64,
    /// Rows of the trained word table, for the prediction: subwords that occur in the data.
    #[arg(long, default_value_t = 12_000)]
    word_rows: usize,
    /// Predict for a run that reads the constant output of frozen embeddings and lowest blocks
    /// from a cache.
    #[arg(long)]
    cached_prefix: bool,
    /// List every parameter too: its shape, whether it learns, from when, and at which rate.
    #[arg(long)]
    list: bool,
    /// Peak learning rate, for the list.
    #[arg(long, default_value_t = 5e-5)]
    lr: f64,
    /// How much slower a block learns than the one above it, for the list.
    #[arg(long, default_value_t = 1.0)]
    layer_decay: f64,
    /// Gradual unfreezing: one block more every so many epochs or steps, for the list.
    #[arg(long, value_name = "N")]
    unfreeze_every: Option<u64>,
    /// As JSON: an object, or a list of them for several policies.
    #[arg(long)]
    json: bool,
}

/// What stands on the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Head {
    Linear,
    Distilbert,
    Pooler,
}

impl Head {
    fn shape(self, labels: usize) -> HeadShape {
        let kind = match self {
            Self::Linear => HeadKind::Linear,
            Self::Distilbert => HeadKind::DistilBert,
            Self::Pooler => HeadKind::Pooler,
        };
        HeadShape { kind, ..HeadShape::linear(labels) }
    }
}

impl Params {
    /// Prints accounts and prediction.
    ///
    /// # Errors
    /// Where the encoder's config cannot be read, a policy does not fit it, or a workload is none.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let places = frostline_assets::Places::new(None, self.models);
        let files = places.encoder(&self.encoder, false)?;
        let config = &files.sources["config"];
        let text = String::from_utf8(frostline_assets::read(&config.path)?.into_owned())
            .with_context(|| format!("{}: no UTF-8", config.path))?;
        let config = EncoderConfig::parse(&text, &config.path)?;
        if self.batch == 0 || !self.subwords.is_finite() || self.subwords < 1.0 {
            let (batch, subwords) = (self.batch, self.subwords);
            let said = format!("--batch {batch} --subwords {subwords} is no work; both must be at least 1");
            return Err(Stop::Arguments(said).into());
        }
        let workload = Workload::typical(self.batch.into(), self.subwords);
        let prefix = if self.cached_prefix { PrefixMode::Cached } else { PrefixMode::Computed };
        let heads = [self.head.shape(self.labels)];
        let mut settings = Settings::default();
        settings.lora.rank = self.lora_rank;
        settings.lora.matrices.clone_from(&self.lora_matrices);
        settings.adapters.size = self.adapter_size;
        settings.check().map_err(|error| Stop::Arguments(error.to_string()))?;
        let outlook = |policy: &Policy| {
            let name = policy.to_string();
            let policy = policy
                .resolve(config.depth, &["head"])
                .map_err(|error| Stop::Arguments(error.to_string()))?;
            let added = extras(&settings, &[&policy], config.depth)?;
            let config = EncoderConfig { extras: added, ..config.clone() };
            let shape = cost::shape(&config, self.labels, self.word_rows);
            let accounts = outcome::accounts(&config, &heads, &policy);
            let cost = cost::predict(&shape, &workload, &policy, prefix);
            let timeline = match self.unfreeze_every {
                None | Some(0) => Timeline::from(policy),
                Some(every) => Timeline::gradual(&policy, every),
            };
            let rates = LayerDecay::new(self.layer_decay, config.depth);
            let parameters = self.list.then(|| params::list(&config, &heads, &timeline, self.lr, rates));
            Ok(Outlook { policy: name, accounts, cached_prefix: self.cached_prefix, cost, parameters })
        };
        let outlooks = self.policy.iter().map(outlook).collect::<Result<Vec<_>>>()?;
        match &outlooks[..] {
            [one] if self.json => writeln!(out, "{}", serde_json::to_string_pretty(one)?)?,
            all if self.json => writeln!(out, "{}", serde_json::to_string_pretty(all)?)?,
            [one] => write!(out, "{}", params::table(one))?,
            all => write!(out, "{}", params::comparison(all))?,
        }
        for outlook in outlooks.iter().filter(|_| !self.json) {
            write!(out, "{}", params::listing(outlook))?;
        }
        Ok(())
    }
}
