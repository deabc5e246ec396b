//! Splits that no file holds: cut from train, in cells that are trained and scored.

use std::fs;

use frostline_assets::read;
use frostline_record::Record;

use crate::{SweepPlace, repeatable_part};

const TINY: &str = "--encoder embedded:demo-distilbert --seeds 1,2 --set train.epochs=1 --set data.first=20";

/// Puts a file of the embedded demo into a folder.
fn write_embedded(place: &SweepPlace, from: &str, to: &str) {
    let path = place.path_inside(to);
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
    fs::write(path, read(&format!("embedded:{from}")).expect("the file")).expect("written");
}

fn dev_of(record: &Record) -> (u64, Vec<String>) {
    let outcome = record.result.as_ref().expect("a result");
    let roles = record.cell.inputs.keys().filter(|role| ["train", "dev", "test"].contains(&role.as_str()));
    (outcome.tasks[&outcome.headline].dev.sentences, roles.cloned().collect())
}

#[test]
fn a_treebank_without_dev_gets_one_from_train() {
    let place = SweepPlace::new();
    write_embedded(&place, "en/train.conllu", "data/UD_Alone/train.conllu");
    fs::write(
        place.path_inside("plan.toml"),
        "schema = 4\nname = \"alone\"\n[treebanks]\nen = \"UD_Alone\"\n[grid]\npolicy = [\"none\", \"head-only\"]\n",
    )
    .expect("the plan");
    let (plan, data) = (place.path_inside("plan.toml"), place.path_inside("data"));
    let words = format!("--plan {} --data {} {TINY}", plan.display(), data.display());
    let refused = place.sweep_command(&words).output().expect("xtask starts");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(3) && error.contains("--set data.cut_dev=0.1"), "{error}");

    let records = place.run_sweep(&format!("{words} --set data.cut_dev=0.1 --set dropout.frozen=off"));
    let dev: Vec<_> = records.iter().map(dev_of).collect();
    assert!(dev[0].0 > 1 && dev.iter().all(|one| *one == (dev[0].0, vec!["train".to_string()])), "{dev:?}");
    // A seed's policies are scored on the same sentences, another seed's on others.
    let gold = |record: &Record| {
        let folder = frostline_record::Sweep::cell_folder(&place.out_folder(), &record.cell);
        let text = fs::read_to_string(folder.join("dev.tsv")).expect("predictions");
        text.lines().map(|line| line.split('\t').take(4).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(gold(&records[0]), gold(&records[1]));
    assert_ne!(gold(&records[0]), gold(&records[2]));
    // The prefix cache does not mix them up: without it, the results are the same.
    let uncached = SweepPlace::new();
    let again = uncached
        .run_sweep(&format!("{words} --set data.cut_dev=0.1 --set dropout.frozen=off --no-prefix-cache"));
    let results = |records: &[Record]| records.iter().map(repeatable_part).collect::<Vec<_>>();
    assert_eq!(results(&records), results(&again));
}

#[test]
fn a_test_split_that_is_cut_is_scored_where_that_is_asked_for() {
    let scores = |test: bool| {
        let words =
            format!("--lang en --policies head-only {TINY} --set data.cut_test=0.2 --set eval.test={test}");
        let record = SweepPlace::new().run_sweep(&words).remove(0);
        let outcome = record.result.expect("a result");
        let train = outcome.tasks[&outcome.headline].train.sentences;
        (outcome.scores().keys().cloned().collect::<Vec<_>>(), outcome.scores()["dev"].correct, train)
    };
    let (with, without) = (scores(true), scores(false));
    assert_eq!((with.0, without.0), (vec!["dev".to_string(), "test".into()], vec!["dev".to_string()]));
    // Train is the same, so that the model is.
    assert_eq!((with.1, with.2), (without.1, without.2));
}

#[test]
fn sst2_as_glue_distributes_it_is_scored_on_what_is_cut() {
    let place = SweepPlace::new();
    for split in ["train", "dev"] {
        write_embedded(&place, &format!("reviews/{split}.tsv"), &format!("data/sst2/{split}.tsv"));
    }
    fs::write(place.path_inside("data/sst2/test.tsv"), "index\tsentence\n0\tuneasy mishmash of styles \n")
        .expect("written");
    let words = format!(
        "--plan sst2 --data {} {TINY} --set data.cut_test=0.2 --set stages.head.train.epochs=1 --set stages.full.train.epochs=1",
        place.path_inside("data").display()
    )
    .replace("--set train.epochs=1 ", "");
    for record in place.run_sweep(&words) {
        let outcome = record.result.as_ref().expect("a result");
        assert!(outcome.scores()["test"].words > 0);
        assert_eq!(dev_of(&record).1, ["dev", "train"]);
    }
}
