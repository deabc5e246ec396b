//! Files of `torch.save`: a ZIP archive with a pickle and one entry per storage, or the format before torch 1.6, which is pickles
//! and then storages one after another.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::optimiser::{self, OptimiserState};
use crate::pickle::{Node, Pickle, PickleValue, StorageId, TensorSpec, unpickle};
use crate::source::Disk;
use crate::tensor::{Chunk, Tensor};
use crate::{CheckpointError, DType, zip};

/// The largest pickle that is read. Tensors' bytes are not part of it.
///
/// # Units
/// Bytes.
const MOST_PICKLE: u64 = 256 << 20;

/// The first bytes of the format before torch 1.6: a pickled number.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// What one file contains.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub tensors: Vec<Tensor>,
    pub optimiser: Option<OptimiserState>,
    /// Names of classes and functions whose objects were not built.
    pub foreign: BTreeSet<String>,
}

/// The place of each storage in the file.
type Storages = HashMap<String, Range<u64>>;

/// Returns whether a file begins as one of torch's formats.
pub(crate) fn is_torch(file: &Disk) -> bool {
    let mut first = [0; LEGACY.len()];
    file.fill_at(0, &mut first).is_ok() && (first.starts_with(b"PK\x03\x04") || first == LEGACY)
}

/// Reads the names, types, shapes and places of a file's tensors.
///
/// # Errors
/// If it is no file of `torch.save`, is damaged, or calls what no checkpoint needs.
pub(crate) fn contents(file: &Disk, number: usize) -> Result<Contents, CheckpointError> {
    let mut first = [0; LEGACY.len()];
    let enough = file.fill_at(0, &mut first).is_ok();
    if enough && first == LEGACY {
        return legacy(file, number);
    }
    if enough && first.starts_with(b"PK\x03\x04") {
        let (bytes, storages) = archive(file, 0..file.byte_length())?;
        let pickle = unpickle(&bytes).map_err(|reason| file.file_fault(reason))?;
        return Reader { file, number, pickle: &pickle, storages: &storages }.contents();
    }
    let mut tar = [0; 5];
    if file.fill_at(257, &mut tar).is_ok() && &tar == b"ustar" {
        return Err(file.file_fault(
            "a tar archive as torch wrote before 0.1.10; load it with that torch and save it again with `torch.save`",
        ));
    }
    Err(file.file_fault(
        "neither a ZIP archive nor a pickle of `torch.save`; expected .safetensors, .bin, .pt or .ckpt",
    ))
}

/// Returns the single tensor in an archive that is a part of a file, as in the files of a distributed checkpoint.
///
/// # Errors
/// If the part is no archive with one tensor.
pub(crate) fn single(file: &Disk, number: usize, part: Range<u64>) -> Result<Tensor, CheckpointError> {
    let (bytes, storages) = archive(file, part)?;
    let pickle = unpickle(&bytes).map_err(|reason| file.file_fault(reason))?;
    let reader = Reader { file, number, pickle: &pickle, storages: &storages };
    match pickle.value_node(pickle.root) {
        Some(Node::Tensor(spec)) => reader.tensor(String::new(), spec),
        _ => Err(file.file_fault("a part of it is no tensor; copy the folder again")),
    }
}

/// Returns an archive's pickle and the places of its storages.
fn archive(file: &Disk, part: Range<u64>) -> Result<(Vec<u8>, Storages), CheckpointError> {
    let entries = zip::entries(file, part)?;
    let mut pickles = entries.iter().filter(|(name, _)| *name == "data.pkl" || name.ends_with("/data.pkl"));
    let (Some((name, place)), None) = (pickles.next(), pickles.next()) else {
        return Err(
            file.file_fault("a ZIP archive without one `data.pkl`; it was not written by `torch.save`")
        );
    };
    let root = name.trim_end_matches("data.pkl");
    if entries.keys().any(|name| name.strip_prefix(root).is_some_and(|name| name.starts_with("code/"))) {
        let next = "save its `state_dict()` with `torch.save`";
        return Err(file.file_fault(format!("a program of TorchScript; {next}")));
    }
    if let Some(order) = entries.get(&format!("{root}byteorder")) {
        let order = file.bytes(order.start, (order.end - order.start).min(16) as usize)?;
        if order != b"little" {
            return Err(
                file.file_fault("saved on a big-endian machine; save it again on a little-endian one")
            );
        }
    }
    let length = place.end - place.start;
    if length > MOST_PICKLE {
        let (found, most) = (length >> 20, MOST_PICKLE >> 20);
        return Err(file.file_fault(format!("its pickle has {found} MiB, but at most {most} MiB are read")));
    }
    let bytes = file.bytes(place.start, length as usize)?;
    let before = format!("{root}data/");
    let storages = entries
        .iter()
        .filter_map(|(name, place)| name.strip_prefix(&before).map(|key| (key.to_string(), place.clone())));
    Ok((bytes, storages.collect()))
}

