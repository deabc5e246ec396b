//! Counts what a training step asks of a device: kernels, uploads, and the reads that wait for it.
//!
//! CubeCL and burn open a span at each of them; this subscriber counts these spans between the start and the end of
//! every span named `step`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What steps asked of their device, in all. On a processor everything but the steps is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceCalls {
    /// Steps.
    pub steps: u64,
    /// Kernels by their names.
    pub launches: BTreeMap<String, u64>,
    /// Transfers to the device.
    pub uploads: u64,
    /// The bytes of those whose size is known, which are lists of numbers.
    pub uploaded_bytes: u64,
    /// Transfers from the device, each of which waits until it has done all before.
    pub reads: u64,
}

impl DeviceCalls {
    /// What steps ask of their device during some work of this thread.
    pub fn count<T>(work: impl FnOnce() -> T) -> (T, Self) {
        let counting = Counting::default();
        let state = counting.0.clone();
        let result = tracing::subscriber::with_default(counting, work);
        let calls = std::mem::take(&mut state.lock().unwrap_or_else(PoisonError::into_inner).calls);
        (result, calls)
    }

    /// Kernels per step.
    #[must_use]
    pub fn launches_per_step(&self) -> f64 {
        self.launches.values().sum::<u64>() as f64 / self.steps.max(1) as f64
    }
}

/// The spans that are counted, by what they tell.
const SPANS: [(&str, CallKind); 5] = [
    ("step", CallKind::Step),
    ("launch_inner", CallKind::Launch),
    ("upload", CallKind::Upload),
    ("float_from_data", CallKind::Upload),
    ("float_into_data", CallKind::Read),
];

#[derive(Clone, Copy)]
enum CallKind {
    Step,
    Launch,
    Upload,
    Read,
}

#[derive(Default)]
struct CallState {
    calls: DeviceCalls,
    inside: bool,
}

#[derive(Default)]
struct Counting(Arc<Mutex<CallState>>);

/// The ids of spans: those of steps differ from all others.
const STEP: u64 = 1;
const OTHER: u64 = 2;

fn kind(about: &Metadata<'_>) -> Option<CallKind> {
    SPANS.iter().find(|(name, _)| about.is_span() && about.name() == *name).map(|(_, kind)| *kind)
}

impl Counting {
    fn state(&self) -> std::sync::MutexGuard<'_, CallState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_inside(&self, id: &Id, inside: bool) {
        if id.into_u64() == STEP {
            self.state().inside = inside;
        }
    }
}

impl Subscriber for Counting {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        kind(about).is_some()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut state = self.state();
        let CallState { calls, inside } = &mut *state;
        match (kind(span.metadata()), inside) {
            (Some(CallKind::Step), _) => {
                calls.steps += 1;
                return Id::from_u64(STEP);
            }
            (Some(CallKind::Launch), true) => {
                let mut kernel = Told { field: "kernel.name", value: String::new() };
                span.record(&mut kernel);
                *calls.launches.entry(kernel.value).or_default() += 1;
            }
            (Some(CallKind::Upload), true) => {
                let mut bytes = Told { field: "bytes", value: String::new() };
                span.record(&mut bytes);
                calls.uploads += 1;
                calls.uploaded_bytes += bytes.value.parse::<u64>().unwrap_or(0);
            }
            (Some(CallKind::Read), true) => calls.reads += 1,
            _ => {}
        }
        Id::from_u64(OTHER)
    }

    fn enter(&self, id: &Id) {
        self.set_inside(id, true);
    }

    fn exit(&self, id: &Id) {
        self.set_inside(id, false);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}
}

/// A field's value.
struct Told {
    field: &'static str,
    value: String,
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == self.field {
            self.value = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing::{debug_span, trace_span};

    use super::*;

    #[test]
    fn only_what_happens_in_a_step_counts() {
        let ((), calls) = DeviceCalls::count(|| {
            let launch = |name: &str| drop(trace_span!("launch_inner", kernel.name = %name).entered());
            launch("before");
            for _ in 0..2 {
                let _step = debug_span!("step").entered();
                launch("norm");
                launch("norm");
                drop(trace_span!("upload", bytes = 640).entered());
            }
            drop(trace_span!("float_into_data").entered());
        });
        let launches = BTreeMap::from([("norm".to_string(), 4)]);
        assert_eq!(calls, DeviceCalls { steps: 2, launches, uploads: 2, uploaded_bytes: 1280, reads: 0 });
        assert!((calls.launches_per_step() - 2.0).abs() < 1e-12);
    }
}
