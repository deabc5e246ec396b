//! The demo is a real, small experiment.

use frostline_assets::read;
use frostline_score::baseline::MostFrequentTag;

use crate::SweepPlace;

/// Words and tags of an embedded split, lowercased as in the original study.
fn lowercase_words(lang: &str, split: &str) -> Vec<(String, String)> {
    let bytes = read(&format!("embedded:{lang}/{split}.conllu")).expect("the split");
    let text = String::from_utf8(bytes.into_owned()).expect("text");
    frostline_conllu::parse(&text)
        .map(|sentence| sentence.expect("a well-formed sentence"))
        .flat_map(|s| {
            s.words().map(|row| (row.form().to_lowercase(), row.upos().to_string())).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn context_matters_and_thawing_pays() {
    for lang in ["en", "pcm"] {
        let baseline = MostFrequentTag::fit(lowercase_words(lang, "train"));
        for split in ["dev", "test"] {
            let gold = lowercase_words(lang, split);
            let right = gold.iter().filter(|(word, tag)| baseline.predict(word) == Some(tag)).count();
            let accuracy = right as f64 / gold.len() as f64;
            assert!(accuracy < 0.93, "{lang} {split}: the most frequent tag is right in {accuracy}");
        }
    }
    let place = SweepPlace::new();
    let records = place.run_sweep("--policies none,head-only --seeds 42-44");
    assert_eq!(records.len(), 12);
    for record in &records {
        let settings = &record.cell.settings;
        let twin = records.iter().find(|other| {
            let other = &other.cell.settings;
            (&other.lang, other.seed, other.policy.as_str()) == (&settings.lang, settings.seed, "none")
        });
        let accuracies = |record: &frostline_record::Record| {
            let scores = record.result.as_ref().expect("a result").scores();
            [scores["dev"].accuracy(), scores["test"].accuracy()]
        };
        let (own, full) = (accuracies(record), accuracies(twin.expect("the baseline cell")));
        for (own, full) in own.into_iter().zip(full) {
            let title = record.cell.title();
            assert!(full > 0.97, "{title}: full fine-tuning reaches {full}");
            assert!(settings.policy == "none" || own < full - 0.05, "{title}: {own} against {full}");
        }
    }
    for record in &records {
        let (title, result) = (record.cell.title(), record.result.as_ref().expect("a result"));
        let cost = &result.cost;
        let per_epoch = result.steps as f64 / result.epochs.len() as f64;
        assert_eq!(
            (cost.subwords_per_step * per_epoch).round(),
            result.facts().train.subwords as f64,
            "{title}"
        );
        let none = record.cell.settings.policy == "none";
        assert!(if none { cost.predicted_speedup == 1.0 } else { cost.predicted_speedup > 1.2 }, "{title}");
    }
    let page = std::fs::read_to_string(place.out_folder().join("report/report.md")).expect("the report");
    assert!(page.contains("Synthetic data"), "the report says what its data is");
}
