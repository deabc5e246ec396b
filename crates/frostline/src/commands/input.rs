//! What `frostline sweep` gives the commands that it asks for something.

use std::io::{copy, sink, stdin};

use anyhow::{Context, Result};
use clap::Args;
use serde::de::DeserializeOwned;

/// A JSON value on standard input.
#[derive(Args)]
pub(super) struct Input {
    /// End when standard input is closed: whoever waits for the answer has ended, by whatever signal.
    #[arg(long, hide = true)]
    while_open: bool,
}

impl Input {
    /// Reads it.
    ///
    /// # Errors
    /// If standard input is not `what`.
    pub(super) fn read<T: DeserializeOwned>(&self, what: &str) -> Result<T> {
        let not_it = || format!("standard input: not {what}");
        if !self.while_open {
            return serde_json::from_reader(stdin().lock()).with_context(not_it);
        }
        // Nothing is read beyond the value, since its end is told by a bracket.
        let mut values = serde_json::Deserializer::from_reader(stdin().lock()).into_iter();
        let value =
            values.next().context("it ends at once").and_then(|value| Ok(value?)).with_context(not_it)?;
        drop(values);
        std::thread::spawn(|| {
            let _ = copy(&mut stdin().lock(), &mut sink());
            std::process::exit(frostline_sweep::fault::INTERRUPTED.into());
        });
        Ok(value)
    }
}
