//! Bad input: exit code and message of each, and that nothing is written.

use std::path::Path;

use frostline_e2e::{Ended, World};
use frostline_testing::Lack;

use crate::{new_world, show_ended};

/// Runs a sweep that must fail before anything is written.
#[track_caller]
fn run_refused_sweep(world: &World, arguments: &[&str]) -> String {
    let before = list_files(&world.path_of(""));
    let ended = Ended::run_to_end(&mut world.sweep_command(arguments));
    assert!(matches!(ended.code, Some(2 | 3)), "{ended:?}");
    let mut after = list_files(&world.path_of(""));
    after.retain(|file| !file.ends_with("script.json"));
    assert!(after.iter().all(|file| before.contains(file)), "half-written: {after:?}");
    assert_eq!(ended.out, "", "a rejected sweep prints nothing");
    show_ended(world, &ended)
}

fn list_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        found.push(entry.path().display().to_string());
        if entry.path().is_dir() {
            found.extend(list_files(&entry.path()));
        }
    }
    found
}

#[test]
fn no_such_plan() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--plan", "nowhere.toml"]));
}

#[test]
fn unknown_setting_in_the_plan() {
    let world = new_world();
    let plan = std::fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    world.write_file("plan.toml", &format!("{plan}\n[settings.optimizer]\nlr = 1e-3\nmomentum = 0.9\n"));
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn broken_toml_in_the_plan() {
    let world = new_world();
    world.write_file("plan.toml", "schema = 4\nname = small\n");
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn plan_of_another_schema() {
    let world = new_world();
    world.write_file("plan.toml", "schema = 99\nname = \"later\"\n[treebanks]\n");
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn unknown_setting_on_the_command_line() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--set", "optimizer.momentum=0.9"]));
}

#[test]
fn unknown_axis_on_the_command_line() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--set", "optimizer.momentum=[0.8, 0.9]"]));
}

#[test]
fn value_that_does_not_fit() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--set", "train.epochs=many"]));
}

#[test]
fn value_out_of_range() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--set", "data.fraction=1.5"]));
}

#[test]
fn value_out_of_range_in_the_plan() {
    let world = new_world();
    let plan = std::fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    world.write_file("plan.toml", &format!("{plan}\n[settings.optimizer]\nlr = -1\n"));
    insta::assert_snapshot!(run_refused_sweep(&world, &["--seeds", "7"]));
}

#[test]
fn a_setting_that_every_stage_overrides() {
    let world = new_world();
    let plan = std::fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    let stage = |name: &str, policy: &str| {
        format!("[[settings.stages]]\nname = '{name}'\npolicy = '{policy}'\ntrain.epochs = 1\n")
    };
    let plan = plan.replace("policy = [\"none\", \"all\"]\n", "");
    world
        .write_file("plan.toml", &format!("{plan}\n{}{}", stage("head", "head-only"), stage("full", "none")));
    insta::assert_snapshot!(run_refused_sweep(&world, &["--set", "train.epochs=2"]));
    insta::assert_snapshot!(run_refused_sweep(&world, &["--policies", "none,first-4"]));
    insta::assert_snapshot!(run_refused_sweep(&world, &["--set", "stages.tail.train.epochs=2"]));
    // The replacements suggested by the messages are accepted.
    let listed = Ended::run_to_end(&mut world.sweep_command(&[
        "--list",
        "--set",
        "stages.head.train.epochs=[1, 2]",
        "--seeds",
        "1",
    ]));
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.out.contains("en none seed 1 stages.head.train.epochs=2"), "{}", listed.out);
}

/// These options decide on which machines cells run; without an executor that submits jobs, cells would run on this
/// machine.
#[test]
fn options_of_jobs_without_jobs() {
    let world = new_world();
    for option in [&["--dry-run"][..], &["--detach"], &["--workers", "8"], &["--sbatch=--nice=100"]] {
        let ended = Ended::run_to_end(&mut world.sweep_command(option));
        assert_eq!(ended.code, Some(2), "{option:?}: {ended:?}");
        assert!(ended.err.contains("is given without --executor slurm"), "{}", ended.err);
        assert!(!world.path_of("out").exists());
    }
}

