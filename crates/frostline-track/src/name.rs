//! Names of folders.

use crate::Run;

/// Returns the name of a run's folder: the run's name without characters that file names cannot contain, and
/// the start of its id.
pub(crate) fn folder_name(run: &Run) -> String {
    let safe = |letter: char| if letter.is_alphanumeric() || "._+-".contains(letter) { letter } else { '-' };
    let name: String = run.name.chars().take(100).map(safe).collect();
    let id = run.id.get(..8).unwrap_or(&run.id);
    format!("{}-{id}", name.trim_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_any_letters_becomes_one_folder() {
        let of = |name: &str| folder_name(&Run { name: name.into(), ..crate::tests::run(0) });
        assert_eq!(of("en first-2 s42"), "en-first-2-s42-0123abcd");
        assert_eq!(of("../../etc"), "-..-etc-0123abcd");
        assert_eq!(of("a\\b:c\n"), "a-b-c--0123abcd");
    }
}
