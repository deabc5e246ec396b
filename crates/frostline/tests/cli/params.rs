//! `frostline params`: what is listed, predicted and refused.

use super::*;

/// One list of what is trainable and one of what is frozen, with the tasks' names.
#[test]
fn params_list_what_is_trainable_and_what_is_frozen() {
    let folder = make_workplace();
    let run = |more: &str| {
        let params = "params --encoder embedded:demo-distilbert --list --task classifier=2 --task ner=4";
        let words: Vec<&str> = params.split_whitespace().chain(more.split_whitespace()).collect();
        String::from_utf8(run_and_print(folder.path(), &words)).expect("text")
    };
    let listed = |shown: &str, what: &str| -> Vec<String> {
        let lines = shown.lines().skip_while(|line| !line.contains(&format!(", {what}: "))).skip(1);
        let rows = lines.take_while(|line| line.starts_with("  "));
        rows.filter_map(|row| row.split_whitespace().next()).map(String::from).collect()
    };
    let heads = ["classifier.weight", "classifier.bias", "ner.weight", "ner.bias"];
    let shown = run("--policy head-only");
    assert_eq!(listed(&shown, "trainable"), heads);
    assert!(listed(&shown, "frozen").contains(&"encoder.embeddings.word".into()), "{shown}");

    let shown = run("--policy none+head.ner --names hugging-face");
    assert_eq!(listed(&shown, "frozen"), heads[2..]);
    let trainable = listed(&shown, "trainable");
    for name in
        ["distilbert.embeddings.word_embeddings.weight", "distilbert.transformer.layer.0.ffn.lin1.bias"]
    {
        assert!(trainable.contains(&name.to_string()), "{shown}");
    }
    // Everything is frozen.
    let shown = run("--policy head-only+heads");
    assert!(shown.contains("head-only+heads, trainable: 0 parameters in 0 tensors"), "{shown}");
}

/// A calibration is kept for the same encoder on the same machine, and times follow the work.
#[test]
fn params_predict_milliseconds_once_the_machine_is_calibrated() {
    let folder = make_workplace();
    let run = |more: &str| -> Value {
        let more: Vec<&str> = more.split_whitespace().collect();
        let params =
            ["params", "--encoder", "embedded:demo-distilbert", "--json", "--policy", "none,head-only"];
        serde_json::from_slice(&run_and_print(folder.path(), &[&params[..], &more].concat())).expect("JSON")
    };
    let ms = |shown: &Value| [0, 1].map(|at| shown[at]["step_ms"].as_f64());
    assert_eq!(ms(&run("")), [None; 2]);
    let measured = ms(&run("--calibrate"));
    let [Some(none), Some(head_only)] = measured else { panic!("{measured:?}") };
    assert!(none > head_only && head_only > 0.0, "{measured:?}");
    assert_eq!(ms(&run("")), measured);
    assert_eq!(ms(&run("--precision bf16")), [None; 2], "another precision takes other times");
    let [Some(larger), _] = ms(&run("--batch 64")) else { panic!("kept") };
    assert!(larger > none);
}

#[test]
fn params_say_how_many_sentences_fit_into_memory() {
    let folder = make_workplace();
    let run = |memory: &str, batch: &str| -> Vec<u64> {
        let params =
            ["params", "--encoder", "embedded:demo-distilbert", "--json", "--policy", "none,head-only"];
        let more = ["--memory", memory, "--batch", batch];
        let shown: Value =
            serde_json::from_slice(&run_and_print(folder.path(), &[&params[..], &more].concat()))
                .expect("JSON");
        (0..2).map(|at| shown[at]["most_sentences"].as_u64().expect("a count")).collect()
    };
    let found = run("64M", "16");
    assert!(found[1] > found[0] && found[0] > 16, "freezing saves memory: {found:?}");
    assert_eq!(run("64m", "16"), found);
    // What is said to fit fits, and one more does not: the same prediction at that batch.
    assert_eq!(run("64M", &found[0].to_string())[0], found[0]);
    assert_eq!(run("1K", "16"), [0, 0]);
}

#[test]
fn params_that_cannot_be_are_refused() {
    let folder = make_workplace();
    let wrong = [
        "--memory 8X",
        "--memory 0",
        "--memory -1G",
        "--memory G",
        "--labels 0",
        "--lora-rank 0",
        "--adapter-size 0",
        "--word-rows 0",
        "--lr nan",
        "--lr=-1",
        "--layer-decay 0",
        "--batch 0",
        "--subwords inf",
    ];
    for wrong in wrong {
        let params = ["params", "--encoder", "embedded:demo-distilbert"];
        let wrong: Vec<&str> = wrong.split(' ').collect();
        let output = run_frostline(folder.path(), &[&params[..], &wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn params_count_the_heads_of_several_tasks() {
    let folder = make_workplace();
    let params = ["params", "--encoder", "embedded:demo-distilbert"];
    let run = |more: &str| {
        let more: Vec<&str> = more.split_whitespace().collect();
        let text = run_and_print(folder.path(), &[&params[..], &["--json"], &more].concat());
        let shown: Value = serde_json::from_slice(&text).expect("JSON");
        (shown["total"].as_u64().expect("a count"), shown["trainable"].as_u64().expect("a count"))
    };
    let (total, trainable) = run("--task upos=15 --task ner=7 --policy none+head.ner");
    let (alone, all) = run("--labels 15");
    assert_eq!(alone, all);
    // The second head is a matrix of its labels by the hidden size, and a bias.
    let second = total - alone;
    assert_eq!((second % 7, trainable), (0, alone));
    assert_eq!(run("--task upos=15 --task ner=7 --policy none+head.upos").1, total - second / 7 * 15);
    assert!(run("--task upos=15 --task mood=pooler:7").0 > total, "a pooler has a layer more");
}
