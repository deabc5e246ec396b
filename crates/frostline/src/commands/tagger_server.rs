//! `frostline tagger-server`: answers requests for tags over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use frostline_server::{NamedFolder, ServedModels, Server, ServerLimits, ServerSettings, until_signal};
use frostline_sweep::{note, say};
use frostline_tagger::{Options, Sharing, TagTarget};

use super::tag::with_exit_code;
use super::{Compute, Stop, choose_backend, from_one};

/// Answer requests for tags over HTTP, with any number of trained models.
///
/// Clients of Hugging Face's token classification (POST /models/NAME), of UDPipe (/process, /models) and plain ones (POST
/// /v1/tag, with words, text or CoNLL-U) are answered. /health and /metrics are for supervision. Models whose embeddings and
/// lowest blocks are equal share them in memory and in computation.
#[derive(Args)]
#[command(after_help = "\
Only this machine can ask unless --listen says otherwise; there is no password, so put a proxy with one in front of it before other \
machines can. Ctrl-C and SIGTERM end it once the open requests are answered.

Examples:
    frostline tagger-server --run en=study/cells/CELL
    frostline tagger-server --run upos=upos/cells/CELL --run ner=ner/cells/CELL --column upos --column misc.NER
    frostline tagger-server --run en=study/cells/CELL --listen 0.0.0.0:8048 --name tagger.example.org

    curl -d '{\"text\": \"The ice melts.\"}' http://127.0.0.1:8048/v1/tag")]
pub struct TaggerServer {
    /// A model's name, and the folder of its cell or of a token classifier in Hugging Face's layout. Without a
    /// name, the folder's. May be given more than once; the first model is the default.
    #[arg(long, value_name = "NAME=DIR", required = true)]
    run: Vec<NamedFolder>,
    /// The column of CoNLL-U for the labels: upos, xpos, deprel, feats.NAME or misc.KEY. By default the
    /// column that training read. With several models, once for each, in their order.
    #[arg(long, value_name = "COLUMN")]
    column: Vec<TagTarget>,
    /// The address and port to listen on; with any but 127.0.0.1, other machines can ask
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8048")]
    listen: SocketAddr,
    /// A name of this machine by which clients may ask, besides localhost and addresses
    #[arg(long, value_name = "HOST")]
    name: Vec<String>,
    /// The largest body of a request
    #[arg(long, value_name = "MIB", default_value_t = 4, value_parser = from_one())]
    max_body_mib: usize,
    /// The most requests that are open at the same time
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = from_one())]
    max_requests: usize,
    /// The most words that wait for tags, of all requests together
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = from_one())]
    max_words: usize,
    /// The time for a request, from its head to its answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = from_one())]
    timeout_s: usize,
    /// The task whose head is used, for cells with several heads.
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Precision of linear layers. By default as in training; f32 for a model that Frostline did not save.
    #[arg(long, value_enum)]
    precision: Option<Compute>,
    /// Threads that compute [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// flex, amx, ndarray, cuda or wgpu, if this build has it, or auto: the fastest that can compute here.
    #[arg(long)]
    backend: Option<String>,
}

impl TaggerServer {
    /// Answers until the program is asked to end.
    ///
    /// # Errors
    /// If a model cannot be loaded, or the address cannot be listened on.
    pub fn run(self) -> Result<()> {
        let options = Options {
            task: self.task.clone(),
            precision: self.precision.map(Into::into),
            backend: Some(choose_backend(self.backend.clone())?),
            threads: self.threads,
            ..Options::default()
        };
        let models = ServedModels::load(&self.named_folders()?, &options).map_err(with_exit_code)?;
        print_models(&models);
        let settings =
            ServerSettings { listen: self.listen, names: self.name.clone(), limits: self.server_limits() };
        let server = Server::bind(models, settings)?;
        let at = server.address()?;
        if !at.ip().is_loopback() {
            note!(
                "warning   everyone who reaches this address can ask for tags, and the connection is not encrypted; a proxy in \
                 front of it can change both"
            );
        }
        say!("serving   http://{at} (Ctrl-C ends it)");
        let cut_off = server.run(until_signal())?;
        if cut_off > 0 {
            note!("warning   {cut_off} connections were closed before their requests were answered");
        }
        Ok(())
    }

    /// Returns the folders with their columns.
    fn named_folders(&self) -> Result<Vec<NamedFolder>, Stop> {
        let (runs, columns) = (self.run.len(), self.column.len());
        if columns > 0 && columns != runs {
            return Err(Stop::Arguments(format!(
                "--run is given {runs} times, but --column {columns} times; give one column for each model, in the same order"
            )));
        }
        let with_target = |(at, named): (usize, &NamedFolder)| NamedFolder {
            target: self.column.get(at).cloned(),
            ..named.clone()
        };
        Ok(self.run.iter().enumerate().map(with_target).collect())
    }

    fn server_limits(&self) -> ServerLimits {
        ServerLimits {
            body_bytes: self.max_body_mib << 20,
            requests: self.max_requests,
            waiting_words: self.max_words,
            time: Duration::from_secs(self.timeout_s as u64),
            ..ServerLimits::default()
        }
    }
}

/// Prints the models, and what they share.
fn print_models(models: &ServedModels) {
    for (name, model) in models.names().iter().zip(models.taggers().models()) {
        say!("model     {name}: {} ({} labels)", model.place().display(), model.labels().len());
    }
    let Sharing { blocks, parameters, separate_parameters, .. } = models.taggers().sharing();
    if models.names().len() > 1 {
        say!(
            "shared    {} of {} blocks are computed, {:.1} of {:.1} million parameters are in memory",
            blocks.shared,
            blocks.separate,
            parameters as f64 / 1e6,
            separate_parameters as f64 / 1e6
        );
    }
    if !models.taggers().is_independent_of_batches() {
        note!(
            "warning   on this backend, requests that are computed together can change the last digits of one another's \
             probabilities"
        );
    }
}
