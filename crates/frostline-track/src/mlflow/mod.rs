//! MLflow: runs in its file store, or sent to its server.

mod folder;
#[cfg(feature = "http")]
mod server;
#[cfg(feature = "http")]
mod unsent;

pub use folder::MlflowFolder;
#[cfg(feature = "http")]
pub use server::{Credentials, MlflowServer};

use crate::Ending;

/// The tag that MLflow shows as a run's name.
const NAME_TAG: &str = "mlflow.runName";

/// The tag that identifies a resumed run.
const RUN_TAG: &str = "frostline.run";

/// MLflow's status of a run that ended: its name, and its number in the file store.
const fn run_status(ending: Ending) -> (&'static str, u8) {
    match ending {
        Ending::Finished => ("FINISHED", 3),
        Ending::Failed => ("FAILED", 4),
        Ending::Stopped => ("KILLED", 5),
    }
}
