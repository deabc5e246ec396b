//! A cell's data: read, chosen, aligned once, and shared by the cells of one worker.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use frostline_align::Aligner;
use frostline_model::{EncoderConfig, HeadKind, HeadShape, Vocabulary};
use frostline_record::{self as record, Baseline, Cell, CellFacts, Sample, Settings, Switch};
use frostline_score::Familiarity;
use frostline_train::{Dataset, Split, TaggedSentence, TrainError, tag_set};

use crate::baselines::most_frequent;
use crate::corpus::{Labelled, Splits, Texts, is_drawn};
use crate::facts::Known;
use crate::inputs::{self, Verified};
use crate::prefix::Kept;

/// The tag that no word has, where a plan asks for it.
pub(crate) const PADDING: &str = "<pad>";

/// The most that a worker keeps of aligned data. A sample that is drawn for each seed is data of its own,
/// and a long learning curve has hundreds.
const MOST_DATA: usize = 16;

/// What cells of one worker share.
#[derive(Default)]
pub struct Shared {
    /// Aligned data, those used last at the end.
    data: Vec<Arc<Data>>,
    /// Probes, by what they were fitted to; nothing where there is nothing to fit.
    pub(crate) probes: HashMap<String, Option<Baseline>>,
    /// Outputs of constant prefixes.
    pub(crate) prefixes: Kept,
    /// Weights files.
    pub(crate) verified: Verified,
}

/// A cell's data, aligned.
pub(crate) struct Data {
    /// What it was made from.
    pub key: String,
    /// By name.
    pub tasks: Vec<TaskData>,
    /// The headline's place among them.
    pub headline: usize,
    pub heads: Vec<HeadShape>,
    pub vocabulary: Vocabulary,
    pub encoder: EncoderConfig,
    pub sample: Sample,
    /// The headline's sentences in train, dev and test.
    pub sentences: [u64; 3],
}

/// One task's data, aligned.
pub(crate) struct TaskData {
    pub name: String,
    /// A place in [`Data::heads`].
    pub head: usize,
    pub settings: record::TaskSettings,
    pub tags: Vec<String>,
    pub train: Dataset,
    pub dev: Dataset,
    pub test: Option<Dataset>,
    /// What dev and test say, for files of predictions.
    pub keys: [Vec<Key>; 2],
    /// What its splits are, for the record.
    pub facts: record::TaskFacts,
    /// What each word's most frequent tag reaches, where baselines are asked for.
    pub most_frequent: Option<Baseline>,
}

/// A scored sentence: its id, and number, form and gold tag of every labelled word.
pub(crate) struct Key {
    pub id: String,
    pub words: Vec<[String; 3]>,
    /// What train knows of each of these words; nothing where the sentence is labelled.
    pub known: Vec<Familiarity>,
}

impl Data {
    /// The task of the headline.
    pub fn main(&self) -> &TaskData {
        &self.tasks[self.headline]
    }
}

impl TaskData {
    /// Train, dev and test, as far as there is one.
    pub fn splits(&self) -> [Option<&Dataset>; 3] {
        [Some(&self.train), Some(&self.dev), self.test.as_ref()]
    }
}

/// The texts of a dataset, those that a cell reads.
///
/// # Errors
/// Where one cannot be read or has changed.
pub(crate) fn texts(cell: &Cell, dataset: &str) -> Result<Texts> {
    let settings = &cell.settings;
    let read = |split: &str| -> Result<Option<(String, String)>> {
        let role = settings.role(dataset, split);
        let Some(input) = cell.inputs.get(&role) else { return Ok(None) };
        Ok(Some((inputs::text(&cell.inputs, &role)?, input.path.clone())))
    };
    let dev = read("dev")?.ok_or_else(|| anyhow!("the cell names no dev file of `{dataset}`"))?;
    let test = if settings.eval.test { read("test")? } else { None };
    Ok(Texts { train: read("train")?, dev, test })
}

