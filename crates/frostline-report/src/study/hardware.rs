//! What times depend on besides settings: times of different hardware are never averaged or paired.

use frostline_record::MadeBy;
use serde::Serialize;

use crate::number::plural;
use crate::study::cells::{CellView, distinct};

/// The machine that a cell ran on, as far as times depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Hardware {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    pub backend: String,
    pub device: String,
    pub isa: String,
    pub threads: usize,
}

impl Hardware {
    pub fn of(maker: &MadeBy) -> Self {
        let MadeBy { node, backend, device, isa, threads, .. } = maker.clone();
        Self { node, backend, device, isa, threads }
    }

    /// Whether it is a GPU, so that the memory of a worker is not the memory of its steps.
    pub fn on_gpu(&self) -> bool {
        self.isa.starts_with("gpu")
    }

    /// `node7: A processor, 2 threads (flex, avx512)`.
    pub fn words(&self) -> String {
        let node = if self.node.is_empty() { String::new() } else { format!("{}: ", self.node) };
        let threads = plural(self.threads, "thread");
        format!("{node}{}, {threads} ({}, {})", self.device, self.backend, self.isa)
    }
}

/// The hardware of all cells with a time, in their order.
pub(crate) fn find_machines(cells: &[CellView]) -> Vec<Hardware> {
    let timed = cells.iter().filter_map(CellView::done).filter(|done| done.timing.is_some());
    distinct(timed.map(|done| Hardware::of(&done.made_by)))
}
