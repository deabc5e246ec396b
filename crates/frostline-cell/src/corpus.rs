//! Chooses the sentences to train on and to score: lists of sentences of documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use frostline_random::Stream;
use frostline_record::DataSettings;

use crate::document::{Document, Labelled};

/// A parsed file of a dataset, and its path.
#[derive(Clone, Debug)]
pub(crate) struct ParsedFile {
    pub path: String,
    /// The file's format and hash: files with equal keys share one document.
    pub key: String,
    pub document: Arc<Document>,
}

/// The files of a dataset that a cell reads; either train or dev may be missing.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// `*-train.*`
    pub train: Option<ParsedFile>,
    /// `*-dev.*`
    pub dev: Option<ParsedFile>,
    /// `*-test.*`
    pub test: Option<ParsedFile>,
}

/// Some sentences of a file, in order.
#[derive(Clone, Debug)]
pub(crate) struct Portion {
    pub file: ParsedFile,
    /// Positions of the sentences in the document.
    pub sentences: Vec<u32>,
}

/// The sentences that a task trains on and the sentences that are scored.
#[derive(Clone, Debug)]
pub(crate) struct Portions {
    pub train: Portion,
    /// The split that selects the best epoch.
    pub dev: Portion,
    /// The split that is scored at the end.
    pub test: Option<Portion>,
}

/// The chosen sentences as positions, without the files.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    train: Vec<u32>,
    dev: Vec<u32>,
    test: Option<Vec<u32>>,
}

impl Files {
    /// Chooses the sentences of each split by the settings.
    pub fn choose(&self, data: &DataSettings, seed: u64) -> Chosen {
        let all = |file: &ParsedFile| (0..file.document.len() as u32).collect::<Vec<u32>>();
        let mut dev = self.dev.as_ref().map_or_else(Vec::new, all);
        let mut train = match &self.train {
            Some(file) => all(file),
            None => {
                let (kept, rest) = cut_share(dev, data.train_from_dev, Stream::new(seed, "train from dev"));
                dev = rest;
                kept
            }
        };
        let mut test = if data.cut_test > 0.0 {
            let (kept, rest) = cut_share(train, data.cut_test, Stream::new(seed, "test from train"));
            train = rest;
            Some(kept)
        } else {
            self.test.as_ref().map(all)
        };
        if data.cut_dev > 0.0 {
            (dev, train) = cut_share(train, data.cut_dev, Stream::new(seed, "dev from train"));
        }
        let from_genre = |document: &Document, sentence: u32, genre: &str| {
            document.genre(sentence as usize) == Some(genre)
        };
        if !data.leave_out.is_empty() {
            let document = &self.of_train().document;
            train.retain(|&sentence| !from_genre(document, sentence, &data.leave_out));
        }
        if !data.scored_genre.is_empty() {
            let scored = [(Some(&mut dev), Some(self.of_dev(data))), (test.as_mut(), self.of_test(data))];
            for (sentences, file) in scored {
                let (Some(sentences), Some(file)) = (sentences, file) else { continue };
                sentences.retain(|&sentence| from_genre(&file.document, sentence, &data.scored_genre));
            }
        }
        let dev = scored_share(dev, data.dev_fraction, "dev fraction");
        let test = test.map(|test| scored_share(test, data.test_fraction, "test fraction"));
        Chosen { train: choose(train, data, seed), dev, test }
    }

    /// Returns the chosen sentences with their files; test sentences only if they are scored. Sentences cut for
    /// test are never in another split.
    pub fn portions(&self, data: &DataSettings, chosen: &Chosen, with_test: bool) -> Portions {
        let portion = |file: &ParsedFile, sentences: &Vec<u32>| Portion {
            file: file.clone(),
            sentences: sentences.clone(),
        };
        let test = self.of_test(data).zip(chosen.test.as_ref()).filter(|_| with_test);
        Portions {
            train: portion(self.of_train(), &chosen.train),
            dev: portion(self.of_dev(data), &chosen.dev),
            test: test.map(|(file, sentences)| portion(file, sentences)),
        }
    }

