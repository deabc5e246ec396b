//! Scores of the blocks of two encoders against PyTorch, which computes them from their definitions.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use frostline_testing::{python, shared};

use crate::{RUNNER, SweepPlace, output_text, write_encoder};

/// Sentences of the treebank that is scored; few, since PyTorch takes them one by one.
const SENTENCES: usize = 36;

#[derive(serde::Deserialize)]
struct Compared {
    apart: BTreeMap<String, f64>,
}

/// Writes the first sentences of a real treebank as one whose train and dev splits are equal.
fn write_treebank(shared: &Path, folder: &Path) {
    let text = std::fs::read_to_string(shared.join("data/ud/UD_English-EWT/en_ewt-ud-dev.conllu"))
        .expect("a treebank");
    let few: Vec<&str> = text.split("\n\n").take(SENTENCES).collect();
    std::fs::create_dir_all(folder).expect("a folder");
    for split in ["train", "dev"] {
        let path = folder.join(format!("en_few-ud-{split}.conllu"));
        std::fs::write(path, few.join("\n\n") + "\n\n").expect("a file");
    }
}

#[test]
fn scores_of_blocks_are_those_that_pytorch_computes() {
    let (Some(shared), Some(python)) = (shared(), python()) else { return };
    for encoder in ["all-MiniLM-L6-v2", "demo"] {
        let place = SweepPlace::new();
        write_treebank(&shared, &place.path_inside("data/UD_Few"));
        write_encoder(&place.path_inside("models/demo"));
        let models = if encoder == "demo" { place.path_inside("models") } else { shared.join("models") };
        let plan = format!(
            "schema = 4\nname = \"few\"\n[treebanks]\nen = \"UD_Few\"\n[settings]\nlang = \"en\"\nseed = 0\n\
             [settings.encoder]\nname = \"{encoder}\"\n[settings.data]\nlowercase = false\n[settings.eval]\ntest = false\n\
             [settings.train]\nepochs = 1\nbatch = 8\n"
        );
        std::fs::write(place.path_inside("plan.toml"), plan).expect("a plan");
        let study = |command: &str, words: &str| {
            let mut started = Command::new(RUNNER);
            started.args([command, "--plan", "plan.toml", "--data", "data", "--models"]).arg(&models);
            started.args(words.split_whitespace()).current_dir(place.path_inside(""));
            let output = started.output().expect("it starts");
            assert!(output.status.success(), "{}", output_text(&output));
        };
        // At this rate no weight changes: the cell saves the model that it starts with.
        study("sweep", "--set optimizer.lr=1e-30 --set save.model=true --no-timing --out start");
        study("score-blocks", "--out scores --sentences 24");
        let cell =
            std::fs::read_dir(place.path_inside("start/cells")).expect("cells").next().expect("a cell");
        let mut peer = Command::new(&python);
        peer.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/block_scores.py"));
        peer.arg("--model").arg(cell.expect("a cell").path().join("model"));
        peer.arg("--train").arg(place.path_inside("data/UD_Few/en_few-ud-train.conllu"));
        peer.arg("--scores").arg(place.path_inside("scores/block_scores.json"));
        let output = peer.output().expect("Python starts");
        assert!(output.status.success(), "{}", output_text(&output));
        let Compared { apart } = serde_json::from_slice(&output.stdout).expect("one JSON line");
        println!("{encoder}: {apart:?}");
        assert_eq!(apart.len(), 4);
        for (name, far) in apart {
            assert!(far <= 0.01, "{encoder}: {name} is {far:e} apart");
        }
    }
}
