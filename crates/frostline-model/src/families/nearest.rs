//! The error for an unknown `model_type`: the nearest known one, and what differs.

use serde_json::{Map, Value};

use super::FAMILIES;
use crate::family::Table;

/// Most keys that an error lists.
const MOST_KEYS: usize = 6;

/// Keys of `config.json` that do not determine an encoder.
const DESCRIPTIVE: [&str; 26] = [
    "_name_or_path",
    "architectures",
    "auto_map",
    "attention_dropout",
    "bos_token_id",
    "classifier_dropout",
    "cls_token_id",
    "dropout",
    "dtype",
    "eos_token_id",
    "finetuning_task",
    "gradient_checkpointing",
    "id2label",
    "initializer_range",
    "label2id",
    "language",
    "mask_token_id",
    "model_type",
    "name",
    "output_past",
    "pad_token_id",
    "sep_token_id",
    "tie_word_embeddings",
    "torch_dtype",
    "transformers_version",
    "use_cache",
];

/// Returns the reason why a config of this `model_type` cannot be used.
pub(super) fn unknown_type(model_type: &str, config: &Value) -> String {
    let types: Vec<String> =
        FAMILIES.iter().flat_map(|table| table.types).map(|(name, _)| format!("`{name}`")).collect();
    let (last, others) = types.split_last().expect("there are families");
    let supported =
        format!("model_type is `{model_type}`; the supported families are {} and {last}", others.join(", "));
    let Some(found) = config.as_object() else { return supported };
    let Some((nearest, common)) =
        FAMILIES.iter().rev().map(|table| (table, score(table, found))).max_by_key(|(_, score)| *score)
    else {
        return supported;
    };
    if common <= 0 {
        return supported;
    }
    let is_other = |key: &&str| !nearest.keys.contains(key) && !DESCRIPTIVE.contains(key);
    let mut other: Vec<&str> = found.keys().map(String::as_str).filter(is_other).collect();
    other.sort_unstable();
    let lacks: Vec<&str> = nearest.keys.iter().copied().filter(|key| !found.contains_key(*key)).collect();
    let differences =
        [(other, "also has"), (lacks, "lacks")].into_iter().filter(|(keys, _)| !keys.is_empty());
    let differences: Vec<String> =
        differences.map(|(keys, what)| format!("{what} {}", list_keys(&keys))).collect();
    let differences = match differences.is_empty() {
        true => "has the same keys; if the model is the same, change model_type".to_string(),
        false => differences.join(" and "),
    };
    format!(
        "{supported}; the nearest is `{}`: compared with it, this config {differences}",
        nearest.types[0].0
    )
}

/// Returns the number of a family's keys that a config has, minus those that it lacks.
fn score(table: &Table, config: &Map<String, Value>) -> isize {
    let common = table.keys.iter().filter(|key| config.contains_key(**key)).count();
    2 * common as isize - table.keys.len() as isize
}

fn list_keys(keys: &[&str]) -> String {
    let shown: Vec<String> = keys.iter().take(MOST_KEYS).map(|key| format!("`{key}`")).collect();
    let more = keys.len().saturating_sub(MOST_KEYS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_type_is_compared_with_the_nearest_one() {
        let mpnet = json!({
            "model_type": "mpnet", "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 2,
            "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 32, "type_vocab_size": 0,
            "layer_norm_eps": 1e-5, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
            "hidden_act": "gelu", "relative_attention_num_buckets": 32
        });
        assert_eq!(
            unknown_type("mpnet", &mpnet),
            "model_type is `mpnet`; the supported families are `distilbert`, `bert`, `roberta`, `xlm-roberta`, \
             `camembert`, `xlm-roberta-xl`, `electra`, `deberta-v2`, `modernbert`, `eurobert`, `nomic_bert`, `gte` and `albert`; the \
             nearest is `bert`: compared with it, this config also has `relative_attention_num_buckets` and lacks `position_embedding_type`"
        );
        assert!(unknown_type("t5", &json!({"d_model": 8})).ends_with("and `albert`"));
    }
}
