//! MLflow's REST API.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{NAME_TAG, RUN_TAG, status};
use crate::run::milliseconds;
use crate::{Ending, Point, Run, TrackError, Tracker};

/// What one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Metrics of one request, and parameters: MLflow's own limits.
const METRICS: usize = 1000;
const PARAMETERS: usize = 100;
/// Characters of a parameter's value.
const LONGEST: usize = 6000;
/// Points that wait for a server that does not answer; at one a second for each of eight runs, some three hours.
const MOST_WAITING: usize = 100_000;

/// How the server knows who writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// It does not ask.
    #[default]
    None,
    /// The header `Authorization`, as it is sent.
    Header(String),
}

impl Credentials {
    /// As MLflow's own clients take them from the environment: `MLFLOW_TRACKING_TOKEN`, or
    /// `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`.
    #[must_use]
    pub fn from_environment() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let basic = || {
            let (name, password) =
                (variable("MLFLOW_TRACKING_USERNAME")?, variable("MLFLOW_TRACKING_PASSWORD")?);
            Some(Self::basic(&name, &password))
        };
        basic()
            .or_else(|| Some(Self::Header(format!("Bearer {}", variable("MLFLOW_TRACKING_TOKEN")?))))
            .unwrap_or_default()
    }

    /// A name and a password, as HTTP's scheme Basic sends them.
    #[must_use]
    pub fn basic(name: &str, password: &str) -> Self {
        use base64::Engine as _;
        let text = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
        Self::Header(format!("Basic {text}"))
    }
}

/// Sends runs to an MLflow server.
///
/// Everything waits until [`Tracker::flush`] sends it, in order; what the server did not take waits on, so that a server
/// may be away for a while. A run that goes on is found by its id and is the same run.
#[derive(Debug)]
pub struct MlflowServer {
    url: String,
    agent: ureq::Agent,
    credentials: Credentials,
    waiting: VecDeque<Waiting>,
    experiments: HashMap<String, String>,
    /// The server's ids of runs, by ours.
    runs: HashMap<String, String>,
    /// Points for which there was no room.
    dropped: usize,
}

#[derive(Debug)]
enum Waiting {
    Start(Box<Run>),
    Point(String, Point),
    End(String, SystemTime, Ending),
}

/// Why a request failed.
enum Failure {
    /// The server did not answer, or could not: the same may succeed later.
    Away(String),
    /// It does not want this.
    Refused(String),
}

