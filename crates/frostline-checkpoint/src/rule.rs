//! Which tensors must not change: a freezing policy, whose groups are found in the names of common encoder families, or patterns.

use std::collections::BTreeSet;

use frostline_freeze::{Group, PeftMethod, Policy, ResolvedPolicy};

use crate::parts::name_examples;
use crate::{CheckpointError, ModelParts};

/// Which tensors must not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FreezeRule {
    /// None is named: the comparison reports what moved.
    #[default]
    Nothing,
    /// A policy such as `first-4+embeddings`.
    Policy(Policy),
    /// Patterns of names. `*` is any text and `?` one character; a pattern without either is a name or the beginning of names up
    /// to a dot.
    Patterns(Vec<String>),
}

/// A rule for the names of a model.
#[derive(Debug)]
pub(crate) enum Applied {
    Nothing,
    Policy { policy: Box<ResolvedPolicy>, model: ModelParts },
    Patterns(Vec<String>),
}

impl FreezeRule {
    /// Applies the rule to the names of a model.
    ///
    /// # Errors
    /// If the names have no blocks, or several stacks of blocks, for a policy; if a pattern matches no name.
    pub(crate) fn apply_to_names(&self, names: &BTreeSet<&str>) -> Result<Applied, CheckpointError> {
        match self {
            Self::Nothing => Ok(Applied::Nothing),
            Self::Policy(policy) => {
                let model = ModelParts::find_parts(names)?;
                let policy = model.resolve_policy(policy)?;
                Ok(Applied::Policy { policy: Box::new(policy), model })
            }
            Self::Patterns(patterns) => {
                if let Some(unused) =
                    patterns.iter().find(|pattern| !names.iter().any(|name| matches_name(pattern, name)))
                {
                    let examples = name_examples(names);
                    let reason = format!("matches none of {} names; they begin with {examples}", names.len());
                    return Err(CheckpointError::new(format!("--frozen {unused:?}"), reason));
                }
                Ok(Applied::Patterns(patterns.clone()))
            }
        }
    }
}

impl Applied {
    /// Returns whether a tensor must not change.
    pub fn is_frozen(&self, name: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Policy { policy, model } => policy.freezes(&model.policy_path(name, false)),
            Self::Patterns(patterns) => patterns.iter().any(|pattern| matches_name(pattern, name)),
        }
    }

    /// Returns whether no adapter may change a tensor either: its whole group is frozen.
    pub fn freezes_group(&self, name: &str) -> bool {
        match self {
            Self::Policy { policy, model } => match model.group_of(name) {
                Group::Head => policy.freezes(&model.policy_path(name, false)),
                group => policy.freezes_group(group),
            },
            _ => false,
        }
    }

    /// Returns whether the part of the model to which a tensor belongs is trained by this method.
    pub fn learns_by(&self, method: PeftMethod, name: &str) -> bool {
        match self {
            Self::Policy { policy, model } => policy.learns_by(method, model.group_of(name)),
            _ => false,
        }
    }

    /// Returns the part of the model to which a tensor belongs: `embeddings`, `block 3`, or the name of a head.
    pub fn group_of_name(&self, name: &str) -> String {
        match self {
            Self::Policy { model, .. } => model.part_of(name),
            _ => name.split('.').next().unwrap_or(name).into(),
        }
    }

    /// Describes the rule in a line.
    pub fn describe_rule(&self) -> String {
        match self {
            Self::Nothing => "none: what moved is listed".into(),
            Self::Policy { policy, model } => {
                let frozen =
                    (0..model.depth()).filter(|block| policy.freezes_group(Group::Block(*block))).count();
                let embeddings =
                    if policy.freezes_group(Group::Embeddings) { " and the embeddings" } else { "" };
                let (depth, stack) = (model.depth(), model.block_stack());
                format!(
                    "{}: {frozen} of {depth} blocks ({stack}.0 to {}){embeddings}",
                    policy.policy(),
                    depth - 1
                )
            }
            Self::Patterns(patterns) => patterns.join(", "),
        }
    }
}

