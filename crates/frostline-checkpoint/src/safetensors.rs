//! The header of a safetensors file.

use std::collections::BTreeMap;

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use crate::source::Disk;
use crate::tensor::{Chunk, Tensor};
use crate::{CheckpointError, DType};

/// The largest header that is read: the format's own limit.
///
/// # Units
/// Bytes.
const MOST_HEADER: u64 = 100_000_000;

/// Returns a file's tensors, in the order of their bytes, and the notes in its header.
///
/// # Errors
/// If the file is not safetensors, or its tensors do not fill it.
pub(crate) fn read_header(
    file: &Disk,
    number: usize,
) -> Result<(Vec<Tensor>, BTreeMap<String, String>), CheckpointError> {
    const BEFORE: u64 = size_of::<u64>() as u64;
    let wrong =
        |reason: String| file.file_fault(format!("not a safetensors file ({reason}); copy or save it again"));
    if file.byte_length() < BEFORE {
        return Err(wrong("it ends before the header".into()));
    }
    let mut length = [0; BEFORE as usize];
    file.fill_at(0, &mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MOST_HEADER.min(file.byte_length() - BEFORE) {
        return Err(wrong("it does not begin with the length of a header".into()));
    }
    let start = BEFORE + length;
    let header = file.bytes(BEFORE, length as usize)?;
    let about: Metadata = serde_json::from_slice(&header).map_err(|error| wrong(error.to_string()))?;
    let end = about.tensors().values().map(|about| about.data_offsets.1).max().unwrap_or(0) as u64;
    if start.checked_add(end) != Some(file.byte_length()) {
        let reason = format!("its tensors end at byte {}, the file at {}", start + end, file.byte_length());
        return Err(wrong(reason));
    }
    let mut all: Vec<_> = about.tensors().into_iter().collect();
    all.sort_by(|(a, left), (b, right)| (left.data_offsets, a).cmp(&(right.data_offsets, b)));
    let tensors = all.into_iter().map(|(name, about)| {
        let shape: Vec<u64> = about.shape.iter().map(|size| *size as u64).collect();
        let (dtype, at) = (element_type(about.dtype), start + about.data_offsets.0 as u64);
        // Types with several elements to a byte are read as bytes.
        let shape = match dtype {
            Some(_) => shape,
            None => vec![(about.data_offsets.1 - about.data_offsets.0) as u64],
        };
        let chunk =
            Chunk { file: number, at, offsets: vec![0; shape.len()], sizes: shape.clone(), strides: None };
        let mut tensor = Tensor::new(name, dtype.unwrap_or(DType::Raw(1)), shape);
        tensor.storage = Some((number as u64, at));
        tensor.chunks = vec![chunk];
        tensor
    });
    let notes = about.metadata().clone().unwrap_or_default().into_iter().collect();
    Ok((tensors.collect(), notes))
}

/// Returns the type of a tensor whose elements have whole bytes.
fn element_type(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::BOOL => DType::Bool,
        Dtype::U8 => DType::U8,
        Dtype::I8 => DType::I8,
        Dtype::U16 => DType::U16,
        Dtype::I16 => DType::I16,
        Dtype::U32 => DType::U32,
        Dtype::I32 => DType::I32,
        Dtype::U64 => DType::U64,
        Dtype::I64 => DType::I64,
        Dtype::F8_E4M3 => DType::F8E4M3,
        Dtype::F8_E5M2 => DType::F8E5M2,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::C64 => DType::C64,
        _ => return None,
    })
}
