//! The parts of a model, found in the names of its tensors: embeddings, blocks, a norm after the blocks, and heads.

use std::collections::{BTreeMap, BTreeSet};

use frostline_freeze::{FrozenBlocks, Group, Policy, ResolvedPolicy};

use crate::CheckpointError;

/// The parts of a model of any common family, as the names of its tensors show them.
#[derive(Clone, Debug)]
pub struct ModelParts {
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
const BLOCKS: [&str; 6] = ["layer", "layers", "h", "block", "blocks", SHARED_BLOCKS];

/// The segment of ALBERT's blocks, each of which is applied several times.
const SHARED_BLOCKS: &str = "albert_layer_groups";

/// Segments of embeddings that do not contain `embed`; the last one is MPNet's table of relative positions.
const EMBEDDINGS: [&str; 6] = ["wte", "wpe", "wtte", "emb_ln", "shared", "relative_attention_bias"];

/// Segments of heads that pretraining leaves, which may contain embeddings of their own.
const PRETRAINING_HEADS: [&str; 4] = ["cls", "lm_head", "predictions", "generator_predictions"];

impl ModelParts {
    /// Finds the parts in the names of all tensors, without what wrappers such as `torch.compile` add to them.
    ///
    /// # Errors
    /// If there are no numbered blocks, or two stacks of similar size, as in a model with a decoder.
    pub fn find_parts(names: &BTreeSet<&str>) -> Result<Self, CheckpointError> {
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
        let is_head = |name: &&&str| model.group_of(name) == Group::Head;
        let heads: BTreeSet<String> =
            names.iter().filter(is_head).map(|name| model.head_name(name)).collect();
        model.heads = heads.into_iter().collect();
        Ok(model)
    }

    /// Returns the number of blocks that have weights of their own.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the names of blocks without their number, such as `bert.encoder.layer`.
    #[must_use]
    pub fn block_stack(&self) -> &str {
        &self.stack
    }

    /// Returns the names of the heads, or one name for a model without any, since policies expect a head.
    #[must_use]
    pub fn head_names(&self) -> Vec<&str> {
        match self.heads.as_slice() {
            [] => vec!["head"],
            heads => heads.iter().map(String::as_str).collect(),
        }
    }

    /// Applies a policy to the model.
    ///
    /// # Errors
    /// If the model cannot have the policy: too few blocks, unknown heads, or blocks that share their weights.
    pub fn resolve_policy(&self, policy: &Policy) -> Result<ResolvedPolicy, CheckpointError> {
        let fail = |reason: String| CheckpointError::new("--policy", reason);
        let blocks = &policy.frozen().blocks;
        if matches!(blocks, FrozenBlocks::Global | FrozenBlocks::Local) {
            return Err(fail(format!(
                "`{policy}` depends on what blocks attend to, which the names of tensors do not show; list the blocks, as in \
                 `blocks-0.3.6`"
            )));
        }
        let whole = matches!(blocks, FrozenBlocks::None | FrozenBlocks::All);
        if self.stack.ends_with(SHARED_BLOCKS) && self.depth == 1 && !whole {
            return Err(fail(format!(
                "`{policy}` is impossible: all blocks of ALBERT share one group of weights; choose none, all or head-only, of which \
                 none and all may have +embeddings"
            )));
        }
        let shared = if self.stack.ends_with(SHARED_BLOCKS) {
            "; each is a group of weights that blocks share"
        } else {
            ""
        };
        policy.resolve(self.depth, &self.head_names()).map_err(|error| {
            let (stack, last) = (&self.stack, self.depth - 1);
            fail(format!("{error} (blocks: {stack}.0 to {last}{shared})"))
        })
    }

    /// Returns the part to which a tensor belongs: `embeddings`, `block 3`, `final norm`, or the name of a head.
    #[must_use]
    pub fn part_of(&self, name: &str) -> String {
        match self.group_of(name) {
            Group::Head => self.head_name(name),
            group => group.to_string(),
        }
    }

    /// Returns the group to which a tensor belongs.
    #[must_use]
    pub fn group_of(&self, name: &str) -> Group {
        Group::of(&self.policy_path(name, false))
    }

    /// Returns a path by which policies know a tensor, such as `encoder.blocks.3.weight`. A norm is found by its name; `is_norm`
    /// says of a layer with any other name that it is one.
    #[must_use]
    pub fn policy_path(&self, name: &str, is_norm: bool) -> String {
        let leaf = parameter_kind(name, is_norm || is_norm_name(name));
        if let Some((stack, number)) = split_block(name)
            && stack == self.stack
        {
            return format!("encoder.blocks.{number}.{leaf}");
        }
        let head = self.head_name(name);
        let parent = self.stack.rsplit_once('.').map_or(String::new(), |(parent, _)| format!("{parent}."));
        let next_to_blocks = name.strip_prefix(&parent).unwrap_or_default();
        let is_embedding = |part: &str| part.contains("embed") || EMBEDDINGS.contains(&part);
        let has_embeddings = !PRETRAINING_HEADS.contains(&head.as_str()) && name.split('.').any(is_embedding);
        if has_embeddings || (self.has_relative && next_to_blocks.starts_with("LayerNorm.")) {
            return format!("encoder.embeddings.{leaf}");
        }
        // DeBERTa's convolution adds to the output of the first block.
        if self.has_relative && next_to_blocks.starts_with("conv.") {
            return format!("encoder.blocks.0.{leaf}");
        }
        let is_direct = |rest: &str| rest.split('.').count() == 2;
        let inner = name.strip_prefix(&self.root).unwrap_or_default();
        if (is_direct(next_to_blocks) || is_direct(inner)) && is_norm_name(name) {
            return format!("encoder.final_norm.{leaf}");
        }
        let number = self.heads.iter().position(|known| *known == head).unwrap_or(0);
        format!("heads.{number}.{leaf}")
    }

    /// Returns the name of the head to which a tensor belongs, without a module around the whole model, such as Lightning's.
    fn head_name(&self, name: &str) -> String {
        let outer = self.root.trim_end_matches('.').rsplit_once('.').map_or("", |(outer, _)| outer);
        let inner = name.strip_prefix(&self.root).or_else(|| name.strip_prefix(outer)?.strip_prefix('.'));
        let inner = inner.unwrap_or(name);
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
fn is_norm_name(name: &str) -> bool {
    let layer = name.rsplit('.').nth(1).unwrap_or_default().to_lowercase();
    layer.contains("norm") || layer.starts_with("ln") || layer.ends_with("_ln")
}

/// Returns the last segment of a path, by which methods such as BitFit select parameters.
fn parameter_kind(name: &str, is_norm: bool) -> &'static str {
    match (is_norm, name.ends_with(".bias")) {
        (true, false) => "gamma",
        (true, true) => "beta",
        (false, true) => "bias",
        (false, false) => "weight",
    }
}

/// Returns how names begin, for an error.
pub(crate) fn name_examples(names: &BTreeSet<&str>) -> String {
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
