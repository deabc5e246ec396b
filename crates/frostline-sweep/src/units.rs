//! Formats numbers for readers.

/// Formats seconds as `3:07` or `1:02:03`.
pub fn format_clock(seconds: f64) -> String {
    let whole = if seconds.is_finite() { seconds.max(0.0).round() as u64 } else { 0 };
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Formats a number of bytes as `532 B`, `12.3 kB` or `541.8 MB`.
pub fn format_bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// Formats a number with thousands separators, as `134,741,770`.
pub fn group_thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a rate as `950` or `12.3k`.
pub fn format_rate(rate: f64) -> String {
    if rate < 1000.0 { format!("{rate:.0}") } else { format!("{:.1}k", rate / 1000.0) }
}

/// Formats a number with its noun, as `1 cell` or `2 cells`.
pub fn count_noun(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(format_clock(187.2), "3:07");
        assert_eq!(format_clock(3723.0), "1:02:03");
        assert_eq!(format_clock(f64::NAN), "0:00");
        assert_eq!(format_bytes(999), "999 B");
        assert_eq!(format_bytes(541_800_000), "541.8 MB");
        assert_eq!(group_thousands(134_741_770), "134,741,770");
        assert_eq!(group_thousands(7), "7");
        assert_eq!(format_rate(12_345.0), "12.3k");
        assert_eq!(count_noun(1, "cell"), "1 cell");
    }
}
