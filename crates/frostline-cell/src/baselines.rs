//! Baselines without training the encoder: each word's most frequent tag, and a logistic regression on the
//! features of the pretrained encoder.
//!
//! A baseline depends only on data and encoder, so the cells of a worker share it, and no training time
//! includes it.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use frostline_kernels::Kernels;
use frostline_model::{EncoderConfig, Network};
use frostline_random::Stream;
use frostline_record::{
    Baseline, BaselineFit, Cell, Init, MOST_FREQUENT, PROBE, Precision, Settings, Switch, Unit,
};
use frostline_score::baseline::MostFrequentTag;
use frostline_score::{Prediction, Tally, WordOutcome};
use frostline_train::{Dataset, Evaluation, Probe, ProbeConfig, features};

use crate::aligned::AlignedTask;
use crate::data::{CellData, TaskData};
use crate::document::Labelled;
use crate::outcome::score;

/// The most words (or sentences) that a probe is fitted to: their features take 400 MB at most at 1,024
/// numbers each, and more would change the second digit after the point.
const MOST_WORDS: usize = 100_000;

/// The most words times labels: with more than 50 labels there are fewer words, so that the time stays.
const MOST_LOGITS: usize = 5_000_000;

/// Baselines of every task, by their name.
pub(crate) type TaskBaselines = BTreeMap<String, BTreeMap<String, Baseline>>;

/// Logistic regressions by the key of their data and encoder; `None` if there is nothing to fit.
#[derive(Default)]
pub(crate) struct Probes(HashMap<String, Option<Baseline>>);

/// Returns the baselines of a cell. `pretrained` builds a model with the pretrained encoder; it is called only
/// if no earlier cell fitted the same probe.
///
/// # Errors
/// If the model cannot be built.
pub(crate) fn of_cell<B: Kernels>(
    cell: &Cell,
    data: &CellData,
    pretrained: impl FnOnce() -> Result<Network<B>>,
    probes: &mut Probes,
) -> Result<TaskBaselines> {
    let settings = &cell.settings;
    if settings.eval.baselines == Switch::Off {
        return Ok(TaskBaselines::new());
    }
    let mut all = TaskBaselines::new();
    for task in &data.tasks {
        let words = task.most_frequent.clone().map(|baseline| (MOST_FREQUENT.to_string(), baseline));
        all.insert(task.name.to_string(), words.into_iter().collect());
    }
    let drawn = (settings.encoder.init == Init::Random).then_some(settings.seed);
    let key = serde_json::to_string(&(&data.key, drawn))?;
    let probe = match probes.0.entry(key) {
        Entry::Occupied(earlier) => earlier.into_mut(),
        Entry::Vacant(new) => new.insert(fit_probe(&pretrained()?, &data.encoder, data.main(), settings)),
    };
    if let Some(probe) = probe {
        all.entry(data.main().name.to_string()).or_default().insert(PROBE.into(), probe.clone());
    }
    Ok(all)
}

/// Gives each word the tag that it has most often in train, words as the model sees them, and unseen words
/// the most frequent tag of all; to each sentence the most frequent label.
pub(crate) fn most_frequent(sentences: &AlignedTask<'_>, task: &TaskData, lowercase: bool) -> Baseline {
    let unit = task.settings.unit();
    let pairs =
        sentences.train.sentences.iter().flat_map(|sentence| labelled_words(sentence, unit, lowercase));
    let model = MostFrequentTag::fit(pairs);
    let index: HashMap<&str, usize> = task.tags.iter().map(String::as_str).zip(0..).collect();
    let outcomes = |sentence: &Labelled<'_>| -> Vec<WordOutcome> {
        let words = labelled_words(sentence, unit, lowercase);
        let outcome = words.map(|(word, gold)| WordOutcome {
            gold: index.get(gold).copied(),
            predicted: match model.predict(&word).and_then(|tag| index.get(tag)) {
                Some(&tag) => Prediction::Tag(tag),
                None => Prediction::Vanished,
            },
        });
        outcome.collect()
    };
    let scores = task.scored().zip([Some(&sentences.dev), sentences.test.as_ref()].into_iter().flatten());
    let scores = scores.map(|((split, scored), sentences)| {
        let words: Vec<Vec<WordOutcome>> = sentences.sentences.iter().map(outcomes).collect();
        let mut tally = Tally::default();
        tally.extend(words.iter().flatten().copied());
        (split.to_string(), score(&Evaluation { loss_nats: 0.0, tally, words }, scored, task))
    });
    Baseline { scores: scores.collect(), fit: None }
}

