//! Several trained taggers, whose equal parts are loaded and computed once.

use std::path::Path;

use anyhow::Result;
use frostline_kernels::backend;
use frostline_model::ComputedBlocks;
use rayon::ThreadPool;

use crate::answer::{Answer, Options, Part};
use crate::engine::{Build, Built, EngineModels};
use crate::folder::ModelMismatch;
use crate::group::{ModelGroup, TaggerModel};
use crate::reading::{OpenedModel, ReadingSettings, open_model};
use crate::slices::whole_sentences;

/// Trained taggers that share what is equal in them. They can be used by several threads.
///
/// Tensors with the same bits are kept once. Models with one tokenizer and one configuration read the same subwords, and
/// as far up as their embeddings and blocks are equal, one computation serves all of them. Each model's answers
/// have the same bits as if it were loaded alone.
pub struct Taggers {
    pub(crate) groups: Vec<ModelGroup>,
    /// The place of each tagger: its group, and its number there.
    places: Vec<[usize; 2]>,
    sharing: Sharing,
    pub(crate) pool: ThreadPool,
}

/// What taggers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// The number of blocks that are computed for a sentence if all taggers are asked, and if each were alone.
    pub blocks: ComputedBlocks,
    /// The number of parameters in memory.
    pub parameters: usize,
    /// The number of parameters if each tagger were loaded alone.
    pub separate_parameters: usize,
    /// The number of tokenizers, each of which is loaded and run once.
    pub tokenizers: usize,
}

/// The answers of one tagger: for each sentence or part, one answer per word.
pub type SentenceAnswers<'a> = Vec<Vec<Answer<'a>>>;

