//! Nested tables and settings by their dotted paths.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{PlanError, Settings, suggest};

impl Settings {
    /// Returns the dotted paths of all settings.
    pub(crate) fn paths() -> Vec<String> {
        Self::default().by_path().into_iter().map(|(path, _)| path).collect()
    }

    /// Sets the setting at a dotted path such as `optimizer.lr`, or of one stage, as `stages.NAME.optimizer.lr`.
    ///
    /// # Errors
    /// If the path names no setting (the message lists the existing ones) or the value does not fit.
    pub fn set(&mut self, path: &str, value: toml::Value) -> Result<(), PlanError> {
        let (part, rest) = path.split_once('.').unwrap_or((path, ""));
        if part == "stages" && !rest.is_empty() {
            return self.set_in_stage(path, rest, value);
        }
        // Only the part that changes becomes a table and back, since large grids set many values.
        macro_rules! set_in {
            ($($name:ident),*) => {
                match part {
                    $(stringify!($name) => set_in(&mut self.$name, path, rest, value),)*
                    _ => {
                        let known = [$(stringify!($name)),*].join(", ");
                        Err(unknown_path(path, known))
                    }
                }
            };
        }
        set_in!(
            adapters, adaptive, data, dropout, encoder, eval, lang, lora, optimizer, policy, save, schedule,
            seed, stages, tasks, train, unfreeze
        )
    }

    /// Returns the value at a dotted path, of a stage too (`stages.NAME.optimizer.lr`, if the stage sets it).
    #[must_use]
    pub fn get(&self, path: &str) -> Option<toml::Value> {
        if let Some(rest) = path.strip_prefix("stages.") {
            return self.get_in_stage(rest);
        }
        let table = toml::Value::try_from(self).ok()?;
        path.split('.').try_fold(&table, |at, part| at.get(part)).cloned()
    }

    /// Returns whether the settings at these dotted paths have these values, such as a cell's values on further axes.
    pub(crate) fn has_values(&self, values: &BTreeMap<String, toml::Value>) -> bool {
        values.iter().all(|(path, value)| self.get(path).as_ref() == Some(value))
    }

    /// Returns all settings by their dotted paths, without unset ones.
    #[must_use]
    pub fn by_path(&self) -> Vec<(String, toml::Value)> {
        toml::Table::try_from(self).map(|table| values_by_path(&table)).unwrap_or_default()
    }
}

/// Returns all values of a table by their dotted paths. A list is one value.
pub(crate) fn values_by_path<'a>(
    table: impl IntoIterator<Item = (&'a String, &'a toml::Value)>,
) -> Vec<(String, toml::Value)> {
    let leaf = |(key, value): (&String, &toml::Value)| match value {
        toml::Value::Table(inner) => {
            values_by_path(inner).into_iter().map(|(path, value)| (format!("{key}.{path}"), value)).collect()
        }
        value => vec![(key.clone(), value.clone())],
    };
    table.into_iter().flat_map(leaf).collect()
}

/// Returns the names in the last table on the way to a setting that is not there.
fn names_beside<T: Serialize>(part: &T, rest: &str) -> String {
    let whole = toml::Value::try_from(part).unwrap_or(toml::Value::Boolean(false));
    let mut at = &whole;
    for name in rest.split('.') {
        match at.get(name) {
            Some(inner) if inner.is_table() => at = inner,
            _ => break,
        }
    }
    let names = at.as_table().into_iter().flatten().map(|(name, _)| name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// Sets a part of the settings, or a value in it at the rest of the path.
pub(crate) fn set_in<T: Serialize + DeserializeOwned>(
    part: &mut T,
    path: &str,
    rest: &str,
    value: toml::Value,
) -> Result<(), PlanError> {
    let shown = value.to_string();
    let bad = |reason: String| PlanError::BadValue { path: path.into(), value: shown.clone(), reason };
    let mut whole = value;
    if !rest.is_empty() {
        let value = whole;
        whole = toml::Value::try_from(&*part)
            .map_err(|error| bad(format!("another setting cannot be written as TOML: {error}")))?;
        let Some(slot) = rest.split('.').try_fold(&mut whole, |at, name| at.get_mut(name)) else {
            return Err(unknown_path(path, names_beside(part, rest)));
        };
        *slot = match (slot.is_float(), value.as_integer()) {
            (true, Some(whole)) => toml::Value::Float(whole as f64),
            _ => value,
        };
    }
    *part = T::deserialize(whole).map_err(|error| {
        let reason = error.to_string().trim().replace('\n', " ");
        bad(reason.strip_suffix(&format!(" in `{rest}`")).unwrap_or(&reason).into())
    })?;
    Ok(())
}

/// Returns the error for a path that names no setting, with a similar setting.
fn unknown_path(path: &str, known: String) -> PlanError {
    PlanError::UnknownSetting {
        path: path.into(),
        known,
        meant: suggest::suggest_setting(path, &Settings::paths()),
    }
}
