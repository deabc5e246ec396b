//! Finds out how weights are stored under a path, and opens them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::optimiser::OptimiserState;
use crate::source::Disk;
use crate::tensor::{Tensor, Weights, read_chunks};
use crate::{CheckpointError, dcp, safetensors, torch};

/// The largest index of shards and the largest `adapter_config.json` that are read.
///
/// # Units
/// Bytes.
const MOST_JSON: u64 = 64 << 20;

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageLayout {
    /// safetensors.
    Safetensors,
    /// A file of `torch.save`.
    Torch,
    /// A folder of `torch.distributed.checkpoint`.
    Distributed,
}

/// Opened weights. Only names, types, shapes and places are in memory.
#[derive(Debug)]
pub struct Checkpoint {
    place: String,
    layout: StorageLayout,
    files: Vec<Disk>,
    tensors: Vec<Tensor>,
    optimiser: Option<OptimiserState>,
    adapter: Option<Value>,
    /// Names that were left out when the file was saved, with the name under which the tensor is saved.
    left_out: BTreeMap<String, String>,
    foreign: BTreeSet<String>,
}

/// Files of weights in a folder, in this order.
const WEIGHTS: [&str; 6] = [
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "diffusion_pytorch_model.safetensors",
    "tf_model.safetensors",
];

/// Files of a PEFT adapter.
const ADAPTERS: [&str; 2] = ["adapter_model.safetensors", "adapter_model.bin"];

/// Files of an optimiser's state in a folder of Hugging Face Trainer.
const OPTIMISERS: [&str; 2] = ["optimizer.pt", "optimizer.bin"];

/// Endings of files of weights with any name.
const ENDINGS: [&str; 5] = ["safetensors", "bin", "pt", "pth", "ckpt"];

/// Other files of such an ending.
const NO_WEIGHTS: [&str; 7] = [
    "training_args.bin",
    "optimizer.pt",
    "optimizer.bin",
    "scheduler.pt",
    "scheduler.bin",
    "scaler.pt",
    "rng_state.pth",
];

