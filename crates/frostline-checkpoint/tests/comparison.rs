//! What a comparison of two states in memory finds.

use std::ops::Range;

use frostline_checkpoint::{
    CheckpointError, ComparedSide, DType, FreezeRule, Tensor, TensorChange, Weights, compare,
};
use frostline_freeze::Policy;

/// Tensors of f32 in memory.
struct Memory(Vec<(Tensor, Vec<f32>)>, Vec<Tensor>);

impl Memory {
    fn new(tensors: &[(&str, &[u64], Vec<f32>)]) -> Self {
        let named = |(name, shape, values): &(&str, &[u64], Vec<f32>)| {
            (Tensor::new(*name, DType::F32, shape.to_vec()), values.clone())
        };
        let all: Vec<_> = tensors.iter().map(named).collect();
        let list = all.iter().map(|(tensor, _)| tensor.clone()).collect();
        Self(all, list)
    }
}

impl Weights for Memory {
    fn place(&self) -> &str {
        "memory"
    }

    fn tensors(&self) -> &[Tensor] {
        &self.1
    }

    fn read(&self, tensor: usize, elements: Range<u64>, bytes: &mut [u8]) -> Result<(), CheckpointError> {
        let values = &self.0[tensor].1[elements.start as usize..elements.end as usize];
        for (bytes, value) in bytes.chunks_exact_mut(4).zip(values) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }
}

/// Numbers between -1 and 1 that have no pattern.
fn noise(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn change(before: Vec<f32>, after: Vec<f32>, shape: &[u64]) -> TensorChange {
    let (before, after) = (Memory::new(&[("w", shape, before)]), Memory::new(&[("w", shape, after)]));
    compare(ComparedSide::new(&before), ComparedSide::new(&after), &FreezeRule::Nothing)
        .unwrap()
        .rows
        .remove(0)
        .change
}

fn difference(before: Vec<f32>, after: Vec<f32>, shape: &[u64]) -> frostline_checkpoint::Difference {
    change(before, after, shape).numeric_difference().expect("a difference").clone()
}

#[test]
fn the_largest_difference_is_found_in_any_piece() {
    // Larger than a piece, with rows that do not divide it.
    let (rows, columns) = (1000, 777);
    let before = noise(1, rows * columns);
    for place in [0, 1, 262_143, 262_144, 400_000, rows * columns - 1] {
        let mut after = before.clone();
        after[place] += 0.5;
        let found = difference(before.clone(), after, &[rows as u64, columns as u64]);
        assert_eq!(found.at, [(place / columns) as u64, (place % columns) as u64]);
        assert_eq!((found.changed, found.changed_rows, found.elements), (1, 1, 777_000));
        assert!((found.largest - 0.5).abs() < 1e-6 && found.scale.is_none() && found.rank.is_none());
    }
    assert_eq!(change(before.clone(), before, &[777, 1000]), TensorChange::Same);
}

#[test]
fn weight_decay_is_told_from_learning() {
    let before = noise(2, 64 * 64);
    let decayed: Vec<f32> = before.iter().map(|value| value * 0.999 * 0.999).collect();
    let scale = difference(before.clone(), decayed, &[64, 64]).scale.expect("a factor");
    assert!((scale - 0.998_001).abs() < 1e-6, "{scale}");
    let learned: Vec<f32> =
        before.iter().zip(noise(3, 64 * 64)).map(|(value, step)| value + 1e-3 * step).collect();
    assert_eq!(difference(before.clone(), learned, &[64, 64]).scale, None);
    let grown: Vec<f32> = before.iter().map(|value| value * 1.01).collect();
    assert_eq!(difference(before, grown, &[64, 64]).scale, None);
}

#[test]
fn a_merged_adapter_has_a_low_rank_and_learning_or_a_few_rows_do_not() {
    let (rows, columns) = (300, 200);
    let before = noise(4, rows * columns);
    for rank in [1, 4, 16] {
        let (b, a) = (noise(5, rows * rank), noise(6, rank * columns));
        let mut after = before.clone();
        for (place, value) in after.iter_mut().enumerate() {
            let (row, column) = (place / columns, place % columns);
            *value += 1e-2 * (0..rank).map(|k| b[row * rank + k] * a[k * columns + column]).sum::<f32>();
        }
        assert_eq!(difference(before.clone(), after, &[300, 200]).rank, Some(rank));
    }
    let learned: Vec<f32> =
        before.iter().zip(noise(7, rows * columns)).map(|(value, step)| value + 1e-2 * step).collect();
    assert_eq!(difference(before.clone(), learned, &[300, 200]).rank, None);
    let few: Vec<f32> = before
        .iter()
        .enumerate()
        .map(|(place, value)| value + if place < 5 * columns { 0.1 } else { 0.0 })
        .collect();
    let few = difference(before, few, &[300, 200]);
    assert_eq!((few.rank, few.changed_rows), (None, 5));
}

#[test]
fn values_that_are_no_numbers_do_not_hide_a_change() {
    let found = difference(vec![1.0, 2.0, 3.0, 4.0], vec![1.0, f32::NAN, 3.5, f32::INFINITY], &[4]);
    assert_eq!((found.changed, found.not_finite, found.largest, found.at), (3, 2, 0.5, vec![2]));
    assert_eq!(change(vec![f32::NAN, 1.0], vec![f32::NAN, 1.0], &[2]), TensorChange::Same);
    // The sign of zero is a bit too.
    assert!(matches!(change(vec![0.0, 1.0], vec![-0.0, 1.0], &[2]), TensorChange::Moved(_)));
}

#[test]
fn a_policy_holds_or_names_what_moved() {
    let names = [
        "model.bert.embeddings.word_embeddings.weight",
        "model.bert.encoder.layer.0.output.dense.weight",
        "model.bert.encoder.layer.1.output.dense.weight",
        "model.classifier.weight",
    ];
    let shape: &[u64] = &[2, 2];
    let state = |moved: &[usize]| {
        let tensors: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(place, name)| {
                (*name, shape, vec![if moved.contains(&place) { 1.5 } else { 1.0 }, 2.0, 3.0, 4.0])
            })
            .collect();
        Memory::new(&tensors)
    };
    let audit = |policy: &str, moved: &[usize]| {
        let rule = FreezeRule::Policy(Policy::parse(policy).unwrap());
        compare(ComparedSide::new(&state(&[])), ComparedSide::new(&state(moved)), &rule).unwrap()
    };
    assert!(audit("first-1+embeddings", &[2, 3]).holds);
    assert!(audit("first-1", &[0, 2, 3]).holds);
    let found = audit("first-1+embeddings", &[0, 2, 3]);
    let text = found.to_string();
    assert!(!found.holds && found.count_violations() == 1, "{text}");
    assert!(
        text.contains(
            "FROZEN, BUT NOT THE SAME: 1\n  model.bert.embeddings.word_embeddings.weight  up to 5.0e-1"
        ),
        "{text}"
    );
    let text = audit("first-1", &[2]).to_string();
    assert!(text.contains("trainable, but never moved: 2"), "{text}");
    let rule = FreezeRule::Patterns(vec!["bert.encoder.layer.1".into()]);
    assert_eq!(
        compare(ComparedSide::new(&state(&[])), ComparedSide::new(&state(&[2])), &rule)
            .unwrap()
            .count_violations(),
        1
    );
}

