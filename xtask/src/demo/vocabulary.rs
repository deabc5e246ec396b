//! The demo encoder's files besides its weights: vocabulary, tokenizer, config.
//!
//! The vocabulary is the sorted list of the grammars' morphemes; nothing is counted or trained,
//! so it is the same everywhere.

use std::collections::BTreeSet;

use serde_json::json;

use super::{english, pidgin};

/// The special tokens, at ids 0 to 4.
const SPECIALS: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The comment in each file that can have one.
const SYNTHETIC: &str = "synthetic: Frostline's demo encoder, for text made by a seeded toy grammar";

/// The length of the longest word that is split, as in BERT.
const WORD_LIMIT: usize = 100;

/// The pieces in the order of their ids: special tokens, then pieces that start a word, then pieces
/// that continue one. Single letters and digits are included, so that any plain word can be split.
#[must_use]
pub fn vocabulary() -> Vec<String> {
    let letters: Vec<String> = ('a'..='z').chain('0'..='9').map(String::from).collect();
    let mut starts: BTreeSet<String> = letters.iter().cloned().collect();
    let mut continues = starts.clone();
    starts.extend(".,!?'\"-:;()".chars().map(String::from));
    for (start, follow) in [english::morphemes(), pidgin::morphemes()] {
        starts.extend(start.into_iter().map(String::from));
        continues.extend(follow.into_iter().map(String::from));
    }
    SPECIALS
        .into_iter()
        .map(String::from)
        .chain(starts)
        .chain(continues.into_iter().map(|piece| format!("##{piece}")))
        .collect()
}

pub(super) fn vocab_txt() -> String {
    vocabulary().join("\n") + "\n"
}

/// The tokenizer in the format of the `tokenizers` library.
pub(super) fn tokenizer_json() -> String {
    let special = |id: usize| {
        json!({
            "id": id, "content": SPECIALS[id], "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true
        })
    };
    let template = |id: usize| json!({ "SpecialToken": { "id": SPECIALS[id], "type_id": 0 } });
    let token = |id: usize| json!({ "id": SPECIALS[id], "ids": [id], "tokens": [SPECIALS[id]] });
    // Written by hand, since serde_json sorts keys by name and this list is in the order of ids.
    let vocab: Vec<String> =
        vocabulary().iter().enumerate().map(|(id, piece)| format!("      {}: {id}", json!(piece))).collect();
    let head = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": (0..SPECIALS.len()).map(special).collect::<Vec<_>>(),
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [template(2), { "Sequence": { "id": "A", "type_id": 0 } }, template(3)],
            "pair": [
                template(2), { "Sequence": { "id": "A", "type_id": 0 } }, template(3),
                { "Sequence": { "id": "B", "type_id": 1 } },
                { "SpecialToken": { "id": SPECIALS[3], "type_id": 1 } }
            ],
            "special_tokens": { SPECIALS[2]: token(2), SPECIALS[3]: token(3) }
        },
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": WORD_LIMIT, "vocab": "VOCAB"
        }
    });
    let vocab = format!("{{\n{}\n    }}", vocab.join(",\n"));
    pretty(&head).replace("\"VOCAB\"", &vocab)
}

pub(super) fn tokenizer_config_json() -> String {
    pretty(&json!({
        "_comment": SYNTHETIC,
        "tokenizer_class": "DistilBertTokenizer",
        "do_lower_case": true,
        "model_max_length": POSITIONS,
        "pad_token": SPECIALS[0],
        "unk_token": SPECIALS[1],
        "cls_token": SPECIALS[2],
        "sep_token": SPECIALS[3],
        "mask_token": SPECIALS[4],
    }))
}

/// The number of position embeddings.
const POSITIONS: usize = 128;

/// A DistilBERT of six blocks, as deep as the original study's and small enough for any machine.
pub(super) fn config_json() -> String {
    pretty(&json!({
        "_comment": SYNTHETIC,
        "model_type": "distilbert",
        "architectures": ["DistilBertForMaskedLM"],
        "activation": "gelu",
        "attention_dropout": 0.1,
        "dim": 64,
        "dropout": 0.1,
        "hidden_dim": 256,
        "initializer_range": 0.02,
        "max_position_embeddings": POSITIONS,
        "n_heads": 4,
        "n_layers": 6,
        "pad_token_id": 0,
        "sinusoidal_pos_embds": false,
        "tie_weights_": true,
        "vocab_size": vocabulary().len(),
    }))
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).expect("plain data always serialises") + "\n"
}
