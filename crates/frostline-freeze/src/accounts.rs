//! Accounts: the numbers of all and of trainable parameters of a model.

use crate::{Group, ResolvedPolicy};

/// A parameter tensor: its path and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Dotted path, for example `encoder.blocks.3.query.weight`.
    pub path: String,
    /// The shape of the parameter.
    pub shape: Vec<usize>,
}

impl Parameter {
    /// Returns how many numbers it holds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.shape.iter().map(|&side| side as u64).product()
    }
}

/// The account of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The group.
    pub group: Group,
    /// Numbers in it.
    pub total: u64,
    /// Number of trainable parameters.
    pub trainable: u64,
}

/// The accounts of a model under a policy, one row per group from input to output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounts {
    /// One row per group.
    pub groups: Vec<Account>,
}

impl Accounts {
    /// Counts parameters under a policy.
    #[must_use]
    pub fn of<'a>(parameters: impl IntoIterator<Item = &'a Parameter>, policy: &ResolvedPolicy) -> Self {
        let mut groups: Vec<Account> = Vec::new();
        for parameter in parameters {
            let group = Group::of(&parameter.path);
            let at = groups.iter().position(|row| row.group == group).unwrap_or_else(|| {
                groups.push(Account { group, total: 0, trainable: 0 });
                groups.len() - 1
            });
            groups[at].total += parameter.count();
            if !policy.freezes(&parameter.path) {
                groups[at].trainable += parameter.count();
            }
        }
        groups.sort_by_key(|row| row.group);
        Self { groups }
    }

    /// Returns all numbers.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.groups.iter().map(|row| row.total).sum()
    }

    /// Returns the number of trainable parameters.
    #[must_use]
    pub fn trainable(&self) -> u64 {
        self.groups.iter().map(|row| row.trainable).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_add_up() {
        let parameter = |path: &str, shape: &[usize]| Parameter { path: path.into(), shape: shape.into() };
        let model = [
            parameter("heads.0.classifier.weight", &[4, 3]),
            parameter("encoder.embeddings.word", &[10, 4]),
            parameter("encoder.blocks.0.query.weight", &[4, 4]),
            parameter("encoder.blocks.1.query.weight", &[4, 4]),
        ];
        let accounts = Accounts::of(&model, &ResolvedPolicy::parse("first-1", 2).unwrap());
        assert_eq!((accounts.total(), accounts.trainable()), (84, 68));
        let order: Vec<String> = accounts.groups.iter().map(|row| row.group.to_string()).collect();
        assert_eq!(order, ["embeddings", "block 0", "block 1", "head"]);
    }
}
