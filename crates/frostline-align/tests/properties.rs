//! Properties that hold for any words: no word is lost, one label position per word, windows that
//! cover everything, a cache that changes nothing. Draws words of many scripts, also empty and
//! malformed ones.

mod common;

use std::sync::OnceLock;

use common::data;
use frostline_align::{AlignOptions, Aligned, Aligner, LabelPolicy, VocabOptions};
use proptest::prelude::*;

const POLICIES: [LabelPolicy; 3] = [LabelPolicy::First, LabelPolicy::Last, LabelPolicy::All];

fn tokenizer_json(name: &str) -> String {
    static ALL: OnceLock<[String; 3]> = OnceLock::new();
    let names = ["bpe", "unigram", "wordlevel"];
    let all = ALL.get_or_init(|| names.map(|name| data(&format!("{name}.json"))));
    all[names.iter().position(|n| *n == name).expect("known")].clone()
}

fn aligner_of_kind(kind: usize, options: AlignOptions) -> Aligner {
    let aligner = match kind {
        0 => Aligner::from_vocab(&data("vocab.txt"), &VocabOptions::default()),
        1 => Aligner::from_bytes(tokenizer_json("bpe").as_bytes()),
        2 => Aligner::from_bytes(tokenizer_json("unigram").as_bytes()),
        _ => Aligner::from_bytes(tokenizer_json("wordlevel").as_bytes()),
    };
    aligner.expect("loads").with_options(options).expect("the options fit")
}

fn any_word() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-zA-Zéüß]{1,9}",
        2 => "\\PC{0,6}",
        2 => "[\u{200b}\u{ad} \u{0}\u{301}]{0,3}",
        2 => "[.,!?—。]{1,12}",
        1 => any::<String>(),
        1 => Just("[SEP]".to_owned()),
        1 => "[a中]{90,120}",
    ]
}

fn any_options() -> impl Strategy<Value = AlignOptions> {
    (5usize..40, 0usize..3, proptest::option::of(0usize..35), any::<bool>()).prop_map(
        |(max_length, policy, stride, lowercase)| AlignOptions {
            max_length,
            labels: POLICIES[policy],
            stride: stride.map(|stride| stride % (max_length - 4)),
            lowercase,
        },
    )
}

/// Checks the properties of one window for any words.
fn check_window(aligned: &Aligned, aligner: &Aligner) -> Result<(), TestCaseError> {
    let (before, after) = (aligner.prefix_ids(), aligner.suffix_ids());
    let n = aligned.ids.len();
    prop_assert!(n <= aligner.options().max_length);
    prop_assert_eq!(aligned.word_ids.len(), n);
    prop_assert!(aligned.ids.starts_with(before) && aligned.ids.ends_with(after));
    let of_words = &aligned.word_ids[before.len()..n - after.len()];
    prop_assert!(of_words.iter().all(Option::is_some), "only the ends belong to no word");
    prop_assert!(of_words.is_sorted());
    prop_assert_eq!(aligned.word_ids.iter().flatten().count(), of_words.len());
    prop_assert!(aligned.label_positions.is_sorted());
    for &(position, word) in &aligned.label_positions {
        prop_assert_eq!(aligned.word_ids[position as usize], Some(word));
    }
    Ok(())
}

