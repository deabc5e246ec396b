//! One thread that computes: it takes the sentences of all requests that wait, and answers each request.
//!
//! It works in rounds. A round has some sentences of each waiting request, so that a long request delays a short one by
//! one round. An answer has the same bits as if its request were alone, on backends on which a row's result does not depend on
//! the other rows (`Taggers::is_independent_of_batches`).

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};

use frostline_tagger::{Answer, PART_WORDS, Part, SentenceAnswers, SentenceError};
use tokio::sync::oneshot;

use crate::document::{ModelAnswers, WordTag};
use crate::metrics::Metrics;
use crate::models::ServedModels;
use crate::refusal::Refusal;

/// About how many words a round has.
const ROUND_WORDS: usize = 2048;

/// What a request gets: the answers of each model that it asks.
pub(crate) type Reply = Result<Vec<ModelAnswers>, Refusal>;

/// The way to the thread that computes.
pub(crate) struct Batcher {
    jobs: Mutex<Option<Sender<TaggingJob>>>,
    /// Words of all requests that wait.
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A request's sentences, and their answers as far as they are computed.
struct TaggingJob {
    models: Vec<usize>,
    sentences: Vec<Vec<String>>,
    /// What is not tagged yet.
    left: VecDeque<WordStretch>,
    /// What is tagged in this round.
    taken: Vec<WordStretch>,
    answers: Vec<ModelAnswers>,
    reply: oneshot::Sender<Reply>,
    held: HeldWords,
}

/// Consecutive words of a sentence: all of them, unless it is very long.
#[derive(Debug, PartialEq)]
struct WordStretch {
    sentence: usize,
    words: Range<usize>,
}

/// Words that count as waiting until this is dropped.
struct HeldWords {
    waiting: Arc<AtomicUsize>,
    words: usize,
}

impl Drop for HeldWords {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.words, Ordering::Relaxed);
    }
}

impl Batcher {
    /// Starts the thread.
    pub fn start(models: Arc<ServedModels>, metrics: Arc<Metrics>, most_waiting: usize) -> Self {
        let (jobs, receiver) = channel();
        let thread = spawn(move || TaggingRounds { models: &models, metrics: &metrics }.run(&receiver));
        Self {
            jobs: Mutex::new(Some(jobs)),
            waiting: Arc::default(),
            most_waiting,
            thread: Mutex::new(Some(thread)),
        }
    }

    /// Returns the answers of some models for sentences. If the returned future is dropped, the rest is not
    /// computed.
    ///
    /// # Errors
    /// If there are too many words, now or at any time, or a sentence cannot be tagged.
    pub async fn tag(&self, models: Vec<usize>, sentences: Vec<Vec<String>>) -> Reply {
        let words: usize = sentences.iter().map(Vec::len).sum();
        let left: VecDeque<WordStretch> = sentences.iter().enumerate().flat_map(cut_sentence).collect();
        let answers = models.iter().map(|_| sentences.iter().map(|_| Vec::new()).collect()).collect();
        if left.is_empty() {
            return Ok(answers);
        }
        let held = self.hold(words)?;
        let (reply, answer) = oneshot::channel();
        let job = TaggingJob { models, sentences, left, taken: Vec::new(), answers, reply, held };
        let sent = self.jobs.lock().expect("no holder panics").as_ref().map(|jobs| jobs.send(job).is_ok());
        if sent != Some(true) {
            return Err(Refusal::unavailable("the server ends; try another one"));
        }
        answer
            .await
            .unwrap_or_else(|_| Err(Refusal::internal("the request was dropped; report this as a bug")))
    }

    /// Counts words as waiting if there is room for them.
    fn hold(&self, words: usize) -> Result<HeldWords, Refusal> {
        let most = self.most_waiting;
        if words > most {
            return Err(Refusal::too_large(format!(
                "the request has {words} words, but the most that this server takes is {most}; send fewer sentences at a time"
            )));
        }
        let add = |waiting: usize| waiting.checked_add(words).filter(|sum| *sum <= most);
        match self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(HeldWords { waiting: Arc::clone(&self.waiting), words }),
            Err(waiting) => Err(Refusal::overloaded(format!(
                "{waiting} words of other requests wait, so there is no room for {words} more; try again later"
            ))),
        }
    }

    /// Returns how many words wait.
    pub fn waiting_words(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Ends the thread once all that waits is computed.
    pub fn end(&self) {
        drop(self.jobs.lock().expect("no holder panics").take());
        if let Some(thread) = self.thread.lock().expect("no holder panics").take() {
            // It catches panics of models; another one has been printed.
            let _ = thread.join();
        }
    }
}

