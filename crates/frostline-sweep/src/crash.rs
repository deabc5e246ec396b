//! How a worker process ended, in words.

use std::process::ExitStatus;

use crate::memory::MemoryKind;

/// How a worker crashed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Crash {
    /// In words.
    pub text: String,
    /// Whether memory ran out, or perhaps did.
    pub lacks_memory: bool,
}

impl Crash {
    /// Returns what happened to a worker, from its exit status and its log. Only the allocator's message shows that memory
    /// ran out.
    pub(crate) fn from_exit(status: Option<ExitStatus>, log: &str) -> Self {
        let how = exit_text(status);
        let Some(memory) = MemoryKind::exhausted_memory(log) else {
            let text = format!("the worker crashed: {how}");
            return Self { text, lacks_memory: is_killed(status) };
        };
        let text = format!(
            "{} ran out ({how}); raise `train.accumulate`, which takes the same step in parts, or lower \
             `eval.batch_tokens` or --jobs",
            memory.name()
        );
        Self { text, lacks_memory: true }
    }
}

/// Returns whether the worker was killed, as by a system that runs out of memory.
fn is_killed(status: Option<ExitStatus>) -> bool {
    #[cfg(unix)]
    return status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status)) == Some(9);
    #[cfg(not(unix))]
    {
        let _ = status;
        false
    }
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
        Some(code) if cfg!(windows) && code < 0 => windows_exit_text(code),
        Some(code) => format!("exit code {code}"),
        None => "no exit status".into(),
    }
}

/// Describes the exit code of a process that Windows ended, which is a number of its list of faults.
fn windows_exit_text(code: i32) -> String {
    let name = match code as u32 {
        0xC000_0005 => " (access violation)",
        0xC000_0017 => " (no memory; raise `train.accumulate`, or lower `eval.batch_tokens` or --jobs)",
        0xC000_001D => " (illegal instruction)",
        0xC000_00FD => " (stack overflow)",
        0xC000_013A => " (Ctrl-C)",
        0xC000_0409 => " (abort)",
        _ => "",
    };
    format!("exit code 0x{code:08X}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_for_lack_of_memory_says_of_which() {
        let text = |log: &str| {
            let crash = Crash::from_exit(None, log);
            assert!(crash.lacks_memory, "{log}");
            crash.text
        };
        assert!(text("memory allocation of 640 bytes failed").starts_with("memory ran out"));
        let cuda = text("DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")");
        assert!(
            cuda.starts_with("the GPU's memory ran out (no exit status); raise `train.accumulate`"),
            "{cuda}"
        );
        let other = Crash { text: "the worker crashed: no exit status".into(), lacks_memory: false };
        assert_eq!(Crash::from_exit(None, "something else"), other);
    }

    #[test]
    fn a_fault_on_windows_has_its_number_and_its_name() {
        assert_eq!(windows_exit_text(-1073741819), "exit code 0xC0000005 (access violation)");
        assert_eq!(windows_exit_text(-1073741571), "exit code 0xC00000FD (stack overflow)");
        assert_eq!(windows_exit_text(-1), "exit code 0xFFFFFFFF");
    }

    #[cfg(unix)]
    #[test]
    fn a_worker_that_was_killed_perhaps_lacked_memory() {
        use std::os::unix::process::ExitStatusExt as _;
        for (signal, lacks_memory) in [(9, true), (11, false)] {
            let crash = Crash::from_exit(Some(ExitStatus::from_raw(signal)), "");
            assert_eq!(crash.lacks_memory, lacks_memory, "{}", crash.text);
        }
    }
}
