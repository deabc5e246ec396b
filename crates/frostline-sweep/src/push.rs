//! `push`: uploads a model to the Hugging Face hub.
//!
//! Uploading needs the same optional library as downloading, the feature `fetch`.

use std::path::PathBuf;

use crate::ending::Ending;
use crate::fault::CommandResult;

/// What is uploaded, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushRequest {
    /// The repository: `OWNER/NAME`.
    pub id: String,
    /// The model's folder.
    pub folder: PathBuf,
    /// Files made for the push, by name, in place of those in the folder.
    pub texts: Vec<(String, String)>,
    /// Whether a new repository is public, or a public one may be written to.
    pub public: bool,
    /// Whether nothing is asked.
    pub yes: bool,
    /// Whether the files are only listed.
    pub dry_run: bool,
    /// The commit's message.
    pub message: String,
    /// A mirror of the Hugging Face hub.
    pub hub: Option<String>,
}

/// Uploads a model in one commit. A new repository is private unless requested otherwise; before anything becomes public, the user is
/// asked.
///
/// # Errors
/// If the folder is no model's, there is no token or it may not write, the user or a missing terminal stops what would be public, or
/// the hub refuses the upload. Always without the feature `fetch`.
#[cfg(feature = "fetch")]
pub fn push(request: &PushRequest) -> CommandResult<Ending> {
    upload::push(request)
}

/// Reports that this build lacks the feature `fetch`.
///
/// # Errors
/// Always.
#[cfg(not(feature = "fetch"))]
pub fn push(_request: &PushRequest) -> CommandResult<Ending> {
    crate::fault::environment_fault("this build cannot upload; build it with `--features fetch`")
}

#[cfg(feature = "fetch")]
mod upload {
    use std::io::{BufRead as _, IsTerminal as _, Write as _};

    use anyhow::anyhow;
    use frostline_assets::fetch::{FetchError, Hosts, HubToken, Progress};
    use frostline_assets::push::{self, Destination, PushError, PushFile, Pushed, Visibility, model_files};
    use indicatif::{ProgressBar, ProgressStyle};

    use super::{CommandResult, Ending, PushRequest};
    use crate::fault::{Blame as _, environment_fault};
    use crate::offline::{environment_variable, is_hub_offline, is_offline};
    use crate::units::format_bytes;

    /// The model card.
    const CARD: &str = "README.md";

    pub(super) fn push(request: &PushRequest) -> CommandResult<Ending> {
        let files = choose_files(request)?;
        if request.dry_run {
            say!("only listed: nothing is uploaded to {}", request.id);
            return Ok(Ending::Done);
        }
        if is_offline(environment_variable)? || is_hub_offline(environment_variable) {
            return environment_fault(
                "offline: nothing is uploaded; unset FROSTLINE_OFFLINE, HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE",
            );
        }
        let hosts = match request.hub.clone().or_else(|| environment_variable("HF_ENDPOINT")) {
            Some(url) => Hosts::default().with_hub_at(&url),
            None => Hosts::default(),
        };
        let destination = with_exit_code(push::look_up(&request.id, &hosts, HubToken::find()))?;
        let visibility = choose_visibility(request, &destination)?;
        let pushed = with_exit_code(send(&destination, &files, visibility, &request.message))?;
        print_pushed(&pushed, destination.found.unwrap_or(visibility));
        Ok(Ending::Done)
    }

    /// Returns the files of the folder and those made for the push, and lists them.
    fn choose_files(request: &PushRequest) -> CommandResult<Vec<PushFile>> {
        let found = model_files(&request.folder).blame_plan()?;
        let is_made = |name: &str| request.texts.iter().any(|(made, _)| made == name);
        let mut files: Vec<PushFile> = found.files.into_iter().filter(|file| !is_made(&file.name)).collect();
        files.extend(request.texts.iter().map(|(name, text)| PushFile::from_text(name, text.clone())));
        files.sort_by(|a, b| a.name.cmp(&b.name));
        if !files.iter().any(|file| file.name == CARD) {
            let folder = request.folder.clone();
            return Err(PushError::NoModel { folder, missing: "README.md (the model card)" }).blame_plan();
        }
        for file in &files {
            say!("  {:<36} {:>9}", file.name, format_bytes(file.bytes));
        }
        if !found.left_out.is_empty() {
            say!("  left out: {}", found.left_out.join(", "));
        }
        Ok(files)
    }

    /// Returns who can read the repository, after the user agreed to what is public.
    fn choose_visibility(request: &PushRequest, destination: &Destination) -> CommandResult<Visibility> {
        let url = destination.url();
        let question = match (destination.found, request.public) {
            (None | Some(Visibility::Private), false) => return Ok(Visibility::Private),
            (Some(Visibility::Private), true) => {
                return Err(anyhow!(
                    "{url} exists and is private; push without --public, and change who can read it on {url}/settings"
                ))
                .blame_plan();
            }
            (None, true) => format!("{url} will be public: everyone can read these files."),
            (Some(Visibility::Public), _) => format!("{url} is public: everyone can read these files."),
        };
        if request.public && request.yes {
            return Ok(Visibility::Public);
        }
        confirm(&question)?;
        Ok(Visibility::Public)
    }

    /// Asks whether to go on.
    fn confirm(question: &str) -> CommandResult<()> {
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            let next = "without a terminal to ask on, give --public --yes if that is intended";
            return Err(anyhow!("{question} Nothing was uploaded: {next}")).blame_plan();
        }
        let mut answer = String::new();
        let _ = write!(std::io::stderr(), "{question} Upload them? [y/N] ");
        std::io::stdin().lock().read_line(&mut answer).blame_environment()?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(anyhow!("nothing was uploaded")).blame_plan(),
        }
    }

    fn send(
        destination: &Destination,
        files: &[PushFile],
        visibility: Visibility,
        message: &str,
    ) -> Result<Pushed, PushError> {
        let style = "{prefix:<36} {bar:20} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left";
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template(style).expect("a fixed template"));
        let pushed = destination.push(files, visibility, message, &mut |now: Progress<'_>| {
            if bar.prefix() != now.file {
                bar.set_prefix(now.file.to_string());
                bar.reset_eta();
            }
            bar.set_length(now.bytes_total);
            bar.set_position(now.bytes);
        });
        bar.finish_and_clear();
        pushed
    }

    fn print_pushed(pushed: &Pushed, visibility: Visibility) {
        let who = if visibility == Visibility::Public { "public" } else { "private" };
        match &pushed.commit {
            Some(commit) => say!("{} ({who}): commit {}", pushed.url, &commit[..commit.len().min(12)]),
            None => say!("{} ({who}): nothing changed", pushed.url),
        }
    }

    /// Wrong names, cards and folders are errors of the command; all others are errors of the environment.
    fn with_exit_code<T>(result: Result<T, PushError>) -> CommandResult<T> {
        match result {
            Err(
                error @ (PushError::BadName { .. }
                | PushError::Card { .. }
                | PushError::Hub(FetchError::BadEndpoint { .. })),
            ) => Err(error).blame_plan(),
            other => other.blame_environment(),
        }
    }
}