/// Returns a sentence in stretches that can be tagged one after another.
fn cut_sentence((sentence, words): (usize, &Vec<String>)) -> impl Iterator<Item = WordStretch> {
    let count = words.len();
    let stretch = move |from: usize| WordStretch { sentence, words: from..(from + PART_WORDS).min(count) };
    (0..count).step_by(PART_WORDS).map(stretch)
}

impl TaggingJob {
    /// Takes stretches for a round until they have so many words, and returns how many they have.
    fn take_stretches(&mut self, words: usize) -> usize {
        let mut taken = 0;
        while taken < words {
            let Some(stretch) = self.left.pop_front() else { break };
            taken += stretch.words.len();
            self.taken.push(stretch);
        }
        taken
    }

    /// Returns the words of what is taken, with their context.
    fn taken_parts(&self, context: usize) -> impl Iterator<Item = Part<'_>> {
        self.taken.iter().map(move |WordStretch { sentence, words: own }| {
            let words = &self.sentences[*sentence];
            let first = own.start.saturating_sub(context);
            let words = &words[first..(own.end + context).min(words.len())];
            Part {
                words: words.iter().map(String::as_str).collect(),
                own: own.start - first..own.end - first,
            }
        })
    }

    /// Sends the answers, or why there are none.
    fn finish(self, failed: Option<Refusal>) {
        let Self { answers, reply, held, .. } = self;
        // Who has the answer finds room for as many words again.
        drop(held);
        // The client may have gone.
        let _ = reply.send(failed.map_or(Ok(answers), Err));
    }
}

/// The computing thread.
struct TaggingRounds<'a> {
    models: &'a ServedModels,
    metrics: &'a Metrics,
}

/// Why a round was not computed.
enum RoundFailure {
    /// A word of one request cannot be tokenized.
    Sentence(SentenceError),
    Other(String),
}

