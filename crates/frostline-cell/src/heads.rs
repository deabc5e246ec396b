//! The heads of a cell: the tasks that have one, their names, and their numbers of tags.

use frostline_model::{HeadKind, HeadShape};
use frostline_record::{self as record, Settings};

/// Standard deviation of the head's first weights, as in Hugging Face's classifiers.
pub(crate) const HEAD_STD: f64 = 0.02;

/// Returns a head's kind as the model names it.
pub(crate) fn head_kind(kind: record::HeadKind) -> HeadKind {
    match kind {
        record::HeadKind::Linear => HeadKind::Linear,
        record::HeadKind::Distilbert => HeadKind::DistilBert,
        record::HeadKind::Pooler => HeadKind::Pooler,
    }
}

/// Returns the task whose head a task uses: its own or a shared one.
pub(crate) fn head_owner<'a>(settings: &'a Settings, task: &'a str) -> &'a str {
    let shared = settings.tasks.get(task).map_or("", |task| task.shares.as_str());
    if shared.is_empty() { task } else { shared }
}

/// Returns the names of the heads, in the model's order: the names of the tasks with their own head.
pub(crate) fn head_names(settings: &Settings) -> Vec<&str> {
    let own = settings.tasks.iter().filter(|(_, task)| task.shares.is_empty());
    own.map(|(name, _)| name.as_str()).collect()
}

/// Returns the heads, given each task's tags. The headline's parameters do not depend on the other tasks.
pub(crate) fn make_heads<'a>(settings: &Settings, tags: impl Fn(&str) -> &'a [String]) -> Vec<HeadShape> {
    let main = head_owner(settings, settings.headline());
    let shape = |name: &str| HeadShape {
        name: if name == main { "head".into() } else { format!("head.{name}") },
        kind: head_kind(settings.tasks[name].head),
        labels: tags(name).len(),
    };
    head_names(settings).into_iter().map(shape).collect()
}
