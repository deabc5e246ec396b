//! A sample sentence as the model reads it: words, subwords and labels, aligned in columns.

use console::measure_text_width;
use frostline_record::Sample;

/// The mark of a subword that carries no label.
const NO_LABEL: &str = "·";

/// Subwords of a sentence that are shown at most.
const MOST_SUBWORDS: usize = 80;

/// Renders a sample in lines of at most `width` columns.
pub(crate) fn render_sample(sample: &Sample, width: usize) -> String {
    let words = words_over_subwords(sample);
    let rows = [("words", words), ("subwords", sample.subwords.clone()), ("labels", label_rows(sample))];
    let count = sample.subwords.len().min(MOST_SUBWORDS);
    let room = width.saturating_sub(10).max(20);
    let width_of = |column: usize| {
        let cell = |row: &(&str, Vec<String>)| row.1.get(column).map_or(0, |text| measure_text_width(text));
        rows.iter().map(cell).max().unwrap_or(0)
    };
    let mut text = String::new();
    let mut first = 0;
    while first < count {
        let mut used = 0;
        let mut last = first;
        while last < count && (last == first || used + width_of(last) <= room) {
            used += width_of(last) + 2;
            last += 1;
        }
        for (name, row) in &rows {
            let mut line = format!("{name:<10}");
            for (column, cell) in row.iter().enumerate().take(last).skip(first) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width_of(column) + 2 - measure_text_width(cell)));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        first = last;
        if first < count {
            text.push('\n');
        }
    }
    let left = sample.subwords.len() - count;
    if left > 0 {
        text.push_str(&format!("{:<10}and {left} more subwords\n", ""));
    }
    text
}

/// Places each word above the subword that carries its label. If a word has no such subword (it was truncated or
/// vanished), the words cannot be assigned to subwords, and all of them are placed above the first column.
fn words_over_subwords(sample: &Sample) -> Vec<String> {
    let labelled = sample.labels.iter().filter(|label| !label.is_empty()).count();
    let mut words = sample.words.iter();
    if labelled != sample.words.len() {
        let mut shown = sample.words.clone();
        if shown.len() > MOST_SUBWORDS {
            shown.truncate(MOST_SUBWORDS);
            shown.push("…".into());
        }
        return vec![shown.join(" ")];
    }
    sample
        .labels
        .iter()
        .map(|label| if label.is_empty() { None } else { words.next() })
        .map(|word| word.cloned().unwrap_or_default())
        .collect()
}

fn label_rows(sample: &Sample) -> Vec<String> {
    let shown = |label: &String| if label.is_empty() { NO_LABEL.into() } else { label.clone() };
    sample.labels.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rows: &[(&str, &str)], words: &[&str]) -> Sample {
        Sample {
            words: words.iter().map(ToString::to_string).collect(),
            subwords: rows.iter().map(|row| row.0.to_string()).collect(),
            labels: rows.iter().map(|row| row.1.to_string()).collect(),
        }
    }

    #[test]
    fn columns_align_and_wrap() {
        let rows = [
            ("[CLS]", ""),
            ("the", "DET"),
            ("glac", "NOUN"),
            ("##ier", ""),
            ("thaws", "VERB"),
            ("[SEP]", ""),
        ];
        let sample = sample(&rows, &["The", "glacier", "thaws"]);
        insta::assert_snapshot!(format!("{}---\n{}", render_sample(&sample, 80), render_sample(&sample, 34)), @r"
        words            The  glacier         thaws
        subwords  [CLS]  the  glac     ##ier  thaws  [SEP]
        labels    ·      DET  NOUN     ·      VERB   ·
        ---
        words            The  glacier
        subwords  [CLS]  the  glac
        labels    ·      DET  NOUN

        words            thaws
        subwords  ##ier  thaws  [SEP]
        labels    ·      VERB   ·
        ");
    }

    #[test]
    fn only_the_beginning_of_a_long_sentence_is_shown() {
        let rows: Vec<(String, &str)> = (0..4000).map(|number| (number.to_string(), "NUM")).collect();
        let rows: Vec<(&str, &str)> = rows.iter().map(|(word, label)| (word.as_str(), *label)).collect();
        let words: Vec<&str> = rows.iter().map(|row| row.0).collect();
        let shown = render_sample(&sample(&rows, &words), 80);
        assert!(shown.lines().count() < 40 && shown.ends_with("and 3920 more subwords\n"), "{shown}");
        let lost = render_sample(&sample(&rows[1..], &words), 80);
        assert!(lost.len() < 2000 && lost.contains("78 79 …"), "{lost}");
    }

    #[test]
    fn a_lost_word_does_not_shift_the_others() {
        let sample = sample(&[("[CLS]", ""), ("a", "DET"), ("[SEP]", "")], &["A", "\u{200b}"]);
        assert_eq!(words_over_subwords(&sample).len(), 1);
    }
}
