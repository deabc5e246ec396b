//! The work of one training step under a policy, counted per group from shapes alone, for packed
//! sentences. [`crate::Machine`] turns it into time.

use crate::{Group, ResolvedPolicy, Shape};

/// Bytes of a number.
pub(crate) const F32: f64 = 4.0;
/// Bytes that AdamW moves per trainable number: it reads parameter, gradient and two moments, and
/// writes all but the gradient; the gradient's norm reads it once more.
pub(crate) const ADAMW: f64 = 8.0 * F32;
/// Cost of a number of the word table in a step that does not read its row. Its update waits until the row is
/// read, and is then computed in registers, which takes about as long as moving two numbers.
const LATER: f64 = 2.0 * F32;
/// Tensor operations of a block in one direction: six linear layers, GELU, attention, two norms.
const BLOCK_OPERATIONS: f64 = 10.0;
/// Parameter tensors of a block: weight and bias of six linear layers, gamma and beta of two norms.
const BLOCK_TENSORS: f64 = 16.0;

/// The data of an average step. Sentences are packed, so every subword is a real one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Subwords, N.
    pub subwords: f64,
    /// Subwords that a subword attends to: its sentence's length, as a mean over subwords.
    pub context: f64,
    /// Label positions, M.
    pub labels: f64,
}

impl Workload {
    /// Returns the average of `steps` steps that see sentences of these lengths, in subwords, once. All counts
    /// of work are linear in N, N × context and M, so this gives their exact means.
    #[must_use]
    pub fn of(lengths: impl IntoIterator<Item = usize>, labels: u64, steps: u64) -> Self {
        let add = |(sum, squares): (f64, f64), length: f64| (sum + length, squares + length * length);
        let (sum, squares) = lengths.into_iter().map(|length| length as f64).fold((0.0, 0.0), add);
        let steps = steps.max(1) as f64;
        Self {
            subwords: sum / steps,
            context: if sum > 0.0 { squares / sum } else { 0.0 },
            labels: labels as f64 / steps,
        }
    }

    /// Returns the mean of steps of several kinds, each with its share of them.
    #[must_use]
    pub fn mean(kinds: &[(f64, Self)]) -> Self {
        let sum = |of: fn(&Self) -> f64| kinds.iter().map(|(share, kind)| share * of(kind)).sum::<f64>();
        let subwords = sum(|kind| kind.subwords);
        let context = sum(|kind| kind.subwords * kind.context) / subwords;
        Self {
            subwords,
            context: if subwords > 0.0 { context } else { 0.0 },
            labels: sum(|kind| kind.labels),
        }
    }

    /// Returns a batch of running text, if there is no data to count: three words for every four subwords, and
    /// a context of 1.5 times the mean length, since most subwords are in long sentences.
    #[must_use]
    pub fn typical(sentences: f64, mean_length: f64) -> Self {
        let subwords = sentences * mean_length;
        Self { subwords, context: 1.5 * mean_length, labels: 0.75 * subwords }
    }
}

/// Whether the constant prefix of a policy is computed in every step or read from a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefixMode {
    /// Computed like everything else.
    #[default]
    Computed,
    /// The prefix's output is read, N rows per step: the output of this many blocks, or of the policy's whole
    /// constant prefix if it is shorter. Policies without a constant prefix compute everything.
    Cached(usize),
}

impl PrefixMode {
    /// All of it is read.
    pub const ALL_CACHED: Self = Self::Cached(usize::MAX);

    /// Returns how many of a policy's constant blocks are read.
    fn cached_blocks(self, policy: &ResolvedPolicy) -> Option<usize> {
        match self {
            Self::Computed => None,
            Self::Cached(most) => policy.constant_prefix().map(|blocks| blocks.min(most)),
        }
    }
}

