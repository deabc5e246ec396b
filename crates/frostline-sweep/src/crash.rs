//! How a worker process ended, in words.

use std::process::ExitStatus;

/// What allocators say where memory runs out: Rust's, then those of GPU backends.
const OUT_OF_MEMORY: [&str; 5] = [
    "memory allocation of",
    "can't allocate buffer of size",
    "BufferTooBig",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "Out of Memory",
];

/// Describes a crash. The allocator's own message is what tells that memory ran out.
pub(crate) fn crash_text(status: Option<ExitStatus>, log_tail: &str) -> String {
    let how = exit_text(status);
    let Some(at) = OUT_OF_MEMORY.iter().position(|message| log_tail.contains(message)) else {
        return format!("the worker crashed: {how}");
    };
    let of = if at == 0 { "memory" } else { "the GPU's memory" };
    format!(
        "{of} ran out ({how}); raise `train.accumulate`, which takes the same step in parts, or lower \
         `eval.batch_tokens` or --jobs"
    )
}

/// Describes how a process ended.
pub(crate) fn exit_text(status: Option<ExitStatus>) -> String {
    #[cfg(unix)]
    if let Some(signal) = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status)) {
        let name = match signal {
            4 => " (illegal instruction)",
            6 => " (abort)",
            9 => {
                " (killed; perhaps memory ran out: raise `train.accumulate`, or lower `eval.batch_tokens` or --jobs)"
            }
            11 => " (segmentation fault)",
            15 => " (terminated)",
            _ => "",
        };
        return format!("signal {signal}{name}");
    }
    match status.and_then(|status| status.code()) {
        Some(code) => format!("exit code {code}"),
        None => "no exit status".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_for_lack_of_memory_says_of_which() {
        let text = |log: &str| crash_text(None, log);
        assert!(text("memory allocation of 640 bytes failed").starts_with("memory ran out"));
        let cuda = "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")";
        let wgpu = "called `Result::unwrap()` on an `Err` value: can't allocate buffer of size: 4096";
        for log in [cuda, wgpu] {
            assert!(
                text(log).starts_with("the GPU's memory ran out (no exit status); raise `train.acc"),
                "{log}"
            );
        }
        assert_eq!(text("something else"), "the worker crashed: no exit status");
    }
}
