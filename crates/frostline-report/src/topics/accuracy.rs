//! Accuracy on dev and test: the figures of the study's table, and how sure they are.

use frostline_record::{Score, Select, Settings};

use crate::chart::{Bar, BarPanel, BarRow, Bars, Chart, Figure, Lengths, Theme, Tone};
use crate::facts::{self, FactTable};
use crate::fields::JsonFields;
use crate::number::count;
use crate::page::Page;
use crate::study::words::{DEV_AXIS, dev_accuracy};
use crate::study::words::{SENTENCES, counted_units};
use crate::study::{CellGroup, CellView, SplitStats, Study, panels};
use crate::topic::{ReportPlace, Topic};

/// Accuracy.
pub(crate) struct AccuracyTopic;

impl Topic for AccuracyTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        match place {
            ReportPlace::Reading => page.items({
                let points: &[&str] = match counted_units(study) {
                    SENTENCES => {
                        &["**Dev accuracy** counts every sentence of the dev split. A sentence whose label never \
                                    occurs in train counts as wrong."]
                    }
                    _ => &[
                        "**Dev accuracy** counts every word of the dev split. A word lost to truncation, and a word whose \
                         tag never occurs in train, count as wrong.",
                        "**Study's accuracy** counts only words that the model could answer, as the study did. It is the \
                         number to compare with the study.",
                    ],
                };
                points.iter().map(ToString::to_string).collect::<Vec<String>>()
            }),
            ReportPlace::Language(lang) => {
                describe_margins(study, lang, page);
            }
            ReportPlace::Caveats => page.items({
                picked_on_dev(study).into_iter().chain(lost_words(study)).collect::<Vec<String>>()
            }),
            _ => {}
        }
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        let mut figures = vec![dev_figure(study)];
        if study.groups.iter().any(|group| group.test.is_some()) {
            figures.push(dev_and_test(study));
        }
        figures
    }

    fn group_facts(&self, _: &Study, group: &CellGroup) -> JsonFields {
        let fields = JsonFields::default().with("dev", &group.dev).with("test", &group.test);
        fields.with("dev_accuracy_gain", &group.dev_gain)
    }
}

fn score<'a>(view: &'a CellView, split: &str) -> Option<&'a Score> {
    view.done()?.score(split)
}

/// How far accuracies may be off because dev is a sample. Differences between policies are the topic `verdicts`.
fn describe_margins(study: &Study, lang: &str, page: &mut Page) {
    let units = counted_units(study);
    let judged = study.verdicts.of_lang(lang, "dev").any(|row| row.judged().is_some());
    page.section(3, "How sure are these accuracies?");
    page.table(facts::table(study, FactTable::Sampling, Some(lang)));
    let dependent = match units {
        SENTENCES => "",
        _ => "; words of one sentence are not, so the true error is somewhat larger",
    };
    let next = if judged {
        format!(
            " It is for one accuracy alone: whether two policies differ is judged on the same {}, in the next table.",
            units.many
        )
    } else {
        String::new()
    };
    page.paragraph(format!(
        "The interval is Wilson's, for the mean accuracy at this number of {0}. It treats {0} as \
         independent{dependent}.{next}",
        units.many
    ));
}

/// A dev split that chose the epoch cannot judge it fairly.
fn picked_on_dev(study: &Study) -> Option<String> {
    let best = |settings: &Settings| {
        let stages = settings.in_stages().unwrap_or_default();
        settings.train.select == Select::Best || stages.iter().any(|(_, s)| s.train.select == Select::Best)
    };
    study.cells.iter().any(|view| best(&view.cell.settings)).then(|| {
        let test = match study.groups.iter().any(|group| group.test.is_some()) {
            true => " Test accuracies are not touched by this.",
            false => "",
        };
        format!("The best epoch was picked on dev, so dev accuracies are a little too high.{test}")
    })
}

