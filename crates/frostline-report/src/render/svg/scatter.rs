//! Points of one quantity against another. Names move until they cover neither points nor each other, with a line to
//! their point.

use crate::chart::{Figure, Scatter, ScatterPanel, ScatterPoint};
use crate::number::{fixed, plural};
use crate::render::svg::canvas::{Anchor, PartLabel, Svg, text_width};
use crate::render::svg::scale::{Scale, Spacing, accuracy_range, tick_labels};
use crate::render::svg::sheet::{Area, Drawing, Frame, LABEL, REFERENCE, Sheet, notes};
use crate::render::svg::style::{INK, SOFT, Style, tone_style};

const SIZE: (f64, f64) = (400.0, 390.0);
/// Size of a point.
const RADIUS: f64 = 5.0;
/// Height of a reference's line in the legend.
const LINE: f64 = 17.0;
/// The most percentage points that a level whisker widens the axis to either side of its point.
const MOST_REACH: f64 = 15.0;

/// A point with its name, if it has one, and whiskers, in pixels.
struct Dot {
    name: Option<String>,
    policy: Option<String>,
    shown: PartLabel,
    style: Style,
    at: (f64, f64),
    /// Lower and upper end.
    whisker: Option<(f64, f64)>,
    /// Left and right end, each with whether it lies beyond the axis.
    level: Option<[(f64, bool); 2]>,
}

impl Dot {
    /// The whisker, unless it is so small that it would only look like a flaw of the point.
    fn seen_whisker(&self) -> Option<(f64, f64)> {
        self.whisker.filter(|(low, high)| low - high > 3.0 * RADIUS)
    }

    /// The same of the level whisker.
    fn seen_level(&self) -> Option<[(f64, bool); 2]> {
        self.level.filter(|[(left, _), (right, _)]| right - left > 3.0 * RADIUS)
    }
}

/// A rectangle that is taken: left, top, right, bottom.
type TakenRectangle = (f64, f64, f64, f64);

/// The owner of what is taken by no point.
const NO_POINT: usize = usize::MAX;

/// The horizontal axis.
struct SavedTimeAxis {
    range: (f64, f64),
}

impl SavedTimeAxis {
    /// From a little before the baseline, or a policy that needs more time, to a tenth after the last.
    fn of(scatter: &Scatter) -> Self {
        let reach = |point: &ScatterPoint| {
            let [low, high] = point.x_interval.unwrap_or([point.x; 2]);
            (low.max(point.x - MOST_REACH), high.min(point.x + MOST_REACH))
        };
        let widest = |(low, high): (f64, f64), (a, b): (f64, f64)| (low.min(a), high.max(b));
        let points = scatter.panels.iter().flat_map(|panel| &panel.points);
        let (least, most) = points.map(reach).fold((0.0, 0.0), widest);
        Self { range: (least - 4.0, most + 10.0) }
    }
}

/// Values under the axis.
fn axis_ticks(x: &Scale) -> Vec<(f64, String)> {
    let values = x.ticks(50.0);
    let labels = tick_labels(&values);
    values.into_iter().zip(labels).collect()
}

