//! What a request asks to be tagged: text, words or CoNLL-U, and what is made of the tags.

use std::sync::Arc;

use frostline_conllu::{
    Checks, Column, OwnedSentence, SentenceSplit, TextLine, TextPart, TextSplit, TokenRow, WordSplit, Writer,
    foreign, read_lenient,
};
use frostline_tagger::{Answer, NO_TAG, TagTargets};

use crate::refusal::Refusal;

/// More words than a sentence has: it is never cut into parts.
const WHOLE: usize = usize::MAX / 4;

/// A word's tag. It can be kept for longer than the model.
#[derive(Clone, Debug)]
pub(crate) struct WordTag {
    pub tag: Arc<str>,
    pub probability: f32,
}

/// The answers of one model: for each sentence, one per word.
pub(crate) type ModelAnswers = Vec<Vec<WordTag>>;

/// What is to be tagged.
pub(crate) enum TaggingInput {
    /// Sentences of text.
    Text(Vec<TextPart>),
    /// Sentences of words.
    Words(Vec<Vec<String>>),
    /// Sentences of CoNLL-U. All bytes outside the filled columns are kept.
    Treebank(Vec<OwnedSentence>),
}

/// Splits text into sentences, and sentences into words by the rules of Unicode.
pub(crate) fn split_text(text: &str, sentences: SentenceSplit) -> Vec<TextPart> {
    let split = TextSplit { sentences, words: WordSplit::Unicode, part: WHOLE, context: 0 };
    let lines = text.split('\n').enumerate();
    lines.flat_map(|(at, line)| TextLine::new(line.into(), at + 1, split)).collect()
}

/// Returns the words of each sentence.
pub(crate) fn part_words(parts: &[TextPart]) -> Vec<Vec<String>> {
    parts.iter().map(|part| part.words().map(String::from).collect()).collect()
}

impl WordTag {
    fn answer(&self) -> Answer<'_> {
        Answer { tag: &self.tag, probability: self.probability }
    }

    /// Returns whether the tokenizer has produced a subword for the word.
    pub fn has_tag(&self) -> bool {
        &*self.tag != NO_TAG || self.probability > 0.0
    }
}

impl TaggingInput {
    /// Reads a sentence from each line, with words between white space.
    pub fn from_lines(text: &str) -> Self {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        Self::Words(text.lines().map(words).filter(|words| !words.is_empty()).collect())
    }

    /// Reads a word from each line, up to its first tab; an empty line ends a sentence.
    pub fn from_column(text: &str) -> Self {
        let mut sentences = vec![Vec::new()];
        for line in text.lines() {
            match line.split('\t').next().map(str::trim).filter(|word| !word.is_empty()) {
                Some(word) => sentences.last_mut().expect("at least one").push(word.to_string()),
                None => sentences.push(Vec::new()),
            }
        }
        Self::Words(sentences.into_iter().filter(|words| !words.is_empty()).collect())
    }

    /// Takes sentences of words as they are.
    ///
    /// # Errors
    /// If a word could not be written in a line of its own.
    pub fn from_words(sentences: Vec<Vec<String>>) -> Result<Self, Refusal> {
        for (sentence, words) in sentences.iter().enumerate() {
            if let Some(word) = words.iter().position(|word| word.contains(['\t', '\n', '\r'])) {
                return Err(Refusal::unusable(format!(
                    "sentence {}, word {}: {:?} has a tab or a line end; give each word by itself",
                    sentence + 1,
                    word + 1,
                    words[word]
                )));
            }
        }
        Ok(Self::Words(sentences))
    }

    /// Reads CoNLL-U. Faults that leave the words certain are left in the output.
    ///
    /// # Errors
    /// If it is no CoNLL-U, or the words of a sentence are uncertain.
    pub fn from_conllu(text: &[u8]) -> Result<Self, Refusal> {
        if let Some(foreign) = foreign(text) {
            return Err(Refusal::unusable(format!("data: {foreign}")));
        }
        let read = |sentence: frostline_conllu::Sentence<'_>| match sentence
            .faults()
            .iter()
            .find(|fault| fault.kind.makes_words_uncertain())
        {
            Some(fault) => Err(Refusal::unusable(fault.at("data").to_string())),
            None => Ok(sentence.detach()),
        };
        Ok(Self::Treebank(read_lenient(text, Checks::default()).map(read).collect::<Result<_, _>>()?))
    }

    /// Returns the words of each sentence.
    pub fn words(&self) -> Vec<Vec<String>> {
        match self {
            Self::Text(parts) => part_words(parts),
            Self::Words(sentences) => sentences.clone(),
            Self::Treebank(sentences) => {
                let forms = |sentence: &OwnedSentence| {
                    sentence.view().words().map(TokenRow::form).map(String::from).collect()
                };
                sentences.iter().map(forms).collect()
            }
        }
    }

