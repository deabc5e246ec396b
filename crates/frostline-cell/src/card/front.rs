//! The metadata at the top of a model card, which the Hugging Face hub reads.

use frostline_record::Score;

use super::source::{CardSource, licence_slug};
use super::yaml::{Yaml, YamlEntry, map_lines};
use super::{Card, ModelForm};

/// The hub's name of Universal Dependencies.
const HUB_TREEBANKS: &str = "universal-dependencies/universal_dependencies";

/// Returns the lines between the two lines `---`.
pub(super) fn write_front_matter(card: &Card) -> String {
    let mut map = Vec::new();
    let mut languages: Vec<&str> = card.data.iter().filter_map(|source| source.language.as_deref()).collect();
    languages.dedup();
    if !languages.is_empty() {
        map.push(YamlEntry::texts("language", languages));
    }
    map.extend(choose_licence(card));
    let library = if card.form == ModelForm::TransformersJs { "transformers.js" } else { "transformers" };
    map.push(YamlEntry::text("library_name", library));
    map.push(YamlEntry::text("pipeline_tag", choose_pipeline(card)));
    map.extend(card.encoder.hub_model().map(|name| {
        YamlEntry::text("base_model", name)
            .with_comment("The encoder's name in the settings: check that it is the hub's.")
    }));
    let mut names: Vec<&str> = card.data.iter().map(hub_dataset).collect();
    names.dedup();
    map.push(YamlEntry::texts("datasets", names));
    map.push(YamlEntry::texts("tags", choose_tags(card)));
    let results = list_results(card);
    let has_f1 = results.iter().any(|result| result.f1.is_some());
    map.push(YamlEntry::texts("metrics", ["accuracy", "f1"].into_iter().take(if has_f1 { 2 } else { 1 })));
    if !results.is_empty() {
        let results = results.iter().map(|result| result.yaml(card)).collect();
        let model =
            vec![YamlEntry::text("name", card.title()), YamlEntry::new("results", Yaml::List(results))];
        map.push(YamlEntry::new("model-index", Yaml::List(vec![Yaml::Map(model)])));
    }
    map_lines(&map)
}

/// Returns one licence if encoder and data have the same; otherwise `other`, with each licence.
fn choose_licence(card: &Card) -> Vec<YamlEntry> {
    let all = || std::iter::once(&card.encoder).chain(&card.data);
    let encoder = card.encoder.hub_licence();
    if let Some(same) = encoder.filter(|_| all().all(|source| source.hub_licence() == encoder)) {
        return vec![YamlEntry::text("license", same)];
    }
    let mut entry = YamlEntry::text("license", "other")
        .with_comment("Decide under which licence the model may be published: that follows from these.");
    for source in all() {
        entry = entry.with_comment(format!("{}: {}", source.name, source.licence_text()));
    }
    let stated: Option<Vec<String>> =
        all().map(|source| source.licence.as_deref().map(licence_slug)).collect();
    let mut map = vec![entry];
    if let Some(mut names) = stated {
        names.dedup();
        map.push(YamlEntry::text("license_name", names.join("-and-")));
    }
    map
}

fn choose_pipeline(card: &Card) -> &'static str {
    if card.labels_words() { "token-classification" } else { "text-classification" }
}

fn hub_dataset(source: &CardSource) -> &str {
    if source.treebank.is_some() { HUB_TREEBANKS } else { &source.name }
}

fn choose_tags(card: &Card) -> Vec<&'static str> {
    let mut tags = vec!["frostline"];
    if card.form != ModelForm::Transformers {
        tags.push("onnx");
    }
    if card.is_frozen() {
        tags.push("partial-freezing");
    }
    match card.settings.labels.as_str() {
        "upos" | "xpos" => tags.push("part-of-speech"),
        "entity" => tags.push("named-entity-recognition"),
        _ => {}
    }
    if card.is_synthetic() {
        tags.push("synthetic-data");
    }
    tags
}

/// A split's scores.
struct SplitScores<'a> {
    split: &'a str,
    accuracy: f64,
    /// The subject of the F1, and its value.
    f1: Option<(&'static str, f64)>,
}

fn list_results<'a>(card: &'a Card) -> Vec<SplitScores<'a>> {
    let scores = card.outcome().into_iter().flat_map(|outcome| &outcome.scores);
    let found = scores.filter(|(_, score)| score.words > 0).map(|(split, score)| SplitScores {
        split,
        accuracy: score.accuracy(),
        f1: f1(card, split, score),
    });
    // The test split first, since it is the one to quote.
    let mut found: Vec<SplitScores<'a>> = found.collect();
    found.sort_by_key(|found| found.split != "test");
    found
}

/// F1 of entities, or on the headline's dev split the mean of the labels' F1.
pub(super) fn f1(card: &Card, split: &str, score: &Score) -> Option<(&'static str, f64)> {
    match score.entities {
        Some(entities) => Some(("F1 of entities", entities.f1())),
        None if split == "dev" => Some(("Mean F1 of the labels", card.dev_macro_f1()?)),
        None => None,
    }
}

impl SplitScores<'_> {
    fn yaml(&self, card: &Card) -> Yaml {
        let source = &card.data[0];
        let task = vec![
            YamlEntry::text("type", choose_pipeline(card)),
            YamlEntry::text(
                "name",
                format!(
                    "{} of {}",
                    card.settings.labels,
                    if card.labels_words() { "words" } else { "sentences" }
                ),
            ),
        ];
        let mut dataset =
            vec![YamlEntry::text("name", &source.name), YamlEntry::text("type", hub_dataset(source))];
        dataset.extend(source.treebank.as_deref().map(|treebank| YamlEntry::text("config", treebank)));
        dataset.push(YamlEntry::text("split", if self.split == "dev" { "validation" } else { self.split }));
        let metric = |kind: &'static str, name: &str, value: f64| {
            let value = Yaml::Number(format!("{value:.6}"));
            Yaml::Map(vec![
                YamlEntry::text("type", kind),
                YamlEntry::text("name", name),
                YamlEntry::new("value", value),
            ])
        };
        let mut metrics = vec![metric("accuracy", "Accuracy over all words", self.accuracy)];
        if !card.labels_words() {
            metrics = vec![metric("accuracy", "Accuracy", self.accuracy)];
        }
        metrics.extend(self.f1.map(|(name, value)| metric("f1", name, value)));
        Yaml::Map(vec![
            YamlEntry::new("task", Yaml::Map(task)),
            YamlEntry::new("dataset", Yaml::Map(dataset)),
            YamlEntry::new("metrics", Yaml::List(metrics)),
        ])
    }
}
