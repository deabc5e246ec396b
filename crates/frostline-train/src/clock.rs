//! How long a step takes, and how much of the processors' time it uses.

use std::time::Instant;

/// How long a step took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTime {
    /// From its start to its end, in milliseconds.
    pub wall_ms: f64,
    /// Processor time of all threads of the process, in milliseconds; nothing where the system does not report it.
    pub cpu_ms: Option<f64>,
}

/// The start of a step.
pub(crate) struct Clock {
    wall: Instant,
    cpu_ms: Option<f64>,
}

impl Clock {
    /// A step that starts now.
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu_ms: cpu_ms() }
    }

    /// The time since then.
    pub fn elapsed(&self) -> StepTime {
        let cpu_ms = self.cpu_ms.zip(cpu_ms()).map(|(then, now)| now - then).filter(|&taken| taken > 0.0);
        StepTime { wall_ms: self.wall.elapsed().as_secs_f64() * 1e3, cpu_ms }
    }
}

/// The processor time of this process so far, in milliseconds.
#[cfg(target_os = "linux")]
fn cpu_ms() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6)
}

#[cfg(not(target_os = "linux"))]
fn cpu_ms() -> Option<f64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_uses_processor_time() {
        let clock = Clock::start();
        while clock.elapsed().cpu_ms.is_none_or(|cpu_ms| cpu_ms < 1.0) {
            std::hint::spin_loop();
        }
        let before = clock.elapsed();
        let after = clock.elapsed();
        assert!(before.wall_ms > 0.0 && before.cpu_ms <= after.cpu_ms, "{before:?} {after:?}");
    }
}
