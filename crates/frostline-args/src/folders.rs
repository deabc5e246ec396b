//! The commands that take the folder of a sweep: `status`, `cancel`, `report` and `publish`.

use std::path::PathBuf;

use clap::Args;

/// `status`.
#[derive(Debug, Args)]
#[command(after_help = "\
`frostline watch` shows the same while it changes.

Examples:
    frostline status study

Exit codes: 0 done, 3 environment (no sweep).")]
pub struct StatusArgs {
    /// The sweep's folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// `cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Running cells are stored after their step, and the same `frostline sweep` continues with them.

Examples:
    frostline cancel study

Exit codes: 0 done, 3 environment (no jobs were submitted, SLURM cannot be asked).")]
pub struct CancelArgs {
    /// The sweep's folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Several folders are compared: a page with the sweeps as columns, verdicts on each against the first one, and \
what may not be compared and why; with tables for LaTeX and rows for pandas and R.

Examples:
    frostline report study
    frostline report sweeps/mbert sweeps/xlmr --out sweeps/beside")]
pub struct ReportArgs {
    /// The sweep's folder; several are compared
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Where a comparison of several folders is written
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `publish`.
#[derive(Debug, Args)]
#[command(after_help = "\
The copy has the records, the predictions with a blank in the place of every word, and the times: \
`frostline report` computes the report from it, except for the sentences that it quotes. Models, logs and \
the messages of failed cells are left out, and paths are cut to a file and its folder. Gold tags stay: \
whether they may be published is for the treebanks' licences to say.

Examples:
    frostline publish study published-records")]
pub struct PublishArgs {
    /// The sweep's folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The new folder
    #[arg(value_name = "TO")]
    pub to: PathBuf,
}
