//! What is wrong with sentences and labels: words that are cut off, labels that train lacks, missing labels, removed text.
//! All of it is known before anything is trained.

use std::collections::BTreeMap;

use frostline_record::{DataSettings, Overlap, Select, Settings, SplitFacts, TaskFacts, Unit};

use crate::number::{count, fixed, listed};
use crate::page::code;
use crate::study::sanity::{Finding, FindingKind, Severity};

/// The share of cut-off words from which there is a finding.
const CUT_OFF_FROM: f64 = 0.01;

/// The share of a split's words, lost or with an unknown label, from which comparisons are worthless: every policy has them
/// wrong.
const LOST_FORBIDS_FROM: f64 = 0.05;

/// The share of sentences without labels from which there is a finding.
const UNLABELLED_FROM: f64 = 0.5;

/// The shares of words without text from which there is a finding, and from which comparisons are worthless.
const BLANK_FROM: f64 = 0.05;
const BLANK_FORBIDS_FROM: f64 = 0.5;

/// The share of a split's words in sentences that another split has too, from which there is a finding, and from which comparisons are
/// worthless. Released treebanks have up to 4 %, in short sentences.
const LEAKED_FROM: f64 = 0.05;
const LEAKED_FORBIDS_FROM: f64 = 0.25;

/// The most labels that are named.
const NAMED: usize = 6;

/// The positions of most encoders, if the record does not have the encoder's own.
const USUAL_POSITIONS: u64 = 512;

/// The findings about the data of a cell. `longest_input` is the encoder's, in subwords. Languages are filled in by the caller.
pub(super) fn find_problems(
    settings: &Settings,
    tasks: &BTreeMap<String, TaskFacts>,
    longest_input: Option<u64>,
) -> Vec<Finding> {
    let task = |(name, facts): (&String, &TaskFacts)| {
        let of_task = if tasks.len() > 1 { format!(" of the task {}", code(name)) } else { String::new() };
        let task = CheckedTask { settings, facts, name, of_task, longest_input };
        let leaked = [
            task.leaked(
                "train",
                |split| split.like_train,
                "the score shows what was memorised, not how well the model does on new text",
            ),
            task.leaked(
                "dev",
                |split| split.like_dev,
                match settings.train.select {
                    Select::Best => "the test score repeats the one that epochs are selected by",
                    Select::Last => "the test score repeats the dev score",
                },
            ),
        ];
        let found = [task.no_text(), task.missing_labels(), task.unknown_labels(), task.cut_off()];
        let found = found.into_iter().chain(leaked);
        // Scores of other tasks decide nothing.
        let severity = |severity| if settings.headline() == name { severity } else { Severity::Caution };
        let found = found.flatten();
        found.map(|one| Finding { severity: severity(one.severity), ..one }).collect::<Vec<_>>()
    };
    tasks.iter().flat_map(task).collect()
}

/// A task's data.
struct CheckedTask<'a> {
    settings: &'a Settings,
    facts: &'a TaskFacts,
    name: &'a str,
    /// Names the task if there are several.
    of_task: String,
    longest_input: Option<u64>,
}

/// A part of a split.
struct DatasetPart<'a> {
    split: &'a str,
    count: u64,
    of: u64,
}

impl DatasetPart<'_> {
    fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }

    /// `143 of 1,652 dev words (8.7 %)`.
    fn describe(&self, units: &str) -> String {
        let percent = fixed(100.0 * self.share(), 1);
        format!("{} of {} {} {units} ({percent} %)", count(self.count), count(self.of), self.split)
    }
}

