//! The tensors of two checkpoints by their plain names, and the row of each name.

use std::collections::{BTreeMap, BTreeSet};

use frostline_freeze::PeftMethod;

use crate::compare::lora::{self, Matrices};
use crate::compare::pair::TensorPair;
use crate::compare::row::{TensorChange, TensorKind, TensorRow};
use crate::compare::side::ComparedSide;
use crate::compare::stats;
use crate::names::{self, NamePrefix, Role};
use crate::rule::Applied;
use crate::tensor::Tensor;
use crate::{CheckpointError, DType, OptimiserState};

/// The tensors of both sides by their plain names.
pub(super) struct NamedTensors<'a> {
    sides: [ComparedSide<'a>; 2],
    /// The tensor of a name that is compared: the weight itself, or the copy that PEFT trains.
    own: [BTreeMap<String, usize>; 2],
    /// Tensors of adapters after training.
    adapters: BTreeMap<(String, Role), usize>,
    prefix: Option<NamePrefix>,
    /// Groups of names that share their memory.
    ties: Vec<BTreeSet<String>>,
}

/// Last segments of the usual names of buffers.
const BUFFERS: [&str; 12] = [
    "running_mean",
    "running_var",
    "num_batches_tracked",
    "position_ids",
    "token_type_ids",
    "inv_freq",
    "original_inv_freq",
    "masked_bias",
    "relative_position_index",
    "cos_cached",
    "sin_cached",
    "attn_mask",
];

/// Parts of the names of language-model heads, whose last layer is usually tied to the word embeddings.
const TIED_HEADS: [&str; 5] =
    ["vocab_transform.", "cls.predictions.", "lm_head.", "generator_predictions.", "generator_lm_head."];

/// Last segments of the names of word embeddings.
const WORDS: [&str; 6] = [
    "word_embeddings.weight",
    "wte.weight",
    "tok_embeddings.weight",
    "embed_tokens.weight",
    "shared.weight",
    "embed_in.weight",
];

impl<'a> NamedTensors<'a> {
    /// Finds the tensors that belong together.
    ///
    /// # Errors
    /// If no tensor is on both sides.
    pub fn new(before: ComparedSide<'a>, after: ComparedSide<'a>) -> Result<Self, CheckpointError> {
        let sides = [before, after];
        let mut parsed = sides.map(|side| {
            side.weights.tensors().iter().map(|tensor| names::parse_name(&tensor.name)).collect::<Vec<_>>()
        });
        let is_adapter = |role| matches!(role, Role::LoraA | Role::LoraB | Role::Adapter);
        if parsed.iter().all(|names| names.iter().any(|name| is_adapter(name.role))) {
            // Two states of one adapter: its tensors are compared as any others.
            for (names, side) in parsed.iter_mut().zip(&sides) {
                for (name, tensor) in
                    names.iter_mut().zip(side.weights.tensors()).filter(|(name, _)| is_adapter(name.role))
                {
                    (name.plain, name.role) = (tensor.name.replace(".default.", "."), Role::Own);
                }
            }
        }
        let plain =
            |side: usize| parsed[side].iter().map(|name| name.plain.as_str()).collect::<BTreeSet<_>>();
        let prefix = names::common_prefix(&plain(0), &plain(1));
        let mut named = Self {
            sides,
            own: [BTreeMap::new(), BTreeMap::new()],
            adapters: BTreeMap::new(),
            prefix,
            ties: Vec::new(),
        };
        for (side, names) in parsed.iter().enumerate() {
            let taken = plain(side);
            for (place, found) in names.iter().enumerate() {
                let name = named.shorten_name(side, &found.plain, &taken).to_string();
                match found.role {
                    // What PEFT trains counts, and not the original next to it.
                    Role::Trained => drop(named.own[side].insert(name, place)),
                    Role::Own | Role::Original => drop(named.own[side].entry(name).or_insert(place)),
                    role if side == 1 => drop(named.adapters.insert((name, role), place)),
                    _ => {}
                }
            }
        }
        named.check_names()?;
        named.ties = named.find_ties();
        Ok(named)
    }