    /// Returns CoNLL-U in which some models' answers are written to their targets.
    ///
    /// # Errors
    /// If a value cannot be written in a row.
    pub fn write_conllu(
        &self,
        targets: &TagTargets,
        answers: &[ModelAnswers],
        probabilities: bool,
    ) -> Result<Vec<u8>, Refusal> {
        let mut out = Vec::new();
        let edits = |sentence: usize, word: usize, present: [&str; 2]| {
            let answers: Vec<Answer<'_>> =
                answers.iter().map(|answers| answers[sentence][word].answer()).collect();
            targets.row_edits(present, &answers, probabilities)
        };
        let written = match self {
            Self::Text(parts) => parts.iter().enumerate().try_for_each(|(sentence, part)| {
                part.write(&mut out, |word, misc| edits(sentence, word, ["_", misc]))
            }),
            Self::Words(sentences) => sentences.iter().enumerate().try_for_each(|(sentence, words)| {
                let mut writer = Writer::new(&mut out);
                for (word, form) in words.iter().enumerate() {
                    let (number, edits) = ((word + 1).to_string(), edits(sentence, word, ["_", "_"]));
                    let mut row = ["_"; 10];
                    (row[Column::Id as usize], row[Column::Form as usize]) = (&number, form);
                    edits.iter().for_each(|(column, value)| row[*column as usize] = value);
                    writer.row(&row)?;
                }
                if words.is_empty() { Ok(()) } else { writer.end() }
            }),
            Self::Treebank(sentences) => sentences.iter().enumerate().try_for_each(|(number, sentence)| {
                let sentence = sentence.view();
                let mut word = 0;
                let mut row_edits = Vec::new();
                Writer::new(&mut out).edited(&sentence, |row, column| {
                    if !row.is_word() {
                        return None;
                    }
                    // `edited` visits the ID of each row first.
                    if column == Column::Id {
                        row_edits = edits(number, word, [row.feats(), row.misc()]);
                        word += 1;
                    }
                    let edit = row_edits.iter().find(|(edited, _)| *edited == column);
                    edit.map(|(_, value)| value.clone())
                })
            }),
        };
        written
            .map_err(|error| Refusal::unusable(format!("the tagged sentences cannot be written: {error}")))?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(document: &TaggingInput) -> Vec<String> {
        document.words().iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn every_form_of_input_has_words() {
        let text = TaggingInput::Text(split_text("Ice melts. Snow,\r\ntoo.", SentenceSplit::Unicode));
        assert_eq!(words(&text), ["Ice melts .", "Snow ,", "too ."]);
        assert_eq!(
            words(&TaggingInput::from_lines("Ice melts.\n\n Snow  too\n")),
            ["Ice melts.", "Snow too"]
        );
        assert_eq!(words(&TaggingInput::from_column("Ice\tx\nmelts\n\n\nSnow\n")), ["Ice melts", "Snow"]);
        let conllu = "# a = b\n1-2\tdont\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\t_\t_\t_\t_\t0\t_\t_\t_\n2\tnt\t_\t_\t_\t_\t1\t_\t_\t_\n\n";
        assert_eq!(words(&TaggingInput::from_conllu(conllu.as_bytes()).expect("CoNLL-U")), ["do nt"]);
    }

    #[test]
    fn only_filled_columns_of_a_treebank_change() {
        let conllu = "# a = b\n1-2\tdont\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\tx\t_\t_\t_\t0\troot\t_\tA=B\n2\tnt\t_\tADV\t_\t_\t1\tdep\t_\t_\n\n";
        let targets = TagTargets::new(vec!["upos".parse().expect("a target")]).expect("one target");
        let tagged = |tag: &str| WordTag { tag: tag.into(), probability: 0.5 };
        let document = TaggingInput::from_conllu(conllu.as_bytes()).expect("CoNLL-U");
        let answers = [vec![vec![tagged("AUX"), tagged("PART")]]];
        let written = document.write_conllu(&targets, &answers, false).expect("CoNLL-U");
        let expected = conllu.replace("do\tx\t_", "do\tx\tAUX").replace("nt\t_\tADV", "nt\t_\tPART");
        assert_eq!(String::from_utf8(written).expect("text"), expected);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (bad, named) in [
            (b"1\tIce\n\n".as_slice(), "data:1"),
            (b"\x1f\x8b\x08\x00", "data:"),
            (b"2\tIce\t_\t_\t_\t_\t_\t_\t_\t_\n\n", "data:1"),
        ] {
            let refusal = TaggingInput::from_conllu(bad).err().expect("it is refused");
            assert!(refusal.status == 422 && refusal.reason.contains(named), "{}", refusal.reason);
        }
        assert!(TaggingInput::from_words(vec![vec!["a\tb".into()]]).is_err());
    }
}
