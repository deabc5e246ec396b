//! A named tensor: its type, its shape, and the place of its elements.

use std::collections::HashMap;
use std::ops::Range;

use crate::source::Disk;
use crate::{CheckpointError, DType};

/// A list of named tensors whose elements can be read in pieces. A checkpoint on disk is one; a program can provide another, such
/// as a state dict in memory.
pub trait Weights: Sync {
    /// Returns the name of the whole in errors and reports.
    fn place(&self) -> &str;

    /// Returns the tensors.
    fn tensors(&self) -> &[Tensor];

    /// Fills `bytes` with a range of a tensor's elements in row-major order, little-endian.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read(&self, tensor: usize, elements: Range<u64>, bytes: &mut [u8]) -> Result<(), CheckpointError>;

    /// Announces that a range of a tensor's elements will be read soon. Files can be read ahead of the computation.
    fn announce(&self, _tensor: usize, _elements: Range<u64>) {}
}

/// A tensor without its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The name in the file.
    pub name: String,
    /// The type of the elements.
    pub dtype: DType,
    /// The sizes of the dimensions.
    pub shape: Vec<u64>,
    /// Whether it is a buffer and no parameter, if the file records it.
    pub is_buffer: Option<bool>,
    /// The storage with its offset. Two tensors with the same storage are tied.
    pub storage: Option<(u64, u64)>,
    /// The places of the elements in files; empty for a tensor that is in memory.
    pub(crate) chunks: Vec<Chunk>,
}

/// A box of a tensor's elements that is in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The index of the file.
    pub file: usize,
    /// The byte of the first element.
    pub at: u64,
    /// The index in the tensor at which the box begins.
    pub offsets: Vec<u64>,
    /// The sizes of the box.
    pub sizes: Vec<u64>,
    /// Distances between elements, in elements; `None` for row-major order without gaps.
    pub strides: Option<Vec<u64>>,
}

/// The largest number of elements of a tensor whose elements share memory, as after `expand`. Each byte of other tensors is in the
/// file.
const MOST_REPEATED: u64 = 1 << 28;

impl Tensor {
    /// Describes a tensor whose elements its [`Weights`] provides.
    #[must_use]
    pub fn new(name: impl Into<String>, dtype: DType, shape: Vec<u64>) -> Self {
        Self { name: name.into(), dtype, shape, is_buffer: None, storage: None, chunks: Vec::new() }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.shape.iter().product()
    }
}

/// Returns the number of elements of a shape; `None` beyond 2⁶³ bytes.
pub(crate) fn count(shape: &[u64], dtype: DType) -> Option<u64> {
    // A 0 anywhere must not hide an overflow.
    let all = shape.iter().try_fold(1u64, |product, size| product.checked_mul((*size).max(1)))?;
    all.checked_mul(dtype.width() as u64).filter(|bytes| *bytes < 1 << 63)?;
    Some(shape.iter().product())
}

impl Chunk {
    /// A chunk that is the whole tensor, checked against the bytes that its storage has.
    ///
    /// # Errors
    /// If an element is outside of the storage.
    pub fn whole(
        file: usize,
        storage: Range<u64>,
        offset: u64,
        dtype: DType,
        shape: &[u64],
        strides: &[u64],
    ) -> Result<Self, String> {
        let width = dtype.width() as u64;
        let count = count(shape, dtype).ok_or_else(|| format!("its shape {shape:?} is too large"))?;
        if strides.len() != shape.len() {
            return Err(format!("it has {} dimensions and {} strides", shape.len(), strides.len()));
        }
        let last = shape.iter().zip(strides).try_fold(offset, |last, (size, stride)| {
            size.saturating_sub(1).checked_mul(*stride).and_then(|far| last.checked_add(far))
        });
        let end = last.and_then(|last| last.checked_add(1)?.checked_mul(width));
        let room = storage.end - storage.start;
        if count > 0 && end.is_none_or(|end| end > room) {
            return Err(format!(
                "its elements reach beyond its storage of {room} bytes; the file is damaged, copy it again"
            ));
        }
        let strides = (!is_contiguous(shape, strides)).then(|| strides.to_vec());
        if strides.is_some() && count > MOST_REPEATED.max(room / width) {
            return Err(format!(
                "its {count} elements repeat a storage of {room} bytes; save it with `.contiguous()`"
            ));
        }
        let at = if count == 0 { storage.start } else { storage.start + offset * width };
        Ok(Self { file, at, offsets: vec![0; shape.len()], sizes: shape.to_vec(), strides })
    }

