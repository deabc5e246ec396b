//! Two tensors that are compared, and their elements in pieces.

use std::ops::Range;

use crate::CheckpointError;
use crate::tensor::{Tensor, Weights};

/// The two tensors to be compared.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub before: (&'a dyn Weights, usize),
    pub after: (&'a dyn Weights, usize),
}

/// Buffers of a thread.
#[derive(Default)]
pub(super) struct Buffers {
    pub bytes: [Vec<u8>; 2],
    pub numbers: [Vec<f64>; 2],
}

impl<'a> Pair<'a> {
    /// Returns the tensors.
    pub fn tensors(self) -> [&'a Tensor; 2] {
        [self.before, self.after].map(|(weights, number)| &weights.tensors()[number])
    }

    /// Announces that a range of both tensors will be read soon.
    pub fn announce(self, elements: Range<u64>) {
        for (weights, number) in [self.before, self.after] {
            weights.announce(number, elements.clone());
        }
    }

    /// Reads a range of both tensors.
    pub fn read(self, elements: &Range<u64>, bytes: &mut [Vec<u8>; 2]) -> Result<(), CheckpointError> {
        for (((weights, number), tensor), bytes) in
            [self.before, self.after].iter().zip(self.tensors()).zip(bytes)
        {
            bytes.resize((elements.end - elements.start) as usize * tensor.dtype.width(), 0);
            weights.read(*number, elements.clone(), bytes)?;
        }
        Ok(())
    }

    /// Returns both tensors' numbers in a range.
    pub fn numbers(self, elements: Range<u64>) -> Result<[Vec<f64>; 2], CheckpointError> {
        let mut buffers = Buffers::default();
        self.read(&elements, &mut buffers.bytes)?;
        self.decode(&mut buffers);
        Ok(buffers.numbers)
    }

    /// Converts the bytes in the buffers to numbers.
    pub fn decode(self, buffers: &mut Buffers) {
        for ((tensor, bytes), numbers) in self.tensors().iter().zip(&buffers.bytes).zip(&mut buffers.numbers)
        {
            tensor.dtype.decode(bytes, numbers);
        }
    }
}
