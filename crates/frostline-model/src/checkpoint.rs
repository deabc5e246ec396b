//! Weights in safetensors files, as Hugging Face stores them: f32, f16 or bf16, whole or sharded. Files of `torch.save` are opened by
//! `frostline-checkpoint`, which runs no code in them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use frostline_checkpoint::{DType, Weights as _};
use frostline_files::{open, read_text};
use half::{bf16, f16};
use rayon::prelude::*;
use safetensors::Dtype;
use safetensors::tensor::Metadata;

use crate::names::{Naming, StoredName, sentence_name, stored_name};
use crate::{EncoderConfig, ModelError, ParameterSource};

/// Maximum size of an index of shards; the largest models' indexes have a few MiB.
///
/// # Units
/// Bytes.
const MOST_INDEX: u64 = 64 << 20;

/// The largest header that is read: the format's own limit.
///
/// # Units
/// Bytes.
const MOST_HEADER: u64 = 100_000_000;

/// Bytes that are read of a file at once: a word table can be large, and its bytes are needed only until they
/// are converted. The number is a multiple of every value's size.
///
/// # Units
/// Bytes.
const PIECE: usize = 1 << 18;

/// An opened set of weights.
pub struct Checkpoint {
    naming: Naming,
    place: String,
    files: Vec<Bytes>,
    tensors: HashMap<String, Tensor>,
}

/// If a tensor's values are.
struct Tensor {
    /// The number of its file.
    file: usize,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Bytes of the file.
    bytes: Range<usize>,
}

