//! `fetch`.

use std::path::PathBuf;

use clap::Args;
use frostline_sweep::FetchRequest;

/// `fetch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Encoders go into the cache of huggingface_hub, so that Python finds them too: HF_HUB_CACHE, else hub in HF_HOME, else hub in \
FROSTLINE_CACHE, else huggingface/hub in the user's cache folder. A token for gated encoders is HF_TOKEN, or what `hf auth login` stored.

Every file is checked against the host's list of sizes and digests. The files of UD English EWT and UD \
Naija NSC, release r2.16, are also known to the program: it accepts no others, whatever the host.

Examples:
    frostline fetch                                      # what the plan `paper` reads
    frostline fetch --plan my-plan.toml --offline        # what the cache has of it
    frostline fetch UD_Wolof-WTB distilbert-base-multilingual-cased
    frostline fetch FacebookAI/xlm-roberta-base@main     # a branch, a tag or a commit
    frostline fetch --hub https://hub.example.org --treebanks https://ud.example.org")]
pub struct FetchArgs {
    /// Treebanks such as UD_English-EWT, sst2, encoders by hub id, and ZIP archives of treebanks by address [default: all that the
    /// plan reads]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The plan whose inputs are fetched: a built-in name or a TOML file [default: paper]
    #[arg(long, value_name = "PLAN", conflicts_with = "names")]
    plan: Option<PathBuf>,
    /// The cache of treebanks and of encoders; a sweep finds it with FROSTLINE_CACHE=DIR [default: FROSTLINE_CACHE, else frostline
    /// in the user's cache folder; for encoders see below]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// A tag, branch or commit instead of the usual one; needs NAME, since a plan's treebanks and encoders
    /// share no revision
    #[arg(long, value_name = "REVISION", requires = "names")]
    revision: Option<String>,
    /// The SHA-256 that a file must have
    #[arg(long, value_name = "FILE=SHA256")]
    pin: Vec<String>,
    /// Fetch encoders without their weights
    #[arg(long)]
    no_weights: bool,
    /// Open no connection: check what is in the cache, and name what is not [default: off, or on with FROSTLINE_OFFLINE=1, and for
    /// encoders with HF_HUB_OFFLINE=1]
    #[arg(long)]
    offline: bool,
    /// A mirror of the Hugging Face hub [default: HF_ENDPOINT, else huggingface.co]
    #[arg(long, value_name = "URL")]
    hub: Option<String>,
    /// A mirror of the treebanks' repositories [default: FROSTLINE_TREEBANKS, else GitHub]
    #[arg(long, value_name = "URL")]
    treebanks: Option<String>,
}

impl FetchArgs {
    /// Returns the request that these arguments stand for.
    #[must_use]
    pub fn into_request(self) -> FetchRequest {
        FetchRequest {
            names: self.names,
            plan: self.plan,
            cache: self.cache,
            revision: self.revision,
            pins: self.pin,
            weights: !self.no_weights,
            offline: self.offline,
            hub: self.hub,
            treebanks: self.treebanks,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: FetchArgs,
    }

    fn parse_request(arguments: &[&str]) -> Result<FetchRequest, clap::Error> {
        let all = ["fetch"].into_iter().chain(arguments.iter().copied());
        Line::try_parse_from(all).map(|line| line.args.into_request())
    }

    #[test]
    fn a_revision_needs_names() {
        let error = parse_request(&["--revision", "r2.15"]).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::MissingRequiredArgument);
        assert_eq!(
            parse_request(&["UD_Wolof-WTB", "--revision", "r2.15"]).unwrap().revision.unwrap(),
            "r2.15"
        );
    }
}
