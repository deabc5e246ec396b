//! The laws of a training run, on tiny random encoders: what is frozen keeps every bit, results
//! repeat on any number of threads, and the compact vocabulary changes nothing.

mod common;

use burn::module::AutodiffModule as _;
use frostline_align::{Aligner, VocabOptions};
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::{Kernels as _, Precision};
use frostline_model::{EncoderConfig, HeadShape, ParameterSource as _, snapshot};
use frostline_record::{ScheduleKind, Select, SelectBy, Settings, Switch};
use frostline_train::{Dataset, Finished, Prefix, Split, TaggedSentence, Unit, View};

use common::{
    B, TAGS, as_they_are, bert, deberta, distilbert, draw, electra, eurobert, exported, model, modernbert,
    prefix_rows, roberta, run, run_cached, setting, settings,
};

#[test]
fn frozen_parameters_keep_every_bit_and_others_move() {
    let policies = [
        "none",
        "all",
        "first-1",
        "first-2",
        "last-1",
        "alternating",
        "blocks-1",
        "head-only",
        "first-2+embeddings",
        "none+embeddings",
    ];
    for encoder in [distilbert(), bert(), roberta(), electra(), modernbert(), deberta(), eurobert()] {
        let setting = setting(encoder, true);
        for name in policies {
            let policy = ResolvedPolicy::parse(name, 3).unwrap();
            let finished = run(&setting, name, &settings(as_they_are)).unwrap();
            assert!(finished.freezing.unmoved.is_empty(), "{name}: {:?}", finished.freezing.unmoved);
            assert_eq!(
                finished.states as u64, finished.freezing.moved,
                "{name}: only what learns holds state"
            );
            let total = finished.freezing.frozen + finished.freezing.moved;
            assert_eq!(total as usize, setting.encoder.parameters(&[HeadShape::linear(4)]).len(), "{name}");
            // Against the file as a user would open it.
            let tensors = exported(&setting, &finished);
            for (path, shape) in setting.encoder.parameters(&[HeadShape::linear(setting.tags)]) {
                let stored = frostline_model::stored_name(&setting.encoder, &path);
                let after = &tensors.iter().find(|(name, _)| *name == stored.name).unwrap().1;
                let [part, parts] = stored.part;
                let after = &after[part * after.len() / parts..(part + 1) * after.len() / parts];
                let drawn = path.replace("heads.0.classifier", "head").replace("heads.0.", "head.");
                let mut before: Vec<u8> =
                    draw().values(&drawn, &shape).unwrap().iter().flat_map(|v| v.to_le_bytes()).collect();
                let mut after = after.to_vec();
                if shape.len() == 2 {
                    // The file may hold the transpose: compare the numbers, not their order.
                    let sort = |bytes: &mut Vec<u8>| {
                        let mut quads: Vec<[u8; 4]> = bytes.as_chunks::<4>().0.to_vec();
                        quads.sort_unstable();
                        *bytes = quads.concat();
                    };
                    sort(&mut before);
                    sort(&mut after);
                }
                assert_eq!(policy.freezes(&path), before == after, "{name}: {path}");
            }
        }
    }
}

#[test]
fn runs_repeat_bit_for_bit_on_any_number_of_threads() {
    for encoder in [bert(), modernbert(), deberta(), eurobert()] {
        runs_repeat(encoder);
    }
}

fn runs_repeat(encoder: EncoderConfig) {
    let setting = setting(encoder, true);
    let on = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let finished = run(&setting, "first-1", &settings(|s| s.seed = seed)).unwrap();
            let losses: Vec<u64> = finished.losses.iter().map(|point| point.loss_nats.to_bits()).collect();
            (losses, exported(&setting, &finished))
        })
    };
    let one = on(1, 42);
    assert!(one == on(1, 42), "the same run twice");
    assert!(one == on(2, 42), "two threads");
    assert!(one == on(3, 42), "three threads");
    assert!(one.0 != on(1, 43).0, "another seed must differ");
}

#[test]
fn the_compact_vocabulary_changes_nothing() {
    for encoder in [distilbert(), electra(), modernbert(), deberta(), eurobert()] {
        compact_and_full_agree(&encoder);
    }
}

