//! From a cell's files to its data.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use frostline_align::Aligner;
use frostline_model::{EncoderConfig, Vocabulary};
use frostline_record::{Cell, Sample, Settings, Switch, Unit};
use frostline_train::Dataset;

use crate::aligned::{AlignedSplit, AlignedTask};
use crate::baselines::most_frequent;
use crate::corpora::{self, Corpora, TaskSentences};
use crate::corpus::{Portion, Portions};
use crate::data::{CellData, EvaluationSplit, SentenceKey, TaskData};
use crate::facts::Known;
use crate::heads::{head_names, head_owner, make_heads};
use crate::inputs;
use crate::shared::SharedData;

/// Returns a cell's data, reusing the data of an earlier cell if they are the same.
///
/// # Errors
/// If a file cannot be read, has a fault, has changed or does not fit the encoder.
pub(crate) fn load(cell: &Cell, verify: bool, shared: &mut SharedData) -> Result<Arc<CellData>> {
    let key = corpora::data_key(cell, verify)?;
    let SharedData { data, corpora, .. } = shared;
    data.find_or_make(&key, || read(cell, verify, key.clone(), corpora))
}

fn read(cell: &Cell, verify: bool, key: String, corpora: &mut Corpora) -> Result<CellData> {
    let settings = &cell.settings;
    let encoder = inputs::encoder_config(&cell.inputs)?;
    inputs::check_length(settings, &encoder)?;
    let aligner = corpora.aligner(&cell.inputs, &settings.data)?;
    inputs::check_ids(&cell.inputs, &aligner.aligner, &encoder)?;
    let mut tasks = corpora.tasks(cell)?;
    let headline = tasks.iter().position(|task| task.name == settings.headline()).unwrap_or(0);
    let sentences = sentence_counts(&tasks[headline].portions);
    if verify {
        tasks.iter_mut().for_each(|task| keep_one_batch(&mut task.portions, settings.train.batch));
    }
    let aligned = tasks.iter().map(|task| corpora.align(task, &aligner)).collect::<Result<Vec<_>>>()?;
    let mut ready = Vec::new();
    for (sentences, aligned) in tasks.iter().zip(&aligned) {
        let mut task = task_data(settings, sentences, aligned)?;
        if settings.eval.baselines == Switch::On && !verify {
            task.most_frequent = Some(most_frequent(aligned, &task, settings.data.lowercase));
        }
        ready.push(task);
    }
    let vocabulary = compact_vocabulary(&mut ready, &encoder);
    let sample = sample_sentence(&aligned[headline].train, &ready[headline], &aligner.aligner);
    let heads = make_heads(settings, |name| {
        ready.iter().find(|task| task.name == name).map_or(&[], |task| task.tags.as_slice())
    });
    Ok(CellData { key, tasks: ready, headline, heads, vocabulary, encoder, sample, sentences })
}

/// Sentences of train, dev and test.
fn sentence_counts(portions: &Portions) -> [u64; 3] {
    let Portions { train, dev, test } = portions;
    [Some(train), Some(dev), test.as_ref()]
        .map(|portion| portion.map_or(0, |portion| portion.sentences.len() as u64))
}

/// Leaves one batch of train and of dev.
fn keep_one_batch(portions: &mut Portions, batch: usize) {
    portions.train.sentences.truncate(batch);
    portions.dev.sentences.truncate(batch);
    portions.test = None;
}

/// Returns a task's data, its baseline left out.
fn task_data(settings: &Settings, task: &TaskSentences, aligned: &AlignedTask<'_>) -> Result<TaskData> {
    let TaskSentences { name, settings: of_task, portions, tags } = task;
    let owner = head_owner(settings, name);
    let head = head_names(settings).iter().position(|own| *own == owner);
    let known = Known::of(&aligned.train.sentences, of_task, settings.data.lowercase);
    let scored = |split: &AlignedSplit<'_>, portion: &Portion| -> Result<EvaluationSplit> {
        Ok(EvaluationSplit {
            set: make_dataset(split, tags, settings)?,
            sentences: portion.clone(),
            known: word_familiarity(split, &known),
        })
    };
    let test = aligned.test.as_ref().zip(portions.test.as_ref());
    Ok(TaskData {
        name: name.clone(),
        head: head.context("a shared head belongs to a task")?,
        settings: of_task.clone(),
        tags: tags.clone(),
        train: learned_from(&aligned.train, tags, settings)?,
        dev: scored(&aligned.dev, &portions.dev)?,
        test: test.map(|(split, portion)| scored(split, portion)).transpose()?,
        facts: known.facts(aligned, tags),
        most_frequent: None,
    })
}

/// Returns train as examples, with label positions by the settings.
fn learned_from(split: &AlignedSplit<'_>, tags: &[String], settings: &Settings) -> Result<Dataset> {
    let dataset = make_dataset(split, tags, settings)?;
    let all = settings.data.label_all_tokens && split.unit == Unit::Words;
    Ok(if all { dataset.with_all_subwords(&split.aligned) } else { dataset })
}

/// Returns a split as examples; with `strict_tags`, every tag must occur in train.
fn make_dataset(split: &AlignedSplit<'_>, tags: &[String], settings: &Settings) -> Result<Dataset> {
    let dataset = split.dataset(tags)?;
    ensure!(
        !settings.data.strict_tags || dataset.unseen_tags.is_empty(),
        "{} has tags that train lacks: {}; without data.strict_tags they count as wrong answers",
        split.path,
        dataset.unseen_tags.join(", ")
    );
    Ok(dataset)
}

/// Returns the familiarity of each labelled word.
fn word_familiarity(split: &AlignedSplit<'_>, known: &Known) -> Vec<Vec<frostline_score::Familiarity>> {
    let of = |sentence: &crate::document::Labelled<'_>| {
        let key = SentenceKey::of(sentence.clone(), split.unit);
        let words = key.words.iter().filter(|_| split.unit == Unit::Words);
        words.map(|word| known.familiarity(&word.form)).collect()
    };
    split.sentences.iter().map(of).collect()
}

/// Gives all examples rows of the vocabulary of the ids that occur in them. [`inputs::check_ids`] has checked that the word
/// table has all ids.
fn compact_vocabulary(tasks: &mut [TaskData], encoder: &EncoderConfig) -> Vocabulary {
    let ids = tasks.iter().flat_map(|task| task.splits().into_iter().flatten()).flat_map(Dataset::ids);
    let vocabulary = Vocabulary::of(encoder.vocabulary, ids);
    for task in tasks {
        let test = task.test.as_mut().map(|test| &mut test.set);
        for set in [&mut task.train, &mut task.dev.set].into_iter().chain(test) {
            set.compact(&vocabulary);
        }
    }
    vocabulary
}

/// Returns the first train sentence of a few words, as the model sees it.
fn sample_sentence(train: &AlignedSplit<'_>, task: &TaskData, aligner: &Aligner) -> Sample {
    let few = |words: usize| (4..=12).contains(&words);
    let at = train.sentences.iter().position(|sentence| few(sentence.tagged.words.len())).unwrap_or(0);
    let (example, sentence) = (&task.train.examples[at], &train.sentences[at].tagged);
    let mut labels = vec![String::new(); example.ids.len()];
    for (word, gold) in example.words.iter().zip(&example.gold) {
        if let (Ok(position), Some(tag)) = (word, gold) {
            labels[*position as usize].clone_from(&task.tags[*tag as usize]);
        }
    }
    Sample {
        words: sentence.words.iter().map(|&word| word.into()).collect(),
        subwords: aligner.tokens(&example.ids),
        labels,
    }
}
