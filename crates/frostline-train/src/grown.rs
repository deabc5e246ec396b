//! The output of a prefix that became constant during a run, kept in memory.

use std::borrow::Cow;
use std::convert::Infallible;

use frostline_kernels::Kernels;
use frostline_model::Network;

use crate::{Prefix, Run, Task, View, compute_prefix};

/// The output of a prefix that became constant during a run.
pub(crate) struct Grown {
    blocks: usize,
    hidden: usize,
    /// Train and dev, by task.
    splits: Vec<[SplitRows; 2]>,
}

/// A split's hidden states above the prefix.
struct SplitRows {
    values: Vec<f32>,
    starts: Vec<usize>,
}

impl Grown {
    /// Computes it for every split of a run's tasks, from the output of a smaller prefix where that is there.
    pub fn compute<B: Kernels>(
        model: &Network<B>,
        run: &Run<'_>,
        blocks: usize,
        smaller: Option<&Self>,
    ) -> Self {
        let tasks = smaller.map_or(Cow::Borrowed(run.tasks), |smaller| Cow::Owned(smaller.under(run.tasks)));
        let rows = |view| SplitRows::compute(model, run, view, blocks);
        let splits = tasks.iter().map(|task| [rows(task.train), rows(task.dev)]).collect();
        Self { blocks, hidden: run.encoder.hidden, splits }
    }

    /// The tasks, reading it.
    pub fn under<'a>(&'a self, tasks: &[Task<'a>]) -> Vec<Task<'a>> {
        let task = |(task, [train, dev]): (&Task<'a>, &'a [SplitRows; 2])| Task {
            train: self.view(task.train, train),
            dev: self.view(task.dev, dev),
            ..*task
        };
        tasks.iter().zip(&self.splits).map(task).collect()
    }

    fn view<'a>(&self, view: View<'a>, rows: &'a SplitRows) -> View<'a> {
        let SplitRows { values, starts } = rows;
        let prefix = Prefix { blocks: self.blocks, hidden: self.hidden, rows: values, starts };
        View { data: view.data, prefix: Some(prefix) }
    }
}

impl SplitRows {
    fn compute<B: Kernels>(model: &Network<B>, run: &Run<'_>, view: View<'_>, blocks: usize) -> Self {
        let mut values = Vec::with_capacity(view.data.subwords() * run.encoder.hidden);
        let mut take = |some: &[f32]| {
            values.extend_from_slice(some);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = compute_prefix(model, run.encoder, view, blocks, run.settings, &mut take);
        Self { values, starts: view.data.starts() }
    }
}
