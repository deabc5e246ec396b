//! The further axes of a grid as columns: `optimizer.lr` is `setting_optimizer_lr`. A column has the type of the axis's
//! values.

use toml::Value as Setting;

use super::rows::ResultRow;
use crate::study::{Study, distinct};
use crate::table::{Quantity, TableColumns, TableValue};

/// A column for each axis of any of the studies.
pub(super) fn axis_columns<'a>(studies: &[&'a Study]) -> TableColumns<'a, ResultRow<'a>> {
    let mut names: Vec<String> = Vec::new();
    let paths = distinct(studies.iter().flat_map(|study| study.axes()));
    paths.into_iter().fold(TableColumns::default(), |columns, path| {
        let name = unused_name(name(path), &names);
        names.push(name.clone());
        let unit = common_type(studies, path);
        columns.column(name, unit, move |row| axis_value(row.view.cell.settings.get(path)?, unit))
    })
}

/// An axis's name as a column: `setting_` and its path in snake case.
fn name(path: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    format!("setting_{}", path.chars().map(letter).collect::<String>())
}

/// The name, with a number if another axis has it.
fn unused_name(name: String, names: &[String]) -> String {
    let more = (2..).map(|number| format!("{name}_{number}"));
    [name.clone()].into_iter().chain(more).find(|name| !names.contains(name)).unwrap_or_default()
}

/// The common type of an axis's values; words if they have none.
fn common_type(studies: &[&Study], path: &str) -> Quantity {
    let cells = studies.iter().flat_map(|study| &study.cells);
    let values: Vec<Setting> = cells.filter_map(|view| view.cell.settings.get(path)).collect();
    let all = |is: fn(&Setting) -> bool| !values.is_empty() && values.iter().all(is);
    if all(Setting::is_bool) {
        Quantity::Truth
    } else if all(Setting::is_integer) {
        Quantity::Count
    } else if all(|value| value.is_integer() || value.is_float()) {
        Quantity::Exact
    } else {
        Quantity::Text
    }
}

fn axis_value(found: Setting, unit: Quantity) -> Option<TableValue> {
    Some(match (unit, found) {
        (Quantity::Truth, Setting::Boolean(truth)) => truth.into(),
        (Quantity::Count | Quantity::Exact, Setting::Integer(whole)) => whole.into(),
        (Quantity::Exact, Setting::Float(real)) => real.into(),
        (_, Setting::String(text)) if text.is_empty() => return None,
        (_, Setting::String(text)) => text.into(),
        (_, other) => other.to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_snake_case_and_each_is_there_once() {
        assert_eq!(name("stages.Head-only.optimizer.lr"), "setting_stages_head_only_optimizer_lr");
        let taken = ["setting_a_b".to_string(), "setting_a_b_2".into()];
        assert_eq!(unused_name(name("a.b"), &taken), "setting_a_b_3");
    }
}
