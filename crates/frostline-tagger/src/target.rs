//! The column of CoNLL-U into which a model's labels are written, and the values written there.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use frostline_conllu::{Checks, Column, Upos, Writer, read_strict, with_annotation, with_feature};

use crate::answer::{Answer, NO_TAG};
use crate::folder::ModelMismatch;
use crate::group::TaggerModel;

/// The column or field into which labels are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagTarget {
    /// A whole column.
    Whole(Column),
    /// One feature of FEATS.
    Feature(String),
    /// One item of MISC.
    Misc(String),
}

/// The label of a word without the feature, as in training.
const NO_FEATURE: &str = "none";

impl FromStr for TagTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = |name: &str| !name.is_empty() && !name.contains(['=', '|', '\t', '\n']);
        match (text, text.split_once('.')) {
            ("upos", _) => Ok(Self::Whole(Column::Upos)),
            ("xpos", _) => Ok(Self::Whole(Column::Xpos)),
            ("deprel", _) => Ok(Self::Whole(Column::Deprel)),
            (_, Some(("feats", name))) if named(name) => Ok(Self::Feature(name.into())),
            (_, Some(("misc", key))) if named(key) => Ok(Self::Misc(key.into())),
            _ => Err("expected upos, xpos, deprel, feats.NAME or misc.KEY".into()),
        }
    }
}

impl fmt::Display for TagTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(column) => f.write_str(&column.name().to_lowercase()),
            Self::Feature(name) => write!(f, "feats.{name}"),
            Self::Misc(key) => write!(f, "misc.{key}"),
        }
    }
}

/// Returns the target from which training read its labels.
fn target_of_training(task: Option<&str>, model: &TaggerModel) -> Result<TagTarget, ModelMismatch> {
    let place = model.place().display();
    let Some(saved) = model.saved() else {
        let labels = model.labels();
        if labels.iter().all(|label| Upos::from_str(label).is_ok()) {
            return Ok(TagTarget::Whole(Column::Upos));
        }
        let some: Vec<&str> = labels.iter().take(3).map(String::as_str).collect();
        let more = match labels.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return Err(ModelMismatch(format!(
            "{place}: its labels ({}{more}) are not all universal parts of speech; choose where they are written, such as \
             --column xpos or --column misc.NER, or use --output tsv",
            some.join(", ")
        )));
    };
    let asked = |name: &String| task.is_none_or(|task| task == name);
    let labels: BTreeSet<&str> =
        saved.tasks.iter().filter(|(name, _)| asked(name)).map(|(_, labels)| labels.as_str()).collect();
    let labels: Vec<&str> = labels.into_iter().collect();
    match labels[..] {
        [one] => one.parse().map_err(|_| {
            ModelMismatch(format!(
                "{place}: CoNLL-U has no column for its labels (`{one}`); choose where they are written, such as \
                 --column misc.NER, or use --output tsv"
            ))
        }),
        _ => Err(ModelMismatch(format!(
            "{place}: its head is shared by tasks with labels of several kinds ({}); choose with --task or --column",
            labels.join(", ")
        ))),
    }
}

impl TagTarget {
    /// Returns the requested target, or by default the column from which training read the labels of a model's task.
    ///
    /// # Errors
    /// If there is no default target, or a label cannot be written to the target.
    pub fn choose(
        asked: Option<&Self>,
        task: Option<&str>,
        model: &TaggerModel,
    ) -> Result<Self, ModelMismatch> {
        let target = match asked {
            Some(asked) => asked.clone(),
            None => target_of_training(task, model)?,
        };
        match target.unwritable_label(model.labels()) {
            Some(reason) => Err(ModelMismatch(format!("{}: {reason}", model.place().display()))),
            None => Ok(target),
        }
    }

    /// Why a label cannot be written to this target, if there is such a label.
    fn unwritable_label(&self, labels: &[String]) -> Option<String> {
        if let Some((label, fault)) = labels.iter().find_map(|label| Some((label, self.row_fault(label)?))) {
            return Some(format!(
                "its label {label:?} cannot be written to {self} ({fault}); rename it in the model's config.json"
            ));
        }
        if matches!(self, Self::Whole(_)) {
            return None;
        }
        let label = labels.iter().find(|label| label.contains('|'))?;
        let column = self.edited_columns(false)[0];
        Some(format!(
            "its label `{label}` would be several items of {column}, which `|` separates, so it cannot be written to \
             {self}; use --column xpos or --output tsv"
        ))
    }

    /// What `frostline conllu check` would find in a row with a label, if anything.
    fn row_fault(&self, label: &str) -> Option<String> {
        let answer = Answer { tag: label, probability: 0.0 };
        let mut row = ["1", "word", "_", "_", "_", "_", "_", "_", "_", "_"];
        // Without a probability, the label is at the end of MISC.
        let edits = self.row_edits(["_", "_"], &answer, false);
        for (column, value) in &edits {
            row[*column as usize] = value;
        }
        let mut writer = Writer::new(Vec::new());
        if let Err(error) = writer.row(&row).and_then(|()| writer.end()) {
            return Some(error.to_string());
        }
        let fault = read_strict(&writer.into_inner(), Checks::default()).find_map(Result::err)?;
        Some(fault.to_string())
    }

