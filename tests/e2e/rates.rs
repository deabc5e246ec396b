//! The search for learning rates before a comparison: its cells, the use of its rates, and its errors.

use std::collections::BTreeMap;

use frostline_e2e::{CellDeed, Ended, World};
use frostline_record::{Record, ScoredOn, Sweep, read_record};

use crate::new_world;

/// Returns a world whose train files have so many sentences.
fn with_train(sentences: usize) -> World {
    let world = new_world();
    for (bank, words) in [("EN", "en"), ("PCM", "pcm")] {
        let sentence = |at| format!("# sent_id = {words}-{at}\n1\tice\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n");
        let text: String = (0..sentences).map(sentence).collect();
        world.write_file(&format!("data/UD_Small-{bank}/x-ud-train.conllu"), &text);
    }
    world
}

fn sweep_of(world: &World) -> Sweep {
    Sweep::read(&world.path_of("out")).expect("the sweep")
}

/// Returns all records in the sweep's folder, by cell id.
fn records_by_id(world: &World) -> BTreeMap<String, Record> {
    let cells = std::fs::read_dir(world.path_of("out/cells")).expect("cells").flatten();
    let records = cells.filter_map(|entry| read_record(&entry.path()).expect("a whole record"));
    records.map(|record| (record.cell.id.clone(), record)).collect()
}

fn dev_score(record: &Record) -> f64 {
    record.result.as_ref().expect("a result").scores()["dev"].accuracy()
}

#[test]
fn each_policy_gets_the_rate_that_its_search_finds() {
    let world = with_train(400);
    let search = || Ended::run_to_end(&mut world.sweep_command(&["--find-lr", "--seeds", "1,2"]));
    let ended = search();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (sweep, records) = (sweep_of(&world), records_by_id(&world));
    let rates = sweep.rates.as_ref().expect("what was found");
    assert!(!rates.running && !sweep.search_continues);
    assert_eq!((sweep.cells.len(), rates.seed, rates.found.len()), (8, 9001, 2));
    for found in &rates.found {
        assert_eq!((found.langs.len(), found.scored_on, found.rungs.len()), (2, ScoredOn::Train, 3));
        assert_eq!(found.rungs.iter().map(|rung| rung.sentences).collect::<Vec<_>>(), [80, 160, 320]);
        // Fewer parameters are trained under `all`.
        assert_eq!(found.parameters, if found.policy == "none" { [112, 172] } else { [62, 172] });
        for rung in &found.rungs {
            for trial in &rung.trials {
                let cells: Vec<&Record> = trial.cells.iter().map(|id| &records[id]).collect();
                let mean = cells.iter().map(|record| dev_score(record)).sum::<f64>() / cells.len() as f64;
                assert_eq!((cells.len(), trial.score), (2, Some(mean)));
                for record in cells {
                    let settings = &record.cell.settings;
                    assert_eq!((settings.seed, settings.optimizer.lr), (9001, trial.lr));
                    assert_eq!((settings.data.sample as u64, settings.data.cut_dev), (rung.sentences, 0.2));
                    assert!(!record.cell.inputs.contains_key("dev"), "dev takes no part in the choice");
                }
            }
        }
        let last = &found.rungs[2].trials;
        let best = last.iter().filter_map(|trial| trial.score).fold(0.0, f64::max);
        assert_eq!(found.score(), Some(best), "{last:?}");
    }
    for cell in &sweep.cells {
        let found = rates.found.iter().find(|found| found.is_of(&cell.settings)).expect("its rate");
        assert_eq!(cell.settings.optimizer.lr, found.lr, "{}", cell.title());
        assert!(records[&cell.id].error.is_none() && [1, 2].contains(&cell.settings.seed));
    }
    let report = std::fs::read_to_string(world.path_of("out/report/report.md")).expect("the report");
    assert!(report.contains("## Learning rates") && !report.contains("9001 |"), "{report}");
    assert!(world.path_of("out/report/figures/rates.svg").exists());

    let again = search();
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(!again.err.contains("done in") && sweep_of(&world) == sweep, "nothing is run twice: {again:?}");
    // Another policy is searched for alone.
    let before = records.len();
    let more = Ended::run_to_end(&mut world.sweep_command(&[
        "--find-lr",
        "--seeds",
        "1,2",
        "--policies",
        "none,all,first-2",
    ]));
    assert_eq!(more.code, Some(0), "{more:?}");
    let grown = self::records_by_id(&world);
    let new = grown.values().filter(|record| !records.contains_key(&record.cell.id));
    assert!(new.clone().all(|record| record.cell.settings.policy == "first-2"));
    assert_eq!(new.count(), grown.len() - before);
}

#[test]
fn languages_can_have_rates_of_their_own() {
    let world = with_train(400);
    let ended = Ended::run_to_end(&mut world.sweep_command(&[
        "--find-lr=lang",
        "--seeds",
        "1",
        "--set",
        "search.rungs=1",
    ]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let sweep = sweep_of(&world);
    let found = &sweep.rates.as_ref().expect("what was found").found;
    let of: Vec<String> = found.iter().map(|found| format!("{} {}", found.langs[0], found.policy)).collect();
    assert_eq!(of, ["en none", "en all", "pcm none", "pcm all"]);
    for (cell, found) in sweep.cells.iter().zip(found) {
        assert_eq!(cell.settings.optimizer.lr, found.lr, "{}", cell.title());
    }
}

#[test]
fn a_search_that_stops_is_resumed_by_the_same_command() {
    let world = with_train(400);
    world.set_script(&[("pcm all seed 9001", CellDeed::Fail)]);
    let search = || Ended::run_to_end(&mut world.sweep_command(&["--find-lr", "--seeds", "1"]));
    let stopped = search();
    assert_eq!(stopped.code, Some(1), "{stopped:?}");
    let sweep = sweep_of(&world);
    assert!(sweep.is_searching() && !sweep.search_continues, "{:?}", sweep.rates);
    assert!(sweep.cells.iter().all(|cell| cell.settings.seed == 9001));
    assert!(!world.path_of("out/report").exists(), "there is nothing to compare yet");
    let report = Ended::run_to_end(&mut world.xtask_command(&["report", "out"]));
    assert!(
        report.code == Some(3) && report.err.contains("still searching for learning rates"),
        "{report:?}"
    );
    let before = records_by_id(&world);
    world.set_script(&[]);
    let ended = search();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let after = records_by_id(&world);
    let kept = before.values().filter(|record| record.error.is_none());
    assert!(kept.clone().all(|record| after[&record.cell.id] == *record));
    assert!(kept.count() > 10, "all but the failed ones");
    assert_eq!(sweep_of(&world).cells.len(), 4);
}

#[test]
fn a_rate_that_is_fixed_is_not_searched_for() {
    let world = with_train(400);
    for set in ["optimizer.lr=1e-3", "policies.all.optimizer.lr=1e-3", "optimizer.lr=[1e-3, 1e-2]"] {
        let ended = Ended::run_to_end(&mut world.sweep_command(&["--find-lr", "--set", set]));
        let path = set.split('=').next().unwrap_or_default();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(&format!("`{path}` fixes a learning rate, and --find-lr")), "{ended:?}");
    }
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--find-lr", "--seeds", "9001"]));
    assert!(ended.code == Some(2) && ended.err.contains("`search.seed = 9001`"), "{ended:?}");
    let listed = Ended::run_to_end(&mut world.sweep_command(&["--find-lr", "--list"]));
    assert!(listed.code == Some(0) && listed.out.contains("find-lr   first a search"), "{listed:?}");
    assert!(!world.path_of("out").exists());
}
