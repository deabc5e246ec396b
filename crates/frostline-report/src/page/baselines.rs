//! Owns what the page says about baselines: their rows below the policies', and who stays below them.
//!
//! Refuses to leave a fit that did not converge unsaid.

use crate::Report;
use crate::baselines::{self, BaselineScore, BaselineStats};
use crate::number::{NONE, count, or_dash, plus_minus};
use crate::page::paragraph;
use crate::table::Table;
use crate::words;
use frostline_score::MeanStd;

fn percent(stat: MeanStd) -> String {
    plus_minus(stat.times(100.0), 2)
}

/// The first columns of a baseline's row.
fn key(one: &BaselineStats) -> Vec<String> {
    let mut row = vec![format!("*{}*", one.title())];
    row.extend(one.extras.iter().cloned());
    row
}

/// Below the policies of the table of all languages.
pub(super) fn side_by_side(report: &Report, table: &mut Table) {
    let all = baselines::all(report);
    let mut rows: Vec<(&str, &[String])> = Vec::new();
    for one in &all {
        let row = (one.baseline.as_str(), one.extras.as_slice());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    for (name, extras) in rows {
        let is_here = |one: &&BaselineStats| one.baseline == name && one.extras == extras;
        let of = |lang: &str| all.iter().filter(is_here).find(|one| one.lang == lang);
        let Some(any) = all.iter().find(is_here) else { continue };
        let mut row = key(any);
        row.extend(
            report
                .langs()
                .into_iter()
                .map(|lang| or_dash(of(lang).and_then(|one| one.dev.as_ref()), |dev| percent(dev.accuracy))),
        );
        row.extend(report.langs().into_iter().map(|_| NONE.into()));
        table.row(row);
    }
}

/// Below the policies of a language's table with this many further columns after the three accuracies.
pub(super) fn rows(report: &Report, lang: &str, columns: usize, table: &mut Table) {
    let of_words = words::units(report) != words::SENTENCES;
    for one in baselines::of(report, lang) {
        let of = |split: &Option<BaselineScore>, get: fn(&BaselineScore) -> MeanStd| {
            or_dash(split.as_ref(), |split| percent(get(split)))
        };
        let mut row = key(&one);
        row.push(of(&one.dev, |dev| dev.accuracy));
        row.push(if of_words { of(&one.dev, |dev| dev.study_accuracy) } else { NONE.into() });
        row.push(of(&one.test, |test| test.accuracy));
        row.extend(vec![NONE.to_string(); columns]);
        table.row(row);
    }
}

/// Who stays below a baseline, and which fits did not converge.
pub(super) fn notes(report: &Report, text: &mut String) {
    for lang in report.langs() {
        for note in baselines::below(report, lang) {
            *text += &format!("- {note}\n");
        }
    }
    for one in baselines::all(report).iter().filter(|one| one.converged == Some(false)) {
        let iterations = one.fit.as_ref().map_or(0, |fit| fit.iterations);
        *text += &format!(
            "- **{}**: the logistic probe did not converge in {} iterations; it may be a little better than \
             shown.\n",
            one.lang,
            count(iterations)
        );
    }
}

/// What baselines are, where there are any.
pub(super) fn explained(report: &Report, text: &mut String) {
    let all = baselines::all(report);
    if all.is_empty() {
        return;
    }
    let frequent = match words::units(report) {
        words::SENTENCES => {
            "The *most frequent label* gives every sentence the label that train has most often."
        }
        _ => {
            "The *most frequent tag* gives each word the tag that it has most often in train, and a word that \
             train lacks the most frequent of all."
        }
    };
    let drawn = all.iter().filter_map(|one| one.fit.as_ref()).find(|fit| fit.fitted < fit.of);
    let drawn = drawn.map_or_else(String::new, |fit| {
        format!(" It was fitted to a drawn {} of {} in train.", count(fit.fitted), count(fit.of))
    });
    paragraph(
        text,
        &format!(
            "- **Baselines**, in italics, need no training of the encoder. {frequent} The *logistic probe* is a \
             logistic regression on what the pretrained encoder makes of them, fitted until it converges.{drawn} \
             A policy below it learned less than a head alone could."
        ),
    );
}
