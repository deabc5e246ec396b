//! The README's example with its output.

use frostline_tagger::Tagger;

mod tiny {
    include!("readme/model.inc");
}

/// Checks the README's assertions and the probabilities that it prints.
#[test]
fn the_readme_is_true() -> anyhow::Result<()> {
    let folder = tiny::model()?;
    let tagger = Tagger::load(&folder)?;
    assert_eq!(tagger.tag(&["The", "ice", "melts", "."])?, ["DET", "NOUN", "VERB", "PUNCT"]);
    let sentences = [vec!["Ice", "melts"], vec!["Snow", "too"]];
    let answers = tagger.tag_all(&sentences)?;
    let tags: Vec<Vec<&str>> =
        answers.iter().map(|answers| answers.iter().map(|answer| answer.tag).collect()).collect();
    assert_eq!(tags, [["NOUN", "VERB"], ["NOUN", "ADV"]]);
    assert!(answers.iter().flatten().all(|answer| answer.probability > 0.99), "{answers:?}");
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
