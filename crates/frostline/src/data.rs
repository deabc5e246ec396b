//! A cell's data: read, chosen, aligned once, and shared by the cells of one worker.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use frostline_model::{EncoderConfig, Vocabulary};
use frostline_record::{Cell, Input, Sample, Settings};
use frostline_train::{Dataset, Split, TaggedSentence, tag_set};

use crate::prefix::Kept;
use crate::{corpus, inputs};

/// What cells of one worker share: aligned data, by what it was made from.
#[derive(Default)]
pub struct Shared {
    data: HashMap<String, Arc<Data>>,
    /// Outputs of constant prefixes.
    pub(crate) prefixes: Kept,
    /// Weights files whose bytes have the hash that their cells name.
    verified: HashSet<String>,
}

/// A cell's data, aligned.
pub(crate) struct Data {
    pub tags: Vec<String>,
    pub train: Dataset,
    pub dev: Dataset,
    pub test: Option<Dataset>,
    pub vocabulary: Vocabulary,
    pub encoder: EncoderConfig,
    pub sample: Sample,
    /// Sentences in train, dev and test.
    pub sentences: [u64; 3],
}

impl Shared {
    /// Checks once per worker that weights are the bytes that their cell names.
    pub(crate) fn verify<'a>(&mut self, weights: impl Iterator<Item = &'a Input>) -> Result<()> {
        for input in weights {
            if !self.verified.contains(&input.sha256) {
                inputs::verify(input)?;
                self.verified.insert(input.sha256.clone());
            }
        }
        Ok(())
    }
}

/// Reads and aligns a cell's data, or finds it among what earlier cells left.
pub(crate) fn load(cell: &Cell, verify: bool, shared: &mut Shared) -> Result<Arc<Data>> {
    let Settings { data, seed, eval, .. } = &cell.settings;
    let seed = if data.fraction < 1.0 { *seed } else { 0 };
    let hashes: Vec<&str> = cell.inputs.values().map(|input| input.sha256.as_str()).collect();
    let key = serde_json::to_string(&(hashes, data, seed, eval, verify))?;
    if let Some(data) = shared.data.get(&key) {
        return Ok(data.clone());
    }
    let encoder = inputs::encoder_config(&cell.inputs)?;
    inputs::check_length(&cell.settings, &encoder)?;
    let aligner = inputs::aligner(&cell.inputs, data)?;
    let path = |role: &str| cell.inputs.get(role).map(|input| input.path.clone()).unwrap_or_default();
    let [train_text, dev_text] = ["train", "dev"].map(|role| inputs::text(&cell.inputs, role));
    let (train_text, dev_text) = (train_text?, dev_text?);
    let test_text =
        if eval.test { Some(inputs::text(&cell.inputs, "test").context("eval.test is on")?) } else { None };
    let mut train = corpus::choose(corpus::sentences(&train_text, &path("train"))?, data, seed);
    let mut dev = corpus::sentences(&dev_text, &path("dev"))?;
    let mut test = test_text.as_ref().map(|text| corpus::sentences(text, &path("test"))).transpose()?;
    let count = |sentences: &[_]| sentences.len() as u64;
    let tags = tag_set(&train);
    let sentences = [count(&train), count(&dev), test.as_deref().map_or(0, count)];
    if verify {
        train.truncate(cell.settings.train.batch);
        dev.truncate(cell.settings.train.batch);
        test = None;
    }
    let build = |name, sentences: &[_]| {
        let dataset = Dataset::build(&Split { name, sentences }, &aligner, &tags)?;
        if data.strict_tags && !dataset.unseen_tags.is_empty() {
            bail!(
                "{} has tags that train lacks: {}; without data.strict_tags they count as wrong answers",
                path(name),
                dataset.unseen_tags.join(", ")
            );
        }
        Ok(dataset)
    };
    let mut sets =
        (build("train", &train)?, build("dev", &dev)?, test.map(|t| build("test", &t)).transpose()?);
    let all = sets.0.ids().chain(sets.1.ids()).chain(sets.2.iter().flat_map(Dataset::ids));
    let vocabulary = Vocabulary::of(encoder.vocabulary.max(aligner.vocab_size()), all);
    if let Some(&id) = vocabulary.rows().last().filter(|&&id| id as usize >= encoder.vocabulary) {
        bail!(
            "the tokenizer gives the id {id}, but the encoder's word table has only {} rows; they do not belong together",
            encoder.vocabulary
        );
    }
    for set in [&mut sets.0, &mut sets.1].into_iter().chain(sets.2.as_mut()) {
        set.compact(&vocabulary);
    }
    let sample = sample(&train, &sets.0, &aligner);
    let data =
        Data { tags, train: sets.0, dev: sets.1, test: sets.2, vocabulary, encoder, sample, sentences };
    let data = Arc::new(data);
    shared.data.insert(key, data.clone());
    Ok(data)
}

/// The first train sentence of at least four words, as the model sees it.
fn sample(train: &[TaggedSentence<'_>], data: &Dataset, aligner: &frostline_align::Aligner) -> Sample {
    let at = train.iter().position(|s| (4..=12).contains(&s.words.len())).unwrap_or(0);
    let example = &data.examples[at];
    let mut labels = vec![String::new(); example.ids.len()];
    let tagged = train[at].tags.iter().filter(|&&tag| tag != "_");
    for (word, tag) in example.words.iter().zip(tagged) {
        if let Ok(position) = word {
            labels[*position as usize] = (*tag).to_string();
        }
    }
    Sample {
        words: train[at].words.iter().map(|&word| word.into()).collect(),
        subwords: aligner.tokens(&example.ids),
        labels,
    }
}