/// A head's kind, in the model's words.
pub(crate) fn kind(kind: record::HeadKind) -> HeadKind {
    match kind {
        record::HeadKind::Linear => HeadKind::Linear,
        record::HeadKind::Distilbert => HeadKind::DistilBert,
        record::HeadKind::Pooler => HeadKind::Pooler,
    }
}

/// The task whose head a task reads: its own, or the one that it shares.
pub(crate) fn owner<'a>(settings: &'a Settings, task: &'a str) -> &'a str {
    let shared = settings.tasks.get(task).map_or("", |task| task.shares.as_str());
    if shared.is_empty() { task } else { shared }
}

/// The names of the heads, in the model's order: those of the tasks that have their own.
pub(crate) fn head_names(settings: &Settings) -> Vec<&str> {
    let own = settings.tasks.iter().filter(|(_, task)| task.shares.is_empty());
    own.map(|(name, _)| name.as_str()).collect()
}

/// The heads, given each task's tags. The headline's parameters do not depend on what else is
/// learned.
pub(crate) fn heads<'a>(settings: &Settings, tags: impl Fn(&str) -> &'a [String]) -> Vec<HeadShape> {
    let main = owner(settings, settings.headline());
    let shape = |name: &str| HeadShape {
        name: if name == main { "head".into() } else { format!("head.{name}") },
        kind: kind(settings.tasks[name].head),
        labels: tags(name).len(),
    };
    head_names(settings).into_iter().map(shape).collect()
}

/// Reads and aligns a cell's data, or finds it among what earlier cells left.
pub(crate) fn load(cell: &Cell, verify: bool, shared: &mut Shared) -> Result<Arc<Data>> {
    let key = key(cell, verify)?;
    let data = match shared.data.iter().position(|data| data.key == key) {
        Some(at) => shared.data.remove(at),
        None => Arc::new(Data { key, ..read(cell, verify)? }),
    };
    shared.data.push(data.clone());
    let surplus = shared.data.len().saturating_sub(MOST_DATA);
    shared.data.drain(..surplus);
    Ok(data)
}

/// What makes the data of two cells the same.
fn key(cell: &Cell, verify: bool) -> Result<String> {
    let Settings { data, eval, tasks, .. } = &cell.settings;
    let hashes: Vec<_> = cell.inputs.iter().map(|(role, input)| (role, &input.sha256)).collect();
    Ok(serde_json::to_string(&(hashes, data, tasks, drawn_by(cell), eval, verify))?)
}

/// The seed that chooses a cell's sentences, where one does.
pub(crate) fn drawn_by(cell: &Cell) -> Option<u64> {
    let settings = &cell.settings;
    let mut datasets = settings.tasks.values().map(|task| settings.dataset_of(task));
    let has_train = datasets.all(|dataset| cell.inputs.contains_key(&settings.role(dataset, "train")));
    is_drawn(&settings.data, has_train).then_some(settings.seed)
}

/// What the data of each kind of cell are, as a record would say it. Nothing of the encoder is read but
/// its tokenizer.
///
/// # Errors
/// Where a file cannot be read, has a fault or has changed.
pub fn facts(cells: &[Cell]) -> Result<Vec<CellFacts>> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for cell in cells {
        if !seen.insert(key(cell, false)?) {
            continue;
        }
        let settings = &cell.settings;
        let aligner = inputs::aligner(&cell.inputs, &settings.data)?;
        let texts = task_texts(cell)?;
        let splits = task_splits(settings, &texts)?;
        let mut tasks = BTreeMap::new();
        for (((name, task), splits), tags) in
            settings.tasks.iter().zip(&splits).zip(tag_sets(settings, &splits))
        {
            let known = Known::of(&splits.train, task, settings.data.lowercase);
            tasks.insert(name.clone(), known.facts(splits, &aligner, &tags)?);
        }
        all.push(CellFacts { cell: cell.id.clone(), tasks });
    }
    Ok(all)
}

/// The texts of every task's dataset.
pub(crate) fn task_texts(cell: &Cell) -> Result<Vec<Texts>> {
    let settings = &cell.settings;
    settings.tasks.values().map(|task| texts(cell, settings.dataset_of(task))).collect()
}

