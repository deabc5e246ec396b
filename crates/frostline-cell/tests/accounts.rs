//! Compares parameter accounts with published and independently counted figures, and tests the cost model on
//! them.

use frostline_cell::cost::{predict, shape};
use frostline_cell::outcome::accounts;
use frostline_freeze::{Cost, PrefixMode, ResolvedPolicy, Workload};
use frostline_model::{AdapterShape, EncoderConfig, Extras, HeadKind, HeadShape, LoraShape, Matrix};

/// distilbert-base-multilingual-cased.
const MULTILINGUAL: &str = r#"{"model_type": "distilbert", "vocab_size": 119547, "dim": 768, "n_layers": 6,
    "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512}"#;

/// all-MiniLM-L6-v2.
const MINILM: &str = r#"{"model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6,
    "num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": 512, "type_vocab_size": 2}"#;

/// bert-base-uncased.
const TWELVE: &str = r#"{"model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}"#;

/// roberta-base and xlm-roberta-base, but for their vocabularies.
fn roberta(model_type: &str, vocabulary: usize) -> String {
    format!(
        r#"{{"model_type": "{model_type}", "vocab_size": {vocabulary}, "hidden_size": 768,
        "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1}}"#
    )
}

fn count(config: &str, labels: usize, policy: &str) -> (u64, u64) {
    let config = EncoderConfig::parse(config, "test").unwrap();
    let found = accounts(
        &config,
        &[HeadShape::linear(labels)],
        &ResolvedPolicy::parse(policy, config.depth).unwrap(),
    );
    (found.total, found.trainable)
}

#[test]
fn the_study_accounts_are_met() {
    let published = [
        ("none", 134_741_770),
        ("all", 92_214_538),
        ("first-2", 120_566_026),
        ("first-4", 106_390_282),
        ("alternating", 113_478_154),
    ];
    for (policy, trainable) in published {
        assert_eq!(count(MULTILINGUAL, 10, policy), (134_741_770, trainable), "{policy}");
    }
    assert_eq!(count(MULTILINGUAL, 17, "none").0, 134_747_153);
    assert_eq!(count(MINILM, 17, "none").0, 22_571_921);
    // The peer's counts: EWT with 17 tags, NSC with 16.
    assert_eq!(count(MINILM, 17, "first-4").1, 15_474_065);
    assert_eq!(count(MINILM, 16, "alternating").1, 17_248_144);
}

/// SST-2 with distilbert-base-uncased: the head alone, then everything.
#[test]
fn the_sentiment_studys_accounts_are_met() {
    let text = MULTILINGUAL.replace("119547", "30522");
    let config = EncoderConfig::parse(&text, "test").unwrap();
    let heads = [HeadShape { kind: HeadKind::DistilBert, ..HeadShape::linear(2) }];
    let count = |policy| accounts(&config, &heads, &ResolvedPolicy::parse(policy, config.depth).unwrap());
    let (head, full) = (count("head-only"), count("none"));
    assert_eq!((head.trainable, head.total - head.trainable), (592_130, 66_362_880));
    assert_eq!((full.trainable, full.total - full.trainable), (66_955_010, 0));
}

#[test]
fn deeper_encoders_count_too() {
    let block = 7_087_872;
    assert_eq!(count(TWELVE, 17, "none"), (108_904_721, 108_904_721));
    assert_eq!(count(TWELVE, 17, "first-10").1, 108_904_721 - 10 * block);
    assert_eq!(count(TWELVE, 17, "alternating").1, 108_904_721 - 6 * block);
    assert_eq!(count(TWELVE, 17, "head-only").1, 768 * 17 + 17);
    // RoBERTa's blocks are BERT's; its tables have 2 more positions and 1 token type less.
    let tables = 514 * 768 + 768 + 2 * 768;
    let head = 17 * 769;
    for (family, vocabulary, total) in
        [("roberta", 50_265, 124_055_040), ("xlm-roberta", 250_002, 277_453_056)]
    {
        let config = roberta(family, vocabulary);
        assert_eq!(total, vocabulary as u64 * 768 + tables + 12 * block);
        assert_eq!(count(&config, 17, "none"), (total + head, total + head), "{family}");
        assert_eq!(count(&config, 17, "first-11+embeddings").1, block + head, "{family}");
    }
    let config = EncoderConfig::parse(TWELVE, "test").unwrap();
    assert!(ResolvedPolicy::parse("first-13", config.depth).is_err());
}

