//! Two tensors that are compared, and their elements in pieces.

use std::ops::Range;

use crate::CheckpointError;
use crate::tensor::{Tensor, Weights};

/// The two tensors to be compared.
#[derive(Clone, Copy)]
pub(super) struct TensorPair<'a> {
    pub before: (&'a dyn Weights, usize),
    pub after: (&'a dyn Weights, usize),
}

/// Buffers of a thread.
#[derive(Default)]
pub(super) struct Buffers {
    pub bytes: [Vec<u8>; 2],
    pub numbers: [Vec<f64>; 2],
}

impl<'a> TensorPair<'a> {
    /// Returns the tensors.
    pub fn both_tensors(self) -> [&'a Tensor; 2] {
        [self.before, self.after].map(|(weights, number)| &weights.tensors()[number])
    }

    /// Announces that a range of both tensors will be read soon.
    pub fn announce_range(self, elements: Range<u64>) {
        for (weights, number) in [self.before, self.after] {
            weights.announce(number, elements.clone());
        }
    }

    /// Reads a range of both tensors.
    pub fn read_range(self, elements: &Range<u64>, bytes: &mut [Vec<u8>; 2]) -> Result<(), CheckpointError> {
        for (((weights, number), tensor), bytes) in
            [self.before, self.after].iter().zip(self.both_tensors()).zip(bytes)
        {
            bytes.resize((elements.end - elements.start) as usize * tensor.dtype.width(), 0);
            weights.read(*number, elements.clone(), bytes)?;
        }
        Ok(())
    }

    /// Returns both tensors' numbers in a range.
    pub fn read_numbers(self, elements: Range<u64>) -> Result<[Vec<f64>; 2], CheckpointError> {
        let mut buffers = Buffers::default();
        self.read_range(&elements, &mut buffers.bytes)?;
        self.decode_bytes(&mut buffers);
        Ok(buffers.numbers)
    }

    /// Converts the bytes in the buffers to numbers.
    pub fn decode_bytes(self, buffers: &mut Buffers) {
        for ((tensor, bytes), numbers) in
            self.both_tensors().iter().zip(&buffers.bytes).zip(&mut buffers.numbers)
        {
            tensor.dtype.decode_values(bytes, numbers);
        }
    }
}
