//! Taggers that share their lowest blocks give the answers that each gives alone, bit for bit, and keep what is equal once.

use std::fs;
use std::path::{Path, PathBuf};

use frostline_tagger::{Answer, ModelMismatch, Options, PART_WORDS, Part, Tagger, Taggers};
use serde_json::Value;

/// The committed models of all families: six blocks and a classifier.
const FAMILIES: [&str; 9] = [
    "bert",
    "distilbert",
    "roberta",
    "electra",
    "deberta-v2",
    "modernbert",
    "eurobert",
    "nomic_bert",
    "xlm-roberta-xl",
];

fn reference(family: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../frostline-model/tests/references").join(family)
}

/// Copies a model, with other values in the tensors whose names have one of these parts.
fn variant(root: &Path, name: &str, family: &str, changed: &[&str]) -> PathBuf {
    let folder = root.join(format!("{family}-{name}"));
    fs::create_dir_all(&folder).expect("a folder");
    for entry in reference(family).read_dir().expect("a committed model") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), folder.join(entry.file_name())).expect("a copy");
    }
    let path = folder.join("model.safetensors");
    let mut bytes = fs::read(&path).expect("weights");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).expect("a header");
    let mut count = 0;
    for (tensor, about) in header.as_object().expect("an object") {
        if !changed.iter().any(|part| tensor.contains(part)) {
            continue;
        }
        let [from, to] = [0, 1].map(|at| about["data_offsets"][at].as_u64().expect("a number") as usize);
        for value in bytes[8 + length + from..8 + length + to].chunks_exact_mut(4) {
            let old = f32::from_le_bytes(value.try_into().expect("four bytes"));
            value.copy_from_slice(&(old * 1.25 + 0.01).to_le_bytes());
        }
        count += 1;
    }
    assert!(count > 0 || changed.is_empty(), "{family}: no tensor has {changed:?}");
    fs::write(&path, bytes).expect("weights");
    folder
}

/// Sentences of one word and of many, one longer than any window, and words without subwords.
fn sentences() -> Vec<Vec<&'static str>> {
    let long = ["the", "frog", "sees", "a", "stone"].repeat(60);
    let some = [vec!["a", "frog"], vec!["Stones", "see", "\u{200b}", "frogs", "."], vec![], vec!["the"]];
    [vec![long], some.into(), vec![vec!["a", "stone"]; 40]].concat()
}

fn bits<'a>(answers: &[Vec<Answer<'a>>]) -> Vec<Vec<(&'a str, u32)>> {
    let bits = |answer: &Answer<'a>| (answer.tag, answer.probability.to_bits());
    answers.iter().map(|answers| answers.iter().map(bits).collect()).collect()
}

#[test]
fn every_family_answers_as_if_alone() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    for family in FAMILIES {
        let folders = [
            variant(root, "base", family, &[]),
            variant(root, "top", family, &[".4.", ".5.", "classifier"]),
            variant(root, "head", family, &["classifier"]),
            variant(root, "last", family, &[".5.", "classifier"]),
            variant(root, "same", family, &[]),
            variant(root, "first", family, &[".0.", "classifier"]),
            variant(root, "embeddings", family, &["embed"]),
        ];
        let taggers = Taggers::load_many(&folders).expect("taggers");
        // Blocks 0 to 3 once for the first five; 4 and 5 once for three and for `top`; 5 for `last`; all for the others.
        let blocks = taggers.sharing().blocks;
        assert_eq!((blocks.shared, blocks.separate), (4 + 2 + 2 + 1 + 6 + 6, 7 * 6), "{family}");
        let sentences = sentences();
        let together = taggers.tag_all(&sentences).expect("tags");
        let mut different = 0;
        for (folder, answers) in folders.iter().zip(&together) {
            let alone = Tagger::load(folder).expect("a tagger");
            let expected = alone.tag_all(&sentences).expect("tags");
            assert_eq!(bits(answers), bits(&expected), "{}", folder.display());
            different += usize::from(bits(answers) != bits(&together[0]));
        }
        assert_eq!(different, 5, "{family}: all but the same one have answers of their own");
    }
}

#[test]
fn the_number_of_threads_and_other_sentences_change_no_bit() {
    let root = tempfile::tempdir().expect("a folder");
    let folders = [variant(root.path(), "base", "bert", &[]), variant(root.path(), "top", "bert", &[".5."])];
    let sentences = sentences();
    let tag = |threads: usize, sentences: &[Vec<&str>]| {
        let options = Options { threads: Some(threads), ..Options::default() };
        let taggers = Taggers::open_many(&folders, &options).expect("taggers");
        assert!(taggers.is_independent_of_batches());
        let answers = taggers.tag_all(sentences).expect("tags");
        answers.iter().map(|answers| format!("{:?}", bits(answers))).collect::<Vec<_>>()
    };
    let all = tag(1, &sentences);
    assert_eq!(all, tag(3, &sentences));
    let alone = tag(2, &sentences[1..2]);
    assert!(all.iter().zip(&alone).all(|(all, alone)| all.contains(alone.trim_matches(['[', ']']))));
}

