//! The same bits on every instruction set, for every family: forward, backward and a few steps of AdamW.
//!
//! A process keeps the instruction set that it found first, so the test starts itself again for each.

use std::process::Command;

use burn::backend::{Autodiff, Flex};
use burn::optim::GradientsParams;
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::{Index, Kernels, Precision};
use frostline_model::{Pass, fingerprints, set_trainable};
use frostline_record::OptimizerSettings;
use frostline_testing::{Lack, skipped};
use frostline_train::Optimizer;

mod references;
use references::{MODELS, open, pack_sentences, sentences};

type B = Autodiff<Flex>;

/// The variable that asks this test's own process for digests.
const ASKED: &str = "FROSTLINE_TEST_DIGESTS";
const STEPS: usize = 2;

/// Returns a line for each model and precision, with a digest of its parameters after some steps.
fn digests() -> Vec<String> {
    let mut lines = Vec::new();
    for name in MODELS {
        let (encoder, start) = open(name);
        let frozen = ResolvedPolicy::parse("none", encoder.depth).unwrap();
        for precision in [Precision::F32, Precision::Bf16] {
            let pass = Pass { precision, ..Pass::plain(encoder.depth) };
            let mut model = set_trainable(start.clone(), |path| !frozen.freezes(path));
            let mut optimizer = Optimizer::<Flex>::new(OptimizerSettings::default(), encoder.depth);
            for _ in 0..STEPS {
                let (input, labels) = pack_sentences(&encoder, &sentences(name));
                let labels = Index::from(labels);
                let logits = model.forward(0, &encoder, &input, &pass);
                let loss = B::k_cross_entropy(logits, &labels).div_scalar(labels.len() as f64);
                let gradients = GradientsParams::from_grads(loss.backward(), &model);
                model = optimizer.step(1e-3, model, gradients).0;
            }
            let digest = fingerprints(&model).into_values().fold(0u64, |all, one| all.rotate_left(7) ^ one);
            lines.push(format!("{name} {precision:?} {digest:016x}"));
        }
    }
    lines
}

/// Returns the instruction set that a process of its own found, and its digests.
fn digests_on(isa: &str) -> (String, Vec<String>) {
    let output = Command::new(std::env::current_exe().expect("a program"))
        .args(["--exact", "families_have_the_same_bits_on_every_instruction_set", "--nocapture"])
        .env(ASKED, "1")
        .env("FROSTLINE_ISA", isa)
        .output()
        .expect("the test starts");
    assert!(output.status.success(), "{isa}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = |kind: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.split_once(kind)).map(|(_, rest)| rest.to_string()).collect()
    };
    (lines("isa: ").pop().expect("a name"), lines("digest: "))
}

#[test]
fn families_have_the_same_bits_on_every_instruction_set() {
    if std::env::var_os(ASKED).is_some() {
        println!("\nisa: {}", Flex::k_isa());
        digests().iter().for_each(|line| println!("digest: {line}"));
        return;
    }
    let (best, expected) = digests_on("");
    assert_eq!(expected.len(), 2 * MODELS.len());
    for isa in ["avx2", "portable"] {
        let (found, digests) = digests_on(isa);
        if found != isa {
            skipped(Lack::Processor, &format!("no {isa} here: bits are compared with {found} alone"));
        }
        assert_eq!(digests, expected, "{best} and {found}");
    }
}
