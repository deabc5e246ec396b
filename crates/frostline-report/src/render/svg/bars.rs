//! Bars with their intervals, and dots if an axis does not start at zero.

use frostline_score::MeanStd;

use crate::chart::{Bar, BarPanel, BarRow, Bars, Figure, Lengths};
use crate::number::{fixed, plus_minus, signed};
use crate::render::svg::canvas::{Anchor, PartLabel, PointShape, Svg, text_width};
use crate::render::svg::scale::{Scale, Spacing, nice_step, tick_decimals};
use crate::render::svg::sheet::{Area, Drawing, Frame, LABEL, REFERENCE, Sheet, TICK, notes, widest_label};
use crate::render::svg::style::{COLOURS, GRID, INK, Style, tone_style};

/// The height of the legend above a plot, and of a reference's line in it.
const LEGEND: f64 = 28.0;
const LINE: f64 = 18.0;
/// Room between the rows of groups.
const GAP: f64 = 11.0;
/// The size of a dot.
const DOT: f64 = 4.5;

/// Sizes in pixels, by what bars measure.
struct BarSizes {
    /// The height of a bar's row, and the share of it that the bar takes.
    row: f64,
    thick: f64,
    gap: f64,
    /// Room for names at the left, for the plot, and for numbers at the right.
    left: f64,
    names: f64,
    plot: f64,
    number: f64,
    /// The least room between two named values.
    ticks: f64,
}

impl BarSizes {
    fn of(bars: &Bars) -> Self {
        let rows =
            widest_label(bars.panels.iter().flat_map(|panel| &panel.rows).map(|row| row.name.as_str()));
        let most = bars.panels.iter().map(|panel| panel.rows.len()).max().unwrap_or(0);
        let row = if most > 10 { 24.0 } else { 36.0 };
        let all = bars.panels.iter().flat_map(|panel| &panel.rows).flat_map(|row| &row.bars);
        let names = all.map(|bar| text_width(&bar.name, TICK.size)).fold(0.0, f64::max);
        let single = Self {
            row,
            thick: 0.6,
            gap: 0.0,
            left: rows + 10.0,
            names: 10.0,
            plot: 270.0,
            number: 108.0,
            ticks: 46.0,
        };
        match bars.lengths {
            Lengths::Shares => single,
            Lengths::Groups => Self {
                row: 21.0,
                thick: 0.72,
                gap: GAP,
                left: rows + names + 24.0,
                names: names + 24.0,
                ..single
            },
            Lengths::Differences => {
                Self { row: 30.0, left: (rows + 10.0).max(86.0), plot: 300.0, number: 64.0, ..single }
            }
        }
    }

    fn row_height(&self, row: &BarRow) -> f64 {
        row.bars.len().max(1) as f64 * self.row + self.gap
    }

    fn height(&self, panel: &BarPanel) -> f64 {
        panel.rows.iter().map(|row| self.row_height(row)).sum()
    }
}

/// The least room between a label and a line next to it.
const CLEAR: f64 = 4.0;

/// Draws bars.
pub(super) fn draw_bars(frame: Frame<'_>, figure: &Figure, bars: &Bars) -> Drawing {
    let look = BarSizes::of(bars);
    let references = bars.panels.iter().map(|panel| panel.references.len()).max().unwrap_or(0);
    let legends = LEGEND + references as f64 * LINE;
    let least = if bars.panels.iter().any(|panel| !panel.rows.is_empty()) { 0.0 } else { look.row };
    let tallest = bars.panels.iter().map(|panel| look.height(panel)).fold(least, f64::max);
    let size = (look.left + look.plot + look.number, legends + tallest + 70.0);
    let titles: Vec<&str> = bars.panels.iter().map(|panel| panel.title.as_str()).collect();
    let mut sheet = Sheet::new(frame, figure, &titles, size);
    for (i, panel) in bars.panels.iter().enumerate() {
        let area = sheet.area(i);
        let range = axis_range(bars, &panel.kind);
        draw_legend(&mut sheet, area, bars, panel);
        let plot = Area {
            x: area.x + look.left,
            y: area.y + legends,
            width: area.width - look.left - look.number,
            height: look.height(panel),
        };
        draw_panel(&mut sheet, frame, bars, panel, plot, &look, range);
        reference_lines(&mut sheet, area, panel, plot, range);
    }
    sheet.finish(notes(figure, Spacing::Even, (Spacing::Even, (0.0, 1.0))))
}

