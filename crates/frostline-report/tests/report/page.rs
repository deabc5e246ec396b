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
    // What is in data needs the script: sentences alone, which this sweep has none of.
    assert!(!page.contains("application/json"));
}

#[test]
fn figures_are_those_of_the_files_and_no_id_is_there_twice() {
    let (sweep, records) = whole();
    let files = files("page", &sweep, &records);
    let page = text(&files, "index.html");
    let svgs: Vec<&str> = files
        .iter()
        .filter(|file| file.path.ends_with(".svg"))
        .map(|file| std::str::from_utf8(&file.bytes).expect("UTF-8"))
        .collect();
    assert_eq!(page.matches("<figure id=").count(), svgs.len());
    let parts =
        |svg: &str| svg.split("data-value=\"").skip(1).map(|part| part[..5].to_string()).collect::<Vec<_>>();
    let told: Vec<String> = svgs.iter().flat_map(|svg| parts(svg)).collect();
    let shown = parts(page);
    assert!(told.len() > 50 && told.iter().all(|value| shown.contains(value)));
    assert_eq!(shown.len(), told.len());
    let ids: Vec<&str> =
        page.split(" id=").skip(1).map(|rest| rest.split(['>', ' ']).next().expect("an id")).collect();
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}

#[test]
fn the_first_table_shows_chosen_columns_and_has_the_rest_behind_a_switch() {
    let (sweep, records) = whole();
    let files = files("page", &sweep, &records);
    let page = text(&files, "index.html");
    let result = page.split_once("<h2 id=\"result\"").expect("the chapter").1;
    let heads =
        result.split_once("<thead><tr>").expect("a table").1.split_once("</thead>").expect("its end").0;
    let of = |class: &str| -> Vec<&str> {
        let all = heads.split("<th scope=col").skip(1).filter_map(|head| head.split_once('>'));
        all.filter(|(classes, _)| classes.contains(class)).map(|(_, name)| name).collect()
    };
    assert!(heads.split("<th ").count() > 8, "{heads}");
    let always = heads.split("<th ").skip(1).count() - of("m").len() - of("w").len();
    assert!((4..=5).contains(&always), "{heads}");
    assert!(result.contains("<input type=checkbox> all"));
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
    assert!(page.matches("&lt;/script&gt;&lt;img src=x").count() > 3, "the error is in the table of cells");
}

#[test]
fn figures_and_tables_have_the_numbers_of_the_other_files() {
    let (sweep, records) = whole();
    let files = files("page", &sweep, &records);
    let page = text(&files, "index.html");
    let json: Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let figure = page.split_once("<figure id=\"figure-accuracy\"").expect("a figure").1;
    let figure = figure.split_once("</figure>").expect("its end").0;
    let values = figure.split("data-value=\"").skip(1).filter_map(|part| part.split('"').next());
    let groups = json["groups"].as_array().expect("groups");
    let told = groups.iter().map(|group| group["dev"]["accuracy"]["mean"].as_f64().expect("a mean"));
    let told: Vec<String> = told.map(|mean| format!("{:.2}", 100.0 * mean)).collect();
    assert_eq!(values.collect::<Vec<_>>(), told);
    let result = page.split_once("<h2 id=\"result\"").expect("the chapter").1;
    assert!(told.iter().all(|mean| result.contains(&format!("<td>{mean}"))), "{told:?}");
}

#[test]
fn the_browser_has_the_sentences_on_which_cells_differ() {
    let (sweep, records, predictions) = six_words();
    let files =
        Report::new(&sweep, &records, &[], Some(&mut |_, file| predictions.get(&file.sha256).cloned()))
            .files();
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
