//! `frostline params`: how many numbers an encoder has, and how many learn under a policy.

use std::fmt::Write as _;

use frostline_record::Accounts;

/// The accounts as a table.
#[must_use]
pub fn table(accounts: &Accounts) -> String {
    let mut out = format!("{:<12} {:>15} {:>15} {:>9}\n", "", "parameters", "trainable", "share");
    let mut row = |name: &str, total: u64, trainable: u64| {
        let share = 100.0 * trainable as f64 / total.max(1) as f64;
        let _ = writeln!(out, "{name:<12} {:>15} {:>15} {share:>7.2} %", grouped(total), grouped(trainable));
    };
    for group in &accounts.groups {
        row(&group.group, group.total, group.trainable);
    }
    row("total", accounts.total, accounts.trainable);
    out
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (134_741_770, "134,741,770")];
        for (number, text) in cases {
            assert_eq!(super::grouped(number), text);
        }
    }
}
