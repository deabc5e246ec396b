//! CoNLL-U text as tagged sentences, with the cell's choice of train sentences.

use anyhow::{Result, anyhow};
use frostline_conllu::Column;
use frostline_random::Stream;
use frostline_record::DataSettings;
use frostline_train::TaggedSentence;

/// The integer-id words of every sentence with their UPOS tags.
///
/// # Errors
/// The first fault, as `path:line:column: message`.
pub fn sentences<'a>(text: &'a str, path: &str) -> Result<Vec<TaggedSentence<'a>>> {
    frostline_conllu::parse(text)
        .map(|sentence| {
            let sentence = sentence.map_err(|fault| anyhow!("{}", fault.at(path)))?;
            let mut out = TaggedSentence::default();
            for word in sentence.words() {
                out.words.push(word.get(Column::Form).unwrap_or("_"));
                out.tags.push(word.get(Column::Upos).unwrap_or("_"));
            }
            Ok(out)
        })
        .filter(|sentence| sentence.as_ref().map_or(true, |sentence| !sentence.words.is_empty()))
        .collect()
}

/// The train sentences a cell learns from: the first N, then a seeded share of them in order.
#[must_use]
pub fn choose<'a>(all: Vec<TaggedSentence<'a>>, data: &DataSettings, seed: u64) -> Vec<TaggedSentence<'a>> {
    let first = if data.first == 0 { all.len() } else { data.first.min(all.len()) };
    if data.fraction >= 1.0 {
        return all.into_iter().take(first).collect();
    }
    let count = ((first as f64 * data.fraction).floor() as usize).max(1);
    let chosen = Stream::new(seed, "fraction").sample(first, count);
    chosen.into_iter().map(|i| all[i].clone()).collect()
}
