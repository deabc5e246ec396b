//! Where a step's time goes: each operation of a processor is timed, and what it did is counted.
//!
//! This is off unless [`switch`]ed on, and then costs one atomic load per operation. Sums are those of the process: work of
//! several threads that train at once is added up.
//!
//! # To add a part of a step to profiles
//!
//! An `Operation` in `crates/frostline-kernels/src/profile.rs`, and `timed` at the start of the function in `cpu/`
//! that computes it, with what it reads, writes and multiplies. `crates/frostline-cell/src/profile.rs` makes rows
//! of it.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Products of linear layers, forward.
    Products,
    /// Products that give the gradients of weights.
    WeightGradients,
    /// Products that give the gradients of inputs.
    InputGradients,
    /// Sums of rows that give the gradients of biases.
    BiasGradients,
    /// Attention, forward.
    Attention,
    /// Attention, backward.
    AttentionGradients,
    /// GELU and its gradient.
    Gelu,
    /// Dropout, residual and LayerNorm, and their gradients.
    Norm,
    /// Rows of a table, and the table's gradient.
    Gather,
    /// Cross-entropy and its gradient.
    Loss,
    /// Sums of a gradient's parts, where a value was used more than once.
    Additions,
    /// The sum of the gradients' squares.
    ClippingNorm,
    /// Updates of parameters and moments.
    AdamW,
}

/// What cannot be exceeded by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The processor's multiplications and additions.
    Arithmetic,
    /// The memory's bandwidth.
    Memory,
}

impl Operation {
    /// All, in the order in which a step comes to them.
    pub const ALL: [Self; 13] = [
        Self::Products,
        Self::WeightGradients,
        Self::InputGradients,
        Self::BiasGradients,
        Self::Attention,
        Self::AttentionGradients,
        Self::Gelu,
        Self::Norm,
        Self::Gather,
        Self::Loss,
        Self::Additions,
        Self::ClippingNorm,
        Self::AdamW,
    ];

    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Products => "products forward",
            Self::WeightGradients => "gradients of weights",
            Self::InputGradients => "gradients of inputs",
            Self::BiasGradients => "gradients of biases",
            Self::Attention => "attention forward",
            Self::AttentionGradients => "attention backward",
            Self::Gelu => "GELU",
            Self::Norm => "dropout, residual, LayerNorm",
            Self::Gather => "rows of tables",
            Self::Loss => "cross-entropy",
            Self::Additions => "additions of gradients",
            Self::ClippingNorm => "norm for clipping",
            Self::AdamW => "AdamW",
        }
    }

    /// What limits it where its operands are large.
    #[must_use]
    pub const fn limit(self) -> Limit {
        match self {
            Self::Products
            | Self::WeightGradients
            | Self::InputGradients
            | Self::Attention
            | Self::AttentionGradients => Limit::Arithmetic,
            _ => Limit::Memory,
        }
    }

    /// Whether its operands are rounded to the precision of linear layers; all else is computed in f32.
    #[must_use]
    pub const fn is_rounded(self) -> bool {
        matches!(self, Self::Products | Self::WeightGradients | Self::InputGradients)
    }
}

/// What operations of one kind did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Calls.
    pub calls: u64,
    /// Their time without that of operations inside them, in nanoseconds.
    pub elapsed_ns: u64,
    /// Floating-point operations of products, two per multiply-add.
    pub flop: u64,
    /// Floats that were read or written, each operand counted once.
    pub floats: u64,
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.elapsed_ns += other.elapsed_ns;
        self.flop += other.flop;
        self.floats += other.floats;
    }
}

/// Switches timing on or off, for operations that begin from now on.
pub fn switch(on: bool) {
    HERE.on.store(on, Relaxed);
}

/// Whether operations that begin now are timed.
#[must_use]
pub fn is_on() -> bool {
    HERE.on.load(Relaxed)
}

/// What was counted since the last call, which begins anew.
#[must_use]
pub fn take() -> Vec<(Operation, Counted)> {
    HERE.take()
}

/// Times an operation until the result is dropped, where timing is on.
///
/// # Units
/// `flop` and `floats` as in [`Counted`].
pub fn timed(operation: Operation, flop: usize, floats: usize) -> Timed {
    HERE.timed(operation, flop, floats)
}

/// An operation that is being timed.
#[must_use = "the operation is timed until this is dropped"]
#[derive(Debug)]
pub struct Timed(Option<Running>);

#[derive(Debug)]
struct Running {
    counts: &'static Counts,
    begun: Instant,
    /// Time inside the operation around this one before this one began, in nanoseconds.
    before_ns: u64,
    /// The time inside belongs to this thread.
    thread: PhantomData<*const ()>,
}

thread_local! {
    /// Time of the operations that have ended inside the running one, in nanoseconds.
    static INSIDE_NS: Cell<u64> = const { Cell::new(0) };
}

impl Drop for Timed {
    fn drop(&mut self) {
        let Some(Running { counts, begun, before_ns, .. }) = self.0.take() else { return };
        let elapsed_ns = begun.elapsed().as_nanos() as u64;
        let inside_ns = INSIDE_NS.replace(before_ns + elapsed_ns);
        counts.elapsed_ns.fetch_add(elapsed_ns.saturating_sub(inside_ns), Relaxed);
    }
}

/// The process's counts.
static HERE: Counters = Counters::new();

