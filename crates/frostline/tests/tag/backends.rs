//! Tags on every backend of the build, with any number of threads.

use frostline_kernels::{Precision, backend};
use frostline_tagger::{NO_TAG, Options, Tagger};
use frostline_testing::Lack;

use crate::cell::{cell_folder, recorded_tags, shared_folder};
use crate::{demo_file, treebank_words};

/// The record was made by `flex` on all threads. Here every backend of this build but `cuda` meets it,
/// on one thread: others than `flex` only where the build has them.
#[test]
fn every_backend_of_the_build_gives_the_tags_of_the_record() {
    let _kept = shared_folder();
    let sentences = treebank_words(&demo_file("en/dev.conllu"));
    let recorded = recorded_tags("dev.tsv");
    assert_eq!(sentences.len(), recorded.len());
    let can = |name: &&str| *name != "cuda" && (*name != "amx" || backend::check(name).is_ok());
    let names: Vec<&str> = backend::names().into_iter().filter(can).collect();
    if names == ["flex"] {
        frostline_testing::skipped(Lack::Build, "no other backend than flex; test with `--features ndarray`");
    }
    for name in names {
        let options = Options { backend: Some(name.into()), threads: Some(1), ..Options::default() };
        let tagger = Tagger::open(cell_folder(), &options).unwrap();
        let answers = tagger.tag_all(&sentences).unwrap();
        let mut compared = 0;
        for (recorded, answers) in recorded.iter().zip(&answers) {
            // In a sentence that training truncated, words are missing from the record, and the others had less
            // context.
            if recorded.iter().all(|tag| tag != NO_TAG) {
                let tags: Vec<&str> = answers.iter().map(|answer| answer.tag).collect();
                assert_eq!(recorded, &tags, "{name}");
                compared += 1;
            }
        }
        assert!(compared > 20, "{name}: {compared} sentences");
    }
}

#[test]
fn tags_do_not_depend_on_the_number_of_threads() {
    let _kept = shared_folder();
    let sentences = treebank_words(&demo_file("en/dev.conllu"));
    for name in ["flex", "amx"] {
        if backend::check(name).is_err() {
            frostline_testing::skipped(Lack::Processor, "no matrix unit (AMX) here");
            continue;
        }
        let logits = |threads| {
            let precision = Some(Precision::Bf16);
            let options = Options {
                backend: Some(name.into()),
                precision,
                threads: Some(threads),
                ..Options::default()
            };
            let tagger = Tagger::open(cell_folder(), &options).unwrap();
            let answers = tagger.tag_all(&sentences).unwrap();
            answers.iter().flatten().map(|answer| answer.probability.to_bits()).collect::<Vec<_>>()
        };
        assert!(logits(1) == logits(2), "{name}");
    }
}