/// Labelled words with their labels; for a sentence no word, so that all sentences are alike.
fn labelled_words<'a>(
    sentence: &'a Labelled<'a>,
    unit: Unit,
    lowercase: bool,
) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> {
    let tagged = &sentence.tagged;
    let word = move |at: usize| match (unit, lowercase) {
        (Unit::Sentences, _) => Cow::Borrowed(""),
        (Unit::Words, true) => frostline_align::lowercase(tagged.words[at]),
        (Unit::Words, false) => Cow::Borrowed(tagged.words[at]),
    };
    let tags = tagged.tags.iter().enumerate().filter(|(_, tag)| **tag != "_");
    tags.map(move |(at, tag)| (word(at), *tag))
}

/// Fits the logistic regression on f32 features in every precision of the cell; `None` if no word of train has
/// a label position.
fn fit_probe<B: Kernels>(
    model: &Network<B>,
    encoder: &EncoderConfig,
    task: &TaskData,
    settings: &Settings,
) -> Option<Baseline> {
    let mut settings = settings.clone();
    settings.train.precision = Precision::F32;
    let rows = |set: &Dataset| features(model, encoder, set.into(), &settings);
    let classes = task.tags.len();
    let most = MOST_WORDS.min(MOST_LOGITS / classes.max(1)).max(1);
    let train = sample_sentences(&task.train, most);
    let labels: Vec<u32> = train.examples.iter().flat_map(gold_labels).collect();
    if labels.is_empty() {
        return None;
    }
    let probe = Probe::fit(&rows(&train), encoder.hidden, &labels, classes, &ProbeConfig::default());
    let scores = task.scored().map(|(split, scored)| {
        let evaluation = probe.evaluate(&scored.set, &rows(&scored.set));
        (split.to_string(), score(&evaluation, scored, task))
    });
    let fit = &probe.fit;
    Some(Baseline {
        scores: scores.collect(),
        fit: Some(BaselineFit {
            fitted: fit.rows as u64,
            of: task.train.examples.iter().map(|example| gold_labels(example).count() as u64).sum(),
            iterations: fit.iterations.into(),
            converged: fit.converged,
            loss_nats: fit.loss_nats,
        }),
    })
}

/// Returns the labels of the words with a label position. Every train tag is in the tag set, so each has a
/// label.
pub(crate) fn gold_labels(example: &frostline_train::Example) -> impl Iterator<Item = u32> + '_ {
    let words = example.words.iter().zip(&example.gold);
    words.filter(|(word, _)| word.is_ok()).filter_map(|(_, gold)| *gold)
}

