//! Errors: which words are wrong, and in what policies differ. If there are very many policies, only some have
//! tables of their own; a CSV file has all.

mod browse;
mod counts;
mod examples;
mod figures;
mod files;
mod part;
mod versus;

use crate::browser::Browser;
use crate::chart::Figure;
use crate::fields::JsonFields;
use crate::number::plural;
use crate::page::{Page, PageFile};
use crate::study::words::{SENTENCES, counted_units, write_banner};
use crate::study::{SPLITS, StoredPredictions, Study};
use crate::topic::{ReportPlace, Topic, TopicTable};

use counts::WordErrors;
use part::SplitPart;

/// Errors.
pub(crate) struct ErrorsTopic {
    found: WordErrors,
    /// Files of predictions that could not be used, each with why.
    left_out: Vec<String>,
    /// Whether some records were published without the words of the treebanks.
    without_words: bool,
    browser: Option<Browser>,
}

impl ErrorsTopic {
    /// Counts the errors of a study, as far as predictions were read.
    pub fn of(study: &Study, stored: &StoredPredictions<'_>) -> Self {
        let found = WordErrors::of(&study.cells, &study.groups, &stored.words);
        let without_words = stored.words.texts.iter().any(|text| !text.has_words);
        let browser = browse::collect_sentences(study, &stored.words);
        Self { found, left_out: stored.left_out.clone(), without_words, browser }
    }
}

impl Topic for ErrorsTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if place == ReportPlace::Caveats {
            let unread = self.left_out.first().map(|first| {
                format!(
                    "**{} of predictions could not be used**, so F1, confusions and what else is counted from them \
                     lack them. The first is {first}. Delete the folder of such a cell, and the same sweep command runs it \
                     again.",
                    plural(self.left_out.len(), "file")
                )
            });
            let missing = match counted_units(study) {
                _ if !self.found.is_empty() => "",
                SENTENCES => "",
                _ => "per-tag scores, confusions, verdicts on policies, and ",
            };
            let stored = match study.cells.iter().any(|view| view.cell.settings.save.predictions) {
                true => "The predictions are stored with each cell.",
                false => "No predictions are stored, since the plan has `save.predictions = false`.",
            };
            let missing = format!(
                "Not in this report: {missing}comparisons along settings that the plan does not vary. {stored}"
            );
            page.items(unread.into_iter().chain([missing]).collect::<Vec<String>>());
        }
    }

    fn pages(&self, study: &Study) -> Vec<PageFile<'_>> {
        if self.found.is_empty() {
            return Vec::new();
        }
        vec![PageFile {
            path: "errors.md",
            about: "F1 of each tag, confusions, known and unknown words, length of sentences, and where policies \
                    differ."
                .into(),
            page: self.page(study),
            browser: self.browser.as_ref(),
        }]
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        if self.found.groups.iter().any(|group| group.split == "dev") {
            let found = &self.found;
            vec![
                figures::accuracy_by_familiarity(study, found),
                figures::accuracy_by_length(study, found),
                figures::f1_by_tag(study, found),
            ]
        } else {
            Vec::new()
        }
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        if self.found.is_empty() {
            return Vec::new();
        }
        let parts = study.langs().into_iter().flat_map(|lang| SPLITS.map(|split| (lang, split)));
        let parts = parts.filter_map(|(lang, split)| SplitPart::of(study, &self.found, lang, split));
        let paper = parts.flat_map(|part| part.paper_tables()).map(TopicTable::Paper);
        files::build_tables(study, &self.found).into_iter().chain(paper).collect()
    }

    fn facts(&self, _: &Study) -> JsonFields {
        let fields = JsonFields::default().with_some("errors", &self.found.groups);
        fields.with_some("differences", &self.found.versus)
    }
}

impl ErrorsTopic {
    fn page(&self, study: &Study) -> Page {
        let mut page = Page::default();
        page.section(1, format!("Errors: {}", study.sweep.plan.name));
        write_banner(study, &mut page);
        how_to_read(study, &self.left_out, &mut page);
        if self.without_words {
            page.item("Sentences are not quoted: the records were published without their words.");
        }
        for figure in self.figures(study) {
            page.figure(figure.path, figure.title, &figure.about);
        }
        for lang in study.langs() {
            for split in SPLITS {
                if let Some(part) = SplitPart::of(study, &self.found, lang, split) {
                    page.section(2, format!("{}: {split}", study.lang_title(lang)));
                    part.write(&mut page);
                }
            }
        }
        page.paragraph(
            "The counts of each cell are in `report.json`, under `tables`: `tags`, `confusions`, `strata` and `differences`.",
        );
        page
    }
}

fn how_to_read(study: &Study, left_out: &[String], page: &mut Page) {
    let of = match left_out {
        [] => "of every cell",
        _ => "of the cells whose predictions can be used",
    };
    page.paragraph(format!(
        "This page is counted from the stored predictions {of}. A word is wrong here if it is \
         wrong in the headline accuracy: also if it was lost to truncation or its tag never occurs in \
         train."
    ));
    if let Some(first) = left_out.first() {
        let files = plural(left_out.len(), "file");
        page.paragraph(format!("**{files} of predictions could not be used**. The first is {first}."));
    }
    for item in [
        "**Unknown** words do not occur in the train split that the cell learned from. The others are \
         **known**: with **one tag** there, or with **several**, which makes them ambiguous. Words are \
         compared as the model was given them, in lower case if the plan asks for it.",
        "**Length** counts the labelled words of a sentence.",
        "**F1** of a tag is the harmonic mean of precision and recall; **macro F1** is the mean over \
         tags. **± after a number** is one standard deviation over seeds.",
        "**Confusions** are summed over seeds.",
    ] {
        page.item(item);
    }
    if study.has_baseline() {
        page.item("**vs none** is the difference from the cell of the same seed in which everything learns.");
    }
}
