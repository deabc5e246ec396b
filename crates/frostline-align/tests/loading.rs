//! Loading from folders, settings, errors for broken files, and sharing an aligner among threads.

mod common;

use std::path::Path;

use common::data;
use frostline_align::{AlignError, AlignOptions, Aligner, LabelPolicy, VocabOptions};

fn tiny_aligner() -> Aligner {
    Aligner::from_vocab(&data("vocab.txt"), &VocabOptions::default()).expect("loads")
}

fn folder_with_files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("writes");
    }
    folder
}

fn aligned_ids(folder: &Path, words: &[&str]) -> Vec<u32> {
    Aligner::from_folder(folder).expect("loads").align(words).expect("aligns").ids
}

const VOCAB: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nA\né\ne\n中\n##中\n##a\n";

/// Returns a `tokenizer.json` over [`VOCAB`] that lowercases, pads and truncates.
fn bert_json() -> String {
    let vocab: Vec<String> = VOCAB.lines().enumerate().map(|(i, token)| format!("{token:?}:{i}")).collect();
    format!(
        r#"{{"version":"1.0",
        "truncation":{{"direction":"Left","max_length":3,"strategy":"LongestFirst","stride":0}},
        "padding":{{"strategy":{{"Fixed":9}},"direction":"Left","pad_to_multiple_of":null,
          "pad_id":0,"pad_type_id":0,"pad_token":"[PAD]"}},
        "added_tokens":[],
        "normalizer":{{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
          "strip_accents":null,"lowercase":true}},
        "pre_tokenizer":{{"type":"BertPreTokenizer"}},
        "post_processor":{{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]}},
        "decoder":null,
        "model":{{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"\u0023#",
          "max_input_chars_per_word":100,"vocab":{{{}}}}}}}"#,
        vocab.join(",")
    )
}

#[test]
fn padding_and_truncation_of_the_file_are_cleared() {
    let aligner = Aligner::from_bytes(bert_json().as_bytes()).expect("loads");
    assert_eq!(aligner.align(&["a", "é", "A", "中", "a"]).unwrap().ids, [2, 5, 8, 5, 9, 5, 3]);
}