/// Work of one kind each. Products are counted in multiply-adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Linear layers, forward.
    pub forward: f64,
    /// Gradients of linear layers' inputs, needed if anything below is trainable.
    pub backward_inputs: f64,
    /// Gradients of linear layers' weights, needed if they are trainable.
    pub backward_weights: f64,
    /// Products inside attention, both directions.
    pub attention: f64,
    /// Bytes of element-wise passes, and of gathers and scatters.
    pub elementwise_bytes: f64,
    /// Bytes that the optimiser moves.
    pub optimiser_bytes: f64,
    /// Number of trainable parameters.
    pub learned: f64,
    /// Numbers of their gradients: of the word table only the rows that a step reads.
    pub gradients: f64,
    /// Tensor operations.
    pub operations: f64,
}

impl Work {
    /// Returns all products as floating-point operations in units of 10⁹; a multiply-add is two.
    #[must_use]
    pub fn gflop(&self) -> f64 {
        2e-9 * (self.forward + self.backward_inputs + self.backward_weights + self.attention)
    }

    /// Adds trainable parameters that have a gradient in every step.
    fn add_trainable(&mut self, numbers: f64) {
        self.optimiser_bytes += numbers * ADAMW;
        self.learned += numbers;
        self.gradients += numbers;
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            forward: self.forward + other.forward,
            backward_inputs: self.backward_inputs + other.backward_inputs,
            backward_weights: self.backward_weights + other.backward_weights,
            attention: self.attention + other.attention,
            elementwise_bytes: self.elementwise_bytes + other.elementwise_bytes,
            optimiser_bytes: self.optimiser_bytes + other.optimiser_bytes,
            learned: self.learned + other.learned,
            gradients: self.gradients + other.gradients,
            operations: self.operations + other.operations,
        }
    }
}

/// The work of one training step, per group from input to output.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// One row per group.
    pub groups: Vec<(Group, Work)>,
}

impl Cost {
    /// Counts the work of a step in which everything is computed.
    #[must_use]
    pub fn of(shape: &Shape, workload: &Workload, policy: &ResolvedPolicy) -> Self {
        Self::with_prefix(shape, workload, policy, PrefixMode::Computed)
    }

    /// Counts the work of a step.
    #[must_use]
    pub fn with_prefix(
        shape: &Shape,
        workload: &Workload,
        policy: &ResolvedPolicy,
        prefix: PrefixMode,
    ) -> Self {
        let constant = prefix.cached_blocks(policy);
        let step = StepSizes {
            h: shape.hidden as f64,
            e: shape.embedding as f64,
            i: shape.intermediate as f64,
            shape,
            workload,
        };
        let mut learns_below = !policy.freezes_group(Group::Embeddings);
        let whole = policy.policy().tuning().is_full();
        let tables = learns_below && whole;
        let first = if constant.is_some() {
            step.cached_rows_work()
        } else {
            step.embeddings_work(learns_below, tables)
        };
        let mut groups = vec![(Group::Embeddings, first)];
        for block in 0..shape.depth {
            let group = Group::Block(block);
            let cached = constant.is_some_and(|blocks| block < blocks);
            // Above its attention, the last block is computed only at label positions, unless a mix takes
            // every block's output.
            let last = block + 1 == shape.depth && !policy.mixes();
            let rows = if last { workload.labels } else { workload.subwords };
            let own = Learning::of(policy, group);
            let work = if cached { Work::default() } else { step.block_work(block, rows, own, learns_below) };
            groups.push((group, work));
            learns_below |= own != Learning::Nothing;
        }
        // A mix needs the gradient of the head's input.
        let learns_below = learns_below || policy.mixes();
        groups.push((Group::Head, step.head_work(!policy.freezes_group(Group::Head), learns_below)));
        Self { groups }
    }

    /// Returns the same step in this many parts (`train.accumulate`): every operation is done for each part,
    /// and the gradients of a part are added to the earlier parts' gradients.
    #[must_use]
    pub fn in_parts(mut self, parts: usize) -> Self {
        let parts = parts.max(1) as f64;
        for (_, work) in &mut self.groups {
            work.operations *= parts;
            // Two numbers are read and one is written.
            work.optimiser_bytes += (parts - 1.0) * work.gradients * 3.0 * F32;
        }
        self
    }