/// Returns all sentences, or drawn sentences with this number of words in total. The draw has a separate seed,
/// so that all cells on the same data have the same baseline.
fn sample_sentences(train: &Dataset, most: usize) -> Dataset {
    let counts: Vec<usize> = train.examples.iter().map(|example| gold_labels(example).count()).collect();
    let mut chosen = vec![true; counts.len()];
    if counts.iter().sum::<usize>() > most {
        let mut left = most;
        for at in Stream::new(0, "probe").permutation(counts.len()) {
            chosen[at] = counts[at] <= left;
            left -= if chosen[at] { counts[at] } else { 0 };
        }
    }
    let kept = train.examples.iter().zip(chosen).filter(|(_, chosen)| *chosen);
    Dataset { examples: kept.map(|(example, _)| example.clone()).collect(), unseen_tags: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frostline_record::{TaskFacts, TaskSettings};
    use frostline_train::Example;

    use super::*;
    use crate::aligned::AlignedSplit;
    use crate::corpus::{ParsedFile, Portion};
    use crate::data::EvaluationSplit;
    use crate::document::{Document, DocumentFormat};

    /// Returns a file of sentences, written as `form/TAG form/TAG` or, if they are labelled, `text TAB label`.
    fn portion(labels: &str, sentences: &[&str]) -> Portion {
        let format = DocumentFormat::of(labels);
        let mut text = String::new();
        for sentence in sentences {
            let rows = sentence.split(' ').zip(1..).map(|(word, number)| {
                let (form, tag) = word.split_once('/').expect("form and tag");
                let head = if number == 1 { "0\troot" } else { "1\tdep" };
                format!("{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t_\t_\n")
            });
            match format {
                DocumentFormat::Sentences => text += sentence,
                _ => text.extend(rows),
            }
            text.push('\n');
        }
        let document = Arc::new(Document::parse(text.into(), "file", format).unwrap());
        let sentences = (0..sentences.len() as u32).collect();
        Portion { file: ParsedFile { path: "file".into(), key: "file".into(), document }, sentences }
    }

    fn split<'a>(name: &'static str, labels: &str, portion: &'a Portion) -> AlignedSplit<'a> {
        let sentences = portion.labelled(labels);
        AlignedSplit { path: "file", name, unit: Unit::Words, sentences, aligned: Vec::new() }
    }

    /// Returns the number of words, of correct and of unseen words of the most-frequent-tag baseline on dev.
    fn reached(labels: &str, [train, dev]: [&[&str]; 2], lowercase: bool) -> [u64; 3] {
        let [train, dev] = [train, dev].map(|sentences| portion(labels, sentences));
        let sentences = AlignedTask {
            train: split("train", labels, &train),
            dev: split("dev", labels, &dev),
            test: None,
        };
        let set = || Dataset { examples: Vec::new(), unseen_tags: Vec::new() };
        let task = TaskData {
            name: "task".parse().expect("a name"),
            head: 0,
            settings: TaskSettings { labels: labels.into(), ..Default::default() },
            tags: train.tag_set(labels).into_iter().map(String::from).collect(),
            train: set(),
            dev: EvaluationSplit { set: set(), sentences: dev.clone(), known: Vec::new() },
            test: None,
            facts: TaskFacts {
                unit: Unit::Words,
                tags: Vec::new(),
                train: Default::default(),
                dev: Default::default(),
                test: None,
            },
            most_frequent: None,
        };
        let score = &most_frequent(&sentences, &task, lowercase).scores["dev"];
        [score.words, score.correct, score.unseen]
    }

    fn examples(sizes: &[usize]) -> Dataset {
        let example = |&size: &usize| Example {
            ids: vec![1; size],
            rows: Vec::new(),
            words: vec![Ok(0); size],
            gold: vec![Some(0); size],
        };
        Dataset { examples: sizes.iter().map(example).collect(), unseen_tags: vec!["X".into()] }
    }

    #[test]
    fn words_get_their_most_frequent_tag_as_the_model_sees_them() {
        let train = ["The/DET run/NOUN runs/VERB", "Run/VERB the/DET run/NOUN #/_"];
        let dev = ["RUN/NOUN the/DET cat/X ?/_", "dogs/DET"];
        // Lowercased, `RUN` is the noun it mostly is; unseen words get `DET`, the smallest of three equals.
        assert_eq!(reached("upos", [&train, &dev], true), [4, 3, 1]);
        assert_eq!(reached("upos", [&train, &dev], false), [4, 2, 1], "`RUN` is unseen");
    }

    #[test]
    fn sentences_get_the_most_frequent_label() {
        let train = ["some words\tbad", "some words\tgood", "some words\tgood"];
        let dev = ["other words\tgood", "other words\tbad", "other words\tgood"];
        assert_eq!(reached("label", [&train, &dev], true), [3, 2, 0]);
    }

    #[test]
    fn a_sample_keeps_whole_sentences_below_its_bound() {
        let train = examples(&[5, 4, 3, 2, 9, 1]);
        let count = |set: &Dataset| set.examples.iter().map(|example| example.words.len()).sum::<usize>();
        assert_eq!(count(&sample_sentences(&train, 24)), 24, "all of them");
        let some = sample_sentences(&train, 12);
        assert!(count(&some) <= 12 && count(&some) >= 8, "{}", count(&some));
        assert_eq!(some.examples, sample_sentences(&train, 12).examples);
    }
}
