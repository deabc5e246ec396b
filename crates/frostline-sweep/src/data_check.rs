//! Faults of the data that are found before any cell starts, and warnings about what makes results worth little.

use std::collections::BTreeMap;

use frostline_record::{Cell, CellFacts, Settings, TaskFacts};
use frostline_report::data_warnings;

/// Returns warnings about the data of cells, one per line: what makes results worth little, such as words that are cut off.
///
/// # Errors
/// If a split comes without any of its text.
pub fn check_data(cells: &[Cell], facts: &[CellFacts]) -> anyhow::Result<String> {
    let found: Vec<_> = facts
        .iter()
        .filter_map(|CellFacts { cell: id, tasks }| {
            let cell = cells.iter().find(|cell| cell.id == *id)?;
            Some((&cell.settings, tasks))
        })
        .collect();
    for (settings, tasks) in &found {
        check_text(settings, tasks)?;
    }
    Ok(data_warnings(found).into_iter().map(|warning| format!("{warning}\n")).collect())
}

/// Checks that no split comes without any of its text: a model that sees `_` for every word learns nothing of the language.
fn check_text(settings: &Settings, tasks: &BTreeMap<String, TaskFacts>) -> anyhow::Result<()> {
    for (task, facts) in tasks {
        let dataset = settings.tasks.get(task.as_str()).map_or("", |task| settings.dataset_of(task));
        for (split, found) in facts.splits() {
            anyhow::ensure!(
                found.forms.words == 0 || found.blank < found.forms.words,
                "{dataset}: the words of this treebank are not included: all {} {split} words have the form `_`; put the text back \
                 with the script that comes with the treebank, or choose another treebank",
                found.forms.words
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use frostline_record::{Forms, SplitFacts, Unit};

    use super::*;

    #[test]
    fn a_split_without_any_text_is_named() {
        let split = |words: u64, blank: u64| {
            let forms = Forms { words, ..Forms::default() };
            SplitFacts { forms, blank, ..SplitFacts::default() }
        };
        let checked = |train: SplitFacts, dev: SplitFacts| {
            let facts = TaskFacts { unit: Unit::Words, tags: Vec::new(), train, dev, test: None };
            let settings = Settings { lang: "ar".parse().unwrap(), ..Settings::default() };
            let task = settings.tasks.keys().next().unwrap().to_string();
            check_text(&settings, &BTreeMap::from([(task, facts)])).map_err(|error| error.to_string())
        };
        let error = checked(split(240, 240), split(60, 0)).unwrap_err();
        assert!(
            error.starts_with("ar: the words of this treebank are not included: all 240 train words"),
            "{error}"
        );
        assert!(checked(split(240, 0), split(60, 60)).unwrap_err().contains("all 60 dev words"));
        assert_eq!(checked(split(240, 239), split(0, 0)), Ok(()));
    }
}
