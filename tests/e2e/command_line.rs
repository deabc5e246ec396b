//! The output of the commands: help, lists, a whole sweep, a report written again.

use frostline_e2e::{CellDeed, Ended};

use crate::{new_world, show_ended};

#[test]
fn help() {
    let world = new_world();
    for arguments in [
        vec!["--help"],
        vec!["sweep", "--help"],
        vec!["work", "--help"],
        vec!["report", "--help"],
        vec!["fetch", "--help"],
        vec!["bench", "--help"],
        vec!["device", "--help"],
    ] {
        let ended = Ended::run_to_end(&mut world.xtask_command(&arguments));
        assert_eq!(ended.code, Some(0));
        let text: Vec<&str> = ended.out.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(format!("help-{}", arguments[0]), text.join("\n"));
    }
}

#[test]
fn list_shows_cells_and_inputs_and_writes_nothing() {
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.sweep_command(&[
        "--list",
        "--set",
        "optimizer.lr=[1e-5, 5e-5]",
        "--seeds",
        "7",
    ]));
    insta::assert_snapshot!(show_ended(&world, &ended));
    assert!(!world.path_of("out").exists());
}

#[test]
fn policies_that_differ_in_name_alone_are_named() {
    let world = new_world();
    let list = |policies: &str| {
        let ended =
            Ended::run_to_end(&mut world.sweep_command(&["--list", "--policies", policies, "--lang", "en"]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.err
    };
    let said = list("none,first-2,first-33%,top-4,all+embeddings,head-only");
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("policies")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    policies  `first-33%` freezes the same parameters as `first-2`: they are one, trained once and counted once
    policies  `head-only` freezes the same parameters as `all+embeddings`: they are one, trained once and counted once
    ");
    assert!(!list("none,all,first-2,first-4,none+lora,first-2+lora").contains("freezes the same"));
}

#[test]
fn what_is_the_same_under_two_names_is_run_once() {
    let world = new_world();
    let plan = "schema = 4\nname = 'twins'\n[treebanks]\nen = 'UD_Small-EN'\nagain = 'UD_Small-EN'\n\
        [grid]\nlang = ['en', 'again']\npolicy = ['first-33%', 'first-2', 'none']\n'encoder.name' = ['tiny', 'copy']\n";
    world.write_file("twins.toml", plan);
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let path = world.path_of(&format!("models/tiny/{file}"));
        if let Ok(text) = std::fs::read_to_string(path) {
            // The origin of a model does not change what it is.
            let text = text.replacen(
                '{',
                "{ \"_name_or_path\": \"elsewhere\", ",
                usize::from(file == "config.json"),
            );
            world.write_file(&format!("models/copy/{file}"), &text);
        }
    }
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--plan", "twins.toml"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let sweep = frostline_record::Sweep::read(&world.path_of("out")).expect("the sweep");
    let cells: Vec<_> = sweep.cells.iter().map(|cell| cell.title()).collect();
    assert_eq!(cells, ["en first-33% seed 42", "en none seed 42"]);
    assert_eq!((sweep.twins.len(), world.records_by_title().len()), (10, 2));
    let lines: Vec<&str> = ended.err.lines().filter(|line| line.contains("counted once")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    policies  `first-2` freezes the same parameters as `first-33%`: they are one, trained once and counted once
    encoders  `copy` has the same files as `tiny`: they are one, trained once and counted once
    treebanks `again` has the same files as `en`: they are one, trained once and counted once
    ");
    let page = std::fs::read_to_string(world.path_of("out/report/report.md")).expect("a report");
    let lines: Vec<&str> = page.lines().filter(|line| line.contains("counted once")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    - `first-33%` and `first-2` freeze the same parameters: one row, counted once.
    - `en` and `again` are the same dataset, file by file: one row, counted once.
    - `tiny` and `copy` have the same contents: one row, counted once.
    ");
}

#[test]
fn subsets_are_named_once_the_depth_is_known() {
    let world = new_world();
    world.write_file("models/tiny/config.json", r#"{"model_type": "distilbert", "n_layers": 2}"#);
    let ended = Ended::run_to_end(&mut world.sweep_command(&[
        "--policies",
        "head-only,subsets,blocks-1",
        "--lang",
        "en",
        "--seeds",
        "1",
    ]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let sweep = frostline_record::Sweep::read(&world.path_of("out")).expect("the sweep");
    let policies: Vec<_> = sweep.cells.iter().map(|cell| cell.settings.policy.as_str()).collect();
    assert_eq!(policies, ["head-only", "none", "blocks-0", "all", "blocks-1"]);
    assert_eq!(world.records_by_title().len(), 5);
}

#[test]
fn a_greedy_search_freezes_the_best_block_of_each_round() {
    let world = new_world();
    world.write_file("models/tiny/config.json", r#"{"model_type": "distilbert", "n_layers": 3}"#);
    let search = || {
        Ended::run_to_end(&mut world.sweep_command(&[
            "--policies",
            "greedy",
            "--lang",
            "en,pcm",
            "--seeds",
            "1,2",
        ]))
    };
    let ended = search();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let records: Vec<_> = world.records_by_title().into_values().collect();
    assert_eq!(records.len(), 7 * 4, "1 + 3 + 2 + 1 sets");
    let mean = |policy: &str| {
        let found: Vec<f64> = records
            .iter()
            .filter(|record| record.cell.settings.policy == policy)
            .map(|record| {
                let result = record.result.as_ref().expect("a result");
                result.stages[0].tasks[&result.headline].scores["dev"].accuracy()
            })
            .collect();
        assert_eq!(found.len(), 4, "{policy}");
        found.iter().sum::<f64>() / 4.0
    };
    let singles = ["blocks-0", "blocks-1", "blocks-2"];
    let best = singles.into_iter().rev().max_by(|a, b| mean(a).total_cmp(&mean(b))).expect("one");
    let pairs: Vec<_> = ["blocks-0.1", "blocks-0.2", "blocks-1.2"]
        .into_iter()
        .filter(|pair| records.iter().any(|record| record.cell.settings.policy == *pair))
        .collect();
    let block = best.strip_prefix("blocks-").expect("its block");
    assert!(pairs.len() == 2 && pairs.iter().all(|pair| pair.contains(block)), "{best}, then {pairs:?}");
    assert!(
        ended.out.contains(&format!("greedy    3 blocks tried; freezing block {block} is best")),
        "{ended:?}"
    );
    assert!(ended.out.contains("frozen: 0, 1, 2"), "{ended:?}");
    let sweep = frostline_record::Sweep::read(&world.path_of("out")).expect("the sweep");
    assert!(!sweep.search_continues, "this was the last round");

    let again = search();
    assert_eq!((again.code, world.records_by_title().len()), (Some(0), 28), "{again:?}");
    assert!(!again.err.contains("done in"), "nothing is run twice: {again:?}");
}

#[test]
fn a_greedy_search_continues_while_its_command_is_there() {
    let world = new_world();
    world.write_file("models/tiny/config.json", r#"{"model_type": "distilbert", "n_layers": 3}"#);
    let continues =
        || frostline_record::Sweep::read(&world.path_of("out")).expect("the sweep").search_continues;
    let search = ["--policies", "greedy", "--lang", "en", "--seeds", "1"];
    let begun = Ended::run_to_end(world.sweep_command(&search).arg("--begin"));
    assert_eq!((begun.code, continues()), (Some(0), false), "nobody stays to add cells: {begun:?}");

    world.set_script(&[("en blocks-1 seed 1", CellDeed::Fail)]);
    let stopped = Ended::run_to_end(&mut world.sweep_command(&search));
    assert_eq!(
        (stopped.code, world.records_by_title().len(), continues()),
        (Some(1), 4, false),
        "{stopped:?}"
    );
    assert!(stopped.out.contains("greedy    stops here: en blocks-1 seed 1 has no result"), "{stopped:?}");

    // The search needs no result of `none`.
    world.set_script(&[("en none seed 1", CellDeed::Fail)]);
    std::fs::remove_dir_all(world.path_of("out")).expect("the first sweep");
    let ended = Ended::run_to_end(&mut world.sweep_command(&search));
    assert_eq!((ended.code, world.records_by_title().len(), continues()), (Some(1), 7, false), "{ended:?}");
}

#[test]
fn a_whole_sweep() {
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--lang", "en", "--seeds", "1"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    insta::assert_snapshot!(without_table_and_times(&show_ended(&world, &ended)));
    assert_eq!(world.records_by_title().len(), 2);
    assert!(world.path_of("out/report/report.md").exists());
}

#[test]
fn the_data_report_trains_nothing_and_writes_nothing() {
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--data-report", "--seeds", "1,2"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    insta::assert_snapshot!(show_ended(&world, &ended));
    assert!(!world.path_of("out").exists());
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--data-report", "--verify"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn a_report_counts_predictions_and_does_without_them() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--lang", "en", "--seeds", "1"])).code, Some(0));
    let page = || std::fs::read_to_string(world.path_of("out/report/report.md")).expect("report.md");
    let errors = std::fs::read_to_string(world.path_of("out/report/errors.md")).expect("errors.md");
    assert!(errors.contains("### Where policies differ from none"), "{errors}");
    assert!(page().contains("](errors.md)") && page().contains("](data.md)"), "{}", page());
    for cell in std::fs::read_dir(world.path_of("out/cells")).expect("cells").flatten() {
        std::fs::write(cell.path().join("dev.tsv"), "torn").expect("a file");
    }
    let out = world.path_of("out").display().to_string();
    let ended = Ended::run_to_end(&mut world.xtask_command(&["report", &out]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(page().contains("**2 files of predictions could not be used**"), "{}", page());
}

/// Returns a sweep's output without the report's table, which belongs to another crate, and without times.
fn without_table_and_times(text: &str) -> String {
    let (before, rest) = text.split_once("\n\n").expect("the table");
    let (_, after) = rest.split_once("\nreport  ").expect("the report's path");
    let timeless = |line: &str| match line.split_once(": done in ") {
        Some((cell, rest)) => format!("{cell}: done in [time],{}", rest.split_once(',').expect("a score").1),
        None => line.to_string(),
    };
    let text = format!("{before}\n[table]\nreport  {after}");
    text.lines().map(|line| timeless(line) + "\n").collect()
}

#[test]
fn a_prefix_is_announced_once() {
    let world = new_world();
    world.set_script(&[("en all seed 1", CellDeed::Prefix)]);
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--lang", "en", "--seeds", "1"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.err.lines().filter(|line| line.contains("frozen embeddings")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"[  2/2] en all seed 1: computing once what its frozen embeddings and 4 blocks make of the data");
}

#[test]
fn missing_bf16_is_reported_before_the_first_cell() {
    let world = new_world();
    let introduced = |more: &[&str]| {
        let ended =
            Ended::run_to_end(&mut world.sweep_command(&[&["--lang", "en", "--seeds", "1"], more].concat()));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out.lines().filter(|line| line.starts_with("precision")).map(String::from).collect::<Vec<_>>()
    };
    let said = introduced(&["--set", "train.precision=[\"f32\", \"bf16\"]"]);
    insta::assert_snapshot!(said.join("\n"), @"precision bf16 is asked for by 2 of 4 cells, but fake has no native bf16: computes in f32 here");
    assert_eq!(introduced(&[]), [""; 0]);
}

#[test]
fn synthetic_data_is_marked() {
    let world = new_world();
    let plan = std::fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    world.write_file("plan.toml", &plan.replacen("name =", "synthetic = true\nname =", 1));
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"]));
    assert_eq!(ended.code, Some(0));
    assert!(ended.out.contains("SYNTHETIC DATA: made by a grammar"), "{}", ended.out);
    let page = std::fs::read_to_string(world.path_of("out/report/report.md")).expect("the report");
    assert!(page.to_lowercase().contains("synthetic"), "{page}");
}

#[test]
fn verify_takes_a_step_and_leaves_no_files() {
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--verify"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("verified  8 cells"), "{}", ended.out);
    assert!(!world.path_of("out").exists());

    world.set_script(&[("en all seed 1", CellDeed::Fail)]);
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--verify"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("failed    en all seed 1: frozen weights moved"), "{}", ended.out);
    assert!(!world.path_of("out").exists());
}

#[test]
fn the_report_can_be_written_again() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    let page = || std::fs::read(world.path_of("out/report/report.md")).expect("the report");
    let first = page();
    std::fs::remove_dir_all(world.path_of("out/report")).expect("the report");
    let ended = Ended::run_to_end(&mut world.xtask_command(&["report", "out"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(page(), first);
}

#[test]
fn the_default_folder_is_the_same_for_more_seeds_and_another_for_other_settings() {
    let world = new_world();
    let folder = |arguments: &[&str]| {
        let fixed = ["sweep", "--plan", "plan.toml", "--data", "data", "--models", "models", "--list"];
        let ended = Ended::run_to_end(&mut world.xtask_command(&[&fixed, arguments].concat()));
        let line = ended.out.lines().find(|line| line.starts_with("folder")).expect("the folder");
        let name = line.rsplit('/').next().expect("a name").to_string();
        assert!(name.starts_with("small-") && name.len() == 12, "{name}");
        name
    };
    let usual = folder(&[]);
    assert_eq!(folder(&["--seeds", "42-46", "--lang", "en", "--policies", "first-4"]), usual);
    assert_eq!(folder(&["--jobs", "2"]), usual);
    assert_ne!(folder(&["--set", "train.epochs=1"]), usual);
    assert_ne!(folder(&["--encoder-init", "random"]), usual);
    assert_ne!(folder(&["--backend", "ndarray"]), usual);
}

#[test]
fn data_without_a_plan_is_the_study_on_it() {
    let world = new_world();
    for split in ["train", "dev", "test"] {
        let sentence = "1\tGlaciers\t_\tNOUN\t_\t_\t0\t_\t_\t_\n\n";
        world.write_file(&format!("data/UD_English-EWT/x-ud-{split}.conllu"), sentence);
    }
    let fixed =
        ["sweep", "--data", "data", "--models", "models", "--encoder", "tiny", "--lang", "en", "--list"];
    let ended = Ended::run_to_end(&mut world.xtask_command(&fixed));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let about: Vec<&str> = ended.out.lines().take(2).collect();
    assert!(about[0].starts_with("plan      paper (") && about[0].contains("30 cells"), "{about:?}");
    insta::assert_snapshot!(about[1].trim_start(), @"chosen because --data is given and --plan is not; --plan demo runs the demo, --plan FILE your own");
    assert!(ended.out.contains("data/UD_English-EWT/x-ud-train.conllu"), "{}", ended.out);
    let missing =
        Ended::run_to_end(&mut world.xtask_command(&["sweep", "--data", "nowhere", "--lang", "en"]));
    assert_eq!(missing.code, Some(3), "never the demo: {missing:?}");
}
