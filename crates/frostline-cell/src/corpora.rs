//! The way from a cell's files to its tasks' sentences. Files, choices of sentences and alignments are kept, so
//! that each is read, drawn and made once for all cells of a worker.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, bail};
use frostline_align::Aligner;
use frostline_record::{Cell, DataSettings, FileName, Input, Inputs, Settings, TaskSettings};

use crate::aligned::{AlignedSplit, AlignedTask, Alignments};
use crate::corpus::{Chosen, Files, ParsedFile, Portion, Portions, is_drawn};
use crate::document::{Document, DocumentFormat};
use crate::heads::head_owner;
use crate::inputs;
use crate::recent::Recent;

/// The tag of no word, added if a plan sets `padding_tag`.
pub(crate) const PADDING: &str = "<pad>";

/// Maximum number of parsed and aligned files that are kept in addition to files in use: four datasets with
/// train, dev and test.
const MOST_FILES: usize = 12;

/// The most choices of sentences that are kept.
const MOST_CHOICES: usize = 16;

/// The most tokenizers that are kept: a large one takes more than 100 MB.
const MOST_ALIGNERS: usize = 1;

/// Parsed files, chosen sentences and alignments, by what they were made from. Memory is bounded: in addition
/// to values in use, each list keeps a fixed number of the most recently used values.
pub(crate) struct Corpora {
    pub(crate) documents: Recent<Document>,
    chosen: Recent<Chosen>,
    aligners: Recent<KeyedAligner>,
    pub(crate) alignments: Recent<Alignments>,
}

/// An aligner and its key.
pub(crate) struct KeyedAligner {
    key: String,
    pub aligner: Aligner,
}

/// A task of a cell, its sentences and its tags.
pub(crate) struct TaskSentences {
    pub name: FileName,
    pub settings: TaskSettings,
    pub portions: Portions,
    /// Tags of the train split, and of the tasks that share the head.
    pub tags: Vec<String>,
}

impl Default for Corpora {
    fn default() -> Self {
        Self {
            documents: Recent::new(MOST_FILES),
            chosen: Recent::new(MOST_CHOICES),
            aligners: Recent::new(MOST_ALIGNERS),
            alignments: Recent::new(MOST_FILES),
        }
    }
}

impl Corpora {
    /// Returns the tasks of a cell, by name.
    ///
    /// # Errors
    /// If a file is missing, cannot be read, has a fault or has changed.
    pub fn tasks(&mut self, cell: &Cell) -> Result<Vec<TaskSentences>> {
        let mut tasks = Vec::new();
        for (name, settings) in &cell.settings.tasks {
            let portions = self.portions(cell, settings)?;
            let (name, settings) = (name.clone(), settings.clone());
            tasks.push(TaskSentences { name, settings, portions, tags: Vec::new() });
        }
        for (task, tags) in tag_sets(&cell.settings, &tasks).into_iter().enumerate() {
            tasks[task].tags = tags;
        }
        Ok(tasks)
    }

    /// Returns the aligner of a cell.
    ///
    /// # Errors
    /// If the tokenizer cannot be read.
    pub fn aligner(&mut self, inputs: &Inputs, data: &DataSettings) -> Result<Arc<KeyedAligner>> {
        let files = inputs::TOKENIZER.map(|role| inputs.get(role).map(|input| &input.sha256));
        let key = serde_json::to_string(&(files, data.max_length, data.lowercase))?;
        self.aligners.find_or_make(&key, || {
            Ok(KeyedAligner { key: key.clone(), aligner: inputs::aligner(inputs, data)? })
        })
    }

