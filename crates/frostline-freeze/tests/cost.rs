//! Properties of the cost for any encoder, any work and any set of frozen groups.

use frostline_freeze::{Cost, Group, Machine, PrefixMode, ResolvedPolicy, Shape, Work, Workload};
use proptest::prelude::*;

/// Returns a policy that freezes the blocks whose bits are set.
fn policy(depth: usize, blocks: u32, embeddings: bool) -> ResolvedPolicy {
    let list: Vec<String> = (0..depth).filter(|&b| blocks >> b & 1 == 1).map(|b| b.to_string()).collect();
    let base = if list.is_empty() { "none".into() } else { format!("blocks-{}", list.join(".")) };
    let name = if embeddings { base + "+embeddings" } else { base };
    ResolvedPolicy::parse(&name, depth).expect("a policy of this depth")
}

fn shape() -> impl Strategy<Value = Shape> {
    let widths = (1..=16usize, 1..=16usize, 1..=8usize, 1..=4usize);
    (widths, 1..=8usize, 1..=40usize, 1..=30_000usize, 1..=600usize).prop_map(
        |((head, factor, hidden, wide), depth, tags, word_rows, other_rows)| Shape {
            hidden: 16 * hidden * head,
            intermediate: 16 * wide * factor,
            depth,
            heads: head,
            key_heads: head,
            tags,
            word_rows,
            read_rows: word_rows / 2,
            other_rows,
            added: [0, 0],
            added_inputs: [0, 0],
            ..Shape::new(depth, 16 * hidden * head)
        },
    )
}

fn workload() -> impl Strategy<Value = Workload> {
    (1.0..4000.0f64, 1.0..128.0f64, 0.0..1.0f64).prop_map(|(subwords, context, share)| Workload {
        subwords,
        context,
        labels: share * subwords,
    })
}

fn kinds(work: &Work) -> [f64; 7] {
    [
        work.forward,
        work.backward_inputs,
        work.backward_weights,
        work.attention,
        work.elementwise_bytes,
        work.optimiser_bytes,
        work.operations,
    ]
}

fn no_kind_grows(less: &Work, more: &Work) -> bool {
    kinds(less).iter().zip(kinds(more)).all(|(less, more)| *less <= more)
}

/// Returns all work of a step except the forward pass.
fn backward(cost: &Cost, none: &Cost, group: Group) -> [f64; 4] {
    let (found, full) = (cost.group(group), none.group(group));
    assert!(found.attention <= full.attention);
    [
        found.backward_inputs,
        found.backward_weights,
        found.optimiser_bytes,
        3.0 * found.attention - full.attention,
    ]
}