/// What a policy adds to layers is merged into their weights, and IA3's factors into their biases. Norms stay.
#[test]
fn weights_into_which_something_was_merged_may_move() {
    let layer = "model.bert.encoder.layer.0";
    let [weight, bias, norm, classifier] = [
        format!("{layer}.attention.self.key.weight"),
        format!("{layer}.attention.self.key.bias"),
        format!("{layer}.output.LayerNorm.weight"),
        "model.classifier.weight".into(),
    ];
    let state = |moved: &str| {
        let values = |name: &str| {
            let factor = if name == moved || name == classifier && !moved.is_empty() { 1.5 } else { 1.0 };
            [1.0, 2.0, 3.0, 4.0].map(|value| factor * value)
        };
        let tensor = |name| (name, &[2, 2][..], values(name).to_vec());
        let row = |name| (name, &[2][..], values(name)[..2].to_vec());
        // A second block, so that `first-1` leaves one to train.
        let other = "model.bert.encoder.layer.1.attention.self.key.weight";
        Memory::new(&[tensor(&weight), row(&bias), row(&norm), tensor(other), tensor(&classifier)])
    };
    for (policy, moved, holds) in [
        ("none+ia3", &weight, true),
        ("none+ia3", &bias, true),
        ("none+ia3", &norm, false),
        ("none+dora", &weight, true),
        ("none+dora", &bias, false),
        ("none+bitfit", &weight, false),
        ("first-1+ia3+norms", &weight, false),
    ] {
        let rule = FreezeRule::Policy(Policy::parse(policy).unwrap());
        let [before, after] = ["", moved.as_str()].map(state);
        let found = compare(ComparedSide::new(&before), ComparedSide::new(&after), &rule).unwrap();
        assert_eq!(found.count_violations() == 0, holds, "{policy} {moved}: {found}");
    }
}

#[test]
fn two_models_without_a_common_name_are_an_error() {
    let (a, b) = (Memory::new(&[("a.x.w", &[1], vec![1.0])]), Memory::new(&[("b.y.w", &[1], vec![1.0])]));
    let error =
        compare(ComparedSide::new(&a), ComparedSide::new(&b), &FreezeRule::Nothing).unwrap_err().to_string();
    assert!(error.contains("`b.y.w` here, `a.x.w` there; compare two states of one model"), "{error}");
}
