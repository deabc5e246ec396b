//! Facts about a treebank of seven sentences, counted by hand.

use std::sync::Arc;

use frostline_align::{AlignOptions, Aligner, VocabOptions};
use frostline_record::{DataSettings, Forms, Overlap, Spelled, SplitFacts, TaskFacts, TaskSettings, Unit};
use frostline_score::Familiarity;

use super::Known;
use crate::aligned::{AlignedSplit, AlignedTask, Alignments};
use crate::corpus::{Files, ParsedFile, Portion, Portions};
use crate::document::{Document, DocumentFormat};

/// Room for two subwords in addition to `[CLS]` and `[SEP]`.
const MAX_LENGTH: usize = 4;

/// Sentences of `form/TAG` as CoNLL-U.
fn conllu(sentences: &[&str]) -> String {
    let mut text = String::new();
    for (number, sentence) in sentences.iter().enumerate() {
        text += &format!("# sent_id = s{number}\n# text = x\n");
        for (at, word) in sentence.split(' ').enumerate() {
            let (form, tag) = word.split_once('/').expect("a word and its tag");
            let head = if at == 0 { "0\troot" } else { "1\tdep" };
            text += &format!("{}\t{form}\t_\t{tag}\t_\t_\t{head}\t_\t_\n", at + 1);
        }
        text.push('\n');
    }
    text
}

/// Returns a text as a parsed file.
fn file(text: &str, name: &str, format: DocumentFormat) -> ParsedFile {
    let document = Arc::new(Document::parse(text.into(), name, format).expect("sentences"));
    ParsedFile { path: name.into(), key: name.into(), document }
}

/// Returns the splits of the treebank.
fn splits(data: &DataSettings) -> Portions {
    let train = conllu(&[
        "The/DET dog/NOUN barks/VERB",
        "the/DET dog/NOUN barks/VERB",
        "Dogs/NOUN fly/VERB",
        "a/DET fly/NOUN uh/_",
    ]);
    let dev = conllu(&["the/DET dog/NOUN barks/VERB", "Fly/VERB away/ADV \u{200b}/SYM"]);
    let test = conllu(&["dogs/NOUN fly/VERB"]);
    let file = |text: &str, name| file(text, name, DocumentFormat::Treebank);
    let files = Files {
        train: Some(file(&train, "train.conllu")),
        dev: Some(file(&dev, "dev.conllu")),
        test: Some(file(&test, "test.conllu")),
    };
    files.portions(data, &files.choose(data, 42), true)
}

fn facts(splits: &Portions, task: &TaskSettings, lowercase: bool) -> TaskFacts {
    let vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ndog\n##s\nbark\nfly\naway\na\nuh\n";
    let options = AlignOptions { max_length: MAX_LENGTH, lowercase, ..AlignOptions::default() };
    let aligner = Aligner::from_vocab(vocab, &VocabOptions::default()).expect("a vocabulary");
    let aligner = aligner.with_options(options).expect("room");
    let split = |name, portion| aligned(name, portion, task, &aligner);
    let aligned = AlignedTask {
        train: split("train", &splits.train),
        dev: split("dev", &splits.dev),
        test: splits.test.as_ref().map(|test| split("test", test)),
    };
    Known::of(&aligned.train.sentences, task, lowercase).facts(&aligned, &[])
}

fn aligned<'a>(
    name: &'static str,
    portion: &'a Portion,
    task: &TaskSettings,
    aligner: &Aligner,
) -> AlignedSplit<'a> {
    let alignments = Alignments::new(&portion.file.document);
    AlignedSplit::new((name, portion), (&task.labels, task.unit()), &alignments, aligner).expect("alignments")
}

fn tags<const N: usize>(counts: [(&str, u64); N]) -> std::collections::BTreeMap<String, u64> {
    counts.into_iter().map(|(tag, count)| (tag.to_string(), count)).collect()
}

#[test]
fn a_small_treebank_is_counted_as_by_hand() {
    let (splits, task) = (splits(&DataSettings::default()), TaskSettings::default());
    let found = facts(&splits, &task, true);
    assert_eq!(found.unit, Unit::Words);
    // Only two subwords of a sentence are left: `barks` goes twice, `fly` behind `dog ##s` once.
    let train = SplitFacts {
        sentences: 4,
        words: 10,
        subwords: 16,
        truncated: 3,
        vanished: 0,
        spelled: Spelled { words: 7, subwords: 8 },
        tags: tags([("DET", 3), ("NOUN", 4), ("VERB", 3)]),
        forms: Forms {
            words: 10,
            types: 6,
            unknown_words: 0,
            unknown_types: 0,
            ambiguous_words: 2,
            ambiguous_types: 1,
        },
        repeated: 1,
        like_train: None,
        like_dev: None,
        unlabelled: 0,
        blank: 0,
        // `the dog bark ##s` between `[CLS]` and `[SEP]`.
        longest: 6,
    };
    assert_eq!(found.train, train);
    let dev = SplitFacts {
        sentences: 2,
        words: 6,
        subwords: 8,
        truncated: 1,
        vanished: 1,
        spelled: Spelled { words: 4, subwords: 4 },
        tags: tags([("ADV", 1), ("DET", 1), ("NOUN", 1), ("SYM", 1), ("VERB", 2)]),
        forms: Forms {
            words: 6,
            types: 6,
            unknown_words: 2,
            unknown_types: 2,
            ambiguous_words: 1,
            ambiguous_types: 1,
        },
        repeated: 1,
        like_train: Some(Overlap { sentences: 1, words: 3 }),
        like_dev: None,
        unlabelled: 0,
        blank: 0,
        longest: 6,
    };
    assert_eq!(found.dev, dev);
    assert_eq!(found.missing_in_train(&found.dev).collect::<Vec<_>>(), [("ADV", 1), ("SYM", 1)]);
    assert_eq!(found.test.expect("test").repeated, 1, "`dogs fly` is `Dogs fly` in lower case");
}

