//! A curve in a line of text.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the curve through these points in at most `width` characters: each is the mean of its share of the
/// horizontal axis, between the curve's least and greatest value. A share without a point repeats the one
/// before it.
pub(crate) fn draw_sparkline(points: &[(f64, f64)], width: usize) -> String {
    let finite: Vec<(f64, f64)> = points.iter().copied().filter(|(_, value)| value.is_finite()).collect();
    let (Some(first), Some(last)) = (finite.first(), finite.last()) else { return String::new() };
    let width = width.min(finite.len());
    let span = (last.0 - first.0).max(f64::MIN_POSITIVE);
    let mut shares = vec![(0.0, 0_u32); width];
    for (at, value) in &finite {
        let share = ((at - first.0) / span * width as f64) as usize;
        let (sum, count) = &mut shares[share.min(width - 1)];
        *sum += value;
        *count += 1;
    }
    let mut before = first.1;
    let means: Vec<f64> = shares
        .iter()
        .map(|(sum, count)| {
            if *count > 0 {
                before = sum / f64::from(*count);
            }
            before
        })
        .collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let range = means.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least;
    let level = |mean: &f64| match range > 0.0 {
        true => LEVELS[((mean - least) / range * 7.0).round() as usize],
        false => LEVELS[0],
    };
    means.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_fills_its_width_and_keeps_its_shape() {
        let falling: Vec<(f64, f64)> = (0..100).map(|at| (f64::from(at), f64::from(100 - at))).collect();
        assert_eq!(draw_sparkline(&falling, 8), "█▇▆▅▄▃▂▁");
        assert_eq!(draw_sparkline(&falling[..3], 8), "█▅▁");
        assert_eq!(draw_sparkline(&[(1.0, 2.0)], 8), "▁");
        assert_eq!(draw_sparkline(&[(1.0, f64::NAN)], 8), "");
        assert_eq!(draw_sparkline(&[], 8), "");
        assert_eq!(draw_sparkline(&[(1.0, 5.0), (2.0, 5.0)], 8), "▁▁");
        // Points close to one end leave parts of the width without points.
        assert_eq!(draw_sparkline(&[(0.0, 1.0), (1.0, 2.0), (99.0, 3.0), (100.0, 9.0)], 4), "▁▁▁█");
    }
}
