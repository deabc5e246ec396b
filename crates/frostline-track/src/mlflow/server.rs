//! MLflow's REST API.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use ureq::http::Uri;

use super::unsent::{self, Unsent, Waiting};
use super::{NAME_TAG, RUN_TAG, run_status};
use crate::run::unix_milliseconds;
use crate::{Ending, Point, Run, TrackError, Tracker};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Metrics of one request, and parameters: MLflow's own limits.
const METRICS: usize = 1000;
const PARAMETERS: usize = 100;
/// Characters of a parameter's value.
const LONGEST: usize = 6000;
/// Maximum number of values that wait in memory for a server that does not answer: about three hours for eight
/// runs with one value per second each.
const MOST_WAITING: usize = 100_000;

/// The time for which one flush sends; the rest waits for the next.
const BUDGET: Duration = Duration::from_secs(5);
/// Maximum size of an answer that is read.
///
/// # Units
/// Bytes.
const MOST_ANSWER: u64 = 1 << 20;
/// Characters of an id of the server.
const LONGEST_ID: usize = 64;

/// The credentials for the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// The server needs no credentials.
    #[default]
    None,
    /// The header `Authorization`.
    Header {
        /// The header as it is sent.
        text: String,
        /// The names of the variables, for messages.
        from: String,
    },
}

