//! Weights in safetensors files, as Hugging Face stores them: f32, f16 or bf16, whole or sharded.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use frostline_files::{open, read_text};
use half::{bf16, f16};
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};

use crate::names::sentence_name;
use crate::{EncoderConfig, Family, ModelError, ParameterSource, hugging_face_name};

/// The largest index of shards that is read; those of the largest models have a few MiB.
///
/// # Units
/// Bytes.
const MOST_INDEX: u64 = 64 << 20;

/// An opened set of weights.
pub struct Checkpoint {
    family: Family,
    place: String,
    files: Vec<Bytes>,
    tensors: HashMap<String, Tensor>,
}

/// Where a tensor's values are.
struct Tensor {
    /// The number of its file.
    file: usize,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Bytes of the file.
    bytes: Range<usize>,
}

enum Bytes {
    Mapped(Mmap),
    Held(&'static [u8]),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Held(bytes) => bytes,
        }
    }
}

impl Checkpoint {
    /// Opens `model.safetensors`, or the shards beside a `model.safetensors.index.json`.
    ///
    /// # Errors
    /// If a file is missing or is not a safetensors file, or an index names a file outside its folder.
    pub fn open(path: &Path, family: Family) -> Result<Self, ModelError> {
        let files = if path.extension().is_some_and(|extension| extension == "json") {
            shards(path)?
        } else {
            vec![path.to_path_buf()]
        };
        let mapped = files.iter().map(|file| map(file)).collect::<Result<Vec<_>, _>>()?;
        Self::index(mapped, family, path.display().to_string())
    }

    /// Opens weights that are embedded in the program; `place` names them in errors.
    ///
    /// # Errors
    /// If the bytes are not a safetensors file.
    pub fn embedded(bytes: &'static [u8], family: Family, place: &str) -> Result<Self, ModelError> {
        Self::index(vec![Bytes::Held(bytes)], family, place.into())
    }

    fn index(files: Vec<Bytes>, family: Family, place: String) -> Result<Self, ModelError> {
        let mut tensors = HashMap::new();
        for (number, file) in files.iter().enumerate() {
            // This also checks that the tensors fill exactly the rest of the file.
            let (header, about) =
                SafeTensors::read_metadata(file.get()).map_err(|error| ModelError::Weights {
                    place: place.clone(),
                    reason: format!("not a safetensors file ({error}); fetch it again"),
                })?;
            // The header's length comes before it.
            let start = size_of::<u64>() + header;
            for (name, about) in about.tensors() {
                let (from, to) = about.data_offsets;
                let bytes = start + from..start + to;
                let tensor = Tensor { file: number, dtype: about.dtype, shape: about.shape.clone(), bytes };
                tensors.insert(name, tensor);
            }
        }
        Ok(Self { family, place, files, tensors })
    }

    /// Checks that every parameter of an encoder exists with the shape that its config implies and a type that can be
    /// read, without reading values.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape or type; the error names the first one.
    pub fn check_shapes(&self, config: &EncoderConfig) -> Result<(), ModelError> {
        let parameters = config.parameters(&[]);
        parameters.iter().try_for_each(|(path, shape)| self.tensor(path, shape)?.0.check_type())
    }

    /// Checks the same, and that all values are finite.
    ///
    /// # Errors
    /// As for [`Self::check_shapes`]; also if a tensor contains NaN or infinity.
    pub fn check(&self, config: &EncoderConfig) -> Result<(), ModelError> {
        self.check_shapes(config)?;
        let parameters = config.parameters(&[]);
        parameters.iter().try_for_each(|(path, shape)| {
            let (stored, _) = self.tensor(path, shape)?;
            // In pieces, since a table of words can be large.
            stored.bytes.chunks(1 << 20).try_for_each(|piece| stored.values(piece).map(|_| ()))
        })
    }

    /// The name under which a parameter is stored: with or without the family's prefix, with the older
    /// names of LayerNorm's parameters, or with the names of a sentence head.
    fn find(&self, path: &str) -> Option<(&String, &Tensor)> {
        let (name, _) = hugging_face_name(self.family, path);
        let bare = name.split_once('.').map(|(_, rest)| rest.to_string()).unwrap_or_default();
        let old = |name: &str| {
            let stem = name.strip_suffix("LayerNorm.weight").map(|stem| format!("{stem}LayerNorm.gamma"));
            stem.or_else(|| name.strip_suffix("LayerNorm.bias").map(|stem| format!("{stem}LayerNorm.beta")))
        };
        let mut names = vec![name.clone()];
        if !path.starts_with("head") {
            names.push(bare);
        }
        names.extend(sentence_name(self.family, &name));
        names.extend(names.clone().iter().filter_map(|name| old(name)));
        names.iter().find_map(|name| self.tensors.get_key_value(name))
    }

