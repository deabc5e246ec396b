//! Splits words into subwords and marks with `*` the position that carries each word's label: `cargo run -p
//! frostline-align --example pieces -- TOKENIZER_FOLDER The ice melts .` Without arguments it uses a built-in
//! vocabulary.

use std::path::Path;

use frostline_align::{AlignError, Aligner, VocabOptions};

const OWN: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nfrost\n##line\nthaws\n.\n";

fn main() -> Result<(), AlignError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((folder, words)) if !folder.starts_with('-') => {
            print!("{}", describe_alignment(&Aligner::from_folder(Path::new(folder))?, words)?);
        }
        _ => print!("{}", write_own_tokenizer()?),
    }
    Ok(())
}

fn write_own_tokenizer() -> Result<String, AlignError> {
    let words = ["The", "frostline", "\u{200b}", "thaws", "."].map(String::from);
    describe_alignment(&Aligner::from_vocab(OWN, &VocabOptions::default())?, &words)
}

/// Returns a line for each position, then a line for each word without one.
fn describe_alignment(aligner: &Aligner, words: &[String]) -> Result<String, AlignError> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let aligned = aligner.align(&words)?;
    let mut out = String::new();
    for (position, (piece, word)) in aligner.tokens(&aligned.ids).iter().zip(&aligned.word_ids).enumerate() {
        let carries = aligned.label_positions.iter().any(|(at, _)| *at as usize == position);
        let word = word.map_or("", |word| words[word as usize]);
        out += &format!("{position:>3} {} {piece:<12} {word}\n", if carries { '*' } else { ' ' });
    }
    for (what, lost) in [("cut off", &aligned.truncated), ("without any subword", &aligned.vanished)] {
        for word in lost.iter() {
            out += &format!("{what}: word {} {:?}\n", word + 1, words[*word as usize]);
        }
    }
    Ok(out)
}

#[test]
fn each_word_has_one_position_or_is_listed() {
    let text = write_own_tokenizer().unwrap();
    assert_eq!(text.matches('*').count(), 4, "{text}");
    assert!(text.contains("2 * frost        frostline\n  3   ##line       frostline\n"), "{text}");
    assert!(text.ends_with("without any subword: word 3 \"\\u{200b}\"\n"), "{text}");
}
