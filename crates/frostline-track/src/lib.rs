#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod background;
mod mlflow;
mod name;
mod run;
mod tensorboard;
#[cfg(test)]
mod tests;
mod tracker;
mod wandb;

pub use background::Background;
pub use mlflow::MlflowFolder;
#[cfg(feature = "http")]
pub use mlflow::{Credentials, MlflowServer};
pub use run::{Ending, Parameter, Point, Run, Value};
pub use tensorboard::TensorBoard;
pub use tracker::{TrackError, Tracker};
pub use wandb::WeightsAndBiases;
