//! The same result, bit for bit, on every instruction set, and the same as on other machines before.

use std::path::PathBuf;

use frostline_record::{Bits, Record};
use frostline_testing::{Lack, skipped};
use sha2::{Digest as _, Sha256};

use crate::{RUNNER, SweepPlace, output_text, read_records, repeatable_part};

/// Names another program to test, such as one for another processor in an emulator.
const OTHER_RUNNER: &str = "FROSTLINE_PROGRAM";

/// Cells with all features: frozen blocks with and without a stored prefix, low-rank matrices, bottlenecks, a
/// mix of all blocks, and freezing by gradients.
const WORDS: &str = "--lang en --seeds 42 --set train.epochs=1 --set data.first=40 --set adaptive.every=2 \
                     --policies none,first-2+embeddings,none+lora,none+dora,none+ia3,lisa-2@1,first-4+adapters+mix,none+adaptive \
                     --set dropout.frozen=\"off\"";
/// A head with a hyperbolic tangent, in two stages.
const SENTENCES: &str = "--plan demo-sst2 --seeds 42 --set data.first=24 --set stages.head.train.epochs=1 \
                         --set stages.full.train.epochs=1 --set tasks.sentiment.head=pooler";

fn sweep_with_isa(words: &str, isa: &str) -> Vec<Record> {
    let place = SweepPlace::new();
    let runner = other_runner().unwrap_or_else(|| RUNNER.into());
    let output = place
        .sweep_of(&runner, words)
        .arg("--no-timing")
        .env("FROSTLINE_ISA", isa)
        .output()
        .expect("xtask starts");
    assert!(output.status.success(), "{isa}: {}", output_text(&output));
    read_records(&place.out_folder())
}

fn other_runner() -> Option<PathBuf> {
    std::env::var_os(OTHER_RUNNER).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// Returns the results on each instruction set that this processor has, which must be equal. Another runner
/// computes on its best alone, since an emulator takes minutes for it.
fn results_by_isa(words: &str) -> Vec<String> {
    let best = sweep_with_isa(words, "");
    let results: Vec<_> = best.iter().map(repeatable_part).collect();
    let lesser: &[&str] = if other_runner().is_some() { &[] } else { &["avx2", "portable"] };
    for isa in lesser.iter().copied() {
        let lower = sweep_with_isa(words, isa);
        let ran_on = &lower[0].made_by.isa;
        if ran_on != isa {
            skipped(Lack::Processor, &format!("no {isa} here: results are compared with {ran_on} alone"));
        }
        assert!(lower.iter().all(|record| record.made_by.bits == Bits::Reproducible));
        let differ = lower.iter().zip(&results).find(|(lower, best)| repeatable_part(lower) != **best);
        let title = differ.map(|(record, _)| record.cell.title());
        assert_eq!(title, None, "{} and {ran_on} give other bits", best[0].made_by.isa);
    }
    results
}

fn digest_results(results: &[String]) -> String {
    let hash = Sha256::digest(results.join("\n"));
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Other processors have the same digests. Only an intended change of results changes them.
#[test]
fn results_have_the_same_bits_on_every_processor() {
    let found = [WORDS.to_string(), SENTENCES.to_string(), format!("{WORDS} --set train.precision=bf16")]
        .map(|words| digest_results(&results_by_isa(&words)));
    let kept = ["df8d3f9f06cfd2a8", "34be81594d5e4cd5", "eb9940dafcb48bf1"];
    assert_eq!(found, kept, "f32, sentences, bf16");
}
