//! Figures as files: well-formed, described for those who cannot see them, and no text runs into
//! another or out of the image.

use crate::common::{demo, paper, records, sweep};
use crate::detailed::{forgetting, sentiment};
use crate::keep;
use crate::learning::watched_and_searched;
use crate::mistakes::{many, six_words};
use frostline_report::Report;

/// A text's box: left, top, right, bottom.
type Rect = (f64, f64, f64, f64);

fn figures() -> Vec<(String, String)> {
    // Accuracies far apart, a perfect policy, and one that gets nothing right.
    let far = || {
        let mut langs = paper();
        for lang in &mut langs {
            for ((_, reach), accuracy) in lang.reach.iter_mut().zip([0.9486, 0.6202, 1.0, 0.0, 0.91]) {
                reach.0 = accuracy;
            }
        }
        langs
    };
    let epoch = "[settings.train]\nlog_every = 10\nepochs = 1\n[settings.eval]\ntest = true";
    let rates = "\"optimizer.lr\" = [2e-5, 5e-5, 1e-4]";
    let sweeps = [
        ("plain", paper(), sweep("plain", &paper(), 3, false, "")),
        ("one seed", paper(), sweep("one seed", &paper(), 1, false, "")),
        ("one epoch", demo(), sweep("one epoch", &demo(), 2, true, epoch)),
        ("rates", paper(), sweep("rates", &paper(), 1, false, rates)),
        ("far", far(), sweep("far", &far(), 3, false, "")),
    ];
    let mut figures = Vec::new();
    for (name, langs, sweep) in &sweeps {
        let records = records(sweep, langs);
        for (state, records) in [("", &records[..]), (", no record", &[])] {
            let files = Report::new(sweep, records, &[], None).files().expect("a report");
            keep(&format!("figures-{}{state}", name.replace(' ', "-")), &files);
            for file in files {
                if file.path.ends_with(".svg") {
                    let text = String::from_utf8(file.bytes).expect("UTF-8");
                    figures.push((format!("{name}{state}: {}", file.path), text));
                }
            }
        }
    }
    // Dev beside test where test was scored.
    assert_eq!(figures.len(), 36);
    for (name, (sweep, records, _)) in [("sentiment", sentiment()), ("forgetting", forgetting())] {
        let files = Report::new(&sweep, &records, &[], None).files().expect("a report");
        keep(&format!("figures-{name}"), &files);
        for file in files {
            if file.path.ends_with(".svg") {
                figures
                    .push((format!("{name}: {}", file.path), String::from_utf8(file.bytes).expect("UTF-8")));
            }
        }
    }
    assert_eq!(figures.len(), 36 + 5 + 4);
    // Those of errors, which only predictions give.
    for (name, (sweep, records, predictions)) in [("six words", six_words()), ("many policies", many(2))] {
        let report =
            Report::new(&sweep, &records, &[], Some(&mut |_, file| predictions.get(&file.sha256).cloned()));
        let files = report.files().expect("a report");
        keep(&format!("figures-{}", name.replace(' ', "-")), &files);
        let found = files.into_iter();
        let found =
            found.filter(|file| ["figures/tags.svg", "figures/familiarity.svg"].contains(&&*file.path));
        figures.extend(
            found.map(|file| {
                (format!("{name}: {}", file.path), String::from_utf8(file.bytes).expect("UTF-8"))
            }),
        );
    }
    assert_eq!(figures.len(), 36 + 5 + 4 + 4);
    let (sweep, records) = watched_and_searched();
    let files = Report::new(&sweep, &records, &[], None).files().expect("a report");
    keep("figures-watched", &files);
    let found = files.into_iter();
    let found = found.filter(|file| ["figures/dev_steps.svg", "figures/rates.svg"].contains(&&*file.path));
    figures.extend(
        found.map(|file| (format!("watched: {}", file.path), String::from_utf8(file.bytes).expect("UTF-8"))),
    );
    assert_eq!(figures.len(), 36 + 5 + 4 + 4 + 2);
    figures
}

/// Boxes by Helvetica's mean width, which is less than the layout assumes.
fn texts(svg: &roxmltree::Document) -> Vec<(String, Rect)> {
    let nodes = svg.descendants().filter(|node| node.has_tag_name("text"));
    nodes
        .map(|node| {
            // Most text has the size that the whole figure names.
            let number = |name: &str| -> f64 {
                let value = node.ancestors().find_map(|one| one.attribute(name));
                value.expect("a place and a size").parse().expect("a number")
            };
            let text = node.text().expect("words").to_string();
            let (x, y, size) = (number("x"), number("y"), number("font-size"));
            let width = text.chars().count() as f64 * size * 0.5;
            let left = match node.ancestors().find_map(|one| one.attribute("text-anchor")) {
                None => x,
                Some("middle") => x - width / 2.0,
                Some("end") => x - width,
                Some(other) => panic!("anchor {other}"),
            };
            (text, (left, y - 0.75 * size, left + width, y + 0.1 * size))
        })
        .collect()
}

#[test]
fn no_text_meets_another_or_leaves_the_image() {
    for (name, figure) in figures() {
        let svg = roxmltree::Document::parse(&figure).expect("well-formed XML");
        let side = |side: &str| -> f64 {
            let value = svg.root_element().attribute(side).expect("a size");
            value.parse().expect("a number")
        };
        let (width, height) = (side("width"), side("height"));
        let texts = texts(&svg);
        for (i, (text, a)) in texts.iter().enumerate() {
            assert!(a.0 >= 0.0 && a.2 <= width && a.3 <= height, "{name}: {text:?} at {a:?}");
            for (other, b) in &texts[..i] {
                let apart = a.0 >= b.2 || b.0 >= a.2 || a.1 >= b.3 || b.1 >= a.3;
                assert!(apart, "{name}: {text:?} runs into {other:?}");
            }
        }
    }
}

#[test]
fn every_figure_is_described_and_holds_real_numbers() {
    for (name, figure) in figures() {
        let svg = roxmltree::Document::parse(&figure).expect("well-formed XML");
        for tag in ["title", "desc"] {
            let node = svg.descendants().find(|node| node.has_tag_name(tag));
            let text = node.and_then(|node| node.text()).unwrap_or_default();
            assert!(text.len() > 10, "{name}: {tag} is {text:?}");
        }
        assert!(!figure.contains("NaN") && !figure.contains("inf"), "{name}");
    }
}

#[test]
fn every_policy_is_named_in_every_panel() {
    for (name, figure) in figures().iter().filter(|(name, _)| name.starts_with("plain:")) {
        for policy in ["none", "all", "first-2", "first-4", "alternating"] {
            let found = figure.matches(&format!(">{policy}<")).count();
            assert_eq!(found, 2, "{name}: {policy}");
        }
    }
}

#[cfg(feature = "pdf")]
#[test]
fn every_figure_is_there_as_pdf_with_its_font() {
    let (sweep, records) = crate::gaps();
    let files = crate::files("gaps", &sweep, &records);
    let names = |ending: &str| {
        let names = files.iter().filter_map(|file| file.path.strip_suffix(ending));
        names.map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(names(".pdf"), names(".svg"));
    for file in files.iter().filter(|file| file.path.ends_with(".pdf")) {
        let has = |name: &[u8]| file.bytes.windows(name.len()).any(|part| part == name);
        assert!(has(b"+DejaVuSansCondensed") && has(b"/FontFile2"), "{}", file.path);
    }
}
