//! Figures as data. Five kinds of charts serve all of them: bars, lines, points, shaded tables, and sets. If a
//! value lands on the page is the renderer's.

use frostline_score::{MeanStd, ShareInterval};

/// A figure: a chart with what it shows.
pub(crate) struct Figure {
    pub path: &'static str,
    pub title: &'static str,
    /// For the page, and for those who cannot see it.
    pub about: String,
    pub chart: Chart,
    /// Below the chart.
    pub notes: Vec<ChartNote>,
    /// The most panels side by side.
    pub across: usize,
    pub theme: Theme,
}

impl Figure {
    /// The name of its file without the ending.
    pub fn name(&self) -> &'static str {
        self.path.trim_start_matches("figures/").trim_end_matches(".svg")
    }
}

/// What a figure is about: pages of several chapters show it with others of its theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Accuracy against time saved: the figure that a report shows first, next to its first table.
    First,
    /// Accuracy, alone or against what learns.
    Accuracy,
    /// What is reached on the way: after epochs, or with less data.
    Learning,
    Time,
    /// Blocks, sets of them, stages.
    Parts,
    /// Which words are wrong.
    Errors,
}

/// A sentence below a chart.
pub(crate) enum ChartNote {
    Text(String),
    /// How the horizontal axis is spaced, if that needs saying.
    XAxis,
    /// How the vertical axis is spaced.
    YAxis,
}

impl From<String> for ChartNote {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ChartNote {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// A chart of one of five kinds.
pub(crate) enum Chart {
    /// Lengths with their intervals, one or several per row.
    Bars(Bars),
    /// Something over time or size.
    Lines(LineChart),
    /// One quantity against another.
    Scatter(Scatter),
    /// A table whose fields are shaded.
    Heat(Heat),
    /// Every set of a few things, each with its value.
    Sets(BlockSetChart),
}

/// The owner of a colour, a dash and a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A policy by its place among those that freeze something; none for the one that freezes nothing.
    Policy(Option<usize>),
    /// What policies are compared with, by its place.
    Reference(usize),
    /// A policy by its place, as above: one of too many to be named.
    Unnamed(Option<usize>),
}

impl Tone {
    /// Returns the tone of a policy, by its place.
    pub const fn of(place: Option<usize>, named: bool) -> Self {
        if named { Self::Policy(place) } else { Self::Unnamed(place) }
    }
}

/// Bars.
pub(crate) struct Bars {
    pub lengths: Lengths,
    pub panels: Vec<BarPanel>,
    /// What the legend calls intervals.
    pub interval: &'static str,
    /// What the legend calls diamonds.
    pub diamond: &'static str,
}

/// What bars measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Shares of 1, shown in percent, one bar per row. If differences would be lost on an axis from 0, they are dots on
    /// an axis that starts elsewhere.
    Shares,
    /// The same, several bars per row, each with its name.
    Groups,
    /// Differences of shares, shown in points. The axis has its zero.
    Differences,
}

/// A panel of bars.
pub(crate) struct BarPanel {
    pub title: String,
    pub axis: String,
    /// Panels of one kind share an axis.
    pub kind: String,
    pub rows: Vec<BarRow>,
    /// Values that all bars are compared with, in shares of 1.
    pub references: Vec<(String, f64)>,
}

impl BarPanel {
    /// A panel whose axis all other panels share.
    pub fn new(title: impl Into<String>, axis: impl Into<String>, rows: Vec<BarRow>) -> Self {
        Self { title: title.into(), axis: axis.into(), kind: String::new(), rows, references: Vec::new() }
    }
}

/// The bars of a policy or a block.
pub(crate) struct BarRow {
    pub name: String,
    pub tone: Tone,
    pub bars: Vec<Bar>,
}

/// One bar.
pub(crate) struct Bar {
    /// Empty if its row has no other.
    pub name: String,
    pub value: MeanStd,
    /// What sampling alone would let it differ.
    pub interval: Option<[f64; 2]>,
    /// The same quantity, measured in another way.
    pub diamond: Option<f64>,
}

