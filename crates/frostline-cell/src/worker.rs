//! The worker: requests in on standard input, events out on standard output, one JSON value per line.
//! It ends when its input closes, also in the middle of a cell: an orphan never goes on writing. Asked to stop, it first
//! stores where its cell is.

use std::io::{BufRead as _, Write as _};
use std::sync::mpsc;

use anyhow::{Context, Result, bail};
use frostline_record::{Answer, Event, Request};

use crate::cell::CellTask;
use crate::shared::SharedData;
use crate::version::{self, made_by};
use crate::{block_scores, check, facts, forecast, stop, turns};
use frostline_kernels::backend;

/// Answers requests on this backend until standard input closes.
///
/// # Errors
/// If the backend cannot run here, a line is no request, or a cell's folder cannot be written.
pub fn serve(backend: &str) -> Result<()> {
    let made_by = made_by(backend)?;
    let mut tell = |event: Event| {
        let line = serde_json::to_string(&event).expect("plain data always serialises");
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            // The reader is gone.
            std::process::exit(0);
        }
        // Before its first step a cell has nothing that is not on the disk.
        if matches!(event, Event::Loaded(_) | Event::Prefix(_)) {
            stop::end_if_asked();
        }
    };
    tell(Event::Ready(made_by.clone()));
    let mut shared = SharedData::default();
    for request in read_requests() {
        match request? {
            Request::Run(job) => {
                let task =
                    CellTask { job: &job, made_by: made_by.clone(), shared: &mut shared, tell: &mut tell };
                backend::on(backend, task)??;
            }
            question => tell(match answer_request(question, backend, &mut shared) {
                Ok(answer) => Event::Answer(answer),
                Err(error) => Event::Refused { error: format!("{error:#}") },
            }),
        }
        stop::end_if_asked();
    }
    Ok(())
}

/// The answer to a request that runs no cell.
fn answer_request(question: Request, backend: &str, shared: &mut SharedData) -> Result<Answer> {
    Ok(match question {
        Request::Version => Answer::Version(version::about(backend)?),
        Request::Check(cells) => Answer::Facts(check::check_cells(&cells, &mut shared.corpora)?),
        Request::Data(cells) => Answer::Facts(facts::of_cells(&cells, &mut shared.corpora)?),
        Request::Forecast(job) => Answer::Forecasts(forecast::forecast_cells(&job, backend, shared)?),
        Request::Time(job) => Answer::Times(turns::measure_turns(&job, backend, shared)?),
        Request::Score(job) => Answer::Scores(block_scores::score_cells(&job, backend, shared)?),
        Request::Run(_) | Request::Stop => bail!("it has no answer"),
    })
}

/// Requests on standard input up to the one to stop. A thread of its own reads them and ends the process when they end.
fn read_requests() -> mpsc::Receiver<Result<Request>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut sender = Some(sender);
        for line in std::io::stdin().lock().lines() {
            match line {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(Request::Stop) => {
                        stop::request_stop();
                        // Without a job the worker ends now.
                        sender = None;
                    }
                    request => {
                        let request = request.context("standard input: not a request");
                        let _ = sender.as_ref().map(|sender| sender.send(request));
                    }
                },
                Err(_) => break,
            }
        }
        std::process::exit(0);
    });
    receiver
}