/// The parts of which there are any, as one subject, and the largest share.
fn joint_subject(parts: &[DatasetPart<'_>], units: &str) -> (String, f64) {
    let phrases: Vec<String> =
        parts.iter().filter(|part| part.count > 0).map(|part| part.describe(units)).collect();
    (listed(&phrases), parts.iter().map(DatasetPart::share).fold(0.0, f64::max))
}

impl CheckedTask<'_> {
    fn parts(&self, get: fn(&SplitFacts) -> [u64; 2]) -> Vec<DatasetPart<'_>> {
        let part = |(split, facts)| {
            let [count, of] = get(facts);
            DatasetPart { split, count, of }
        };
        self.facts.splits().map(part).collect()
    }

    fn no_text(&self) -> Option<Finding> {
        let parts = self.parts(|split| [split.blank, split.forms.words]);
        let (words, share) = joint_subject(&parts, "words");
        (share >= BLANK_FROM).then(|| Finding {
            sentence: format!(
                "{words}{} have the form `_`: the files come without their text, and the model cannot see the words.",
                self.of_task
            ),
            advice: "Put the text back with the script that comes with the treebank, or choose another treebank.".into(),
            ..Finding::new(FindingKind::NoText, Severity::of_share(share, BLANK_FORBIDS_FROM), share)
        })
    }

    fn missing_labels(&self) -> Option<Finding> {
        let parts = self.parts(|split| [split.unlabelled, split.sentences]);
        let parts: Vec<DatasetPart<'_>> =
            parts.into_iter().filter(|part| part.share() > UNLABELLED_FROM).collect();
        let (sentences, share) = joint_subject(&parts, "sentences");
        let labels = self.settings.tasks.get(self.name).map_or("", |task| task.labels.as_str());
        (!parts.is_empty()).then(|| Finding {
            sentence: format!(
                "{sentences} have no label{} ({}): nothing is learned from them, and they are not scored.",
                self.of_task,
                code(&format!("labels = {labels:?}"))
            ),
            advice: format!(
                "Choose labels that the files have (`--set tasks.{}.labels=…`), or leave these sentences out of the files; \
                 the option lists the labels of every split.",
                self.name
            ),
            command: Some("--data-report".into()),
            ..Finding::new(FindingKind::MissingLabels, Severity::ForbidsRecommendation, share)
        })
    }

    /// Sentences that a split shares with an earlier one.
    fn leaked(&self, earlier: &str, get: fn(&SplitFacts) -> Option<Overlap>, so: &str) -> Option<Finding> {
        let found = |split: &SplitFacts| get(split).unwrap_or_default();
        let share = |split: &SplitFacts| found(split).words as f64 / split.forms.words.max(1) as f64;
        let leaked = || self.facts.splits().filter(|(_, split)| share(split) >= LEAKED_FROM);
        let phrases: Vec<String> = leaked()
            .map(|(name, split)| {
                let (part, percent) = (count(found(split).sentences), fixed(100.0 * share(split), 1));
                format!("{part} of {} {name} sentences ({percent} % of the words)", count(split.sentences))
            })
            .collect();
        let most = leaked().map(|(_, split)| share(split)).fold(0.0, f64::max);
        (!phrases.is_empty()).then(|| Finding {
            sentence: format!(
                "{}{} are also in {earlier}, the same but for case and punctuation: {so}.",
                listed(&phrases),
                self.of_task
            ),
            advice: format!(
                "Remove them from {earlier}, or split the data anew; the option counts them in every split."
            ),
            command: Some("--data-report".into()),
            ..Finding::new(FindingKind::Leakage, Severity::of_share(most, LEAKED_FORBIDS_FROM), most)
        })
    }

    fn unknown_labels(&self) -> Option<Finding> {
        let (units, labels) = match self.facts.unit {
            Unit::Words => ("words", "tag"),
            Unit::Sentences => ("sentences", "label"),
        };
        let scored = || self.facts.splits().filter(|(name, _)| *name != "train");
        let parts = scored().map(|(split, facts)| {
            let count = self.facts.missing_in_train(facts).map(|(_, count)| count).sum();
            DatasetPart { split, count, of: facts.words }
        });
        let (subject, share) = joint_subject(&parts.collect::<Vec<_>>(), units);
        if subject.is_empty() {
            return None;
        }
        let mut names: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, count) in scored().flat_map(|(_, facts)| self.facts.missing_in_train(facts)) {
            *names.entry(name).or_default() += count;
        }
        let spelled_otherwise = names.keys().any(|name| self.twin(name).is_some());
        let (advice, command) = self.advice_on_labels(spelled_otherwise, labels);
        Some(Finding {
            sentence: format!(
                "{subject}{} have a {labels} that train lacks, and count as wrong: {}.",
                self.of_task,
                self.named(&names)
            ),
            advice,
            command,
            ..Finding::new(FindingKind::UnknownLabels, Severity::of_share(share, LOST_FORBIDS_FROM), share)
        })
    }

    /// The label of train that is the same but for case.
    fn twin(&self, label: &str) -> Option<&str> {
        let lower = label.to_lowercase();
        self.facts.train.tags.keys().find(|own| own.to_lowercase() == lower).map(String::as_str)
    }

    /// Labels with their counts, the most frequent first, and how train spells them.
    fn named(&self, names: &BTreeMap<&str, u64>) -> String {
        let mut names: Vec<(&str, u64)> = names.iter().map(|(name, count)| (*name, *count)).collect();
        names.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let one = |(name, found): &(&str, u64)| match self.twin(name) {
            Some(twin) => format!("{} ({}; train has {})", code(name), count(*found), code(twin)),
            None => format!("{} ({})", code(name), count(*found)),
        };
        let mut phrases: Vec<String> = names.iter().take(NAMED).map(one).collect();
        if names.len() > NAMED {
            phrases.push(format!("{} more", names.len() - NAMED));
        }
        listed(&phrases)
    }

    fn advice_on_labels(&self, spelled_otherwise: bool, labels: &str) -> (String, Option<String>) {
        if spelled_otherwise {
            let advice = format!(
                "Spell each {labels} alike in all files; the option lists the {labels}s of every split."
            );
            return (advice, Some("--data-report".into()));
        }
        let DataSettings { first, sample, fraction, .. } = self.settings.data;
        let command = match () {
            () if first > 0 => "--set data.first=0",
            () if sample > 0 => "--set data.sample=0",
            () if fraction < 1.0 => "--set data.fraction=1.0",
            () => return (format!("`data.md` lists how often each {labels} occurs."), None),
        };
        ("Learn from more sentences.".into(), Some(command.into()))
    }

    fn cut_off(&self) -> Option<Finding> {
        let parts = self.parts(|split| [split.truncated, split.words]);
        let (words, share) = joint_subject(&parts, "words");
        (share >= CUT_OFF_FROM).then(|| {
            let (advice, command) = self.advice_on_length();
            Finding {
                sentence: format!(
                    "{words}{} are cut off and count as wrong: `data.max_length` allows {} subwords in a sentence.",
                    self.of_task, self.settings.data.max_length
                ),
                advice,
                command,
                ..Finding::new(FindingKind::CutOff, Severity::of_share(share, LOST_FORBIDS_FROM), share)
            }
        })
    }

    fn advice_on_length(&self) -> (String, Option<String>) {
        let allowed = self.settings.data.max_length as u64;
        let longest = self.facts.splits().map(|(_, split)| split.longest).max().unwrap_or(0);
        let most = self.longest_input.unwrap_or(USUAL_POSITIONS);
        let known = match longest {
            0 => String::new(),
            longest => format!("The longest sentence has {} subwords.", count(longest)),
        };
        let wanted = if longest == 0 { 2 * allowed } else { longest }.min(most);
        if wanted <= allowed {
            let advice =
                format!("{known} The encoder takes at most {}: split longer sentences.", count(most));
            return (advice.trim_start().into(), None);
        }
        (known, Some(format!("--set data.max_length={wanted}")))
    }
}