impl Credentials {
    /// Reads the credentials from the environment like MLflow's own clients: `MLFLOW_TRACKING_TOKEN`, or
    /// `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`.
    #[must_use]
    pub fn from_environment() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let basic = || {
            let (name, password) =
                (variable("MLFLOW_TRACKING_USERNAME")?, variable("MLFLOW_TRACKING_PASSWORD")?);
            Some(Self::basic(&name, &password))
        };
        let token = || {
            let text = format!("Bearer {}", variable("MLFLOW_TRACKING_TOKEN")?);
            Some(Self::Header { text, from: "MLFLOW_TRACKING_TOKEN".into() })
        };
        basic().or_else(token).unwrap_or_default()
    }

    /// Returns a name and a password, as HTTP's scheme Basic sends them.
    #[must_use]
    pub fn basic(name: &str, password: &str) -> Self {
        use base64::Engine as _;
        let text = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
        Self::Header { text: format!("Basic {text}"), from: "MLFLOW_TRACKING_PASSWORD".into() }
    }

    /// Checks that the credentials can be sent to a server: over an encrypted connection, or within this
    /// machine.
    ///
    /// # Errors
    /// If they would be sent unencrypted. The error names the variables and the next step.
    pub fn check(&self, url: &str) -> Result<(), TrackError> {
        match self {
            Self::Header { from, .. } if !url.starts_with("https://") && !is_this_machine(url) => {
                let reason = format!(
                    "{from} would be sent over an unencrypted connection, for others to read; use https://, a tunnel to \
                     127.0.0.1, or unset it"
                );
                Err(TrackError::Server { url: url.into(), reason })
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether a connection to this address stays on this machine.
fn is_this_machine(url: &str) -> bool {
    let Some(host) = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(String::from)) else {
        return false;
    };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Sends runs to an MLflow server.
///
/// Values wait until [`Tracker::flush`] sends them, in order. Values that the server did not accept keep
/// waiting, so that a server may be unreachable for a while. A resumed run is found by its id and stays the
/// same run. Values that are left at the end, or do not fit into memory, can be kept in a folder
/// ([`MlflowServer::keep_unsent_in`]) and sent later ([`MlflowServer::read_unsent`]).
#[derive(Debug)]
pub struct MlflowServer {
    url: String,
    agent: ureq::Agent,
    credentials: Credentials,
    offline: bool,
    unsent: Option<Unsent>,
    waiting: VecDeque<Waiting>,
    experiments: HashMap<String, String>,
    /// The server's ids of runs, by ours.
    runs: HashMap<String, String>,
    /// The runs that have begun and have not ended, as far as was sent.
    begun: HashMap<String, Run>,
    /// Values that are already kept, or lost if there is no folder.
    left: LeftValues,
}

/// Values that were not sent.
#[derive(Clone, Debug, Default)]
struct LeftValues {
    runs: BTreeSet<String>,
    values: usize,
}

impl LeftValues {
    fn add(&mut self, waiting: &Waiting) {
        self.runs.insert(waiting.run().into());
        self.values += waiting.count_values();
    }
}

/// Why a request failed.
enum Failure {
    /// The server did not answer, failed, or is no MLflow server: the same request may succeed later, or on
    /// another server.
    Away(String),
    /// The server rejects the request permanently.
    Refused(String),
}

impl MlflowServer {
    /// Sends to the server at a URL such as `http://127.0.0.1:5000`. Nothing is sent yet.
    ///
    /// # Errors
    /// If others could read the credentials on their way.
    pub fn new(url: &str, credentials: Credentials) -> Result<Self, TrackError> {
        credentials.check(url)?;
        // A redirect leads to a page for people, and would take the request's body to another place.
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        // A proxy of the environment is another machine.
        let config = if is_this_machine(url) { config.proxy(None) } else { config };
        Ok(Self {
            url: url.trim_end_matches('/').into(),
            agent: config.build().into(),
            credentials,
            offline: false,
            unsent: None,
            waiting: VecDeque::new(),
            experiments: HashMap::new(),
            runs: HashMap::new(),
            begun: HashMap::new(),
            left: LeftValues::default(),
        })
    }

    /// Keeps unsent values in this folder. Messages name the `command` that sends them.
    #[must_use]
    pub fn keep_unsent_in(mut self, folder: PathBuf, command: String) -> Self {
        self.unsent = Some(Unsent { folder, command });
        self
    }

    /// Opens no connection: everything is kept.
    #[must_use]
    pub fn offline(mut self) -> Self {
        self.offline = true;
        self
    }

    /// Reads the values kept in a file, to send them with the next flush. Returns the numbers of runs, of
    /// values, and of damaged lines, which are skipped.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_unsent(&mut self, file: &Path) -> Result<(usize, usize, usize), TrackError> {
        let (all, damaged) = unsent::read(file)?;
        let mut counted = LeftValues::default();
        all.iter().for_each(|waiting| counted.add(waiting));
        self.waiting.extend(all);
        Ok((counted.runs.len(), counted.values, damaged))
    }

    /// Sends the waiting items in order, until all are sent, the server fails, or the time is over.
    fn send_waiting(&mut self, until: Instant) -> Result<(), TrackError> {
        let mut refused = None;
        while !self.offline && !self.waiting.is_empty() && Instant::now() < until {
            let sent = match self.send_first() {
                Ok(sent) => sent,
                Err(Failure::Away(reason)) => return Err(self.error(reason)),
                Err(Failure::Refused(reason)) => {
                    if let Some(Waiting::Start(run)) = self.waiting.front() {
                        self.begun.remove(&run.id);
                    }
                    refused = Some(reason);
                    1
                }
            };
            self.waiting.drain(..sent);
        }
        refused.map_or(Ok(()), |reason| Err(self.error(reason)))
    }

    /// Moves all that waits to the folder for it. Without one it is only counted.
    fn set_aside(&mut self) -> Result<(), TrackError> {
        self.waiting.iter().for_each(|waiting| self.left.add(waiting));
        let waiting = std::mem::take(&mut self.waiting);
        let Some(unsent) = &self.unsent else { return Ok(()) };
        // A file is complete: it begins with its run, also if that has been sent.
        let mut all: Vec<&Waiting> = waiting.iter().collect();
        all.sort_by_key(|waiting| waiting.run());
        let mut lines: Vec<(&str, String)> = Vec::new();
        for one in all {
            let run = one.run();
            let is_first = lines.last().is_none_or(|(last, _)| *last != run);
            if let (true, Some(begun)) = (is_first && !matches!(one, Waiting::Start(_)), self.begun.get(run))
            {
                lines.push((run, unsent::waiting_line(&Waiting::Start(Box::new(begun.clone())))));
            }
            lines.push((run, unsent::waiting_line(one)));
        }
        Ok(unsent.keep_unsent(lines.into_iter())?)
    }

    /// Sends the first waiting item, with all items that fit into the same request. Returns their number.
    fn send_first(&mut self) -> Result<usize, Failure> {
        match &self.waiting[0] {
            Waiting::Start(run) => {
                let run = run.clone();
                self.find_or_start(&run)?;
                Ok(1)
            }
            Waiting::Point(run, _) => {
                let run = run.clone();
                let (mut metrics, mut count) = (Vec::new(), 0);
                for waiting in &self.waiting {
                    let Waiting::Point(of, point) = waiting else { break };
                    if *of != run || metrics.len() + point.values.len() > METRICS {
                        break;
                    }
                    metrics.extend(point.values.iter().map(|(key, value)| metric_json(key, *value, point)));
                    count += 1;
                }
                if let Some(id) = self.id_of(&run)? {
                    self.post_json("runs/log-batch", &json!({ "run_id": id, "metrics": metrics }))?;
                }
                Ok(count.max(1))
            }
            Waiting::End(run, at, ending) => {
                let (run, at, ending) = (run.clone(), *at, *ending);
                if let Some(id) = self.id_of(&run)? {
                    let body = json!({
                        "run_id": id, "status": run_status(ending).0, "end_time": unix_milliseconds(at),
                    });
                    self.post_json("runs/update", &body)?;
                }
                self.begun.remove(&run);
                Ok(1)
            }
        }
    }

    /// The server's id of a run that was started; one whose start was set aside is started now.
    fn id_of(&mut self, run: &str) -> Result<Option<String>, Failure> {
        if let Some(id) = self.runs.get(run) {
            return Ok(Some(id.clone()));
        }
        let Some(run) = self.begun.get(run).cloned() else { return Ok(None) };
        self.find_or_start(&run).map(Some)
    }

    /// Returns the server's id of a run, which is created if the server does not have it.
    fn find_or_start(&mut self, run: &Run) -> Result<String, Failure> {
        let experiment = self.experiment_id(&run.experiment)?;
        let wanted = json!({
            "experiment_ids": [experiment],
            "filter": format!("tags.`{RUN_TAG}` = '{}'", run.id),
            "max_results": 1,
        });
        let found = self.post_json("runs/search", &wanted)?;
        let id = match found.get("runs").and_then(|runs| runs.get(0)) {
            Some(found) => {
                let tags = found["data"]["tags"].as_array();
                let is_ours = |tag: &Value| tag["key"] == RUN_TAG && tag["value"] == *run.id;
                if !tags.is_some_and(|tags| tags.iter().any(is_ours)) {
                    return Err(unusable_answer("runs/search", "with another run"));
                }
                let id = id_in("runs/search", &found["info"]["run_id"])?;
                self.post_json("runs/update", &json!({ "run_id": id, "status": "RUNNING" }))?;
                id
            }
            None => {
                let tag = |key: &str, value: &str| json!({ "key": key, "value": value });
                let body = json!({
                    "experiment_id": experiment,
                    "run_name": run.name,
                    "start_time": unix_milliseconds(run.started),
                    "tags": [tag(NAME_TAG, &run.name), tag(RUN_TAG, &run.id)],
                });
                let made = self.post_json("runs/create", &body)?;
                id_in("runs/create", &made["run"]["info"]["run_id"])?
            }
        };
        if self.runs.iter().any(|(other, known)| *other != run.id && *known == id) {
            return Err(unusable_answer("runs/create", "with the id of another run"));
        }
        // Send them for an existing run too: the server may have failed before it received all of them. It
        // accepts repeated parameters.
        for parameters in run.parameters.chunks(PARAMETERS) {
            let params: Vec<Value> = parameters
                .iter()
                .map(|parameter| {
                    let value: String = parameter.value.text().chars().take(LONGEST).collect();
                    json!({ "key": parameter.name, "value": value })
                })
                .collect();
            self.post_json("runs/log-batch", &json!({ "run_id": id, "params": params }))?;
        }
        self.runs.insert(run.id.clone(), id.clone());
        self.begun.insert(run.id.clone(), run.clone());
        Ok(id)
    }

    /// Returns the id of an experiment, which is created if the server does not have it.
    fn experiment_id(&mut self, name: &str) -> Result<String, Failure> {
        if let Some(id) = self.experiments.get(name) {
            return Ok(id.clone());
        }
        let filter = format!("name = '{}'", name.replace('\'', "\\'"));
        let found = self.post_json("experiments/search", &json!({ "filter": filter, "max_results": 1 }))?;
        let id = match found.get("experiments").and_then(|experiments| experiments.get(0)) {
            Some(found) if found["name"] != name => {
                return Err(unusable_answer("experiments/search", "with another experiment"));
            }
            Some(found) => id_in("experiments/search", &found["experiment_id"])?,
            None => {
                let made = self.post_json("experiments/create", &json!({ "name": name }))?;
                id_in("experiments/create", &made["experiment_id"])?
            }
        };
        self.experiments.insert(name.into(), id.clone());
        Ok(id)
    }

    fn post_json(&self, what: &str, body: &Value) -> Result<Value, Failure> {
        let mut request = self
            .agent
            .post(format!("{}/api/2.0/mlflow/{what}", self.url))
            .header("Content-Type", "application/json");
        if let Credentials::Header { text, .. } = &self.credentials {
            request = request.header("Authorization", text);
        }
        let away = |error: ureq::Error| Failure::Away(error.to_string());
        let mut answer = request.send(body.to_string()).map_err(away)?;
        let code = answer.status();
        if code.is_redirection() {
            return Err(unusable_answer(what, &format!("with {code}, as by a page to log in")));
        }
        let text = answer.body_mut().with_config().limit(MOST_ANSWER).read_to_string().map_err(away)?;
        let read: Option<Value> = serde_json::from_str(&text).ok().filter(Value::is_object);
        if code.is_success() {
            return read.ok_or_else(|| unusable_answer(what, "without JSON, as by a page to log in"));
        }
        let said = read.as_ref().and_then(|read| read["message"].as_str()).unwrap_or(text.trim());
        let said: String = said.chars().take(200).collect();
        let reason = format!("`{what}` was answered with {code}: {said}");
        // MLflow's own refusal stays one. Who we are can change, and another server than MLflow may be in its place.
        let is_mlflow = read.is_some_and(|read| read["error_code"].is_string());
        Err(match code.as_u16() {
            400..=499 if is_mlflow && ![401, 403, 408, 429].contains(&code.as_u16()) => {
                Failure::Refused(reason)
            }
            _ => Failure::Away(reason),
        })
    }

    fn error(&self, reason: String) -> TrackError {
        TrackError::Server { url: self.url.clone(), reason }
    }
}

/// Returns an answer that no MLflow server gives.
fn unusable_answer(what: &str, how: &str) -> Failure {
    Failure::Away(format!("`{what}` was answered {how}; is this the address of an MLflow server?"))
}

/// Returns an id in an answer.
fn id_in(what: &str, id: &Value) -> Result<String, Failure> {
    let is_id = |id: &&str| {
        (1..=LONGEST_ID).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let id = id.as_str().filter(is_id);
    id.map(String::from).ok_or_else(|| unusable_answer(what, "without an id"))
}

fn metric_json(key: &str, value: f64, point: &Point) -> Value {
    json!({
        "key": key, "value": unsent::json_number(value), "timestamp": unix_milliseconds(point.time), "step": point.step,
    })
}

impl Tracker for MlflowServer {
    fn name(&self) -> String {
        format!("MLflow at {}", self.url)
    }

    fn start(&mut self, run: &Run) -> Result<(), TrackError> {
        self.begun.insert(run.id.clone(), run.clone());
        self.waiting.push_back(Waiting::Start(Box::new(run.clone())));
        Ok(())
    }

    fn log(&mut self, run: &str, point: &Point) -> Result<(), TrackError> {
        self.waiting.push_back(Waiting::Point(run.into(), point.clone()));
        if self.waiting.len() < MOST_WAITING { Ok(()) } else { self.set_aside() }
    }

    fn end(&mut self, run: &str, at: SystemTime, ending: Ending) -> Result<(), TrackError> {
        self.waiting.push_back(Waiting::End(run.into(), at, ending));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TrackError> {
        self.send_waiting(Instant::now() + BUDGET)
    }

    fn finish(&mut self, until: Instant) -> Result<(), TrackError> {
        let sent = self.send_waiting(until);
        if !self.waiting.is_empty() {
            self.set_aside()?;
        }
        if self.left.runs.is_empty() {
            return sent;
        }
        let reason = match sent {
            Err(TrackError::Server { reason, .. }) => reason,
            _ if self.offline => "offline".into(),
            _ => "the server is slow".into(),
        };
        let LeftValues { runs, values } = &self.left;
        Err(TrackError::Unsent {
            url: self.url.clone(),
            reason,
            runs: runs.len(),
            values: *values,
            kept: self.unsent.as_ref().map(|unsent| (unsent.folder.clone(), unsent.command.clone())),
        })
    }
}

#[cfg(test)]
mod tests;