fn compact_and_full_agree(encoder: &EncoderConfig) {
    let (compact, full) = (setting(encoder.clone(), true), setting(encoder.clone(), false));
    assert!(compact.vocabulary.rows().len() < full.vocabulary.rows().len());
    for (policy, layer_decay) in [("none", 1.0), ("none", 0.7), ("all", 1.0), ("head-only", 1.0)] {
        let long = settings(|s| {
            s.train.epochs = 40;
            s.optimizer.layer_decay = layer_decay;
        });
        let (ours, theirs) = (run(&compact, policy, &long).unwrap(), run(&full, policy, &long).unwrap());
        assert_eq!(ours.steps, 200);
        for ((name, a), (_, b)) in exported(&compact, &ours).iter().zip(&exported(&full, &theirs)) {
            if !name.ends_with("_embeddings.weight") && !name.ends_with("embed_tokens.weight") {
                assert!(a == b, "{policy} {name} has other bits");
            }
            // Rows that do not occur decay in one step at the end where the table is compact.
            let numbers = |bytes: &[u8]| -> Vec<f32> {
                bytes.as_chunks::<4>().0.iter().map(|quad| f32::from_le_bytes(*quad)).collect()
            };
            for (a, b) in numbers(a).iter().zip(numbers(b)) {
                assert!((a - b).abs() <= 1e-5 * b.abs().max(1e-2), "{policy} {name}: {a} against {b}");
            }
        }
    }
}

/// The update of one step is AdamW's: near `lr` in every number that received a gradient. So the rates
/// of groups can be read off the first step.
#[test]
fn lower_blocks_learn_more_slowly_where_asked() {
    let mut setting = setting(distilbert(), true);
    setting.train.examples.truncate(8);
    let one_step = settings(|s| {
        (s.train.epochs, s.train.batch) = (1, 8);
        (s.optimizer.weight_decay, s.optimizer.layer_decay) = (0.0, 0.5);
        s.schedule.kind = ScheduleKind::Constant;
    });
    let before = snapshot(&model(&setting).valid());
    let after = snapshot(&run(&setting, "none", &one_step).unwrap().model);
    let moved = |path: &str| {
        let pairs = before[path].data.iter().zip(&after[path].data);
        pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max)
    };
    for (path, rate) in [
        ("heads.0.classifier.weight", 1e-3),
        ("encoder.blocks.2.value.weight", 1e-3),
        ("encoder.blocks.1.value.weight", 5e-4),
        ("encoder.blocks.0.value.weight", 2.5e-4),
        ("encoder.embeddings.position", 1.25e-4),
    ] {
        assert!((moved(path) / rate - 1.0).abs() < 0.01, "{path}: {} against {rate}", moved(path));
    }
}

#[test]
fn the_best_epoch_is_kept_where_asked() {
    let setting = setting(distilbert(), true);
    let mut settings = settings(|s| {
        s.train.epochs = 5;
        (s.optimizer.lr, s.optimizer.weight_decay) = (0.03, 0.01);
    });
    let last = run(&setting, "none", &settings).unwrap();
    assert_eq!(last.selected, 5);
    (settings.train.select, settings.train.select_by) = (Select::Best, SelectBy::Loss);
    let best = run(&setting, "none", &settings).unwrap();
    let lowest = best.epochs.iter().map(|epoch| epoch.dev[0].loss_nats).fold(f64::INFINITY, f64::min);
    assert_eq!(best.epochs[best.selected as usize - 1].dev[0].loss_nats, lowest);
    settings.eval.batch_tokens = 7;
    let dev = (&setting.dev).into();
    let evaluated =
        frostline_train::evaluate(&best.model.valid(), 0, &setting.encoder, dev, &settings).unwrap();
    assert_eq!(
        evaluated.words, best.dev[0].words,
        "the model kept is the selected epoch's, whatever the batches"
    );
}

fn switch(on: bool) -> Switch {
    if on { Switch::On } else { Switch::Off }
}

/// Settings with which a constant prefix may be cached.
fn cacheable() -> Settings {
    settings(|s| s.dropout.frozen = Switch::Off)
}

#[test]
fn dropout_in_frozen_blocks_is_a_setting_of_its_own() {
    let setting = setting(distilbert(), true);
    let with = |encoder: bool, frozen: bool| {
        let settings = settings(|s| {
            s.dropout.head = 0.0;
            (s.dropout.encoder, s.dropout.frozen) = (switch(encoder), switch(frozen));
        });
        let finished = run(&setting, "head-only", &settings).unwrap();
        finished.losses.iter().map(|point| point.loss_nats.to_bits()).collect::<Vec<_>>()
    };
    assert_ne!(with(true, true), with(true, false));
    assert_eq!(with(true, false), with(false, false), "all of the encoder is frozen");
}

