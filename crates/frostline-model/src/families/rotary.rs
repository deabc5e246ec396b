//! Encoders like BERT with rotary positions and gated feed-forward parts: NomicBERT and GTE.

use frostline_kernels::Activation;
use serde::Deserialize;
use serde_json::Value;

use super::read::{activation, default_initializer_range, default_norm_eps};
use crate::family::{Family, Modules, Name, Table};
use crate::{Architecture, EncoderConfig, Extras, RotaryBases};

pub(super) static NOMIC: Table = Table {
    name: "nomic_bert",
    types: &[("nomic_bert", "NomicBert")],
    keys: KEYS,
    prefix: "nomic_bert",
    outside: &[
        Name::own("embeddings.word", "embeddings.word_embeddings"),
        Name::own("embeddings.token_type", "embeddings.token_type_embeddings"),
        Name::own("embeddings.norm", "emb_ln"),
    ],
    blocks: "encoder.layers",
    block: &[
        Name::part("query", "attn.Wqkv", 0, 3),
        Name::part("key", "attn.Wqkv", 1, 3),
        Name::part("value", "attn.Wqkv", 2, 3),
        Name::own("attention_output", "attn.out_proj"),
        Name::own("attention_norm", "norm1"),
        Name::own("intermediate", "mlp.fc12"),
        Name::own("gate", "mlp.fc11"),
        Name::own("output", "mlp.fc2"),
        Name::own("output_norm", "norm2"),
    ],
    modules: Some(MODULES),
    heads: &[Name::own("classifier", "classifier")],
    sentences: None,
};

pub(super) static GTE: Table = Table {
    name: "gte",
    types: &[("gte", "Gte")],
    keys: KEYS,
    prefix: "gte",
    outside: &[
        Name::own("embeddings.word", "embeddings.word_embeddings"),
        Name::own("embeddings.token_type", "embeddings.token_type_embeddings"),
        Name::own("embeddings.norm", "embeddings.LayerNorm"),
    ],
    blocks: "encoder.layer",
    block: &[
        Name::part("query", "attention.qkv_proj", 0, 3),
        Name::part("key", "attention.qkv_proj", 1, 3),
        Name::part("value", "attention.qkv_proj", 2, 3),
        Name::own("attention_output", "attention.o_proj"),
        Name::own("attention_norm", "attn_ln"),
        Name::part("gate", "mlp.up_gate_proj", 0, 2),
        Name::part("intermediate", "mlp.up_gate_proj", 1, 2),
        Name::own("output", "mlp.down_proj"),
        Name::own("output_norm", "mlp_ln"),
    ],
    modules: Some(MODULES),
    heads: &[Name::own("classifier", "classifier")],
    sentences: None,
};

/// Fused layers are apart in memory, and both families have the same names there.
const MODULES: Modules = Modules {
    blocks: "layers",
    block: &[
        Name::own("query", "self_attn.q_proj"),
        Name::own("key", "self_attn.k_proj"),
        Name::own("value", "self_attn.v_proj"),
        Name::own("attention_output", "self_attn.o_proj"),
        Name::own("intermediate", "mlp.gate_proj"),
        Name::own("gate", "mlp.up_proj"),
        Name::own("output", "mlp.down_proj"),
    ],
};

const KEYS: &[&str] = &[
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "hidden_act",
    "rope_parameters",
];

#[derive(Deserialize)]
struct File {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    #[serde(default = "default_norm_eps")]
    layer_norm_eps: f64,
    #[serde(default)]
    hidden_dropout_prob: f64,
    #[serde(default)]
    attention_probs_dropout_prob: f64,
    #[serde(default = "default_initializer_range")]
    initializer_range: f64,
    hidden_act: String,
    rope_parameters: Option<Rope>,
    head_dim: Option<usize>,
}

#[derive(Deserialize)]
struct Rope {
    rope_theta: Option<f64>,
    rope_type: Option<String>,
}

impl File {
    /// Returns the encoder of this family, whose rotary base is this one unless the file has another.
    fn encoder(self, family: Family, base: f64) -> Result<EncoderConfig, String> {
        if let Some(head) =
            self.head_dim.filter(|head| head.checked_mul(self.num_attention_heads) != Some(self.hidden_size))
        {
            return Err(format!(
                "head_dim is {head}; only heads that share the hidden size {} equally are supported",
                self.hidden_size
            ));
        }
        let rope = self.rope_parameters.unwrap_or(Rope { rope_theta: None, rope_type: None });
        if let Some(other) = rope.rope_type.filter(|name| name != "default") {
            return Err(format!("rope_parameters has the rope_type `{other}`; only `default` is supported"));
        }
        let base = rope.rope_theta.unwrap_or(base);
        Ok(EncoderConfig {
            family,
            vocabulary: self.vocab_size,
            embedding: self.hidden_size,
            hidden: self.hidden_size,
            depth: self.num_hidden_layers,
            heads: self.num_attention_heads,
            key_heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            positions: self.max_position_embeddings,
            first_position: 0,
            token_types: self.type_vocab_size,
            norm_eps: self.layer_norm_eps,
            embedding_dropout: self.hidden_dropout_prob,
            dropout: self.hidden_dropout_prob,
            attention_dropout: self.attention_probs_dropout_prob,
            attention_output_dropout: self.hidden_dropout_prob,
            initializer_range: self.initializer_range,
            architecture: Architecture {
                learned_positions: false,
                gated: true,
                rotary: Some(RotaryBases { global: base, local: base }),
                ..Architecture::bert(Activation::Gelu)
            },
            extras: Extras::default(),
        })
    }
}

fn parse(file: Value, model_type: &str) -> Result<(File, Activation), String> {
    let file: File =
        serde_json::from_value(file).map_err(|error| format!("not a {model_type} config: {error}"))?;
    let activation = activation(&file.hidden_act)?;
    Ok((file, activation))
}

/// NomicBERT: no linear layer of a block has a bias.
pub(super) fn read_nomic(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let (file, activation) = parse(file, model_type)?;
    let encoder = file.encoder(Family(&NOMIC), 1000.0)?;
    let architecture = Architecture {
        activation,
        attention_bias: false,
        inner_bias: false,
        output_bias: false,
        ..encoder.architecture
    };
    Ok(EncoderConfig { architecture, ..encoder })
}

/// GTE: the first layers of the feed-forward part have no bias.
pub(super) fn read_gte(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let (file, activation) = parse(file, model_type)?;
    let encoder = file.encoder(Family(&GTE), 160_000.0)?;
    let architecture = Architecture { activation, inner_bias: false, ..encoder.architecture };
    Ok(EncoderConfig { architecture, ..encoder })
}