/// Draws points.
pub(super) fn draw_scatter(frame: Frame<'_>, figure: &Figure, scatter: &Scatter) -> Drawing {
    let all = || scatter.panels.iter().flat_map(|panel| &panel.points);
    let lows = all().map(|point| point.interval.map_or(point.y, |ends| ends[0]));
    let highs = all().map(|point| point.interval.map_or(point.y, |ends| ends[1]));
    let ends = with_references(scatter, (lows.fold(1.0, f64::min), highs.fold(0.0, f64::max)));
    let (spacing, range) = accuracy_range(ends.0, ends.1);
    let references = scatter.panels.iter().map(|panel| panel.references.len()).max().unwrap_or(0);
    let legend = references as f64 * LINE;
    let axis = SavedTimeAxis::of(scatter);
    let titles: Vec<&str> = scatter.panels.iter().map(|panel| panel.title.as_str()).collect();
    let mut sheet = Sheet::new(frame, figure, &titles, (SIZE.0, SIZE.1 + legend));
    let mut unplaced = 0;
    let mut is_cut = false;
    for (i, panel) in scatter.panels.iter().enumerate() {
        let area = sheet.area(i);
        let plot = area.inside(26.0 + legend, 16.0, 46.0, 44.0);
        let x = Scale::new(Spacing::Even, axis.range, (plot.x, plot.right()));
        let y = Scale::new(spacing, range, (plot.bottom(), plot.y));
        sheet.y_axis(plot, &y, scatter.y_title, 100.0);
        sheet.x_axis(plot, &x, &axis_ticks(&x), scatter.x_title);
        draw_references(&mut sheet, area, plot, panel, (&y, range));
        let front = front_corners(panel, plot, &x, &y);
        if !front.is_empty() {
            sheet.svg.polyline(&front, SOFT, 1.6, "");
        }
        let points = panel_dots(frame, scatter, panel, &axis, (&x, &y));
        is_cut |= points.iter().filter_map(Dot::seen_level).any(|ends| ends.iter().any(|(_, cut)| *cut));
        unplaced += draw_points(&mut sheet, plot, &points, &front);
    }
    let mut notes = notes(figure, Spacing::Even, (spacing, range));
    if is_cut {
        notes.push(
            "A level whisker without an end continues beyond the axis; the tables have it whole.".into(),
        );
    }
    if unplaced > 0 {
        notes.push(format!("{} found no room.", plural(unplaced, "more name")));
    }
    sheet.finish(notes)
}

/// The ends of the vertical axis with those references that leave the points at least half of its height, on an axis that
/// divides what is missing to 1 by equal factors. A reference above all points always widens it.
fn with_references(scatter: &Scatter, (low, high): (f64, f64)) -> (f64, f64) {
    let heights = || scatter.panels.iter().flat_map(|panel| &panel.references).map(|(_, height)| *height);
    let high = heights().fold(high, f64::max);
    let missing = |share: f64| (1.0 - share).max(5e-4);
    let is_near = |height: &f64| missing(*height) / missing(low) <= missing(low) / missing(high);
    (heights().filter(is_near).fold(low, f64::min), high)
}

/// A dashed line at each reference, and its number above the plot; one below the axis is only named.
fn draw_references(
    sheet: &mut Sheet,
    area: Area,
    plot: Area,
    panel: &ScatterPanel,
    (y, range): (&Scale, (f64, f64)),
) {
    let dashes = sheet.references((area.x, area.y + 6.0), LINE, &panel.references, range.0, "below the axis");
    for (share, dash) in dashes {
        sheet.svg.polyline(&[(plot.x, y.at(share)), (plot.right(), y.at(share))], INK, REFERENCE, dash);
    }
}

/// The corners of a panel's step line in pixels, from the left end of the plot.
fn front_corners(panel: &ScatterPanel, plot: Area, x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for &(at, height) in &panel.front {
        let next = (x.at(at), y.at(height));
        let before = corners.last().map_or(plot.x, |last| last.0);
        corners.extend([(before, next.1), next]);
    }
    corners
}

/// A panel's points in pixels, those with names last.
fn panel_dots(
    frame: Frame<'_>,
    scatter: &Scatter,
    panel: &ScatterPanel,
    axis: &SavedTimeAxis,
    (x, y): (&Scale, &Scale),
) -> Vec<Dot> {
    let range = axis.range.0..=axis.range.1;
    let end = |value: f64| (x.at(value), !range.contains(&value));
    let points = panel.points.iter().map(|point| Dot {
        name: point.name.clone(),
        policy: frame.policy(point.tone).map(String::from),
        shown: point_label(frame, scatter, point),
        style: tone_style(point.tone),
        at: (x.at(point.x), y.at(point.y)),
        whisker: point.interval.map(|[low, high]| (y.at(low), y.at(high.min(1.0)))),
        level: point.x_interval.map(|ends| ends.map(end)),
    });
    let mut points: Vec<Dot> = points.collect();
    points.sort_by_key(|point| point.name.is_some());
    points
}

/// A point in words.
fn point_label(frame: Frame<'_>, scatter: &Scatter, point: &ScatterPoint) -> PartLabel {
    let name = point.name.as_deref().or(frame.policy(point.tone)).unwrap_or("");
    // A title ends in its unit, `, %` and of what.
    let told = |title: &str, value: String, ends: Option<[String; 2]>| {
        let (title, rest) = title.split_once(", %").unwrap_or((title, ""));
        let ends = ends.map_or_else(String::new, |[low, high]| format!(" ({low} to {high})"));
        format!("{title} {value}{ends} %{rest}")
    };
    let (height, across) = (|share: f64| fixed(100.0 * share, 2), |percent: f64| fixed(percent, 1));
    let words = format!(
        "{name}: {}, {}",
        told(
            scatter.y_title,
            height(point.y),
            point.interval.map(|[low, high]| [low, high.min(1.0)].map(height))
        ),
        told(scatter.x_title, across(point.x), point.x_interval.map(|ends| ends.map(across))),
    );
    PartLabel { value: format!("{:.2}", 100.0 * point.y), words }
}

