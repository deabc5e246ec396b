//! Lines over time or size. There is no legend: every line ends in its name.

use frostline_score::MeanStd;

use crate::chart::{ChartLine, Figure, LineChart, LineKey, Spread, XAxis, YAxis};
use crate::number::{count, plus_minus};
use crate::render::svg::canvas::{PartLabel, Svg};
use crate::render::svg::scale::{Scale, Spacing, accuracy_range};
use crate::render::svg::sheet::{Area, Drawing, Frame, LABEL, Sheet, notes, spread_places, widest_label};
use crate::render::svg::style::{SOFT, tone_style};

/// Height of a line's name.
const NAME: f64 = 17.0;

/// Sizes that depend on how lines are distinguished, in pixels.
struct LineSizes {
    width: f64,
    /// Room for the piece of line next to a name.
    sample: f64,
    /// The start of names, from the plot's right end, and of their texts from there.
    names: f64,
    text: f64,
    /// Room at the left end of a plot.
    before: f64,
    /// Whether points have marks.
    marks: bool,
}

impl LineSizes {
    const fn of(key: LineKey) -> Self {
        match key {
            LineKey::Marks => {
                Self { width: 330.0, sample: 0.0, names: 16.0, text: 14.0, before: 8.0, marks: true }
            }
            LineKey::Dashes => {
                Self { width: 330.0, sample: 11.0, names: 16.0, text: 25.0, before: 8.0, marks: false }
            }
            LineKey::Both => {
                Self { width: 360.0, sample: 20.0, names: 14.0, text: 22.0, before: 10.0, marks: true }
            }
        }
    }
}

/// Draws lines.
pub(super) fn draw_line_chart(frame: Frame<'_>, figure: &Figure, lines: &LineChart) -> Drawing {
    let look = LineSizes::of(lines.key);
    let names =
        || lines.panels.iter().map(|panel| panel.lines.iter().filter_map(|line| line.name.as_deref()));
    let room = widest_label(names().flatten()) + look.sample;
    let most = names().map(Iterator::count).max().unwrap_or(0);
    let height = 360.0_f64.max(most as f64 * NAME + 110.0);
    let titles: Vec<&str> = lines.panels.iter().map(|panel| panel.title.as_str()).collect();
    let mut sheet = Sheet::new(frame, figure, &titles, (look.width + room, height));
    let (spacing, range) = y_range(lines);
    for (i, panel) in lines.panels.iter().enumerate() {
        let plot = sheet.area(i).inside(26.0, room + 32.0, 46.0, 44.0);
        if panel.lines.is_empty() {
            sheet.svg.text(plot.x, plot.y + 20.0, "no result", LABEL);
            continue;
        }
        let (x, ticks) = x_scale(lines, &panel.lines, (plot.x + look.before, plot.right()));
        let y = Scale::new(spacing, range, (plot.bottom(), plot.y));
        let factor = if lines.y == YAxis::Shares { 100.0 } else { 1.0 };
        sheet.y_axis(plot, &y, lines.y_title, factor);
        sheet.x_axis(plot, &x, &ticks, lines.x_title);
        draw_lines(&mut sheet, frame, lines, &panel.lines, (&x, &y));
        draw_names(&mut sheet, frame, lines.key, plot, &panel.lines, (&x, &y));
    }
    let x_spacing = if matches!(lines.x, XAxis::From(_)) { Spacing::Even } else { Spacing::Log };
    sheet.finish(notes(figure, x_spacing, (spacing, range)))
}

/// How the vertical axis is spaced, and from where to where.
fn y_range(lines: &LineChart) -> (Spacing, (f64, f64)) {
    let stats = || {
        let all = lines.panels.iter().flat_map(|panel| &panel.lines);
        all.flat_map(|line| line.points.iter().map(|(_, stat)| *stat))
    };
    let below = |stat: MeanStd| if lines.spread == Spread::Nothing { 0.0 } else { stat.std.unwrap_or(0.0) };
    let above = |stat: MeanStd| match lines.spread {
        // On an axis stretched towards 100 % a deviation that reaches it would take all the room.
        Spread::Whisker => below(stat).min((1.0 - stat.mean) / 2.0),
        _ => below(stat),
    };
    let low = stats().map(|stat| stat.mean - below(stat)).fold(f64::INFINITY, f64::min).min(1e9);
    let high = stats().map(|stat| stat.mean + above(stat)).fold(0.0, f64::max);
    match lines.y {
        YAxis::Shares => accuracy_range(low, high),
        YAxis::Loss => {
            let low = low.max(1e-4);
            (Spacing::Log, (low / 1.15, high.max(low) * 1.15))
        }
    }
}

