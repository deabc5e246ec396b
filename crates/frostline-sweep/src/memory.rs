//! Whether a cell failed for lack of memory, told from what its worker printed, and which parts of a step would fit.

use std::fmt::Write as _;

use frostline_record::{Forecast, ForecastJob, Job};

use crate::program::Program;
use crate::units::format_bytes;

/// Whose memory ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    Processor,
    Gpu,
}

/// Messages of programs that run out of memory, and whose memory each means. The first one that is found counts.
const MESSAGES: &[(&str, MemoryKind)] = &[
    // CUDA's driver.
    ("CUDA_ERROR_OUT_OF_MEMORY", MemoryKind::Gpu),
    // CubeCL on every GPU, as a message and as a value.
    ("can't allocate buffer of size", MemoryKind::Gpu),
    ("BufferTooBig", MemoryKind::Gpu),
    ("An out-of-memory error happened during launch", MemoryKind::Gpu),
    // wgpu, its parts, and Vulkan. Its largest buffer is less than the memory, and the remedy is the same.
    ("wgpu error: Out of Memory", MemoryKind::Gpu),
    ("Not enough memory left", MemoryKind::Gpu),
    ("is greater than the maximum buffer size", MemoryKind::Gpu),
    ("ERROR_OUT_OF_DEVICE_MEMORY", MemoryKind::Gpu),
    ("Out of Memory", MemoryKind::Gpu),
    // Rust's allocator and collections, then the system.
    ("memory allocation of", MemoryKind::Processor),
    ("memory allocation failed", MemoryKind::Processor),
    ("Cannot allocate memory", MemoryKind::Processor),
    ("ERROR_OUT_OF_HOST_MEMORY", MemoryKind::Processor),
];

impl MemoryKind {
    /// Returns which memory ran out according to this text, if one did.
    pub(crate) fn exhausted_memory(text: &str) -> Option<Self> {
        MESSAGES.iter().find(|(message, _)| text.contains(message)).map(|(_, memory)| *memory)
    }

    /// Returns `memory` or `the GPU's memory`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Processor => "memory",
            Self::Gpu => "the GPU's memory",
        }
    }
}

/// What a step of a job's cell keeps, and what it would keep in more parts, as a line of its error. Empty if the program
/// gives no answer: the cell's own error matters more.
pub(crate) fn what_fits(program: &Program, job: &Job, threads: usize) -> String {
    let cells = vec![job.cell.clone()];
    let forecasts =
        program.forecast_cells(ForecastJob { cells, threads, calibrate: false, prefix_cache: false });
    // The memory is needed for the cells.
    program.stop_assistant();
    let forecast = forecasts.ok().and_then(|all| all.into_iter().next());
    forecast.map_or_else(String::new, |forecast| format!("\n{}", forecast_line(&forecast)))
}

fn forecast_line(forecast: &Forecast) -> String {
    let mut text = format!(
        "by prediction a step keeps {} of parameters, gradients, moments and activations",
        format_bytes(forecast.bytes)
    );
    let Some((first, more)) = forecast.in_parts.split_first() else {
        return text + "; in no number of parts would it keep less";
    };
    let _ = write!(
        text,
        "; with train.accumulate = {} it would keep {}",
        first.accumulate,
        format_bytes(first.bytes)
    );
    for part in more {
        let _ = write!(text, ", with {} {}", part.accumulate, format_bytes(part.bytes));
    }
    text
}

#[cfg(test)]
mod tests {
    use frostline_record::InParts;

    use super::*;

    #[test]
    fn lack_of_memory_is_told_from_other_errors() {
        let cases = [
            ("memory allocation of 266295 bytes failed", Some(MemoryKind::Processor)),
            (
                "memory allocation failed because the computed capacity exceeded the collection's maximum",
                Some(MemoryKind::Processor),
            ),
            ("model.safetensors: Cannot allocate memory (os error 12)", Some(MemoryKind::Processor)),
            ("DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")", Some(MemoryKind::Gpu)),
            (
                "CUDA allocation error: DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")",
                Some(MemoryKind::Gpu),
            ),
            (
                "called `Result::unwrap()` on an `Err` value: can't allocate buffer of size: 4096",
                Some(MemoryKind::Gpu),
            ),
            ("Err value: BufferTooBig { size: 17179869184, backtrace: BackTrace }", Some(MemoryKind::Gpu)),
            (
                "An out-of-memory error happened during launch\nCaused by:\n  shared memory",
                Some(MemoryKind::Gpu),
            ),
            ("thread 'main' panicked at src/x.rs:687:5:\nwgpu error: Out of Memory\n", Some(MemoryKind::Gpu)),
            ("In Device::create_buffer\n  Not enough memory left.", Some(MemoryKind::Gpu)),
            (
                "Buffer size 5368709120 is greater than the maximum buffer size (2147483648)",
                Some(MemoryKind::Gpu),
            ),
            ("vkAllocateMemory: ERROR_OUT_OF_DEVICE_MEMORY", Some(MemoryKind::Gpu)),
            ("vkAllocateMemory: ERROR_OUT_OF_HOST_MEMORY", Some(MemoryKind::Processor)),
            ("frozen weights moved", None),
            ("thread 'main' panicked: index out of bounds", None),
            ("the loss is not finite", None),
            ("", None),
        ];
        for (text, memory) in cases {
            assert_eq!(MemoryKind::exhausted_memory(text), memory, "{text}");
        }
    }

    #[test]
    fn parts_that_keep_less_are_listed() {
        let forecast = |in_parts: &[(u64, u64)]| Forecast {
            cell: String::new(),
            steps: 1,
            seconds: None,
            parameters: [0; 2],
            bytes: 3_200_000_000,
            in_parts: in_parts.iter().map(|&(accumulate, bytes)| InParts { accumulate, bytes }).collect(),
        };
        assert_eq!(
            forecast_line(&forecast(&[(2, 1_900_000_000), (4, 1_250_000_000)])),
            "by prediction a step keeps 3.2 GB of parameters, gradients, moments and activations; with train.accumulate = 2 it \
             would keep 1.9 GB, with 4 1.2 GB"
        );
        assert!(forecast_line(&forecast(&[])).ends_with("; in no number of parts would it keep less"));
    }
}
