//! AdamW updates that are computed parameter by parameter, in the background and by whoever reads one.
//!
//! An update reads and writes memory and hardly computes, so it costs less while other threads compute products, which hardly
//! read memory, than before them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::prelude::*;

use super::adamw::{Step, StepConstants};
use super::tensors::{data, wrap};
use crate::Deferred;

/// An update: its constants, the gradient, and the parameter and its two moments in buffers of their own.
pub type Ready = (StepConstants, FlexTensor, [FlexTensor; 3]);

/// Updates of parameters, in the order in which they are computed.
pub struct Updates {
    all: Vec<Mutex<State>>,
    /// How many were begun.
    begun: AtomicUsize,
}

/// The tensors of an update, a parameter and its moments with buffers of their own.
struct State {
    parameter: FlexTensor,
    /// Until they are taken.
    moments: Option<[FlexTensor; 2]>,
    /// Until it is computed.
    due: Option<(StepConstants, FlexTensor)>,
}

impl Updates {
    /// Those of these parameters.
    ///
    /// # Panics
    /// If a parameter, its gradient and its moments differ in size.
    pub fn new(all: impl Iterator<Item = Ready>) -> Self {
        let one = |(constants, gradient, [parameter, first, second]): Ready| {
            let sizes = [&gradient, &first, &second].map(|tensor| data(tensor).len());
            assert_eq!(sizes, [data(&parameter).len(); 3], "a gradient, its moments and their parameter");
            Mutex::new(State { parameter, moments: Some([first, second]), due: Some((constants, gradient)) })
        };
        Self { all: all.map(one).collect(), begun: AtomicUsize::new(0) }
    }

    /// An update, when it is computed. Computes others meanwhile.
    fn computed(&self, at: usize) -> MutexGuard<'_, State> {
        loop {
            let state = match self.all[at].try_lock() {
                Ok(state) => Some(state).filter(|state| state.due.is_none()),
                Err(TryLockError::WouldBlock) => None,
                Err(TryLockError::Poisoned(_)) => panic!("an update failed"),
            };
            match state {
                Some(state) => return state,
                None if self.advance() => {}
                None => std::hint::spin_loop(),
            }
        }
    }
}

impl State {
    fn compute(&mut self) {
        let Self { parameter, moments, due } = self;
        if let (Some([first, second]), Some((constants, gradient))) = (moments, due.take()) {
            let moments = [first.storage_mut(), second.storage_mut()];
            Step { constants, parameter: parameter.storage_mut(), gradient: data(&gradient), moments }
                .compute();
        }
    }
}

impl Deferred<Flex> for Updates {
    fn advance(&self) -> bool {
        if self.begun.load(Ordering::Relaxed) >= self.all.len() {
            return false;
        }
        let next = self.all.get(self.begun.fetch_add(1, Ordering::Relaxed));
        next.inspect(|one| one.lock().expect("no update fails").compute()).is_some()
    }

    fn parameter(&self, at: usize) -> Tensor<Flex, 1> {
        wrap(self.computed(at).parameter.clone())
    }

    fn moments(&self, at: usize) -> [Tensor<Flex, 1>; 2] {
        self.computed(at).moments.take().expect("moments are taken once").map(wrap)
    }
}
