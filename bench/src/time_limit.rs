//! A time that a command may take in all, also while it waits for another process.

use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use frostline_sweep::units::count_noun;

/// How often a process is asked whether it has ended.
const POLL: Duration = Duration::from_millis(10);

/// How long the end of a process's output may come after its end.
const GRACE: Duration = Duration::from_secs(2);

/// The time when a command has to end; by default there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeLimit {
    end: Option<Instant>,
    minutes: f64,
}

impl TimeLimit {
    /// So many minutes from now.
    pub fn from_now(minutes: f64) -> Self {
        Self { end: Instant::now().checked_add(Duration::from_secs_f64(60.0 * minutes)), minutes }
    }

    /// Whether it is reached.
    pub fn is_reached(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// `10 minutes`.
    pub fn format_limit(&self) -> String {
        if self.minutes.fract() == 0.0 {
            count_noun(self.minutes as usize, "minute")
        } else {
            format!("{} minutes", self.minutes)
        }
    }

    /// Runs a process to its end, and returns what it printed; `None` if the limit came first, and ended it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run_process(&self, command: &mut Command) -> io::Result<Option<Output>> {
        if self.end.is_none() {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            return command.output().map(Some);
        }
        self.output_until(command, || false)
    }

    /// Runs a process to its end, or until `enough` returns true, and returns what it printed; `None` if the
    /// limit came first, and ended it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn output_until(
        &self,
        command: &mut Command,
        mut enough: impl FnMut() -> bool,
    ) -> io::Result<Option<Output>> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.is_reached() {
            return Ok(None);
        }
        let mut child = command.spawn()?;
        let [stdout, stderr] =
            [read_in_background(child.stdout.take()), read_in_background(child.stderr.take())];
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            let time_over = self.is_reached();
            if time_over || enough() {
                child.kill()?;
                let status = child.wait()?;
                if time_over {
                    return Ok(None);
                }
                break status;
            }
            std::thread::sleep(POLL);
        };
        // A process that it left behind may hold its output open.
        let [stdout, stderr] = [stdout, stderr].map(|text| text.recv_timeout(GRACE).unwrap_or_default());
        Ok(Some(Output { status, stdout, stderr }))
    }
}

/// Returns the complete output of a process once it is there. It is read while the process runs, which else would wait.
fn read_in_background(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut text);
        }
        let _ = sender.send(text);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_there_is_always_time() {
        assert!(!TimeLimit::default().is_reached());
        assert!(TimeLimit::from_now(0.0).is_reached());
        assert!(!TimeLimit::from_now(1e9).is_reached());
        assert_eq!(
            [1.0, 10.0, 0.5].map(|n| TimeLimit::from_now(n).format_limit()),
            ["1 minute", "10 minutes", "0.5 minutes"]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_process_is_ended_at_the_limit() {
        let mut command = Command::new("sleep");
        let before = Instant::now();
        let output = TimeLimit::from_now(0.001).run_process(command.arg("60")).expect("it starts");
        assert!(output.is_none() && before.elapsed() < Duration::from_secs(30));
        for limit in [TimeLimit::default(), TimeLimit::from_now(60.0)] {
            let output = limit.run_process(Command::new("echo").arg("done")).expect("it starts");
            assert_eq!(output.expect("it ends").stdout, b"done\n");
        }
        assert!(TimeLimit::default().run_process(&mut Command::new("no-such-program")).is_err());
        let output = TimeLimit::default().output_until(command.arg("60"), || true).expect("it starts");
        assert!(!output.expect("time is left").status.success());
    }
}
