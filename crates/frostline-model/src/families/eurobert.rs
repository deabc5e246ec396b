//! EuroBERT: rotary positions, RMSNorms before the layers, a gated feed-forward part, keys and values that queries may share,
//! and no biases.

use serde::Deserialize;
use serde_json::Value;

use super::read::{activation, default_initializer_range, refuse_scaling};
use crate::family::{Family, Name, Table};
use crate::{Architecture, EncoderConfig, Extras, NormPlace, RotaryBases};

pub(super) static TABLE: Table = Table {
    name: "eurobert",
    types: &[("eurobert", "EuroBert")],
    keys: &[
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "max_position_embeddings",
        "hidden_act",
        "rms_norm_eps",
        "head_dim",
        "rope_parameters",
        "rope_theta",
        "attention_bias",
        "mlp_bias",
    ],
    prefix: "model",
    outside: &[Name::own("embeddings.word", "embed_tokens"), Name::own("final_norm", "norm")],
    blocks: "layers",
    block: &[
        Name::own("query", "self_attn.q_proj"),
        Name::own("key", "self_attn.k_proj"),
        Name::own("value", "self_attn.v_proj"),
        Name::own("attention_output", "self_attn.o_proj"),
        Name::own("attention_norm", "input_layernorm"),
        Name::own("intermediate", "mlp.gate_proj"),
        Name::own("gate", "mlp.up_proj"),
        Name::own("output", "mlp.down_proj"),
        Name::own("output_norm", "post_attention_layernorm"),
    ],
    modules: None,
    heads: &[Name::own("classifier", "classifier")],
    sentences: None,
};

#[derive(Deserialize)]
struct File {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "default_activation")]
    hidden_act: String,
    #[serde(default = "default_initializer_range")]
    initializer_range: f64,
    #[serde(default = "default_norm_eps")]
    rms_norm_eps: f64,
    head_dim: Option<usize>,
    rope_parameters: Option<Rope>,
    rope_scaling: Option<Value>,
    rope_theta: Option<f64>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    attention_dropout: f64,
}

/// The rotations of newer configs.
#[derive(Deserialize)]
struct Rope {
    rope_type: Option<String>,
    rope_theta: Option<f64>,
}

fn default_activation() -> String {
    "silu".into()
}
fn default_norm_eps() -> f64 {
    1e-5
}

impl File {
    /// Returns the base of the rotations, from the new key or from the old one.
    fn base(&self) -> Result<f64, String> {
        refuse_scaling(self.rope_scaling.as_ref())?;
        let new = self.rope_parameters.as_ref();
        if let Some(other) = new.and_then(|rope| rope.rope_type.as_deref()).filter(|name| *name != "default")
        {
            return Err(format!("rope_parameters has the rope_type `{other}`; only `default` is supported"));
        }
        Ok(new.and_then(|rope| rope.rope_theta).or(self.rope_theta).unwrap_or(10_000.0))
    }
}

pub(super) fn read(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let file: File =
        serde_json::from_value(file).map_err(|error| format!("not a {model_type} config: {error}"))?;
    let channels = file.hidden_size / file.num_attention_heads.max(1);
    if let Some(found) = file.head_dim.filter(|found| *found != channels) {
        return Err(format!(
            "head_dim is {found}; only hidden_size / num_attention_heads, {channels}, is supported"
        ));
    }
    let base = file.base()?;
    let architecture = Architecture {
        learned_positions: false,
        embedding_norm: false,
        norms: NormPlace::Before,
        centred_norms: false,
        norm_bias: false,
        attention_bias: file.attention_bias,
        inner_bias: file.mlp_bias,
        output_bias: file.mlp_bias,
        gated: true,
        rotary: Some(RotaryBases { global: base, local: base }),
        ..Architecture::bert(activation(&file.hidden_act)?)
    };
    Ok(EncoderConfig {
        family: Family(&TABLE),
        vocabulary: file.vocab_size,
        embedding: file.hidden_size,
        hidden: file.hidden_size,
        depth: file.num_hidden_layers,
        heads: file.num_attention_heads,
        key_heads: file.num_key_value_heads.unwrap_or(file.num_attention_heads),
        intermediate: file.intermediate_size,
        positions: file.max_position_embeddings,
        first_position: 0,
        token_types: 0,
        norm_eps: file.rms_norm_eps,
        embedding_dropout: 0.0,
        dropout: 0.0,
        attention_dropout: file.attention_dropout,
        attention_output_dropout: 0.0,
        initializer_range: file.initializer_range,
        architecture,
        extras: Extras::default(),
    })
}
