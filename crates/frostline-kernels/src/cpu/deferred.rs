//! AdamW updates that are computed parameter by parameter, by threads that are set aside for it and by whoever needs one.
//!
//! An update reads and writes memory and hardly computes, and one thread reads almost as fast as all of them. So it costs
//! less beside products, which hardly read, than before them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    all: Vec<One>,
    /// How many were begun.
    begun: AtomicUsize,
}

struct One {
    is_done: AtomicBool,
    state: Mutex<State>,
}

/// The tensors of an update, the first three with buffers of their own: a parameter and its moments.
struct State {
    parameter: FlexTensor,
    /// Until they are taken.
    moments: Option<[FlexTensor; 2]>,
    /// Until it is done.
    due: Option<(StepConstants, FlexTensor)>,
}

impl Updates {
    /// Those of these parameters.
    ///
    /// # Panics
    /// If a parameter, its gradient and its moments differ in size: who waits for an update relies on its success.
    pub fn new(all: impl Iterator<Item = Ready>) -> Self {
        let one = |(constants, gradient, [parameter, first, second]): Ready| {
            let sizes = [&gradient, &first, &second].map(|tensor| data(tensor).len());
            assert_eq!(sizes, [data(&parameter).len(); 3], "a gradient, its moments and their parameter");
            let state = State { parameter, moments: Some([first, second]), due: Some((constants, gradient)) };
            One { is_done: AtomicBool::new(false), state: Mutex::new(state) }
        };
        Self { all: all.map(one).collect(), begun: AtomicUsize::new(0) }
    }

    /// An update, when it is done. Computes others meanwhile.
    fn done(&self, at: usize) -> MutexGuard<'_, State> {
        while !self.all[at].is_done.load(Ordering::Acquire) {
            if !self.advance() {
                std::hint::spin_loop();
            }
        }
        self.all[at].state()
    }
}

impl One {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compute(&self) {
        let mut state = self.state();
        let State { parameter, moments: Some([first, second]), due } = &mut *state else { return };
        if let Some((constants, gradient)) = due.take() {
            let moments = [first.storage_mut(), second.storage_mut()];
            Step { constants, parameter: parameter.storage_mut(), gradient: data(&gradient), moments }
                .compute();
        }
        drop(state);
        self.is_done.store(true, Ordering::Release);
    }
}

impl Deferred<Flex> for Updates {
    fn advance(&self) -> bool {
        if self.begun.load(Ordering::Relaxed) >= self.all.len() {
            return false;
        }
        let next = self.all.get(self.begun.fetch_add(1, Ordering::Relaxed));
        next.inspect(|one| one.compute()).is_some()
    }

    fn parameter(&self, at: usize) -> Tensor<Flex, 1> {
        wrap(self.done(at).parameter.clone())
    }

    fn moments(&self, at: usize) -> [Tensor<Flex, 1>; 2] {
        self.done(at).moments.take().expect("moments are taken once").map(wrap)
    }
}
