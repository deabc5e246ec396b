//! The references that come with the project: whole, and in agreement with themselves.

use frostline_score::Confusion;

use crate::common::reference;

#[test]
fn the_figures_of_the_study_are_whole() {
    let study = reference("partial-freezing").expect("a reference");
    assert!(study.citation.contains("Partial Freezing of MLMs for PoS Tagging"));
    let all = study.total_parameters.expect("the whole model");
    assert_eq!(all, 134_741_770);
    assert_eq!(study.lang.keys().collect::<Vec<_>>(), ["en", "pcm"]);
    for data in study.lang.values() {
        assert_eq!(data.policy.len(), 5);
        for run in data.policy.values() {
            for list in [&run.dev_accuracy, &run.dev_loss_nats, &run.train_loss_nats] {
                assert_eq!(list.len(), 5);
            }
            let speeds = run.train_s.zip(run.steps_per_s).zip(run.samples_per_s).zip(run.steps);
            let (((seconds, steps_per_s), samples_per_s), steps) = speeds.expect("times");
            assert!((seconds * steps_per_s / steps as f64 - 1.0).abs() < 1e-3, "{seconds}");
            assert!(samples_per_s > steps_per_s);
        }
        assert!(data.policy["all"].dev_accuracy[4] < data.policy["none"].dev_accuracy[4]);
    }
    assert_eq!(study.lang["en"].policy["none"].trainable, Some(all));
}

#[test]
fn the_figures_on_sentiment_agree_with_one_another() {
    let sibling = reference("sst2-sentiment").expect("a reference");
    let data = &sibling.lang["sst2"];
    for (policy, run) in &data.policy {
        let labels = run.labels.iter().map(String::as_str);
        let counts = Confusion { counts: run.confusion.clone(), ..Confusion::new(labels) };
        assert_eq!(Some(counts.words()), data.test_sentences, "{policy}");
        let accuracy = counts.correct() as f64 / counts.words() as f64;
        let near = |published: Option<f64>, found: f64| published.is_some_and(|p| (p - found).abs() < 1e-12);
        assert!(near(run.test_accuracy, accuracy), "{policy}: {accuracy}");
        assert!(near(run.test_f1, counts.per_tag()[1].prf.f1), "{policy}");
        assert_eq!(run.dev_accuracy.len(), sibling.as_settings().expect("settings").train.epochs as usize);
    }
    let trainable = |policy: &str| data.policy[policy].trainable.expect("its parameters");
    assert!(trainable("none") > 100 * trainable("head-only"));
}