/// Reads the format before torch 1.6: pickles of a number, a version, the machine, the object and the storages' keys; then each
/// storage with its number of elements before it.
fn legacy(file: &Disk, number: usize) -> Result<Contents, CheckpointError> {
    let damaged = |reason: String| file.file_fault(reason);
    let head = file.bytes(0, file.byte_length().min(MOST_PICKLE) as usize)?;
    let mut at = 0;
    for what in ["number", "version", "machine"] {
        let pickle = unpickle(&head[at..]).map_err(damaged)?;
        let order = pickle.get(pickle.root, "little_endian");
        if what == "machine" && order == Some(PickleValue::Bool(false)) {
            return Err(
                file.file_fault("saved on a big-endian machine; save it again on a little-endian one")
            );
        }
        at += pickle.length;
    }
    let pickle = unpickle(&head[at..]).map_err(damaged)?;
    at += pickle.length;
    let keys = unpickle(&head[at..]).map_err(damaged)?;
    let mut place = (at + keys.length) as u64;
    let mut ids: HashMap<&str, &StorageId> = HashMap::new();
    for node in &pickle.nodes {
        if let Node::Storage(id) = node {
            ids.extend(pickle.value_text(id.key).map(|key| (key, id)));
        }
    }
    let mut storages = Storages::new();
    for key in keys.value_list(keys.root).unwrap_or_default() {
        let id = keys.value_text(*key).and_then(|key| ids.get(key));
        let id = id.ok_or_else(|| file.file_fault("a storage that no tensor has; copy or save it again"))?;
        let mut count = [0; 8];
        file.fill_at(place, &mut count)?;
        let width = id.dtype.map_or(1, DType::width) as u64;
        let end = (place + 8).checked_add(u64::from_le_bytes(count).saturating_mul(width));
        let end = end.filter(|end| *end <= file.byte_length());
        let end =
            end.ok_or_else(|| file.file_fault("a storage reaches beyond its end; copy or save it again"))?;
        storages.insert(keys.value_text(*key).unwrap_or_default().into(), place + 8..end);
        place = end;
    }
    Reader { file, number, pickle: &pickle, storages: &storages }.contents()
}

/// A pickle with the places of its storages.
struct Reader<'a> {
    file: &'a Disk,
    number: usize,
    pickle: &'a Pickle<'a>,
    storages: &'a Storages,
}

/// The keys under which training programs keep a model's weights, in this order.
const MODEL_KEYS: [&str; 10] = [
    "state_dict",
    "model_state_dict",
    "model",
    "module",
    "model_state",
    "net",
    "network",
    "params",
    "weights",
    "ema",
];

/// The keys under which they keep an optimiser's state.
const OPTIMISER_KEYS: [&str; 6] =
    ["optimizer_states", "optimizer_state_dict", "optimizer", "optim", "optimizer_state", "optimizers"];

/// The most values that are looked at, counting repeated ones each time.
const MOST_VISITS: usize = 4 << 20;

/// The deepest nesting.
const MOST_DEPTH: usize = 64;

