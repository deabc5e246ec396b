//! Which row of a comparison a cell belongs to.

use crate::study::CellView;
use crate::study::cells::setting;
use crate::table::{Columns, Quantity};

/// What a row is about: language, policy, and the values of the axes that any of the sweeps has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub lang: String,
    pub policy: String,
    pub values: Vec<String>,
}

impl Key {
    /// The columns that say which row it is.
    pub fn columns<'a, R: 'a>(axes: &[&'a str], of: impl Fn(&R) -> &Key + Copy + 'a) -> Columns<'a, R> {
        Columns::default()
            .column("Language", Quantity::Text, move |row: &R| of(row).lang.clone())
            .column("Frozen", Quantity::Text, move |row: &R| of(row).policy.clone())
            .each(
                axes.iter().copied().enumerate(),
                |(_, axis)| format!("`{axis}`"),
                Quantity::Text,
                move |row: &R, (at, _)| of(row).values.get(*at).cloned(),
            )
    }

    /// The policy, then the values of further axes.
    pub fn name(&self) -> String {
        let parts = [&self.policy].into_iter().chain(&self.values);
        parts.map(String::as_str).collect::<Vec<_>>().join("/")
    }
}

/// The row of a cell.
pub(super) fn key(view: &CellView, axes: &[&str]) -> Key {
    let settings = &view.cell.settings;
    Key {
        lang: settings.lang.to_string(),
        policy: settings.policy.to_string(),
        values: axes.iter().map(|axis| setting(settings, axis)).collect(),
    }
}