impl MlflowServer {
    /// Sends to the server at a URL such as `http://127.0.0.1:5000`. Nothing is sent yet.
    #[must_use]
    pub fn new(url: &str, credentials: Credentials) -> Self {
        let config =
            ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false).build();
        Self {
            url: url.trim_end_matches('/').into(),
            agent: config.into(),
            credentials,
            waiting: VecDeque::new(),
            experiments: HashMap::new(),
            runs: HashMap::new(),
            dropped: 0,
        }
    }

    /// Sends what is first; what can be sent with it too. Returns how many that were.
    fn send_first(&mut self) -> Result<usize, Failure> {
        match &self.waiting[0] {
            Waiting::Start(run) => {
                let run = run.clone();
                let id = self.start_run(&run)?;
                self.runs.insert(run.id, id);
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
                    metrics.extend(point.values.iter().map(|(key, value)| metric(key, *value, point)));
                    count += 1;
                }
                if let Some(id) = self.runs.get(&run) {
                    self.post("runs/log-batch", &json!({ "run_id": id, "metrics": metrics }))?;
                }
                Ok(count.max(1))
            }
            Waiting::End(run, at, ending) => {
                if let Some(id) = self.runs.get(run) {
                    let body = json!({
                        "run_id": id, "status": status(*ending).0, "end_time": milliseconds(*at),
                    });
                    self.post("runs/update", &body)?;
                }
                Ok(1)
            }
        }
    }

    /// The server's id of a run.
    fn start_run(&mut self, run: &Run) -> Result<String, Failure> {
        let experiment = self.experiment(&run.experiment)?;
        let wanted = json!({
            "experiment_ids": [experiment],
            "filter": format!("tags.`{RUN_TAG}` = '{}'", run.id),
            "max_results": 1,
        });
        let found = self.post("runs/search", &wanted)?;
        let id = match found["runs"][0]["info"]["run_id"].as_str() {
            Some(id) => {
                self.post("runs/update", &json!({ "run_id": id, "status": "RUNNING" }))?;
                id.to_string()
            }
            None => {
                let tag = |key: &str, value: &str| json!({ "key": key, "value": value });
                let body = json!({
                    "experiment_id": experiment,
                    "run_name": run.name,
                    "start_time": milliseconds(run.started),
                    "tags": [tag(NAME_TAG, &run.name), tag(RUN_TAG, &run.id)],
                });
                let made = self.post("runs/create", &body)?;
                made["run"]["info"]["run_id"].as_str().unwrap_or_default().to_string()
            }
        };
        // Of a run that was there, too: the server may have failed before it had all of them. It takes the same ones again.
        for parameters in run.parameters.chunks(PARAMETERS) {
            let params: Vec<Value> = parameters
                .iter()
                .map(|parameter| {
                    let value: String = parameter.value.text().chars().take(LONGEST).collect();
                    json!({ "key": parameter.name, "value": value })
                })
                .collect();
            self.post("runs/log-batch", &json!({ "run_id": id, "params": params }))?;
        }
        Ok(id)
    }

    /// The id of an experiment, which is made where the server has none of that name.
    fn experiment(&mut self, name: &str) -> Result<String, Failure> {
        if let Some(id) = self.experiments.get(name) {
            return Ok(id.clone());
        }
        let filter = format!("name = '{}'", name.replace('\'', "\\'"));
        let found = self.post("experiments/search", &json!({ "filter": filter, "max_results": 1 }))?;
        let id = match found["experiments"][0]["experiment_id"].as_str() {
            Some(id) => id.to_string(),
            None => {
                let made = self.post("experiments/create", &json!({ "name": name }))?;
                made["experiment_id"].as_str().unwrap_or_default().into()
            }
        };
        self.experiments.insert(name.into(), id.clone());
        Ok(id)
    }

    fn post(&self, what: &str, body: &Value) -> Result<Value, Failure> {
        let mut request = self
            .agent
            .post(format!("{}/api/2.0/mlflow/{what}", self.url))
            .header("Content-Type", "application/json");
        if let Credentials::Header(text) = &self.credentials {
            request = request.header("Authorization", text);
        }
        let away = |error: ureq::Error| Failure::Away(error.to_string());
        let mut answer = request.send(body.to_string()).map_err(away)?;
        let text = answer.body_mut().read_to_string().map_err(away)?;
        let read: Value = serde_json::from_str(&text).unwrap_or_default();
        let code = answer.status();
        if code.is_success() {
            return Ok(read);
        }
        let said = read["message"].as_str().unwrap_or(text.trim());
        let said: String = said.chars().take(200).collect();
        let reason = format!("`{what}` was answered with {code}: {said}");
        // 429 asks to come back later.
        Err(if code.is_server_error() || code.as_u16() == 429 {
            Failure::Away(reason)
        } else {
            Failure::Refused(reason)
        })
    }

    fn error(&self, reason: String) -> TrackError {
        TrackError::Server { url: self.url.clone(), reason }
    }
}

fn metric(key: &str, value: f64, point: &Point) -> Value {
    // JSON has no number for these; MLflow takes their names.
    let value = match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value => json!(value),
    };
    json!({ "key": key, "value": value, "timestamp": milliseconds(point.time), "step": point.step })
}

impl Tracker for MlflowServer {
    fn name(&self) -> String {
        format!("MLflow at {}", self.url)
    }

    fn start(&mut self, run: &Run) -> Result<(), TrackError> {
        self.waiting.push_back(Waiting::Start(Box::new(run.clone())));
        Ok(())
    }

    fn log(&mut self, run: &str, point: &Point) -> Result<(), TrackError> {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back(Waiting::Point(run.into(), point.clone()));
            return Ok(());
        }
        self.dropped += 1;
        Err(self.error(format!("{} points were dropped: too many wait for the server", self.dropped)))
    }

    fn end(&mut self, run: &str, at: SystemTime, ending: Ending) -> Result<(), TrackError> {
        self.waiting.push_back(Waiting::End(run.into(), at, ending));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TrackError> {
        let mut refused = None;
        while !self.waiting.is_empty() {
            let sent = match self.send_first() {
                Ok(sent) => sent,
                Err(Failure::Away(reason)) => return Err(self.error(reason)),
                Err(Failure::Refused(reason)) => {
                    refused = Some(reason);
                    1
                }
            };
            self.waiting.drain(..sent);
        }
        refused.map_or(Ok(()), |reason| Err(self.error(reason)))
    }
}
