//! What is reached on a cell's data without training its encoder: each word's most frequent tag, and a
//! logistic regression on the features of the encoder as it was pretrained.
//!
//! It owns what a baseline is fitted to and what makes two the same. A baseline is a function of data and
//! encoder, so the cells of a worker share it, and no training time contains it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use frostline_kernels::Kernels;
use frostline_model::{EncoderConfig, Tagger};
use frostline_random::Stream;
use frostline_record::{
    Baseline, BaselineFit, Cell, Init, MOST_FREQUENT, PROBE, Precision, Settings, Switch, Unit,
};
use frostline_score::baseline::MostFrequentTag;
use frostline_score::{Prediction, Tally, WordOutcome};
use frostline_train::{Dataset, Evaluation, Probe, ProbeConfig, features};

use crate::corpus::{Labelled, Splits};
use crate::data::{Data, Shared, TaskData};
use crate::outcome::score;

/// The most words (or sentences) that a probe is fitted to: their features take 400 MB at most at 1,024
/// numbers each, and more would change the second digit after the point.
const MOST_WORDS: usize = 100_000;

/// The most words times labels: with more than 50 labels there are fewer words, so that the time stays.
const MOST_LOGITS: usize = 5_000_000;

/// Baselines of every task, by their name.
pub(crate) type Baselines = BTreeMap<String, BTreeMap<String, Baseline>>;

/// The baselines of a cell; `model` has the encoder as it was pretrained.
pub(crate) fn of_cell<B: Kernels>(
    cell: &Cell,
    data: &Data,
    model: &Tagger<B>,
    shared: &mut Shared,
) -> Result<Baselines> {
    let settings = &cell.settings;
    if settings.eval.baselines == Switch::Off {
        return Ok(Baselines::new());
    }
    let mut all: Baselines = data
        .tasks
        .iter()
        .map(|task| {
            let words = task.most_frequent.clone().into_iter();
            (task.name.clone(), words.map(|baseline| (MOST_FREQUENT.into(), baseline)).collect())
        })
        .collect();
    let drawn = (settings.encoder.init == Init::Random).then_some(settings.seed);
    let key = serde_json::to_string(&(&data.key, drawn))?;
    let found = match shared.probes.get(&key) {
        Some(found) => found.clone(),
        None => {
            let fitted = probe(model, &data.encoder, data.main(), settings);
            shared.probes.insert(key, fitted.clone());
            fitted
        }
    };
    if let Some(probe) = found {
        all.entry(data.main().name.clone()).or_default().insert(PROBE.into(), probe);
    }
    Ok(all)
}

/// Gives each word the tag that it has most often in train, words as the model sees them, and a word that
/// train lacks the most frequent tag of all; to each sentence the most frequent label.
pub(crate) fn most_frequent(splits: &Splits<'_>, task: &TaskData, lowercase: bool) -> Baseline {
    let unit = task.settings.unit();
    let pairs = splits.train.iter().flat_map(|sentence| labelled(sentence, unit, lowercase));
    let model = MostFrequentTag::fit(pairs);
    let index: HashMap<&str, usize> = task.tags.iter().map(String::as_str).zip(0..).collect();
    let outcomes = |sentence: &Labelled<'_>| -> Vec<WordOutcome> {
        let words = labelled(sentence, unit, lowercase);
        let outcome = words.map(|(word, gold)| WordOutcome {
            gold: index.get(gold).copied(),
            predicted: match model.predict(&word).and_then(|tag| index.get(tag)) {
                Some(&tag) => Prediction::Tag(tag),
                None => Prediction::Vanished,
            },
        });
        outcome.collect()
    };
    let scored =
        [("dev", Some(&splits.dev), Some(&task.dev)), ("test", splits.test.as_ref(), task.test.as_ref())];
    let scores = scored.into_iter().zip(&task.keys).filter_map(|((split, sentences, set), keys)| {
        let words: Vec<Vec<WordOutcome>> = sentences?.iter().map(outcomes).collect();
        let mut tally = Tally::default();
        tally.extend(words.iter().flatten().copied());
        Some((split.to_string(), score(&Evaluation { loss_nats: 0.0, tally, words }, set?, keys, task)))
    });
    Baseline { scores: scores.collect(), fit: None }
}

/// Labelled words with their labels; for a sentence no word, so that all sentences are alike.
fn labelled<'a>(
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

