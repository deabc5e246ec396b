//! Whether a device trains as a processor does, on the backend that is chosen at run time.

use frostline_kernels::Train;
use frostline_kernels::backend::{self, BackendError, Work};
use frostline_train::conformance::{Checked, check};

/// Compares this backend with a processor.
///
/// # Errors
/// If the backend cannot run here.
pub fn compare(backend: &str) -> Result<Vec<Checked>, BackendError> {
    backend::on(backend, Conformance)
}

/// Compares a backend with a processor.
struct Conformance;

impl Work for Conformance {
    type Output = Vec<Checked>;

    fn run<B: Train>(self, device: &B::Device) -> Self::Output {
        check::<B>(device)
    }
}