#[test]
fn a_setting_given_twice() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--policies", "none", "--set", "policy=all"]));
}

#[test]
fn folders_of_which_nothing_is_read() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--plan", "demo"]));
    let world = new_world();
    let plan = std::fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    world.write_file(
        "plan.toml",
        &plan.replace("UD_Small-EN", "embedded:en").replace("UD_Small-PCM", "embedded:pcm"),
    );
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn no_dev_split_and_no_train_split_to_cut_one_from() {
    let world = new_world();
    let plan = std::fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    let task = "[settings.tasks.ner]\nlabels = 'entity'\n";
    world.write_file(
        "plan.toml",
        &format!("{plan}\n{task}").replace("UD_Small-EN", "LAYER").replace("UD_Small-PCM", "LAYER"),
    );
    world.write_file("data/LAYER/x-ud-dev.iob2", "1\tIce\tO\t-\t-\n\n");
    insta::assert_snapshot!(run_refused_sweep(&world, &["--set", "data.cut_dev=0.1"]));
}

#[test]
fn a_test_file_without_labels_that_is_to_be_scored() {
    let world = glue_world();
    insta::assert_snapshot!(run_refused_sweep(&world, &["--set", "eval.test=true"]));
    let cut = ["--list", "--set", "eval.test=true", "--set", "data.cut_test=0.5"];
    for accepted in [&["--list"][..], &cut] {
        let ended = Ended::run_to_end(&mut world.sweep_command(accepted));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains("train.tsv") && !ended.out.contains("test.tsv"), "{}", ended.out);
    }
}

/// SST-2 as GLUE distributes it: its test file has no labels.
fn glue_world() -> frostline_e2e::World {
    let world = new_world();
    let plan = "schema = 4\nname = \"glue\"\n[treebanks]\nsst2 = \"SST-2\"\n[settings]\nlang = \"sst2\"\n\
                [settings.encoder]\nname = \"tiny\"\n[settings.tasks.sentiment]\nlabels = \"label\"\n";
    world.write_file("plan.toml", plan);
    for (split, lines) in [
        ("train", "sentence\tlabel\nhide new secretions \t0\na joy \t1\n"),
        ("dev", "sentence\tlabel\nunflinchingly bleak \t0\n"),
        ("test", "index\tsentence\n0\tuneasy mishmash \n"),
    ] {
        world.write_file(&format!("data/SST-2/{split}.tsv"), lines);
    }
    world
}

#[test]
fn no_assignment() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--set", "optimizer.lr"]));
}

#[test]
fn unknown_language() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--lang", "en,xx"]));
}

#[test]
fn seed_twice() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--seeds", "42,41-43"]));
}

#[test]
fn seeds_that_are_none() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--seeds", "42,x"]));
}

#[test]
fn unknown_policy() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--policies", "none,frist-4"]));
}

#[test]
fn subsets_of_a_deep_encoder() {
    let world = new_world();
    world.write_file("models/tiny/config.json", r#"{"model_type":"bert","num_hidden_layers":12}"#);
    insta::assert_snapshot!(run_refused_sweep(&world, &["--policies", "subsets"]));
}

#[test]
fn a_folder_has_no_place_for_adapters() {
    insta::assert_snapshot!(run_refused_sweep(
        &new_world(),
        &["--policies", "none+adapters", "--set", "save.model=true"]
    ));
}

#[test]
fn freezing_and_thawing_on_the_way() {
    insta::assert_snapshot!(run_refused_sweep(
        &new_world(),
        &["--policies", "none+adaptive", "--set", "unfreeze.every=1"]
    ));
}

#[test]
fn lora_beside_a_layer_that_is_not_there() {
    insta::assert_snapshot!(run_refused_sweep(
        &new_world(),
        &["--policies", "none+lora", "--set", "lora.matrices=query+head"]
    ));
}

#[test]
fn nothing_is_left_to_learn_lightly() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--policies", "head-only+lora"]));
}

