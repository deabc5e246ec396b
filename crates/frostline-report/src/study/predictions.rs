//! The stored predictions of sentence tasks, as counts of which label was taken for which. A file whose bytes are
//! not those that its record names is left out. Words are read by `tagged`.

use std::collections::{BTreeMap, BTreeSet};

use frostline_record::{Cell, Score, sha256};
use frostline_score::Confusion;

use crate::study::prediction_file::{PredictionFile, PredictionKey};

/// The sign for a missing prediction. It is no label: what the data call so is not scored.
const NOTHING: &str = "_";

/// Whether a field is the sign for a missing prediction. It was `-` once, which may be a label too; a model
/// predicts only labels of train.
pub(crate) fn is_nothing(label: &str, train: &[String]) -> bool {
    label == NOTHING || (label == "-" && train.iter().all(|tag| tag != label))
}

/// The counts of every cell, stage, task and split whose predictions could be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentencePredictions {
    found: BTreeMap<PredictionKey, (Confusion, Items)>,
}

/// Which sentences a file of predictions is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextName {
    /// The same for sentences of the same lengths with the same gold labels.
    pub shape: String,
    /// The same for the same sentences with the same gold labels; nothing for a published file, which has neither words nor
    /// ids.
    pub whole: Option<String>,
}

impl TextName {
    /// From the lines that have the shape, and the lines that have all.
    pub fn new(shape: &str, whole: &str, has_words: bool) -> Self {
        Self { shape: sha256(shape.as_bytes()), whole: has_words.then(|| sha256(whole.as_bytes())) }
    }

    /// Whether both are the same sentences, as far as both have them. If words are known they are compared too.
    pub fn is_that_of(&self, other: &Self) -> bool {
        self.shape == other.shape && self.whole.iter().zip(&other.whole).all(|(a, b)| a == b)
    }
}

/// Which sentences of a split are right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Items {
    pub text: TextName,
    pub right: Vec<bool>,
}

impl SentencePredictions {
    /// Adds a file.
    ///
    /// # Errors
    /// It has other columns, or other counts than its record.
    pub fn add(&mut self, file: &PredictionFile<'_>, text: &str) -> Result<(), String> {
        let found = same_as_record(count_labels(text, &file.facts.tags, file.has_words())?, file.score)?;
        self.found.insert(file.key(), found);
        Ok(())
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The counts of a cell after a stage.
    pub fn get(&self, cell: &Cell, stage: usize, task: &str, split: &'static str) -> Option<&Confusion> {
        self.found.get(&(cell.id.clone(), stage, task.into(), split)).map(|(counts, _)| counts)
    }

    /// Which sentences a cell had right after a stage.
    pub fn items(&self, key: &PredictionKey) -> Option<&Items> {
        self.found.get(key).map(|(_, items)| items)
    }
}

/// Counts gold and predicted labels, the last two of five columns below a head line. Labels are
/// labels of train and of gold.
fn count_labels(text: &str, tags: &[String], has_words: bool) -> Result<(Confusion, Items), String> {
    let mut pairs = Vec::new();
    let (mut shape, mut whole) = (String::new(), String::new());
    for (number, line) in text.lines().enumerate().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[id, _, form, gold, predicted] = columns.as_slice() else {
            return Err(format!("line {} has {} columns, not 5", number + 1, columns.len()));
        };
        pairs.push((gold, Some(predicted).filter(|tag| !is_nothing(tag, tags))));
        shape += &format!("{gold}\n");
        whole += &format!("{id}\t{form}\t{gold}\n");
    }
    let known = tags.iter().map(String::as_str);
    let label = pairs.iter().flat_map(|(gold, predicted)| [Some(*gold), *predicted]).flatten();
    let labels: Vec<&str> = known.chain(label).collect::<BTreeSet<_>>().into_iter().collect();
    let right = pairs.iter().map(|(gold, predicted)| *predicted == Some(*gold)).collect();
    let items = Items { text: TextName::new(&shape, &whole, has_words), right };
    let mut counts = Confusion::new(labels.iter().copied());
    for (gold, predicted) in pairs {
        let place = |label: &str| labels.binary_search(&label).ok();
        counts.add(place(gold), predicted.and_then(place));
    }
    Ok((counts, items))
}