impl Checkpoint {
    /// Opens a file, the index of shards, or a folder.
    ///
    /// # Errors
    /// If there are no weights, several that could be meant, or they are damaged. Nothing that a file contains is run.
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        let found =
            fs::metadata(path).map_err(|error| CheckpointError::new(path.display(), error.to_string()))?;
        if found.is_dir() {
            return Self::open_folder(path);
        }
        match path.file_name().and_then(|name| name.to_str()).unwrap_or_default() {
            ".metadata" => Self::open_distributed(path.parent().unwrap_or(path)),
            name if name.ends_with(".distcp") => Err(CheckpointError::new(
                path.display(),
                "a part of a distributed checkpoint; give its folder, which contains `.metadata`",
            )),
            name if name.ends_with(".json") => Self::open_shards(path),
            _ => {
                let adapter = is_adapter(path).then(|| adapter_config(path)).transpose()?;
                Ok(Self { adapter, ..Self::open_files(path, vec![path.into()])? })
            }
        }
    }

    fn open_folder(folder: &Path) -> Result<Self, CheckpointError> {
        let present = |names: &[&str]| {
            names.iter().map(|name| folder.join(name)).filter(|path| path.exists()).collect::<Vec<_>>()
        };
        let (weights, adapters) = (present(&WEIGHTS), present(&ADAPTERS));
        if let (Some(weights), Some(adapter)) = (weights.first(), adapters.first()) {
            let [weights, adapter] =
                [weights, adapter].map(|path| path.file_name().unwrap_or_default().display());
            let reason = format!("it contains both {weights} and {adapter}; give the file that you mean");
            return Err(CheckpointError::new(folder.display(), reason));
        }
        if let Some(found) = weights.first().or(adapters.first()) {
            let mut opened = Self::open(found)?;
            opened.add_optimiser(folder)?;
            return Ok(opened);
        }
        if folder.join(".metadata").exists() {
            return Self::open_distributed(folder);
        }
        // Accelerate puts weights and optimiser in two folders.
        let inner = folder.join("pytorch_model_fsdp_0");
        if inner.join(".metadata").exists() {
            let mut opened = Self::open_distributed(&inner)?;
            if folder.join("optimizer_0/.metadata").exists() {
                opened.optimiser = dcp::open_distributed(&folder.join("optimizer_0"))?.optimiser;
            }
            return Ok(opened);
        }
        let others = other_weights(folder)?;
        if let [only] = others.as_slice() {
            let mut opened = Self::open(only)?;
            opened.add_optimiser(folder)?;
            return Ok(opened);
        }
        Err(CheckpointError::new(folder.display(), no_weights(folder, &others)))
    }

    /// Opens the shards that an index lists.
    fn open_shards(index: &Path) -> Result<Self, CheckpointError> {
        let fail = |reason: String| CheckpointError::new(index.display(), reason);
        let text = frostline_files::read_text(index, MOST_JSON)?;
        let json: Value = serde_json::from_str(&text).map_err(|error| fail(format!("not JSON: {error}")))?;
        let map = json.get("weight_map").and_then(Value::as_object);
        let map = map.ok_or_else(|| fail("not an index of shards: it has no `weight_map`".into()))?;
        let mut names = BTreeSet::new();
        for (tensor, name) in map {
            let name = name.as_str().unwrap_or_default();
            let mut parts = Path::new(name).components();
            let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
            if !plain || name.contains('\\') {
                let reason = format!("it has {name:?} for `{tensor}`, which is not a file in its folder");
                return Err(fail(format!("{reason}; copy it again")));
            }
            names.insert(name);
        }
        let files = names.into_iter().map(|name| index.with_file_name(name)).collect();
        let opened = Self::open_files(index, files)?;
        let held: BTreeMap<&str, &Path> =
            opened.tensors.iter().map(|tensor| (tensor.name.as_str(), opened.tensor_path(tensor))).collect();
        for (tensor, file) in map {
            let found =
                held.get(tensor.as_str()).and_then(|path| path.file_name()).and_then(|name| name.to_str());
            if found != file.as_str() {
                let found = found.map_or("in no shard".into(), |found| format!("in {found}"));
                return Err(fail(format!(
                    "it lists `{tensor}` in {file}, but it is {found}; copy the folder again"
                )));
            }
        }
        Ok(opened)
    }

    /// Opens files that together are the weights.
    fn open_files(place: &Path, paths: Vec<PathBuf>) -> Result<Self, CheckpointError> {
        let mut opened = Self::without_tensors(place, StorageLayout::Safetensors);
        for (number, path) in paths.iter().enumerate() {
            let file = Disk::open(path)?;
            let is_safetensors = path.extension().is_some_and(|ending| ending == "safetensors");
            if !is_safetensors && (torch::is_torch(&file) || !begins_as_safetensors(&file)) {
                let contents = torch::contents(&file, number)?;
                opened.layout = StorageLayout::Torch;
                opened.tensors.extend(contents.tensors);
                opened.optimiser = opened.optimiser.or(contents.optimiser);
                opened.foreign.extend(contents.foreign);
            } else {
                let (tensors, notes) = safetensors::read_header(&file, number)?;
                opened.tensors.extend(tensors);
                opened.left_out.extend(notes);
            }
            opened.files.push(file);
        }
        let names: BTreeSet<String> = opened.tensors.iter().map(|tensor| tensor.name.clone()).collect();
        opened.left_out.retain(|name, kept| !names.contains(name) && names.contains(kept));
        opened.check_names()?;
        Ok(opened)
    }

    fn open_distributed(folder: &Path) -> Result<Self, CheckpointError> {
        let mut opened = Self::without_tensors(folder, StorageLayout::Distributed);
        let contents = dcp::open_distributed(folder)?;
        (opened.files, opened.tensors, opened.optimiser) =
            (contents.files, contents.tensors, contents.optimiser);
        opened.check_names()?;
        Ok(opened)
    }

    fn without_tensors(place: &Path, layout: StorageLayout) -> Self {
        Self {
            place: place.display().to_string(),
            layout,
            files: Vec::new(),
            tensors: Vec::new(),
            optimiser: None,
            adapter: None,
            left_out: BTreeMap::new(),
            foreign: BTreeSet::new(),
        }
    }

    /// Checks that there are tensors and that each name occurs once.
    fn check_names(&self) -> Result<(), CheckpointError> {
        let mut names = BTreeSet::new();
        if let Some(twice) = self.tensors.iter().find(|tensor| !names.insert(tensor.name.as_str())) {
            let reason =
                format!("two tensors are `{}`, and which one is meant is unknown; save it again", twice.name);
            return Err(CheckpointError::new(&self.place, reason));
        }
        if self.tensors.is_empty() {
            let reason = match &self.optimiser {
                Some(_) => "an optimiser's state without weights; give the model's file or folder",
                None => "it contains no tensors; give a file of weights",
            };
            return Err(CheckpointError::new(&self.place, reason));
        }
        Ok(())
    }

    /// Reads the optimiser's state in a folder of Hugging Face Trainer.
    fn add_optimiser(&mut self, folder: &Path) -> Result<(), CheckpointError> {
        let path = OPTIMISERS.iter().map(|name| folder.join(name)).find(|path| path.exists());
        if let (Some(path), None) = (path, &self.optimiser) {
            self.optimiser = torch::contents(&Disk::open(&path)?, 0)?.optimiser;
        }
        Ok(())
    }

    fn tensor_path(&self, tensor: &Tensor) -> &Path {
        tensor.chunks.first().map_or(Path::new(""), |chunk| self.files[chunk.file].path())
    }

    /// Returns the file and the first byte of a tensor whose elements follow one another in one file; `None` for others.
    #[must_use]
    pub fn contiguous(&self, tensor: usize) -> Option<(&Path, u64)> {
        match self.tensors[tensor].chunks.as_slice() {
            [chunk] if chunk.strides.is_none() => Some((self.files[chunk.file].path(), chunk.at)),
            _ => None,
        }
    }

    /// Returns how the weights are stored.
    #[must_use]
    pub const fn layout(&self) -> StorageLayout {
        self.layout
    }

    /// Returns the state of the optimiser that is in the same file or folder.
    #[must_use]
    pub const fn optimiser(&self) -> Option<&OptimiserState> {
        self.optimiser.as_ref()
    }

    /// Returns `adapter_config.json` if the weights are a PEFT adapter.
    #[must_use]
    pub const fn adapter(&self) -> Option<&Value> {
        self.adapter.as_ref()
    }

    /// Returns names that were left out because the tensor is tied to another one, with the other's name.
    #[must_use]
    pub const fn left_out(&self) -> &BTreeMap<String, String> {
        &self.left_out
    }

    /// Returns the names of classes and functions in pickles whose objects were not built. None of them was called.
    #[must_use]
    pub const fn foreign_names(&self) -> &BTreeSet<String> {
        &self.foreign
    }
}