    /// Returns the work of all groups.
    #[must_use]
    pub fn total(&self) -> Work {
        self.groups.iter().fold(Work::default(), |sum, (_, work)| sum.plus(work))
    }

    /// Returns the work of one group; none if the encoder lacks it.
    #[must_use]
    pub fn group(&self, group: Group) -> Work {
        self.groups.iter().find(|(found, _)| *found == group).map(|(_, work)| *work).unwrap_or_default()
    }
}

/// The trainable parameters of a block.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Learning {
    Nothing,
    /// Added parameters, or a few parameters such as biases.
    Peft,
    Weights,
}

impl Learning {
    /// Returns the trainable parameters of this block under a policy.
    pub fn of(policy: &ResolvedPolicy, block: Group) -> Self {
        match (policy.freezes_group(block), policy.policy().tuning().is_full()) {
            (true, _) => Self::Nothing,
            (false, true) => Self::Weights,
            (false, false) => Self::Peft,
        }
    }
}

/// Data shared by the groups' counts.
struct StepSizes<'a> {
    h: f64,
    e: f64,
    i: f64,
    shape: &'a Shape,
    workload: &'a Workload,
}

impl StepSizes<'_> {
    /// Returns the work of word, position and token-type rows, their sum and its norm. The norm may be
    /// trainable without the tables.
    fn embeddings_work(&self, learns: bool, tables_learn: bool) -> Work {
        let (n, e) = (self.workload.subwords, self.e);
        // Two gathers (2 E each), a sum (3 E), norm (4 E, with values for backward), dropout (2 E).
        let mut work = Work { elementwise_bytes: 13.0 * n * e * F32, operations: 5.0, ..Work::default() };
        let projection = if self.shape.embedding == self.shape.hidden { 0.0 } else { e * self.h };
        work.forward = n * projection;
        if learns {
            // Norm (3 E), dropout (2 E).
            work.elementwise_bytes += 5.0 * n * e * F32;
            work.add_trainable(2.0 * e);
            work.operations += 5.0 + 4.0;
            work.backward_inputs = n * projection;
        }
        if tables_learn {
            let Shape { word_rows, read_rows, other_rows, .. } = *self.shape;
            let (tables, later) =
                ((read_rows + other_rows) as f64 * e, word_rows.saturating_sub(read_rows) as f64 * e);
            // Two scatters (3 E each) into gradients set to zero first.
            work.elementwise_bytes += (6.0 * n * e + tables) * F32;
            work.add_trainable(tables);
            work.optimiser_bytes += later * LATER;
            work.learned += later;
            if projection > 0.0 {
                work.backward_weights = n * projection;
                work.add_trainable(projection + self.h);
            }
        }
        work
    }

    /// Rows read from a cache into the pack.
    fn cached_rows_work(&self) -> Work {
        let bytes = 2.0 * self.workload.subwords * self.h * F32;
        Work { elementwise_bytes: bytes, operations: 1.0, ..Work::default() }
    }

    /// Returns the work of a block that is trainable or not, above anything trainable or not; after attention
    /// it works on this many rows.
    fn block_work(&self, block: usize, rows: f64, own: Learning, learns_below: bool) -> Work {
        let (n, m, h, i) = (self.workload.subwords, rows, self.h, self.i);
        // The layers that read a block's rows and widen them.
        let wide = if self.shape.gated { 2.0 } else { 1.0 };
        // Queries, keys and values; then the attention's output and the feed-forward layers.
        let keys = h * self.shape.key_heads as f64 / self.shape.heads as f64;
        let (before, after) = (h * (h + 2.0 * keys), h * h + (wide + 1.0) * h * i);
        let products = n * before + m * after;
        let outputs = n * 3.0 * h + m * (2.0 * h + wide * i);
        let scores = n * self.shape.context_in(block, self.workload.context);
        let probabilities = scores * self.shape.heads as f64;
        // Keys and queries of relative positions, and their products with queries and keys.
        let relative = self.shape.relative_rows_read(self.workload.context);
        let of_positions = 2.0 * relative * h * h;
        // GELU 2 I, or 3 I with a gate; two norms 4 H each; output dropout 2 H; softmax and its dropout.
        let mut work = Work {
            forward: products + of_positions,
            attention: 2.0 * scores * h + 2.0 * n * relative * h,
            elementwise_bytes: (m * ((wide + 1.0) * i + 10.0 * h) + 4.0 * probabilities) * F32,
            operations: BLOCK_OPERATIONS,
            ..Work::default()
        };
        if own == Learning::Peft {
            // A row is multiplied with every number once, and so is each of its two gradients.
            let [before, after] = self.shape.added.map(|numbers| numbers as f64);
            let added = n * before + m * after;
            work.forward += added;
            work.backward_weights += added;
            work.backward_inputs += added;
            self.add_block(&mut work, block, before + after);
        }
        if own == Learning::Nothing && !learns_below {
            return work;
        }
        // Queries, keys and values pass a gradient on only if anything below needs it.
        work.backward_inputs += if learns_below { products + of_positions } else { m * after };
        work.attention += 4.0 * scores * h + 4.0 * n * relative * h;
        // GELU 3 I, or 5 I with a gate; two norms 3 H each; dropout 2 H; the residual's gradient added 3 H; softmax.
        work.elementwise_bytes += (m * ((2.0 * wide + 1.0) * i + 11.0 * h) + 4.0 * probabilities) * F32;
        work.operations += BLOCK_OPERATIONS;
        if learns_below {
            // Gradients of queries, keys, values and residual are added up.
            work.elementwise_bytes += 9.0 * n * h * F32;
        }
        if own == Learning::Weights {
            work.backward_weights = products + of_positions;
            // Gradients of biases read the outputs' gradients again, and gradients of norms read two rows each.
            work.elementwise_bytes += (outputs + m * 4.0 * h) * F32;
            let norms = 2.0 * h;
            let biases = if self.shape.biases { 3.0 * h + 2.0 * keys + wide * i + norms } else { 0.0 };
            self.add_block(&mut work, block, before + after + norms + biases);
            work.operations += BLOCK_TENSORS;
        }
        work
    }

    /// Adds the trainable parameters of a block. If it has the weights of an earlier block, its gradients are added to that block's:
    /// two numbers are read and one is written.
    fn add_block(&self, work: &mut Work, block: usize, numbers: f64) {
        match self.shape.owns_weights(block) {
            true => work.add_trainable(numbers),
            false => work.optimiser_bytes += 3.0 * numbers * F32,
        }
    }

    /// Returns the classifier over label positions, and the loss.
    fn head_work(&self, learns: bool, learns_below: bool) -> Work {
        let (n, m, h, c) = (self.workload.subwords, self.workload.labels, self.h, self.shape.tags as f64);
        let mut work = Work {
            forward: m * h * c,
            // Rows gathered and dropped (2 H each); logits, loss and bias.
            elementwise_bytes: m * (4.0 * h + 5.0 * c) * F32,
            operations: 8.0,
            ..Work::default()
        };
        if learns {
            work.backward_weights = m * h * c;
            work.add_trainable(h * c + c);
        }
        if learns_below {
            work.backward_inputs = m * h * c;
            // Dropout again, and the rows scattered into a gradient of N rows set to zero first.
            work.elementwise_bytes += (n * h + 5.0 * m * h) * F32;
            work.operations += 2.0;
        }
        work
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two blocks of 2 heads and width 4, feed-forward 8, and 10 subwords in sentences of 5, of which 7 have labels.
    pub(crate) fn tiny_shape() -> (Shape, Workload) {
        let shape = Shape::new(2, 4).with_intermediate(8).with_heads(2).with_tags(3).with_other_rows(6);
        let shape = shape.with_word_rows(20).reading(10).with_added([6, 10], [4, 16]);
        (shape, Workload::of([5, 5], 7, 1))
    }

    fn policy(name: &str) -> ResolvedPolicy {
        ResolvedPolicy::parse(name, 2).expect("a policy")
    }

    fn cost(name: &str) -> Cost {
        let (shape, workload) = tiny_shape();
        Cost::of(&shape, &workload, &policy(name))
    }

    #[test]
    fn products_are_those_counted_by_hand() {
        // Four layers of 4 × 4 and two of 4 × 8 for 10 rows; scores and contexts of 10 × 5 × 4.
        let (linear, scores) = (10.0 * 128.0, 10.0 * 5.0 * 4.0);
        let none = cost("none").group(Group::Block(0));
        assert_eq!((none.forward, none.backward_inputs, none.backward_weights), (linear, linear, linear));
        assert_eq!(none.attention, 6.0 * scores);
        let head = cost("none").group(Group::Head);
        assert_eq!((head.forward, head.backward_inputs, head.backward_weights), (84.0, 84.0, 84.0));
        // The lowest trainable block passes nothing on to its input: three layers fewer.
        let lowest = cost("none+embeddings").group(Group::Block(0));
        assert_eq!(lowest.backward_inputs, linear - 10.0 * 48.0);
        let total = cost("head-only").total();
        // The last block's attention sees all rows, its other layers the 7 label positions.
        let last = 10.0 * 48.0 + 7.0 * 80.0;
        assert_eq!((total.forward, total.backward_inputs), (linear + last + 84.0, 0.0));
        assert_eq!(total.backward_weights, 84.0);
        assert_eq!(total.gflop(), 2e-9 * (linear + last + 2.0 * 84.0 + 2.0 * 2.0 * scores));
    }

    #[test]
    fn gates_and_windows_are_counted_by_hand() {
        let (shape, workload) = tiny_shape();
        let count =
            |shape: Shape, block| Cost::of(&shape, &workload, &policy("none")).group(Group::Block(block));
        let gated = Shape { biases: false, ..shape.with_gate() };
        // Four layers of 4 × 4 and three of 4 × 8 for 10 rows, without biases; two norms.
        assert_eq!((count(gated, 0).forward, count(gated, 0).learned), (10.0 * 160.0, 160.0 + 8.0));
        let local = shape.with_windows(3, 2);
        assert_eq!(count(local, 0).attention, 6.0 * 10.0 * 5.0 * 4.0);
        assert_eq!(count(local, 1).attention, 6.0 * 10.0 * 3.0 * 4.0);
        // Keys and queries of 8 positions with 4 channels: two layers of 4 × 4, and two products with each of 10 rows.
        let relative = shape.with_relative_rows(8);
        assert_eq!(count(relative, 0).attention - count(shape, 0).attention, 6.0 * 10.0 * 8.0 * 4.0);
        assert_eq!(count(relative, 0).forward - count(shape, 0).forward, 2.0 * 8.0 * 16.0);
        // Keys and values of half a row: for each of 10 rows, two layers of 4 × 2 less.
        let grouped = shape.with_heads(2).with_key_heads(1);
        assert_eq!(count(shape.with_heads(2), 0).forward - count(grouped, 0).forward, 10.0 * 2.0 * 8.0);
        // The second block has the weights of the first: the products are the same, but nothing more learns.
        let shared = shape.with_sharing(2, 1);
        assert_eq!(count(shared, 1).backward_weights, count(shape, 1).backward_weights);
        assert_eq!((count(shared, 0).learned, count(shared, 1).learned), (128.0 + 28.0 + 16.0, 0.0));
        // Tables of width 2, and a layer from 2 to 4 with its bias.
        let narrow = Cost::of(&Shape { embedding: 2, ..shape }, &workload, &policy("none"));
        let embeddings = narrow.group(Group::Embeddings);
        assert_eq!((embeddings.forward, embeddings.backward_weights), (80.0, 80.0));
        assert_eq!(embeddings.learned, 2.0 * (20.0 + 6.0) + 4.0 + 12.0);
    }

    #[test]
    fn the_optimiser_moves_what_learns() {
        // Weights and biases of six layers and two norms; tables of 6 rows and the 10 that are read, and a norm.
        let (block, embeddings, head) = (128.0 + 28.0 + 16.0, 16.0 * 4.0 + 8.0, 15.0);
        let bytes = |policy| cost(policy).total().optimiser_bytes;
        // Two numbers are counted for each of the 10 other rows of the word table.
        let later = 8.0 * 40.0;
        assert_eq!(bytes("none"), 32.0 * (2.0 * block + embeddings + head) + later);
        assert_eq!(bytes("first-1"), 32.0 * (block + embeddings + head) + later);
        assert_eq!(bytes("head-only"), 32.0 * head);
    }

    #[test]
    fn peft_computes_no_gradient_of_the_weights() {
        let (whole, light) = (cost("first-1+embeddings").total(), cost("first-1+lora").total());
        // In the upper block, 10 rows pass through the additions before attention and 7 through the additions
        // after it.
        let added = 10.0 * 6.0 + 7.0 * 10.0;
        assert_eq!(light.forward, whole.forward + added);
        assert_eq!(light.backward_weights, added + 84.0);
        assert_eq!(light.backward_inputs, whole.backward_inputs + added);
        assert_eq!(light.optimiser_bytes, 32.0 * (16.0 + 15.0));
    }

    #[test]
    fn a_mix_learns_from_what_the_head_passes_on() {
        let head = |policy| cost(policy).group(Group::Head);
        assert_eq!((head("head-only").backward_inputs, head("head-only").backward_weights), (0.0, 84.0));
        assert_eq!(head("head-only+mix").backward_inputs, 84.0);
        let frozen = head("head-only+heads+mix");
        assert_eq!(
            (frozen.backward_inputs, frozen.backward_weights, frozen.optimiser_bytes),
            (84.0, 0.0, 0.0)
        );
        assert_eq!(head("first-1+heads").backward_weights, 0.0);
        // A mix reads the last block at every row.
        assert_eq!(cost("head-only+mix").group(Group::Block(1)).forward, 10.0 * 128.0);
    }

    #[test]
    fn no_more_is_read_than_was_cached() {
        let (shape, workload) = tiny_shape();
        let in_mode = |name, mode| Cost::with_prefix(&shape, &workload, &policy(name), mode);
        let cached = |blocks| in_mode("head-only", PrefixMode::Cached(blocks));
        let forward = |blocks, block| cached(blocks).group(Group::Block(block)).forward;
        assert_eq!((forward(1, 0), forward(2, 0)), (0.0, 0.0));
        assert_eq!(forward(1, 1), cost("head-only").group(Group::Block(1)).forward);
        assert_eq!(cached(2), in_mode("head-only", PrefixMode::ALL_CACHED));
        assert_eq!(in_mode("none", PrefixMode::Cached(1)), cost("none"));
    }

    #[test]
    fn parts_add_their_gradients_up() {
        let [one, four] = [1, 4].map(|parts| cost("none").in_parts(parts).total());
        assert_eq!(one, cost("none").total());
        assert_eq!(four.operations, 4.0 * one.operations);
        assert_eq!(four.optimiser_bytes, one.optimiser_bytes + 3.0 * 12.0 * one.gradients);
        assert_eq!((four.forward, four.gradients), (one.forward, one.gradients));
    }

    #[test]
    fn a_workload_is_the_mean_of_its_steps() {
        let workload = Workload::of([2, 4, 6], 9, 2);
        assert_eq!(workload, Workload { subwords: 6.0, context: 56.0 / 12.0, labels: 4.5 });
        assert_eq!(Workload::of([], 0, 0), Workload { subwords: 0.0, context: 0.0, labels: 0.0 });
        // Two steps of one kind and one of another equal the steps over all their sentences.
        let [some, other] = [Workload::of([2, 4, 6], 9, 2), Workload::of([8], 1, 1)];
        let mean = Workload::mean(&[(2.0 / 3.0, some), (1.0 / 3.0, other)]);
        let all = Workload::of([2, 4, 6, 8], 10, 3);
        let differ = [mean.subwords - all.subwords, mean.context - all.context, mean.labels - all.labels];
        assert!(differ.iter().all(|difference| difference.abs() < 1e-9), "{mean:?} {all:?}");
        assert_eq!(Workload::mean(&[]).context, 0.0);
    }
}