/// A panel's horizontal axis with the values that it names.
fn x_scale(lines: &LineChart, of_panel: &[ChartLine], pixels: (f64, f64)) -> (Scale, Vec<(f64, String)>) {
    let places = || of_panel.iter().flat_map(|line| line.points.iter().map(|(at, _)| *at));
    match lines.x {
        XAxis::From(first) => {
            let last = of_panel.iter().filter_map(|line| line.points.last());
            let last = last.map(|point| point.0).fold(1.0, f64::max);
            let scale = Scale::new(Spacing::Even, (f64::from(first), last), pixels);
            let ticks = whole_ticks(&scale, f64::from(first), last);
            (scale, ticks)
        }
        XAxis::Sizes | XAxis::Rates => {
            let mut sizes: Vec<f64> = places().collect();
            sizes.sort_by(f64::total_cmp);
            sizes.dedup();
            let ends = (sizes[0], sizes[sizes.len() - 1]);
            let scale = Scale::new(Spacing::Log, ends, pixels);
            let shown = |size: f64| match lines.x {
                XAxis::Rates => format!("{size:e}"),
                _ => count(size as u64),
            };
            let ticks = size_ticks(&sizes, &scale, shown);
            (scale, ticks)
        }
    }
}

fn whole_ticks(scale: &Scale, first: f64, last: f64) -> Vec<(f64, String)> {
    if last - first <= 9.0 {
        let all = first as u64..=last as u64;
        return all.map(|value| (value as f64, value.to_string())).collect();
    }
    let whole = scale.ticks(46.0).into_iter().filter(|tick| tick.fract() == 0.0);
    whole.map(|value| (value, count(value as u64))).collect()
}

/// The sizes themselves, those that would overlap omitted from the smallest up.
fn size_ticks(sizes: &[f64], x: &Scale, shown: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let mut kept: Vec<(f64, String)> = Vec::new();
    for &size in sizes.iter().rev() {
        let place = x.at(size);
        if kept.iter().all(|(other, _)| (x.at(*other) - place).abs() >= 40.0) {
            kept.push((size, shown(size)));
        }
    }
    kept
}

fn draw_lines(
    sheet: &mut Sheet,
    frame: Frame<'_>,
    lines: &LineChart,
    of_panel: &[ChartLine],
    (x, y): (&Scale, &Scale),
) {
    for line in of_panel.iter().filter(|line| lines.spread == Spread::Band && line.name.is_some()) {
        sheet.svg.part(frame.policy(line.tone), None, |svg| draw_band(svg, line, x, y));
    }
    // The first policies of a plan are the ones that others are compared with: they come last, on
    // top, and lines without a name come first.
    let mut order: Vec<&ChartLine> = of_panel.iter().rev().collect();
    order.sort_by_key(|line| line.name.is_some());
    for line in order {
        let policy = frame.policy(line.tone);
        let name = line.name.as_deref().or(policy).unwrap_or("");
        // A line without marks has one title; with marks, each of them has its own.
        let whole = (!has_marks(lines, line)).then(|| line_label(lines, line, name)).flatten();
        sheet.svg.part(policy, whole.as_ref(), |svg| draw_line(svg, lines, line, name, (x, y)));
    }
}

/// The ends of a line.
fn line_label(lines: &LineChart, line: &ChartLine, name: &str) -> Option<PartLabel> {
    let (first, last) = (line.points.first()?, line.points.last()?);
    let last = point_label(lines, last, name);
    let words = format!("from {}", point_label(lines, first, name).words) + &format!(" to {}", last.words);
    Some(PartLabel { words, ..last })
}