/// Returns whether a pattern matches a name, also without the `model.` of Lightning and distributed checkpoints.
fn matches_name(pattern: &str, name: &str) -> bool {
    matches_pattern(pattern, name)
        || name.strip_prefix("model.").is_some_and(|name| matches_pattern(pattern, name))
}

/// Returns whether a pattern matches a whole name.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        let stem = pattern.trim_end_matches('.');
        return name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The position after the last star, and the place in the name that it was tried at.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((after, at)) => {
                    star = Some((after, at + 1));
                    (p, n) = (after, at + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of a family with two blocks, and what `first-1+embeddings` freezes of them.
    fn frozen_names(policy: &str, names: &[&str]) -> Vec<String> {
        let all: BTreeSet<&str> = names.iter().copied().collect();
        let applied = FreezeRule::Policy(Policy::parse(policy).unwrap()).apply_to_names(&all).unwrap();
        names.iter().filter(|name| applied.is_frozen(name)).map(|name| name.to_string()).collect()
    }

    #[test]
    fn groups_are_found_in_the_names_of_families() {
        // Frozen by `first-1+embeddings`, then trainable.
        let families: [(&[&str], &[&str]); 11] = [
            (
                &["bert.embeddings.word_embeddings.weight", "bert.encoder.layer.0.output.dense.weight"],
                &["bert.encoder.layer.1.output.dense.weight", "bert.pooler.dense.bias", "classifier.weight"],
            ),
            (
                &["embeddings.LayerNorm.weight", "encoder.layer.0.output.dense.weight"],
                &["encoder.layer.1.output.dense.weight", "pooler.dense.weight"],
            ),
            (
                &["distilbert.embeddings.LayerNorm.bias", "distilbert.transformer.layer.0.ffn.lin1.weight"],
                &[
                    "distilbert.transformer.layer.1.ffn.lin1.weight",
                    "vocab_layer_norm.weight",
                    "vocab_transform.bias",
                ],
            ),
            (
                &[
                    "model.embeddings.tok_embeddings.weight",
                    "model.embeddings.norm.weight",
                    "model.layers.0.mlp.Wi.weight",
                ],
                &[
                    "model.layers.1.mlp.Wi.weight",
                    "model.final_norm.weight",
                    "head.norm.weight",
                    "classifier.bias",
                ],
            ),
            (
                &[
                    "deberta.encoder.rel_embeddings.weight",
                    "deberta.encoder.LayerNorm.weight",
                    "deberta.encoder.layer.0.output.dense.bias",
                ],
                &["deberta.encoder.layer.1.output.dense.bias", "classifier.weight"],
            ),
            (
                &["electra.embeddings_project.weight", "electra.encoder.layer.0.output.dense.bias"],
                &["electra.encoder.layer.1.output.dense.bias", "classifier.weight"],
            ),
            (
                &[
                    "roberta.embeddings.position_embeddings.weight",
                    "roberta.encoder.layer.0.attention.self_attn_layer_norm.weight",
                ],
                &[
                    "roberta.encoder.layer.1.attention.self_attn_layer_norm.weight",
                    "roberta.encoder.LayerNorm.weight",
                    "lm_head.bias",
                ],
            ),
            (
                &["emb_ln.weight", "embeddings.word_embeddings.weight", "encoder.layers.0.attn.Wqkv.weight"],
                &["encoder.layers.1.attn.Wqkv.weight"],
            ),
            (
                &["transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.ln_1.weight"],
                &["transformer.h.1.ln_1.weight", "transformer.ln_f.weight", "score.weight"],
            ),
            (
                &["shared.weight", "encoder.block.0.layer.0.SelfAttention.q.weight"],
                &["encoder.block.1.layer.0.SelfAttention.q.weight", "encoder.final_layer_norm.weight"],
            ),
            (
                &[
                    "albert.encoder.embedding_hidden_mapping_in.weight",
                    "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.bias",
                ],
                &["albert.encoder.albert_layer_groups.1.albert_layers.0.ffn.bias", "classifier.weight"],
            ),
        ];
        for (expected, rest) in families {
            let names: Vec<&str> = expected.iter().chain(rest).copied().collect();
            assert_eq!(frozen_names("first-1+embeddings", &names), expected);
            // The last norm belongs to the last block, and a head learns.
            let heads = ["classifier", "pooler", "bert.pooler", "vocab", "head", "lm_head", "score"];
            let encoder = names.iter().filter(|name| !heads.iter().any(|head| name.starts_with(head)));
            assert_eq!(frozen_names("head-only", &names), encoder.copied().collect::<Vec<_>>());
        }
    }

    #[test]
    fn methods_select_by_the_kind_of_parameter() {
        let names = [
            "bert.encoder.layer.0.a.dense.weight",
            "bert.encoder.layer.0.a.dense.bias",
            "bert.encoder.layer.0.a.LayerNorm.weight",
        ];
        assert_eq!(frozen_names("none+bitfit", &names), [names[0], names[2]]);
        assert_eq!(frozen_names("none+norms", &names), names[..2]);
    }

    #[test]
    fn faults_name_what_is_there() {
        let error = |rule: FreezeRule, names: &[&str]| {
            rule.apply_to_names(&names.iter().copied().collect()).unwrap_err().to_string()
        };
        let policy = || FreezeRule::Policy(Policy::parse("first-4").unwrap());
        let seq2seq =
            ["encoder.layers.0.w", "encoder.layers.1.w", "decoder.layers.0.w", "decoder.layers.1.w"];
        assert!(
            error(policy(), &seq2seq)
                .contains("several stacks of blocks: decoder.layers (2), encoder.layers (2)")
        );
        assert!(
            error(policy(), &["fc1.weight", "fc2.weight"])
                .contains("names begin with fc1.weight, fc2.weight")
        );
        let albert = error(policy(), &["albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.bias"]);
        assert!(albert.contains("all blocks of ALBERT share one group of weights"), "{albert}");
        let pattern =
            error(FreezeRule::Patterns(vec!["bert.*".into()]), &["distilbert.a.b.c", "classifier.bias"]);
        assert_eq!(
            pattern,
            "--frozen \"bert.*\": matches none of 2 names; they begin with classifier.bias, distilbert.a.b"
        );
    }

    #[test]
    fn parts_are_those_of_the_model_itself() {
        let names = BTreeSet::from([
            "model.bert.embeddings.word_embeddings.weight",
            "model.bert.encoder.layer.0.w.weight",
            "model.bert.encoder.layer.1.w.weight",
            "model.bert.encoder.relative_attention_bias.weight",
            "model.classifier.weight",
            "model.cls.predictions.embedding_bias.weight",
        ]);
        let model = ModelParts::find_parts(&names).unwrap();
        assert_eq!(model.head_names(), ["classifier", "cls"]);
        let parts: Vec<String> = names.iter().map(|name| model.part_of(name)).collect();
        assert_eq!(parts, ["embeddings", "block 0", "block 1", "embeddings", "classifier", "cls"]);
        for policy in ["global", "local+embeddings"] {
            let error = model.resolve_policy(&Policy::parse(policy).unwrap()).unwrap_err().to_string();
            assert!(error.contains("list the blocks, as in `blocks-0.3.6`"), "{error}");
        }
        let norms = BTreeSet::from(["layers.0.mlp.weight", "layers.1.mlp.weight", "norm.weight"]);
        let model = ModelParts::find_parts(&norms).unwrap();
        assert_eq!(model.part_of("norm.weight"), "final norm");
        let last = model.resolve_policy(&Policy::parse("last-1").unwrap()).unwrap();
        assert!(last.freezes(&model.policy_path("norm.weight", false)));
    }

    #[test]
    fn patterns_are_globs_or_beginnings() {
        for (pattern, name, expected) in [
            ("a.layer.1", "a.layer.1.w", true),
            ("a.layer.1", "a.layer.10.w", false),
            ("a.layer.1.", "a.layer.1.w", true),
            ("*.layer.?.*", "a.layer.1.w", true),
            ("*.layer.?.*", "a.layer.10.w", false),
            ("*bias", "a.b.bias", true),
            ("*bias", "a.bias.w", false),
            ("*", "anything", true),
            ("a*b*c", "a.b.b.c", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