/// Every task's splits.
pub(crate) fn task_splits<'a>(settings: &Settings, texts: &'a [Texts]) -> Result<Vec<Splits<'a>>> {
    let tasks = settings.tasks.values().zip(texts);
    tasks.map(|(task, texts)| texts.splits(task, &settings.data, settings.seed)).collect()
}

fn read(cell: &Cell, verify: bool) -> Result<Data> {
    let settings = &cell.settings;
    let encoder = inputs::encoder_config(&cell.inputs)?;
    inputs::check_length(settings, &encoder)?;
    let aligner = inputs::aligner(&cell.inputs, &settings.data)?;
    let texts = task_texts(cell)?;
    let mut splits = task_splits(settings, &texts)?;
    let tags = tag_sets(settings, &splits);
    let names: Vec<&String> = settings.tasks.keys().collect();
    let headline = names.iter().position(|name| *name == settings.headline()).unwrap_or(0);
    let count = |sentences: Option<&Vec<_>>| sentences.map_or(0, |all: &Vec<Labelled<'_>>| all.len() as u64);
    let main = &splits[headline];
    let sentences = [count(Some(&main.train)), count(Some(&main.dev)), count(main.test.as_ref())];
    if verify {
        for split in &mut splits {
            split.train.truncate(settings.train.batch);
            split.dev.truncate(settings.train.batch);
            split.test = None;
        }
    }
    let own = head_names(settings);
    let mut tasks = Vec::new();
    for (((name, task), splits), (tags, texts)) in
        settings.tasks.iter().zip(&splits).zip(tags.into_iter().zip(&texts))
    {
        let head = owner(settings, name);
        let head = own.iter().position(|own| *own == head).context("a shared head belongs to a task")?;
        let place = |split: &str| match split {
            "train" => texts.train.as_ref().map_or(&texts.dev.1, |(_, path)| path),
            "dev" => &texts.dev.1,
            _ => texts.test.as_ref().map_or(&texts.dev.1, |(_, path)| path),
        };
        let build = |split: &'static str, sentences: &[Labelled<'_>]| {
            let dataset =
                build(split, sentences, task, &aligner, &tags).with_context(|| place(split).clone())?;
            if settings.data.strict_tags && !dataset.unseen_tags.is_empty() {
                bail!(
                    "{} has tags that train lacks: {}; without data.strict_tags they count as wrong answers",
                    place(split),
                    dataset.unseen_tags.join(", ")
                );
            }
            Ok(dataset)
        };
        let train = build("train", &splits.train)?;
        let dev = build("dev", &splits.dev)?;
        let test = splits.test.as_ref().map(|test| build("test", test)).transpose()?;
        let known = Known::of(&splits.train, task, settings.data.lowercase);
        let facts = known.facts(splits, &aligner, &tags)?;
        let test_keys = splits.test.as_deref().map(|test| keys(test, &known)).unwrap_or_default();
        let keys = [keys(&splits.dev, &known), test_keys];
        let mut task = TaskData {
            name: name.clone(),
            head,
            settings: task.clone(),
            tags,
            train,
            dev,
            test,
            keys,
            facts,
            most_frequent: None,
        };
        if settings.eval.baselines == Switch::On && !verify {
            task.most_frequent = Some(most_frequent(splits, &task, settings.data.lowercase));
        }
        tasks.push(task);
    }
    let ids = tasks.iter().flat_map(|task| task.splits().into_iter().flatten()).flat_map(Dataset::ids);
    let vocabulary = Vocabulary::of(encoder.vocabulary.max(aligner.vocab_size()), ids);
    if let Some(&id) = vocabulary.rows().last().filter(|&&id| id as usize >= encoder.vocabulary) {
        bail!(
            "the tokenizer gives the id {id}, but the encoder's word table has only {} rows; they do not belong together",
            encoder.vocabulary
        );
    }
    for task in &mut tasks {
        for set in [&mut task.train, &mut task.dev].into_iter().chain(task.test.as_mut()) {
            set.compact(&vocabulary);
        }
    }
    let sample = sample(&splits[headline].train, &tasks[headline].train, &aligner);
    let heads = heads(settings, |name| {
        tasks.iter().find(|task| task.name == name).map_or(&[], |task| task.tags.as_slice())
    });
    Ok(Data { key: String::new(), tasks, headline, heads, vocabulary, encoder, sample, sentences })
}