/// Whether the label in the last column of a line is the one before it.
pub(crate) fn is_right_label(line: &str, train: &[String]) -> bool {
    let mut columns = line.rsplit('\t');
    let (predicted, gold) = (columns.next(), columns.next());
    predicted.is_some_and(|predicted| gold == Some(predicted) && !is_nothing(predicted, train))
}

/// Checks that as many sentences were read, and as many of them are right, as in the record.
fn same_as_record(
    (counts, items): (Confusion, Items),
    score: Option<&Score>,
) -> Result<(Confusion, Items), String> {
    let (right, all) = (items.right.iter().filter(|right| **right).count() as u64, items.right.len() as u64);
    match score.filter(|score| (score.correct, score.words) != (right, all)) {
        None => Ok((counts, items)),
        Some(Score { correct, words, .. }) => {
            Err(format!("it has {right} of {all} sentences right, its record {correct} of {words}"))
        }
    }
}

/// The sum of counts, over all their labels.
pub(crate) fn sum(all: &[&Confusion]) -> Confusion {
    let labels: Vec<&String> =
        all.iter().flat_map(|one| &one.tags).collect::<BTreeSet<_>>().into_iter().collect();
    let mut sum = Confusion::new(labels.iter().map(|label| label.as_str()));
    for one in all {
        let place = |at: usize| labels.binary_search(&&one.tags[at]).unwrap_or_default();
        for (gold, row) in one.counts.iter().enumerate() {
            for (predicted, count) in row.iter().enumerate() {
                sum.counts[place(gold)][place(predicted)] += count;
            }
            sum.missed[place(gold)] += one.missed[gold];
            sum.spurious[place(gold)] += one.spurious[gold];
        }
        sum.outside += one.outside;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "sent_id\tid\tform\tgold\tpredicted\n";

    #[test]
    fn labels_of_train_and_gold_are_counted_and_silence_is_a_miss() {
        let text =
            format!("{HEAD}1\t0\tgood\tpos\tpos\n2\t0\tbad\tneg\tpos\n3\t0\todd\tnew\tneg\n4\t0\t\tneg\t_\n");
        let (found, items) =
            count_labels(&text, &["neg".into(), "pos".into(), "rare".into()], true).expect("counts");
        assert_eq!(items.right, [true, false, false, false]);
        assert_eq!(found.tags, ["neg", "new", "pos", "rare"]);
        assert_eq!(found.counts, [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]);
        assert_eq!((found.missed[0], found.words(), found.correct()), (1, 4, 1));
    }

    #[test]
    fn a_label_is_right_if_it_is_the_gold_one_and_a_label() {
        let train = ["N".to_string()];
        let right = |line: &str| is_right_label(line, &train);
        assert!(right("a\t1\tx\tN\tN") && !right("a\t1\tx\tN\tV") && !right("a\t1\tx\tN\t_"));
        // What an old file wrote for no prediction is no label, although the data call a word so.
        assert!(!right("a\t1\tx\t-\t-") && !right("N"));
    }

    #[test]
    fn a_torn_file_is_told_with_its_line() {
        let fault = count_labels(&format!("{HEAD}1\t0\tgood\tpos"), &[], true).expect_err("four columns");
        assert_eq!(fault, "line 2 has 4 columns, not 5");
    }

    #[test]
    fn counts_with_other_labels_add_up() {
        let [a, b] = [[("x", "x"), ("x", "y")], [("z", "z"), ("x", "z")]].map(Confusion::from_pairs);
        let sum = sum(&[&a, &b]);
        assert_eq!(sum.tags, ["x", "y", "z"]);
        assert_eq!(sum.counts, [[1, 1, 1], [0, 0, 0], [0, 0, 1]]);
    }
}