/// From where to where the axis reaches that panels of a kind share, in percent.
fn axis_range(bars: &Bars, kind: &str) -> (f64, f64) {
    let alike = || bars.panels.iter().filter(|panel| panel.kind == kind);
    let all = || alike().flat_map(|panel| &panel.rows).flat_map(|row| &row.bars);
    if bars.lengths != Lengths::Differences {
        let range = share_range(all());
        // A reference above all bars widens the axis; one far below them does not.
        let references = alike().flat_map(|panel| &panel.references).map(|(_, value)| value * 100.0);
        return (range.0, references.fold(range.1, f64::max));
    }
    let ends = all().flat_map(|bar| {
        let [low, high] = bar.interval.unwrap_or([bar.value.mean; 2]);
        [low, high, bar.diamond.unwrap_or(low)]
    });
    let widen = |(low, high): (f64, f64), end: f64| (low.min(end * 100.0), high.max(end * 100.0));
    ends.fold((0.0, 0.0), widen)
}

/// Both ends of an axis of shares, in percent; it starts at 0 unless the differences would be lost.
fn share_range<'a>(bars: impl Iterator<Item = &'a Bar>) -> (f64, f64) {
    let bars: Vec<&Bar> = bars.collect();
    let ends = |sign: f64| {
        bars.iter().flat_map(move |bar| {
            let spread = bar.value.mean + sign * bar.value.std.unwrap_or(0.0);
            let interval = bar.interval.map(|ends| if sign < 0.0 { ends[0] } else { ends[1] });
            [Some(spread), interval].into_iter().flatten()
        })
    };
    let low = ends(-1.0).fold(1.0, f64::min) * 100.0;
    let high = (ends(1.0).fold(0.0, f64::max) * 100.0).min(100.0);
    if high <= 0.0 {
        return (0.0, 100.0);
    }
    // The shortest bar keeps a quarter of the length of the longest.
    let wanted = low - (high - low).max(0.5) / 3.0;
    if wanted < 60.0 {
        return (0.0, high);
    }
    let step = nice_step((high - wanted) / 8.0);
    ((wanted / step).floor() * step, high)
}

/// Explains the signs at a bar's end.
fn draw_legend(sheet: &mut Sheet, area: Area, bars: &Bars, panel: &BarPanel) {
    let (mut x, y) = (area.x, area.y + 6.0);
    let everywhere = || bars.panels.iter().flat_map(|panel| &panel.rows).flat_map(|row| &row.bars);
    let here = || panel.rows.iter().flat_map(|row| &row.bars);
    let (intervals, spreads) = match bars.lengths {
        Lengths::Shares => (true, here().any(|bar| bar.value.std.is_some())),
        Lengths::Groups => {
            (everywhere().any(|bar| bar.interval.is_some()), everywhere().any(|bar| bar.value.std.is_some()))
        }
        _ => (here().any(|bar| bar.interval.is_some()), false),
    };
    if here().any(|bar| bar.diamond.is_some()) {
        let words = bars.diamond;
        sheet.svg.mark(PointShape::Diamond, (x + 6.0, y), 5.0, INK);
        sheet.svg.text(x + 18.0, y + 4.0, words, TICK);
        x += 18.0 + text_width(words, TICK.size) + 14.0;
    }
    if intervals {
        draw_interval(&mut sheet.svg, (x, x + 24.0), y);
        sheet.svg.text(x + 30.0, y + 4.0, bars.interval, TICK);
        x += 30.0 + text_width(bars.interval, TICK.size) + 14.0;
    }
    if spreads {
        draw_spread(&mut sheet.svg, (x, x + 18.0), y);
        sheet.svg.text(x + 24.0, y + 4.0, "± 1 deviation over seeds", TICK);
    }
}

