//! Folders of `torch.distributed.checkpoint` (DCP), as FSDP writes them: `.metadata` lists the parts of each tensor, and the files
//! `*.distcp` contain them.

use std::collections::HashMap;
use std::path::{Component, Path};

use crate::optimiser::{OptimiserState, StateEntry};
use crate::pickle::{Node, Pickle, PickleValue, unpickle};
use crate::source::Disk;
use crate::tensor::{Chunk, Tensor, count};
use crate::{CheckpointError, torch};

/// The largest `.metadata` that is read.
///
/// # Units
/// Bytes.
const MOST_METADATA: u64 = 256 << 20;

/// The parts of names between the model's or the optimiser's root and a parameter.
const OPTIMISER_ROOTS: [&str; 4] = ["optimizer.state.", "optim.state.", "optimizer.", "optim."];

/// What a folder contains.
pub(crate) struct DistributedContents {
    pub files: Vec<Disk>,
    pub tensors: Vec<Tensor>,
    pub optimiser: Option<OptimiserState>,
}

/// Reads the tensors of a folder, and its optimiser's state if that is in the same folder.
///
/// # Errors
/// If `.metadata` or a part cannot be read, or a tensor's parts are not as large as the tensor.
pub(crate) fn open_distributed(folder: &Path) -> Result<DistributedContents, CheckpointError> {
    let file = Disk::open(&folder.join(".metadata"))?;
    if file.byte_length() > MOST_METADATA {
        let (found, most) = (file.byte_length() >> 20, MOST_METADATA >> 20);
        return Err(file.file_fault(format!("it has {found} MiB, but at most {most} MiB are read")));
    }
    let bytes = file.bytes(0, file.byte_length() as usize)?;
    let pickle = unpickle(&bytes).map_err(|reason| file.file_fault(reason))?;
    let mut folder = DistributedFolder {
        folder,
        metadata: &file,
        pickle: &pickle,
        files: Vec::new(),
        numbers: HashMap::new(),
    };
    let listed = folder.dictionary_pairs("state_dict_metadata")?;
    let places = folder.part_places()?;
    let (mut tensors, mut entries) = (Vec::new(), Vec::<StateEntry>::new());
    for (key, value) in listed {
        let name = pickle.value_text(key).ok_or_else(|| folder.metadata_fault("a tensor without a name"))?;
        // Other values than tensors have no size.
        let Some(size) = pickle.get(value, "size") else { continue };
        let shape =
            pickle.value_sizes(size).ok_or_else(|| folder.metadata_fault("a tensor without sizes"))?;
        if let Some(rest) = OPTIMISER_ROOTS.iter().find_map(|root| name.strip_prefix(root)) {
            add_entry(&mut entries, rest, shape);
            continue;
        }
        tensors.push(folder.join_parts(name, shape, value, &places)?);
    }
    let place = folder.folder.display().to_string();
    let optimiser = (!entries.is_empty()).then_some(OptimiserState { place, entries });
    Ok(DistributedContents { files: folder.files, tensors, optimiser })
}

/// Adds the state `NAME.exp_avg` of a parameter.
fn add_entry(entries: &mut Vec<StateEntry>, name: &str, shape: Vec<u64>) {
    let Some((parameter, state)) = name.rsplit_once('.') else { return };
    let shape = (state != "step").then_some(shape);
    match entries.iter_mut().rev().find(|entry| entry.key == parameter) {
        Some(entry) if shape.is_some() => entry.shape = shape,
        Some(_) => {}
        None => entries.push(StateEntry {
            key: parameter.into(),
            is_named: parameter.parse::<u64>().is_err(),
            shape,
        }),
    }
}

/// The file, the first byte and the number of bytes of a part.
type PartPlace<'a> = (&'a str, u64, u64);

/// A folder that is being read.
struct DistributedFolder<'a> {
    folder: &'a Path,
    metadata: &'a Disk,
    pickle: &'a Pickle<'a>,
    files: Vec<Disk>,
    numbers: HashMap<String, usize>,
}

impl<'a> DistributedFolder<'a> {
    fn metadata_fault(&self, what: &str) -> CheckpointError {
        self.metadata.file_fault(format!(
            "not the metadata of a distributed checkpoint: {what}; copy or save it again"
        ))
    }

    /// Returns the pairs of a dictionary among the metadata.
    fn dictionary_pairs(&self, key: &str) -> Result<Vec<(PickleValue, PickleValue)>, CheckpointError> {
        let found =
            self.pickle.get(self.pickle.root, key).and_then(|value| match self.pickle.value_node(value) {
                Some(Node::Dict(pairs)) => Some(pairs.clone()),
                _ => None,
            });
        found.ok_or_else(|| self.metadata_fault(&format!("no `{key}`")))
    }