fn labelled_words(windows: &[Aligned]) -> Vec<u32> {
    let mut words = Vec::new();
    for window in windows {
        let mut here: Vec<u32> = window.label_positions.iter().map(|&(_, word)| word).collect();
        here.dedup();
        words.extend(here);
    }
    words
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn labelled_truncated_and_vanished_are_all_words(
        kind in 0usize..4,
        words in proptest::collection::vec(any_word(), 0..30),
        options in any_options(),
    ) {
        let aligner = aligner_of_kind(kind, options);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let aligned = aligner.align(&words).unwrap();
        check_window(&aligned, &aligner)?;
        let mut all = labelled_words(std::slice::from_ref(&aligned));
        prop_assert_eq!(all.len(), aligned.labelled());
        prop_assert!(aligned.truncated.is_sorted() && aligned.vanished.is_sorted());
        all.extend(aligned.truncated.iter().chain(&aligned.vanished));
        all.sort_unstable();
        prop_assert_eq!(all, (0..words.len() as u32).collect::<Vec<_>>());

        // Aligned alone and uncut, a word has subwords exactly if it is not listed as vanished.
        for (i, word) in words.iter().enumerate() {
            let alone = aligner.align(&[word]).unwrap();
            let vanished = aligned.vanished.contains(&(i as u32));
            prop_assert_eq!(alone.vanished.is_empty(), !vanished, "{:?}", word);
        }
    }

    #[test]
    fn windows_cover_everything_and_score_every_word_once(
        kind in 0usize..4,
        words in proptest::collection::vec(any_word(), 0..60),
        options in any_options(),
    ) {
        let stride = options.stride.unwrap_or(1);
        let aligner = aligner_of_kind(kind, AlignOptions { stride: Some(stride), ..options });
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let windows = aligner.align_windows(&words).unwrap();
        let mut all = labelled_words(&windows);
        for (i, window) in windows.iter().enumerate() {
            check_window(window, &aligner)?;
            prop_assert!(window.truncated.is_empty());
            prop_assert!(i == 0 || window.vanished.is_empty());
        }
        all.extend(&windows[0].vanished);
        all.sort_unstable();
        prop_assert_eq!(all, (0..words.len() as u32).collect::<Vec<_>>());

        // Without the overlaps, the windows are the uncut sentence.
        let roomy = AlignOptions { max_length: 1 << 20, stride: None, ..options };
        let (before, after) = (aligner.prefix_ids().len(), aligner.suffix_ids().len());
        let whole = self::aligner_of_kind(kind, roomy).align(&words).unwrap();
        let mut joined = whole.ids[..before].to_vec();
        for (i, window) in windows.iter().enumerate() {
            let skip = before + if i == 0 { 0 } else { stride };
            joined.extend(&window.ids[skip..window.ids.len() - after]);
        }
        joined.extend(&whole.ids[whole.ids.len() - after..]);
        prop_assert_eq!(joined, whole.ids);
    }

    #[test]
    fn policies_label_the_first_the_last_or_all_subwords(
        words in proptest::collection::vec(any_word(), 0..12),
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let options = AlignOptions { max_length: 1 << 20, ..AlignOptions::default() };
        let [first, last, all] = POLICIES.map(|labels| {
            aligner_of_kind(0, AlignOptions { labels, ..options }).align(&words).unwrap()
        });
        for word in 0..words.len() as u32 {
            let at: Vec<u32> = (0..all.ids.len() as u32)
                .filter(|&i| all.word_ids[i as usize] == Some(word))
                .collect();
            let of = |aligned: &Aligned| -> Vec<u32> {
                aligned.label_positions.iter().filter(|s| s.1 == word).map(|s| s.0).collect()
            };
            prop_assert_eq!(of(&first), at.first().copied().into_iter().collect::<Vec<_>>());
            prop_assert_eq!(of(&last), at.last().copied().into_iter().collect::<Vec<_>>());
            prop_assert_eq!(of(&all), at);
        }
    }

    #[test]
    fn the_cache_changes_nothing(
        kind in 0usize..4,
        words in proptest::collection::vec(any_word(), 0..20),
        options in any_options(),
    ) {
        let cached = aligner_of_kind(kind, options);
        let plain = aligner_of_kind(kind, options).with_cache(false);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let expected = plain.align_windows(&words).unwrap();
        prop_assert_eq!(&cached.align_windows(&words).unwrap(), &expected);
        prop_assert_eq!(&cached.align_windows(&words).unwrap(), &expected);
        prop_assert_eq!(plain.cached_words(), 0);
    }
}
