//! A worker that is asked about cells before and after they run: it checks them, describes their data, predicts their costs
//! and times their steps. It runs none: the peak of memory in a cell's record is the peak of its worker's process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context as _, anyhow, bail};
use frostline_record::{Answer, Event, Request};

/// The most that is kept of what it writes to standard error.
const MOST_ERRORS: u64 = 1 << 20;

/// A running process that answers one request at a time.
#[derive(Debug)]
pub(crate) struct Assistant {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: Option<JoinHandle<String>>,
}

impl Assistant {
    /// Starts a program, which has its arguments already.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let shown = command.get_program().display().to_string();
        let mut child = command.spawn().with_context(|| format!("the program {shown} cannot be started"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let errors = child.stderr.take().expect("standard error is a pipe");
        Ok(Self {
            child,
            input: input.expect("standard input is a pipe"),
            output: BufReader::new(output.expect("standard output is a pipe")),
            errors: Some(std::thread::spawn(move || read_errors(errors))),
        })
    }

    /// Asks for an answer.
    ///
    /// # Errors
    /// If the request is refused, the process ends, or it writes anything else.
    pub(crate) fn ask(&mut self, request: &Request) -> anyhow::Result<Answer> {
        let line = serde_json::to_string(request).expect("plain data always serialises") + "\n";
        // A process that has ended cannot be written to; what it wrote itself is more useful.
        let _ = self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush());
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).unwrap_or(0) == 0 {
                return Err(self.why_ended());
            }
            match serde_json::from_str(&line) {
                Ok(Event::Answer(answer)) => return Ok(answer),
                Ok(Event::Refused { error }) => bail!("{error}"),
                Ok(Event::Ready(_)) => {}
                _ => {
                    let line: String = line.trim_end().chars().take(200).collect();
                    bail!("not the output of a Frostline program: {line}");
                }
            }
        }
    }

    /// The error for a process that has ended without an answer.
    fn why_ended(&mut self) -> anyhow::Error {
        let errors = self.errors.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        match errors.trim().trim_start_matches("error: ") {
            "" => {
                let status =
                    self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                anyhow!("it ended without an answer ({status})")
            }
            errors => anyhow!("{errors}"),
        }
    }
}

/// Ends the process, which must not outlive the sweep. Nothing that it does between answers is lost.
impl Drop for Assistant {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads all, and keeps the beginning.
fn read_errors(errors: ChildStderr) -> String {
    let mut errors = BufReader::new(errors);
    let mut kept = Vec::new();
    let _ = errors.by_ref().take(MOST_ERRORS).read_to_end(&mut kept);
    let _ = std::io::copy(&mut errors, &mut std::io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}