#[test]
fn a_draw_of_nothing() {
    insta::assert_snapshot!(run_refused_sweep(
        &new_world(),
        &["--set", "data.fraction=0.5", "--set", "data.draw=[1,2]"]
    ));
}

#[test]
fn a_sample_of_what_was_chosen_otherwise() {
    insta::assert_snapshot!(run_refused_sweep(
        &new_world(),
        &["--set", "data.sample=100", "--set", "data.first=500"]
    ));
}

#[test]
fn impossible_policy() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--policies", "first-9"]));
}

#[test]
fn no_such_treebank() {
    let world = new_world();
    let plan = std::fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    world.write_file("plan.toml", &plan.replace("UD_Small-PCM", "UD_Naija-NSC"));
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn no_data_folder_given() {
    let world = new_world();
    let plan = std::fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    world.write_file("plan.toml", &plan.replace("UD_Small-PCM", "UD_Naija-NSC"));
    insta::assert_snapshot!(run_refused_sweep(&world, &["--data", "nowhere"]));
}

#[test]
fn no_such_encoder() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--encoder", "bert-gigantic"]));
}

#[test]
fn encoder_without_weights() {
    let world = new_world();
    std::fs::remove_file(world.path_of("models/tiny/model.safetensors")).expect("the weights");
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn config_without_depth() {
    let world = new_world();
    world.write_file("models/tiny/config.json", "{\"model_type\": \"gpt2\", \"n_layer\": 12}");
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn malformed_conllu() {
    let world = new_world();
    world.write_file("data/UD_Small-PCM/x-ud-dev.conllu", "# sent_id = d1\n1\tA\t_\tDET\t_\t_\t0\t_\t_\n\n");
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn empty_split() {
    let world = new_world();
    world.write_file("data/UD_Small-PCM/x-ud-dev.conllu", "");
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn missing_split() {
    let world = new_world();
    std::fs::remove_file(world.path_of("data/UD_Small-EN/x-ud-dev.conllu")).expect("the split");
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
}

#[test]
fn no_test_split_to_score() {
    let world = new_world();
    std::fs::remove_file(world.path_of("data/UD_Small-EN/x-ud-test.conllu")).expect("the split");
    insta::assert_snapshot!(run_refused_sweep(&world, &["--set", "eval.test=true"]));
}

#[test]
fn a_file_where_the_folder_should_be() {
    let world = new_world();
    world.write_file("out", "a file");
    insta::assert_snapshot!(run_refused_sweep(&world, &[]));
    insta::assert_snapshot!(run_refused_sweep(&world, &["--out", "out/below"]));
}

#[test]
fn a_folder_that_cannot_be_written() {
    if !cfg!(target_os = "linux") {
        return frostline_testing::skipped(Lack::Platform, "nobody can write to Linux's /proc");
    }
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--out", "/proc/frostline"]));
}

#[test]
fn a_runner_that_is_not_there() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--runner", "nowhere"]));
}

#[test]
fn a_runner_without_the_backend() {
    insta::assert_snapshot!(run_refused_sweep(&new_world(), &["--backend", "ndarray"]));
}

#[test]
fn a_runner_without_its_device() {
    let world = new_world();
    let mut command = world.sweep_command(&[]);
    command.env("FAKE_NO_DEVICE", "no NVIDIA driver answers here; use --backend flex");
    let ended = Ended::run_to_end(&mut command);
    assert!(!world.path_of("out").exists());
    insta::assert_snapshot!(show_ended(&world, &ended));
}

#[test]
fn no_sweep_to_report() {
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.xtask_command(&["report", "data"]));
    insta::assert_snapshot!(show_ended(&world, &ended));
}
