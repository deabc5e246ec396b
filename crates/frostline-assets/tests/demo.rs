//! The demo is well formed and within its lengths, words alone do not determine its tags, and its tokenizer splits all of
//! its words into morphemes.

use std::collections::{BTreeSet, HashMap, HashSet};

use frostline_assets::{Format, Places, embedded};
use frostline_conllu::{parse_iob2, parse_labelled};
use frostline_score::baseline::MostFrequentTag;
use tokenizers::Tokenizer;

type TaggedWords = Vec<(String, String)>;

fn demo_sentences(lang: &str, split: &str) -> Vec<TaggedWords> {
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

fn embedded_text(path: &str) -> &'static str {
    std::str::from_utf8(embedded::bytes(path).unwrap()).unwrap()
}

/// Words and tags of the entity layer.
fn demo_names(split_name: &str) -> Vec<TaggedWords> {
    parse_iob2(embedded_text(&format!("embedded:names/{split_name}.iob2")))
        .map(|sentence| {
            let sentence = sentence.unwrap();
            sentence.rows.iter().map(|row| (row.form.into(), row.tag.into())).collect()
        })
        .collect()
}

/// Labelled sentences, and whether each is positive.
fn demo_reviews(split_name: &str) -> Vec<(&'static str, bool)> {
    parse_labelled(embedded_text(&format!("embedded:reviews/{split_name}.tsv")))
        .map(|sentence| {
            let sentence = sentence.unwrap();
            assert!(["0", "1"].contains(&sentence.label));
            (sentence.text, sentence.label == "1")
        })
        .collect()
}

fn sentence_text(sentence: &TaggedWords) -> String {
    let forms: Vec<&str> = sentence.iter().map(|(form, _)| form.as_str()).collect();
    forms.join(" ")
}

