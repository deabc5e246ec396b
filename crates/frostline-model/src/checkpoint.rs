//! Weights in safetensors files, as Hugging Face stores them: f32, f16 or bf16, whole or sharded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::names::sentence_name;
use crate::{EncoderConfig, Family, ModelError, ParameterSource, hugging_face_name};

/// An opened set of weights.
pub struct Checkpoint {
    family: Family,
    place: String,
    files: Vec<Bytes>,
    /// Tensor name to its file.
    index: HashMap<String, usize>,
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
    /// If a file is missing or is not a safetensors file.
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
        let mut index = HashMap::new();
        for (number, file) in files.iter().enumerate() {
            let tensors = SafeTensors::deserialize(file.get()).map_err(|error| ModelError::Weights {
                place: place.clone(),
                reason: format!("not a safetensors file ({error}); fetch it again"),
            })?;
            index.extend(tensors.names().into_iter().map(|name| (name.to_string(), number)));
        }
        Ok(Self { family, place, files, index })
    }

    /// Checks that every parameter of an encoder exists with the shape that its config implies,
    /// without reading values.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape; the error names the first one.
    pub fn check(&self, config: &EncoderConfig) -> Result<(), ModelError> {
        let parameters = config.parameters(&[]);
        parameters.iter().try_for_each(|(path, shape)| self.with(path, shape, |_, _| Ok(())))
    }

    /// The name under which a parameter is stored: with or without the family's prefix, with the older
    /// names of LayerNorm's parameters, or with the names of a sentence head.
    fn find(&self, path: &str) -> Option<String> {
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
        names.into_iter().find(|name| self.index.contains_key(name))
    }

    /// Calls `read` with a tensor after checking its shape.
    fn with<T>(
        &self,
        path: &str,
        shape: &[usize],
        read: impl FnOnce(&TensorView<'_>, bool) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let (canonical, transposed) = hugging_face_name(self.family, path);
        let name = self
            .find(path)
            .ok_or_else(|| ModelError::Missing { place: self.place.clone(), name: canonical })?;
        let file = SafeTensors::deserialize(self.files[self.index[&name]].get())
            .map_err(|error| ModelError::Weights { place: self.place.clone(), reason: error.to_string() })?;
        let view = file.tensor(&name).map_err(|error| ModelError::Weights {
            place: self.place.clone(),
            reason: format!("`{name}`: {error}"),
        })?;
        let mut expected = shape.to_vec();
        if transposed {
            expected.reverse();
        }
        if view.shape() != expected {
            let found = view.shape().to_vec();
            return Err(ModelError::Shape { place: self.place.clone(), name, found, expected });
        }
        read(&view, transposed)
    }

    fn floats(&self, dtype: Dtype, bytes: &[u8]) -> Result<Vec<f32>, ModelError> {
        Ok(match dtype {
            Dtype::F32 => {
                bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            }
            Dtype::F16 => bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
            Dtype::BF16 => {
                bytes.chunks_exact(2).map(|b| bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
            }
            other => {
                return Err(ModelError::Weights {
                    place: self.place.clone(),
                    reason: format!(
                        "found values of type {other:?}, expected F32, F16 or BF16; convert the weights"
                    ),
                });
            }
        })
    }
}

impl ParameterSource for Checkpoint {
    fn has(&self, path: &str) -> bool {
        // RoBERTa's sentence heads have a layer of their own instead of the pooler.
        let unused = self.family == Family::Roberta && path.starts_with("pooler.");
        !unused && self.find(path).is_some()
    }

    fn values(&self, path: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        self.with(path, shape, |view, transposed| {
            let values = self.floats(view.dtype(), view.data())?;
            Ok(if transposed { transpose(&values, shape[1], shape[0]) } else { values })
        })
    }

    fn rows(&self, path: &str, shape: [usize; 2], rows: &[u32]) -> Result<Vec<f32>, ModelError> {
        self.with(path, &shape, |view, _| {
            let width = view.data().len() / shape[0].max(1);
            let mut out = Vec::with_capacity(rows.len() * shape[1]);
            for &row in rows {
                out.extend(self.floats(view.dtype(), &view.data()[row as usize * width..][..width])?);
            }
            Ok(out)
        })
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
    let fail = |error: std::io::Error| ModelError::Weights {
        place: path.display().to_string(),
        reason: format!("cannot be read: {error}"),
    };
    let file = std::fs::File::open(path).map_err(fail)?;
    // SAFETY: the map is only read. If another program shrank the file meanwhile, the process would
    // end with a bus error; weights files are not edited in place.
    Ok(Bytes::Mapped(unsafe { Mmap::map(&file) }.map_err(fail)?))
}

/// The files that an index names, in the same folder.
fn shards(index: &Path) -> Result<Vec<PathBuf>, ModelError> {
    let fail = |reason: String| ModelError::Weights { place: index.display().to_string(), reason };
    let text = std::fs::read_to_string(index).map_err(|error| fail(format!("cannot be read: {error}")))?;
    let file: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| fail(format!("not JSON: {error}")))?;
    let map = file
        .get("weight_map")
        .and_then(|map| map.as_object())
        .ok_or_else(|| fail("it has no `weight_map`; fetch it again".into()))?;
    let mut names: Vec<&str> = map.values().filter_map(|name| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names.into_iter().map(|name| index.with_file_name(name)).collect())
}