    /// Returns a name without the prefix that only this side has.
    fn shorten_name<'n>(&self, side: usize, name: &'n str, taken: &BTreeSet<&str>) -> &'n str {
        let prefix = self.prefix.as_ref().filter(|prefix| prefix.is_after == (side == 1));
        let short = prefix.map_or(name, |prefix| prefix.strip_prefix(name));
        if short != name && taken.contains(short) { name } else { short }
    }

    fn check_names(&self) -> Result<(), CheckpointError> {
        let [before, after] = &self.own;
        let is_known = |name: &String| before.contains_key(name);
        if after.keys().any(is_known) || self.adapters.keys().any(|(name, _)| is_known(name)) {
            return Ok(());
        }
        let [before_place, after_place] = self.sides.map(|side| side.weights.place());
        let first =
            |own: &BTreeMap<String, usize>| own.keys().next().cloned().unwrap_or_else(|| "none".into());
        let reason = format!(
            "no tensor has a name of {before_place}: `{}` here, `{}` there; compare two states of one model",
            first(after),
            first(before)
        );
        Err(CheckpointError::new(after_place, reason))
    }

    /// Returns the prefix that one side has.
    pub fn prefix_note(&self) -> Option<String> {
        let prefix = self.prefix.as_ref()?;
        let side = if prefix.is_after { "after" } else { "before" };
        Some(format!("names {side} training begin with `{}`, which is left out", prefix.text))
    }

    /// Returns all names.
    pub fn all_names(&self) -> BTreeSet<&str> {
        self.own.iter().flat_map(BTreeMap::keys).map(String::as_str).collect()
    }

    /// Returns groups of names that share their memory.
    pub fn tied_names(&self) -> Vec<Vec<String>> {
        self.ties.iter().map(|group| group.iter().cloned().collect()).collect()
    }

    fn find_ties(&self) -> Vec<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for (side, own) in self.sides.iter().zip(&self.own) {
            let mut groups: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
            for (name, place) in own {
                let tensor = &side.weights.tensors()[*place];
                let strides = tensor.chunks.first().and_then(|chunk| chunk.strides.as_ref());
                if let Some(storage) = tensor.storage {
                    groups.entry((storage, &tensor.shape, strides)).or_default().insert(name.clone());
                }
            }
            found.extend(groups.into_values().filter(|group| group.len() > 1));
            let left_out = side.left_out.into_iter().flatten();
            let pair = |(name, kept): (&String, &String)| {
                [name, kept].map(|name| names::parse_name(name).plain).into()
            };
            found.extend(left_out.map(pair));
        }
        found.into_iter().collect()
    }

    fn tensor_of_side(&self, side: usize, name: &str) -> Option<&'a Tensor> {
        self.own[side].get(name).map(|place| &self.sides[side].weights.tensors()[*place])
    }

    /// Announces that the tensors of a name will be compared soon.
    pub fn announce_tensors(&self, name: &str) {
        if let [Some(before), Some(after)] = [0, 1].map(|side| self.own[side].get(name).copied()) {
            let [left, right] = self.sides.map(|side| side.weights);
            stats::announce_first_pieces(TensorPair { before: (left, before), after: (right, after) });
        }
    }

    /// Compares the tensors of a name.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn compare_name(&self, name: &str, rule: &Applied) -> Result<TensorRow, CheckpointError> {
        let tensors = [0, 1].map(|side| self.tensor_of_side(side, name));
        let places = [0, 1].map(|side| self.own[side].get(name).copied());
        let change = match places {
            [Some(before), Some(after)] => {
                let [left, right] = self.sides.map(|side| side.weights);
                stats::compare_elements(TensorPair { before: (left, before), after: (right, after) })?
            }
            [Some(_), None] if self.sides[1].adapter.is_some() => TensorChange::LeftToBase,
            [Some(_), None] => TensorChange::Missing,
            _ => TensorChange::New,
        };
        let kind = tensor_kind(name, tensors);
        let mut frozen = rule.is_frozen(name);
        let difference = change.numeric_difference();
        if frozen && difference.is_some_and(|found| self.is_merged(name, found.rank.is_some(), rule)) {
            // The policy trains the tensor through what was merged into it.
            frozen = false;
        }
        let reason = self.explain_change(name, &change, kind, rule);
        Ok(TensorRow {
            name: name.into(),
            group: rule.group_of_name(name),
            kind,
            frozen,
            dtype_before: tensors[0].map(|tensor| tensor.dtype),
            dtype_after: tensors[1].map(|tensor| tensor.dtype),
            shape_before: tensors[0].map(|tensor| tensor.shape.clone()),
            shape_after: tensors[1].map(|tensor| tensor.shape.clone()),
            change,
            reason,
        })
    }

    /// Returns whether a tensor may move because trained parameters were merged into it: LoRA's matrices change a weight by a
    /// matrix of low rank, DoRA rescales a weight's columns too, and IA3's factors rescale weights and their biases.
    fn is_merged(&self, name: &str, has_low_rank: bool, rule: &Applied) -> bool {
        let is_weight =
            |name: &str| self.tensor_of_side(0, name).is_some_and(|tensor| tensor.shape.len() == 2);
        let is_bias =
            || name.strip_suffix(".bias").is_some_and(|layer| is_weight(&format!("{layer}.weight")));
        (has_low_rank && rule.learns_by(PeftMethod::Lora, name))
            || (is_weight(name) && rule.learns_by(PeftMethod::Dora, name))
            || ((is_weight(name) || is_bias()) && rule.learns_by(PeftMethod::Ia3, name))
    }

    /// Explains a change, if the numbers and names allow it.
    fn explain_change(
        &self,
        name: &str,
        change: &TensorChange,
        kind: TensorKind,
        rule: &Applied,
    ) -> Option<String> {
        let others: BTreeSet<&String> = self
            .ties
            .iter()
            .filter(|group| group.contains(name))
            .flatten()
            .filter(|other| *other != name)
            .collect();
        match change {
            TensorChange::Missing if kind == TensorKind::Buffer => {
                Some("a buffer, which newer versions leave out".into())
            }
            TensorChange::Missing | TensorChange::New => {
                let side = usize::from(matches!(change, TensorChange::Missing));
                let kept = others.into_iter().find(|other| self.own[side].contains_key(*other))?;
                Some(format!("tied: saved once, as `{kept}`"))
            }
            TensorChange::Moved(difference) => {
                if let Some(other) =
                    others.into_iter().find(|other| rule.is_frozen(name) && !rule.is_frozen(other))
                {
                    return Some(format!("tied to `{other}`, which is trainable"));
                }
                if kind == TensorKind::Buffer && name.contains("running_")
                    || name.ends_with("num_batches_tracked")
                {
                    return Some(
                        "statistics of a normalisation layer: its module was in train() mode".into(),
                    );
                }
                if difference.not_finite > 0 {
                    return Some(format!("{} elements are NaN or infinite", difference.not_finite));
                }
                if let Some(scale) = difference.scale {
                    return Some(format!("every element times {scale:.6}: weight decay"));
                }
                if let Some(rank) = difference.rank {
                    return Some(format!("the difference has rank {rank}: a merged LoRA adapter"));
                }
                let head = self.tied_head(name)?;
                rule.is_frozen(name).then(|| {
                    format!("the output layer of `{head}` is not in the file; it is usually tied to this")
                })
            }
            _ => None,
        }
    }

    /// Returns the language-model head whose last layer is probably tied to these word embeddings and therefore not saved.
    fn tied_head(&self, name: &str) -> Option<&'static str> {
        let shape = &self.tensor_of_side(1, name)?.shape;
        let has_twin = self.own[1].keys().any(|other| {
            other != name && self.tensor_of_side(1, other).is_some_and(|tensor| tensor.shape == *shape)
        });
        let is_words = WORDS.iter().any(|end| name.ends_with(end));
        let head = TIED_HEADS.iter().find(|head| self.own[1].keys().any(|other| other.starts_with(**head)));
        head.filter(|_| is_words && !has_twin).map(|head| head.trim_end_matches('.'))
    }

    /// Compares what adapters change.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn compare_adapters(&self, rule: &Applied) -> Result<Vec<TensorRow>, CheckpointError> {
        let mut rows = Vec::new();
        let weights = self.sides[1].weights;
        for ((name, role), place) in &self.adapters {
            let tensor = &weights.tensors()[*place];
            let base = self.tensor_of_side(0, name);
            let mut row = TensorRow {
                name: name.clone(),
                group: rule.group_of_name(name),
                kind: TensorKind::Adapter,
                frozen: rule.freezes_group(name),
                dtype_before: None,
                dtype_after: Some(tensor.dtype),
                shape_before: base.map(|tensor| tensor.shape.clone()),
                shape_after: Some(tensor.shape.clone()),
                change: TensorChange::New,
                reason: None,
            };
            match (role, self.adapters.get(&(name.clone(), Role::LoraB))) {
                (Role::LoraA, Some(b)) => {
                    let rank = tensor.shape.first().copied().unwrap_or(0);
                    let scale = lora::adapter_scale(self.sides[1].adapter, rank, name);
                    let matrices =
                        Matrices { weights, a: *place, b: *b, shape: row.shape_before.clone(), scale };
                    row.name = format!("{name} + LoRA");
                    let difference = matrices.adapter_difference()?;
                    row.reason = Some(match difference {
                        Some(_) if self.sides[1].adapter.is_some() => format!("LoRA of rank {rank}"),
                        Some(_) => {
                            format!("LoRA of rank {rank}, without its factor, which is not in the file")
                        }
                        None => "the second matrix is zero: the adapter never learned".into(),
                    });
                    row.change = difference.map_or(TensorChange::Same, TensorChange::Adapted);
                }
                (Role::LoraB, _) if self.adapters.contains_key(&(name.clone(), Role::LoraA)) => continue,
                _ => {}
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Returns an optimiser's state with names as they are compared.
    pub fn shorten_state(&self, state: &OptimiserState) -> OptimiserState {
        let mut state = state.clone();
        for entry in state.entries.iter_mut().filter(|entry| entry.is_named) {
            let plain = names::parse_name(&entry.key).plain;
            let short = plain.strip_prefix("model.").unwrap_or(&plain);
            let known = [plain.clone(), short.into(), format!("model.{short}")];
            let known = known.into_iter().find(|name| self.own[1].contains_key(name));
            entry.key = known.unwrap_or_else(|| self.shorten_name(1, &plain, &BTreeSet::new()).to_string());
        }
        state
    }
}

/// Returns the kind of a tensor.
fn tensor_kind(name: &str, tensors: [Option<&Tensor>; 2]) -> TensorKind {
    if name.split('.').any(|part| part.starts_with("lora_")) {
        return TensorKind::Adapter;
    }
    let mut tensors = tensors.into_iter().flatten();
    let marked = tensors.clone().find_map(|tensor| tensor.is_buffer);
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_number =
        |dtype: DType| dtype.is_float() || matches!(dtype, DType::Raw(_) | DType::C64 | DType::C128);
    let usual = BUFFERS.contains(&last) || !tensors.all(|tensor| is_number(tensor.dtype));
    if marked.unwrap_or(usual) { TensorKind::Buffer } else { TensorKind::Parameter }
}
