//! `published.md`: the published figures that the plan names, compared with this sweep. There is no comparison
//! if it would mislead: made-up data has none, every setting that differs from the reference's is named, and
//! other tasks than its own are not compared.

mod cells;
mod differences;
mod stages;
mod whose;

use frostline_record::CompareWith;

use crate::fields::JsonFields;
use crate::page::{Page, PageBlock, PageFile};
use crate::study::words::write_banner;
use crate::study::{StoredPredictions, Study};
use crate::table::PaperTable;
use crate::topic::{Topic, TopicTable};
use crate::topics::sentences::counts::{self, SentenceStats};

/// Published figures.
pub(crate) struct PublishedTopic {
    sentences: Vec<SentenceStats>,
    predictions_read: bool,
}

impl PublishedTopic {
    /// What a comparison needs in addition to the study.
    pub fn of(study: &Study, stored: &StoredPredictions<'_>) -> Self {
        let sentences = counts::of(study, &stored.sentences);
        Self { sentences, predictions_read: !stored.sentences.is_empty() }
    }
}

impl Topic for PublishedTopic {
    fn pages(&self, study: &Study) -> Vec<PageFile<'_>> {
        let mut page = Page::default();
        page.section(1, format!("Published figures and ours: {}", study.sweep.plan.name));
        write_banner(study, &mut page);
        self.compare(study, &mut page);
        let about = "published figures compared with these.".into();
        vec![PageFile { path: "published.md", about, page, browser: None }]
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        let mut page = Page::default();
        self.compare(study, &mut page);
        let (mut place, mut title) = (String::new(), String::new());
        let mut tables: Vec<PaperTable> = Vec::new();
        for block in page.blocks {
            match block {
                PageBlock::Heading(..=2, text) => (place, title) = (text, String::new()),
                PageBlock::Heading(_, text) => title = text,
                PageBlock::Table(table) => {
                    let lang = place.split(" (").next().unwrap_or_default();
                    let first = format!("reference-{lang}-");
                    let number = 1 + tables.iter().filter(|table| table.name.starts_with(&first)).count();
                    let parts = ["Published figures and ours", &place, &title];
                    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                    let table = PaperTable::new(format!("{first}{number}"), parts.join(": ") + ".", table);
                    let of = title.split(',').next().unwrap_or_default().replace(" %", "").to_lowercase();
                    let prefix = ["reference"].into_iter().chain(of.split_whitespace()).collect::<Vec<_>>();
                    tables.push(table.named_by_row(lang, prefix.join("-") + "-"));
                }
                _ => {}
            }
        }
        tables.into_iter().map(TopicTable::Paper).collect()
    }

    fn facts(&self, study: &Study) -> JsonFields {
        JsonFields::default().with_known("reference", study.sweep.reference.as_ref())
    }
}

impl PublishedTopic {
    fn compare(&self, study: &Study, page: &mut Page) {
        if study.synthetic() {
            page.paragraph(
                "There is no comparison here. The languages of this sweep carry the short names \
                 of real ones, but their sentences come from a program. A published accuracy on \
                 real text cannot be compared with an accuracy on made-up text.",
            );
            page.paragraph(
                "Run a plan on the real treebanks to see this page filled: \
                 `cargo xtask sweep --plan configs/paper.toml`.",
            );
            return;
        }
        let Some(reference) = &study.sweep.reference else {
            page.paragraph(
                "There is no comparison here: the plan names no published figures. A plan compares its own with them \
                 with `reference = \"FILE\"`; `configs/references/` holds some.",
            );
            return;
        };
        match reference.compare {
            CompareWith::Cells => cells::compare_cells(study, reference, page),
            CompareWith::Stages => {
                stages::compare_stages(study, reference, &self.sentences, self.predictions_read, page);
            }
        }
    }
}
