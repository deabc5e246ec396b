//! The page: that it is whole, that nothing of a file can act in it, and that its numbers are those of the other files.

use crate::common::{demo, failed, records, sweep};
use crate::mistakes::six_words;
use crate::{files, text, whole};
use frostline_report::Report;
use serde_json::Value;

/// What a file may contain to break out of a page.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'<!-- \u{202e}\u{2028}";

/// The data of an element of the page.
fn data(page: &str, id: &str) -> Value {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let rest = page.split_once(&start).unwrap_or_else(|| panic!("no {id}")).1;
    serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON")
}

/// The body without scripts and data.
fn body(page: &str) -> &str {
    page.split_once("<body>").expect("a body").1.split_once("<script").expect("a script").0
}

#[test]
fn the_page_needs_nothing_else() {
    let (sweep, records) = whole();
    let files = files("page", &sweep, &records);
    let page = text(&files, "index.html");
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-"), "{}", &page[..600]);
    for outside in
        ["src=\"", "href=\"http", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "eval("]
    {
        let found = page.match_indices(outside).next().map(|(at, _)| &page[at..page.len().min(at + 60)]);
        assert_eq!(found, None, "{outside}");
    }
    assert_eq!(page.matches("<script>").count(), 1);
    // Every place has its data, and all data has a place.
    let places = body(page).matches("data-table=\"").count();
    assert_eq!(page.matches("<script type=\"application/json\" id=\"table-").count(), places);
    let figures = body(page).matches("data-figure=\"").count();
    assert_eq!(page.matches("<script type=\"application/json\" id=\"figure-").count(), figures);
}

#[test]
fn its_opening_asks_then_answers_in_three_sentences() {
    let (sweep, records) = whole();
    let files = files("page", &sweep, &records);
    let page = text(&files, "index.html");
    let opening = page.split_once("<header").expect("a header").1.split_once("</header>").expect("its end").0;
    insta::assert_snapshot!("opening", opening);
    let chapters: Vec<&str> = body(page)
        .split("<section class=\"chapter\" aria-labelledby=\"")
        .skip(1)
        .filter_map(|part| part.split('"').next())
        .collect();
    insta::assert_snapshot!("chapters", chapters.join("\n"));
}

#[test]
fn what_a_file_says_can_only_be_read() {
    let mut sweep = sweep("demo", &demo(), 2, true, "");
    sweep.plan.about = format!("About {HOSTILE}");
    let mut records = records(&sweep, &demo());
    records[0].made_by.device = format!("A device {HOSTILE}");
    records[1] = failed(&sweep.cells[1], &format!("An error {HOSTILE}"));
    let files = files("page-hostile", &sweep, &records);
    let page = text(&files, "index.html");
    assert!(!page.contains("<img") && !page.contains("<!--"), "a tag or a comment begins");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{2028}'));
    // One script, and as many ends of scripts as beginnings.
    assert_eq!(page.matches("<script").count(), page.matches("</script").count());
    assert!(
        body(page)
            .contains("About &lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&apos;&lt;!-- [U+202E]")
    );
    assert!(page.contains("\\u003c/script>\\u003cimg src=x"), "the error is in the table of cells");
}

#[test]
fn figures_and_tables_have_the_numbers_of_the_other_files() {
    let (sweep, records) = whole();
    let files = files("page", &sweep, &records);
    let page = text(&files, "index.html");
    let json: Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let figure = data(page, "figure-0");
    let column = |name: &str| {
        let all = figure["table"]["c"].as_array().expect("columns");
        all.iter().find(|column| column["f"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!(figure["kind"], "bars");
    let shown: Vec<f64> = column("Value")["v"]
        .as_array()
        .expect("values")
        .iter()
        .map(|v| v[0].as_f64().expect("a mean"))
        .collect();
    let groups = json["groups"].as_array().expect("groups");
    let told: Vec<f64> =
        groups.iter().map(|g| g["dev"]["accuracy"]["mean"].as_f64().expect("a mean")).collect();
    assert_eq!(shown, told);
}

#[test]
fn the_browser_has_the_sentences_on_which_cells_differ() {
    let (sweep, records, predictions) = six_words();
    let report = Report::new(&sweep, &records);
    let files = report.with_predictions(|_, file| predictions.get(&file.sha256).cloned()).files();
    let files = files.expect("a report");
    let found = data(text(&files, "index.html"), "sentences-data");
    let texts = found["texts"].as_array().expect("texts");
    assert_eq!(texts.len(), 1, "test is not shown");
    assert_eq!((&texts[0]["total"], texts[0]["cells"].as_array().expect("cells").len()), (&3.into(), 4));
    let sentences = texts[0]["sentences"].as_array().expect("sentences");
    // All cells agree on the last one.
    assert_eq!(sentences.len(), 2);
    assert_eq!(sentences[0][1], "the\ndog\nbarks");
    let names: Vec<&str> = found["tags"].as_array().expect("tags").iter().filter_map(Value::as_str).collect();
    let cells = texts[0]["cells"].as_array().expect("cells");
    let cell = cells.iter().find(|cell| cell["name"] == "none" && cell["seed"] == 43).expect("a cell");
    // It takes the third word for a noun, and has nothing else wrong in these sentences.
    let noun = names.iter().position(|name| *name == "NOUN").expect("a noun");
    assert_eq!(cell["wrong"], serde_json::json!([2, noun]));
}