    /// Returns whether an index of the tensor is in the box.
    fn contains(&self, index: &[u64]) -> bool {
        let inside = |((at, from), size): ((&u64, &u64), &u64)| *at >= *from && *at - *from < *size;
        index.iter().zip(&self.offsets).zip(&self.sizes).all(inside)
    }
}

/// Returns whether elements are in row-major order without gaps.
fn is_contiguous(shape: &[u64], strides: &[u64]) -> bool {
    let mut expected = 1;
    shape.contains(&0)
        || shape.iter().zip(strides).rev().all(|(size, stride)| {
            let right = *size == 1 || *stride == expected;
            expected *= size;
            right
        })
}

/// Reads a range of a tensor's elements from its chunks.
///
/// # Errors
/// If a file cannot be read, or no chunk has an element.
pub(crate) fn read_chunks(
    files: &[Disk],
    tensor: &Tensor,
    elements: Range<u64>,
    bytes: &mut [u8],
) -> Result<(), CheckpointError> {
    let width = tensor.dtype.width();
    let (mut at, mut filled) = (elements.start, 0);
    let mut blocks = Blocks::default();
    while at < elements.end {
        let index = unravel(at, &tensor.shape);
        let Some(chunk) = tensor.chunks.iter().find(|chunk| chunk.contains(&index)) else {
            let (name, places) = (&tensor.name, tensor.chunks.len());
            let place = tensor
                .chunks
                .first()
                .map_or("checkpoint".into(), |chunk| files[chunk.file].path().display().to_string());
            return Err(CheckpointError::new(
                place,
                format!(
                    "`{name}` has {places} parts, and none has its element {index:?}; copy the folder again"
                ),
            ));
        };
        let (local, run) = run_of(chunk, &index, &tensor.shape);
        let run = run.min(elements.end - at);
        let part = &mut bytes[filled..filled + run as usize * width];
        let file = &files[chunk.file];
        match &chunk.strides {
            None => file.fill_at(chunk.at + local * width as u64, part)?,
            Some(strides) => {
                for (step, element) in part.chunks_exact_mut(width).enumerate() {
                    let index = unravel(local + step as u64, &chunk.sizes);
                    let far: u64 = index.iter().zip(strides).map(|(at, stride)| at * stride).sum();
                    blocks.read(file, chunk.file, chunk.at + far * width as u64, element)?;
                }
            }
        }
        at += run;
        filled += run as usize * width;
    }
    Ok(())
}

/// Returns the index of an element, from its position in row-major order.
fn unravel(mut position: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (at, size) in index.iter_mut().zip(shape).rev() {
        *at = position % (*size).max(1);
        position /= (*size).max(1);
    }
    index
}

/// Returns the position of an element within a chunk, and how many elements from there on follow one another in the tensor too.
fn run_of(chunk: &Chunk, index: &[u64], shape: &[u64]) -> (u64, u64) {
    let local: Vec<u64> = index.iter().zip(&chunk.offsets).map(|(at, from)| at - from).collect();
    let position = local.iter().zip(&chunk.sizes).fold(0, |sum, (at, size)| sum * size + at);
    // Dimensions after this one are complete in the chunk.
    let complete = shape.iter().zip(&chunk.sizes).rev().take_while(|(all, size)| all == size).count();
    let first = shape.len().saturating_sub(complete + 1);
    let run: u64 = chunk.sizes[first..].iter().product();
    (position, run - position % run.max(1))
}

/// Blocks of a file that were read for elements with gaps between them. Neighbours in memory are often needed soon after.
#[derive(Default)]
struct Blocks {
    read: HashMap<(usize, u64), Vec<u8>>,
}

impl Blocks {
    /// Bytes of a block.
    const BYTES: u64 = 4 << 10;
    /// The most blocks that are kept.
    const MOST: usize = 4 << 10;

    /// Fills a buffer of at most one element.
    fn read(&mut self, file: &Disk, number: usize, at: u64, out: &mut [u8]) -> Result<(), CheckpointError> {
        let block = at / Self::BYTES;
        let end = (block + 1) * Self::BYTES;
        // An element at an odd offset can be in two blocks.
        if at + out.len() as u64 > end {
            return file.fill_at(at, out);
        }
        if !self.read.contains_key(&(number, block)) {
            if self.read.len() == Self::MOST {
                self.read.clear();
            }
            let start = block * Self::BYTES;
            let bytes = file.bytes(start, (end.min(file.byte_length()) - start) as usize)?;
            self.read.insert((number, block), bytes);
        }
        let from = (at % Self::BYTES) as usize;
        let bytes = self.read[&(number, block)].get(from..from + out.len());
        out.copy_from_slice(bytes.ok_or_else(|| file.file_fault(format!("it ends before byte {at}")))?);
        Ok(())
    }
}
