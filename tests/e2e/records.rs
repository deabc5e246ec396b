//! Records and resuming: finished cells, cells that run again, and unchanged files.

use std::collections::BTreeMap;
use std::path::Path;

use frostline_e2e::{CellDeed, Ended};
use frostline_files::unseal_json;
use frostline_record::SCHEMA;

use crate::new_world;

/// When each record was written, by title.
fn record_times(world: &frostline_e2e::World) -> Vec<(String, std::time::SystemTime)> {
    let time = |title: &String| {
        let path = world.cell_folder(title).join("record.json");
        path.metadata().and_then(|about| about.modified()).expect("a record")
    };
    world.records_by_title().keys().map(|title| (title.clone(), time(title))).collect()
}

#[test]
fn the_same_command_again_runs_nothing() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    let before = record_times(&world);
    assert_eq!(before.len(), 8);
    let again = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("8 cells here already"), "{}", again.out);
    assert_eq!(record_times(&world), before);
}

#[test]
fn more_seeds_continue_the_same_folder() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
    let before = record_times(&world);
    let more = Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1-3"]));
    assert_eq!(more.code, Some(0), "{more:?}");
    assert_eq!(world.records_by_title().len(), 12);
    assert!(before.iter().all(|pair| record_times(&world).contains(pair)));
}

#[test]
fn a_failed_cell_is_a_record_and_runs_again() {
    let world = new_world();
    world.set_script(&[("pcm none seed 2", CellDeed::Fail)]);
    let ended = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let record = &world.records_by_title()["pcm none seed 2"];
    assert_eq!(record.error.as_deref(), Some("frozen weights moved"));
    assert!(record.result.is_none());

    world.set_script(&[]);
    let again = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("7 cells here already"), "{}", again.out);
    assert!(world.records_by_title().values().all(|record| record.error.is_none()));
}

#[test]
fn a_damaged_record_is_named_and_its_cell_runs_again() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    let path = world.cell_folder("pcm none seed 2").join("record.json");
    let whole = std::fs::read(&path).expect("the record");
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("half of it");
    let again = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
    let said = "pcm none seed 2: its record cannot be read, so it is run again: ";
    assert!(again.out.contains("7 cells here already") && again.err.contains(said), "{again:?}");
    assert!(world.records_by_title()["pcm none seed 2"].error.is_none());
}

#[test]
fn a_crash_fails_one_cell() {
    for (deed, how) in [
        (CellDeed::Crash, "signal 6 (abort)\nthread 'main' panicked: the fake crashes"),
        (CellDeed::Quit, "exit code 7\nmemory ran out"),
        (CellDeed::Babble, "the worker wrote a line that is not an event of this cell: this is no event"),
    ] {
        let world = new_world();
        world.set_script(&[("en none seed 1", deed)]);
        let ended = Ended::run_to_end(&mut world.sweep_command(&[]));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let records = world.records_by_title();
        assert_eq!(records.len(), 8);
        let failed = &records["en none seed 1"];
        let error = failed.error.as_deref().expect("an error");
        assert!(error.contains(how), "{error}");
        assert_eq!(failed.made_by.isa, "fake");
        assert_eq!(records.values().filter(|record| record.error.is_some()).count(), 1);
    }
}

#[test]
fn records_of_other_code_data_or_settings_are_kept_and_not_reused() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
    let old = record_times(&world);
    let again = |change: &str, command: &mut std::process::Command| {
        let ended = Ended::run_to_end(command);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!ended.out.contains("here already"), "{change}: {}", ended.out);
        assert!(ended.out.contains("left alone"), "{change}: {}", ended.out);
    };
    again("code", world.sweep_command(&["--seeds", "1"]).env("FAKE_CODE", "0123456789abcdef"));
    again("settings", &mut world.sweep_command(&["--seeds", "1", "--set", "train.epochs=2"]));
    let dev = world.path_of("data/UD_Small-EN/x-ud-dev.conllu");
    let text = std::fs::read_to_string(&dev).expect("the split");
    std::fs::write(&dev, text.replace("Glaciers", "Lakes")).expect("the split");
    again("data", &mut world.sweep_command(&["--seeds", "1", "--lang", "en"]));
    std::fs::write(&dev, text.as_bytes()).expect("the split");

    let back = Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"]));
    assert!(back.out.contains("4 cells here already"), "{}", back.out);
    assert_eq!(record_times(&world), old);
}

#[test]
fn a_record_that_cannot_be_read_is_made_again() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
    std::fs::write(world.cell_folder("en all seed 1").join("record.json"), "{\"schema\": 2")
        .expect("a torn record");
    let again = Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("3 cells here already"), "{}", again.out);
    assert_eq!(world.records_by_title().len(), 4);
}

