//! Files as labelled sentences, and the choice of what is learned from and what is scored.

use anyhow::{Result, anyhow};
use frostline_conllu::Column;
use frostline_random::Stream;
use frostline_record::{DataSettings, TaskSettings};
use frostline_train::TaggedSentence;

/// A sentence as it stands in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labelled<'a> {
    /// Its `sent_id`, or its line's number.
    pub id: String,
    /// The words' own numbers; the sentence's own, `0`, where it is the sentence that is labelled.
    pub numbers: Vec<&'a str>,
    /// What it says, word for word.
    pub tagged: TaggedSentence<'a>,
}

/// A dataset's splits, as a task sees them.
#[derive(Clone, Debug, Default)]
pub struct Splits<'a> {
    /// What is learned from.
    pub train: Vec<Labelled<'a>>,
    /// What chooses the best epoch.
    pub dev: Vec<Labelled<'a>>,
    /// What is scored at the end.
    pub test: Option<Vec<Labelled<'a>>>,
}

/// The files' texts with the places where they were read; train may be missing.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// `*-train.*`
    pub train: Option<(String, String)>,
    /// `*-dev.*`
    pub dev: (String, String),
    /// `*-test.*`
    pub test: Option<(String, String)>,
}

impl Texts {
    /// The splits of a task: read, and cut as the settings say.
    ///
    /// # Errors
    /// The first fault, as `path:line:column: message`.
    pub fn splits(&self, task: &TaskSettings, data: &DataSettings, seed: u64) -> Result<Splits<'_>> {
        let read = |(text, path)| sentences(text, path, &task.labels);
        let pair = |file| {
            let (text, path): &(String, String) = file;
            (text.as_str(), path.as_str())
        };
        let mut dev = read(pair(&self.dev))?;
        let mut train = match &self.train {
            Some(file) => read(pair(file))?,
            None => {
                let (kept, rest) = cut(dev, data.train_from_dev, Stream::new(seed, "train from dev"));
                dev = rest;
                kept
            }
        };
        let mut test = if data.cut_test > 0.0 {
            let (kept, rest) = cut(train, data.cut_test, Stream::new(seed, "test from train"));
            train = rest;
            Some(kept)
        } else {
            self.test.as_ref().map(|file| read(pair(file))).transpose()?
        };
        if !data.leave_out.is_empty() {
            train.retain(|sentence| genre(&sentence.id) != Some(&data.leave_out));
        }
        if !data.scored_genre.is_empty() {
            for scored in [Some(&mut dev), test.as_mut()].into_iter().flatten() {
                scored.retain(|sentence| genre(&sentence.id) == Some(&data.scored_genre));
            }
        }
        Ok(Splits { train: choose(train, data, seed), dev, test })
    }
}

/// Whether the choice of sentences depends on the seed.
#[must_use]
pub fn is_drawn(data: &DataSettings, has_train: bool) -> bool {
    seed_chooses(data) || data.cut_test > 0.0 || !has_train
}

/// Whether it is the cell's seed that chooses among the train sentences.
pub(crate) fn seed_chooses(data: &DataSettings) -> bool {
    data.fraction < 1.0 || (data.sample > 0 && data.draw == 0)
}

/// Every sentence of a file with its labels; the file's format follows from what is labelled.
///
/// # Errors
/// The first fault, as `path:line:column: message`.
pub fn sentences<'a>(text: &'a str, path: &str, labels: &str) -> Result<Vec<Labelled<'a>>> {
    let fault = |fault: frostline_conllu::Fault| anyhow!("{}", fault.at(path));
    let found: Result<Vec<Labelled<'a>>> = match labels {
        "label" => frostline_conllu::parse_labelled(text)
            .map(|sentence| {
                let sentence = sentence.map_err(fault)?;
                Ok(Labelled {
                    id: sentence.line.to_string(),
                    numbers: vec!["0"],
                    tagged: TaggedSentence {
                        words: sentence.text.split_whitespace().collect(),
                        tags: vec![sentence.label],
                    },
                })
            })
            .collect(),
        "entity" => frostline_conllu::parse_iob2(text)
            .map(|sentence| {
                let sentence = sentence.map_err(fault)?;
                let mut out =
                    Labelled { id: sentence.sent_id().unwrap_or("-").into(), ..Labelled::default() };
                for row in &sentence.rows {
                    out.numbers.push(row.id);
                    out.tagged.words.push(row.form);
                    out.tagged.tags.push(row.tag);
                }
                Ok(out)
            })
            .collect(),
        labels => frostline_conllu::parse(text)
            .map(|sentence| Ok(of_treebank(&sentence.map_err(fault)?, labels)))
            .collect(),
    };
    Ok(found?.into_iter().filter(|sentence| !sentence.tagged.words.is_empty()).collect())
}

/// The integer-id words of a treebank's sentence with a column's values, or with its genre.
fn of_treebank<'a>(sentence: &frostline_conllu::Sentence<'a>, labels: &str) -> Labelled<'a> {
    let id = sentence.sent_id();
    let mut out = Labelled { id: id.unwrap_or("-").into(), ..Labelled::default() };
    for word in sentence.words() {
        out.tagged.words.push(word.get(Column::Form).unwrap_or("_"));
        if labels == "genre" {
            continue;
        }
        out.numbers.push(word.id());
        let column = |column| word.get(column).unwrap_or("_");
        out.tagged.tags.push(match labels {
            "upos" => column(Column::Upos),
            "xpos" => column(Column::Xpos),
            "deprel" => column(Column::Deprel),
            feature => {
                let name = feature.strip_prefix("feats.").unwrap_or(feature);
                let mut all = column(Column::Feats).split('|').filter_map(|one| one.split_once('='));
                all.find(|(key, _)| *key == name).map_or("none", |(_, value)| value)
            }
        });
    }
    if labels == "genre" && !out.tagged.words.is_empty() {
        let genre = id.and_then(genre).unwrap_or("_");
        (out.numbers, out.tagged.tags) = (vec!["0"], vec![genre]);
    }
    out
}

/// What a `sent_id` says before the first `-`.
fn genre(id: &str) -> Option<&str> {
    id.split_once('-').map(|(genre, _)| genre)
}

/// The train sentences a cell learns from: a drawn sample of N, or else the first N and a seeded share of
/// them; in order. Of one draw, a larger sample holds the smaller ones.
#[must_use]
pub fn choose<T>(mut all: Vec<T>, data: &DataSettings, seed: u64) -> Vec<T> {
    if data.sample > 0 {
        let draw = if data.draw > 0 { data.draw } else { seed };
        return take(all, data.sample, Stream::new(draw, "sample")).0;
    }
    if data.first > 0 {
        all.truncate(data.first);
    }
    if data.fraction >= 1.0 {
        return all;
    }
    let count = ((all.len() as f64 * data.fraction).floor() as usize).max(1);
    take(all, count, Stream::new(seed, "fraction")).0
}

/// A drawn share, rounded, and the rest; both in order, neither empty where there are two.
fn cut<T>(all: Vec<T>, share: f64, stream: Stream) -> (Vec<T>, Vec<T>) {
    let most = all.len().saturating_sub(1);
    let count = ((all.len() as f64 * share).round() as usize).clamp(1.min(most), most);
    take(all, count, stream)
}

fn take<T>(all: Vec<T>, count: usize, stream: Stream) -> (Vec<T>, Vec<T>) {
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

    fn sample(sample: usize, draw: u64, seed: u64) -> Vec<usize> {
        choose((0..100).collect(), &DataSettings { sample, draw, ..DataSettings::default() }, seed)
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
}
