//! Words are encoded as in running text: with the space before them if the tokenizer marks it. The expected ids come from
//! Python's `tokenizers` 0.23.3 for a text with that space, such as `" don't"`, and for XLM-R from `transformers` 5.23.0.

use frostline_align::Aligner;

/// Returns a `tokenizer.json` of a BPE whose words begin with `mark`.
fn bpe_json(mark: char, around: &str) -> String {
    let vocab = r#"{"<s>":0,"</s>":1,"i":2,"c":3,"e":4,"d":5,"o":6,"n":7,"'":8,"t":9,"_":10,".":11,"1":12,"_i":13,
        "ce":14,"_ice":15,"ice":16,"_d":17,"'t":18,"_.":19,"on":20,"_1":21}"#;
    let merges = r#"["_ i","c e","_i ce","i ce","_ d","' t","_ .","o n"]"#;
    let [vocab, merges] = [vocab, merges].map(|json| json.replace('_', &mark.to_string()));
    format!(
        r#"{{"version":"1.0","added_tokens":[{ADDED}],{around},"post_processor":{TEMPLATE},"decoder":null,
        "model":{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,
          "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"vocab":{vocab},"merges":{merges}}}}}"#
    )
}

const ADDED: &str = r#"
    {"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
    {"id":1,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}"#;

const TEMPLATE: &str = r#"{"type":"TemplateProcessing",
    "single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},
      {"SpecialToken":{"id":"</s>","type_id":0}}],
    "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
    "special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[1],"tokens":["</s>"]}}}"#;

/// The pre-tokenizer of Llama 3, which EuroBERT has.
const LLAMA: &str = r#""normalizer":null,"pre_tokenizer":{"type":"Sequence","pretokenizers":[
    {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}"#;

/// The normalizer and pre-tokenizer of Gemma, which mmBERT has.
const GEMMA: &str = r#""normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},
    "pre_tokenizer":{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false}"#;

/// The normalizer of Llama 2, which marks the start of a word by itself.
const PREPEND: &str = r#""normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
    {"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null"#;

fn metaspace_json(scheme: &str) -> String {
    format!(
        r#""normalizer":null,
        "pre_tokenizer":{{"type":"Metaspace","replacement":"▁","prepend_scheme":"{scheme}","split":true}}"#
    )
}

#[test]
fn a_word_has_the_ids_of_running_text() {
    let byte_level = r#""normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,
        "trim_offsets":true,"use_regex":true}"#;
    for (name, json) in [
        ("Llama 3", bpe_json('Ġ', LLAMA)),
        ("RoBERTa", bpe_json('Ġ', byte_level)),
        ("Gemma", bpe_json('▁', GEMMA)),
        ("Llama 2", bpe_json('▁', PREPEND)),
        ("always", bpe_json('▁', &metaspace_json("always"))),
        ("first", bpe_json('▁', &metaspace_json("first"))),
        ("never", bpe_json('▁', &metaspace_json("never"))),
    ] {
        let aligner = Aligner::from_bytes(json.as_bytes()).expect(name);
        let ids = |words: &[&str]| {
            let aligned = aligner.align(words).expect("aligns");
            aligned.ids[1..aligned.ids.len() - 1].to_vec()
        };
        assert_eq!(ids(&["ice"]), [15], "{name}");
        assert_eq!(ids(&["ice", "don't", "ice", "."]), [15, 17, 20, 18, 15, 19], "{name}");
        // An added token has no mark, and an empty word no subword.
        assert_eq!(ids(&["<s>", "ice"]), [0, 15], "{name}");
        assert_eq!(ids(&["", "ice"]), [15], "{name}");
    }
}

/// In the hub's file of XLM-R, `Metaspace` alone makes a subword of a word that is normalised to white space; the class
/// of transformers 5 splits at white space first.
#[test]
fn a_word_of_white_space_has_no_subword_in_xlm_r() {
    let around = metaspace_json("always").replace(
        r#""normalizer":null"#,
        r#""normalizer":{"type":"Replace","pattern":{"Regex":"[\\u200b\\u200d\\ufeff\\u00a0]"},"content":" "}"#,
    );
    let json = bpe_json('▁', &around);
    let words = ["ice", "\u{200b}", "\u{200b}ice", "\u{feff}", "ice\u{a0}d"];
    let ids = |class: &str| {
        let config = format!(r#"{{"tokenizer_class":"{class}"}}"#);
        let aligned = Aligner::from_files(json.as_bytes(), config.as_bytes()).expect("loads").align(&words);
        let aligned = aligned.expect("aligns");
        (aligned.ids, aligned.vanished)
    };
    for class in ["XLMRobertaTokenizer", "XLMRobertaTokenizerFast", "CamembertTokenizer", "AlbertTokenizer"] {
        assert_eq!(ids(class), (vec![0, 15, 15, 15, 17, 1], vec![1, 3]), "{class}");
    }
    assert!(ids("PreTrainedTokenizerFast").1.is_empty());
}
