//! What the readers of several families share.

use frostline_kernels::Activation;
use serde_json::Value;

/// Returns the activation of this name.
///
/// # Errors
/// If it is not supported; the message lists the names that are.
pub fn activation(name: &str) -> Result<Activation, String> {
    Ok(match name {
        "gelu" | "gelu_python" => Activation::Gelu,
        "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Activation::GeluTanh,
        "relu" => Activation::Relu,
        "silu" | "swish" => Activation::Silu,
        other => {
            return Err(format!(
                "the activation is `{other}`; the supported ones are `gelu`, `gelu_new`, `gelu_fast`, `gelu_pytorch_tanh`, \
                 `relu`, `silu` and `swish`"
            ));
        }
    })
}

/// Checks that rotary positions are not scaled.
///
/// # Errors
/// If `rope_scaling` has a value.
pub fn refuse_scaling(scaling: Option<&Value>) -> Result<(), String> {
    match scaling.filter(|scaling| !scaling.is_null()) {
        None => Ok(()),
        Some(scaling) => Err(format!("rope_scaling is {scaling}; only null is supported")),
    }
}

pub fn default_dropout_rate() -> f64 {
    0.1
}
pub fn default_initializer_range() -> f64 {
    0.02
}
pub fn default_norm_eps() -> f64 {
    1e-12
}
pub fn default_activation() -> String {
    "gelu".into()
}
pub fn default_position_type() -> String {
    "absolute".into()
}