impl Taggers {
    /// Opens taggers from folders as [`Tagger::load`](crate::Tagger::load) takes them. A folder may be given more than
    /// once.
    ///
    /// # Errors
    /// If no folder is given, or one of the taggers cannot be loaded.
    pub fn load_many<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_many(folders, &Options::default())
    }

    /// Opens taggers with options that override the settings stored in their folders.
    ///
    /// # Errors
    /// See [`Self::load_many`]; also a [`ModelMismatch`] if an option does not fit one of the models.
    pub fn open_many<P: AsRef<Path>>(
        folders: impl IntoIterator<Item = P>,
        options: &Options,
    ) -> Result<Self> {
        let (mut opened, mut places) = (Vec::<OpenedGroup>::new(), Vec::new());
        for folder in folders {
            let (model, reading) = open_model(folder.as_ref(), options)?;
            let known = opened.iter().position(|group| group.reading == reading);
            let group = known.unwrap_or(opened.len());
            if known.is_none() {
                opened.push(OpenedGroup { reading, models: Vec::new() });
            }
            places.push([group, opened[group].models.len()]);
            opened[group].models.push(model);
        }
        if opened.is_empty() {
            return Err(ModelMismatch("no tagger is given; name the folder of at least one".into()).into());
        }
        let aligners = opened.iter().map(|group| group.reading.aligner(&group.models[0].model));
        let aligners = aligners.collect::<Result<Vec<_>>>()?;
        let threads = options.threads.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(16 << 20).build()?;
        let name = backend::choose_backend(options.backend.as_deref())?.name;
        let build = Build { engines: opened.iter().map(OpenedGroup::engine_models).collect() };
        let Built { engines, kept_values, separate_values } =
            pool.install(|| backend::on(&name, build))??;
        let groups = opened.into_iter().zip(aligners).zip(engines);
        let groups: Vec<ModelGroup> = groups
            .map(|((opened, aligner), engine)| {
                let encoder = opened.models[0].model.config.clone();
                ModelGroup {
                    models: opened.models.into_iter().map(tagger_model).collect(),
                    aligner,
                    encoder,
                    engine,
                }
            })
            .collect();
        let counts = groups.iter().map(|group| group.engine.block_count());
        let sharing = Sharing {
            blocks: counts.fold(ComputedBlocks::default(), ComputedBlocks::plus),
            parameters: kept_values,
            separate_parameters: separate_values,
            tokenizers: groups.len(),
        };
        Ok(Self { groups, places, sharing, pool })
    }

    /// Tags sentences with all taggers, with the probability of each tag: for each tagger, for each sentence, one answer per
    /// word.
    ///
    /// # Errors
    /// A [`SentenceError`](crate::SentenceError) if a word cannot be tokenized.
    pub fn tag_all<S: AsRef<[W]>, W: AsRef<str>>(&self, sentences: &[S]) -> Result<Vec<SentenceAnswers<'_>>> {
        let all: Vec<usize> = (0..self.places.len()).collect();
        self.tag_parts(&all, &whole_sentences(sentences))
    }

    /// Tags the own words of many parts of sentences with some of the taggers, in the order in which their numbers are given.
    /// See [`Tagger::tag_parts`](crate::Tagger::tag_parts) for parts; they need [`Self::context`].
    ///
    /// # Errors
    /// A [`SentenceError`](crate::SentenceError) if a word cannot be tokenized, with the index of its part.
    ///
    /// # Panics
    /// If there is no tagger of a number.
    pub fn tag_parts(&self, taggers: &[usize], parts: &[Part<'_>]) -> Result<Vec<SentenceAnswers<'_>>> {
        let none = || parts.iter().map(|part| vec![Answer::NONE; part.own.len()]).collect();
        let mut answers: Vec<SentenceAnswers<'_>> = taggers.iter().map(|_| none()).collect();
        for (number, group) in self.groups.iter().enumerate() {
            let asked = (0..taggers.len()).filter(|&at| self.places[taggers[at]][0] == number);
            let asked: Vec<usize> = asked.collect();
            if asked.is_empty() {
                continue;
            }
            let wanted: Vec<usize> = asked.iter().map(|&at| self.places[taggers[at]][1]).collect();
            let mut visit = |[at, part, word]: [usize; 3], logits: &[f32]| {
                let labels = &group.models[wanted[at]].labels;
                answers[asked[at]][part][word] = Answer::best(labels, logits);
            };
            self.pool.install(|| group.visit_words(&wanted, parts, &mut visit))?;
        }
        Ok(answers)
    }

    /// Returns the number of context words that a part needs on either side: as many as a window of any of the taggers can
    /// contain.
    #[must_use]
    pub fn context(&self) -> usize {
        self.groups.iter().map(ModelGroup::context).max().unwrap_or(0)
    }

    /// Returns the number of taggers, at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the taggers in the order in which they were given.
    pub fn models(&self) -> impl ExactSizeIterator<Item = &TaggerModel> {
        self.places.iter().map(|&[group, number]| &self.groups[group].models[number])
    }

    /// Returns what the taggers share.
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Returns whether an answer does not depend on the other sentences that are tagged at the same time, not even in the last
    /// bit of a probability. This holds on processors with the backends `flex` and `amx`.
    #[must_use]
    pub fn is_independent_of_batches(&self) -> bool {
        self.groups.iter().all(|group| group.engine.on_threads())
    }
}

impl std::fmt::Debug for Taggers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Taggers")
            .field("models", &self.models().collect::<Vec<_>>())
            .field("sharing", &self.sharing)
            .finish_non_exhaustive()
    }
}

/// Models that read the same subwords, before they are loaded.
struct OpenedGroup {
    reading: ReadingSettings,
    models: Vec<OpenedModel>,
}

impl OpenedGroup {
    fn engine_models(&self) -> EngineModels<'_> {
        let models = self.models.iter().map(|opened| &opened.model).collect();
        EngineModels { models, precision: self.reading.precision }
    }
}

fn tagger_model(OpenedModel { model, saved }: OpenedModel) -> TaggerModel {
    TaggerModel { place: model.place, labels: model.tags, saved }
}
