//! How long a step takes, and how much of the processors' time.

use std::time::Instant;

/// How long a step took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTime {
    /// From its start to its end, in milliseconds.
    pub wall_ms: f64,
    /// Processor time of all threads of the process, in milliseconds; nothing where the system does not tell.
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
        let cpu_ms = self.cpu_ms.zip(cpu_ms()).map(|(then, now)| now - then);
        StepTime { wall_ms: self.wall.elapsed().as_secs_f64() * 1e3, cpu_ms }
    }
}

/// The processor time of this process so far, in milliseconds.
#[cfg(unix)]
fn cpu_ms() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6)
}

#[cfg(not(unix))]
fn cpu_ms() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Waiting takes time, and none of the processors'; other tests of this process may take some meanwhile.
    #[test]
    fn work_takes_processor_time() {
        let clock = Clock::start();
        std::thread::sleep(Duration::from_millis(20));
        let waited = clock.elapsed();
        assert!(waited.wall_ms >= 20.0 && waited.cpu_ms.is_none_or(|cpu_ms| cpu_ms >= 0.0), "{waited:?}");
        while clock.elapsed().cpu_ms.is_some_and(|cpu_ms| cpu_ms < 1.0) {
            std::hint::spin_loop();
        }
        assert_eq!(clock.elapsed().cpu_ms.is_some(), cfg!(unix));
    }
}