impl Weights for Checkpoint {
    fn place(&self) -> &str {
        &self.place
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn read(&self, tensor: usize, elements: Range<u64>, bytes: &mut [u8]) -> Result<(), CheckpointError> {
        read_chunks(&self.files, &self.tensors[tensor], elements, bytes)
    }

    fn announce(&self, tensor: usize, elements: Range<u64>) {
        let width = self.tensors[tensor].dtype.width() as u64;
        // Other tensors are small, or their parts are read in another order.
        if let [chunk] = self.tensors[tensor].chunks.as_slice()
            && chunk.strides.is_none()
        {
            let length = (elements.end - elements.start) * width;
            self.files[chunk.file].announce_bytes(chunk.at + elements.start * width, length);
        }
    }
}

/// Returns whether a file's ninth byte begins a header.
fn begins_as_safetensors(file: &Disk) -> bool {
    let mut first = [0; 9];
    file.fill_at(0, &mut first).is_ok() && first[8] == b'{'
}

fn is_adapter(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| ADAPTERS.contains(&name))
}

/// Reads the description of an adapter next to its weights.
fn adapter_config(weights: &Path) -> Result<Value, CheckpointError> {
    let path = weights.with_file_name("adapter_config.json");
    if !path.exists() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let text = frostline_files::read_text(&path, MOST_JSON)?;
    serde_json::from_str(&text)
        .map_err(|error| CheckpointError::new(path.display(), format!("not JSON: {error}")))
}

/// Returns files of weights with unusual names.
fn other_weights(folder: &Path) -> Result<Vec<PathBuf>, CheckpointError> {
    let fail = |error: std::io::Error| CheckpointError::new(folder.display(), error.to_string());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ENDINGS.contains(&ending) && !NO_WEIGHTS.contains(&name) && !name.starts_with("rng_state") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Explains why a folder has no weights that could be opened.
fn no_weights(folder: &Path, others: &[PathBuf]) -> String {
    let names = |paths: &[PathBuf]| {
        let names: Vec<_> =
            paths.iter().filter_map(|path| Some(path.file_name()?.display().to_string())).collect();
        names.join(", ")
    };
    if !others.is_empty() {
        return format!("it contains several files of weights: {}; give one of them", names(others));
    }
    let mut inside: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    inside.sort();
    let is_of = |start: &str| inside.iter().any(|path| names(std::slice::from_ref(path)).starts_with(start));
    if is_of("global_step") {
        return "a checkpoint of DeepSpeed ZeRO; convert it with the script `zero_to_fp32.py` in it".into();
    }
    if is_of("checkpoint-") {
        return format!("it contains no weights; give one of its folders: {}", names(&inside));
    }
    format!("it contains no weights; expected {} or `.metadata`", WEIGHTS[..4].join(", "))
}