/// The logistic regression, in f32 features whatever the cell's precision; nothing where no word of train
/// speaks. It reads the last block's output also where the cell's heads read a mix of blocks.
fn probe<B: Kernels>(
    model: &Tagger<B>,
    encoder: &EncoderConfig,
    task: &TaskData,
    settings: &Settings,
) -> Option<Baseline> {
    let mut settings = settings.clone();
    settings.train.precision = Precision::F32;
    let model = Tagger { mix: None, ..model.clone() };
    let rows = |set: &Dataset| features(&model, encoder, set.into(), &settings);
    let classes = task.tags.len();
    let most = MOST_WORDS.min(MOST_LOGITS / classes.max(1)).max(1);
    let train = sampled(&task.train, most);
    let labels: Vec<u32> = train.examples.iter().flat_map(speaking).collect();
    if labels.is_empty() {
        return None;
    }
    let probe = Probe::fit(&rows(&train), encoder.hidden, &labels, classes, &ProbeConfig::default());
    let scored = [("dev", Some(&task.dev)), ("test", task.test.as_ref())];
    let scores = scored.into_iter().zip(&task.keys).filter_map(|((split, set), keys)| {
        let set = set?;
        Some((split.to_string(), score(&probe.evaluate(set, &rows(set)), set, keys, task)))
    });
    let fit = &probe.fit;
    Some(Baseline {
        scores: scores.collect(),
        fit: Some(BaselineFit {
            fitted: fit.rows as u64,
            of: task.train.examples.iter().map(|example| speaking(example).count() as u64).sum(),
            iterations: fit.iterations.into(),
            converged: fit.converged,
            loss_nats: fit.loss_nats,
        }),
    })
}

/// The labels of the words that speak. Train knows its own tags, so each has one.
fn speaking(example: &frostline_train::Example) -> impl Iterator<Item = u32> + '_ {
    let words = example.words.iter().zip(&example.gold);
    words.filter(|(word, _)| word.is_ok()).filter_map(|(_, gold)| *gold)
}

/// All sentences, or as many drawn ones as have this number of words. The draw has a seed of its own, so
/// that all cells on the same data have the same baseline.
fn sampled(train: &Dataset, most: usize) -> Dataset {
    let counts: Vec<usize> = train.examples.iter().map(|example| speaking(example).count()).collect();
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
    use frostline_train::{Example, TaggedSentence};

    use super::*;

    fn sentence(words: &[&'static str], tags: &[&'static str]) -> Labelled<'static> {
        let tagged = TaggedSentence { words: words.to_vec(), tags: tags.to_vec() };
        Labelled { id: "-".into(), numbers: vec!["0"; tags.len()], tagged }
    }

    fn task(labels: &str, tags: &[&str], dev: &Dataset) -> TaskData {
        let facts = frostline_record::TaskFacts {
            unit: Unit::Words,
            tags: Vec::new(),
            train: Default::default(),
            dev: Default::default(),
            test: None,
        };
        TaskData {
            name: "task".into(),
            head: 0,
            settings: frostline_record::TaskSettings { labels: labels.into(), ..Default::default() },
            tags: tags.iter().map(ToString::to_string).collect(),
            train: dev.clone(),
            dev: dev.clone(),
            test: None,
            keys: Default::default(),
            facts,
            most_frequent: None,
        }
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
        let train = vec![
            sentence(&["The", "run", "runs"], &["DET", "NOUN", "VERB"]),
            sentence(&["Run", "the", "run", "#"], &["VERB", "DET", "NOUN", "_"]),
        ];
        let dev = vec![
            sentence(&["RUN", "the", "cat", "?"], &["NOUN", "DET", "X", "_"]),
            sentence(&["dogs"], &["DET"]),
        ];
        let splits = Splits { train, dev, test: None };
        let task = task("upos", &["DET", "NOUN", "VERB"], &examples(&[3, 1]));
        let scores = |lowercase| most_frequent(&splits, &task, lowercase).scores["dev"].clone();
        // Lowercased, `RUN` is the noun it mostly is; a stranger is `DET`, the smallest of three equals.
        let folded = scores(true);
        assert_eq!((folded.words, folded.correct, folded.unseen, folded.truncated), (4, 3, 1, 0));
        assert_eq!((scores(false).words, scores(false).correct), (4, 2), "`RUN` is a stranger");
    }

    #[test]
    fn sentences_get_the_most_frequent_label() {
        let train = ["bad", "good", "good"].map(|label| sentence(&["some", "words"], &[label])).to_vec();
        let dev = ["good", "bad", "good"].map(|label| sentence(&["other", "words"], &[label])).to_vec();
        let splits = Splits { train, dev, test: None };
        let found = most_frequent(&splits, &task("label", &["bad", "good"], &examples(&[1, 1, 1])), true);
        assert_eq!((found.scores["dev"].words, found.scores["dev"].correct), (3, 2));
    }

    #[test]
    fn a_sample_keeps_whole_sentences_below_its_bound() {
        let train = examples(&[5, 4, 3, 2, 9, 1]);
        let count = |set: &Dataset| set.examples.iter().map(|example| example.words.len()).sum::<usize>();
        assert_eq!(count(&sampled(&train, 24)), 24, "all of them");
        let some = sampled(&train, 12);
        assert!(count(&some) <= 12 && count(&some) >= 8, "{}", count(&some));
        assert_eq!(some.examples, sampled(&train, 12).examples);
    }
}
