//! The places in CoNLL-U that several taggers fill at the same time.

use frostline_conllu::Column;

use crate::answer::Answer;
use crate::target::TagTarget;

/// One place for each of several taggers; no two are the same.
#[derive(Clone, Debug)]
pub struct TagTargets(Vec<TagTarget>);

/// The numbers of two taggers that would fill the same place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("taggers {} and {} both fill {target}", .taggers[0] + 1, .taggers[1] + 1)]
pub struct SameTarget {
    /// The taggers' numbers, from 0.
    pub taggers: [usize; 2],
    /// The place.
    pub target: TagTarget,
}

impl TagTargets {
    /// Returns the targets if each is another place.
    ///
    /// # Errors
    /// If two are the same.
    pub fn new(targets: Vec<TagTarget>) -> Result<Self, SameTarget> {
        for (second, target) in targets.iter().enumerate() {
            if let Some(first) = targets[..second].iter().position(|earlier| earlier == target) {
                return Err(SameTarget { taggers: [first, second], target: target.clone() });
            }
        }
        Ok(Self(targets))
    }

    /// Returns the columns that change and their new values, given a word's FEATS and MISC and the answer of each tagger.
    #[must_use]
    pub fn row_edits(
        &self,
        [feats, misc]: [&str; 2],
        answers: &[Answer<'_>],
        probability: bool,
    ) -> Vec<(Column, String)> {
        let mut edits: Vec<(Column, String)> = Vec::new();
        for (target, answer) in self.0.iter().zip(answers) {
            let now = |column, before| {
                let edit = edits.iter().find(|(edited, _)| *edited == column);
                edit.map_or(before, |(_, value)| value.as_str())
            };
            let present = [now(Column::Feats, feats), now(Column::Misc, misc)];
            for (column, value) in target.row_edits(present, answer, probability) {
                match edits.iter_mut().find(|(edited, _)| *edited == column) {
                    Some((_, edited)) => *edited = value,
                    None => edits.push((column, value)),
                }
            }
        }
        edits
    }

    /// Returns the columns that [`Self::row_edits`] may change, each once.
    #[must_use]
    pub fn edited_columns(&self, probability: bool) -> Vec<Column> {
        let mut columns = Vec::new();
        for column in self.0.iter().flat_map(|target| target.edited_columns(probability)) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(names: &[&str]) -> Result<TagTargets, SameTarget> {
        TagTargets::new(names.iter().map(|name| name.parse().expect("a target")).collect())
    }

    #[test]
    fn taggers_fill_one_row_together() {
        let all = targets(&["upos", "feats.Case", "feats.Number", "misc.NER"]).expect("four places");
        let answers = ["NOUN", "Nom", "none", "B-LOC"].map(|tag| Answer { tag, probability: 0.5 });
        let edits = all.row_edits(["Number=Sing", "SpaceAfter=No"], &answers, false);
        let edits: Vec<String> = edits.iter().map(|(column, value)| format!("{column}={value}")).collect();
        assert_eq!(edits, ["UPOS=NOUN", "FEATS=Case=Nom", "MISC=SpaceAfter=No|NER=B-LOC"]);
        let edits = all.row_edits(["_", "_"], &answers, true);
        let misc = &edits.iter().find(|(column, _)| *column == Column::Misc).expect("probabilities").1;
        assert_eq!(misc, "UposProb=0.5000|CaseProb=0.5000|NumberProb=0.5000|NER=B-LOC|NERProb=0.5000");
        assert_eq!(all.edited_columns(false), [Column::Upos, Column::Feats, Column::Misc]);
    }

    #[test]
    fn two_taggers_never_fill_one_place() {
        let same = targets(&["upos", "xpos", "upos"]).expect_err("two fill upos");
        assert_eq!(same.taggers, [0, 2]);
        assert_eq!(same.to_string(), "taggers 1 and 3 both fill upos");
    }
}