/// Draws points, whiskers and names; returns how many names found no room.
fn draw_points(sheet: &mut Sheet, plot: Area, points: &[Dot], front: &[(f64, f64)]) -> usize {
    let labels = best_labels(plot, points, front);
    for (point, label) in points.iter().zip(&labels) {
        sheet.svg.part(point.policy.as_deref(), None, |svg| {
            draw_whiskers(svg, point);
            if let Some(end) = label.as_ref().and_then(|label| label.leader) {
                svg.line(point.at, end, SOFT, 0.8);
            }
        });
    }
    for (point, label) in points.iter().zip(&labels) {
        let style = point.style;
        sheet.svg.part(point.policy.as_deref(), None, |svg| {
            svg.mark_showing(style.shape, point.at, RADIUS, style.colour, Some(&point.shown));
            if let (Some(name), Some(label)) = (&point.name, label) {
                svg.text(label.at.0, label.at.1, name, LABEL.anchor(label.anchor));
            }
        });
    }
    unplaced_labels(points, &labels)
}

fn draw_whiskers(svg: &mut Svg, point: &Dot) {
    let ((x, y), colour) = (point.at, point.style.colour);
    if let Some((low, high)) = point.seen_whisker() {
        svg.whisker([((x, low), true), ((x, high), true)], 4.0, colour, 1.4);
    }
    if let Some(ends) = point.seen_level() {
        svg.whisker(ends.map(|(end, is_cut)| ((end, y), !is_cut)), 4.0, colour, 1.4);
    }
}

/// Names without a place.
fn unplaced_labels(points: &[Dot], labels: &[Option<NameLabel>]) -> usize {
    let pairs = points.iter().zip(labels);
    pairs.filter(|(point, label)| point.name.is_some() && label.is_none()).count()
}

/// The order in which names choose places decides which find one: several orders are tried, and the one that
/// leaves the fewest names without a place, then the shortest leaders, is taken.
fn best_labels(plot: Area, points: &[Dot], front: &[(f64, f64)]) -> Vec<Option<NameLabel>> {
    let keys: [fn(&Dot) -> f64; 4] = [|p| -p.at.0, |p| p.at.0, |p| p.at.1, |p| -p.at.1];
    let tries = keys.map(|key| {
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| key(&points[a]).total_cmp(&key(&points[b])).then(a.cmp(&b)));
        place_labels(plot, points, front, &order)
    });
    let cost = |labels: &Vec<Option<NameLabel>>| {
        let leaders: f64 = points.iter().zip(labels).map(|(point, label)| leader_length(point, label)).sum();
        unplaced_labels(points, labels) as f64 * 1e6 + leaders
    };
    let best = tries.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
    best.unwrap_or_default()
}

fn leader_length(point: &Dot, label: &Option<NameLabel>) -> f64 {
    let end = label.as_ref().and_then(|label| label.leader);
    end.map_or(0.0, |end| (end.0 - point.at.0).hypot(end.1 - point.at.1))
}

/// A place for every name, chosen in this order; the answer is in the order of the points.
fn place_labels(plot: Area, points: &[Dot], front: &[(f64, f64)], order: &[usize]) -> Vec<Option<NameLabel>> {
    let mut taken: Vec<(usize, TakenRectangle)> =
        front.windows(2).map(|ends| (NO_POINT, rect_around(ends))).collect();
    for (i, point) in points.iter().enumerate() {
        let (x, y) = point.at;
        taken.push((i, (x - 6.0, y - 6.0, x + 6.0, y + 6.0)));
        let whisker = point.seen_whisker();
        taken.extend(whisker.map(|(low, high)| (i, (x - 5.0, high - 1.0, x + 5.0, low + 1.0))));
        let level = point.seen_level();
        taken.extend(level.map(|[left, right]| (i, (left.0 - 1.0, y - 5.0, right.0 + 1.0, y + 5.0))));
    }
    let mut labels: Vec<Option<NameLabel>> = points.iter().map(|_| None).collect();
    for &i in order {
        let Some(name) = &points[i].name else { continue };
        let Some(label) = place_label(i, &points[i], name, plot, &taken) else { continue };
        taken.push((i, label.rect));
        let leader = label.leader.iter().flat_map(|end| leader_rectangles(points[i].at, *end));
        taken.extend(leader.map(|station| (i, station)));
        labels[i] = Some(label);
    }
    labels
}

