//! Things that a sweep must never do: write outside its folder, touch other people's files, end because its
//! output is closed, or run without bounds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use frostline_e2e::{CellDeed, Ended, World, start_captured};

use crate::{new_world, show_ended};

/// Returns all files under a folder with their texts.
fn folder_contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(folder_contents(&path)),
            path => drop(found.insert(path.clone(), fs::read(path).expect("a file"))),
        }
    }
    found
}

/// Returns an axis of so many learning rates.
fn rate_axis(count: u32) -> String {
    let values: Vec<String> = (1..=count).map(|n| format!("{n}e-9")).collect();
    format!("optimizer.lr=[{}]", values.join(","))
}

/// Returns a sweep that must be refused before it changes a file of the world.
fn run_refused_sweep(world: &World, arguments: &[&str]) -> String {
    let before = folder_contents(&world.path_of(""));
    let ended = Ended::run_to_end(&mut world.sweep_command(arguments));
    assert_eq!(folder_contents(&world.path_of("")), before, "{arguments:?} changed files: {ended:?}");
    format!("{arguments:?}\n{}", show_ended(world, &ended))
}

#[test]
fn names_that_lead_elsewhere_are_refused_where_the_plan_is_parsed() {
    let world = new_world();
    world.set_script(&[]);
    let plan = fs::read_to_string(world.path_of("plan.toml")).expect("the plan");
    let stages = |name: &str| format!("{plan}\n[[settings.stages]]\nname = {name}\n[[settings.stages]]\n");
    let tasks = |name: &str| format!("{plan}\n[settings.tasks.{name}]\n[settings.tasks.b]\n");
    let plans = [
        plan.replace("name = \"small\"", "name = \"../small\""),
        plan.replace("name = \"small\"", "name = \"/tmp/small\""),
        plan.replace("pcm = \"UD", "\"../pcm\" = \"UD"),
        stages("\"../../stage\""),
        stages("\"a\\u001b[31m\""),
        stages("\"con\""),
        tasks("\"a/b\""),
        format!("{}[settings.tasks.\"x y\"]\n[settings.eval]\ntask = \"b\"\n", tasks("x-y")),
    ];
    let errors = plans.map(|text| {
        world.write_file("plan.toml", &text);
        run_refused_sweep(&world, &[])
    });
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_plan_without_bounds_is_refused_at_once() {
    let world = new_world();
    world.set_script(&[]);
    let many = rate_axis(1000);
    let errors = [
        run_refused_sweep(&world, &["--list", "--seeds", "1-1000000"]),
        run_refused_sweep(&world, &["--list", "--seeds", "1-1000", "--set", &many]),
        run_refused_sweep(&world, &["--list", "--set", "jobs=1000000000"]),
        run_refused_sweep(&world, &["--list", "--set", "optimizer.eps=inf"]),
        run_refused_sweep(&world, &["--list", "--set", "optimizer.weight_decay=nan"]),
    ];
    let errors = errors.map(|text| text.replace(&many, "optimizer.lr=[...]"));
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_folder_with_other_contents_is_left_as_it_is() {
    let world = new_world();
    world.set_script(&[]);
    for name in ["thesis/chapter.tex", "thesis/prefixes/notes.txt", "thesis/report/report.md"] {
        world.write_file(name, "months of work");
    }
    world.write_file("broken/sweep.json", "{\"schema\": 4, \"plan\"");
    world.write_file("locked/.lock", "another program's state");
    world.write_file("partial/sweep.json.part", "another program's file");
    let errors =
        ["thesis", "broken", "locked", "partial"].map(|out| run_refused_sweep(&world, &["--out", out]));
    insta::assert_snapshot!(errors.join("\n"));

    // The remains of a sweep that was killed at once do not count as foreign files.
    world.write_file("begun/.lock", "");
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--out", "begun"])).code, Some(0));
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_to_somewhere_else() {
    for name in ["cells", "workers", "report", "report/figures", ".lock"] {
        let world = new_world();
        assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
        let (inside, elsewhere) = (world.path_of("out").join(name), world.path_of("elsewhere"));
        if inside.is_dir() { fs::remove_dir_all(&inside) } else { fs::remove_file(&inside) }
            .expect("removed");
        world.write_file("elsewhere/mine", "months of work");
        let target = if name == ".lock" { elsewhere.join("mine") } else { elsewhere.clone() };
        std::os::unix::fs::symlink(target, &inside).expect("a link");
        let before = folder_contents(&elsewhere);
        let ended = Ended::run_to_end(&mut world.sweep_command(&[]));
        assert_eq!(ended.code, Some(3), "{name}: {ended:?}");
        assert!(ended.err.contains("a link to another place"), "{name}: {}", ended.err);
        assert_eq!(folder_contents(&elsewhere), before, "{name}");
    }
}

#[test]
fn a_damaged_sweep_file_costs_no_record() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    let path = world.path_of("out/sweep.json");
    let text = fs::read_to_string(&path).expect("the sweep");
    fs::write(&path, text.replacen("\"seed\": 1", "\"seed\": 3", 1)).expect("written");
    let report = Ended::run_to_end(&mut world.xtask_command(&["report", "out"]));
    assert_eq!(report.code, Some(3), "{report:?}");
    assert!(report.err.contains("its checksum does not fit"), "{report:?}");
    let again = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("8 cells here already"), "{again:?}");
}

#[test]
fn a_report_does_not_replace_a_file_of_somebody_else() {
    let world = new_world();
    world.set_script(&[("en none seed 1", CellDeed::Finish)]);
    world.write_file("out/.lock", "");
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--verify"])).code, Some(0));
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
    fs::remove_dir_all(world.path_of("out/report")).expect("the report");
    world.write_file("out/report/report.md", "months of work");
    let ended = Ended::run_to_end(&mut world.xtask_command(&["report", "out"]));
    assert_eq!(fs::read_to_string(world.path_of("out/report/report.md")).expect("a file"), "months of work");
    insta::assert_snapshot!(show_ended(&world, &ended));
}

#[cfg(target_os = "linux")]
#[test]
fn nobody_has_to_read_the_output_of_a_sweep() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").expect("it is there"));
    for closed in [true, false] {
        let world = new_world();
        let mut command = world.sweep_command(&[]);
        let mut child = if closed {
            start_captured(&mut command)
        } else {
            command.stdout(full()).stderr(full()).spawn().expect("it starts")
        };
        // The output is closed from here on.
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().expect("its end").code(), Some(0), "closed: {closed}");
        assert_eq!(world.records_by_title().len(), 8);
        assert!(world.path_of("out/report/report.md").exists());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_ends_with_its_reader_and_tells_of_a_full_disk() {
    let world = new_world();
    let mut child = start_captured(&mut world.sweep_command(&["--list", "--set", &rate_axis(1000)]));
    drop(child.stdout.take());
    let ended = Ended::wait_for_child(child);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let full = File::options().write(true).open("/dev/full").expect("it is there");
    let mut command = world.sweep_command(&["--list"]);
    let ended =
        Ended::wait_for_child(command.stdout(full).stderr(Stdio::piped()).spawn().expect("it starts"));
    assert_eq!(ended.code, Some(3));
    assert!(
        ended.err.starts_with("error: standard output cannot be written: No space left"),
        "{}",
        ended.err
    );
}

#[test]
fn a_failed_cell_is_run_again_as_often_as_asked() {
    let world = new_world();
    world.set_script(&[("en all seed 1", CellDeed::FailOnce), ("pcm none seed 1", CellDeed::Fail)]);
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1", "--retry", "2"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let again = |title: &str| ended.err.matches(&format!("{title}: failed, will be run again")).count();
    assert_eq!((again("en all seed 1"), again("pcm none seed 1")), (1, 2), "{}", ended.err);
    let records = world.records_by_title();
    assert_eq!(records.values().filter(|record| record.error.is_some()).count(), 1);
    assert!(records["pcm none seed 1"].error.is_some());
}

#[test]
fn with_fail_fast_no_cell_is_started_after_a_failed_one() {
    let world = new_world();
    world.set_script(&[("en all seed 1", CellDeed::Fail)]);
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--fail-fast"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(world.records_by_title().len(), 2);
    assert!(ended.out.contains("the failed cells and those that were not started"), "{}", ended.out);
    world.set_script(&[]);
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--fail-fast"])).code, Some(0));
    assert_eq!(world.records_by_title().len(), 8);
}

#[test]
fn a_cell_that_runs_out_of_time_or_memory_is_a_record_with_that_reason() {
    let world = new_world();
    let deeds = [
        ("en none seed 1", CellDeed::Chatter),
        ("en all seed 1", CellDeed::Hang),
        ("pcm none seed 1", CellDeed::Quit),
        ("pcm all seed 1", CellDeed::OutOfMemory),
    ];
    world.set_script(&deeds);
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1", "--cell-minutes", "0.05"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let records = world.records_by_title();
    let error = |title: &str| records[title].error.clone().expect("an error");
    for title in ["en none seed 1", "en all seed 1"] {
        assert!(error(title).starts_with("it took longer than 0:03"), "{title}: {}", error(title));
    }
    assert!(error("pcm none seed 1").contains("memory ran out"), "{}", error("pcm none seed 1"));
    let lacking = error("pcm all seed 1");
    assert!(lacking.starts_with("memory ran out"), "{lacking}");
    let fits = "\nby prediction a step keeps 4.0 GB of parameters, gradients, moments and activations; with \
                train.accumulate = 2 it would keep 3.0 GB, with 4 2.5 GB\n";
    assert!(lacking.contains(fits), "{lacking}");
    assert_eq!(records.len(), 4);
}