    /// A parameter's tensor of the expected shape, and whether it is stored transposed.
    fn tensor(&self, path: &str, shape: &[usize]) -> Result<(Stored<'_>, bool), ModelError> {
        let (canonical, transposed) = hugging_face_name(self.family, path);
        let (name, tensor) = self
            .find(path)
            .ok_or_else(|| ModelError::Missing { place: self.place.clone(), name: canonical })?;
        let mut expected = shape.to_vec();
        if transposed {
            expected.reverse();
        }
        if tensor.shape != expected {
            let (place, name, found) = (self.place.clone(), name.clone(), tensor.shape.clone());
            return Err(ModelError::Shape { place, name, found, expected });
        }
        let bytes = &self.files[tensor.file].get()[tensor.bytes.clone()];
        Ok((Stored { place: &self.place, name, dtype: tensor.dtype, bytes }, transposed))
    }
}

/// A tensor's values as they are stored.
struct Stored<'a> {
    place: &'a str,
    name: &'a str,
    dtype: Dtype,
    bytes: &'a [u8],
}

impl Stored<'_> {
    /// Checks that the values are of a type that can be read.
    fn check_type(&self) -> Result<(), ModelError> {
        match self.dtype {
            Dtype::F32 | Dtype::F16 | Dtype::BF16 => Ok(()),
            other => {
                Err(self
                    .fault(format!("has values of type {other:?}, expected F32, F16 or BF16; convert it")))
            }
        }
    }

    /// The values in some of the bytes.
    ///
    /// # Errors
    /// If they are of another type than f32, f16 or bf16, or one is NaN or infinite.
    fn values(&self, bytes: &[u8]) -> Result<Vec<f32>, ModelError> {
        self.check_type()?;
        let values: Vec<f32> = match self.dtype {
            Dtype::F32 => bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect(),
            Dtype::F16 => bytes.as_chunks().0.iter().map(|two| f16::from_le_bytes(*two).to_f32()).collect(),
            // BF16: there is no other.
            _ => bytes.as_chunks().0.iter().map(|two| bf16::from_le_bytes(*two).to_f32()).collect(),
        };
        match values.iter().find(|value| !value.is_finite()) {
            None => Ok(values),
            Some(value) => {
                Err(self
                    .fault(format!("contains {value}; the weights are damaged or their training diverged")))
            }
        }
    }

    fn fault(&self, reason: String) -> ModelError {
        ModelError::Weights { place: self.place.into(), reason: format!("`{}` {reason}", self.name) }
    }
}

impl ParameterSource for Checkpoint {
    fn has(&self, path: &str) -> bool {
        // RoBERTa's sentence heads have a layer of their own instead of the pooler.
        let unused = self.family == Family::Roberta && path.starts_with("pooler.");
        !unused && self.find(path).is_some()
    }

    fn values(&self, path: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let (stored, transposed) = self.tensor(path, shape)?;
        let values = stored.values(stored.bytes)?;
        Ok(if transposed { transpose(&values, shape[1], shape[0]) } else { values })
    }

    fn rows(&self, path: &str, shape: [usize; 2], rows: &[u32]) -> Result<Vec<f32>, ModelError> {
        let (stored, _) = self.tensor(path, &shape)?;
        let width = stored.bytes.len() / shape[0].max(1);
        let mut out = Vec::with_capacity(rows.len() * shape[1]);
        for &row in rows {
            out.extend(stored.values(&stored.bytes[row as usize * width..][..width])?);
        }
        Ok(out)
    }
}

/// The transpose of a row-major matrix.
pub(crate) fn transpose(values: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let mut out = vec![0.0; values.len()];
    for row in 0..rows {
        for col in 0..cols {
            out[col * rows + row] = values[row * cols + col];
        }
    }
    out
}

fn map(path: &Path) -> Result<Bytes, ModelError> {
    let place = || path.display().to_string();
    let file = open(path)
        .map_err(|error| ModelError::Weights { place: place(), reason: error.reason.to_string() })?;
    // SAFETY: the map is only read. If another program shrank the file meanwhile, the process would
    // end with a bus error; weights files are not edited in place.
    let map = unsafe { Mmap::map(&file) };
    map.map(Bytes::Mapped).map_err(|error| ModelError::Weights { place: place(), reason: error.to_string() })
}

/// The files that an index names, in the same folder.
fn shards(index: &Path) -> Result<Vec<PathBuf>, ModelError> {
    let fail = |reason: String| ModelError::Weights { place: index.display().to_string(), reason };
    let text = read_text(index, MOST_INDEX).map_err(|error| fail(error.reason.to_string()))?;
    let file: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| fail(format!("not JSON: {error}")))?;
    let map = file
        .get("weight_map")
        .and_then(|map| map.as_object())
        .ok_or_else(|| fail("it has no `weight_map`; fetch it again".into()))?;
    let mut names: Vec<&str> = map.values().filter_map(|name| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let inside = |name: &&str| {
        let mut parts = Path::new(name).components();
        matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !name.contains('\\')
    };
    if let Some(name) = names.iter().find(|name| !inside(name)) {
        return Err(fail(format!("it names {name:?}, which is not a file beside it; fetch it again")));
    }
    Ok(names.into_iter().map(|name| index.with_file_name(name)).collect())
}