impl Bar {
    /// A mean share with its interval.
    pub fn of_share(name: impl Into<String>, value: MeanStd, interval: Option<ShareInterval>) -> Self {
        let interval = interval.map(|ends| [ends.low, ends.high]);
        Self { name: name.into(), value, interval, diamond: None }
    }
}

/// Lines.
pub(crate) struct LineChart {
    pub panels: Vec<LinePanel>,
    pub x_title: &'static str,
    pub x: XAxis,
    pub y_title: &'static str,
    pub y: YAxis,
    pub spread: Spread,
    pub key: LineKey,
}

impl LineChart {
    /// Lines over optimiser steps, without panels.
    pub const fn by_step(y_title: &'static str, y: YAxis) -> Self {
        Self {
            panels: Vec::new(),
            x_title: "optimiser step",
            x: XAxis::From(0),
            y_title,
            y,
            spread: Spread::Nothing,
            key: LineKey::Dashes,
        }
    }
}

/// What is along a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XAxis {
    /// Whole numbers from this one.
    From(u32),
    /// Sizes, equal steps for equal factors.
    Sizes,
    /// Learning rates, equal steps for equal factors.
    Rates,
}

/// What a line's height is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YAxis {
    /// Shares of 1, shown in percent; stretched towards 100 % if they are far apart.
    Shares,
    /// A loss: equal steps for equal factors.
    Loss,
}

/// How a standard deviation is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    Band,
    Whisker,
    Nothing,
}

/// How lines are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKey {
    /// A mark at every point.
    Marks,
    /// The dashes of the line.
    Dashes,
    /// Both.
    Both,
}

/// A panel of lines.
pub(crate) struct LinePanel {
    pub title: String,
    pub lines: Vec<ChartLine>,
}

/// One line.
pub(crate) struct ChartLine {
    /// The name, unless there are too many names.
    pub name: Option<String>,
    pub tone: Tone,
    pub points: Vec<(f64, MeanStd)>,
}

/// Points: accuracy against the time saved, in percent of the baseline's. 0 is the baseline, and a policy may need more
/// time than it.
pub(crate) struct Scatter {
    pub panels: Vec<ScatterPanel>,
    pub x_title: &'static str,
    pub y_title: &'static str,
}

/// A panel of points.
pub(crate) struct ScatterPanel {
    pub title: String,
    pub points: Vec<ScatterPoint>,
    /// Places of a step line, from left to right: each height is the best at its place or further right.
    pub front: Vec<(f64, f64)>,
    /// Heights that all points are compared with, as shares of 1.
    pub references: Vec<(String, f64)>,
}

/// One point; its height is a share of 1.
pub(crate) struct ScatterPoint {
    /// The name, unless there are too many names.
    pub name: Option<String>,
    pub tone: Tone,
    pub x: f64,
    /// Interval of `x`, in its unit.
    pub x_interval: Option<[f64; 2]>,
    pub y: f64,
    /// Interval of `y`.
    pub interval: Option<[f64; 2]>,
}

/// Shaded tables.
pub(crate) struct Heat {
    pub panels: Vec<HeatPanel>,
    pub colour: HeatColour,
}

/// What a dark field means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeatColour {
    /// Much of something.
    Much,
    /// Much is missing.
    Missing,
}

/// A shaded table.
pub(crate) struct HeatPanel {
    pub title: String,
    /// What each column is, in one line or two.
    pub columns: Vec<Vec<String>>,
    /// A name and its fields, as many as there are columns.
    pub rows: Vec<(String, Vec<Option<HeatField>>)>,
}

/// One field.
pub(crate) struct HeatField {
    pub label: String,
    /// How dark it is; up to 0.75 the label can be read.
    pub shade: f64,
}

/// Every set of blocks.
pub(crate) struct BlockSetChart {
    pub panels: Vec<SetPanel>,
    pub y_title: &'static str,
}

/// The sets of one encoder.
pub(crate) struct SetPanel {
    pub title: String,
    pub blocks: usize,
    /// Sets with their values, shares of 1. Bit `i` is 1 if block `i` is in the set; the first set is empty.
    pub columns: Vec<(usize, MeanStd)>,
}
