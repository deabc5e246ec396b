//! What all requests of a server share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::batcher::Batcher;
use crate::document::ModelAnswers;
use crate::hosts::HostNames;
use crate::limits::ServerLimits;
use crate::metrics::Metrics;
use crate::models::ServedModels;
use crate::refusal::Refusal;

/// What all requests of a server share.
pub(crate) struct Service {
    pub models: Arc<ServedModels>,
    pub batcher: Batcher,
    pub metrics: Arc<Metrics>,
    pub hosts: HostNames,
    pub limits: ServerLimits,
    /// One permit for each request that may be open.
    pub room: Semaphore,
}

impl Service {
    pub fn new(models: ServedModels, hosts: Vec<String>, limits: ServerLimits) -> Self {
        let (models, metrics) = (Arc::new(models), Arc::new(Metrics::new()));
        let batcher = Batcher::start(Arc::clone(&models), Arc::clone(&metrics), limits.waiting_words);
        Self {
            models,
            batcher,
            metrics,
            hosts: HostNames(hosts),
            limits,
            room: Semaphore::new(limits.requests),
        }
    }

    /// Returns the answers of some models for sentences of words.
    ///
    /// # Errors
    /// If there are too many words, now or at any time, or a sentence cannot be tagged.
    pub async fn tag(
        &self,
        models: &[usize],
        sentences: Vec<Vec<String>>,
    ) -> Result<Vec<ModelAnswers>, Refusal> {
        let words = sentences.iter().map(Vec::len).sum();
        let answers = self.batcher.tag(models.to_vec(), sentences).await?;
        for &model in models {
            self.metrics.observe_words(&self.models.names[model], words);
        }
        Ok(answers)
    }

    /// Returns how many requests are open.
    pub fn open_requests(&self) -> usize {
        self.limits.requests - self.room.available_permits()
    }
}