impl TaggingRounds<'_> {
    /// Computes until no request can come any more.
    fn run(&self, jobs: &Receiver<TaggingJob>) {
        let mut waiting: VecDeque<TaggingJob> = VecDeque::new();
        loop {
            if waiting.is_empty() {
                match jobs.recv() {
                    Ok(job) => waiting.push_back(job),
                    Err(_) => return,
                }
            }
            while let Ok(job) = jobs.try_recv() {
                waiting.push_back(job);
            }
            // Those whose client has gone, or whose time is over.
            waiting.retain(|job| !job.reply.is_closed());
            let Some(models) = waiting.front().map(|job| job.models.clone()) else { continue };
            let (round, others): (Vec<TaggingJob>, Vec<TaggingJob>) =
                waiting.drain(..).partition(|job| job.models == models);
            waiting = others.into();
            waiting.extend(self.compute_round(&models, round));
        }
    }

    /// Tags some sentences of each request, which all ask the same models, and returns the requests that are not finished.
    fn compute_round(&self, models: &[usize], mut round: Vec<TaggingJob>) -> VecDeque<TaggingJob> {
        let share = (ROUND_WORDS / round.len()).max(1);
        let mut words = 0;
        let take = |job: &mut TaggingJob| (words < ROUND_WORDS).then(|| words += job.take_stretches(share));
        let count = round.iter_mut().map_while(take).count();
        self.metrics.observe_round(count, words);
        // Requests for which there was no room come first in the next round.
        let mut unfinished: VecDeque<TaggingJob> = round.split_off(count).into();
        let failed = self.tag_taken(models, &mut round);
        for (mut job, failed) in round.into_iter().zip(failed) {
            job.taken.clear();
            if failed.is_some() || job.left.is_empty() {
                job.finish(failed);
            } else {
                unfinished.push_back(job);
            }
        }
        unfinished
    }

    /// Tags what is taken of requests, together if no word of them is at fault, and returns the fault of each.
    fn tag_taken(&self, models: &[usize], round: &mut [TaggingJob]) -> Vec<Option<Refusal>> {
        if self.tag_together(models, round).is_ok() {
            return round.iter().map(|_| None).collect();
        }
        // One request's fault is no other's.
        let alone = |job: &mut TaggingJob| self.tag_together(models, std::slice::from_mut(job)).err();
        round.iter_mut().map(|job| alone(job).map(|failure| failure.into_refusal(&job.taken))).collect()
    }

    /// Tags what is taken of requests, and adds the answers to theirs; adds nothing after a failure.
    fn tag_together(&self, models: &[usize], jobs: &mut [TaggingJob]) -> Result<(), RoundFailure> {
        let context = self.models.taggers.context();
        let parts: Vec<Part<'_>> = jobs.iter().flat_map(|job| job.taken_parts(context)).collect();
        let tagged = self.tag(models, &parts)?;
        let tagged: Vec<ModelAnswers> =
            models.iter().zip(tagged).map(|(&model, answers)| self.own_answers(model, answers)).collect();
        for (model, answers) in tagged.into_iter().enumerate() {
            let mut answers = answers.into_iter();
            for TaggingJob { taken, answers: of_job, .. } in &mut *jobs {
                for (WordStretch { sentence, .. }, answers) in taken.iter().zip(&mut answers) {
                    of_job[model][*sentence].extend(answers);
                }
            }
        }
        Ok(())
    }

    /// Returns answers that can be kept.
    fn own_answers(&self, model: usize, answers: SentenceAnswers<'_>) -> ModelAnswers {
        let labels = &self.models.labels[model];
        let own = |answer: Answer<'_>| {
            let known = labels.iter().find(|label| ***label == *answer.tag);
            let tag = known.map_or_else(|| answer.tag.into(), Arc::clone);
            WordTag { tag, probability: answer.probability }
        };
        answers.into_iter().map(|answers| answers.into_iter().map(own).collect()).collect()
    }

    fn tag(&self, models: &[usize], parts: &[Part<'_>]) -> Result<Vec<SentenceAnswers<'_>>, RoundFailure> {
        let tag = AssertUnwindSafe(|| self.models.taggers.tag_parts(models, parts));
        match catch_unwind(tag) {
            Ok(Ok(answers)) => Ok(answers),
            Ok(Err(error)) => Err(match error.downcast() {
                Ok(sentence) => RoundFailure::Sentence(sentence),
                Err(other) => RoundFailure::Other(format!("{other:#}")),
            }),
            Err(_) => {
                Err(RoundFailure::Other("a model's computation has panicked; report this as a bug".into()))
            }
        }
    }
}

impl RoundFailure {
    /// Returns the refusal of a request of which these stretches could not be tagged.
    fn into_refusal(self, taken: &[WordStretch]) -> Refusal {
        match self {
            Self::Sentence(SentenceError { sentence, source }) => {
                Refusal::unusable(SentenceError { sentence: taken[sentence].sentence, source }.to_string())
            }
            Self::Other(reason) => Refusal::internal(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batcher whose thread has ended.
    fn ended_batcher(most_waiting: usize) -> Batcher {
        let (jobs, thread) = (Mutex::new(None), Mutex::new(None));
        Batcher { jobs, waiting: Arc::default(), most_waiting, thread }
    }

    #[test]
    fn words_are_refused_now_or_always() {
        let batcher = ended_batcher(10);
        let some = batcher.hold(8).expect("room for 8 of 10");
        assert_eq!(batcher.waiting_words(), 8);
        let status = |words: usize| batcher.hold(words).err().map(|refusal| refusal.status.as_u16());
        assert_eq!([3, 11, 2].map(status), [Some(429), Some(413), None]);
        drop(some);
        assert_eq!([10, 11].map(status), [None, Some(413)]);
        assert_eq!(batcher.waiting_words(), 0);
    }

    #[test]
    fn a_server_that_ends_takes_no_words() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let batcher = ended_batcher(10);
        let refused = runtime.block_on(batcher.tag(vec![0], vec![vec!["ice".into()]]));
        assert_eq!(refused.expect_err("nothing computes").status, 503);
        assert_eq!(batcher.waiting_words(), 0);
        let empty =
            runtime.block_on(batcher.tag(vec![0, 1], vec![vec![]])).expect("there is nothing to compute");
        assert_eq!(empty.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_sentence_is_cut_where_a_tagger_cuts_it() {
        let words = vec![String::new(); PART_WORDS + 5];
        let cut: Vec<_> = cut_sentence((3, &words)).collect();
        let stretch = |words| WordStretch { sentence: 3, words };
        assert_eq!(cut, [stretch(0..PART_WORDS), stretch(PART_WORDS..PART_WORDS + 5)]);
        assert_eq!(cut_sentence((0, &vec![])).count(), 0);
    }
}
