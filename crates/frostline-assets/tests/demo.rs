//! The demo is what it claims to be: made again byte for byte, well formed, within its lengths,
//! and neither trivial nor guessable from words alone.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use frostline_assets::{Places, demo, embedded};
use frostline_score::baseline::MostFrequentTag;

type Sentence = Vec<(String, String)>;

fn sentences(lang: &str, split: &str) -> Vec<Sentence> {
    let bytes = embedded::bytes(&format!("embedded:{lang}/{split}.conllu")).unwrap();
    let text = std::str::from_utf8(bytes).unwrap();
    frostline_conllu::parse(text)
        .map(|sentence| {
            let sentence = sentence.unwrap();
            let words = sentence.words();
            words.map(|word| (word.form().into(), word.upos().into())).collect()
        })
        .collect()
}

fn text(sentence: &Sentence) -> String {
    let forms: Vec<&str> = sentence.iter().map(|(form, _)| form.as_str()).collect();
    forms.join(" ")
}

#[test]
fn the_committed_files_are_made_again_byte_for_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let made = demo::generate();
    for (path, contents) in &made {
        let committed = std::fs::read(folder.join(path)).unwrap();
        assert!(
            &committed == contents,
            "{path} differs from what the code makes: run `cargo run -p frostline-assets --example write_demo -- crates/frostline-assets/demo`"
        );
    }
    let made: BTreeSet<String> = made.into_iter().map(|(path, _)| format!("embedded:{path}")).collect();
    let carried: BTreeSet<String> = embedded::files()
        .map(|(path, _)| path.to_string())
        .filter(|path| !path.ends_with("model.safetensors"))
        .collect();
    assert_eq!(made, carried);
}

#[test]
fn splits_have_their_sizes_and_share_no_sentence() {
    for lang in ["en", "pcm"] {
        let mut seen = HashSet::new();
        for (split, count) in [("train", 600), ("dev", 100), ("test", 100)] {
            let sentences = sentences(lang, split);
            assert_eq!(sentences.len(), count, "{lang} {split}");
            for sentence in &sentences {
                assert!((6..=14).contains(&sentence.len()), "{}", text(sentence));
                assert!(seen.insert(text(sentence)), "twice: {}", text(sentence));
            }
        }
        let tags = |split| -> BTreeSet<String> {
            sentences(lang, split).into_iter().flatten().map(|(_, tag)| tag).collect()
        };
        assert!((12..=15).contains(&tags("train").len()));
        assert!(tags("dev").is_subset(&tags("train")));
        assert!(tags("test").is_subset(&tags("train")));
    }
}

#[test]
fn every_sentence_is_one_tree() {
    for lang in ["en", "pcm"] {
        for split in ["train", "dev", "test"] {
            let bytes = embedded::bytes(&format!("embedded:{lang}/{split}.conllu")).unwrap();
            let checks = frostline_conllu::Checks::default();
            for sentence in frostline_conllu::read_strict(bytes, checks) {
                let sentence = sentence.unwrap();
                let heads: Vec<usize> = sentence.words().map(|word| word.head().parse().unwrap()).collect();
                assert_eq!(heads.iter().filter(|&&head| head == 0).count(), 1);
                for start in 1..=heads.len() {
                    let mut at = start;
                    let mut steps = 0;
                    while at != 0 {
                        at = heads[at - 1];
                        steps += 1;
                        assert!(steps <= heads.len(), "{lang} {split} {:?}", sentence.sent_id());
                    }
                }
                for word in sentence.words() {
                    assert_eq!(word.head() == "0", word.deprel() == "root");
                }
            }
        }
    }
}

#[test]
fn words_alone_do_not_tell_the_tag() {
    for lang in ["en", "pcm"] {
        let baseline = MostFrequentTag::fit(sentences(lang, "train").into_iter().flatten());
        for split in ["dev", "test"] {
            let words: Vec<(String, String)> = sentences(lang, split).into_iter().flatten().collect();
            let right = words.iter().filter(|(form, tag)| baseline.predict(form) == Some(tag));
            let accuracy = right.count() as f64 / words.len() as f64;
            let unknown = words.iter().filter(|(form, _)| !baseline.knows(form)).count();
            println!("{lang} {split}: baseline {accuracy:.4}, {unknown} unknown words");
            assert!((0.80..0.90).contains(&accuracy), "{lang} {split} {accuracy}");
            assert!(unknown >= 5, "{lang} {split}: {unknown} unknown words");
        }
    }
}

#[test]
fn pretraining_text_holds_no_sentence_of_a_treebank() {
    let text_lines = demo::pretraining_text(3000);
    assert_eq!(text_lines.len(), 6000);
    let lines: HashSet<&str> = text_lines.iter().map(String::as_str).collect();
    assert_eq!(lines.len(), 6000);
    for lang in ["en", "pcm"] {
        for split in ["train", "dev", "test"] {
            for sentence in sentences(lang, split) {
                assert!(!lines.contains(text(&sentence).as_str()));
            }
        }
    }
    assert_eq!(demo::pretraining_text(10), text_lines[..20]);
}

#[test]
fn words_split_into_morphemes_and_never_into_letters() {
    let vocabulary = demo::vocabulary();
    let known: HashSet<&str> = vocabulary.iter().map(String::as_str).collect();
    assert_eq!(known.len(), vocabulary.len());
    assert_eq!(vocabulary[..5], ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
    let (mut words, mut split) = (0, 0);
    for line in demo::pretraining_text(2000) {
        for word in line.split(' ') {
            let mut pieces = Vec::new();
            let mut at = 0;
            while at < word.len() {
                let prefix = if at == 0 { "" } else { "##" };
                let end = (at + 1..=word.len())
                    .rev()
                    .find(|&end| known.contains(format!("{prefix}{}", &word[at..end]).as_str()))
                    .unwrap_or_else(|| panic!("no piece for {word}"));
                pieces.push(&word[at..end]);
                at = end;
            }
            words += 1;
            split += usize::from(pieces.len() > 1);
            let letter = |piece: &&str| piece.len() == 1 && *piece != "s";
            assert!(pieces.len() == 1 || !pieces.iter().any(letter), "{word}: {pieces:?}");
        }
    }
    assert!(split * 12 > words, "{split} of {words} words split");
}

#[test]
fn everything_embedded_says_that_it_is_synthetic() {
    for (path, bytes) in embedded::files() {
        let says = bytes.windows(9).any(|window| window.eq_ignore_ascii_case(b"synthetic"));
        let has_comments = path.ends_with(".conllu") || path.ends_with("config.json");
        assert!(says || !has_comments, "{path}");
    }
}

#[test]
fn the_demo_is_found_by_name() {
    let places = Places::default();
    for lang in ["en", "pcm"] {
        let treebank = places.treebank(&format!("embedded:{lang}")).unwrap();
        assert_eq!(treebank.sources.keys().collect::<Vec<_>>(), ["dev", "test", "train"]);
    }
    let encoder = places.encoder("embedded:demo-distilbert", false).unwrap();
    assert_eq!(encoder.sources.keys().collect::<Vec<_>>(), ["config", "tokenizer"]);
    let with_weights = places.encoder("embedded:demo-distilbert", true);
    assert_eq!(with_weights.is_ok(), embedded::has_weights());
}