/// Reading a constant prefix instead of computing it in every step changes no bit.
#[test]
fn a_cached_prefix_changes_nothing() {
    for encoder in [distilbert(), bert(), roberta(), electra(), modernbert(), deberta(), eurobert()] {
        let setting = setting(encoder, true);
        for (name, blocks) in [("first-2+embeddings", 2), ("none+embeddings", 0), ("head-only", 3)] {
            for precision in [Precision::F32, Precision::Bf16] {
                let mut settings = cacheable();
                settings.train.precision = precision;
                let computed = run(&setting, name, &settings).unwrap();
                let cached = run_cached(&setting, name, blocks, &settings).unwrap();
                let bits = |finished: &Finished<B>| {
                    let losses: Vec<_> = finished.losses.iter().map(|p| p.loss_nats.to_bits()).collect();
                    let dev: Vec<_> = finished.epochs.iter().map(|e| e.dev[0].loss_nats.to_bits()).collect();
                    (losses, dev, exported(&setting, finished))
                };
                if B::k_reproducible() {
                    assert!(bits(&computed) == bits(&cached), "{name} {precision:?}");
                } else {
                    // Other products may sum a row in another order when there are other rows.
                    for (a, b) in computed.losses.iter().zip(&cached.losses) {
                        assert!((a.loss_nats - b.loss_nats).abs() < 1e-6, "{name} {precision:?}");
                    }
                }
            }
        }
    }
}

/// From the output of fewer blocks the same comes out as from the subwords; that of more blocks is not read.
#[test]
fn a_prefix_grows_from_a_smaller_one() {
    let setting = setting(bert(), true);
    let (plain, data) = (model(&setting).valid(), &setting.train);
    let (starts, hidden) = (data.starts(), setting.encoder.hidden);
    for precision in [Precision::F32, Precision::Bf16] {
        let mut settings = cacheable();
        settings.train.precision = precision;
        let rows = |known: Option<(usize, &[f32])>, blocks| {
            let prefix = known.map(|(blocks, rows)| Prefix { blocks, hidden, rows, starts: &starts });
            prefix_rows(&setting, &plain, View { data, prefix }, blocks, &settings)
        };
        let close = |a: &[f32], b: &[f32]| {
            let most = if B::k_reproducible() { 0.0 } else { 1e-5 };
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= most)
        };
        let [one, three] = [1, 3].map(|blocks| rows(None, blocks));
        assert!(close(&rows(Some((1, &one)), 3), &three), "{precision:?}");
        assert!(close(&rows(Some((3, &three)), 3), &three), "{precision:?}: nothing is left to compute");
        assert!(close(&rows(Some((3, &three)), 1), &one), "{precision:?}: more than was asked for");
        let zeros = vec![0.0; one.len()];
        assert!(!close(&rows(Some((1, &zeros)), 3), &three), "{precision:?}: it is not read");
    }
}

#[test]
#[should_panic(expected = "no constant of the data")]
fn a_prefix_that_learns_cannot_be_cached() {
    let _ = run_cached(&setting(distilbert(), true), "first-2", 2, &cacheable());
}

#[test]
#[should_panic(expected = "no constant of the data")]
fn a_prefix_with_dropout_cannot_be_cached() {
    let _ = run_cached(&setting(distilbert(), true), "first-2+embeddings", 2, &settings(as_they_are));
}

fn diverges(settings: &mut Settings) {
    let optimizer = &mut settings.optimizer;
    (optimizer.lr, optimizer.weight_decay, optimizer.clip_norm) = (1e30, 0.01, 0.0);
}

#[test]
fn divergence_is_said_with_its_step() {
    let setting = setting(distilbert(), true);
    let Err(error) = run(&setting, "none", &settings(diverges)) else {
        panic!("a learning rate of 1e30 must fail")
    };
    assert!(error.to_string().contains("training diverged"), "{error}");
}

#[test]
fn divergence_in_the_last_step_is_said_too() {
    let setting = setting(distilbert(), true);
    let one_step = settings(|s| {
        diverges(s);
        (s.train.epochs, s.train.batch) = (1, 40);
        s.schedule.kind = ScheduleKind::Constant;
    });
    let Err(error) = run(&setting, "none", &one_step) else { panic!("the only update must be seen to fail") };
    assert!(error.to_string().contains("the loss is NaN at step 1"), "{error}");
}