/// Words that count as wrong whatever the model predicts, per language.
fn lost_words(study: &Study) -> Vec<String> {
    let mut points = Vec::new();
    for lang in study.langs() {
        let scores = study.cells.iter().filter(|view| view.cell.settings.lang == lang);
        let lost = scores.filter_map(|view| {
            let dev = score(view, "dev")?;
            let lost = dev.truncated + dev.vanished + dev.unseen;
            (lost > 0).then_some((lost, dev))
        });
        let Some((lost, dev)) = lost.max_by_key(|(lost, _)| *lost) else {
            continue;
        };
        let tags = if dev.unseen_tags.is_empty() {
            String::new()
        } else {
            format!(" ({})", dev.unseen_tags.join(", "))
        };
        points.push(format!(
            "**{lang}**: {} of {} dev {} count as wrong whatever the model predicts: {} lost to \
             truncation, {} without any subword, {} with a tag that train lacks{tags}. The \
             study's accuracy leaves them out.",
            count(lost),
            count(dev.words),
            counted_units(study).many,
            count(dev.truncated),
            count(dev.vanished),
            count(dev.unseen),
        ));
    }
    points
}

/// The note of a figure on its spread over seeds.
pub(crate) fn seeds_note(study: &Study) -> &'static str {
    if study.has_several_seeds() {
        "Thick line and ±: one standard deviation over seeds."
    } else {
        "One seed only: no spread over seeds can be shown."
    }
}

/// The bar of a split.
fn split_bar(name: &str, split: Option<&SplitStats>) -> Option<Bar> {
    split.map(|split| Bar::of_share(name, split.accuracy, split.accuracy_interval))
}

/// Accuracies by policy, panel by panel; one bar per policy has baselines as lines across.
fn accuracy_bars(
    study: &Study,
    lengths: Lengths,
    interval: &'static str,
    of: fn(&CellGroup) -> Vec<Option<Bar>>,
) -> Chart {
    let is_single = lengths == Lengths::Shares;
    let panels = panels(study).into_iter().map(|panel| {
        let rows = panel.groups.iter().map(|group| BarRow {
            name: group.policy.clone(),
            tone: Tone::Policy(study.place_of(&group.policy)),
            bars: of(group).into_iter().flatten().collect(),
        });
        let axis = if is_single { DEV_AXIS } else { "accuracy, %" };
        let first = panel.groups.first().filter(|_| is_single);
        let references = first.map_or_else(Vec::new, |group| study.references(group));
        BarPanel { references, ..BarPanel::new(panel.title, axis, rows.collect()) }
    });
    Chart::Bars(Bars { panels: panels.collect(), lengths, interval, diamond: "" })
}

fn dev_figure(study: &Study) -> Figure {
    let many = counted_units(study).many;
    Figure {
        path: "figures/accuracy.svg",
        title: dev_accuracy!(" by what is frozen"),
        theme: Theme::Accuracy,
        about: format!(
            "The mean accuracy of each policy on dev, over all {many}. Dashed lines are baselines, which need no training of \
             the encoder."
        ),
        chart: accuracy_bars(study, Lengths::Shares, "95 % interval of dev", |group| vec![split_bar("", group.dev.as_ref())]),
        notes: vec![
            format!(
                "Mark and number: mean accuracy over all {many} of dev. Thin line: 95 % Wilson interval at the \
                 size of dev, for that accuracy alone. The tables show which policies differ."
            )
            .into(),
            seeds_note(study).into(),
        ],
        across: study.langs().len(),
    }
}

/// A pair of bars per policy.
fn dev_and_test(study: &Study) -> Figure {
    let many = counted_units(study).many;
    Figure {
        path: "figures/dev_test.svg",
        title: "Dev and test accuracy by what is frozen",
        theme: Theme::Accuracy,
        about: format!("The mean accuracy of each policy on dev and on test, over all {many}."),
        chart: accuracy_bars(study, Lengths::Groups, "95 % interval", |group| {
            vec![split_bar("dev", group.dev.as_ref()), split_bar("test", group.test.as_ref())]
        }),
        notes: vec![
            format!(
                "Mark and number: mean accuracy over all {many} of the split. Thin line: 95 % Wilson interval at \
                 its size."
            )
            .into(),
            seeds_note(study).into(),
        ],
        across: 2,
    }
}
