//! Differences between the families' configs, and errors for unsupported ones.

use frostline_model::{EncoderConfig, HeadKind, ModelError, hugging_face_config};
use serde_json::{Value, json};

fn roberta(more: &str) -> Result<EncoderConfig, ModelError> {
    let text = format!(
        r#"{{"vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1,
        "layer_norm_eps": 1e-05, {more}}}"#
    );
    EncoderConfig::parse(&text, "config.json")
}

#[test]
fn roberta_positions_start_after_the_padding_token() {
    for (more, first) in [
        (r#""model_type": "roberta", "pad_token_id": 1"#, 2),
        (r#""model_type": "xlm-roberta", "pad_token_id": 1"#, 2),
        (r#""model_type": "camembert", "pad_token_id": 1"#, 2),
        (r#""model_type": "roberta""#, 2),
        (r#""model_type": "roberta", "pad_token_id": 0"#, 1),
        (r#""model_type": "bert", "pad_token_id": 1"#, 0),
    ] {
        let config = roberta(more).unwrap();
        assert_eq!((config.first_position, config.positions), (first, 514), "{more}");
        assert_eq!(config.longest_input(), 514 - first, "{more}");
        assert_eq!((config.norm_eps, config.token_types), (1e-5, 1), "{more}");
    }
}

#[test]
fn dropout_after_attention_outputs_is_off_only_in_distilbert() {
    let distilbert = r#"{"model_type": "distilbert", "vocab_size": 50, "dim": 16, "n_layers": 2,
        "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 20}"#;
    let distilbert = EncoderConfig::parse(distilbert, "config.json").unwrap();
    assert_eq!(distilbert.attention_output_dropout, 0.0);
    for family in ["bert", "roberta", "xlm-roberta"] {
        let more = format!(r#""model_type": "{family}", "hidden_dropout_prob": 0.25"#);
        assert_eq!(roberta(&more).unwrap().attention_output_dropout, 0.25, "{family}");
    }
}

#[test]
fn unsupported_configs_are_errors_with_the_reason() {
    for (more, reason) in [
        (r#""model_type": "roberta", "pad_token_id": 513"#, "takes the first 514 of them"),
        (r#""model_type": "roberta", "hidden_act": "quick_gelu""#, "the supported ones are `gelu`"),
        (
            r#""model_type": "xlm-roberta", "position_embedding_type": "relative_key""#,
            "only `absolute` is supported",
        ),
        (r#""model_type": "roberta", "is_decoder": true"#, "only encoders are supported"),
        (r#""model_type": "roberta", "intermediate_size": 0"#, "the intermediate width is 0"),
        (r#""model_type": "roberta", "num_hidden_layers": 0"#, "the number of blocks is 0"),
        (r#""model_type": "roberta", "vocab_size": 0"#, "the vocabulary is 0"),
        (r#""model_type": "roberta", "hidden_dropout_prob": 1.5"#, "the dropout is 1.5, expected a rate"),
        (r#""model_type": "roberta", "attention_probs_dropout_prob": -0.1"#, "the attention dropout is -0.1"),
        (r#""model_type": "mpnet""#, "the nearest is `bert`: compared with it, this config lacks"),
        (
            r#""model_type": "deberta-v2", "relative_attention": true, "pos_att_type": "p2c|c2p", "share_att_key": true,
            "position_buckets": 2"#,
            "expected 4 buckets or more",
        ),
        (r#""model_type": "electra", "embedding_size": 0"#, "the width of the embeddings is 0"),
    ] {
        let message = roberta(more).unwrap_err().to_string();
        assert!(message.starts_with("config.json: ") && message.contains(reason), "{message}");
    }
}

#[test]
fn the_architecture_follows_from_the_model_type() {
    for (model_type, architecture) in [
        ("distilbert", "DistilBertForTokenClassification"),
        ("bert", "BertForTokenClassification"),
        ("roberta", "RobertaForTokenClassification"),
        ("xlm-roberta", "XLMRobertaForTokenClassification"),
        ("camembert", "CamembertForTokenClassification"),
        ("electra", "ElectraForTokenClassification"),
        ("modernbert", "ModernBertForTokenClassification"),
    ] {
        let encoder = format!(r#"{{"model_type": "{model_type}", "pad_token_id": 1}}"#);
        let config: Value =
            serde_json::from_str(&hugging_face_config(&encoder, &["X".into()], HeadKind::Linear).unwrap())
                .unwrap();
        assert_eq!(config["architectures"], json!([architecture]));
        assert_eq!((&config["pad_token_id"], &config["id2label"]), (&json!(1), &json!({"0": "X"})));
    }
}

#[test]
fn a_config_has_the_exported_dtype_and_no_head_of_another_family() {
    let exported = |model_type: &str, head| {
        let encoder =
            format!(r#"{{"model_type": "{model_type}", "torch_dtype": "float16", "dtype": "float16"}}"#);
        hugging_face_config(&encoder, &["X".into()], head)
    };
    let config: Value = serde_json::from_str(&exported("distilbert", HeadKind::DistilBert).unwrap()).unwrap();
    assert_eq!((&config["dtype"], config.get("torch_dtype")), (&json!("float32"), None));
    for (model_type, head) in [
        ("distilbert", HeadKind::Pooler),
        ("bert", HeadKind::DistilBert),
        ("electra", HeadKind::Pooler),
        ("xlm-roberta", HeadKind::DistilBert),
    ] {
        let message = exported(model_type, head).unwrap_err().to_string();
        assert!(message.contains("transformers has no"), "{message}");
    }
}
