//! The types of tensors' elements: names, widths, and conversion to numbers that can be compared.

use half::{bf16, f16};
use serde::{Serialize, Serializer};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the types")]
pub enum DType {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F8E4M3,
    F8E5M2,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
    /// A type whose numbers are not decoded, with its width in bytes. Such tensors are compared byte by byte.
    Raw(u8),
}

impl DType {
    /// Returns the number of bytes of an element.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 | Self::F8E4M3 | Self::F8E5M2 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
            Self::Raw(width) => width as usize,
        }
    }

    /// Returns the name as safetensors writes it, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F8E4M3 => "f8_e4m3",
            Self::F8E5M2 => "f8_e5m2",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C64 => "c64",
            Self::C128 => "c128",
            Self::Raw(_) => "raw",
        }
    }

    /// Returns whether the elements are real floating-point numbers, which an optimiser can change.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F8E4M3 | Self::F8E5M2 | Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// Returns whether [`Self::decode_values`] gives the elements as numbers.
    #[must_use]
    pub const fn has_numbers(self) -> bool {
        !matches!(self, Self::F8E4M3 | Self::F8E5M2 | Self::C64 | Self::C128 | Self::Raw(_))
    }

    /// Returns half the distance between 1 and the next larger number: the relative error of rounding.
    #[must_use]
    pub const fn rounding_error(self) -> f64 {
        match self {
            Self::F16 => 1.0 / 2048.0,
            Self::BF16 => 1.0 / 256.0,
            Self::F32 => f32::EPSILON as f64 / 2.0,
            _ => f64::EPSILON / 2.0,
        }
    }

    /// Returns a number as PyTorch converts it to this type, by way of f32, for the floating-point types with [`Self::has_numbers`].
    #[must_use]
    pub fn round_value(self, value: f64) -> f64 {
        match self {
            Self::F16 => f16::from_f32(value as f32).to_f64(),
            Self::BF16 => bf16::from_f32(value as f32).to_f64(),
            Self::F32 => f64::from(value as f32),
            _ => value,
        }
    }

    /// Replaces the contents of `values` by the elements in `bytes`, little-endian. Integers of 64 bits are rounded to the
    /// nearest number that f64 has.
    pub fn decode_values(self, bytes: &[u8], values: &mut Vec<f64>) {
        fn decode_each<const N: usize>(
            bytes: &[u8],
            values: &mut Vec<f64>,
            convert: impl Fn([u8; N]) -> f64,
        ) {
            values.clear();
            values.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| convert(*bytes)));
        }
        match self {
            Self::Bool | Self::U8 => decode_each(bytes, values, |[byte]| f64::from(byte)),
            Self::I8 => decode_each(bytes, values, |byte| f64::from(i8::from_le_bytes(byte))),
            Self::U16 => decode_each(bytes, values, |two| f64::from(u16::from_le_bytes(two))),
            Self::I16 => decode_each(bytes, values, |two| f64::from(i16::from_le_bytes(two))),
            Self::U32 => decode_each(bytes, values, |four| f64::from(u32::from_le_bytes(four))),
            Self::I32 => decode_each(bytes, values, |four| f64::from(i32::from_le_bytes(four))),
            Self::U64 => decode_each(bytes, values, |eight| u64::from_le_bytes(eight) as f64),
            Self::I64 => decode_each(bytes, values, |eight| i64::from_le_bytes(eight) as f64),
            Self::F16 => decode_each(bytes, values, |two| f16::from_le_bytes(two).to_f64()),
            Self::BF16 => decode_each(bytes, values, |two| bf16::from_le_bytes(two).to_f64()),
            Self::F32 => decode_each(bytes, values, |four| f64::from(f32::from_le_bytes(four))),
            Self::F64 => decode_each(bytes, values, f64::from_le_bytes),
            Self::F8E4M3 | Self::F8E5M2 | Self::C64 | Self::C128 | Self::Raw(_) => values.clear(),
        }
    }
}

impl Serialize for DType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
