//! A constant of a graph: its values, and their bytes in a file.

use std::io::{self, Write};

/// A constant.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub name: String,
    pub shape: Vec<usize>,
    pub data: Data,
}

/// The values of a constant, row by row.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    F32(Vec<f32>),
    I64(Vec<i64>),
    I32(Vec<i32>),
    I8(Vec<i8>),
}

/// The type of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    I64,
    I32,
    I8,
}

impl Kind {
    /// Returns the type's number in files.
    pub const fn code(self) -> i32 {
        match self {
            Self::F32 => 1,
            Self::I8 => 3,
            Self::I32 => 6,
            Self::I64 => 7,
        }
    }

    /// Returns the size of an element in bytes.
    const fn width(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::F32 | Self::I32 => 4,
            Self::I64 => 8,
        }
    }
}

impl Data {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::F32(_) => Kind::F32,
            Self::I64(_) => Kind::I64,
            Self::I32(_) => Kind::I32,
            Self::I8(_) => Kind::I8,
        }
    }

    /// Returns the number of values.
    const fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I8(values) => values.len(),
        }
    }
}

impl Tensor {
    /// Returns the size of the values in a file.
    ///
    /// # Units
    /// Bytes.
    pub const fn bytes(&self) -> usize {
        self.data.len() * self.data.kind().width()
    }

    /// Writes the values in little-endian order.
    pub fn write_values(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.data {
            Data::F32(values) => write_pieces(values, |value| value.to_le_bytes(), out),
            Data::I64(values) => write_pieces(values, |value| value.to_le_bytes(), out),
            Data::I32(values) => write_pieces(values, |value| value.to_le_bytes(), out),
            Data::I8(values) => write_pieces(values, |value| value.to_le_bytes(), out),
        }
    }
}

/// Values that become bytes at once: a word table can be large.
const PIECE: usize = 1 << 16;

fn write_pieces<T: Copy, const N: usize>(
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(PIECE.min(values.len()) * N);
    for piece in values.chunks(PIECE) {
        buffer.clear();
        buffer.extend(piece.iter().flat_map(|value| bytes(*value)));
        out.write_all(&buffer)?;
    }
    Ok(())
}
