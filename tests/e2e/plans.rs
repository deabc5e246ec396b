//! The built-in plans: the cells of each, and the completeness of the reference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use frostline_record::{Plan, Reference, Settings};

fn configs_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join("configs")
}

fn read_plan(name: &str) -> (String, Plan) {
    let text = std::fs::read_to_string(configs_folder().join(name)).expect("the plan");
    let plan = Plan::parse(&text, name).expect("a plan");
    (text, plan)
}

#[test]
fn every_plan_expands() {
    let mut names: Vec<String> = std::fs::read_dir(configs_folder())
        .expect("the plans")
        .flatten()
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let (_, plan) = read_plan(&name);
        let cells = plan.expand().expect("cells");
        let found =
            Reference::of_plan(&plan, &configs_folder().join(&name)).expect("a reference that is there");
        let lengths = plan.axes().into_iter().map(|axis| plan.grid[axis].len());
        assert_eq!(cells.len(), lengths.product::<usize>(), "{name}: every combination once");
        text += &format!("{name}: {} cells of {:?}\n", cells.len(), plan.treebanks);
        for axis in plan.axes() {
            let values: Vec<String> = plan.grid[axis].iter().map(ToString::to_string).collect();
            text += &format!("  {axis} = {}\n", values.join(", "));
        }
        let all: Vec<Vec<String>> =
            cells.iter().map(|cell| differing_settings(&Settings::default(), cell)).collect();
        let base: Vec<&String> =
            all[0].iter().filter(|leaf| all.iter().all(|leaves| leaves.contains(leaf))).collect();
        for (which, at) in [("first", 0), ("last", cells.len() - 1)] {
            let cell = &cells[at];
            let further = all[at].iter().filter(|leaf| !base.contains(leaf));
            let further: String = further.map(|leaf| format!(", {leaf}")).collect();
            text += &format!("  {which}: {} {} seed {}{further}\n", cell.lang, cell.policy, cell.seed);
        }
        text += &format!("  each with {base:?}\n");
        if found.is_some() {
            text += &format!("  beside {}\n", plan.reference);
        }
    }
    insta::assert_snapshot!(text);
}

/// Returns the settings in which a cell differs from the defaults, except its place in the grid.
fn differing_settings(usual: &Settings, cell: &Settings) -> Vec<String> {
    let usual = table_leaves(&toml::Table::try_from(usual).expect("a table"), "");
    let cell = table_leaves(&toml::Table::try_from(cell).expect("a table"), "");
    let placed = |text: &str| ["lang ", "policy ", "seed "].iter().any(|name| text.starts_with(name));
    cell.into_iter().filter(|leaf| !usual.contains(leaf) && !placed(leaf)).collect()
}

/// Returns all values of a table as `path = value`.
fn table_leaves(table: &toml::Table, path: &str) -> Vec<String> {
    let leaf = |(key, value): (&String, &toml::Value)| match value {
        toml::Value::Table(inner) => table_leaves(inner, &format!("{path}{key}.")),
        value => vec![format!("{path}{key} = {value}")],
    };
    table.iter().flat_map(leaf).collect()
}

#[test]
fn the_reference_names_every_setting_with_its_default_and_nothing_else() {
    let (text, plan) = read_plan("reference.toml");
    let written: toml::Table = toml::from_str(&text).expect("TOML");
    let usual = toml::Table::try_from(Settings::default()).expect("a table");
    let mut found = table_leaves(written["settings"].as_table().expect("[settings]"), "");
    let mut expected = table_leaves(&usual, "");
    found.sort();
    expected.sort();
    assert_eq!(found, expected);

    // A plan's own keys: each is there, and each optional one has its default.
    let least = "schema = 4\nname = \"reference\"\n[treebanks]\nen = \"UD_English-EWT\"\n";
    assert_eq!(Plan::parse(least, "least").expect("a plan"), plan);
    let keys = |table: &toml::Table| table.keys().cloned().collect::<BTreeSet<_>>();
    let mut all = toml::Table::try_from(&plan).expect("a table");
    // The default is not written into files, so that files of earlier versions stay unchanged.
    let unwritten = [
        ("verdict", toml::Table::try_from(plan.verdict).expect("a table")),
        ("timing", toml::Table::try_from(plan.timing).expect("a table")),
        ("track", toml::Table::try_from(plan.track).expect("a table")),
        ("search", toml::Table::try_from(&plan.search).expect("a table")),
        ("decide", toml::Table::try_from(&plan.decide).expect("a table")),
        ("policies", toml::Table::try_from(&plan.policies).expect("a table")),
        ("langs", toml::Table::try_from(&plan.langs).expect("a table")),
    ];
    for (key, table) in unwritten {
        assert_eq!(written[key].as_table(), Some(&table));
        all.insert(key.into(), toml::Value::Table(table));
    }
    assert_eq!(keys(&written), keys(&all));
}

#[test]
fn the_reference_explains_every_setting() {
    let (text, _) = read_plan("reference.toml");
    let mut explained = false;
    for line in text.lines() {
        match line {
            "" => explained = false,
            line if line.starts_with('#') => explained = true,
            line if line.starts_with('[') => {}
            line => assert!(explained, "no comment above `{line}`"),
        }
    }
}