#[test]
fn the_optimiser_sees_what_the_accounts_call_trainable() {
    // With every row of the word table carried.
    for config in [MULTILINGUAL, MINILM, TWELVE] {
        let encoder = EncoderConfig::parse(config, "test").unwrap();
        let shape = shape(&encoder, 17, usize::MAX);
        let deep = format!("first-{}", encoder.depth - 1);
        for policy in ["none", "all", &deep, "last-2+embeddings", "alternating", "head-only"] {
            let (_, trainable) = count(config, 17, policy);
            let policy = ResolvedPolicy::parse(policy, encoder.depth).unwrap();
            let cost = Cost::of(&shape, &Workload::typical(16.0, 21.0), &policy);
            assert_eq!(cost.total().learned, trainable as f64, "{policy}");
        }
    }
}

#[test]
fn a_step_of_the_study_is_the_work_counted_by_hand() {
    let encoder = EncoderConfig::parse(MULTILINGUAL, "test").unwrap();
    let shape = shape(&encoder, 17, 12_000);
    let workload = Workload { subwords: 336.0, context: 32.0, labels: 252.0 };
    let predicted = |policy: &str| {
        predict(&shape, &workload, &ResolvedPolicy::parse(policy, 6).unwrap(), PrefixMode::Computed)
    };
    // Five blocks of 7,077,888 weights for every subword; of the last, queries, keys and values for every
    // subword and the other 5,308,416 for labelled subwords; each three times. Attention's six products; the
    // head.
    let linear = 5.0 * 336.0 * 7_077_888.0 + 336.0 * 1_769_472.0 + 252.0 * 5_308_416.0;
    let products = 3.0 * linear + 36.0 * 336.0 * 32.0 * 768.0 + 3.0 * 252.0 * 768.0 * 17.0;
    let none = predicted("none");
    assert!((none.gflop_per_step - 2e-9 * products).abs() < 1e-9, "{none:?}");
    assert_eq!((none.predicted_speedup, none.word_rows), (1.0, 12_000));
    // Frozen blocks above trainable embeddings save a third of the products, constant blocks more.
    let saved = 1.0 - predicted("all").gflop_per_step / none.gflop_per_step;
    assert!((0.32..0.34).contains(&saved), "{saved}");
    let saved = 1.0 - predicted("head-only").gflop_per_step / none.gflop_per_step;
    assert!((0.66..0.67).contains(&saved), "{saved}");
}

/// A step keeps them for the gradients: one for queries, keys and values, and one for each layer after attention.
#[test]
fn what_is_added_to_a_block_reads_the_inputs_of_its_layers() {
    let encoder = EncoderConfig::parse(MULTILINGUAL, "test").unwrap();
    let lora = |matrices: &[Matrix]| {
        let shape = LoraShape {
            rank: 8,
            alpha: 8.0,
            matrices: matrices.to_vec(),
            blocks: vec![0],
            normed_blocks: vec![],
        };
        Extras { lora: Some(shape), ..Extras::default() }.inputs_per_row(&encoder)
    };
    assert_eq!(lora(&[Matrix::Query, Matrix::Value]), [768, 0]);
    assert_eq!(lora(&Matrix::ALL), [768, 768 + 768 + 3072]);
    let adapters = Some(AdapterShape { size: 64, blocks: vec![0] });
    assert_eq!(Extras { adapters, ..Extras::default() }.inputs_per_row(&encoder), [0, 768]);
}

#[test]
fn a_backend_that_is_not_built_in_is_said() {
    let error = frostline_kernels::backend::check("tpu").unwrap_err().to_string();
    assert!(error.starts_with("this build has no backend `tpu`; it has: "), "{error}");
}