#[test]
fn a_model_that_is_given_twice_is_kept_once() {
    let (once, twice) = (reference("bert"), [reference("bert"), reference("bert")]);
    let one = Taggers::load_many([&once]).expect("a tagger").sharing();
    let two = Taggers::load_many(&twice).expect("taggers").sharing();
    assert_eq!(one.parameters, one.separate_parameters);
    assert_eq!((two.parameters, two.separate_parameters), (one.parameters, 2 * one.parameters));
    assert_eq!((two.blocks.shared, two.blocks.separate, two.tokenizers), (6, 12, 1));
}

#[test]
fn models_that_read_other_subwords_are_computed_apart_but_keep_equal_tensors_once() {
    let root = tempfile::tempdir().expect("a folder");
    let cased = variant(root.path(), "cased", "bert", &[]);
    fs::write(
        cased.join("tokenizer_config.json"),
        r#"{"tokenizer_class": "BertTokenizer", "do_lower_case": false}"#,
    )
    .expect("a file");
    let folders = [reference("bert"), cased, reference("distilbert")];
    let taggers = Taggers::load_many(&folders).expect("taggers");
    let sharing = taggers.sharing();
    assert_eq!((sharing.tokenizers, sharing.blocks.shared), (3, 18));
    let separate = |folder: &PathBuf| Taggers::load_many([folder]).expect("a tagger").sharing().parameters;
    assert_eq!(sharing.parameters, separate(&folders[0]) + separate(&folders[2]));
    let sentences = [["Stones", "see", "frogs"]];
    for (folder, answers) in folders.iter().zip(taggers.tag_all(&sentences).expect("tags")) {
        let alone = Tagger::load(folder).expect("a tagger");
        assert_eq!(bits(&answers), bits(&alone.tag_all(&sentences).expect("tags")));
    }
}

#[test]
fn some_taggers_are_asked_in_any_order() {
    let root = tempfile::tempdir().expect("a folder");
    let folders = [
        variant(root.path(), "base", "bert", &[]),
        reference("distilbert"),
        variant(root.path(), "top", "bert", &[".5.", "classifier"]),
    ];
    let taggers = Taggers::load_many(&folders).expect("taggers");
    let places: Vec<&Path> = taggers.models().map(|model| model.place()).collect();
    assert_eq!(places, folders.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    let all = taggers.tag_all(&[["a", "frog"]]).expect("tags");
    let part = Part { words: vec!["a", "frog"], own: 0..2 };
    let some = taggers.tag_parts(&[2, 1, 2], std::slice::from_ref(&part)).expect("tags");
    let expected = [&all[2], &all[1], &all[2]].map(|answers| bits(answers));
    assert_eq!(some.iter().map(|answers| bits(answers)).collect::<Vec<_>>(), expected);
    assert!(taggers.tag_parts(&[], &[part]).expect("no tags").is_empty());
}

#[test]
fn parts_of_a_long_sentence_have_the_tags_of_the_whole() {
    let words = ["the", "frog", "sees", "a", "stone", "."].repeat(PART_WORDS / 4);
    let folders = [reference("bert"), reference("bert")];
    let options = |max_length| Options { max_length: Some(max_length), ..Options::default() };
    let taggers = Taggers::open_many(&folders, &options(24)).expect("taggers");
    let whole = taggers.tag_all(&[&words]).expect("tags");
    let context = taggers.context();
    let parts = [0..PART_WORDS, PART_WORDS..words.len()].map(|own| {
        let from = own.start.saturating_sub(context);
        let to = (own.end + context).min(words.len());
        Part { words: words[from..to].to_vec(), own: own.start - from..own.end - from }
    });
    for (whole, parts) in whole.iter().zip(taggers.tag_parts(&[0, 1], &parts).expect("tags")) {
        assert_eq!(bits(whole)[0], bits(&parts).concat());
    }
}

#[test]
fn faults_name_the_folder() {
    let none: [PathBuf; 0] = [];
    let error = Taggers::load_many(&none).expect_err("no tagger");
    assert!(error.downcast_ref::<ModelMismatch>().is_some(), "{error}");
    let root = tempfile::tempdir().expect("a folder");
    let empty = root.path().join("empty");
    fs::create_dir_all(&empty).expect("a folder");
    let error = Taggers::load_many([reference("bert"), empty.clone()]).expect_err("no model");
    assert!(error.to_string().contains(&empty.display().to_string()), "{error}");
    let broken = variant(root.path(), "broken", "bert", &[]);
    let file = fs::read(broken.join("model.safetensors")).expect("weights");
    fs::write(broken.join("model.safetensors"), &file[..file.len() - 4]).expect("weights");
    let error = Taggers::load_many([reference("bert"), broken.clone()]).expect_err("half of a model");
    assert!(format!("{error:#}").contains(&broken.display().to_string()), "{error:#}");
}
