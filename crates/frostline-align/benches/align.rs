//! Alignment relative to a plain `Tokenizer::encode` in the same process, on one thread: without the word cache, with
//! it, and in a first pass; in English, whose words the crate tokenizes itself, and in Tamil, whose words the library
//! does. Needs FROSTLINE_SHARED for a real vocabulary and real text; prints a message and exits when it is unset.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{multilingual, read_conllu};
use frostline_align::{AlignOptions, Aligner, lowercase};
use tokenizers::{Tokenizer, TruncationParams};

const ROUNDS: usize = 7;

fn main() {
    let Some(shared) = frostline_testing::shared() else { return };
    for (treebank, targets) in [
        ("UD_English-EWT/en_ewt-ud-train.conllu", [8.0, 8.0, 8.0]),
        ("UD_Tamil-TTB/ta_ttb-ud-train.conllu", [0.95, 3.0, 1.0]),
    ] {
        println!("{treebank}");
        compare_speeds(&multilingual(&shared), &shared.join("data/ud").join(treebank), targets);
    }
}

/// Prints the speeds on a treebank next to the target ratios.
fn compare_speeds(folder: &Path, train: &Path, targets: [f64; 3]) {
    let sentences: Vec<Vec<String>> = read_conllu(train).into_iter().map(|s| s.forms).collect();
    let raw: Vec<Vec<&str>> = borrow_words(&sentences);
    // The plain tokenizer gets forms that are already lowercased: its time is tokenising only.
    let lowered: Vec<Vec<String>> =
        sentences.iter().map(|words| words.iter().map(|w| lowercase(w).into_owned()).collect()).collect();
    let lowered: Vec<Vec<&str>> = borrow_words(&lowered);

    let (bare, load_bare) = time_call(|| load_plain_tokenizer(folder));
    let (loaded, load_ours) = time_call(|| Aligner::from_folder(folder).expect("loads"));
    let options = AlignOptions { lowercase: true, ..AlignOptions::default() };
    let cached = loaded.with_options(options).expect("options fit");
    let plain = Aligner::from_folder(folder).expect("loads").with_cache(false);
    let plain = plain.with_options(options).expect("options fit");
    println!("load: bare {load_bare:.0?}, ours {load_ours:.0?}");

    let by_bare = || {
        for words in &lowered {
            black_box(bare.encode(black_box(&words[..]), true).expect("encodes"));
        }
    };
    let by_aligner = |aligner: &Aligner| {
        for words in &raw {
            black_box(aligner.align(black_box(words)).expect("aligns"));
        }
    };
    let ((), cold) = time_call(|| by_aligner(&cached));
    // Interleaved, so that other load slows all three equally; the median round is reported.
    let mut rows = Vec::new();
    for _ in 0..ROUNDS {
        let ((), bare) = time_call(by_bare);
        let ((), plain) = time_call(|| by_aligner(&plain));
        let ((), warm) = time_call(|| by_aligner(&cached));
        rows.push((bare, plain, warm));
    }
    let words: usize = raw.iter().map(Vec::len).sum();
    let per_word = |time: Duration| time.as_nanos() as f64 / words as f64;
    let bare = median_time(rows.iter().map(|r| r.0));
    println!("bare encode      {:7.1} ns/word", per_word(bare));
    let times = [
        ("align, no cache", median_time(rows.iter().map(|r| r.1))),
        ("align, cached", median_time(rows.iter().map(|r| r.2))),
        ("align, first pass", cold),
    ];
    for ((name, time), target) in times.into_iter().zip(targets) {
        let ratio = bare.as_secs_f64() / time.as_secs_f64();
        println!("{name:<17}{:7.1} ns/word, {ratio:6.2} x bare (target {target})", per_word(time));
    }
    println!("{words} words, {} forms in the cache", cached.cached_words());
}

fn load_plain_tokenizer(folder: &Path) -> Tokenizer {
    let mut bare = Tokenizer::from_file(folder.join("tokenizer.json")).expect("loads");
    let truncation = TruncationParams { max_length: 128, ..TruncationParams::default() };
    bare.with_padding(None);
    bare.with_truncation(Some(truncation)).expect("128 fits");
    bare
}

fn borrow_words(sentences: &[Vec<String>]) -> Vec<Vec<&str>> {
    sentences.iter().map(|words| words.iter().map(String::as_str).collect()).collect()
}

fn time_call<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

fn median_time(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort();
    times[times.len() / 2]
}