/// A file's bytes. They are read when they are needed rather than mapped: pages of a map count as the process's own memory,
/// and a few rows of a table touch nearly all of its pages.
enum Bytes {
    OnDisk(File),
    Held(&'static [u8]),
}

impl Bytes {
    fn len(&self) -> io::Result<u64> {
        match self {
            Self::OnDisk(file) => Ok(file.metadata()?.len()),
            Self::Held(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Returns some of the bytes. They exist unless another program has truncated the file.
    fn get(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::OnDisk(file) => {
                let mut bytes = vec![0; range.len()];
                read_at(file, &mut bytes, range.start as u64)?;
                Ok(bytes.into())
            }
            Self::Held(bytes) => Ok(bytes[range].into()),
        }
    }

    /// Returns the file's header, and the start of the first tensor. The tensors fill exactly the rest of the
    /// file.
    fn read_header(&self) -> io::Result<(Metadata, usize)> {
        const BEFORE: usize = size_of::<u64>();
        let all = self.len()?;
        if all < BEFORE as u64 {
            return Err(io::Error::other("it ends before the header"));
        }
        let length = self.get(0..BEFORE)?;
        let length = u64::from_le_bytes(length.as_ref().try_into().expect("as many bytes as were asked for"));
        if length > MOST_HEADER.min(all - BEFORE as u64) {
            return Err(io::Error::other("it does not begin with the length of a header"));
        }
        let start = BEFORE + length as usize;
        let about: Metadata = serde_json::from_slice(&self.get(BEFORE..start)?)?;
        let tensors = about.tensors().values().map(|about| about.data_offsets.1).max().unwrap_or(0);
        if (start + tensors) as u64 != all {
            return Err(io::Error::other(format!(
                "it has {all} bytes, but by its header it would have {}",
                start + tensors
            )));
        }
        Ok((about, start))
    }
}

impl Checkpoint {
    /// Opens `model.safetensors`, or the shards next to a `model.safetensors.index.json`; likewise `pytorch_model.bin`.
    ///
    /// # Errors
    /// If a file is missing or is not of its format, an index names a file outside its folder, a tensor is
    /// not exactly in the shard named by the index, or a PEFT adapter is in the same folder or among the tensors.
    pub fn open(path: &Path, naming: impl Into<Naming>) -> Result<Self, ModelError> {
        let naming = naming.into();
        if let Some(adapter) =
            ADAPTERS.iter().map(|name| path.with_file_name(name)).find(|path| path.exists())
        {
            let reason = format!(
                "{} lies in the same folder, and whether these weights contain it already is not known; move the adapter away if \
                 they do, or merge it in Python with `model.merge_and_unload().save_pretrained(FOLDER)`",
                adapter.display()
            );
            return Err(ModelError::Weights { place: path.display().to_string(), reason });
        }
        if path.file_name().and_then(|name| name.to_str()).is_some_and(is_of_torch) {
            return Self::torch(path, naming);
        }
        if path.extension().is_none_or(|extension| extension != "json") {
            return Self::index(vec![on_disk(path)?], naming, path.display().to_string());
        }
        let (files, map) = read_index(path)?;
        let opened = files.iter().map(|file| on_disk(file)).collect::<Result<Vec<_>, _>>()?;
        let weights = Self::index(opened, naming, path.display().to_string())?;
        weights.check_places(&files, &map)?;
        Ok(weights)
    }

    /// Checks that every tensor is in the shard named by the index.
    fn check_places(&self, files: &[PathBuf], map: &BTreeMap<String, String>) -> Result<(), ModelError> {
        let shard = |tensor: &Tensor| files[tensor.file].file_name().and_then(|name| name.to_str());
        for (name, listed) in map {
            let found = self.tensors.get(&strip_wrappers(name)).and_then(shard);
            if found != Some(listed) {
                let found = found.map_or("in no shard".into(), |file| format!("in {file}"));
                let reason = format!("it lists `{name}` in {listed}, but it is {found}; fetch it again");
                return Err(ModelError::Weights { place: self.place.clone(), reason });
            }
        }
        Ok(())
    }

    /// Opens weights that are embedded in the program; `place` names them in errors.
    ///
    /// # Errors
    /// If the bytes are not a safetensors file.
    pub fn embedded(
        bytes: &'static [u8],
        naming: impl Into<Naming>,
        place: &str,
    ) -> Result<Self, ModelError> {
        Self::index(vec![Bytes::Held(bytes)], naming.into(), place.into())
    }

    /// Opens files of `torch.save`, of which only the places of tensors are read here.
    fn torch(path: &Path, naming: Naming) -> Result<Self, ModelError> {
        let place = path.display().to_string();
        let fail = |reason: String| ModelError::Weights { place: place.clone(), reason };
        let opened = frostline_checkpoint::Checkpoint::open(path).map_err(|error| {
            let place = error.place;
            ModelError::Weights { place, reason: error.reason }
        })?;
        let mut weights = Self { naming, place: place.clone(), files: Vec::new(), tensors: HashMap::new() };
        let mut numbers: HashMap<PathBuf, usize> = HashMap::new();
        for (number, about) in opened.tensors().iter().enumerate() {
            // Other types are buffers, such as the ids of positions; no parameter is looked for among them.
            let dtype = match about.dtype {
                DType::F32 => Dtype::F32,
                DType::F16 => Dtype::F16,
                DType::BF16 => Dtype::BF16,
                DType::F64 => Dtype::F64,
                _ => continue,
            };
            let Some((file, start)) = opened.contiguous(number) else {
                let reason =
                    format!("`{}` has gaps between its elements; save it with `.contiguous()`", about.name);
                return Err(fail(reason));
            };
            let file = match numbers.get(file) {
                Some(file) => *file,
                None => {
                    weights.files.push(on_disk(file)?);
                    numbers.insert(file.to_path_buf(), weights.files.len() - 1);
                    weights.files.len() - 1
                }
            };
            let shape = about.shape.iter().map(|size| *size as usize).collect();
            let start = start as usize;
            let bytes = start..start + about.count() as usize * about.dtype.width();
            weights.add(&about.name, Tensor { file, dtype, shape, bytes })?;
        }
        Ok(weights)
    }

    /// Adds a tensor under its name without what wrappers add.
    fn add(&mut self, name: &str, tensor: Tensor) -> Result<(), ModelError> {
        let name = strip_wrappers(name);
        let fail = |reason: String| ModelError::Weights { place: self.place.clone(), reason };
        if let Some(part) = UNMERGED.iter().find(|part| name.contains(**part)) {
            let part = part.trim_matches('.');
            return Err(fail(format!(
                "`{name}` (`{part}`) belongs to a PEFT adapter that is not merged: without it, the weights are not those that \
                 the model computes with; in Python, save it with `model.merge_and_unload().save_pretrained(FOLDER)`"
            )));
        }
        if self.tensors.contains_key(&name) {
            return Err(fail(format!(
                "two tensors are `{name}` (in two shards, or once the names of wrappers such as `module.` are left out), and \
                 which one is meant is not known; fetch or save it again"
            )));
        }
        self.tensors.insert(name, tensor);
        Ok(())
    }

    fn index(files: Vec<Bytes>, naming: Naming, place: String) -> Result<Self, ModelError> {
        let mut weights = Self { naming, place: place.clone(), files: Vec::new(), tensors: HashMap::new() };
        for (number, file) in files.iter().enumerate() {
            let (about, start) = file.read_header().map_err(|error| ModelError::Weights {
                place: place.clone(),
                reason: format!("not a safetensors file ({error}); fetch it again"),
            })?;
            for (name, about) in about.tensors() {
                let (from, to) = about.data_offsets;
                let bytes = start + from..start + to;
                let tensor = Tensor { file: number, dtype: about.dtype, shape: about.shape.clone(), bytes };
                weights.add(&name, tensor)?;
            }
        }
        Ok(Self { files, ..weights })
    }

    /// Checks that every parameter of an encoder exists with the shape that its config implies and a type that can be
    /// read, without reading values.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape or type; the error names the first one.
    pub fn check_shapes(&self, config: &EncoderConfig) -> Result<(), ModelError> {
        let parameters = config.parameters(&[]);
        parameters.iter().try_for_each(|(path, shape)| self.stored_tensor(path, shape)?.0.check_type())
    }

    /// Checks the same, and that all values are finite.
    ///
    /// # Errors
    /// See [`Self::check_shapes`]; also if a tensor contains NaN or infinity.
    pub fn check(&self, config: &EncoderConfig) -> Result<(), ModelError> {
        self.check_shapes(config)?;
        let parameters = config.parameters(&[]);
        parameters.iter().try_for_each(|(path, shape)| {
            let (stored, _) = self.stored_tensor(path, shape)?;
            let pieces: Vec<_> = split_into_pieces(stored.bytes.len()).collect();
            first_fault(pieces.into_par_iter().map(|piece| {
                let mut values = vec![0.0; piece.len() / stored.bytes_per_value()];
                stored.read(piece, &mut values)
            }))
        })
    }

    /// Returns the name under which a parameter is stored: with or without the family's prefix, with the older
    /// names of LayerNorm's parameters, or with the names of a sentence head.
    fn find_stored(&self, path: &str) -> Option<(&String, &Tensor)> {
        let StoredName { name, .. } = stored_name(self.naming, path);
        let bare = name.split_once('.').map(|(_, rest)| rest.to_string()).unwrap_or_default();
        let old = |name: &str| {
            let stem = name.strip_suffix("LayerNorm.weight").map(|stem| format!("{stem}LayerNorm.gamma"));
            stem.or_else(|| name.strip_suffix("LayerNorm.bias").map(|stem| format!("{stem}LayerNorm.beta")))
        };
        let mut names = vec![name.clone()];
        if !path.starts_with("head") {
            names.push(bare);
        }
        names.extend(sentence_name(self.naming.family, &name));
        names.extend(names.clone().iter().filter_map(|name| old(name)));
        names.iter().find_map(|name| self.tensors.get_key_value(name))
    }

    /// Returns the error for a parameter that is not there. It names a tensor whose name only begins otherwise.
    fn missing_parameter(&self, name: String) -> ModelError {
        // Only the encoder's names have this prefix.
        let bare =
            name.strip_prefix(self.naming.family.table().prefix).and_then(|rest| rest.strip_prefix('.'));
        let ends_alike = |found: &&String| {
            let before = bare.and_then(|bare| found.strip_suffix(bare));
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let like = self.tensors.keys().filter(ends_alike).min();
        let like =
            like.map_or_else(String::new, |found| format!("; it has `{found}`, whose name begins otherwise"));
        ModelError::Missing { place: self.place.clone(), name, like }
    }

    /// Returns a parameter's tensor of the expected shape, and whether it is stored transposed.
    fn stored_tensor(&self, path: &str, shape: &[usize]) -> Result<(Stored<'_>, bool), ModelError> {
        let StoredName { name: canonical, transposed, part: [part, parts] } = stored_name(self.naming, path);
        let (name, tensor) = self.find_stored(path).ok_or_else(|| self.missing_parameter(canonical))?;
        let mut expected = shape.to_vec();
        if transposed {
            expected.reverse();
        }
        expected[0] *= parts;
        if tensor.shape != expected {
            let (place, name, found) = (self.place.clone(), name.clone(), tensor.shape.clone());
            return Err(ModelError::Shape { place, name, found, expected });
        }
        let (file, size) = (&self.files[tensor.file], tensor.bytes.len() / parts);
        let start = tensor.bytes.start + part * size;
        let bytes = start..start + size;
        Ok((Stored { place: &self.place, name, dtype: tensor.dtype, file, bytes }, transposed))
    }
}

/// Returns whether a file was written by `torch.save`, by its name.
fn is_of_torch(name: &str) -> bool {
    [".bin", ".pt", ".bin.index.json"].iter().any(|end| name.ends_with(end))
}

/// The files of a PEFT adapter.
const ADAPTERS: [&str; 3] = ["adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"];

/// Parts of a tensor's name that wrappers in PyTorch add: compiled modules, FSDP and checkpointed activations.
const WRAPPERS: [&str; 4] =
    ["_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_forward_module"];

/// Prefixes of all names in data-parallel training, and in a model that had an adapter.
const WRAPPED_IN: [&str; 2] = ["module.", "base_model.model."];

/// Parts of tensor names that only a model with an unmerged adapter has.
const UNMERGED: [&str; 10] = [
    ".lora_",
    ".base_layer.",
    ".modules_to_save.",
    ".original_module.",
    ".ia3_",
    ".vera_",
    ".hada_",
    ".oft_",
    ".prompt_encoder",
    ".prefix_encoder",
];

/// Returns a tensor's name without the prefixes of wrappers: `module._orig_mod.bert.pooler.dense.bias` is
/// `bert.pooler.dense.bias`.
fn strip_wrappers(name: &str) -> String {
    let parts = name.split('.').filter(|part| !WRAPPERS.contains(part));
    let name = parts.collect::<Vec<_>>().join(".");
    let mut rest = name.as_str();
    while let Some(inner) = WRAPPED_IN.iter().find_map(|before| rest.strip_prefix(before)) {
        rest = inner;
    }
    rest.into()
}

/// A tensor's values as they are stored.
struct Stored<'a> {
    place: &'a str,
    name: &'a str,
    dtype: Dtype,
    file: &'a Bytes,
    /// If they are in the file.
    bytes: Range<usize>,
}

impl Stored<'_> {
    /// Checks that the values are of a type that can be read.
    fn check_type(&self) -> Result<(), ModelError> {
        match self.dtype {
            Dtype::F32 | Dtype::F16 | Dtype::BF16 => Ok(()),
            other => Err(self.tensor_fault(format!(
                "has values of type {other:?}, expected F32, F16 or BF16; convert it"
            ))),
        }
    }

    /// Returns all values.
    ///
    /// # Errors
    /// If they are of another type than f32, f16 or bf16, one is NaN or infinite, or the file cannot be read.
    fn values(&self) -> Result<Vec<f32>, ModelError> {
        self.check_type()?;
        let mut values = vec![0.0; self.bytes.len() / self.bytes_per_value()];
        let pieces: Vec<_> = split_into_pieces(self.bytes.len())
            .zip(values.chunks_mut(PIECE / self.bytes_per_value()))
            .collect();
        first_fault(pieces.into_par_iter().map(|(piece, values)| self.read(piece, values)))?;
        Ok(values)
    }

    /// Bytes of a value.
    fn bytes_per_value(&self) -> usize {
        if self.dtype == Dtype::F32 { size_of::<f32>() } else { size_of::<u16>() }
    }

    /// The values in some of the tensor's bytes, as many as these bytes hold.
    fn read(&self, of: Range<usize>, values: &mut [f32]) -> Result<(), ModelError> {
        let bytes = self.file.get(self.bytes.start + of.start..self.bytes.start + of.end);
        let bytes = bytes.map_err(|error| self.tensor_fault(format!("cannot be read: {error}")))?;
        match self.dtype {
            Dtype::F32 => convert_bytes(&bytes, values, f32::from_le_bytes),
            Dtype::F16 => convert_bytes(&bytes, values, |two| f16::from_le_bytes(two).to_f32()),
            // BF16: there is no other.
            _ => convert_bytes(&bytes, values, |two| bf16::from_le_bytes(two).to_f32()),
        }
        match values.iter().find(|value| !value.is_finite()) {
            None => Ok(()),
            Some(value) => Err(self.tensor_fault(format!(
                "contains {value}; the weights are damaged or their training diverged"
            ))),
        }
    }

    fn tensor_fault(&self, reason: String) -> ModelError {
        ModelError::Weights { place: self.place.into(), reason: format!("`{}` {reason}", self.name) }
    }
}

impl ParameterSource for Checkpoint {
    fn has(&self, path: &str) -> bool {
        // Some families' sentence heads have a separate layer instead of the pooler.
        let unused = path.starts_with("pooler.") && self.naming.family.replaces_pooler();
        !unused && self.find_stored(path).is_some()
    }

