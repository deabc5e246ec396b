//! How numbers look in pages, tables and figures. A standard deviation that one seed cannot give is omitted.

use frostline_score::MeanStd;

/// Shown in place of a missing number.
pub(crate) const NONE: &str = "–";

/// A number with a fixed count of decimals, a true minus sign and no negative zero.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let text = format!("{:.decimals$}", value.abs());
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if value < 0.0 && !zero { "−" } else { "" };
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{sign}{}{dot}{rest}", grouped(whole))
}

/// The same with a plus sign if it is above zero.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if value > 0.0 && !zero { format!("+{text}") } else { text }
}

/// A count with thousands separated: `134,741,770`.
pub(crate) fn count(value: impl Into<i128>) -> String {
    let value = value.into();
    let sign = if value < 0 { "−" } else { "" };
    sign.to_string() + &grouped(&value.unsigned_abs().to_string())
}

/// `96.36 ± 0.05`, or `96.36` if one seed gives no spread.
pub(crate) fn plus_minus(stat: MeanStd, decimals: usize) -> String {
    mean_with_spread(fixed(stat.mean, decimals), stat, decimals)
}

/// `+0.36 ± 0.05`.
pub(crate) fn signed_plus_minus(stat: MeanStd, decimals: usize) -> String {
    mean_with_spread(signed(stat.mean, decimals), stat, decimals)
}

/// Decimals that leave about three digits to see.
pub(crate) fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    }
}

/// `1 seed`, `3 seeds`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {noun}{s}", self::count(count as u64))
}

/// Words at the start of a sentence.
pub(crate) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Words joined as in a sentence: `a, b and c`.
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

fn mean_with_spread(mean: String, stat: MeanStd, decimals: usize) -> String {
    match stat.std {
        Some(std) => format!("{mean} ± {}", fixed(std, decimals)),
        None => mean,
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_a_paper() {
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(-1234.5, 1), "−1,234.5");
        assert_eq!(fixed(f64::NAN, 2), NONE);
        assert_eq!(signed(0.25, 1), "+0.2");
        assert_eq!(signed(0.0, 1), "0.0");
        assert_eq!(count(134_741_770_u64), "134,741,770");
        assert_eq!(count(999_u64), "999");
        let stat = MeanStd::of(&[1.0, 2.0]).expect("two values");
        assert_eq!(plus_minus(stat, 1), "1.5 ± 0.7");
        assert_eq!(plural(1, "seed"), "1 seed");
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
