//! What the commands of a sweep ask for, whichever of them it was.

use std::path::PathBuf;

use frostline_sweep::fault::CommandResult;
use frostline_sweep::{Backend, Ending, Place, Program, SweepRequest};

/// What `sweep`, `plan`, `begin`, `status` and `cancel` ask for.
#[derive(Debug)]
pub enum SweepCommand {
    /// Run a study, or show what it would be.
    Sweep(Box<SweepRequest>),
    /// Show how far the sweep in a folder is.
    Status(PathBuf),
    /// Send what an MLflow server did not take.
    SendTracked(PathBuf),
    /// End the jobs that were submitted for a folder.
    Cancel(PathBuf),
}

impl SweepCommand {
    /// Carries it out, with this default of `--backend`. `program` returns the worker program for a backend; it is not called if
    /// no worker is needed.
    ///
    /// # Errors
    /// See the functions of the same names in `frostline_sweep`.
    pub fn run_sweep(
        self,
        place: &Place,
        default: Backend,
        program: impl FnOnce(Backend) -> CommandResult<Program>,
    ) -> CommandResult<Ending> {
        match self {
            Self::Sweep(mut request) => {
                let backend = *request.backend.get_or_insert(default);
                frostline_sweep::sweep(&request, place, || program(backend))
            }
            Self::Status(folder) => frostline_sweep::print_status(&folder),
            Self::SendTracked(folder) => frostline_sweep::send_tracked(&folder),
            Self::Cancel(folder) => frostline_sweep::cancel_cluster_jobs(&folder),
        }
    }
}