    /// Returns the file from which train is taken.
    fn of_train(&self) -> &ParsedFile {
        self.train
            .as_ref()
            .or(self.dev.as_ref())
            .expect("train or dev, as was checked when the files were read")
    }

    /// Returns the file from which dev is taken.
    fn of_dev(&self, data: &DataSettings) -> &ParsedFile {
        self.dev.as_ref().filter(|_| data.cut_dev == 0.0).unwrap_or_else(|| self.of_train())
    }

    /// Returns the file from which test is taken.
    fn of_test(&self, data: &DataSettings) -> Option<&ParsedFile> {
        if data.cut_test > 0.0 { Some(self.of_train()) } else { self.test.as_ref() }
    }
}

impl Portion {
    /// Returns the sentences with the labels of this name.
    pub fn labelled(&self, labels: &str) -> Vec<Labelled<'_>> {
        let document = &self.file.document;
        self.sentences.iter().map(|&sentence| document.labelled(sentence as usize, labels)).collect()
    }

    /// Returns the labels of this name that occur, sorted.
    pub fn tag_set(&self, labels: &str) -> BTreeSet<&str> {
        let all =
            self.sentences.iter().flat_map(|&sentence| self.file.document.tags(sentence as usize, labels));
        all.filter(|tag| *tag != "_").collect()
    }
}

/// Returns whether the choice of sentences depends on the seed.
#[must_use]
pub(crate) fn is_drawn(data: &DataSettings, has_train: bool) -> bool {
    seed_chooses(data) || data.cut_test > 0.0 || data.cut_dev > 0.0 || !has_train
}

/// Returns whether it is the cell's seed that chooses among the train sentences.
pub(crate) fn seed_chooses(data: &DataSettings) -> bool {
    data.fraction < 1.0 || (data.sample > 0 && data.draw == 0)
}

/// Returns the train sentences of a cell, in order: a drawn sample of N, or the first N and a seeded share of
/// them. Within one draw, a larger sample contains the smaller ones.
fn choose<T>(mut all: Vec<T>, data: &DataSettings, seed: u64) -> Vec<T> {
    if data.sample > 0 {
        let draw = if data.draw > 0 { data.draw } else { seed };
        return draw_count(all, data.sample, Stream::new(draw, "sample")).0;
    }
    if data.first > 0 {
        all.truncate(data.first);
    }
    if data.fraction >= 1.0 {
        return all;
    }
    let count = ((all.len() as f64 * data.fraction).floor() as usize).max(1);
    draw_count(all, count, Stream::new(seed, "fraction")).0
}

/// Draws a share of the scored sentences, at least one. The share is the same for all seeds, since they are
/// compared sentence by sentence.
fn scored_share<T>(all: Vec<T>, share: f64, stream: &str) -> Vec<T> {
    if share >= 1.0 || all.is_empty() {
        return all;
    }
    let count = ((all.len() as f64 * share).floor() as usize).max(1);
    draw_count(all, count, Stream::new(0, stream)).0
}

/// Returns a drawn share, rounded, and the rest; both are in order, and neither is empty if there are two
/// sentences.
fn cut_share<T>(all: Vec<T>, share: f64, stream: Stream) -> (Vec<T>, Vec<T>) {
    let most = all.len().saturating_sub(1);
    let count = ((all.len() as f64 * share).round() as usize).clamp(1.min(most), most);
    draw_count(all, count, stream)
}

