//! `tables.tex` and `results.tex`: that they say the same, and how they look. `cargo xtask ci --only paper` compiles them.

use std::collections::BTreeSet;

use crate::common::{Lang, demo, records, sweep};
use crate::{files, text, whole};

/// The number of a name in `results.tex`.
fn number(results: &str, name: [&str; 3]) -> Option<String> {
    let [lang, policy, column] = name;
    let head = format!("\\FrostlineDefine{{{lang}}}{{{policy}}}{{{column}}}{{");
    results.lines().find_map(|line| Some(line.strip_prefix(&head)?.strip_suffix('}')?.to_string()))
}

#[test]
fn results_of_a_whole_sweep() {
    let (sweep, records) = whole();
    let files = files("whole", &sweep, &records);
    insta::assert_snapshot!("whole_tables_tex", text(&files, "tables.tex"));
    let results = text(&files, "results.tex");
    let is_shown = |line: &&str| {
        !line.starts_with("\\FrostlineDefine")
            || ["{en}{none}", "{en}{first-4}"].iter().any(|row| line.contains(row))
    };
    let some: Vec<&str> = results.lines().filter(is_shown).collect();
    insta::assert_snapshot!("whole_results_tex", some.join("\n"));
}

#[test]
fn every_number_of_every_table_has_a_name_of_its_own() {
    let (sweep, records) = whole();
    let files = files("whole", &sweep, &records);
    let (tables, results) = (text(&files, "tables.tex"), text(&files, "results.tex"));
    let defined: Vec<&str> = results.lines().filter(|line| line.starts_with("\\FrostlineDefine{")).collect();
    let all: Vec<&str> =
        tables.split("frostline@table@").skip(1).filter(|part| part.contains("tabular")).collect();
    assert!(all.len() > 5, "{}", all.len());
    let mut numbers = 0;
    for table in all {
        let rows = table.split("\\end{tabular}").next().expect("its rows");
        let cells = rows.lines().filter(|line| line.contains("ensuremath") && line.ends_with("\\\\"));
        for cell in cells.flat_map(|line| line.trim_end_matches("\\\\").split(" & ")).map(str::trim) {
            let ending = format!("}}{{{cell}}}");
            let is_number = cell.starts_with("\\ensuremath");
            numbers += usize::from(is_number);
            assert!(!is_number || defined.iter().any(|line| line.ends_with(&ending)), "{cell}");
        }
    }
    assert!(numbers > 300, "{numbers}");
    let names: BTreeSet<&str> =
        defined.iter().filter_map(|line| line.rsplit_once("}{")).map(|(name, _)| name).collect();
    assert_eq!(names.len(), defined.len(), "each name is there once");
    let can_be_typed =
        |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || "\\{} -_.+/=,:'()".contains(c));
    assert!(names.iter().all(can_be_typed), "{names:?}");
    assert_eq!(number(results, ["en", "none", "seeds"]).as_deref(), Some("3"));
    for name in ["dev-accuracy-mean", "time-saved-predicted", "reference-ours", "reference-study"] {
        assert!(number(results, ["pcm", "first-4", name]).is_some(), "{name}");
    }
}

#[test]
fn further_axes_follow_the_policy() {
    let sweep = sweep("axes", &demo(), 2, true, "'optimizer.lr' = [5e-5, 1e-4]\n");
    let found = files("axes", &sweep, &records(&sweep, &demo()));
    let results = text(&found, "results.tex");
    for rate in ["5e-5", "1e-4"] {
        assert!(number(results, ["en", &format!("first-2/{rate}"), "dev-accuracy"]).is_some(), "{results}");
    }
}

/// Languages and policies whose names act in LaTeX.
#[test]
fn no_name_acts_in_latex() {
    let lang = |name| Lang {
        name,
        dev_words: 1_000,
        sentences: 100,
        reach: vec![
            ("none", (0.9, 100, 2.0)),
            ("first-25%", (0.8, 50, 1.0)),
            ("first-2+embeddings", (0.8, 50, 1.0)),
        ],
    };
    let langs = [Lang { name: "en", ..lang("en") }, Lang { name: "pcm", ..lang("pcm") }];
    let mut sweep = sweep("nasty", &langs, 2, false, "");
    sweep.plan.about = "Every & % $ # _ { } ~ ^ \\ is text.".into();
    let found = files("nasty", &sweep, &records(&sweep, &langs));
    let (tables, results) = (text(&found, "tables.tex"), text(&found, "results.tex"));
    assert!(tables.contains("first-25\\%") && !tables.contains("first-25%"));
    assert!(number(results, ["pcm", "first-25pct", "dev-accuracy"]).is_some(), "{results}");
}

#[test]
fn a_reference_stands_beside_ours() {
    let (sweep, records) = whole();
    let found = files("whole", &sweep, &records);
    assert!(text(&found, "tables.tex").contains("\\csname frostline@table@reference-en-1\\endcsname"));
    let mut without = sweep.clone();
    without.reference = None;
    let found = files("whole", &without, &records);
    assert!(!text(&found, "tables.tex").contains("table@reference"));
}