#[test]
fn a_sentence_without_subwords_is_named() {
    // No word is known, nothing stands for unknown ones, and no special token is added.
    let tokenizer = r#"{"model": {"type": "WordPiece", "vocab": {"dog": 0}, "unk_token": "", "max_input_chars_per_word": 9,
        "continuing_subword_prefix": "-"}, "added_tokens": []}"#;
    let aligner = Aligner::from_bytes(tokenizer.as_bytes()).unwrap();
    let sentence = |word| TaggedSentence { words: vec![word], tags: vec!["X"] };
    let sentences = [sentence("dog"), sentence("")];
    let split = Split { name: "train", sentences: &sentences, unit: Unit::Words };
    let error = Dataset::build(&split, &aligner, &["X".to_string()]).unwrap_err().to_string();
    assert!(error.starts_with("sentence 2 of train has no subword"), "{error}");
}

#[test]
fn tags_that_train_lacks_are_wrong_and_named() {
    let mut setting = setting(distilbert(), false);
    let aligner =
        Aligner::from_vocab("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\ndog\n", &VocabOptions::default()).unwrap();
    let sentences = [TaggedSentence { words: vec!["a", "dog", "_"], tags: vec!["DET", "X", "_"] }];
    let tags: Vec<String> = TAGS.iter().map(|tag| (*tag).into()).collect();
    let mut dev =
        Dataset::build(&Split { name: "dev", sentences: &sentences, unit: Unit::Words }, &aligner, &tags)
            .unwrap();
    assert_eq!(dev.unseen_tags, ["X"]);
    dev.compact(&setting.vocabulary);
    setting.dev = dev;
    let finished = run(&setting, "none", &settings(as_they_are)).unwrap();
    let tally = finished.epochs[1].dev[0].tally;
    assert_eq!((tally.words, tally.scored, tally.unseen_scored), (2, 2, 1));
}

#[test]
fn a_batch_without_labels_has_no_part_in_the_mean_loss() {
    let vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\ndog\n";
    let aligner = Aligner::from_vocab(vocab, &VocabOptions::default()).unwrap();
    let sentence = |tags: [&'static str; 2]| TaggedSentence { words: vec!["a", "dog"], tags: tags.to_vec() };
    let [labelled, unlabelled] = [["DET", "NOUN"], ["_", "_"]].map(sentence);
    let mean_loss = |sentences: &[TaggedSentence<'static>]| {
        let mut setting = setting(distilbert(), true);
        let split = Split { name: "train", sentences, unit: Unit::Words };
        setting.train = Dataset::build(&split, &aligner, &TAGS.map(String::from)).unwrap();
        setting.train.compact(&setting.vocabulary);
        // Nothing moves and nothing is dropped, so that every labelled sentence has the same loss in every order.
        let still = settings(|s| {
            (s.optimizer.lr, s.train.epochs, s.train.batch, s.train.log_every) = (0.0, 1, 1, 1);
            (s.dropout.encoder, s.dropout.head) = (Switch::Off, 0.0);
        });
        let finished = run(&setting, "none", &still).unwrap();
        (finished.epochs[0].train_loss_nats, finished.losses)
    };
    let (alone, points) = mean_loss(&vec![labelled.clone(); 3]);
    assert!(alone > 0.5 && points.len() == 3, "{alone}");
    let mixed: Vec<TaggedSentence<'_>> =
        [labelled, unlabelled.clone(), unlabelled].into_iter().cycle().take(9).collect();
    let (found, points) = mean_loss(&mixed);
    assert!((found - alone).abs() < 1e-6, "{found}, not {alone}: six batches of nine have no label");
    assert_eq!(points.len(), 3, "a step without labels has no point of the curve");
    assert!(points.iter().all(|point| (point.loss_nats - alone).abs() < 1e-6), "{points:?}");
}

/// Dropout masks follow sentences and the loss is a mean over all labels of the batch, so parts are another order of the same
/// sum.
#[test]
fn a_batch_in_parts_is_the_same_step() {
    let setting = setting(bert(), true);
    let end = |parts: usize| {
        let settings = settings(|s| s.train.accumulate = parts);
        let finished = run(&setting, "first-1", &settings).unwrap();
        let losses: Vec<f64> = finished.losses.iter().map(|point| point.loss_nats).collect();
        (losses, snapshot(&finished.model.valid()))
    };
    let (losses, whole) = end(1);
    for parts in [2, 3, 8] {
        let (again, in_parts) = end(parts);
        for (a, b) in losses.iter().zip(&again) {
            assert!((a - b).abs() < 1e-4, "{parts} parts: {a} against {b}");
        }
        let moved = |path: &str| {
            let pairs = whole[path].data.iter().zip(&in_parts[path].data);
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        };
        assert_eq!(moved("encoder.blocks.0.query.weight"), 0.0, "{parts} parts: frozen");
        assert!(moved("encoder.blocks.1.value.weight") < 1e-4, "{parts} parts");
    }
}