#[test]
fn files_of_an_older_schema_are_named_in_a_report_and_made_again_by_a_sweep() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
    let age = |path: &std::path::Path| {
        let text = unseal_json(&std::fs::read_to_string(path).expect("a file")).expect("as it was written");
        let older = text.replacen(&format!("\"schema\": {SCHEMA}"), "\"schema\": 1", 1);
        assert_ne!(text, older);
        std::fs::write(path, older).expect("the file");
    };
    age(&world.cell_folder("en all seed 1").join("record.json"));
    let report = || Ended::run_to_end(&mut world.xtask_command(&["report", "out"]));
    let check_named = |ended: &Ended, file: &str, what: &str| {
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let said =
            format!("{what} of schema 1, but this Frostline reads schema {SCHEMA}; run the sweep again");
        assert!(ended.err.contains(file) && ended.err.contains(&said), "{}", ended.err);
    };
    check_named(&report(), "record.json", "a record");
    let again = Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("3 cells here already"), "{}", again.out);
    assert_eq!(report().code, Some(0));
    age(&world.path_of("out/sweep.json"));
    check_named(&report(), "sweep.json", "a sweep");
}

#[test]
fn workers_share_the_cells() {
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--jobs", "3"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(world.records_by_title().len(), 8);
    assert!(world.path_of("out/workers/worker-3.log").exists());
}

#[test]
fn as_many_cells_run_at_a_time_as_fit_unless_somebody_says_otherwise() {
    // Returns the number of workers of a sweep whose cells need this many bytes, from the line that prints it.
    let workers = |bytes: &str, arguments: &[&str]| {
        let world = new_world();
        let fixed = ["sweep", "--plan", "plan.toml", "--data", "data", "--models", "models", "--out", "out"];
        let sweep = |arguments: &[&str]| {
            let all = [&fixed[..], &["--runner", env!("CARGO_BIN_EXE_fake-runner")], arguments].concat();
            Ended::run_to_end(world.xtask_command(&all).env("FAKE_BYTES", bytes))
        };
        let ended = sweep(arguments);
        assert_eq!((ended.code, world.records_by_title().len()), (Some(0), 8), "{ended:?}");
        let log = |number: usize| world.path_of(&format!("out/workers/worker-{number}.log"));
        let workers = (1..).take_while(|number| log(*number).exists()).count();
        let line = format!("jobs      {workers} cells at a time, each with ");
        assert_eq!(ended.out.contains(&line), workers > 1, "{workers} workers: {}", ended.out);
        // One cell that is left has all cores.
        let cell = std::fs::read_dir(world.path_of("out/cells")).expect("cells").next().expect("one");
        std::fs::remove_dir_all(cell.expect("its name").path()).expect("its folder");
        let last = sweep(arguments);
        assert_eq!((last.code, last.out.contains("jobs      ")), (Some(0), false), "{last:?}");
        workers
    };
    let (small, enormous) = ("1000", "1000000000000000");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(workers(small, &[]) > 1, cores > 1);
    assert_eq!(workers(enormous, &[]), 1);
    assert_eq!(workers(small, &["--threads", "1"]), 1);
}

#[test]
fn a_worker_that_cannot_start_stops_the_sweep() {
    let world = new_world();
    let ended = Ended::run_to_end(world.sweep_command(&[]).env("FAKE_NO_START", "the device is gone"));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.err.contains("a worker could not start (exit code 3): the device is gone"),
        "{}",
        ended.err
    );
    assert!(world.records_by_title().is_empty());
}

#[test]
fn an_invalid_line_before_the_first_cell_stops_the_sweep() {
    let world = new_world();
    let ended = Ended::run_to_end(world.sweep_command(&[]).env("FAKE_BABBLE", "Welcome!"));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.err.contains("the worker wrote a line that is not an event of this cell: Welcome!"),
        "{}",
        ended.err
    );
    assert!(world.records_by_title().is_empty());
}

#[test]
fn the_report_warns_of_simultaneous_cells_of_any_command() {
    let warns = |commands: [&[&str]; 2]| {
        let world = new_world();
        for command in commands {
            assert_eq!(Ended::run_to_end(&mut world.sweep_command(command)).code, Some(0));
        }
        std::fs::read_to_string(world.path_of("out/report/report.md"))
            .expect("a report")
            .contains("Up to 2 cells ran")
    };
    assert!(warns([&["--jobs", "2"], &[]]));
    assert!(warns([&["--jobs", "2", "--seeds", "1"], &["--seeds", "1-2"]]));
    assert!(warns([&["--seeds", "1"], &["--jobs", "2", "--seeds", "1-2"]]));
    // No cells ran at the same time.
    assert!(!warns([&[], &["--jobs", "2"]]));
}

