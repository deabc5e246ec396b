//! Owns `blocks.csv`: what freezing each block costs.
//!
//! Refuses rounding, as all CSV files do.

use crate::Report;
use crate::csv::{float, row};
use crate::subsets;
use crate::summary::NOTHING;

/// `blocks.csv`: a row per language, combination of further axes and block.
pub(crate) fn blocks(report: &Report) -> String {
    let mut head: Vec<String> = ["synthetic", "lang"].map(String::from).to_vec();
    head.extend(report.axes().into_iter().map(String::from));
    head.extend(
        [
            "block",
            "shapley_loss",
            "standard_error",
            "low",
            "high",
            "error_over",
            "regression_loss",
            "regression_error",
            "seeds",
        ]
        .map(String::from),
    );
    let mut text = row(&head);
    for worth in subsets::worths(report) {
        let number = |value: Option<f64>| value.map_or_else(String::new, float);
        let mut fields = vec![report.synthetic().to_string(), worth.lang.clone()];
        fields.extend(worth.extras.iter().map(|v| if v == NOTHING { String::new() } else { v.clone() }));
        fields.extend([worth.block.to_string(), float(worth.shapley_loss), number(worth.standard_error)]);
        fields.extend([0, 1].map(|end| number(worth.interval.map(|ends| ends[end]))));
        fields.extend([worth.error_over.unwrap_or_default().into(), float(worth.regression_loss)]);
        fields.extend([number(worth.regression_error), worth.seeds.to_string()]);
        text += &row(&fields);
    }
    text
}