struct Counters {
    on: AtomicBool,
    /// In the order of [`Operation::ALL`], which is that of the variants.
    all: [Counts; Operation::ALL.len()],
}

#[derive(Debug)]
struct Counts {
    calls: AtomicU64,
    elapsed_ns: AtomicU64,
    flop: AtomicU64,
    floats: AtomicU64,
}

impl Counts {
    const fn new() -> Self {
        let [calls, elapsed_ns, flop, floats] = [const { AtomicU64::new(0) }; 4];
        Self { calls, elapsed_ns, flop, floats }
    }
}

impl Counters {
    const fn new() -> Self {
        Self { on: AtomicBool::new(false), all: [const { Counts::new() }; Operation::ALL.len()] }
    }

    #[inline]
    fn timed(&'static self, operation: Operation, flop: usize, floats: usize) -> Timed {
        if !self.on.load(Relaxed) {
            return Timed(None);
        }
        let counts = &self.all[operation as usize];
        counts.calls.fetch_add(1, Relaxed);
        counts.flop.fetch_add(flop as u64, Relaxed);
        counts.floats.fetch_add(floats as u64, Relaxed);
        let before_ns = INSIDE_NS.replace(0);
        Timed(Some(Running { counts, begun: Instant::now(), before_ns, thread: PhantomData }))
    }

    fn take(&self) -> Vec<(Operation, Counted)> {
        let counted = |operation: Operation| {
            let Counts { calls, elapsed_ns, flop, floats } = &self.all[operation as usize];
            let [calls, elapsed_ns, flop, floats] =
                [calls, elapsed_ns, flop, floats].map(|count| count.swap(0, Relaxed));
            (operation, Counted { calls, elapsed_ns, flop, floats })
        };
        Operation::ALL.into_iter().map(counted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters of a test's own, switched on: those of the process also count what other tests do.
    macro_rules! counters {
        () => {{
            static OWN: Counters = Counters::new();
            OWN.on.store(true, Relaxed);
            &OWN
        }};
    }

    fn of(counted: &[(Operation, Counted)], operation: Operation) -> Counted {
        counted.iter().find(|(other, _)| *other == operation).expect("every operation is counted").1
    }

    /// Lets some time pass, and says how much.
    fn spend() -> u64 {
        let clock = Instant::now();
        while clock.elapsed().as_micros() < 300 {
            std::hint::spin_loop();
        }
        clock.elapsed().as_nanos() as u64
    }

    #[test]
    fn operations_are_listed_in_their_own_order() {
        assert!(Operation::ALL.iter().enumerate().all(|(at, operation)| *operation as usize == at));
    }

    #[test]
    fn an_operation_in_another_is_not_counted_twice() {
        let own = counters!();
        let clock = Instant::now();
        let (outside, mut inside) = {
            let _outer = own.timed(Operation::Attention, 7, 5);
            let before = spend();
            let mut inside = 0;
            for _ in 0..2 {
                let _inner = own.timed(Operation::Gelu, 0, 3);
                inside += spend();
                let _innermost = own.timed(Operation::Norm, 0, 1);
                spend();
            }
            (before + spend(), inside)
        };
        // One that follows is not inside either of them.
        {
            let _next = own.timed(Operation::Gelu, 0, 3);
            inside += spend();
        }
        let all = clock.elapsed().as_nanos() as u64;
        let counted = own.take();
        let [outer, inner, innermost] =
            [Operation::Attention, Operation::Gelu, Operation::Norm].map(|it| of(&counted, it));
        assert_eq!([outer.calls, outer.flop, outer.floats], [1, 7, 5]);
        assert_eq!([inner.calls, inner.flop, inner.floats], [3, 0, 9]);
        assert_eq!([innermost.calls, innermost.floats], [2, 2]);
        assert!(outer.elapsed_ns >= outside && inner.elapsed_ns >= inside, "{outer:?} {inner:?}");
        let sum: u64 = counted.iter().map(|(_, counted)| counted.elapsed_ns).sum();
        assert!(sum <= all, "{sum} ns of {all} were counted");
    }

    #[test]
    fn threads_are_added_up_and_do_not_count_as_inside() {
        let own = counters!();
        let _outer = own.timed(Operation::Loss, 0, 0);
        let spent: u64 = std::thread::scope(|scope| {
            let work = || {
                let _timed = own.timed(Operation::AdamW, 0, 10);
                spend()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it only waits")).sum()
        });
        let waited = spend();
        drop(_outer);
        let counted = own.take();
        let (outer, inner) = (of(&counted, Operation::Loss), of(&counted, Operation::AdamW));
        assert_eq!([inner.calls, inner.floats], [4, 40]);
        assert!(inner.elapsed_ns >= spent, "{} ns of {spent}", inner.elapsed_ns);
        assert!(outer.elapsed_ns > waited, "{} ns", outer.elapsed_ns);
    }

    #[test]
    fn nothing_is_counted_while_it_is_off_and_taking_begins_anew() {
        let own = counters!();
        drop(own.timed(Operation::Gather, 1, 1));
        own.on.store(false, Relaxed);
        drop(own.timed(Operation::Gather, 1, 1));
        assert_eq!(of(&own.take(), Operation::Gather).calls, 1);
        assert!(own.take().iter().all(|(_, counted)| *counted == Counted::default()));
    }
}
