//! Hugging Face's library reads the demo's tokenizer, which splits words into morphemes.

use frostline_assets::embedded;
use frostline_conllu::{parse_iob2, parse_labelled};
use tokenizers::Tokenizer;
use xtask::demo;

#[test]
fn hugging_face_reads_the_tokenizer() {
    let bytes = embedded::bytes("embedded:demo-distilbert/tokenizer.json").unwrap();
    let tokenizer = Tokenizer::from_bytes(bytes).unwrap();
    let encoding = tokenizer.encode("She never unlocked the [MASK] , o !", true).unwrap();
    assert_eq!(
        encoding.get_tokens(),
        ["[CLS]", "she", "never", "un", "##lock", "##ed", "the", "[MASK]", ",", "o", "!", "[SEP]"]
    );
    let vocabulary = demo::vocabulary();
    assert_eq!(tokenizer.get_vocab_size(true), vocabulary.len());
    for (id, piece) in vocabulary.iter().enumerate() {
        assert_eq!(tokenizer.token_to_id(piece), Some(id as u32));
    }
    assert!(tokenizer.get_padding().is_none() && tokenizer.get_truncation().is_none());
}

#[test]
fn no_word_of_the_grammars_is_unknown() {
    let bytes = embedded::bytes("embedded:demo-distilbert/tokenizer.json").unwrap();
    let tokenizer = Tokenizer::from_bytes(bytes).unwrap();
    let config = embedded::bytes("embedded:demo-distilbert/config.json").unwrap();
    let config: serde_json::Value = serde_json::from_slice(config).unwrap();
    let positions = config["max_position_embeddings"].as_u64().unwrap() as usize;
    for line in demo::pretraining_text(1000) {
        let encoding = tokenizer.encode(line.as_str(), true).unwrap();
        assert!(!encoding.get_tokens().iter().any(|piece| piece == "[UNK]"), "{line}");
        assert!(encoding.len() <= positions);
    }
}

#[test]
fn the_other_datasets_use_the_same_morphemes() {
    let bytes = embedded::bytes("embedded:demo-distilbert/tokenizer.json").unwrap();
    let tokenizer = Tokenizer::from_bytes(bytes).unwrap();
    let mut words = std::collections::BTreeSet::new();
    for (path, bytes) in embedded::files() {
        let text = || std::str::from_utf8(bytes).unwrap();
        if path.ends_with(".iob2") {
            let sentences = parse_iob2(text()).map(Result::unwrap);
            words.extend(sentences.flat_map(|sentence| sentence.rows).map(|row| row.form));
        } else if path.ends_with(".tsv") {
            let sentences = parse_labelled(text()).map(Result::unwrap);
            words.extend(sentences.flat_map(|sentence| sentence.text.split(' ')));
        }
    }
    assert!(words.len() > 200, "{} words", words.len());
    for word in words {
        let encoding = tokenizer.encode(word, false).unwrap();
        let pieces = encoding.get_tokens();
        assert_ne!(pieces[0], "[UNK]", "{word}");
        let letter = |piece: &String| piece.trim_start_matches('#').len() == 1 && piece != "##s";
        assert!(pieces.len() == 1 || !pieces.iter().any(letter), "{word}: {pieces:?}");
    }
}