    /// Returns the place of each part of a tensor, by the tensor's name and the index at which the part begins.
    fn part_places(&self) -> Result<HashMap<(&'a str, Vec<u64>), PartPlace<'a>>, CheckpointError> {
        let number = |value| match value {
            Some(PickleValue::Int(number)) => u64::try_from(number).ok(),
            _ => None,
        };
        let place = |(key, info): (PickleValue, PickleValue)| {
            let name = self.pickle.value_text(self.pickle.get(key, "fqn")?)?;
            let offset = self.pickle.get(key, "offset").and_then(|offset| self.pickle.value_sizes(offset));
            let path = self.pickle.value_text(self.pickle.get(info, "relative_path")?)?;
            let at = number(self.pickle.get(info, "offset"))?;
            let length = number(self.pickle.get(info, "length"))?;
            Some(((name, offset.unwrap_or_default()), (path, at, length)))
        };
        let all = self.dictionary_pairs("storage_data")?;
        all.into_iter()
            .map(|pair| place(pair).ok_or_else(|| self.metadata_fault("a part without a place")))
            .collect()
    }

    /// Returns a tensor with all its parts.
    fn join_parts(
        &mut self,
        name: &str,
        shape: Vec<u64>,
        about: PickleValue,
        places: &HashMap<(&str, Vec<u64>), PartPlace<'_>>,
    ) -> Result<Tensor, CheckpointError> {
        let pickle = self.pickle;
        let parts =
            pickle.get(about, "chunks").and_then(|parts| pickle.value_list(parts)).unwrap_or_default();
        let (mut chunks, mut dtype, mut held) = (Vec::new(), None, 0u64);
        for part in parts {
            let sizes = |key| pickle.get(*part, key).and_then(|value| pickle.value_sizes(value));
            let (Some(offsets), Some(sizes)) = (sizes("offsets"), sizes("sizes")) else {
                return Err(self.metadata_fault(&format!("a part of `{name}` without sizes")));
            };
            let place = *places
                .get(&(name, offsets.clone()))
                .ok_or_else(|| self.metadata_fault(&format!("`{name}` has a part without a place")))?;
            let is_inside = offsets.len() == shape.len()
                && sizes.len() == shape.len()
                && offsets
                    .iter()
                    .zip(&sizes)
                    .zip(&shape)
                    .all(|((from, size), all)| from.checked_add(*size).is_some_and(|end| end <= *all));
            let tensor = self.open_part(place)?;
            if !is_inside || tensor.shape != sizes || dtype.is_some_and(|dtype| dtype != tensor.dtype) {
                let (found, file) = (&tensor.shape, place.0);
                return Err(self.metadata_fault(&format!(
                    "a part of `{name}` has the shape {sizes:?} at {offsets:?} of {shape:?}, and in {file} {found:?}"
                )));
            }
            dtype = Some(tensor.dtype);
            held = held.saturating_add(tensor.count());
            let whole = tensor.chunks.into_iter().next();
            chunks.extend(whole.map(|chunk| Chunk { offsets, ..chunk }));
        }
        let dtype = dtype.ok_or_else(|| self.metadata_fault(&format!("`{name}` has no parts")))?;
        if count(&shape, dtype) != Some(held) {
            return Err(self.metadata_fault(&format!(
                "the parts of `{name}` have {held} elements, its shape is {shape:?}"
            )));
        }
        let mut tensor = Tensor::new(name, dtype, shape);
        tensor.chunks = chunks;
        Ok(tensor)
    }

    /// Opens a part. Its file is in the same folder.
    fn open_part(&mut self, (path, at, length): PartPlace<'_>) -> Result<Tensor, CheckpointError> {
        let number = match self.numbers.get(path) {
            Some(number) => *number,
            None => {
                let mut parts = Path::new(path).components();
                let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
                if !plain || path.contains('\\') {
                    return Err(
                        self.metadata_fault(&format!("it names {path:?}, which is not a file in its folder"))
                    );
                }
                self.files.push(Disk::open(&self.folder.join(path))?);
                self.numbers.insert(path.into(), self.files.len() - 1);
                self.files.len() - 1
            }
        };
        let file = &self.files[number];
        let end = at.checked_add(length).filter(|end| *end <= file.byte_length());
        let end = end
            .ok_or_else(|| file.file_fault("it ends before a part that `.metadata` lists; copy it again"))?;
        torch::single(file, number, at..end)
    }
}
