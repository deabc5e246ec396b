//! Whether a device trains as a processor does, on the backend that is chosen at run time.

use frostline_kernels::Train;
use frostline_kernels::backend::Work;
use frostline_train::conformance::{Checked, check};

/// Compares a backend with a processor.
pub struct Conformance;

impl Work for Conformance {
    type Output = Vec<Checked>;

    fn run<B: Train>(self, device: &B::Device) -> Self::Output {
        check::<B>(device)
    }
}