    fn values(&self, path: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let (stored, transposed) = self.stored_tensor(path, shape)?;
        let values = stored.values()?;
        Ok(if transposed { transpose(&values, shape[1], shape[0]) } else { values })
    }

    fn rows(&self, path: &str, shape: [usize; 2], rows: &[u32]) -> Result<Vec<f32>, ModelError> {
        let (stored, _) = self.stored_tensor(path, &shape)?;
        stored.check_type()?;
        let width = stored.bytes.len() / shape[0].max(1);
        let mut out = vec![0.0; rows.len() * shape[1]];
        let rows = rows.par_iter().zip(out.par_chunks_mut(shape[1].max(1)));
        first_fault(rows.map(|(&row, values)| {
            let from = row as usize * width;
            stored.read(from..from + width, values)
        }))?;
        Ok(out)
    }
}

/// Returns the first fault in reading order, independent of the thread that finds one first.
fn first_fault(read: impl IndexedParallelIterator<Item = Result<(), ModelError>>) -> Result<(), ModelError> {
    read.find_first(Result::is_err).unwrap_or(Ok(()))
}

/// So many bytes in pieces.
fn split_into_pieces(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    (0..bytes).step_by(PIECE).map(move |from| from..bytes.min(from + PIECE))
}

fn convert_bytes<const N: usize>(bytes: &[u8], values: &mut [f32], of: impl Fn([u8; N]) -> f32) {
    values.iter_mut().zip(bytes.as_chunks().0).for_each(|(value, bytes)| *value = of(*bytes));
}

/// Fills a buffer from a place of a file.
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, at);
    #[cfg(windows)]
    {
        let mut filled = 0;
        while filled < buffer.len() {
            let place = at + filled as u64;
            match std::os::windows::fs::FileExt::seek_read(file, &mut buffer[filled..], place)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(())
    }
}

/// Returns the transpose of a row-major matrix.
pub(crate) fn transpose(values: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    /// Columns that are read together: a line of the cache.
    const TOGETHER: usize = 16;
    let mut out = vec![0.0; values.len()];
    out.par_chunks_mut(TOGETHER * rows.max(1)).zip(0..cols.div_ceil(TOGETHER)).for_each(|(out, part)| {
        for (row, values) in values.chunks_exact(cols).enumerate() {
            let values = &values[part * TOGETHER..cols.min((part + 1) * TOGETHER)];
            for (out, value) in out.chunks_exact_mut(rows).zip(values) {
                out[row] = *value;
            }
        }
    });
    out
}

fn on_disk(path: &Path) -> Result<Bytes, ModelError> {
    let file = open(path).map_err(|error| ModelError::Weights {
        place: path.display().to_string(),
        reason: error.reason.to_string(),
    })?;
    Ok(Bytes::OnDisk(file))
}

/// Returns the files that an index names, in the same folder, and the file's name for each tensor.
fn read_index(index: &Path) -> Result<(Vec<PathBuf>, BTreeMap<String, String>), ModelError> {
    let fail = |reason: String| ModelError::Weights { place: index.display().to_string(), reason };
    let text = read_text(index, MOST_INDEX).map_err(|error| fail(error.reason.to_string()))?;
    let file: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| fail(format!("not JSON: {error}")))?;
    let map = file
        .get("weight_map")
        .and_then(|map| map.as_object())
        .ok_or_else(|| fail("it has no `weight_map`; fetch it again".into()))?;
    let map: BTreeMap<String, String> = map
        .iter()
        .map(|(tensor, file)| match file.as_str() {
            Some(file) => Ok((tensor.clone(), file.to_string())),
            None => {
                Err(fail(format!("it has {file} for `{tensor}` in place of a file's name; fetch it again")))
            }
        })
        .collect::<Result<_, _>>()?;
    let mut names: Vec<&str> = map.values().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let inside = |name: &&str| {
        let mut parts = Path::new(name).components();
        matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !name.contains('\\')
    };
    if let Some(name) = names.iter().find(|name| !inside(name)) {
        return Err(fail(format!("it names {name:?}, which is not a file next to it; fetch it again")));
    }
    let files = names.into_iter().map(|name| index.with_file_name(name)).collect();
    Ok((files, map))
}
