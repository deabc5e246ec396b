//! Which tensors must not change: a freezing policy, whose groups are found in the names of common encoder families, or patterns.

use std::collections::{BTreeMap, BTreeSet};

use frostline_freeze::{Group, PeftMethod, Policy, PolicyError, ResolvedPolicy};

use crate::CheckpointError;

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
    Policy { policy: Box<ResolvedPolicy>, model: ModelNames },
    Patterns(Vec<String>),
}

/// A policy that a model cannot have.
fn policy_fault(error: &PolicyError) -> CheckpointError {
    CheckpointError::new("--policy", error.to_string())
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
                let model = ModelNames::find_blocks(names)?;
                let heads: Vec<&str> = model.heads.iter().map(String::as_str).collect();
                let heads = if heads.is_empty() { vec!["head"] } else { heads };
                let policy = policy.resolve(model.depth, &heads).map_err(|error| {
                    let error = policy_fault(&error);
                    let (stack, depth) = (&model.stack, model.depth);
                    let hint = match stack.ends_with("albert_layer_groups") {
                        true => "; all blocks of ALBERT share the weights of their group, so only groups can be frozen",
                        false => "",
                    };
                    CheckpointError::new(error.place, format!("{} (blocks: {stack}.0 to {}{hint})", error.reason, depth - 1))
                })?;
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
            Self::Policy { policy, model } => policy.freezes(&model.freeze_path(name)),
            Self::Patterns(patterns) => patterns.iter().any(|pattern| matches_name(pattern, name)),
        }
    }

    /// Returns whether no adapter may change a tensor either: its whole group is frozen.
    pub fn freezes_group(&self, name: &str) -> bool {
        match self {
            Self::Policy { policy, model } => match Group::of(&model.freeze_path(name)) {
                Group::Head => policy.freezes(&model.freeze_path(name)),
                group => policy.freezes_group(group),
            },
            _ => false,
        }
    }

    /// Returns whether a weight may move because LoRA matrices were merged into it.
    pub fn is_merged(&self, name: &str) -> bool {
        match self {
            Self::Policy { policy, model } => {
                policy.learns_by(PeftMethod::Lora, Group::of(&model.freeze_path(name)))
            }
            _ => false,
        }
    }

    /// Returns the part of the model to which a tensor belongs: `embeddings`, `block 3`, or the name of a head.
    pub fn group_of_name(&self, name: &str) -> String {
        match self {
            Self::Policy { model, .. } => match Group::of(&model.freeze_path(name)) {
                Group::Head => model.head_name(name),
                group => group.to_string(),
            },
            _ => name.split('.').next().unwrap_or(name).into(),
        }
    }

    /// Describes the rule in a line.
    pub fn describe_rule(&self) -> String {
        match self {
            Self::Nothing => "none: what moved is listed".into(),
            Self::Policy { policy, model } => {
                let frozen =
                    (0..model.depth).filter(|block| policy.freezes_group(Group::Block(*block))).count();
                let embeddings =
                    if policy.freezes_group(Group::Embeddings) { " and the embeddings" } else { "" };
                let (depth, stack) = (model.depth, &model.stack);
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

/// The parts of a model, as its names show them.
#[derive(Debug)]
pub(crate) struct ModelNames {
    /// The names of blocks without their number, such as `bert.encoder.layer`.
    stack: String,
    depth: usize,
    /// What the names of the encoder begin with, such as `bert.`.
    root: String,
    /// Whether LayerNorm next to the blocks belongs to the table of relative positions, as in DeBERTa.
    has_relative: bool,
    heads: Vec<String>,
}

/// Segments before the number of a block: BERT and its kin, DistilBERT, ModernBERT, Nomic, Llama, GPT-2, T5, timm, ALBERT.
const BLOCKS: [&str; 6] = ["layer", "layers", "h", "block", "blocks", "albert_layer_groups"];

/// Segments of embeddings that do not contain `embed`.
const EMBEDDINGS: [&str; 5] = ["wte", "wpe", "wtte", "emb_ln", "shared"];

impl ModelNames {
    /// Finds the blocks.
    ///
    /// # Errors
    /// If there are none, or two stacks of similar size.
    fn find_blocks(names: &BTreeSet<&str>) -> Result<Self, CheckpointError> {
        let mut stacks: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (stack, number) in names.iter().filter_map(|name| split_block(name)) {
            let (count, depth) = stacks.entry(stack).or_default();
            *count += 1;
            *depth = (*depth).max(number + 1);
        }
        let mut found: Vec<_> =
            stacks.iter().map(|(stack, (count, depth))| (*count, *stack, *depth)).collect();
        found.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        let fail = |reason: String| {
            CheckpointError::new("--policy", format!("{reason}; name what is frozen with --frozen PATTERN"))
        };
        let (stack, depth) = match found.as_slice() {
            [] => {
                let examples = name_examples(names);
                return Err(fail(format!(
                    "no name has numbered blocks such as `layer.0`; names begin with {examples}"
                )));
            }
            [(most, first, depth), (next, second, other), ..] if next * 2 >= *most => {
                let reason =
                    format!("there are several stacks of blocks: {first} ({depth}), {second} ({other})");
                return Err(fail(reason));
            }
            [(_, stack, depth), ..] => (stack.to_string(), *depth),
        };
        let parent = stack.rsplit_once('.').map_or("", |(parent, _)| parent);
        let root = match parent.rsplit_once('.') {
            Some((root, "encoder" | "transformer")) => format!("{root}."),
            // GPT-2 calls the model itself `transformer`; its embeddings show that.
            _ if ["encoder", "transformer"].contains(&parent)
                && !names.iter().any(|name| name.starts_with("transformer.wte")) =>
            {
                String::new()
            }
            _ if parent.is_empty() => String::new(),
            _ => format!("{parent}."),
        };
        let relative = format!("{parent}.rel_embeddings.");
        let has_relative = names.iter().any(|name| name.starts_with(&relative));
        let mut model = Self { stack, depth, root, has_relative, heads: Vec::new() };
        let is_head = |name: &&&str| Group::of(&model.freeze_path(name)) == Group::Head;
        let heads: BTreeSet<String> =
            names.iter().filter(is_head).map(|name| model.head_name(name)).collect();
        model.heads = heads.into_iter().collect();
        Ok(model)
    }

    /// Returns the path of a tensor as `frostline-freeze` expects paths: `encoder.blocks.3.weight`.
    fn freeze_path(&self, name: &str) -> String {
        let leaf = freeze_leaf(name);
        if let Some((stack, number)) = split_block(name)
            && stack == self.stack
        {
            return format!("encoder.blocks.{number}.{leaf}");
        }
        let parent = self.stack.rsplit_once('.').map_or(String::new(), |(parent, _)| format!("{parent}."));
        let beside = name.strip_prefix(&parent).unwrap_or_default();
        let is_embedding = |part: &str| part.contains("embed") || EMBEDDINGS.contains(&part);
        if name.split('.').any(is_embedding) || (self.has_relative && beside.starts_with("LayerNorm.")) {
            return format!("encoder.embeddings.{leaf}");
        }
        // DeBERTa's convolution adds to the output of the first block.
        if self.has_relative && beside.starts_with("conv.") {
            return format!("encoder.blocks.0.{leaf}");
        }
        // The norm after the last block belongs to it.
        let is_direct = |rest: &str| rest.split('.').count() == 2;
        let inner = name.strip_prefix(&self.root).unwrap_or_default();
        if (is_direct(beside) || is_direct(inner)) && is_norm(name) {
            return format!("encoder.blocks.{}.{leaf}", self.depth - 1);
        }
        let head = self.head_name(name);
        let number = self.heads.iter().position(|known| *known == head).unwrap_or(0);
        format!("heads.{number}.{leaf}")
    }

    /// Returns the name of the head to which a tensor belongs.
    fn head_name(&self, name: &str) -> String {
        let inner = name.strip_prefix(&self.root).unwrap_or(name);
        inner.split('.').next().unwrap_or(inner).into()
    }
}

/// Returns the names of blocks and the number of the block in a name.
fn split_block(name: &str) -> Option<(&str, usize)> {
    let mut start = 0;
    let mut parts = name.split('.').peekable();
    while let Some(part) = parts.next() {
        let end = start + part.len();
        if BLOCKS.contains(&part)
            && let Some(Ok(number)) = parts.peek().map(|next| next.parse::<u16>())
        {
            return Some((&name[..end], usize::from(number)));
        }
        start = end + 1;
    }
    None
}

/// Returns whether a tensor belongs to a LayerNorm or its kin.
fn is_norm(name: &str) -> bool {
    let layer = name.rsplit('.').nth(1).unwrap_or_default().to_lowercase();
    layer.contains("norm") || layer.starts_with("ln") || layer.ends_with("_ln")
}

/// Returns the last segments of a path of `frostline-freeze`, by which methods such as BitFit select parameters.
fn freeze_leaf(name: &str) -> &'static str {
    match (is_norm(name), name.ends_with(".bias")) {
        (true, false) => "gamma",
        (true, true) => "beta",
        (false, true) => "bias",
        (false, false) => "weight",
    }
}

/// Returns how names begin, for an error.
fn name_examples(names: &BTreeSet<&str>) -> String {
    let mut starts: Vec<String> = Vec::new();
    for name in names {
        let start: Vec<&str> = name.split('.').take(3).collect();
        let start = start.join(".");
        if !starts.contains(&start) {
            starts.push(start);
        }
    }
    let more = starts.len() > 6;
    starts.truncate(6);
    format!("{}{}", starts.join(", "), if more { ", …" } else { "" })
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
        assert!(albert.contains("the encoder has 1 blocks") && albert.contains("ALBERT"), "{albert}");
        let pattern =
            error(FreezeRule::Patterns(vec!["bert.*".into()]), &["distilbert.a.b.c", "classifier.bias"]);
        assert_eq!(
            pattern,
            "--frozen \"bert.*\": matches none of 2 names; they begin with classifier.bias, distilbert.a.b"
        );
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
