//! The trackers that a plan switches on.

use serde::{Deserialize, Serialize};

use crate::Switch;

/// The trackers that receive cells' values during training. They change no cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrackSettings {
    /// TensorBoard's event files, in the sweep's folder.
    pub tensorboard: Switch,
    /// Offline runs of Weights & Biases, in the sweep's folder.
    pub wandb: Switch,
    /// Runs of MLflow.
    pub mlflow: Mlflow,
    /// The group of the runs: MLflow's experiment, the project of Weights & Biases. Empty means the plan's
    /// name.
    pub experiment: String,
}

impl Default for TrackSettings {
    fn default() -> Self {
        Self { tensorboard: Switch::Off, wandb: Switch::Off, mlflow: Mlflow::Off, experiment: String::new() }
    }
}

impl TrackSettings {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Switches on the trackers of a list, and no others: `tensorboard`, `wandb`, `mlflow` (its files, in the sweep's
    /// folder), `mlflow=URL` (a server) or `off`.
    ///
    /// # Errors
    /// If one of them is unknown, in words for the command line.
    pub fn switch_on(&mut self, trackers: &[String]) -> Result<(), String> {
        let experiment = std::mem::take(&mut self.experiment);
        *self = Self { experiment, ..Self::default() };
        for tracker in trackers {
            match tracker.trim() {
                "off" => {}
                "tensorboard" => self.tensorboard = Switch::On,
                "wandb" => self.wandb = Switch::On,
                "mlflow" => self.mlflow = Mlflow::Folder,
                other => match other.strip_prefix("mlflow=") {
                    Some(url) => self.mlflow = url.to_string().try_into()?,
                    None => {
                        return Err(format!(
                            "`{other}` is not a tracker; there are tensorboard, wandb, mlflow, mlflow=URL and off"
                        ));
                    }
                },
            }
        }
        Ok(())
    }
}

/// The target of MLflow's runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Mlflow {
    /// Nowhere.
    #[default]
    Off,
    /// Files in the sweep's folder.
    Folder,
    /// A server, by its address.
    Server(String),
}

impl TryFrom<String> for Mlflow {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "off" => return Ok(Self::Off),
            "folder" => return Ok(Self::Folder),
            _ => {}
        }
        let Some((_, rest)) =
            text.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
        else {
            return Err(format!(
                "MLflow is `{text}`, but must be `off`, `folder` or a server's address, http://..."
            ));
        };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.contains('@') {
            return Err("the address of the MLflow server has a name or password in it, which would be stored with \
                        the sweep; set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"
                .into());
        }
        if host.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(format!("`{text}` is not the address of a server"));
        }
        Ok(Self::Server(text))
    }
}

impl From<Mlflow> for String {
    fn from(place: Mlflow) -> Self {
        match place {
            Mlflow::Off => "off".into(),
            Mlflow::Folder => "folder".into(),
            Mlflow::Server(url) => url,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch_trackers(trackers: &str) -> Result<TrackSettings, String> {
        let mut track =
            TrackSettings { wandb: Switch::On, experiment: "mine".into(), ..TrackSettings::default() };
        track.switch_on(&trackers.split(',').map(Into::into).collect::<Vec<_>>())?;
        Ok(track)
    }

    #[test]
    fn a_list_switches_on_its_trackers_and_no_others() {
        let found = switch_trackers("tensorboard,mlflow=http://localhost:5000").expect("trackers");
        assert_eq!(found.mlflow, Mlflow::Server("http://localhost:5000".into()));
        assert_eq!((found.tensorboard, found.wandb), (Switch::On, Switch::Off));
        assert_eq!(found.experiment, "mine");
        assert_eq!(switch_trackers("mlflow").expect("its folder").mlflow, Mlflow::Folder);
        assert!(!switch_trackers("off").expect("none").wandb.is_on());
        assert!(switch_trackers("tensorbord").expect_err("a typo").contains("there are tensorboard"));
    }

    #[test]
    fn a_place_of_mlflow_is_an_address_without_secrets() {
        let read = |text: &str| Mlflow::try_from(text.to_string());
        for good in ["off", "folder", "http://127.0.0.1:5000", "https://mlflow.example.org/team"] {
            assert_eq!(String::from(read(good).expect(good)), good);
        }
        for bad in ["", "on", "localhost:5000", "ftp://host", "http://", "http:///path", "http://a b"] {
            read(bad).expect_err(bad);
        }
        let secret = read("https://me:secret@mlflow.example.org").expect_err("a password");
        assert!(secret.contains("MLFLOW_TRACKING_TOKEN") && !secret.contains("secret@"), "{secret}");
    }

    #[test]
    fn a_plan_without_trackers_is_written_as_ever() {
        let plan = "schema = 4\nname = 'x'\ntreebanks = { en = 'UD_English-EWT' }\n";
        let read = |more: &str| crate::Plan::parse(&format!("{plan}{more}"), "x.toml");
        let text = |more: &str| serde_json::to_string(&read(more).expect("a plan")).expect("plain data");
        assert!(!text("").contains("track"));
        assert!(text("[track]\nmlflow = 'folder'\n").contains(r#""mlflow":"folder""#));
        assert!(read("[track]\nmlfow = 'folder'\n").is_err());
        assert!(read("[track]\nmlflow = 'files'\n").expect_err("no place").to_string().contains("`folder`"));
    }
}