/// A point in words.
fn point_label(lines: &LineChart, (at, stat): &(f64, MeanStd), name: &str) -> PartLabel {
    let (value, decimals, sign) = match lines.y {
        YAxis::Shares => (stat.times(100.0), 2, " %"),
        YAxis::Loss => (*stat, 4, ""),
    };
    let at = if lines.x == XAxis::Rates { format!("{at:e}") } else { count(*at as u64) };
    PartLabel {
        value: format!("{:.decimals$}", value.mean),
        words: format!("{name}, {} {at}: {}{sign}", lines.x_title, plus_minus(value, decimals)),
    }
}

/// Whether a line has a mark at each of its points.
fn has_marks(lines: &LineChart, line: &ChartLine) -> bool {
    LineSizes::of(lines.key).marks && line.name.is_some() || line.points.len() == 1
}

fn draw_line(svg: &mut Svg, lines: &LineChart, line: &ChartLine, name: &str, (x, y): (&Scale, &Scale)) {
    let style = tone_style(line.tone);
    if lines.spread == Spread::Whisker {
        for (at, stat) in &line.points {
            let Some(std) = stat.std else { continue };
            let most = if lines.y == YAxis::Shares { 1.0 } else { f64::INFINITY };
            let ends = (y.at(stat.mean - std), y.at((stat.mean + std).min(most)));
            svg.line((x.at(*at), ends.0), (x.at(*at), ends.1), style.colour, 1.2);
        }
    }
    let places: Vec<(f64, f64)> = line.points.iter().map(|(at, stat)| (x.at(*at), y.at(stat.mean))).collect();
    svg.polyline(&places, style.colour, 1.8, style.dash);
    for (place, point) in places.iter().zip(&line.points).filter(|_| has_marks(lines, line)) {
        svg.mark_showing(style.shape, *place, 4.0, style.colour, Some(&point_label(lines, point, name)));
    }
}

/// Every line's name at its end, moved apart if lines end close together.
fn draw_names(
    sheet: &mut Sheet,
    frame: Frame<'_>,
    key: LineKey,
    plot: Area,
    lines: &[ChartLine],
    (x, y): (&Scale, &Scale),
) {
    let end = |line: &ChartLine| line.points.last().map(|(at, stat)| (x.at(*at), y.at(stat.mean)));
    let named = lines.iter().filter_map(|line| Some((line, line.name.as_deref()?, end(line)?)));
    let named: Vec<(&ChartLine, &str, (f64, f64))> = named.collect();
    let heights: Vec<f64> = named.iter().map(|(_, _, end)| end.1).collect();
    let places = spread_places(&heights, NAME, plot.y + 2.0, plot.bottom() - 2.0);
    let look = LineSizes::of(key);
    for ((line, name, end), place) in named.iter().zip(places) {
        let left = plot.right() + look.names;
        let style = tone_style(line.tone);
        sheet.svg.part(frame.policy(line.tone), None, |svg| {
            svg.line((end.0 + 6.0, end.1), (left, place), SOFT, 0.7);
            match key {
                LineKey::Marks => svg.mark(style.shape, (left + 6.0, place), 4.0, style.colour),
                LineKey::Dashes => {
                    let sample = [(left + 1.0, place), (left + 19.0, place)];
                    svg.polyline(&sample, style.colour, 2.4, style.dash);
                }
                LineKey::Both => {
                    let sample = [(left + 1.0, place), (left + 17.0, place)];
                    svg.polyline(&sample, style.colour, 2.0, style.dash);
                    svg.mark(style.shape, (left + 9.0, place), 3.5, style.colour);
                }
            }
            svg.text(left + look.text, place + 4.5, name, LABEL);
        });
    }
}

fn draw_band(svg: &mut Svg, line: &ChartLine, x: &Scale, y: &Scale) {
    let edge = |sign: f64| {
        let points = line.points.iter();
        points.map(move |(at, stat)| {
            let value = stat.mean + sign * stat.std.unwrap_or(0.0);
            (x.at(*at), y.at(value))
        })
    };
    if line.points.iter().any(|(_, stat)| stat.std.is_some()) {
        let outline: Vec<(f64, f64)> = edge(1.0).chain(edge(-1.0).rev()).collect();
        svg.polygon(&outline, tone_style(line.tone).colour, 0.18);
    }
}
