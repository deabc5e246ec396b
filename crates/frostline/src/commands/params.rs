//! `frostline params`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use frostline_freeze::Policy;
use frostline_model::EncoderConfig;

use crate::{outcome, params};

/// Count an encoder's parameters and those that learn under a policy.
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
    /// What is frozen, for example first-4+embeddings.
    #[arg(long, default_value = "none")]
    policy: String,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl Params {
    /// Prints the accounts.
    ///
    /// # Errors
    /// Where the encoder's config cannot be read, or the policy does not fit it.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let places = frostline_assets::Places::new(None, self.models);
        let files = places.encoder(&self.encoder, false)?;
        let config = &files.sources["config"];
        let text = String::from_utf8(frostline_assets::read(&config.path)?.into_owned())
            .with_context(|| format!("{}: no UTF-8", config.path))?;
        let config = EncoderConfig::parse(&text, &config.path)?;
        let policy = Policy::parse(&self.policy, config.depth)?;
        let accounts = outcome::accounts(&config, self.labels, &policy);
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&accounts)?)?;
        } else {
            write!(out, "{}", params::table(&accounts))?;
        }
        Ok(())
    }
}