fn draw_panel(
    sheet: &mut Sheet,
    frame: Frame<'_>,
    bars: &Bars,
    panel: &BarPanel,
    plot: Area,
    look: &BarSizes,
    range: (f64, f64),
) {
    let scale = Scale::new(Spacing::Even, range, (plot.x, plot.right()));
    let mut values = scale.ticks(look.ticks);
    let is_share = bars.lengths != Lengths::Differences;
    if is_share && values.iter().all(|&value| scale.at(value) - plot.x > 24.0) {
        values.insert(0, range.0);
    }
    let places = tick_decimals(&values);
    let lines = reference_places(panel, &scale, range);
    for &value in &values {
        let is_zero = !is_share && value.abs() < 1e-9;
        let x = scale.at(value);
        sheet.svg.line((x, plot.y), (x, plot.bottom()), if is_zero { INK } else { GRID }, 1.0);
    }
    let mut y = plot.y + look.gap / 2.0;
    for row in &panel.rows {
        let own = RowPlace { scale, lines: &lines, left: plot.x, top: y };
        draw_row(sheet, frame, bars, row, own, look);
        y += look.row_height(row);
    }
    let ticks: Vec<(f64, String)> = values.iter().map(|&value| (value, fixed(value, places))).collect();
    let title = match range.0 > 0.0 {
        true => format!("{} (axis starts at {}, not 0)", panel.axis, fixed(range.0, places)),
        false => panel.axis.clone(),
    };
    sheet.x_axis(plot, &scale, &ticks, &title);
}

/// The place of a row.
#[derive(Clone, Copy)]
struct RowPlace<'a> {
    scale: Scale,
    /// The pixels of lines that no label may cross.
    lines: &'a [f64],
    left: f64,
    top: f64,
}

fn draw_row(
    sheet: &mut Sheet,
    frame: Frame<'_>,
    bars: &Bars,
    row: &BarRow,
    own: RowPlace<'_>,
    look: &BarSizes,
) {
    let middle = own.top + row.bars.len().max(1) as f64 * look.row / 2.0;
    sheet.svg.part(frame.known(&row.name), None, |svg| {
        svg.text(own.left - look.names, middle + 4.5, &row.name, LABEL.anchor(Anchor::End));
        if row.bars.is_empty() {
            svg.text(own.left + 8.0, middle + 4.5, "no result", TICK);
        }
        for (at, bar) in row.bars.iter().enumerate() {
            let place = (own.top + (at as f64 + 0.5) * look.row, look.row * look.thick);
            if !bar.name.is_empty() {
                let start = own.scale.at(own.scale.low());
                svg.text(start - 8.0, place.0 + 4.2, &bar.name, TICK.anchor(Anchor::End));
            }
            // Later bars are fuller, so that a row reads from pale to full.
            let opacity = match bars.lengths {
                Lengths::Groups => 0.3 + 0.4 * at as f64 / (row.bars.len().max(2) - 1) as f64,
                _ => 0.5,
            };
            svg.part(None, Some(&bar_label(bars, row, bar)), |svg| match bars.lengths {
                Lengths::Differences => draw_difference(svg, bar, &own.scale, place),
                _ => draw_share(svg, bar, own, (tone_style(row.tone), opacity), place),
            });
        }
    });
}

/// The value of a bar, with its interval.
fn bar_label(bars: &Bars, row: &BarRow, bar: &Bar) -> PartLabel {
    let is_difference = bars.lengths == Lengths::Differences;
    let value = bar.value.times(100.0);
    let told = if is_difference { signed(value.mean, 2) } else { plus_minus(value, 2) };
    let mut words: Vec<String> = vec![row.name.clone()];
    words.extend(Some(bar.name.clone()).filter(|name| !name.is_empty()));
    words.push(told);
    let number = |share: f64| if is_difference { signed(share * 100.0, 2) } else { fixed(share * 100.0, 2) };
    words.extend(
        bar.interval.map(|[low, high]| format!("{} {} to {}", bars.interval, number(low), number(high))),
    );
    words.extend(bar.diamond.map(|diamond| format!("{} {}", bars.diamond, number(diamond))));
    PartLabel { value: format!("{:.2}", value.mean), words: words.join(", ") }
}

