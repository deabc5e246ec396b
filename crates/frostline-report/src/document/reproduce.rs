//! How to run the same again: the commands, the plan, the inputs with their hashes, the code and the machines.

use std::collections::BTreeSet;

use frostline_record::{Bits, MadeBy, Plan, shortened};

use crate::document::Chapter;
use crate::page::Page;
use crate::study::{Study, distinct};
use crate::topic::{ReportPlace, Topics, collect_prose};

/// The chapter.
pub(super) fn make_chapter(study: &Study, topics: &Topics, files: &[(&'static str, String)]) -> Chapter {
    let mut page = Page::default();
    let reproducible = study.makers().iter().all(|(maker, _)| maker.bits == Bits::Reproducible);
    let place =
        if reproducible { "On every processor" } else { "On the same instructions or device (see below)" };
    page.paragraph(format!(
        "Save the plan below as `plan.toml`, put the treebanks and the encoder at the paths in it, and run these \
         commands. {place}, accuracies come out the same bit for bit; times do not."
    ));
    page.code("shell", commands_to_repeat(study));
    page.section(2, "The plan, with what was set on the command line");
    page.code("toml", plan_text(&study.sweep.plan));
    collect_prose(topics, study, ReportPlace::Appendix, &mut page);
    list_files(files, &mut page);
    Chapter::new("reproduce", "How to reproduce it", page).folded(&[2], false)
}

/// The commands, for each program that made records: one built from a checkout is known by its revision, an installed one
/// by its version and code.
fn commands_to_repeat(study: &Study) -> String {
    let makers = study.makers();
    let backend = makers.first().map_or("flex", |(maker, _)| maker.backend.as_str());
    let place = format!("sweeps/{}", study.sweep.plan.name);
    let programs = distinct(makers.iter().map(|(maker, _)| RecordProgram::of(maker)));
    let several = programs.len() > 1;
    let mut lines = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        if several {
            lines.push(format!("# program {} of {}", at + 1, programs.len()));
        }
        lines.extend(program.lines());
        let (run, report) = program.commands();
        lines.push(format!("{run} --plan plan.toml --backend {backend} --out {place}"));
        lines.push(format!("{report} {place}"));
    }
    if programs.is_empty() {
        lines.push(format!("frostline sweep --plan plan.toml --out {place}"));
    }
    lines.join("\n")
}

/// What made records.
#[derive(PartialEq)]
enum RecordProgram {
    /// Built by `cargo xtask` from a checkout.
    Checkout { revision: String },
    /// Installed.
    Installed { version: String, code: String },
}

impl RecordProgram {
    fn of(maker: &MadeBy) -> Self {
        match maker.revision.as_str() {
            "" => Self::Installed {
                version: maker.version.clone(),
                code: maker.code.chars().take(12).collect(),
            },
            revision => Self::Checkout { revision: revision.into() },
        }
    }

    /// What comes before the commands.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Checkout { revision } => vec![match revision.strip_suffix('+') {
                Some(clean) => {
                    format!("git checkout {clean}    # the records come from a changed copy of it")
                }
                None => format!("git checkout {revision}"),
            }],
            Self::Installed { version, code } => {
                vec![format!(
                    "# frostline {version} with the code {code}: `frostline version` prints which one is installed"
                )]
            }
        }
    }

    /// How it runs a sweep and writes a report.
    const fn commands(&self) -> (&'static str, &'static str) {
        match self {
            Self::Checkout { .. } => ("cargo xtask sweep", "cargo xtask report"),
            Self::Installed { .. } => ("frostline sweep", "frostline report"),
        }
    }
}

/// The plan as a file, with no more of the machine than the names of data sets: of those that bear one name, as much of their
/// folders as tells them apart.
fn plan_text(plan: &Plan) -> String {
    let is_folder = |place: &&str| !place.starts_with(EMBEDDED);
    let folders: BTreeSet<&str> = plan.treebanks.values().map(String::as_str).filter(is_folder).collect();
    let short = shortened(&folders);
    let short = |place: &String| short.get(place.as_str()).unwrap_or(place).clone();
    let treebanks = plan.treebanks.iter().map(|(lang, place)| (lang.clone(), short(place))).collect();
    let plan = Plan { treebanks, ..plan.clone() };
    toml::to_string(&plan).unwrap_or_else(|error| format!("# The plan cannot be written as TOML: {error}"))
}

/// What the place of embedded data begins with.
const EMBEDDED: &str = "embedded:";

/// Lists the files of the report.
fn list_files(files: &[(&'static str, String)], page: &mut Page) {
    page.section(2, "Files of this report");
    for (path, about) in files.iter().filter(|(_, about)| !about.is_empty()) {
        let path = if path.ends_with(".md") { format!("[`{path}`]({path})") } else { format!("`{path}`") };
        page.item(format!("{path}: {about}"));
    }
    page.item(
        "`report.json`: every mean and standard deviation of this page, unrounded, and tables of single cells under `tables`.",
    );
    page.item("`figures/`: the figures as SVG, and as PDF if the program was built with it.");
    page.paragraph("In CSV and JSON, accuracies and shares are fractions of 1, not percent.");
}
