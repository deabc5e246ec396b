//! Faults that only the real runner can find. Each stops the sweep before anything is written.

use std::fs;

use crate::{SweepPlace, output_text, write_encoder};

/// Output and exit code of a sweep that must stop before it writes.
fn run_stopped_sweep(place: &SweepPlace, words: &str) -> String {
    let output = place.sweep_command(words).output().expect("xtask starts");
    let said = output_text(&output);
    assert!(!place.out_folder().exists(), "something was written:\n{said}");
    let error = said.lines().skip_while(|line| !line.starts_with("error")).collect::<Vec<_>>().join("\n");
    let folder = place.path_inside("").display().to_string();
    format!("exit code {}\n{}", output.status.code().unwrap_or(-1), error.replace(&folder, "[place]/"))
}

#[test]
fn weights_of_another_shape_are_named() {
    let place = SweepPlace::new();
    write_encoder(&place.path_inside("models/tiny"));
    let config = place.path_inside("models/tiny/config.json");
    let text = fs::read_to_string(&config).expect("the config");
    fs::write(&config, text.replace("\"hidden_dim\": 256", "\"hidden_dim\": 128")).expect("the config");
    let words = format!("--models {} --encoder tiny", place.path_inside("models").display());
    insta::assert_snapshot!(run_stopped_sweep(&place, &words));
}

#[test]
fn weights_that_are_no_safetensors_are_named() {
    let place = SweepPlace::new();
    write_encoder(&place.path_inside("models/tiny"));
    fs::write(place.path_inside("models/tiny/model.safetensors"), "no weights").expect("the weights");
    let words = format!("--models {} --encoder tiny", place.path_inside("models").display());
    insta::assert_snapshot!(run_stopped_sweep(&place, &words));
}

#[test]
fn weights_that_are_not_finite_are_named_before_the_first_cell() {
    let mut errors = Vec::new();
    for bad in [f32::NAN, f32::INFINITY] {
        let place = SweepPlace::new();
        write_encoder(&place.path_inside("models/tiny"));
        let weights = place.path_inside("models/tiny/model.safetensors");
        let mut bytes = fs::read(&weights).expect("the weights");
        // The last value of the file.
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&bad.to_le_bytes());
        fs::write(&weights, bytes).expect("the weights");
        errors.push(run_stopped_sweep(
            &place,
            &format!("--models {} --encoder tiny", place.path_inside("models").display()),
        ));
    }
    insta::assert_snapshot!(errors.join("\n"));
}

/// Returns a treebank whose dev split has a tag that does not occur in its train split.
fn write_treebank(place: &SweepPlace) -> String {
    let folder = place.path_inside("data/UD_Odd-EN");
    fs::create_dir_all(&folder).expect("the folder");
    let line = |id: u32, form: &str, tag: &str| format!("{id}\t{form}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n");
    let train = [line(1, "the", "DET"), line(2, "ice", "NOUN"), "\n".into()].concat();
    let dev = [line(1, "the", "DET"), line(2, "wow", "INTJ"), "\n".into()].concat();
    fs::write(folder.join("en_odd-ud-train.conllu"), train).expect("train");
    fs::write(folder.join("en_odd-ud-dev.conllu"), dev).expect("dev");
    let plan = place.path_inside("odd.toml");
    let text = "schema = 4\nname = \"odd\"\n[treebanks]\nen = \"UD_Odd-EN\"\n[settings.encoder]\n\
                name = \"embedded:demo-distilbert\"\n[settings.train]\nepochs = 1\n";
    fs::write(&plan, text).expect("the plan");
    format!("--plan {} --data {}", plan.display(), place.path_inside("data").display())
}

#[test]
fn a_dev_tag_that_train_lacks_counts_as_wrong_and_is_reported() {
    let place = SweepPlace::new();
    let records = place.run_sweep(&write_treebank(&place));
    let score = &records[0].result.as_ref().expect("a result").scores()["dev"];
    assert_eq!((score.words, score.unseen, score.unseen_tags.as_slice()), (2, 1, &["INTJ".to_string()][..]));
    assert!(score.accuracy() <= 0.5);
    let page = fs::read_to_string(place.out_folder().join("report/report.md")).expect("the report");
    assert!(page.contains("INTJ"), "the report names the tag");
}

#[test]
fn with_strict_tags_such_a_tag_stops_the_sweep() {
    let place = SweepPlace::new();
    let words = format!("{} --set data.strict_tags=true", write_treebank(&place));
    insta::assert_snapshot!(run_stopped_sweep(&place, &words));
}

#[test]
fn a_train_split_without_labels_stops_the_sweep() {
    let place = SweepPlace::new();
    let words = format!("{} --set tasks.upos.labels=xpos", write_treebank(&place));
    insta::assert_snapshot!(run_stopped_sweep(&place, &words));
}

/// Every word is without it, so that all would be right.
#[test]
fn a_feature_that_no_word_has_stops_the_sweep() {
    let place = SweepPlace::new();
    let words = format!("{} --set tasks.upos.labels=feats.number", write_treebank(&place));
    assert!(
        run_stopped_sweep(&place, &words)
            .contains("is labelled for the task `upos` (`labels = \"feats.number\"`)")
    );
}

#[test]
fn a_model_that_transformers_does_not_have_cannot_be_kept() {
    let place = SweepPlace::new();
    let task = "--set tasks.upos.labels=genre --set tasks.upos.head=pooler --set save.model=true";
    let words = format!("{} {task}", write_treebank(&place));
    insta::assert_snapshot!(run_stopped_sweep(&place, &words));
}