/// A share as a bar, or as a dot if the axis does not start at 0, with its interval, its spread and its number. No
/// whisker reaches beyond 100 %.
fn draw_share(
    svg: &mut Svg,
    bar: &Bar,
    own: RowPlace<'_>,
    (style, opacity): (Style, f64),
    (middle, height): (f64, f64),
) {
    let (scale, value): (Scale, MeanStd) = (own.scale, bar.value.times(100.0));
    let (start, end) = (scale.at(scale.low()), scale.at(value.mean));
    let is_dot = scale.low() > 0.0;
    if !is_dot {
        let (from, size) = ((start, middle - height / 2.0), (end - start, height));
        svg.rect(from, size, "#FFFFFF", 1.0);
        svg.rect(from, size, style.colour, opacity);
    }
    let mut reach = if is_dot { end + DOT } else { end };
    if let Some([low, high]) = bar.interval {
        let ends = (scale.at(low * 100.0), scale.at((high * 100.0).min(100.0)));
        draw_interval(svg, ends, middle);
        reach = reach.max(ends.1);
    }
    if let Some(std) = value.std {
        let ends = (scale.at(value.mean - std), scale.at((value.mean + std).min(100.0)));
        draw_spread(svg, ends, middle);
        reach = reach.max(ends.1);
    }
    if is_dot {
        svg.mark(style.shape, (end, middle), DOT, style.colour);
    }
    let label = plus_minus(value, 2);
    let place = place_beside_lines(reach + 9.0, text_width(&label, LABEL.size), own.lines);
    svg.text(place, middle + 4.5, &label, LABEL);
}

/// The first place from `x` on at which no line crosses a label of this width; lines are drawn on top of it.
fn place_beside_lines(mut x: f64, width: f64, lines: &[f64]) -> f64 {
    while let Some(line) = lines.iter().find(|&&line| line > x - CLEAR && line < x + width + CLEAR) {
        x = line + CLEAR + 1.0;
    }
    x
}

/// A bar from zero either way, with its interval, its diamond and its number.
fn draw_difference(svg: &mut Svg, bar: &Bar, scale: &Scale, (middle, height): (f64, f64)) {
    let (zero, end) = (scale.at(0.0), scale.at(bar.value.mean * 100.0));
    let (from, width) = (zero.min(end), (end - zero).abs());
    svg.rect((from, middle - height / 2.0), (width, height), COLOURS[0], 0.5);
    let mut reach = zero.max(end);
    if let Some([low, high]) = bar.interval {
        let ends = (scale.at(low * 100.0), scale.at(high * 100.0));
        draw_interval(svg, ends, middle);
        reach = reach.max(ends.1);
    }
    if let Some(diamond) = bar.diamond {
        let at = scale.at(diamond * 100.0);
        svg.mark(PointShape::Diamond, (at, middle), 4.5, INK);
        reach = reach.max(at + 5.0);
    }
    svg.text(reach + 8.0, middle + 4.5, &signed(bar.value.mean * 100.0, 2), LABEL);
}

/// The pixels of the references' lines.
fn reference_places(panel: &BarPanel, scale: &Scale, range: (f64, f64)) -> Vec<f64> {
    let values = panel.references.iter().map(|(_, value)| value * 100.0);
    values.filter(|value| *value >= range.0).map(|value| scale.at(value)).collect()
}

/// A dashed line at each reference, and its number above the plot; one left of the axis is only named.
fn reference_lines(sheet: &mut Sheet, area: Area, panel: &BarPanel, plot: Area, range: (f64, f64)) {
    let scale = Scale::new(Spacing::Even, range, (plot.x, plot.right()));
    let top = area.y + 6.0 + LINE;
    let dashes =
        sheet.references((area.x, top), LINE, &panel.references, range.0 / 100.0, "left of the axis");
    for (share, dash) in dashes {
        let x = scale.at(share * 100.0);
        sheet.svg.polyline(&[(x, plot.y), (x, plot.bottom())], INK, REFERENCE, dash);
    }
}

/// An interval: a thin line with ends.
fn draw_interval(svg: &mut Svg, (low, high): (f64, f64), y: f64) {
    svg.whisker([((low, y), true), ((high, y), true)], 4.5, INK, 1.2);
}

/// The spread over seeds: a thick line, never so short that it vanishes.
fn draw_spread(svg: &mut Svg, (low, high): (f64, f64), y: f64) {
    let (middle, half) = ((low + high) / 2.0, ((high - low) / 2.0).max(0.9));
    svg.rect((middle - half, y - 3.0), (2.0 * half, 6.0), INK, 1.0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_line_crosses_a_number(
            x in 0.0..300.0_f64, width in 10.0..100.0_f64, lines in prop::collection::vec(0.0..300.0_f64, 0..4),
        ) {
            let place = place_beside_lines(x, width, &lines);
            prop_assert!(place >= x);
            prop_assert!(lines.iter().all(|line| *line < place || *line > place + width));
            let free = lines.iter().all(|line| *line < x - CLEAR || *line > x + width + CLEAR);
            prop_assert!(!free || place == x, "it moves only where it must");
        }
    }
}