fn draw_count<T>(all: Vec<T>, count: usize, stream: Stream) -> (Vec<T>, Vec<T>) {
    let mut chosen = vec![false; all.len()];
    for at in stream.sample(all.len(), count) {
        chosen[at] = true;
    }
    let mut at = chosen.into_iter();
    all.into_iter().partition(|_| at.next().expect("one mark per sentence"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::DocumentFormat;

    fn sample(sample: usize, draw: u64, seed: u64) -> Vec<usize> {
        choose((0..100).collect(), &DataSettings { sample, draw, ..DataSettings::default() }, seed)
    }

    #[test]
    fn a_share_of_what_is_scored_is_the_same_for_all_seeds() {
        let share = |of: usize, share: f64| scored_share((0..of).collect(), share, "dev fraction");
        let fifth = share(2_001, 0.2);
        assert_eq!(fifth.len(), 400, "as int(0.2 * 2001) in Python");
        assert!(fifth.is_sorted() && fifth != (0..400).collect::<Vec<usize>>());
        assert_eq!(fifth, share(2_001, 0.2));
        assert_eq!((share(7, 1.0).len(), share(7, 0.01).len(), share(0, 0.5).len()), (7, 1, 0));
        assert_ne!(fifth, scored_share((0..2_001).collect(), 0.2, "test fraction"));
    }

    #[test]
    fn samples_are_drawn_in_order_and_nested() {
        let (small, large) = (sample(10, 0, 1), sample(40, 0, 1));
        assert_eq!((small.len(), large.len()), (10, 40));
        assert!(large.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(small.iter().all(|one| large.contains(one)));
        assert_ne!(small, (0..10).collect::<Vec<_>>(), "not the first");
        assert_eq!(sample(1000, 0, 1), (0..100).collect::<Vec<_>>(), "fewer than N are all");
    }

    #[test]
    fn a_draw_of_its_own_leaves_the_seed_out() {
        assert_ne!(sample(10, 0, 1), sample(10, 0, 2));
        assert_eq!(sample(10, 7, 1), sample(10, 7, 2));
        assert_ne!(sample(10, 7, 1), sample(10, 8, 1));
        let drawn = |sample, draw| is_drawn(&DataSettings { sample, draw, ..DataSettings::default() }, true);
        assert_eq!([drawn(0, 0), drawn(0, 7), drawn(5, 0), drawn(5, 7)], [false, false, true, false]);
    }

    /// Returns a treebank of so many sentences in train, with or without dev.
    fn files(train: usize, dev: usize) -> Files {
        let file = |split: &str, count: usize| {
            let sentence = |n| format!("# sent_id = {split}-{n}\n1\tice\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n");
            let text: String = (0..count).map(sentence).collect();
            let document = Document::parse(text.into(), split, DocumentFormat::Treebank).unwrap();
            (count > 0).then(|| ParsedFile {
                path: split.into(),
                key: split.into(),
                document: Arc::new(document),
            })
        };
        Files { train: file("train", train), dev: file("dev", dev), test: None }
    }

    #[test]
    fn test_and_dev_are_cut_from_train() {
        let files = files(100, 0);
        let chosen = |data: &DataSettings, seed| {
            let portions = files.portions(data, &files.choose(data, seed), true);
            assert!(
                portions.dev.file.path == "train"
                    && portions.test.as_ref().is_none_or(|test| test.file.path == "train")
            );
            let test = portions.test.map_or_else(Vec::new, |test| test.sentences);
            [portions.train.sentences, portions.dev.sentences, test]
        };
        let data = DataSettings { cut_test: 0.2, cut_dev: 0.25, ..DataSettings::default() };
        let [train, dev, test] = chosen(&data, 1);
        assert_eq!([train.len(), dev.len(), test.len()], [60, 20, 20]);
        let mut all = [train, dev.clone(), test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<u32>>(), "every sentence is in one split");
        // The seed decides, and how much of train is used does not.
        let [_, same_dev, same_test] = chosen(&DataSettings { first: 5, ..data.clone() }, 1);
        assert_eq!([&same_dev, &same_test], [&dev, &test]);
        assert_ne!(chosen(&data, 2)[1], dev);
        assert_eq!(chosen(&DataSettings { cut_test: 0.0, ..data }, 1).map(|split| split.len()), [75, 25, 0]);
    }

    #[test]
    fn a_dev_file_beside_a_cut_is_not_used() {
        let files = files(10, 3);
        let data = DataSettings { cut_dev: 0.5, ..DataSettings::default() };
        let portions = files.portions(&data, &files.choose(&data, 1), true);
        assert_eq!((&*portions.dev.file.path, portions.dev.sentences.len()), ("train", 5));
        assert!(is_drawn(&data, true), "another seed, other sentences");
    }
}
