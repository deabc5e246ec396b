//! The names of the files in a cell's folder that depend on the plan.

use std::collections::BTreeMap;

use crate::{FileName, PlanError, Settings};

/// Returns the name of the file with a split's predictions: of a stage other than the last, and of a task other
/// than the headline.
#[must_use]
pub fn prediction_file(stage: Option<&FileName>, task: Option<&FileName>, split: &str) -> String {
    let parts = [stage, task].into_iter().flatten().map(FileName::in_path);
    parts.chain([split.to_string()]).collect::<Vec<_>>().join(".") + ".tsv"
}

impl Settings {
    /// Checks that every stage and task of a cell writes to separate files, even on a file system that ignores
    /// case.
    ///
    /// # Errors
    /// If two do not; the error names them.
    pub(crate) fn check_files(&self) -> Result<(), PlanError> {
        let stages = self.in_stages()?;
        let headline = self.headline();
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for (number, (stage, _)) in stages.iter().enumerate() {
            for task in self.tasks.keys() {
                let named_stage = (number + 1 < stages.len()).then_some(stage);
                let named_task = (*task != headline).then_some(task);
                let file = prediction_file(named_stage, named_task, "dev");
                let who = format!("{stage}, {task}");
                if let Some(first) = files.insert(file.to_ascii_lowercase(), who.clone()) {
                    return Err(PlanError::SameFile { first, second: who, file });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_outputs_of_a_cell_have_two_names() {
        let check = |text: &str| toml::from_str::<Settings>(text).expect(text).check_files();
        let good = "[tasks.a]\n[tasks.b]\n[[stages]]\nname = 'x y'\n[[stages]]\nname = 'b'";
        check(good).expect("different names");
        let errors = [
            "[eval]\ntask = 'a'\n[tasks.a]\n[tasks.b]\n[tasks.B]",
            "[tasks.a]\n[[stages]]\nname = 'x y'\n[[stages]]\nname = 'x-y'\n[[stages]]",
            "[tasks.a]\n[[stages]]\nname = 'Warm'\n[[stages]]\nname = 'warm'\n[[stages]]",
            "[tasks.a]\n[tasks.b]\n[[stages]]\nname = 'b'\n[[stages]]",
            "[tasks.a]\n[tasks.b]\n[[stages]]\nname = 'x'\n[[stages]]\nname = 'x.b'\n[[stages]]",
        ]
        .map(|text| check(text).expect_err(text).to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }
}
