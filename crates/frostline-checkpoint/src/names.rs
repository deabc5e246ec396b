//! Names of tensors without what wrappers and PEFT add to them, and the prefix by which the names of two checkpoints differ.

use std::collections::{BTreeMap, BTreeSet};

/// A tensor's name without additions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The name in the plain model. For an adapter's matrix it is the name of the weight that the adapter changes.
    pub plain: String,
    /// What the tensor is to the weight of that name.
    pub role: Role,
}

/// What a tensor is to the weight with its plain name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// The weight itself.
    Own,
    /// The copy of the weight that PEFT trains (`modules_to_save`).
    Trained,
    /// The original of such a copy, which stays.
    Original,
    /// The first matrix of LoRA.
    LoraA,
    /// The second matrix of LoRA.
    LoraB,
    /// Another tensor of an adapter.
    Adapter,
}

/// Parts of a name that wrappers in PyTorch add: compiled modules, FSDP, checkpointed activations and DeepSpeed.
const WRAPPERS: [&str; 5] =
    ["_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_forward_module", "_flat_param"];

/// Prefixes of all names in data-parallel training and in a model with an adapter.
const WRAPPED_IN: [&str; 2] = ["module.", "base_model.model."];

/// Beginnings of the segments of adapters other than LoRA's two matrices.
const ADAPTERS: [&str; 12] = [
    "lora_",
    "ia3_",
    "vera_",
    "hada_",
    "oft_",
    "boft_",
    "lokr_",
    "prompt_encoder",
    "prefix_encoder",
    "prompt_embeddings",
    "adaption_",
    "bone_",
];

/// Returns a name without additions.
pub(crate) fn parse_name(name: &str) -> Name {
    let joined: Vec<&str> = name.split('.').filter(|part| !WRAPPERS.contains(part)).collect();
    let joined = joined.join(".");
    let mut rest = joined.as_str();
    while let Some(inner) = WRAPPED_IN.iter().find_map(|before| rest.strip_prefix(before)) {
        rest = inner;
    }
    let (mut plain, mut role) = (Vec::new(), Role::Own);
    let mut parts = rest.split('.').peekable();
    while let Some(part) = parts.next() {
        match part {
            "base_layer" => {}
            "original_module" => role = Role::Original,
            "modules_to_save" => {
                // The adapter's name follows.
                parts.next();
                role = Role::Trained;
            }
            "lora_A" | "lora_B" | "lora_embedding_A" | "lora_embedding_B" => {
                let role = if part.ends_with('A') { Role::LoraA } else { Role::LoraB };
                plain.push("weight");
                return Name { plain: plain.join("."), role };
            }
            _ if ADAPTERS.iter().any(|start| part.starts_with(start)) => {
                return Name { plain: rest.into(), role: Role::Adapter };
            }
            _ => plain.push(part),
        }
    }
    // LayerNorm's names before PyTorch had the layer.
    if let [.., layer, kind] = plain.as_mut_slice()
        && *layer == "LayerNorm"
    {
        match *kind {
            "gamma" => *kind = "weight",
            "beta" => *kind = "bias",
            _ => {}
        }
    }
    Name { plain: plain.join("."), role }
}

/// A beginning that the names of one side have and the names of the other lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamePrefix {
    /// Whether the names after training have it.
    pub is_after: bool,
    /// The prefix with its last dot.
    pub text: String,
}

impl NamePrefix {
    /// Returns a name without the prefix.
    pub fn strip_prefix<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(&self.text).unwrap_or(name)
    }
}

/// Finds the prefix without which more names of the two sides are equal.
pub(crate) fn common_prefix(before: &BTreeSet<&str>, after: &BTreeSet<&str>) -> Option<NamePrefix> {
    let mut best: (usize, Option<NamePrefix>) = (before.intersection(after).count(), None);
    for (is_after, long, short) in [(false, before, after), (true, after, before)] {
        for (text, _) in count_beginnings(long) {
            let stripped = long.iter().filter(|name| {
                let inner = name.strip_prefix(text.as_str()).unwrap_or(name);
                short.contains(inner) && (inner == **name || !long.contains(inner))
            });
            let count = stripped.count();
            // The shortest prefix among equals.
            if count > best.0 {
                best = (count, Some(NamePrefix { is_after, text }));
            }
        }
    }
    best.1
}

/// Returns the beginnings of names, up to three segments without digits, from the shortest on.
fn count_beginnings(names: &BTreeSet<&str>) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for name in names {
        let dots = name.match_indices('.').map(|(dot, _)| dot).take(3);
        for dot in dots.take_while(|dot| !name[..*dot].contains(|c: char| c.is_ascii_digit())) {
            *found.entry(name[..=dot].to_string()).or_default() += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_wrappers_and_peft_add() {
        let cases = [
            ("module._orig_mod.bert.pooler.dense.bias", "bert.pooler.dense.bias", Role::Own),
            ("bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.weight", Role::Own),
            ("base_model.model.a.q_lin.base_layer.weight", "a.q_lin.weight", Role::Own),
            ("base_model.model.a.q_lin.lora_A.default.weight", "a.q_lin.weight", Role::LoraA),
            ("base_model.model.a.q_lin.lora_B.weight", "a.q_lin.weight", Role::LoraB),
            ("base_model.model.classifier.modules_to_save.default.bias", "classifier.bias", Role::Trained),
            ("base_model.model.classifier.original_module.bias", "classifier.bias", Role::Original),
            (
                "a.q_lin.lora_magnitude_vector.default.weight",
                "a.q_lin.lora_magnitude_vector.default.weight",
                Role::Adapter,
            ),
        ];
        for (name, plain, role) in cases {
            assert_eq!(parse_name(name), Name { plain: plain.into(), role }, "{name}");
        }
    }

    #[test]
    fn a_prefix_is_found_on_either_side() {
        let full = BTreeSet::from(["bert.encoder.layer.0.w", "bert.embeddings.w", "classifier.w"]);
        let base = BTreeSet::from(["encoder.layer.0.w", "embeddings.w"]);
        let lightning =
            BTreeSet::from(["model.bert.encoder.layer.0.w", "model.bert.embeddings.w", "model.classifier.w"]);
        let found =
            |before: &_, after: &_| common_prefix(before, after).map(|prefix| (prefix.is_after, prefix.text));
        assert_eq!(found(&full, &base), Some((false, "bert.".into())));
        assert_eq!(found(&full, &lightning), Some((true, "model.".into())));
        assert_eq!(found(&base, &lightning), Some((true, "model.bert.".into())));
        assert_eq!(found(&full, &full), None);
    }
}
