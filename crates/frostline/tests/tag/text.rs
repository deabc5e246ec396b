//! Running text as `frostline tag` reads it: long sentences, odd characters, languages without spaces.

use frostline_tagger::{PART_WORDS, Part, Tagger};

use super::cell::{cell_folder, shared_folder};
use super::{run_frostline, run_tag};

/// A sentence of any length is read in parts, so that memory does not grow with it.
#[test]
fn a_sentence_in_parts_has_the_tags_of_the_whole() {
    let _kept = shared_folder();
    let tagger = Tagger::load(cell_folder()).unwrap();
    let forms = ["the", "frog", "sees", "a", "green", "stone", "it", "moves"];
    let words: Vec<&str> = (0..2 * PART_WORDS + 100).map(|at| forms[(at * at / 7) % 8]).collect();
    let whole = tagger.tag(&words).unwrap();
    let context = tagger.context();
    let part = |first: usize| {
        let own = first..(first + PART_WORDS).min(words.len());
        let from = first.saturating_sub(context);
        let with_context = words[from..(own.end + context).min(words.len())].to_vec();
        Part { words: with_context, own: own.start - from..own.end - from }
    };
    let parts: Vec<Part<'_>> = (0..words.len()).step_by(PART_WORDS).map(part).collect();
    assert_eq!(parts.len(), 3);
    let answers = tagger.tag_parts(&parts).unwrap();
    assert!(answers.iter().flatten().map(|answer| answer.tag).eq(whole.iter().copied()));
    // The words of the first part have the context that follows it.
    let alone = tagger.tag(&words[..PART_WORDS + context]).unwrap();
    assert_eq!(alone[..PART_WORDS], whole[..PART_WORDS]);

    // So has the sentence when it is read as a line of text.
    let line = words.join(" ") + "\n";
    let out = run_tag(&[], line.as_bytes());
    let sentences: Vec<_> = frostline_conllu::parse(&out).map(Result::unwrap).collect();
    assert_eq!((sentences.len(), sentences[0].text()), (1, Some(line.trim_end())));
    assert!(sentences[0].words().map(|row| row.upos()).eq(whole.iter().copied()));
    let lines = run_tag(&["--output", "tsv"], line.as_bytes());
    assert_eq!((lines.lines().count(), lines.matches("\n\n").count()), (words.len() + 1, 1));
}

/// Format and combining characters after a space belong to the next word, and separators of ASCII to the gap.
#[test]
fn odd_text_becomes_a_treebank_that_passes_check() {
    let _kept = shared_folder();
    for odd in ['\u{200e}', '\u{200f}', '\u{ad}', '\u{200d}', '\u{fe0f}', '\u{feff}', '\u{301}'] {
        let text = format!("The {odd}frog sees {odd} a stone. {odd}It moves{odd}.");
        let out = run_tag(&[], text.as_bytes());
        let rows: Vec<_> = frostline_conllu::parse(&out).map(Result::unwrap).collect();
        let spelled: String = (rows.iter().flat_map(|sentence| sentence.words()))
            .map(|row| format!("{}{}", row.form(), if row.space_after() { " " } else { "" }))
            .collect();
        assert_eq!(spelled.trim_end(), text, "{odd:?}");
    }
    let out = run_tag(&[], b"The \x1cfrog\x1d sees\x1ea \x1f stone");
    let sentence = frostline_conllu::parse(&out).next().unwrap().unwrap();
    assert_eq!(sentence.text(), Some("The frog sees a stone"));
}

/// Thai has no spaces between words, and the rules of Unicode cut it into characters.
#[test]
fn a_language_without_spaces_gets_one_warning() {
    let _kept = shared_folder();
    let thai = "The frog.\n\u{e01}\u{e1a}\u{e01}\u{e23}\u{e30}\u{e42}\u{e14}\u{e14}\n".repeat(3);
    let warning = |arguments: &[&str]| {
        let arguments = [&["tag", "--run", "cell"][..], arguments].concat();
        let output = run_frostline(shared_folder().path(), &arguments, thai.as_bytes());
        assert!(output.status.success());
        let errors = String::from_utf8(output.stderr).unwrap();
        errors.lines().filter(|line| line.contains("--words spaces")).map(String::from).collect::<Vec<_>>()
    };
    let found = warning(&[]);
    assert!(found.len() == 1 && found[0].contains("-:2: Thai is written without spaces"), "{found:?}");
    assert!(warning(&["--words", "spaces"]).is_empty());
}