/// `align` and `tag` read a folder, a cell of a sweep two files that are pinned by their hashes.
#[test]
fn a_folder_and_its_two_files_give_the_same_subwords() {
    let json = bert_json();
    for config in
        ["{}", r#"{"do_lower_case":false}"#, r#"{"do_lower_case":false,"tokenizer_class":"BertTokenizer"}"#]
    {
        let both = folder_with_files(&[("tokenizer.json", &json), ("tokenizer_config.json", config)]);
        let files = Aligner::from_files(json.as_bytes(), config.as_bytes()).expect("loads");
        let cased = config.contains("false");
        let expected = [2, if cased { 6 } else { 5 }, 3];
        assert_eq!(aligned_ids(both.path(), &["A"]), expected, "{config}");
        assert_eq!(files.align(&["A"]).expect("aligns").ids, expected, "{config}");
    }
}

#[test]
fn tokenizer_json_takes_precedence_over_vocab_txt() {
    let other = VOCAB.replace("a\nA", "A\na");
    let json = bert_json();
    let both = folder_with_files(&[("tokenizer.json", &json), ("vocab.txt", &other)]);
    assert_eq!(aligned_ids(both.path(), &["a"]), [2, 5, 3]);
    let vocab_only = folder_with_files(&[("vocab.txt", &other)]);
    assert_eq!(aligned_ids(vocab_only.path(), &["a", "É"]), [2, 6, 8, 3], "lowercases and strips");
}

#[test]
fn tokenizer_config_has_the_settings_of_a_vocabulary() {
    for (config, words, expected) in [
        (r#"{"do_lower_case":false}"#, ["A", "é"], vec![2, 6, 7, 3]),
        (r#"{"do_lower_case":true,"strip_accents":false}"#, ["A", "É"], vec![2, 5, 7, 3]),
        (r#"{"do_lower_case":false,"strip_accents":true}"#, ["A", "é"], vec![2, 6, 8, 3]),
        (r#"{"tokenize_chinese_chars":false}"#, ["a中", "a"], vec![2, 5, 10, 5, 3]),
        (r#"{"cls_token":{"content":"[MASK]","lstrip":false}}"#, ["a", "a"], vec![4, 5, 5, 3]),
    ] {
        let folder = folder_with_files(&[("vocab.txt", VOCAB), ("tokenizer_config.json", config)]);
        assert_eq!(aligned_ids(folder.path(), &words), expected, "{config}");
    }
}

#[test]
fn tokenizer_config_overrides_the_normalizer_of_a_bert_tokenizer() {
    let json = bert_json();
    for (config, expected) in [
        (r#"{"tokenizer_class":"BertTokenizer","do_lower_case":false}"#, [2, 6, 7, 3]),
        (r#"{"tokenizer_class":"DistilBertTokenizerFast","do_lower_case":false}"#, [2, 6, 7, 3]),
        (r#"{"do_lower_case":false}"#, [2, 6, 7, 3]),
        (r#"{"tokenizer_class":"BertTokenizer","strip_accents":false}"#, [2, 5, 7, 3]),
        (r#"{"tokenizer_class":"BertTokenizer"}"#, [2, 5, 8, 3]),
        (r#"{"tokenizer_class":"PreTrainedTokenizerFast","do_lower_case":false}"#, [2, 5, 8, 3]),
        (r#"{"model_max_length":512}"#, [2, 5, 8, 3]),
    ] {
        let folder = folder_with_files(&[("tokenizer.json", &json), ("tokenizer_config.json", config)]);
        assert_eq!(aligned_ids(folder.path(), &["A", "é"]), expected, "{config}");
    }
    let cased = json.replace(r#""lowercase":true"#, r#""lowercase":false"#);
    for (config, expected) in [
        (r#"{"tokenizer_class":"BertTokenizer"}"#, [2, 5, 8, 3]),
        (r#"{"strip_accents":true}"#, [2, 6, 8, 3]),
        (r#"{}"#, [2, 6, 7, 3]),
    ] {
        let folder = folder_with_files(&[("tokenizer.json", &cased), ("tokenizer_config.json", config)]);
        assert_eq!(aligned_ids(folder.path(), &["A", "é"]), expected, "{config}, cased");
    }
}

#[test]
fn line_ends_and_repeated_tokens_are_treated_as_in_hugging_face() {
    let crlf = VOCAB.replace('\n', "\r\n");
    let aligner = Aligner::from_vocab(&crlf, &VocabOptions::default()).expect("loads");
    assert_eq!(aligner.align(&["a"]).unwrap().ids, [2, 5, 3]);
    let again = format!("{VOCAB}\na");
    let aligner = Aligner::from_vocab(&again, &VocabOptions::default()).expect("loads");
    assert_eq!(aligner.align(&["a"]).unwrap().ids, [2, 13, 3], "the blank line has an id too");
}

#[test]
fn a_word_spelled_like_a_special_token_is_a_word() {
    let aligned = tiny_aligner().align(&["[CLS]", "a", "[SEP]"]).unwrap();
    assert_eq!(aligned.word_ids, [None, Some(0), Some(1), Some(2), None]);
    assert_eq!(aligned.ids[1], aligned.ids[0]);
    assert_eq!(aligned.label_positions, [(1, 0), (2, 1), (3, 2)]);
}

#[test]
fn tokens_ids_and_sizes_can_be_looked_up() {
    let aligner = tiny_aligner();
    let mask = aligner.id_of("[MASK]").expect("in the vocabulary");
    assert_eq!(aligner.tokens(&[mask, 1_000_000]), ["[MASK]", "<id 1000000>"]);
    assert_eq!(aligner.id_of("no such token"), None);
    assert_eq!(aligner.vocab_size(), data("vocab.txt").lines().count());
    assert_eq!((aligner.prefix_ids(), aligner.suffix_ids()), (&[2][..], &[3][..]));
}

#[test]
fn errors_name_the_reason() {
    let message = |result: Result<Aligner, AlignError>| result.expect_err("an error").to_string();
    let empty = folder_with_files(&[]);
    let broken = folder_with_files(&[("tokenizer.json", "{\"version\":")]);
    let bad_config = folder_with_files(&[("vocab.txt", VOCAB), ("tokenizer_config.json", "[1")]);
    let options = |max_length, stride| AlignOptions { max_length, stride, ..Default::default() };
    let no_unk = VOCAB.replace("[UNK]", "unk");
    let japanese = r#"{"tokenizer_class":"BertJapaneseTokenizer","word_tokenizer_type":"mecab"}"#;
    let japanese = folder_with_files(&[("vocab.txt", VOCAB), ("tokenizer_config.json", japanese)]);
    let of_characters = r#"{"do_lower_case":false,"subword_tokenizer_type":"character"}"#;
    let of_characters = folder_with_files(&[("vocab.txt", VOCAB), ("tokenizer_config.json", of_characters)]);
    for (message, expected) in [
        (message(Aligner::from_folder(empty.path())), "neither tokenizer.json nor vocab.txt"),
        (message(Aligner::from_folder(broken.path())), "tokenizer.json: not a tokenizer"),
        (message(Aligner::from_folder(bad_config.path())), "tokenizer_config.json: not"),
        (message(Aligner::from_vocab(&no_unk, &VocabOptions::default())), "no \"[UNK]\""),
        (message(Aligner::from_folder(japanese.path())), "tokenizer_class is `BertJapaneseTokenizer`"),
        (message(Aligner::from_folder(of_characters.path())), "subword_tokenizer_type is `character`"),
        (message(tiny_aligner().with_options(options(2, None))), "give at least 3"),
        (message(tiny_aligner().with_options(options(8, Some(6)))), "give a stride below 6"),
    ] {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn byte_level_words_always_get_a_prefix_space() {
    let with = data("bpe.json");
    let setting = r#""pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true"#;
    let without = with.replace(setting, &setting.replace("true", "false"));
    assert_ne!(with, without);
    let [with, without] = [with, without].map(|json| Aligner::from_bytes(json.as_bytes()).expect("loads"));
    for words in [vec!["the", "frost", "line"], vec![" the", "", " ", "é中<mask>a"]] {
        let aligned = without.align(&words).unwrap();
        assert_eq!(aligned, with.align(&words).unwrap());
        let first = aligned.label_positions.iter().map(|&(position, _)| aligned.ids[position as usize]);
        assert!(without.tokens(&first.collect::<Vec<_>>()).iter().all(|token| token.starts_with('Ġ')));
    }
    let folder =
        folder_with_files(&[("tokenizer.json", &data("roberta.json")), ("tokenizer_config.json", "{}")]);
    let bytes = Aligner::from_bytes(data("roberta.json").as_bytes()).expect("loads");
    assert_eq!(aligned_ids(folder.path(), &["the", "cat"]), bytes.align(&["the", "cat"]).unwrap().ids);
}

#[test]
fn a_word_that_cannot_be_tokenized_is_named() {
    let json = r#"{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,
        "post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"missing"}}"#;
    let aligner = Aligner::from_bytes(json.as_bytes()).expect("loads");
    let error = aligner.align(&["a", "b"]).expect_err("no unknown token").to_string();
    assert!(error.starts_with("word 1 (\"b\")"), "{error}");
}

/// Returns a `tokenizer.json` over one word with these parts.
fn tokenizer_json_with(normalizer: &str, pre_tokenizer: &str, post_processor: &str) -> String {
    format!(
        r#"{{"version":"1.0","added_tokens":[],"normalizer":{normalizer},"pre_tokenizer":{pre_tokenizer},
        "post_processor":{post_processor},"decoder":null,
        "model":{{"type":"WordLevel","vocab":{{"a":0,"u":1}},"unk_token":"u"}}}}"#
    )
}

#[test]
fn a_file_on_which_the_tokenizer_library_panics_is_an_error() {
    let chunks = r#"{"type":"FixedLength","length":0}"#;
    let aligner = Aligner::from_bytes(tokenizer_json_with("null", chunks, "null").as_bytes()).expect("loads");
    let error = aligner.align(&["ab"]).expect_err("a panic of the library").to_string();
    assert!(
        error.starts_with("word 0 (\"ab\")") && error.contains("the file is probably damaged"),
        "{error}"
    );
    let unknown = r#"{"type":"TemplateProcessing","pair":[],"special_tokens":{},
        "single":[{"SpecialToken":{"id":"x","type_id":0}},{"Sequence":{"id":"A","type_id":0}}]}"#;
    for json in [tokenizer_json_with("null", "null", unknown), "{\"model\": {\"type\": ".into()] {
        let error = Aligner::from_bytes(json.as_bytes()).expect_err("an error").to_string();
        assert!(error.starts_with("tokenizer.json: not a tokenizer that can be loaded"), "{error}");
    }
}

#[test]
fn a_normalizer_that_may_fill_the_memory_is_refused() {
    let longer = format!(r#"{{"type":"Replace","pattern":{{"String":"a"}},"content":"{}"}}"#, "a".repeat(99));
    let sequence = |times: usize| {
        let all = vec![longer.as_str(); times].join(",");
        tokenizer_json_with(&format!(r#"{{"type":"Sequence","normalizers":[{all}]}}"#), "null", "null")
    };
    Aligner::from_bytes(sequence(2).as_bytes()).expect("10,000 times as long");
    let error = Aligner::from_bytes(sequence(9).as_bytes()).expect_err("too long").to_string();
    assert!(error.contains("more than 65536 times as long"), "{error}");
}

#[test]
fn the_largest_id_counts_gaps_and_special_tokens() {
    assert_eq!(tiny_aligner().largest_id() as usize, data("vocab.txt").lines().count() - 1);
    let around = r#"{"type":"BertProcessing","sep":["s",900],"cls":["c",7]}"#;
    let aligner = Aligner::from_bytes(tokenizer_json_with("null", "null", around).as_bytes()).expect("loads");
    assert_eq!((aligner.vocab_size(), aligner.largest_id()), (2, 900));
}

#[test]
fn threads_that_share_an_aligner_get_equal_results() {
    let options = AlignOptions { labels: LabelPolicy::Last, lowercase: true, ..Default::default() };
    let aligner = tiny_aligner().with_options(options).expect("fits");
    let plain = tiny_aligner().with_options(options).expect("fits").with_cache(false);
    let words: Vec<String> = (0..400).map(|i| format!("w{}é{}", i % 37, i % 11)).collect();
    let sentences: Vec<Vec<&str>> =
        words.chunks(8).map(|chunk| chunk.iter().map(String::as_str).collect()).collect();
    let expected: Vec<_> = sentences.iter().map(|s| plain.align(s).expect("aligns")).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (sentence, expected) in sentences.iter().zip(&expected) {
                    assert_eq!(aligner.align(sentence).expect("aligns"), *expected);
                }
            });
        }
    });
    assert!(aligner.cached_words() > 0);
}
