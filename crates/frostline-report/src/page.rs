//! Owns `report.md`: the study's table and everything a reader needs to judge it.
//!
//! Refuses bare numbers: what each one is and how far it can be trusted stands beside it.

mod accuracy;
mod baselines;
mod blocks;
mod changes;
mod claims;
mod cost;
mod curves;
mod data;
mod errors;
mod origin;
mod precision;
mod sentences;
mod stages;
mod tasks;
mod thaw;

use crate::Report;
use crate::figure;
use crate::number::plural;
use crate::table::Table;
use crate::words;

pub(crate) use claims::claims_page;
pub(crate) use data::data_page;
pub use data::{LearnedFrom, data_tables};
pub(crate) use errors::errors_page;

/// `report.md`.
pub(crate) fn page(report: &Report) -> String {
    let mut text = String::new();
    head(report, &mut text);
    accuracy::side_by_side(report, &mut text);
    other_pages(report, &mut text);
    claims::list(report, &mut text);
    how_to_read(report, &mut text);
    let of_sentences = crate::sentences::of(report);
    for lang in report.langs() {
        section(&mut text, 2, &report.lang_title(lang));
        study_table(report, lang, &mut text);
        accuracy::differences(report, lang, &mut text);
        curves::table(report, lang, &mut text);
        blocks::table(report, lang, &mut text);
        stages::table(report, lang, &mut text);
        tasks::table(report, lang, &mut text);
        sentences::tasks(report, &of_sentences, lang, &mut text);
        accuracy::epochs(report, lang, &mut text);
        thaw::trainable(report, lang, &mut text);
        changes::settled(report, lang, &mut text);
        changes::table(report, lang, &mut text);
        cost::times(report, lang, &mut text);
        cost::speedups(report, lang, &mut text);
    }
    figures(report, &mut text);
    undone(report, &mut text);
    origin::caveats(report, &mut text);
    origin::settings(report, &mut text);
    origin::inputs(report, &mut text);
    origin::made_by(report, &mut text);
    precision::of_cells(report, &mut text);
    files(report, &mut text);
    text
}

/// A heading with its blank lines.
fn section(text: &mut String, level: usize, title: &str) {
    text.truncate(text.trim_end().len());
    *text += &format!("\n\n{} {title}\n\n", "#".repeat(level));
}

/// A paragraph with the blank line after it.
fn paragraph(text: &mut String, words: &str) {
    if !text.is_empty() && !text.ends_with("\n\n") {
        *text += "\n";
    }
    *text += words;
    *text += "\n\n";
}

/// The banner of a synthetic plan, as a Markdown quotation.
pub(crate) fn banner(report: &Report) -> String {
    if report.synthetic() { format!("> **{}**\n\n", words::SYNTHETIC) } else { String::new() }
}

/// A table that starts with the policy and the values of the further axes.
fn keyed(report: &Report) -> Table {
    let mut table = Table::default().left("Frozen", 0);
    for axis in report.axes() {
        table = table.left(format!("`{axis}`"), 0);
    }
    table
}

/// The first columns of a group's row in a [`keyed`] table.
fn key(group: &crate::summary::Group) -> Vec<String> {
    let mut row = vec![group.policy.clone()];
    row.extend(group.extras.iter().cloned());
    row
}

fn head(report: &Report, text: &mut String) {
    let plan = &report.sweep.plan;
    *text += &format!("# Freezing study: {}\n\n", plan.name);
    *text += &banner(report);
    if !plan.about.is_empty() {
        paragraph(text, &plan.about);
    }
    let seeds = crate::summary::distinct(report.cells.iter().map(|view| view.cell.settings.seed)).len();
    paragraph(
        text,
        &format!(
            "A pretrained encoder learns {}. Part of it is frozen: it does not learn. \
             This report shows what each way of freezing costs in accuracy and saves in time. \
             It covers {}, {} and {}. {}.",
            words::learned(report),
            plural(report.langs().len(), "language"),
            if report.policies().len() == 1 {
                "1 policy".into()
            } else {
                format!("{} policies", report.policies().len())
            },
            plural(seeds, "seed"),
            words::progress(report),
        ),
    );
}

fn other_pages(report: &Report, text: &mut String) {
    let mut pages = Vec::new();
    if !report.errors.is_empty() {
        pages.push("Which words are wrong, and where policies differ: [errors.md](errors.md).");
    }
    if report.cells.iter().any(|view| view.done().is_some()) {
        pages.push("What was learned from: [data.md](data.md).");
    }
    if !pages.is_empty() {
        paragraph(text, &pages.join(" "));
    }
}

