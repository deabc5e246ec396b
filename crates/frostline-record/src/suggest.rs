//! Suggestions for keys that do not exist.

/// Names that other programs have for a setting.
const ELSEWHERE: [(&str, &str); 6] = [
    ("learning_rate", "optimizer.lr"),
    ("batch_size", "train.batch"),
    ("num_epochs", "train.epochs"),
    ("num_train_epochs", "train.epochs"),
    ("warmup_ratio", "schedule.warmup"),
    ("model", "encoder.name"),
];

/// Returns the setting that an unknown path may mean: the same last part at another place, another program's
/// name, or a typing error. Returns `None` if several could be meant. `known` are the paths of all settings.
pub(crate) fn suggest_setting(path: &str, known: &[String]) -> Option<String> {
    let last = last_part(path);
    let same: Vec<&String> =
        known.iter().filter(|known| last_part(known) == last && *known != path).collect();
    if let [only] = same.as_slice() {
        return Some((*only).clone());
    }
    if let Some((_, known)) = ELSEWHERE.iter().find(|(other, _)| *other == last) {
        return Some((*known).into());
    }
    nearest_word(path, known.iter().map(String::as_str))
        .or_else(|| {
            nearest_word(last, known.iter().map(|known| last_part(known))).and_then(|part| {
                let mut found = known.iter().filter(|known| last_part(known) == part);
                found.next().filter(|_| found.next().is_none()).map(String::as_str)
            })
        })
        .map(String::from)
}

/// Returns the next step after an error of the TOML parser: a similar key, or how to add the schema.
pub(crate) fn next_step(message: &str, schema: u32, known: &[String]) -> Option<String> {
    if message.contains("missing field `schema`") {
        return Some(format!(
            "add the line `schema = {schema}` at the top: it is the version of the file's format"
        ));
    }
    let (_, rest) = message.split_once("unknown field `")?;
    let (field, expected) = rest.split_once('`')?;
    let names = expected.split('`').skip(1).step_by(2);
    if let Some(near) = nearest_word(field, names) {
        return Some(format!("did you mean `{near}`?"));
    }
    let found = suggest_setting(field, known)?;
    let (section, key) = found.rsplit_once('.')?;
    Some(format!("did you mean `{found}`? It is the key `{key}` in the section [settings.{section}]"))
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Returns the only one of these that is at most a letter in four away.
fn nearest_word<'a>(word: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 4).max(1);
    let mut near: Vec<(usize, &str)> = all.map(|other| (edit_distance(word, other), other)).collect();
    near.retain(|(far, other)| *far <= most && *far < other.chars().count());
    near.sort_unstable();
    near.dedup();
    match near.as_slice() {
        [] => None,
        [(first, _), (second, _), ..] if first == second => None,
        [(_, found), ..] => Some(found),
    }
}

/// Returns how many letters must be added, removed, replaced or swapped with the next one.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + differs);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use crate::{Plan, Settings};

    use super::*;

    #[test]
    fn short_and_misspelt_paths_have_a_suggestion() {
        for (path, expected) in [
            ("lr", Some("optimizer.lr")),
            ("epochs", Some("train.epochs")),
            ("train.lr", Some("optimizer.lr")),
            ("optimzer.lr", Some("optimizer.lr")),
            ("optimizer.weigth_decay", Some("optimizer.weight_decay")),
            ("train.epoch", Some("train.epochs")),
            ("learning_rate", Some("optimizer.lr")),
            ("seeds", Some("seed")),
            // No setting is like these, and several parts have a switch of this name.
            ("optimizer.momentum", None),
            ("jobs", None),
            ("kind", None),
        ] {
            assert_eq!(suggest_setting(path, &Settings::paths()).as_deref(), expected, "{path}");
        }
        for (_, known) in ELSEWHERE {
            assert!(Settings::default().get(known).is_some(), "{known}");
        }
    }

    #[test]
    fn a_plan_says_what_to_write_instead() {
        let start = "schema = 4\nname = 'x'\ntreebanks = { en = 'UD_English-EWT' }\n";
        let error = |text: &str| Plan::parse(text, "x.toml").expect_err(text).to_string();
        for (rest, expected) in [
            (
                "lr = 1e-3",
                "did you mean `optimizer.lr`? It is the key `lr` in the section [settings.optimizer]",
            ),
            ("[settings]\nlr = 1e-3", "did you mean `optimizer.lr`?"),
            ("[settings.optimizer]\nbetas1 = 0.9", "did you mean `beta1`?"),
            ("[setings]\nseed = 1", "did you mean `settings`?"),
        ] {
            let error = error(&format!("{start}{rest}"));
            assert!(error.ends_with(expected) || error.contains(expected), "{error}");
        }
        let missing = error("name = 'x'\ntreebanks = { en = 'UD_English-EWT' }\n");
        assert!(missing.contains("add the line `schema = 4` at the top"), "{missing}");
        let mut plan = Plan::parse(start, "x.toml").expect("a plan");
        let error = plan.assign("lr=1e-3").expect_err("no such setting").to_string();
        assert!(
            error.starts_with("there is no setting `lr` (did you mean `optimizer.lr`?); here"),
            "{error}"
        );
    }
}