proptest! {
    #[test]
    fn freezing_more_never_costs_more(
        shape in shape(), work in workload(), blocks: u32, more: u32, embeddings: bool, also: bool,
    ) {
        let some = policy(shape.depth, blocks, embeddings);
        let more = policy(shape.depth, blocks | more, embeddings || also);
        let machine = Machine::default();
        for prefix in [PrefixMode::Computed, PrefixMode::ALL_CACHED] {
            let [some, more] = [&some, &more].map(|p| Cost::with_prefix(&shape, &work, p, prefix));
            for ((group, more), (_, some)) in more.groups.iter().zip(&some.groups) {
                prop_assert!(no_kind_grows(more, some), "{group}: {more:?} above {some:?}");
            }
            prop_assert!(more.seconds(&machine) <= some.seconds(&machine));
        }
    }

    #[test]
    fn nothing_frozen_costs_most(shape in shape(), work in workload(), blocks: u32, embeddings: bool) {
        let none = Cost::of(&shape, &work, &policy(shape.depth, 0, false));
        let frozen = policy(shape.depth, blocks, embeddings);
        let cost = Cost::of(&shape, &work, &frozen);
        let speedup = cost.speedup_over(&none, &Machine::default());
        let any = embeddings || (0..shape.depth).any(|block| frozen.freezes_group(Group::Block(block)));
        prop_assert!(if any { speedup > 1.0 } else { speedup == 1.0 }, "{speedup}");
        // Nothing is saved that a forward pass needs.
        prop_assert_eq!(cost.total().forward, none.total().forward);
    }

    #[test]
    fn more_subwords_never_cost_less(
        shape in shape(), work in workload(), blocks: u32, embeddings: bool, factor in 1.0..4.0f64,
    ) {
        let policy = policy(shape.depth, blocks, embeddings);
        let more = Workload { subwords: factor * work.subwords, ..work };
        let longer = Workload { context: factor * work.context, ..work };
        let cost = Cost::of(&shape, &work, &policy).total();
        prop_assert!(no_kind_grows(&cost, &Cost::of(&shape, &more, &policy).total()));
        prop_assert!(no_kind_grows(&cost, &Cost::of(&shape, &longer, &policy).total()));
    }

    #[test]
    fn below_the_lowest_that_learns_there_is_no_backward(
        shape in shape(), work in workload(), lowest in 0..8usize, blocks: u32,
    ) {
        let lowest = lowest % shape.depth;
        let below = (1 << lowest) - 1;
        let none = Cost::of(&shape, &work, &policy(shape.depth, 0, false));
        let frozen = policy(shape.depth, (blocks & !(1 << lowest)) | below, true);
        let cost = Cost::of(&shape, &work, &frozen);
        prop_assert_eq!(cost.group(Group::Embeddings).optimiser_bytes, 0.0);
        for block in 0..lowest {
            let found = backward(&cost, &none, Group::Block(block));
            prop_assert!(found.iter().all(|kind| kind.abs() < 1e-6 * none.group(Group::Block(block)).forward));
        }
        let first = cost.group(Group::Block(lowest));
        let h = shape.hidden as f64;
        prop_assert!(first.backward_weights > 0.0);
        // There is nothing below its queries, keys and values that needs a gradient.
        let saved = none.group(Group::Block(lowest)).backward_inputs - first.backward_inputs;
        prop_assert!((saved - 3.0 * work.subwords * h * h).abs() <= 1e-9 * none.total().forward);
    }

    #[test]
    fn a_frozen_top_still_passes_gradients_down(shape in shape(), work in workload(), embeddings: bool) {
        let none = Cost::of(&shape, &work, &policy(shape.depth, 0, false));
        // Only the lowest block is trainable, or also the embeddings.
        let frozen = policy(shape.depth, !1, embeddings);
        let cost = Cost::of(&shape, &work, &frozen);
        for block in 1..shape.depth {
            let (found, full) = (cost.group(Group::Block(block)), none.group(Group::Block(block)));
            prop_assert_eq!(found.backward_inputs, full.backward_inputs);
            prop_assert_eq!(found.attention, full.attention);
            prop_assert_eq!((found.backward_weights, found.optimiser_bytes), (0.0, 0.0));
        }
    }

    #[test]
    fn a_cached_prefix_is_read_and_not_computed(
        shape in shape(), work in workload(), blocks: u32, embeddings: bool,
    ) {
        let policy = policy(shape.depth, blocks, embeddings);
        let computed = Cost::of(&shape, &work, &policy);
        let cached = Cost::with_prefix(&shape, &work, &policy, PrefixMode::ALL_CACHED);
        match policy.constant_prefix() {
            None => prop_assert_eq!(&cached, &computed),
            Some(constant) => {
                for block in 0..shape.depth {
                    let group = Group::Block(block);
                    let expected = if block < constant { Work::default() } else { computed.group(group) };
                    prop_assert_eq!(cached.group(group), expected);
                }
                let read = cached.group(Group::Embeddings).elementwise_bytes;
                prop_assert_eq!(read, 8.0 * work.subwords * shape.hidden as f64);
                prop_assert!(cached.seconds(&Machine::default()) < computed.seconds(&Machine::default()));
            }
        }
    }
}