#[test]
fn splits_have_their_sizes_and_share_no_sentence() {
    for lang in ["en", "pcm"] {
        let mut seen = HashSet::new();
        for (split, count) in [("train", 600), ("dev", 100), ("test", 100)] {
            let sentences = demo_sentences(lang, split);
            assert_eq!(sentences.len(), count, "{lang} {split}");
            for sentence in &sentences {
                assert!((6..=14).contains(&sentence.len()), "{}", sentence_text(sentence));
                assert!(seen.insert(sentence_text(sentence)), "twice: {}", sentence_text(sentence));
            }
        }
        let tags = |split| -> BTreeSet<String> {
            demo_sentences(lang, split).into_iter().flatten().map(|(_, tag)| tag).collect()
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
fn words_alone_do_not_determine_the_tag() {
    for lang in ["en", "pcm"] {
        let baseline = MostFrequentTag::fit(demo_sentences(lang, "train").into_iter().flatten());
        for split in ["dev", "test"] {
            let words: Vec<(String, String)> = demo_sentences(lang, split).into_iter().flatten().collect();
            let right = words.iter().filter(|(form, tag)| baseline.predict(form) == Some(tag));
            let accuracy = right.count() as f64 / words.len() as f64;
            let unknown = words.iter().filter(|(form, _)| !baseline.contains(form)).count();
            println!("{lang} {split}: baseline {accuracy:.4}, {unknown} unknown words");
            assert!((0.80..0.90).contains(&accuracy), "{lang} {split} {accuracy}");
            assert!(unknown >= 5, "{lang} {split}: {unknown} unknown words");
        }
    }
}

#[test]
fn the_entity_layer_has_its_size_and_needs_context() {
    let mut seen = HashSet::new();
    for (split, count) in [("train", 300), ("dev", 120), ("test", 120)] {
        let sentences = demo_names(split);
        assert_eq!(sentences.len(), count);
        assert!(sentences.iter().all(|sentence| seen.insert(sentence_text(sentence))), "{split}");
        let entities = |kind: &str| sentences.iter().flatten().filter(|(_, tag)| tag == kind).count();
        println!("{split}: {} PER, {} LOC", entities("B-PER"), entities("B-LOC"));
        assert!(entities("B-PER") >= count / 3 && entities("B-LOC") >= count / 5, "{split}");
    }
    let baseline = MostFrequentTag::fit(demo_names("train").into_iter().flatten());
    for split in ["dev", "test"] {
        let words: Vec<(String, String)> = demo_names(split).into_iter().flatten().collect();
        let inside: Vec<_> = words.iter().filter(|(_, tag)| tag != "O").collect();
        let right = inside.iter().filter(|(form, tag)| baseline.predict(form) == Some(tag)).count();
        let share = right as f64 / inside.len() as f64;
        println!("{split}: {share:.4} of {} words of entities by their words alone", inside.len());
        assert!((0.4..0.8).contains(&share), "{split}: {share}");
    }
}

#[test]
fn the_label_of_a_review_follows_from_its_text() {
    const PRAISE: [&str; 6] = ["bright", "gentle", "quiet", "brave", "clean", "warm"];
    const BLAME: [&str; 6] = ["bitter", "hollow", "crooked", "narrow", "heavy", "loud"];
    const COPULAS: [&str; 7] = ["is", "are", "was", "were", "seem", "seems", "seemed"];
    let mut seen = HashSet::new();
    for (split, count) in [("train", 1200), ("dev", 200), ("test", 200)] {
        let reviews = demo_reviews(split);
        assert_eq!(reviews.len(), count);
        for (text, praises) in &reviews {
            assert!(seen.insert(*text), "twice: {text}");
            let counts = match (text.split_once(" but "), text.split_once(" while ")) {
                (Some((_, second)), None) => second,
                (None, Some((first, _))) => first,
                _ => text,
            };
            let said = counts.split(' ').skip_while(|word| !COPULAS.contains(word));
            let negated = said.clone().any(|word| ["not", "never"].contains(&word));
            let side = said
                .filter_map(|word| match word {
                    _ if PRAISE.contains(&word) || word.ends_with("ful") => Some(true),
                    _ if BLAME.contains(&word) || word.ends_with("less") => Some(false),
                    _ => None,
                })
                .collect::<Vec<_>>();
            assert_eq!(side, [*praises != negated], "{text}");
        }
        let praising = reviews.iter().filter(|(_, praises)| *praises).count();
        println!("{split}: {praising} of {count} praise");
        assert!((count * 2 / 5..count * 3 / 5).contains(&praising), "{split}: {praising}");
    }
}

#[test]
fn words_alone_do_not_determine_the_label() {
    // Naive Bayes over the words of a sentence, add-one smoothed.
    let mut counts: HashMap<&str, [f64; 2]> = HashMap::new();
    let mut totals = [0.0; 2];
    for (text, praises) in demo_reviews("train") {
        for word in text.split(' ') {
            counts.entry(word).or_default()[usize::from(praises)] += 1.0;
            totals[usize::from(praises)] += 1.0;
        }
    }
    for split in ["dev", "test"] {
        let reviews = demo_reviews(split);
        let right = reviews.iter().filter(|(text, praises)| {
            let odds: f64 = text
                .split(' ')
                .filter_map(|word| counts.get(word))
                .map(|seen| ((seen[1] + 1.0) / (totals[1] + 1.0) / (seen[0] + 1.0) * (totals[0] + 1.0)).ln())
                .sum();
            (odds > 0.0) == *praises
        });
        let accuracy = right.count() as f64 / reviews.len() as f64;
        println!("{split}: naive Bayes {accuracy:.4}");
        assert!((0.55..0.85).contains(&accuracy), "{split}: {accuracy}");
    }
}

fn demo_tokenizer() -> Tokenizer {
    Tokenizer::from_bytes(embedded::bytes("embedded:demo-distilbert/tokenizer.json").unwrap()).unwrap()
}

#[test]
fn hugging_face_reads_the_tokenizer() {
    let tokenizer = demo_tokenizer();
    let encoding = tokenizer.encode("She never unlocked the [MASK] , o !", true).unwrap();
    assert_eq!(
        encoding.get_tokens(),
        ["[CLS]", "she", "never", "un", "##lock", "##ed", "the", "[MASK]", ",", "o", "!", "[SEP]"]
    );
    assert!(tokenizer.get_padding().is_none() && tokenizer.get_truncation().is_none());
}

#[test]
fn the_files_of_the_encoder_have_the_same_vocabulary() {
    let vocabulary: Vec<&str> = embedded_text("embedded:demo-distilbert/vocab.txt").lines().collect();
    assert_eq!(vocabulary[..5], ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
    assert_eq!(vocabulary.iter().collect::<HashSet<_>>().len(), vocabulary.len());
    let tokenizer = demo_tokenizer();
    assert_eq!(tokenizer.get_vocab_size(true), vocabulary.len());
    for (id, piece) in vocabulary.iter().enumerate() {
        assert_eq!(tokenizer.token_to_id(piece), Some(id as u32));
    }
    let config = embedded_text("embedded:demo-distilbert/config.json");
    let config: serde_json::Value = serde_json::from_str(config).unwrap();
    assert_eq!(config["vocab_size"], vocabulary.len());
    assert!(config["max_position_embeddings"].as_u64().unwrap() >= 2 * 14);
}

#[test]
fn words_split_into_morphemes_and_never_into_letters() {
    let treebanks =
        ["en", "pcm"].map(|lang| ["train", "dev", "test"].map(|split| demo_sentences(lang, split)));
    let layer = ["train", "dev", "test"].map(demo_names);
    let labelled = ["train", "dev", "test"].map(demo_reviews);
    let mut words: BTreeSet<&str> = BTreeSet::new();
    words.extend(labelled.iter().flatten().flat_map(|(text, _)| text.split(' ')));
    let tagged = treebanks.iter().flatten().chain(&layer).flatten().flatten();
    words.extend(tagged.map(|(form, _)| form.as_str()));
    let (tokenizer, mut split) = (demo_tokenizer(), 0);
    for word in &words {
        let encoding = tokenizer.encode(*word, false).unwrap();
        let pieces = encoding.get_tokens();
        assert_ne!(pieces[0], "[UNK]", "{word}");
        let letter = |piece: &String| piece.trim_start_matches('#').len() == 1 && piece != "##s";
        assert!(pieces.len() == 1 || !pieces.iter().any(letter), "{word}: {pieces:?}");
        split += usize::from(pieces.len() > 1);
    }
    assert!(words.len() > 400 && split * 12 > words.len(), "{split} of {} words split", words.len());
}

#[test]
fn every_embedded_file_is_marked_as_synthetic() {
    for (path, bytes) in embedded::files() {
        let says = bytes.windows(9).any(|window| window.eq_ignore_ascii_case(b"synthetic"));
        let has_comments = [".conllu", ".iob2", "config.json"].iter().any(|end| path.ends_with(end));
        assert!(says || !has_comments, "{path}");
    }
}

#[test]
fn the_demo_is_found_by_name() {
    let places = Places::default();
    for (name, format) in [
        ("en", Format::Conllu),
        ("pcm", Format::Conllu),
        ("names", Format::Iob2),
        ("reviews", Format::Labelled),
    ] {
        let found = places.dataset(&format!("embedded:{name}")).unwrap();
        assert_eq!(found.sources.keys().collect::<Vec<_>>(), ["dev", "test", "train"]);
        assert_eq!((found.format, &*found.folder), (format, &*format!("embedded:{name}")));
    }
    let encoder = places.encoder("embedded:demo-distilbert", false).unwrap();
    assert_eq!(encoder.sources.keys().collect::<Vec<_>>(), ["config", "tokenizer", "tokenizer-config"]);
    let with_weights = places.encoder("embedded:demo-distilbert", true);
    assert_eq!(with_weights.is_ok(), embedded::has_weights());
}