/// What an upright or level line takes.
fn rect_around(ends: &[(f64, f64)]) -> TakenRectangle {
    let [from, to] = [ends[0], ends[1]];
    (from.0.min(to.0) - 1.0, from.1.min(to.1) - 1.0, from.0.max(to.0) + 1.0, from.1.max(to.1) + 1.0)
}

/// The place of a name.
struct NameLabel {
    at: (f64, f64),
    anchor: Anchor,
    rect: TakenRectangle,
    /// The end of the line that leads from the point to a name further away.
    leader: Option<(f64, f64)>,
}

/// The nearest free place for a point's name: next to it, above or under its whisker, else further
/// and further away; none if all is taken.
fn place_label(
    own: usize,
    point: &Dot,
    name: &str,
    plot: Area,
    taken: &[(usize, TakenRectangle)],
) -> Option<NameLabel> {
    let width = text_width(name, LABEL.size);
    let (x, y) = point.at;
    let beside = |dx: f64, dy: f64, far: bool| {
        let middle = y + dy;
        let (left, anchor) = if dx > 0.0 { (x + dx, Anchor::Start) } else { (x + dx - width, Anchor::End) };
        NameLabel {
            at: (x + dx, middle + 4.5),
            anchor,
            rect: (left, middle - 8.0, left + width, middle + 8.0),
            leader: far.then_some((x + dx - 3.0 * dx.signum(), middle)),
        }
    };
    let centred = |middle: f64| NameLabel {
        at: (x, middle + 4.5),
        anchor: Anchor::Middle,
        rect: (x - width / 2.0, middle - 8.0, x + width / 2.0, middle + 8.0),
        leader: None,
    };
    let (low, high) = point.whisker.unwrap_or((y, y));
    let [left, right] = point.seen_level().map_or([0.0; 2], |[left, right]| [x - left.0, right.0 - x]);
    let mut candidates = vec![
        beside(10.0_f64.max(right + 5.0), 0.0, false),
        beside(-10.0_f64.max(left + 5.0), 0.0, false),
        centred(high.min(y - RADIUS) - 11.0),
        centred(low.max(y + RADIUS) + 11.0),
    ];
    for ring in 1..26 {
        let dy = 5.0 * f64::from(ring);
        for dx in [18.0, -18.0, 34.0, -34.0] {
            candidates.push(beside(dx, dy, true));
            candidates.push(beside(dx, -dy, true));
        }
    }
    candidates.into_iter().find(|label| {
        let rect = label.rect;
        let free = |rect: &TakenRectangle| !taken.iter().any(|(_, other)| rectangles_overlap(rect, other));
        // A leader may run along its own whisker.
        let passes = |rect: &TakenRectangle| {
            !taken.iter().any(|(i, other)| *i != own && rectangles_overlap(rect, other))
        };
        rect.0 >= plot.x + 2.0
            && rect.2 <= plot.right() + 16.0
            && rect.1 >= plot.y - 6.0
            && rect.3 <= plot.bottom()
            && free(&rect)
            && label.leader.is_none_or(|end| leader_rectangles(point.at, end).iter().all(passes))
    })
}

/// Small rectangles along a leader, from where it has left its point.
fn leader_rectangles(from: (f64, f64), to: (f64, f64)) -> Vec<TakenRectangle> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    let steps = ((length - 10.0) / 3.0).max(0.0) as usize;
    (0..steps)
        .map(|i| {
            let share = (10.0 + 3.0 * i as f64) / length;
            let (x, y) = (from.0 + dx * share, from.1 + dy * share);
            (x - 1.0, y - 1.0, x + 1.0, y + 1.0)
        })
        .collect()
}

fn rectangles_overlap(a: &TakenRectangle, b: &TakenRectangle) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}
