//! `frostline push`: uploads a trained model to the Hugging Face hub.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use frostline_cell::audit::{Audit, Auditor};
use frostline_cell::{card, export};
use frostline_record::Record;
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::{Ending, PushRequest, note};
use serde_json::json;

/// The file with the audit's result.
const AUDIT_FILE: &str = "audit.json";

/// Upload a trained model to the Hugging Face hub, privately unless you say otherwise.
#[derive(Args)]
#[command(after_help = "\
DIR is the folder of a cell that saved its model, or one that `frostline export` made. A cell's frozen parameters are audited first; \
the result is part of the model card and of audit.json. Pickles and hidden files are left out.

The token needs write access: HF_TOKEN, or what `hf auth login` stored. All files are in one commit: an interrupted push leaves none.

Examples:
    frostline push study/cells/CELL my-name/my-tagger
    frostline push my-tagger my-name/my-tagger --dry-run      # list the files, open no connection
    frostline push my-tagger my-group/my-tagger --public      # everyone can read it; asks before
    frostline push my-tagger my-name/my-tagger --public --yes # in a script

Exit codes: 0 done, 1 the audit found a violation, 2 bad arguments or refused, 3 environment (no token, the hub).")]
pub struct Push {
    /// A cell's folder such as study/cells/CELL, or a model's folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The repository.
    #[arg(value_name = "OWNER/NAME")]
    id: String,
    /// Make a new repository public, or write to a public one.
    #[arg(long)]
    public: bool,
    /// Do not ask; with --public, for scripts.
    #[arg(long)]
    yes: bool,
    /// List the files and upload nothing.
    #[arg(long)]
    dry_run: bool,
    /// The message of the commit.
    #[arg(long, value_name = "TEXT", default_value = "Upload a model trained with Frostline")]
    message: String,
    /// A mirror of the Hugging Face hub [default: HF_ENDPOINT, else huggingface.co].
    #[arg(long, value_name = "URL")]
    hub: Option<String>,
}

impl Push {
    /// Uploads the model.
    ///
    /// # Errors
    /// If the folder holds no model, its frozen parameters changed, or the upload is refused or fails.
    pub fn run(self) -> CommandResult<Ending> {
        let is_cell = self.folder.join("record.json").is_file();
        let (folder, texts) = if is_cell {
            (self.folder.join("model"), texts_of_cell(&self.folder)?)
        } else {
            (self.folder, Vec::new())
        };
        frostline_sweep::push(&PushRequest {
            id: self.id,
            folder,
            texts,
            public: self.public,
            yes: self.yes,
            dry_run: self.dry_run,
            message: self.message,
            hub: self.hub,
        })
    }
}

/// Audits a cell's model, and returns the model card and the audit's result.
fn texts_of_cell(cell: &Path) -> CommandResult<Vec<(String, String)>> {
    let (record, _) = export::check_saved(cell).blame_environment()?;
    let audited = Auditor::default().cell(cell);
    let (_, audit) = match audited {
        Ok(audited) => audited,
        Err(error) => {
            // The card still has the check of the run itself.
            note!("not audited: {error:#}");
            let sentence = "The saved weights were not compared again before they were pushed.";
            let text = card::text_with_audit(&record, sentence).blame_environment()?;
            return Ok(vec![(card::FILE.into(), text)]);
        }
    };
    if !audit.holds() {
        let changed =
            audit.changed.iter().chain(&audit.unmoved).take(5).cloned().collect::<Vec<_>>().join(", ");
        let error = anyhow!(
            "{}: the model violates its policy, so it is not pushed: {changed}; see `frostline audit {}`, and run the cell again",
            record.cell.title(),
            cell.display()
        );
        return Err(frostline_sweep::fault::Fault { code: frostline_sweep::fault::CELLS_FAILED, error });
    }
    let text = card::text_with_audit(&record, &audit.statement()).blame_environment()?;
    let result = audit_json(&record, &audit).context("the audit's result").blame_environment()?;
    Ok(vec![(card::FILE.into(), text), (AUDIT_FILE.into(), result)])
}

/// Returns the audit's result for programs.
fn audit_json(record: &Record, audit: &Audit) -> anyhow::Result<String> {
    let result = record.result.as_ref().context("the cell failed")?;
    let policies: Vec<&str> = result.stages.iter().map(|stage| stage.policy.as_str()).collect();
    let weights: serde_json::Map<String, serde_json::Value> = record
        .cell
        .inputs
        .iter()
        .filter(|(role, _)| role.starts_with("weights"))
        .map(|(role, input)| (role.clone(), json!(input.sha256)))
        .collect();
    let value = json!({
        "schema": 1,
        "made_by": format!("frostline {}", env!("CARGO_PKG_VERSION")),
        "cell": record.cell.id,
        "encoder": record.cell.settings.encoder.name,
        "encoder_sha256": weights,
        "policies": policies,
        "frozen_bit_identical": audit.frozen,
        "trainable_moved": audit.moved,
        "trainable_idle": audit.idle,
        "holds": audit.holds(),
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}
