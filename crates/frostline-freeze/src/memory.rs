//! Memory that a training step needs in addition to the model and the data, counted from shapes alone; freezing
//! saves a part of it. Activations are counted for Frostline's own kernels, which keep only values that
//! backward needs.

use crate::cost::{F32, Learning};
use crate::{Cost, Group, ResolvedPolicy, Shape, Workload};

/// Memory kept by a step.
///
/// # Units
/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepMemory {
    /// Gradients of trainable parameters; in the word table, only of the rows that the step reads.
    pub gradients: f64,
    /// AdamW's two moments of trainable parameters.
    pub moments: f64,
    /// Activations that backward needs; or a second set of gradients, if a step in parts has more of these.
    pub activations: f64,
}

impl StepMemory {
    /// Counts the memory kept by a step on this workload.
    #[must_use]
    pub fn of(shape: &Shape, workload: &Workload, policy: &ResolvedPolicy) -> Self {
        let work = Cost::of(shape, workload, policy).total();
        Self {
            gradients: work.gradients * F32,
            moments: 2.0 * work.learned * F32,
            activations: activation_numbers(shape, workload, policy) * F32,
        }
    }

    /// Returns the memory of a step in several parts, if the counted activations belong to the largest part:
    /// the gradients of a part are kept in addition to the earlier parts' sum until they are added.
    #[must_use]
    pub fn in_parts(self, parts: usize) -> Self {
        let activations = if parts > 1 { self.activations.max(self.gradients) } else { self.activations };
        Self { activations, ..self }
    }

    /// Returns all of it.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.gradients + self.moments + self.activations
    }
}

/// Returns how many numbers backward needs.
fn activation_numbers(shape: &Shape, workload: &Workload, policy: &ResolvedPolicy) -> f64 {
    let (n, m, h) = (workload.subwords, workload.labels, shape.hidden as f64);
    let e = shape.embedding as f64;
    let mut learns_below = !policy.freezes_group(Group::Embeddings);
    // The normalised rows of the embeddings' norm, and their divisors.
    let mut kept = if learns_below { n * (e + 1.0) } else { 0.0 };
    // Outputs of blocks and of the embeddings that a mix needs and no layer keeps as its input.
    let mut mixed = if policy.mixes() { shape.depth + 1 } else { 0 };
    for block in 0..shape.depth {
        let own = Learning::of(policy, Group::Block(block));
        if own != Learning::Nothing || learns_below {
            let last = block + 1 == shape.depth && !policy.mixes();
            kept += of_block(shape, workload, block, if last { m } else { n }, own);
        }
        let keeps_input = own == Learning::Weights || own == Learning::Peft && shape.added_inputs[0] > 0;
        mixed = mixed.saturating_sub(usize::from(keeps_input));
        learns_below |= own != Learning::Nothing;
    }
    kept += mixed as f64 * n * h;
    let head_learns = !policy.freezes_group(Group::Head);
    if head_learns {
        kept += m * h;
    }
    // The slope of the loss at every logit.
    if head_learns || learns_below || policy.mixes() {
        kept += m * shape.tags as f64;
    }
    kept
}

/// Returns the memory of a block that is trainable or passes a gradient on; after attention it works on this
/// many rows.
fn of_block(shape: &Shape, workload: &Workload, block: usize, rows: f64, own: Learning) -> f64 {
    let (n, m) = (workload.subwords, rows);
    let (h, i) = (shape.hidden as f64, shape.intermediate as f64);
    let context = shape.context_in(block, workload.context);
    // A gated product keeps both of its factors.
    let kept = if shape.gated { 2.0 } else { 1.0 };
    // Queries, keys, values and attention's probabilities; the slope or the input of GELU; the normalised rows of two norms.
    let always = 3.0 * n * h + n * context * shape.heads as f64 + m * kept * i + 2.0 * m * (h + 1.0);
    // Keys and queries of relative positions.
    let relative = shape.relative_rows_read(workload.context) * h;
    let always = always + 2.0 * relative;
    // The inputs of linear layers with trainable weights.
    let [before, after] = shape.added_inputs.map(|numbers| numbers as f64);
    let inputs = match own {
        Learning::Nothing => 0.0,
        Learning::Weights => n * h + m * (2.0 * h + i) + relative,
        Learning::Peft => n * before + m * after,
    };
    always + inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory_of_policy(policy: &str) -> StepMemory {
        let (shape, workload) = crate::cost::tests::tiny_shape();
        StepMemory::of(&shape, &workload, &ResolvedPolicy::parse(policy, 2).expect("a policy"))
    }

    #[test]
    fn what_learns_has_a_gradient_and_two_moments() {
        // Weights and biases of six layers and two norms; tables of 6 rows and the 10 that are read, and a norm; the classifier.
        let (block, embeddings, head) = (128.0 + 28.0 + 16.0, 16.0 * 4.0 + 8.0, 15.0);
        let none = memory_of_policy("none");
        assert_eq!(none.gradients, 4.0 * (2.0 * block + embeddings + head));
        // All 20 rows of the word table have moments.
        assert_eq!(none.moments, 2.0 * (none.gradients + 4.0 * 10.0 * 4.0));
        assert_eq!(memory_of_policy("first-1").gradients, 4.0 * (block + embeddings + head));
        assert_eq!(memory_of_policy("head-only").moments, 8.0 * head);
        assert_eq!(none.total(), none.gradients + none.moments + none.activations);
    }

    #[test]
    fn parts_hold_their_gradients_twice() {
        let none = memory_of_policy("none");
        assert_eq!(none.in_parts(1), none);
        let few = StepMemory { activations: 0.5 * none.gradients, ..none }.in_parts(4);
        assert_eq!((few.activations, few.moments), (none.gradients, none.moments));
        let many = StepMemory { activations: 2.0 * none.gradients, ..none };
        assert_eq!(many.in_parts(4), many);
    }

    #[test]
    fn backward_keeps_what_is_counted_by_hand() {
        let numbers = |policy: &str| memory_of_policy(policy).activations / 4.0;
        let (embeddings, head, slope) = (10.0 * 5.0, 7.0 * 4.0, 7.0 * 3.0);
        // 3 · 10 · 4 of queries, keys and values, 10 · 5 · 2 probabilities, GELU and norms of 10 rows or of 7.
        let block = |rows: f64| 120.0 + 100.0 + rows * 8.0 + 2.0 * rows * 5.0;
        let inputs = |rows: f64| 40.0 + rows * (8.0 + 8.0);
        let whole = |rows: f64| block(rows) + inputs(rows);
        assert_eq!(numbers("none"), embeddings + whole(10.0) + whole(7.0) + head + slope);
        // A frozen block above anything trainable passes a gradient on, so it saves only the inputs.
        assert_eq!(numbers("first-1"), embeddings + block(10.0) + whole(7.0) + head + slope);
        // Nothing is kept below the lowest trainable parameter.
        assert_eq!(numbers("first-1+embeddings"), whole(7.0) + head + slope);
        assert_eq!(numbers("head-only"), head + slope);
        // A mix needs the outputs of the embeddings and of both blocks; trainable blocks keep their input
        // anyway.
        assert_eq!(numbers("head-only+heads+mix"), 3.0 * 40.0 + slope);
        assert_eq!(numbers("none+mix"), embeddings + 2.0 * whole(10.0) + 40.0 + head + slope);
        // Added matrices read the block's input and, after attention, three more rows: two of width 4 and one of 8.
        assert_eq!(numbers("first-1+lora"), block(7.0) + 40.0 + 7.0 * 16.0 + head + slope);
    }
}