impl Reader<'_> {
    /// Finds the weights and the optimiser's state.
    fn contents(&self) -> Result<Contents, CheckpointError> {
        let root = self.pickle.root;
        let place = self.file.path().display().to_string();
        let mut found = Contents { foreign: self.foreign(), ..Contents::default() };
        if let Some(state) = optimiser::parse_state(self.pickle, root, &place) {
            return Ok(Contents { optimiser: Some(state), ..found });
        }
        found.optimiser =
            OPTIMISER_KEYS.iter().filter_map(|key| self.pickle.get(root, key)).find_map(|state| {
                let first = self.pickle.value_list(state).and_then(|list| list.first().copied());
                optimiser::parse_state(self.pickle, first.unwrap_or(state), &place)
            });
        for key in MODEL_KEYS {
            let Some(value) = self.pickle.value_pairs(root).and_then(|_| self.pickle.get(root, key)) else {
                continue;
            };
            if matches!(self.pickle.value_node(value), Some(Node::Dict(_) | Node::Object { .. })) {
                let tensors = self.collect(value)?;
                if !tensors.is_empty() {
                    return Ok(Contents { tensors, ..found });
                }
            }
        }
        found.tensors = self.collect(root)?;
        Ok(found)
    }

    /// Returns the names of the classes and functions whose objects were not built.
    fn foreign(&self) -> BTreeSet<String> {
        let names = self.pickle.nodes.iter().filter_map(|node| match node {
            Node::Object { class, .. } => self.pickle.global_name(*class),
            _ => None,
        });
        names.collect()
    }

    fn collect(&self, value: PickleValue) -> Result<Vec<Tensor>, CheckpointError> {
        let mut walk = Walk { reader: self, tensors: Vec::new(), visits: 0 };
        walk.visit(value, "", None, 0)?;
        Ok(walk.tensors)
    }

    /// Returns a tensor with its place in the file.
    fn tensor(&self, name: String, spec: &TensorSpec) -> Result<Tensor, CheckpointError> {
        let Some(Node::Storage(id)) = self.pickle.nodes.get(spec.storage as usize) else {
            return Err(self.file.file_fault(format!("`{name}` has no storage; save it again")));
        };
        let key = match id.key {
            PickleValue::Int(key) => key.to_string(),
            key => self.pickle.value_text(key).unwrap_or_default().to_string(),
        };
        let storage = self.storages.get(&key).cloned();
        let storage = storage.ok_or_else(|| {
            self.file.file_fault(format!(
                "`{name}` is in the storage {key:?}, which is not in the file; copy it again"
            ))
        })?;
        let width = id.dtype.map_or(1, DType::width) as u64;
        // A storage of the older formats may have bytes after its elements.
        let room = id.count.saturating_mul(width).min(storage.end - storage.start);
        let storage = storage.start..storage.start + room;
        let chunk = Chunk::whole(self.number, storage, spec.offset, spec.dtype, &spec.shape, &spec.strides)
            .map_err(|reason| self.file.file_fault(format!("`{name}`: {reason}")))?;
        let mut tensor = Tensor::new(name, spec.dtype, spec.shape.clone());
        tensor.storage = (tensor.count() > 0).then_some((self.number as u64, chunk.at));
        tensor.chunks = vec![chunk];
        Ok(tensor)
    }
}

/// A walk over the values of a pickle, which can refer to themselves.
struct Walk<'a> {
    reader: &'a Reader<'a>,
    tensors: Vec<Tensor>,
    visits: usize,
}

impl Walk<'_> {
    /// Adds the tensors in a value, named by the keys that lead to them.
    fn visit(
        &mut self,
        value: PickleValue,
        path: &str,
        is_buffer: Option<bool>,
        depth: usize,
    ) -> Result<(), CheckpointError> {
        let Some(node) = self.reader.pickle.value_node(value) else { return Ok(()) };
        self.visits += 1;
        if self.visits > MOST_VISITS || depth > MOST_DEPTH {
            let what = if depth > MOST_DEPTH { "is nested too deeply" } else { "has too many parts" };
            return Err(self
                .reader
                .file
                .file_fault(format!("`{path}` {what} for a checkpoint; do not use this file")));
        }
        match node {
            Node::Tensor(spec) => {
                let mut tensor = self.reader.tensor(path.into(), spec)?;
                tensor.is_buffer = is_buffer.or(spec.is_parameter.then_some(false));
                self.tensors.push(tensor);
            }
            Node::Dict(pairs) => self.visit_pairs(pairs, path, is_buffer, depth)?,
            Node::List(items) => {
                for (number, item) in items.iter().enumerate() {
                    if matches!(item, PickleValue::Node(_)) {
                        self.visit(*item, &joined(path, &number.to_string()), is_buffer, depth + 1)?;
                    }
                }
            }
            Node::Object { state, items, .. } => {
                self.visit_pairs(items, path, is_buffer, depth)?;
                let part = |key| self.reader.pickle.get(value, key);
                let parts = [("_parameters", Some(false)), ("_buffers", Some(true)), ("_modules", None)];
                if part("_modules").is_some() {
                    // A whole module of torch.
                    for (key, is_buffer) in parts {
                        if let Some(part) = part(key) {
                            self.visit(part, path, is_buffer, depth + 1)?;
                        }
                    }
                } else if matches!(state, PickleValue::Node(_)) {
                    self.visit(*state, path, is_buffer, depth + 1)?;
                }
            }
            Node::Global(..) | Node::Storage(_) => {}
        }
        Ok(())
    }

    fn visit_pairs(
        &mut self,
        pairs: &[(PickleValue, PickleValue)],
        path: &str,
        is_buffer: Option<bool>,
        depth: usize,
    ) -> Result<(), CheckpointError> {
        for (key, value) in pairs.iter().filter(|(_, value)| matches!(value, PickleValue::Node(_))) {
            let key = match key {
                PickleValue::Int(number) => number.to_string(),
                key => self.reader.pickle.value_text(*key).unwrap_or("?").to_string(),
            };
            self.visit(*value, &joined(path, &key), is_buffer, depth + 1)?;
        }
        Ok(())
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}