    /// Returns a task's splits, labelled and aligned.
    ///
    /// # Errors
    /// Names the file and the sentence that cannot be aligned.
    pub fn align<'a>(&mut self, task: &'a TaskSentences, aligner: &KeyedAligner) -> Result<AlignedTask<'a>> {
        let Portions { train, dev, test } = &task.portions;
        Ok(AlignedTask {
            train: self.align_split(task, ("train", train), aligner)?,
            dev: self.align_split(task, ("dev", dev), aligner)?,
            test: test.as_ref().map(|test| self.align_split(task, ("test", test), aligner)).transpose()?,
        })
    }

    fn align_split<'a>(
        &mut self,
        task: &TaskSentences,
        split: (&'static str, &'a Portion),
        KeyedAligner { key, aligner }: &KeyedAligner,
    ) -> Result<AlignedSplit<'a>> {
        let file = &split.1.file;
        let key = format!("{} {key}", file.key);
        let alignments =
            self.alignments.find_or_make(&key, || anyhow::Ok(Alignments::new(&file.document)))?;
        AlignedSplit::new(split, (&task.settings.labels, task.settings.unit()), &alignments, aligner)
    }

    /// Returns the sentences of a task's splits.
    fn portions(&mut self, cell: &Cell, task: &TaskSettings) -> Result<Portions> {
        let Settings { data, eval, seed, .. } = &cell.settings;
        let files = self.files(cell, task)?;
        let keys = [files.train.as_ref(), files.dev.as_ref(), files.test.as_ref()];
        let keys = keys.map(|file| file.map(|file| &file.key));
        let drawn_by = is_drawn(data, files.train.is_some()).then_some(*seed);
        let key = serde_json::to_string(&(keys, data, drawn_by))?;
        let chosen = self.chosen.find_or_make(&key, || anyhow::Ok(files.choose(data, *seed)))?;
        Ok(files.portions(data, &chosen, eval.test))
    }

    /// Returns the files of a task's dataset that the cell reads.
    fn files(&mut self, cell: &Cell, task: &TaskSettings) -> Result<Files> {
        let Settings { data, eval, .. } = &cell.settings;
        let dataset = cell.settings.dataset_of(task);
        let input = |split: &str| cell.inputs.get(&cell.settings.role(dataset, split));
        let format = DocumentFormat::of(&task.labels);
        let cut_dev = data.cut_dev > 0.0;
        if let Some(missing) = [("train", cut_dev), ("dev", !cut_dev)]
            .into_iter()
            .find_map(|(split, needed)| (needed && input(split).is_none()).then_some(split))
        {
            bail!("the cell names no {missing} file of `{dataset}`");
        }
        let dev = input("dev").filter(|_| !cut_dev);
        let test = input("test").filter(|_| eval.test && data.cut_test == 0.0);
        Ok(Files {
            dev: dev.map(|input| self.file(input, format)).transpose()?,
            train: input("train").map(|input| self.file(input, format)).transpose()?,
            test: test.map(|input| self.file(input, format)).transpose()?,
        })
    }

    fn file(&mut self, input: &Input, format: DocumentFormat) -> Result<ParsedFile> {
        let key = format!("{format:?} {}", input.sha256);
        let document = self
            .documents
            .find_or_make(&key, || Document::parse(inputs::text_of(input)?.into(), &input.path, format))?;
        Ok(ParsedFile { path: input.path.clone(), key, document })
    }
}

/// Returns the key of a cell's data: two cells with equal keys have the same data.
pub(crate) fn data_key(cell: &Cell, verify: bool) -> Result<String> {
    let Settings { data, eval, tasks, .. } = &cell.settings;
    let hashes: Vec<_> = cell.inputs.iter().map(|(role, input)| (role, &input.sha256)).collect();
    Ok(serde_json::to_string(&(hashes, data, tasks, drawn_by(cell), eval, verify))?)
}

/// Returns the seed that draws a cell's sentences, if they are drawn.
pub(crate) fn drawn_by(cell: &Cell) -> Option<u64> {
    let settings = &cell.settings;
    let mut datasets = settings.tasks.values().map(|task| settings.dataset_of(task));
    let has_train = datasets.all(|dataset| cell.inputs.contains_key(&settings.role(dataset, "train")));
    is_drawn(&settings.data, has_train).then_some(settings.seed)
}

/// Returns each task's tags, sorted.
fn tag_sets(settings: &Settings, tasks: &[TaskSentences]) -> Vec<Vec<String>> {
    let own: Vec<(&str, BTreeSet<&str>)> = tasks
        .iter()
        .map(|task| (head_owner(settings, &task.name), task.portions.train.tag_set(&task.settings.labels)))
        .collect();
    let of_head = |head: &str| {
        let all: BTreeSet<&str> =
            own.iter().filter(|(owner, _)| *owner == head).flat_map(|(_, tags)| tags).copied().collect();
        let padding = settings.data.padding_tag.then_some(PADDING);
        padding.into_iter().chain(all).map(String::from).collect()
    };
    own.iter().map(|(head, _)| of_head(head)).collect()
}
