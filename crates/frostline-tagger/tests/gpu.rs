//! Tagging on a GPU or its replacement gives the same tags as a processor.

use std::path::PathBuf;

use frostline_kernels::backend;
use frostline_tagger::{Options, Tagger};
use frostline_testing::{Lack, skipped};

/// Returns a committed tagger of the tests of `frostline-model`.
fn model(family: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../frostline-model/tests/references").join(family)
}

#[test]
fn a_gpu_gives_the_tags_of_a_processor() {
    if backend::check("wgpu").is_err() {
        skipped(Lack::Device, "no adapter for wgpu; Mesa's software Vulkan is one");
        return;
    }
    // Longer than the encoder's maximum, so that it is read in windows.
    let long = ["the", "frog", "sees", "a", "stone"].repeat(40);
    let sentences = [vec!["a", "frog"], long, vec!["Stones", "see", "\u{200b}", "frogs", "."]];
    for family in ["bert", "distilbert"] {
        let [ours, theirs] = ["wgpu", "flex"].map(|name| {
            let options = Options { backend: Some(name.into()), ..Options::default() };
            Tagger::open(model(family), &options).expect("a model")
        });
        let (ours, theirs) =
            (ours.tag_all(&sentences).expect("tags"), theirs.tag_all(&sentences).expect("tags"));
        for (ours, theirs) in ours.iter().flatten().zip(theirs.iter().flatten()) {
            assert_eq!(ours.tag, theirs.tag, "{family}");
            assert!((ours.probability - theirs.probability).abs() < 1e-4, "{family}: {ours:?} {theirs:?}");
        }
    }
}
