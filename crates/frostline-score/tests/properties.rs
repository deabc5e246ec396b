//! Properties that hold for all inputs: alignments are one-to-one and ordered, intervals contain their
//! value, corrections keep the order.

use frostline_score::conll18::{MultiwordToken, ScoredSentence, WordRow, align, evaluate};
use frostline_score::entity::{Scheme, entities};
use frostline_score::{Resampling, Share, bootstrap_share, holm, violation_ratio, wilson};
use proptest::prelude::*;

/// One segmentation of a text: whether a sentence, a token or nothing ends after each character,
/// and the number of words in each token.
#[derive(Clone, Debug)]
struct Cut {
    ends: Vec<u8>,
    words: Vec<u8>,
}

fn any_cut(length: usize) -> impl Strategy<Value = Cut> {
    (proptest::collection::vec(0..8u8, length), proptest::collection::vec(0..6u8, length))
        .prop_map(|(ends, words)| Cut { ends, words })
}

fn text_and_cuts() -> impl Strategy<Value = (String, Cut, Cut)> {
    "[ab雪ß]{1,60}".prop_flat_map(|text| {
        let length = text.chars().count();
        (Just(text), any_cut(length), any_cut(length))
    })
}

/// Splits `text` into sentences; the words of a multiword token are suffixes of its form.
fn lay_out<'a>(text: &'a str, cut: &Cut) -> Vec<ScoredSentence<'a>> {
    let mut sentences = vec![ScoredSentence::default()];
    let mut start = 0;
    for (index, (at, c)) in text.char_indices().enumerate() {
        let end = at + c.len_utf8();
        if cut.ends[index] < 4 && end < text.len() {
            continue;
        }
        let form = &text[start..end];
        let sentence = sentences.last_mut().unwrap();
        let (first, words) = (sentence.words.len() + 1, usize::from(cut.words[index]).saturating_sub(2));
        for word in 0..words.max(1) {
            let skip = form.char_indices().nth(word).map_or(0, |(skip, _)| skip);
            let piece = if words == 0 { form } else { &form[skip..] };
            sentence.words.push(WordRow { form: piece, head: Some(0), ..WordRow::default() });
        }
        if words > 0 {
            sentence.ranges.push(MultiwordToken { first, last: first + words - 1, form });
        }
        if cut.ends[index] == 7 && end < text.len() {
            sentences.push(ScoredSentence::default());
        }
        start = end;
    }
    sentences
}

proptest! {
    #[test]
    fn alignments_are_ordered_and_one_to_one((text, ours, theirs) in text_and_cuts()) {
        let (gold, system) = (lay_out(&text, &ours), lay_out(&text, &theirs));
        let found = align(&gold, &system).unwrap();
        prop_assert!(found.pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
        for &(g, s) in &found.pairs {
            prop_assert_eq!((found.system_of[g], found.gold_of[s]), (Some(s), Some(g)));
        }
        prop_assert_eq!(found.system_of.iter().flatten().count(), found.pairs.len());
        prop_assert_eq!(found.gold_of.iter().flatten().count(), found.pairs.len());
    }

    #[test]
    fn a_file_against_itself_is_perfect((text, cut, _) in text_and_cuts()) {
        let gold = lay_out(&text, &cut);
        for (name, metric) in evaluate(&gold, &gold).unwrap().named() {
            // Without relations there are no content words.
            let perfect = if ["CLAS", "MLAS", "BLEX"].contains(&name) { 0.0 } else { 1.0 };
            prop_assert_eq!(metric.f1(), perfect, "{}", name);
        }
    }

    #[test]
    fn spans_are_symmetric((text, ours, theirs) in text_and_cuts()) {
        let (gold, system) = (lay_out(&text, &ours), lay_out(&text, &theirs));
        let (there, back) = (evaluate(&gold, &system).unwrap(), evaluate(&system, &gold).unwrap());
        prop_assert_eq!(there.tokens.correct, back.tokens.correct);
        prop_assert_eq!(there.sentences.correct, back.sentences.correct);
        prop_assert!(there.words.correct <= there.words.gold.min(there.words.system));
    }

    #[test]
    fn intervals_contain_their_value(parts in proptest::collection::vec((0..20u64, 1..20u64), 1..40), seed: u64) {
        let shares: Vec<Share> = parts.iter().map(|&(p, w)| Share { part: p.min(w), whole: w }).collect();
        let sum = |f: fn(&Share) -> u64| shares.iter().map(f).sum();
        let exact = wilson(sum(|s| s.part), sum(|s| s.whole), 0.95);
        prop_assert!(0.0 <= exact.low && exact.low <= exact.value);
        prop_assert!(exact.value <= exact.high && exact.high <= 1.0);
        let drawn = bootstrap_share(&shares, &Resampling { resamples: 50, confidence: 0.9, seed });
        prop_assert_eq!(drawn.value, exact.value);
        prop_assert!(0.0 <= drawn.low && drawn.low <= drawn.high && drawn.high <= 1.0);
    }

    #[test]
    fn holm_keeps_the_order_and_never_lowers(p in proptest::collection::vec(0.0..=1.0f64, 0..30)) {
        let adjusted = holm(&p);
        for i in 0..p.len() {
            prop_assert!(p[i] <= adjusted[i] && adjusted[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
        }
    }

    #[test]
    fn violation_ratios_of_both_directions_add_up_to_1(
        a in proptest::collection::vec(0.0..1.0f64, 1..12),
        b in proptest::collection::vec(0.0..1.0f64, 1..12),
    ) {
        let (there, back) = (violation_ratio(&a, &b).unwrap(), violation_ratio(&b, &a).unwrap());
        prop_assert!((0.0..=1.0).contains(&there));
        prop_assert!((there + back - 1.0).abs() < 1e-12);
    }

    #[test]
    fn entities_ascend_without_overlap(tags in proptest::collection::vec("[BIO]|[BI]-[XY]", 0..30)) {
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        for scheme in [Scheme::Lenient, Scheme::Strict] {
            let found = entities(&tags, scheme);
            prop_assert!(found.iter().all(|e| e.start < e.end && e.end <= tags.len()));
            prop_assert!(found.windows(2).all(|w| w[0].end <= w[1].start));
        }
    }
}
