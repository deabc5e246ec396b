//! Policies that choose blocks by scores: the program is asked once, and cells carry what was chosen.

use std::collections::BTreeMap;

use frostline_e2e::{Ended, World};
use frostline_record::{BlockScore, Sweep};

use crate::new_world;

const STUDY: [&str; 5] =
    ["--policies", "none,fisher-2,blocks-0.2.3.5,random-2", "--seeds", "1,2", "--no-timing"];

#[test]
fn blocks_are_chosen_once_and_stored_in_cells() {
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.sweep_command(&STUDY));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let sweep = Sweep::read(&world.path_of("out")).expect("the sweep");
    let orders: BTreeMap<String, Vec<usize>> = sweep
        .cells
        .iter()
        .filter_map(|cell| Some((cell.title(), cell.block_orders.get(&BlockScore::Fisher)?.clone())))
        .collect();
    let expected = [("en", vec![4, 1, 5, 3, 0, 2]), ("pcm", vec![0, 1, 2, 3, 4, 5])];
    for (lang, order) in expected {
        for seed in [1, 2] {
            assert_eq!(orders[&format!("{lang} fisher-2 seed {seed}")], order);
        }
    }
    assert_eq!(orders.len(), 4, "no other cell needs the order");
    let drawn = |title: &str| {
        let cell = sweep.cells.iter().find(|cell| cell.title() == title).expect("a cell");
        cell.block_orders[&BlockScore::Random].clone()
    };
    assert_ne!(drawn("en random-2 seed 1"), drawn("en random-2 seed 2"));
    assert_eq!(drawn("en random-2 seed 1"), drawn("pcm random-2 seed 1"));
    // In en, the blocks that learn are 1 and 4: two names of one policy. In pcm they are 0 and 1.
    assert_eq!(sweep.cells.len(), 14);
    let named = "policies  `blocks-0.2.3.5` freezes the same parameters as `fisher-2`";
    assert!(ended.err.contains(named), "{}", ended.err);
    let page = std::fs::read_to_string(world.path_of("out/report/report.md")).expect("a report");
    assert!(page.contains("- `fisher-2` trains blocks 1 and 4 in en; 0 and 1 in pcm.\n"), "{page}");
    assert!(page.contains("- `random-2` trains blocks "), "{page}");

    let again = Ended::run_to_end(world.sweep_command(&STUDY).env("FAKE_SCORES", "none"));
    assert_eq!(again.code, Some(0), "the order is read from the folder: {again:?}");
    assert!(again.out.contains("14 of 14 cells"), "{}", again.out);
}

/// In a study over sets of blocks the report compares scores with what freezing cost, so the sweep computes and keeps them.
#[test]
fn a_study_over_sets_of_blocks_keeps_the_scores_of_blocks() {
    let search = ["--policies", "greedy", "--lang", "en", "--seeds", "1,2", "--no-timing"];
    let stored = |world: &World| Sweep::read(&world.path_of("out")).expect("the sweep").block_scores;
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.sweep_command(&search));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let scores = stored(&world);
    assert_eq!(scores.len(), 2, "one for each seed: {scores:?}");
    assert_eq!(scores[0].scores[&BlockScore::Fisher], [0.2, 0.5, 0.1, 0.3, 0.9, 0.4]);

    let again = Ended::run_to_end(world.sweep_command(&search).env("FAKE_SCORES", "none"));
    assert_eq!((again.code, stored(&world)), (Some(0), scores), "they are read from the folder: {again:?}");

    let without = new_world();
    let ended = Ended::run_to_end(without.sweep_command(&search).env("FAKE_SCORES", "none"));
    assert_eq!(ended.code, Some(0), "the study does not need them: {ended:?}");
    assert!(ended.err.contains("the blocks were not scored: "), "{}", ended.err);
    assert!(stored(&without).is_empty());
}

#[test]
fn faults_of_chosen_blocks_are_named_before_anything_runs() {
    let world = new_world();
    for (policies, message) in [
        ("fisher-7", "the encoder has 6 blocks"),
        ("probe-2", "too few train sentences with labels for the policies `probe-K`"),
        ("none,fisher-1%", "`fisher-1%` means no block of an encoder of 6"),
    ] {
        let ended = Ended::run_to_end(&mut world.sweep_command(&["--policies", policies]));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(message), "{policies}: {}", ended.err);
        assert!(!world.path_of("out").exists(), "{policies}");
    }
}
