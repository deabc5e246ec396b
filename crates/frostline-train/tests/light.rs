//! Parameter-efficient methods: what is added, what of it moves, and what the exported files make of it.

mod common;

use burn::module::AutodiffModule as _;
use frostline_freeze::ResolvedPolicy;
use frostline_model::{
    EncoderConfig, Extras, HeadShape, HuggingFaceExport, Network, Vocabulary, fingerprints, merged, replace,
    snapshot,
};
use frostline_train::{Finished, Run, RunEvent, Settings, evaluate, features, train};

use common::{
    B, Setting, as_they_are, bert, deberta, distilbert, draw, electra, eurobert, model, modernbert, of,
    roberta, setting, settings, with_extras,
};

/// A run under a policy with what it adds: the model before, and what came of it.
fn learn(encoder: EncoderConfig, policy: &str, settings: &Settings) -> (Setting, Network<B>, Finished<B>) {
    let policy = ResolvedPolicy::parse(policy, encoder.depth).unwrap();
    let encoder = with_extras(&encoder, &policy, "all");
    let setting = setting(encoder, true);
    let before = model(&setting);
    let tasks = [Run::task((&setting.train).into(), (&setting.dev).into())];
    let timeline = policy.into();
    let run = of(&setting, settings, &timeline, &tasks);
    let finished = train(&run, before.clone(), None, &mut |_: RunEvent<'_>| ()).unwrap();
    (setting, before, finished)
}

#[test]
fn exactly_what_a_way_names_moves_and_holds_state() {
    for encoder in [distilbert(), bert(), roberta(), electra(), modernbert(), deberta(), eurobert()] {
        for name in [
            "none+lora",
            "first-1+lora",
            "none+dora",
            "first-1+ia3",
            "none+adapters",
            "none+bitfit",
            "first-2+norms",
            "first-1+lora+bitfit",
            "head-only+mix",
            "none+mix",
        ] {
            let (setting, before, finished) = learn(encoder.clone(), name, &settings(as_they_are));
            let policy = ResolvedPolicy::parse(name, 3).unwrap();
            let (start, end) = (fingerprints(&before), fingerprints(&finished.model));
            for (path, hash) in &start {
                // Keys' biases shift every score of a query alike, so softmax gives them no gradient.
                let no_gradient = path.ends_with("key.bias");
                assert!(policy.freezes(path) == (end[path] == *hash) || no_gradient, "{name}: {path}");
            }
            let known = setting.encoder.parameters(&[HeadShape::linear(setting.tags)]);
            assert!(
                start.keys().eq({
                    let mut paths: Vec<String> = known.into_iter().map(|(path, _)| path).collect();
                    paths.sort();
                    paths
                }
                .iter()),
                "{name}: the list of parameters is the model's"
            );
            let learning = start.keys().filter(|path| !policy.freezes(path)).count();
            assert_eq!(finished.states, learning, "{name}: only what learns holds state");
        }
    }
}

/// What is added changes nothing before the first step, but for the mix.
#[test]
fn the_start_is_the_encoders_own() {
    let plain = setting(bert(), true);
    let rows = |setting: &Setting| {
        let view = (&setting.dev).into();
        features(&model(setting).valid(), &setting.encoder, view, &settings(|s| s.eval.batch_tokens = 50))
    };
    let expected = rows(&plain);
    for name in ["none+lora", "none+ia3", "none+adapters", "none+lora+adapters"] {
        let policy = ResolvedPolicy::parse(name, 3).unwrap();
        let added = setting(with_extras(&bert(), &policy, "all"), true);
        assert_eq!(rows(&added), expected, "{name}");
    }
    // The norms of columns are computed in two ways, in f32 and in f64.
    let policy = ResolvedPolicy::parse("none+dora", 3).unwrap();
    let normed = rows(&setting(with_extras(&bert(), &policy, "all"), true));
    let difference = normed.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
    assert!(difference < 1e-5, "{difference}");
    let policy = ResolvedPolicy::parse("head-only+mix", 3).unwrap();
    let mixed = setting(with_extras(&bert(), &policy, "query"), true);
    assert_ne!(rows(&mixed), expected, "a mix is the mean of all blocks' outputs at first");
}

/// The mean of the embeddings' and all blocks' outputs, computed by hand.
#[test]
fn a_mix_starts_as_the_mean_of_all_outputs() {
    let policy = ResolvedPolicy::parse("head-only+mix", 3).unwrap();
    let mixed = setting(with_extras(&bert(), &policy, "query"), true);
    let all = |setting: &Setting| {
        let view = (&setting.dev).into();
        features(&model(setting).valid(), &setting.encoder, view, &settings(|s| s.eval.batch_tokens = 50))
    };
    let mut mean = vec![0f64; all(&mixed).len()];
    for depth in 0..=3 {
        // An encoder of fewer blocks has the same lowest ones: numbers are drawn by path.
        let shorter = setting(EncoderConfig { depth, ..bert() }, true);
        mean.iter_mut().zip(all(&shorter)).for_each(|(sum, value)| *sum += f64::from(value) / 4.0);
    }
    for (value, expected) in all(&mixed).iter().zip(mean) {
        assert!((f64::from(*value) - expected).abs() < 1e-5, "{value} {expected}");
    }
}

/// A merged model without extras computes what the model with matrices does.
#[test]
fn merging_changes_nothing_that_is_computed() {
    for encoder in [bert(), modernbert(), deberta(), eurobert()] {
        for policy in ["first-1+lora", "first-1+dora", "none+ia3", "none+ia3+lora"] {
            merged_computes_the_same(&encoder, policy);
        }
    }
}

fn merged_computes_the_same(encoder: &EncoderConfig, policy: &str) {
    let (with, _, finished) = learn(encoder.clone(), policy, &settings(as_they_are));
    let mut plain = with.encoder.clone();
    plain.extras = Extras::default();
    let without = Setting { encoder: plain.clone(), ..setting(encoder.clone(), true) };
    let parameters = merged(&snapshot(&finished.model), &with.encoder);
    assert!(parameters.keys().all(|path| !path.contains("lora") && !path.contains("ia3")));
    let moved = replace(model(&without), &parameters).unwrap();
    let loss = |model: &Network<B>, setting: &Setting| {
        let view = (&setting.dev).into();
        evaluate(&model.valid(), 0, &setting.encoder, view, &settings(|s| s.eval.batch_tokens = 50))
            .unwrap()
            .loss_nats
    };
    let (a, b) = (loss(&finished.model, &with), loss(&moved, &without));
    assert!((a - b).abs() < 1e-6, "{policy}: {a} {b}");
    assert!((a - loss(&model(&without), &without)).abs() > 1e-3, "it has learned something");
}

#[test]
fn a_folder_has_no_place_for_adapters_and_mixes() {
    for (name, path) in [("none+adapters", "adapter"), ("head-only+mix", "mix.")] {
        let (setting, _, finished) = learn(distilbert(), name, &settings(|s| s.train.epochs = 1));
        let parameters = snapshot(&finished.model);
        let source = draw();
        let export = HuggingFaceExport {
            config: &setting.encoder,
            parameters: &parameters,
            head: 0,
            vocabulary: &Vocabulary::full(16),
            source: &source,
            other_rows: 1.0,
        };
        let error = export.safetensors().unwrap_err().to_string();
        assert!(error.contains("cannot represent") && error.contains(path), "{error}");
    }
}

/// Rows of the word table that no sentence has do not decay where the table is frozen, though a part
/// of the embeddings learns.
#[test]
fn a_frozen_table_does_not_decay() {
    let (_, _, finished) = learn(distilbert(), "none+bitfit", &settings(as_they_are));
    assert_eq!(finished.untouched_rows, 1.0);
    let (_, _, finished) = learn(distilbert(), "none", &settings(as_they_are));
    assert!(finished.untouched_rows < 1.0);
}
