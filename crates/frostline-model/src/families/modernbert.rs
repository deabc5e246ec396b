//! ModernBERT and mmBERT: rotary positions, norms before the layers, a gated feed-forward part, mostly without biases, and
//! windows in two of three blocks.

use serde::Deserialize;
use serde_json::Value;

use super::read::{activation, default_activation, default_initializer_range, refuse_scaling};
use crate::family::{Family, Name, Table};
use crate::{Architecture, EncoderConfig, Extras, LayerKind, NormPlace, RotaryBases, WordHead};

pub(super) static TABLE: Table = Table {
    name: "modernbert",
    types: &[("modernbert", "ModernBert")],
    keys: &[
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "max_position_embeddings",
        "hidden_activation",
        "norm_eps",
        "norm_bias",
        "attention_bias",
        "mlp_bias",
        "local_attention",
        "layer_types",
        "rope_parameters",
        "global_attn_every_n_layers",
        "global_rope_theta",
        "local_rope_theta",
        "classifier_activation",
        "classifier_bias",
    ],
    prefix: "model",
    outside: &[
        Name::own("embeddings.word", "embeddings.tok_embeddings"),
        Name::own("embeddings.norm", "embeddings.norm"),
        Name::own("final_norm", "final_norm"),
    ],
    blocks: "layers",
    block: &[
        Name::part("query", "attn.Wqkv", 0, 3),
        Name::part("key", "attn.Wqkv", 1, 3),
        Name::part("value", "attn.Wqkv", 2, 3),
        Name::own("attention_output", "attn.Wo"),
        Name::own("attention_norm", "attn_norm"),
        Name::part("intermediate", "mlp.Wi", 0, 2),
        Name::part("gate", "mlp.Wi", 1, 2),
        Name::own("output", "mlp.Wo"),
        Name::own("output_norm", "mlp_norm"),
    ],
    modules: None,
    heads: &[
        Name::own("dense", "head.dense"),
        Name::own("norm", "head.norm"),
        Name::own("classifier", "classifier"),
    ],
    sentences: None,
};

#[derive(Deserialize)]
struct File {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "default_activation")]
    hidden_activation: String,
    #[serde(default = "default_initializer_range")]
    initializer_range: f64,
    #[serde(default = "default_norm_eps")]
    norm_eps: f64,
    #[serde(default)]
    norm_bias: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    attention_dropout: f64,
    #[serde(default)]
    embedding_dropout: f64,
    #[serde(default)]
    mlp_dropout: f64,
    #[serde(default = "default_window")]
    local_attention: usize,
    layer_types: Option<Vec<String>>,
    #[serde(default = "default_period")]
    global_attn_every_n_layers: usize,
    rope_parameters: Option<Value>,
    rope_scaling: Option<Value>,
    #[serde(default = "default_global_base")]
    global_rope_theta: f64,
    /// Older configs have null here if both kinds of blocks have one base.
    #[serde(default = "default_local_base")]
    local_rope_theta: Option<f64>,
    #[serde(default = "default_activation")]
    classifier_activation: String,
    #[serde(default)]
    classifier_bias: bool,
}

fn default_norm_eps() -> f64 {
    1e-5
}
fn default_window() -> usize {
    128
}
fn default_period() -> usize {
    3
}
fn default_global_base() -> f64 {
    160_000.0
}
fn default_local_base() -> Option<f64> {
    Some(10_000.0)
}

impl File {
    /// Returns the kind of each block: as listed, or global in every so many blocks.
    fn layers(&self) -> Result<Vec<LayerKind>, String> {
        let Some(types) = &self.layer_types else {
            let period = self.global_attn_every_n_layers.max(1);
            let kind = |block: usize| match block % period {
                0 => LayerKind::Global,
                _ => LayerKind::Local,
            };
            return Ok((0..self.num_hidden_layers.min(1 << 16)).map(kind).collect());
        };
        if types.len() != self.num_hidden_layers {
            return Err(format!(
                "layer_types lists {} blocks, but num_hidden_layers is {}; expected one type for each block",
                types.len(),
                self.num_hidden_layers
            ));
        }
        let kind = |name: &String| match name.as_str() {
            "full_attention" => Ok(LayerKind::Global),
            "sliding_attention" => Ok(LayerKind::Local),
            other => Err(format!(
                "layer_types has `{other}`; the supported types are `full_attention` and `sliding_attention`"
            )),
        };
        types.iter().map(kind).collect()
    }

    /// Returns the bases of both kinds of blocks, from the new keys or from the old ones.
    fn bases(&self) -> Result<RotaryBases, String> {
        refuse_scaling(self.rope_scaling.as_ref())?;
        let base = |kind: &str, old: f64| {
            let Some(found) = self.rope_parameters.as_ref().and_then(|all| all.get(kind)) else {
                return Ok(old);
            };
            if let Some(other) = found.get("rope_type").filter(|name| **name != "default") {
                return Err(format!(
                    "rope_parameters has the rope_type {other}; only `default` is supported"
                ));
            }
            match found.get("rope_theta") {
                None => Ok(old),
                Some(value) => value
                    .as_f64()
                    .ok_or_else(|| format!("rope_parameters has the rope_theta {value}, expected a number")),
            }
        };
        let local = self.local_rope_theta.unwrap_or(self.global_rope_theta);
        Ok(RotaryBases {
            global: base("full_attention", self.global_rope_theta)?,
            local: base("sliding_attention", local)?,
        })
    }
}

pub(super) fn read(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let file: File =
        serde_json::from_value(file).map_err(|error| format!("not a {model_type} config: {error}"))?;
    let architecture = Architecture {
        learned_positions: false,
        embedding_norm: true,
        norms: NormPlace::Before,
        first_norm: false,
        centred_norms: true,
        norm_bias: file.norm_bias,
        attention_bias: file.attention_bias,
        inner_bias: file.mlp_bias,
        output_bias: file.mlp_bias,
        activation: activation(&file.hidden_activation)?,
        gated: true,
        rotary: Some(file.bases()?),
        relative: None,
        sharing: None,
        window: file.local_attention / 2,
        layers: file.layers()?,
        word_head: WordHead::Transform {
            activation: activation(&file.classifier_activation)?,
            bias: file.classifier_bias,
        },
    };
    Ok(EncoderConfig {
        family: Family(&TABLE),
        vocabulary: file.vocab_size,
        embedding: file.hidden_size,
        hidden: file.hidden_size,
        depth: file.num_hidden_layers,
        heads: file.num_attention_heads,
        key_heads: file.num_attention_heads,
        intermediate: file.intermediate_size,
        positions: file.max_position_embeddings,
        first_position: 0,
        token_types: 0,
        norm_eps: file.norm_eps,
        embedding_dropout: file.embedding_dropout,
        dropout: file.mlp_dropout,
        attention_dropout: file.attention_dropout,
        attention_output_dropout: file.attention_dropout,
        initializer_range: file.initializer_range,
        architecture,
        extras: Extras::default(),
    })
}