#[test]
fn sentences_of_another_split_are_counted_whatever_their_case_and_punctuation() {
    let file = |sentences: &[&str], name| Some(file(&conllu(sentences), name, DocumentFormat::Treebank));
    let data = DataSettings::default();
    // Sentences without their text are not counted as equal.
    let dev =
        ["the/DET dog/NOUN barks/VERB !/PUNCT", "?/PUNCT !/PUNCT", "It/PRON rains/VERB", "_/NOUN _/VERB"];
    let files = Files {
        train: file(
            &["The/DET DOG/NOUN ,/PUNCT barks/VERB", "?/PUNCT", "Dogs/NOUN fly/VERB", "_/DET _/NOUN"],
            "train",
        ),
        dev: file(&dev, "dev"),
        test: file(&["it/PRON rains/VERB ./PUNCT", "?/PUNCT", "Dogs/NOUN flyaway/VERB"], "test"),
    };
    let found =
        facts(&files.portions(&data, &files.choose(&data, 42), true), &TaskSettings::default(), false);
    assert_eq!((found.dev.like_train, found.dev.repeated), (Some(Overlap { sentences: 1, words: 4 }), 1));
    let test = found.test.expect("test");
    assert_eq!(
        test.like_train,
        Some(Overlap { sentences: 1, words: 1 }),
        "punctuation alone is compared as it is"
    );
    assert_eq!(test.like_dev, Some(Overlap { sentences: 1, words: 3 }));
    assert_eq!(found.train.like_train, None);
}

#[test]
fn case_counts_where_it_is_kept() {
    let (splits, task) = (splits(&DataSettings::default()), TaskSettings::default());
    let found = facts(&splits, &task, false);
    assert_eq!((found.train.forms.types, found.train.repeated), (7, 0), "`The` is not `the`");
    let forms = found.dev.forms;
    assert_eq!((forms.unknown_words, forms.ambiguous_words), (3, 0), "`Fly` is not `fly`");
    assert_eq!(found.dev.repeated, 1, "the second train sentence");
    assert_eq!(found.test.expect("test").repeated, 0);

    for (lowercase, expected) in [(true, Familiarity::Ambiguous), (false, Familiarity::Unknown)] {
        let known = Known::of(&splits.train.labelled("upos"), &task, lowercase);
        assert_eq!(known.familiarity("Fly"), expected);
        assert_eq!(known.familiarity("dog"), Familiarity::Unambiguous);
        assert_eq!(known.familiarity("uh"), Familiarity::Unknown, "it has no tag in train");
    }
}

#[test]
fn what_was_cut_from_train_is_unknown() {
    let splits = splits(&DataSettings { first: 1, ..DataSettings::default() });
    let found = facts(&splits, &TaskSettings::default(), true);
    assert_eq!((found.train.sentences, found.train.repeated), (1, 0));
    assert_eq!(found.dev.forms.unknown_words, 3, "`fly` too");
}

#[test]
fn labelled_sentences_have_words_without_tags() {
    let file = |text: &str| file(text, "x.tsv", DocumentFormat::Sentences);
    let files =
        Files { train: Some(file("the dog\t1\nThe dog\t0\n")), dev: Some(file("the fly\t1\n")), test: None };
    let task = TaskSettings { labels: "label".into(), ..TaskSettings::default() };
    let data = DataSettings::default();
    let found = facts(&files.portions(&data, &files.choose(&data, 42), true), &task, true);
    assert_eq!(found.unit, Unit::Sentences);
    assert_eq!((found.train.words, found.train.forms.words, found.train.forms.types), (2, 4, 2));
    assert_eq!((found.train.repeated, found.train.tags), (1, tags([("0", 1), ("1", 1)])));
    let forms = Forms { words: 2, types: 2, unknown_words: 1, unknown_types: 1, ..Forms::default() };
    assert_eq!((found.dev.words, found.dev.forms), (1, forms));
    assert_eq!(found.test, None);
}

#[test]
fn missing_labels_and_removed_text_are_counted() {
    let text = conllu(&["_/DET _/NOUN barks/VERB", "the/_ dog/_", "_/_", "the/DET _/NOUN"]);
    let one = |name| file(&text, name, DocumentFormat::Treebank);
    let files = Files { train: Some(one("train.conllu")), dev: Some(one("dev.conllu")), test: None };
    let data = DataSettings::default();
    let splits = files.portions(&data, &files.choose(&data, 42), true);
    let found = facts(&splits, &TaskSettings::default(), true);
    for split in [&found.train, &found.dev] {
        assert_eq!((split.sentences, split.unlabelled), (4, 2));
        assert_eq!((split.forms.words, split.blank), (5, 3), "a word without a label is not counted");
    }
}