/// Each task's tags: those of its train split and of the tasks with which it shares a head.
pub(crate) fn tag_sets(settings: &Settings, splits: &[Splits<'_>]) -> Vec<Vec<String>> {
    let owners: Vec<&str> = settings.tasks.keys().map(|name| owner(settings, name)).collect();
    let own: Vec<Vec<String>> =
        splits.iter().map(|splits| tag_set(splits.train.iter().map(|sentence| &sentence.tagged))).collect();
    let of_head = |head: &&str| {
        let all =
            owners.iter().zip(&own).filter(|(owner, _)| *owner == head).flat_map(|(_, tags)| tags.clone());
        let all: BTreeSet<String> = all.collect();
        let padding = settings.data.padding_tag.then(|| PADDING.to_string());
        padding.into_iter().chain(all).collect()
    };
    owners.iter().map(of_head).collect()
}

fn build(
    name: &str,
    sentences: &[Labelled<'_>],
    task: &record::TaskSettings,
    aligner: &Aligner,
    tags: &[String],
) -> Result<Dataset> {
    let tagged: Vec<TaggedSentence<'_>> = sentences.iter().map(|sentence| sentence.tagged.clone()).collect();
    let built = Dataset::build(&Split { name, sentences: &tagged, unit: task.unit() }, aligner, tags);
    built.map_err(|error| {
        let number = match error {
            TrainError::Align { number, .. } | TrainError::NoSubword { number, .. } => number,
            _ => return error.into(),
        };
        // A sentence's number among those chosen says little of its place in the file.
        anyhow::Error::from(error).context(format!("the sentence with the id `{}`", sentences[number - 1].id))
    })
}

fn keys(sentences: &[Labelled<'_>], known: &Known) -> Vec<Key> {
    let key = |sentence: &Labelled<'_>| {
        let TaggedSentence { words, tags } = &sentence.tagged;
        let whole = (tags.len() == 1 && sentence.numbers == ["0"]).then(|| words.join(" "));
        let labelled = sentence.numbers.iter().zip(tags).enumerate().filter(|(_, (_, tag))| **tag != "_");
        let form = |at: usize| whole.clone().unwrap_or_else(|| words[at].to_string());
        let words: Vec<[String; 3]> =
            labelled.map(|(at, (number, tag))| [(*number).into(), form(at), (*tag).into()]).collect();
        let of_words = words.iter().filter(|_| whole.is_none());
        let known = of_words.map(|[_, form, _]| known.familiarity(form)).collect();
        Key { id: sentence.id.clone(), words, known }
    };
    sentences.iter().map(key).collect()
}

/// The first train sentence of a few words, as the model sees it.
fn sample(train: &[Labelled<'_>], data: &Dataset, aligner: &Aligner) -> Sample {
    let at = train.iter().position(|s| (4..=12).contains(&s.tagged.words.len())).unwrap_or(0);
    let (example, sentence) = (&data.examples[at], &train[at].tagged);
    let mut labels = vec![String::new(); example.ids.len()];
    let tagged = sentence.tags.iter().filter(|&&tag| tag != "_");
    for (word, tag) in example.words.iter().zip(tagged) {
        if let Ok(position) = word {
            labels[*position as usize] = (*tag).to_string();
        }
    }
    Sample {
        words: sentence.words.iter().map(|&word| word.into()).collect(),
        subwords: aligner.tokens(&example.ids),
        labels,
    }
}

/// The name by which a split's predictions are stored.
pub(crate) fn prediction_file(stage: Option<&str>, task: Option<&str>, split: &str) -> String {
    let parts = [stage, task].into_iter().flatten().map(|part| part.replace(' ', "-"));
    parts.chain([split.to_string()]).collect::<Vec<_>>().join(".") + ".tsv"
}
