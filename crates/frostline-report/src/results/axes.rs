//! The further axes of a grid as columns: `optimizer.lr` is `setting_optimizer_lr`. A column has the type of the axis's
//! values.

use toml::Value;

use super::rows::ResultRow;
use crate::sheet::{Fields, Get};
use crate::study::{Study, distinct};

/// A column for each axis of any of the studies.
pub(super) fn fields<'a>(studies: &[&'a Study]) -> Fields<'a, ResultRow<'a>> {
    let mut names: Vec<String> = Vec::new();
    let paths = distinct(studies.iter().flat_map(|study| study.axes()));
    paths.into_iter().fold(Fields::new(), |fields, path| {
        let name = unused(name(path), &names);
        names.push(name.clone());
        fields.with(name, get(studies, path))
    })
}

/// An axis's name as a column: `setting_` and its path in snake case.
fn name(path: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    format!("setting_{}", path.chars().map(letter).collect::<String>())
}

/// The name, with a number where another axis has it.
fn unused(name: String, names: &[String]) -> String {
    let more = (2..).map(|number| format!("{name}_{number}"));
    [name.clone()].into_iter().chain(more).find(|name| !names.contains(name)).unwrap_or_default()
}

/// The way to an axis's values in their common type; words if they have none.
fn get<'a>(studies: &[&Study], path: &'a str) -> Get<'a, ResultRow<'a>> {
    let values: Vec<Value> = studies
        .iter()
        .flat_map(|study| &study.cells)
        .filter_map(|view| view.cell.settings.get(path))
        .collect();
    let all = |is: fn(&Value) -> bool| !values.is_empty() && values.iter().all(is);
    let value = move |row: &ResultRow<'a>| row.view.cell.settings.get(path);
    if all(Value::is_bool) {
        Get::Truth(Box::new(move |row| value(row)?.as_bool()))
    } else if all(Value::is_integer) {
        Get::Whole(Box::new(move |row| value(row)?.as_integer()))
    } else if all(|value| value.is_integer() || value.is_float()) {
        Get::Real(Box::new(move |row| number(&value(row)?)))
    } else {
        Get::Text(Box::new(move |row| {
            value(row).map(|value| words(&value)).filter(|words| !words.is_empty())
        }))
    }
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))
        .filter(|value| value.is_finite())
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_snake_case_and_each_is_there_once() {
        assert_eq!(name("stages.Head-only.optimizer.lr"), "setting_stages_head_only_optimizer_lr");
        let taken = ["setting_a_b".to_string(), "setting_a_b_2".into()];
        assert_eq!(unused(name("a.b"), &taken), "setting_a_b_3");
    }
}