fn how_to_read(report: &Report, text: &mut String) {
    section(text, 2, "How to read the tables");
    let accuracies = match words::units(report) {
        words::SENTENCES => {
            "- **Dev accuracy** counts every sentence of the dev split. A sentence whose label never occurs in \
             train counts as wrong.\n"
        }
        _ => {
            "- **Dev accuracy** counts every word of the dev split. A word lost to truncation, and a \
             word whose tag never occurs in train, count as wrong.\n\
             - **Study's accuracy** counts only words that the model could answer, as the study did. \
             It is the number to hold against the study.\n"
        }
    };
    let baseline = if report.has_baseline() {
        "- **vs none** and **time saving** compare with `none`, where everything learns. Each cell \
         is compared with the `none` cell of the same seed.\n"
    } else {
        "- The plan has no policy `none`, so savings in time and differences in accuracy have \
         nothing to be measured against.\n"
    };
    *text += &format!(
        "- **Frozen** names what does not learn. `none`: everything learns. `all`: all blocks are \
         frozen, embeddings and head learn. `first-K`, `last-K`: so many blocks from the bottom or \
         top. `alternating`: blocks 0, 2, 4 and so on. `head-only`: only the head learns. `+lora`, \
         `+adapters`, `+bitfit`, `+norms`: what is not frozen learns by added matrices, added layers, biases \
         or LayerNorms alone. `+mix`: heads read a learned mix of all blocks. `+adaptive`: blocks freeze as \
         their gradients settle.\n\
         - **± after a number** is one standard deviation over seeds. It is missing where there is \
         only one seed.\n\
         {accuracies}\
         - **Trainable parameters** are the numbers that learn. **Parameter saving** is the frozen \
         share of all parameters.\n\
         {baseline}\
         - **Training time** is the time of the training steps alone. Loading, computing a \
         constant prefix and evaluation are listed apart. Cells are run seed by seed, each seed's \
         policies in turn, so that a machine that slows down slows all policies alike. Median step \
         times leave out a cell's first three steps.\n\
         - **Speed-up** is how many times as fast a training step is as with `none`. It is predicted \
         from the work that is left, before any step is taken, for Frostline's own kernels on two \
         processor cores. It is measured as the ratio of median step times of the same seed.\n\
         - **Samples/s** and **steps/s** are train sentences and optimiser steps per second of \
         training time.\n"
    );
    baselines::explained(report, text);
}

fn study_table(report: &Report, lang: &str, text: &mut String) {
    let mut table = keyed(report)
        .right("Dev accuracy %", 0)
        .right("Study's accuracy %", u8::from(words::units(report) == words::SENTENCES))
        .right("Test accuracy %", 1)
        .right("Trainable parameters", 0)
        .right("Trainable %", 0)
        .right("Parameter saving %", 0)
        .right("Training time s", 0)
        .right("Time saving %", 1)
        .right("Samples/s", 0)
        .right("Steps/s", 0)
        .right("Seeds", 0);
    for group in report.groups_of(lang) {
        let mut row = key(group);
        row.extend(accuracy::columns(report, group));
        row.extend(cost::columns(group));
        row.push(words::seeds(group));
        table.row(row);
    }
    baselines::rows(report, lang, 8, &mut table);
    paragraph(text, table.markdown().trim_end());
}

fn figures(report: &Report, text: &mut String) {
    section(text, 2, "Figures");
    for figure in figure::all_described(report) {
        let about = figure.about(report);
        *text += &format!("![{}]({})\n\n{about}\n\n", figure.title, figure.path);
    }
}

fn undone(report: &Report, text: &mut String) {
    let rows = words::undone(report);
    if rows.is_empty() {
        return;
    }
    section(text, 2, "Missing and failed cells");
    paragraph(text, "These cells gave no numbers. Means above are over the seeds that are left.");
    let mut table = Table::default().left("Cell", 0).left("State", 0).left("Why", 0);
    for (title, state, why) in rows {
        let why = why.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        table.row([title, state.into(), format!("`` {} ``", why.replace("``", "''"))]);
    }
    *text += &table.markdown();
}

fn files(report: &Report, text: &mut String) {
    section(text, 2, "Files beside this page");
    *text += "- `published.md`: the study's published figures beside these.\n\
              - `cells.csv`: one row per cell. `epochs.csv`: one row per cell and epoch. \
              `train_loss.csv`: one row per point of the train-loss curve.\n";
    if !crate::subsets::lattices(report).is_empty() {
        *text += "- `blocks.csv`: what freezing each block costs, with its error.\n";
    }
    if report.has_baselines() {
        *text += "- `baselines.csv`: one row per language, seed, task, baseline and split.\n";
    }
    if report.is_staged() {
        *text += "- `stages.csv`: one row per cell and stage.\n";
    }
    if report.is_detailed() {
        *text += "- `tasks.csv`: one row per cell, stage, task and scored split, with its counts.\n";
    }
    if crate::changes::any(report) {
        *text += "- `changes.csv`: one row per cell and part of the encoder: how far it moved.\n";
    }
    if report.cells.iter().any(|view| view.done().is_some()) {
        *text +=
            "- [`data.md`](data.md): what was learned from and scored, tag by tag, and what train lacks.\n";
    }
    if !report.errors.is_empty() {
        *text += "- [`errors.md`](errors.md): F1 of each tag, confusions, known and unknown words, length of \
                  sentences, and where policies differ. Its numbers stand in `tags.csv`, `confusions.csv`, \
                  `strata.csv` and `differences.csv`.\n";
    }
    if !report.sweep.plan.claims.is_empty() {
        *text += "- `claims.md`: every claim of the plan with the differences that decide it.\n";
    }
    *text += "- `report.json`: every mean and standard deviation of this page, unrounded.\n\
              - `figures/`: the figures as SVG.\n\n\
              In CSV and JSON, accuracies and shares are fractions of 1, not percent.\n";
}