#[test]
fn a_report_leaves_no_file_of_the_last_one_and_touches_no_other() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    let contents = world.path_of("out/report/contents.txt");
    let mut listed = std::fs::read_to_string(&contents).expect("the list");
    assert!(listed.lines().any(|name| name == "report.md") && !listed.contains("contents.txt"), "{listed}");
    for (name, text) in [("report/stale.md", "stale"), ("report/mine.md", "mine"), ("precious", "precious")] {
        std::fs::write(world.path_of("out").join(name), text).expect("written");
    }
    let absolute = world.path_of("out/precious").display().to_string();
    listed += &format!("stale.md\n../precious\n{absolute}\n");
    std::fs::write(&contents, &listed).expect("written");
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    assert!(!world.path_of("out/report/stale.md").exists());
    assert!(world.path_of("out/report/mine.md").exists() && world.path_of("out/precious").exists());
    assert!(!std::fs::read_to_string(&contents).expect("the list").contains("stale.md"));
}

#[test]
fn same_finds_changed_results() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    let other = Ended::run_to_end(&mut world.sweep_command(&["--out", "other"]));
    assert_eq!(other.code, Some(0), "{other:?}");
    let same = Ended::run_to_end(&mut world.xtask_command(&["same", "out", "other"]));
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.out.contains("8 cells: every result is equal"), "{}", same.out);

    let path = world.cell_folder("pcm none seed 2").join("record.json");
    let text = unseal_json(&std::fs::read_to_string(&path).expect("a record")).expect("as it was written");
    let mut record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let steps = record["result"]["steps"].as_u64().expect("a number");
    record["result"]["steps"] = (steps + 1).into();
    std::fs::write(&path, record.to_string()).expect("the file");
    let differs = Ended::run_to_end(&mut world.xtask_command(&["same", "out", "other"]));
    assert_eq!(differs.code, Some(1), "{differs:?}");
    assert!(differs.out.contains("pcm none seed 2: other results"), "{}", differs.out);
    assert!(differs.out.contains("differ    1 of 8 cells"), "{}", differs.out);
}

#[test]
fn a_published_sweep_gives_the_same_report_without_a_word_of_the_treebank() {
    let world = new_world();
    world.set_script(&[("en none seed 1", CellDeed::Fail)]);
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(1));
    let publish = || Ended::run_to_end(&mut world.xtask_command(&["publish", "out", "public"]));
    let ended = publish();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("7 of 8 cells, 7 files of predictions"), "{}", ended.out);
    assert_eq!(Ended::run_to_end(&mut world.xtask_command(&["report", "public"])).code, Some(0));

    let texts = |folder: &str| {
        let mut found = BTreeMap::new();
        let mut left = vec![world.path_of(folder)];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                left.extend(path.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path()));
            } else {
                // Binary files are compared and searched as text.
                let bytes = std::fs::read(&path).expect("a file");
                let text = String::from_utf8_lossy(&bytes).into_owned();
                found.insert(path.strip_prefix(world.path_of(folder)).expect("inside").to_path_buf(), text);
            }
        }
        found
    };
    let root = world.path_of("").display().to_string();
    for (path, text) in texts("public") {
        let clean =
            !text.contains("word7") && !text.contains("frozen weights moved") && !text.contains(&root);
        assert!(clean, "{} tells too much:\n{text}", path.display());
    }
    let (own, public) = (texts("out/report"), texts("public/report"));
    assert!(own.keys().eq(public.keys()));
    // Only quoted sentences and the message of the failed cell are missing from the texts.
    let tables =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON")["tables"].clone();
    let report = Path::new("report.json");
    assert!(tables(&own[report])["confusions"]["data"].is_array());
    assert_eq!(tables(&own[report]), tables(&public[report]));

    let again = publish();
    assert_eq!(again.code, Some(3), "{again:?}");
    assert!(again.err.contains("public: it is not empty; give a new folder"), "{again:?}");
}

#[test]
fn published_cells_and_new_ones_are_compared_as_cells_of_one_sweep() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
    assert_eq!(Ended::run_to_end(&mut world.xtask_command(&["publish", "out", "public"])).code, Some(0));
    for out in ["public", "out"] {
        assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--out", out])).code, Some(0));
    }
    let verdicts = |folder: &str| {
        let path = world.path_of(folder).join("report/report.json");
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let verdicts = report["tables"]["verdicts"].clone();
        assert!(verdicts.is_object() && !verdicts.to_string().contains("different sentences"));
        verdicts
    };
    assert_eq!(verdicts("public"), verdicts("out"));
}

#[test]
fn changed_predictions_are_not_published() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
    let file = world.cell_folder("en none seed 1").join("dev.tsv");
    std::fs::write(&file, "sent_id\tid\tform\tgold\tpredicted\ttrain\n").expect("the file");
    let ended = Ended::run_to_end(&mut world.xtask_command(&["publish", "out", "public"]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("dev.tsv: its bytes are not those that the record names"), "{ended:?}");
    assert!(ended.err.contains("en none seed 1 cannot be published"), "{ended:?}");
    assert!(!world.path_of("public/sweep.json").exists());
}