    /// Returns the columns that change and their new values, given a word's FEATS and MISC.
    #[must_use]
    pub fn row_edits(
        &self,
        [feats, misc]: [&str; 2],
        answer: &Answer<'_>,
        probability: bool,
    ) -> Vec<(Column, String)> {
        let tag = Some(answer.tag).filter(|tag| *tag != NO_TAG);
        let mut edits = Vec::new();
        let mut misc_now = None;
        match (self, tag) {
            (Self::Whole(column), _) => edits.push((*column, answer.tag.to_owned())),
            (Self::Feature(name), tag) => {
                let value = tag.filter(|tag| *tag != NO_FEATURE);
                edits.push((Column::Feats, with_feature(feats, name, value)));
            }
            (Self::Misc(key), Some(tag)) => misc_now = Some(with_annotation(misc, key, tag)),
            (Self::Misc(_), None) => {}
        }
        if probability && tag.is_some() {
            let misc = misc_now.as_deref().unwrap_or(misc);
            let value = format!("{:.4}", answer.probability);
            misc_now = Some(with_annotation(misc, &self.probability_key(), &value));
        }
        edits.extend(misc_now.map(|misc| (Column::Misc, misc)));
        edits
    }

    /// Returns the columns that [`Self::row_edits`] may change.
    #[must_use]
    pub fn edited_columns(&self, probability: bool) -> Vec<Column> {
        let mut columns = vec![match self {
            Self::Whole(column) => *column,
            Self::Feature(_) => Column::Feats,
            Self::Misc(_) => Column::Misc,
        }];
        if probability && columns[0] != Column::Misc {
            columns.push(Column::Misc);
        }
        columns
    }

    /// The key of the probability in MISC.
    fn probability_key(&self) -> String {
        match self {
            Self::Whole(column) => {
                let name = column.name();
                format!("{}{}Prob", &name[..1], name[1..].to_lowercase())
            }
            Self::Feature(name) | Self::Misc(name) => format!("{name}Prob"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_written_to_their_target() {
        let edits = |target: &str, tag, [feats, misc]: [&str; 2]| {
            let target: TagTarget = target.parse().unwrap();
            let answer = Answer { tag, probability: 0.98769 };
            let edits = target.row_edits([feats, misc], &answer, true);
            assert!(edits.iter().all(|(column, _)| target.edited_columns(true).contains(column)));
            edits.iter().map(|(column, value)| format!("{column}={value}")).collect::<Vec<_>>().join(" ")
        };
        let odd = ["Case=Nom", "SpaceAfter=No"];
        assert_eq!(edits("upos", "NOUN", odd), "UPOS=NOUN MISC=SpaceAfter=No|UposProb=0.9877");
        assert_eq!(edits("upos", NO_TAG, odd), "UPOS=_");
        assert_eq!(
            edits("feats.Number", "Sing", odd),
            "FEATS=Case=Nom|Number=Sing MISC=SpaceAfter=No|NumberProb=0.9877"
        );
        assert_eq!(edits("feats.Case", "none", odd), "FEATS=_ MISC=SpaceAfter=No|CaseProb=0.9877");
        assert_eq!(edits("misc.NER", "B-LOC", ["_", "_"]), "MISC=NER=B-LOC|NERProb=0.9877");
        assert_eq!(edits("misc.NER", NO_TAG, ["_", "_"]), "");
        for bad in ["", "UPOS", "feats", "feats.", "misc.a=b", "lemma", "misc.a|b"] {
            assert!(TagTarget::from_str(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_label_that_cannot_be_written_is_reported() {
        let misfit = |target: &str, label: &str| {
            let target: TagTarget = target.parse().unwrap();
            target.unwritable_label(&["NOUN".into(), label.into()])
        };
        for target in ["feats.Tag", "misc.Tag"] {
            let reason = misfit(target, "NN|UTR|SIN").unwrap();
            assert!(reason.contains("`NN|UTR|SIN`") && reason.contains(target), "{reason}");
        }
        for target in ["upos", "xpos", "deprel", "feats.Tag", "misc.Tag"] {
            assert!(misfit(target, "N\tN").unwrap().contains("\"N\\tN\""));
            // What `check` would refuse.
            for bad in ["N\nN", "N ", "N  N", "N\u{1c}", "N\u{a0}"] {
                assert!(misfit(target, bad).is_some(), "{target} {bad:?}");
            }
            assert_eq!(misfit(target, "N N").is_some(), target != "misc.Tag");
            assert_eq!(misfit(target, "B-LOC"), None);
            assert_eq!(target.parse::<TagTarget>().unwrap().to_string(), target);
        }
        assert_eq!(misfit("xpos", "NN|UTR|SIN"), None);
    }
}
