//! The display in the terminal: the sweep's progress, its cells, and the selected cell's curve.

use frostline_report::visible;
use frostline_sweep::units::{format_clock, format_rate};
use frostline_sweep::{CellProgress, CellSnapshot, CellState, FIRST_STEPS, LOADING, Snapshot};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Axis, Block, Chart, Dataset, Gauge, GraphType, Paragraph, Row, Table, TableState, Wrap,
};

use crate::sparkline::draw_sparkline;

/// The width of a cell's curves of loss and of accuracy in the table, in characters.
const CURVE: u16 = 16;
const DEV_CURVE: u16 = 8;

/// A column in addition to a cell's state and title.
struct ScreenColumn {
    name: &'static str,
    /// In characters.
    width: u16,
    /// Whether it is left out if the terminal is narrow.
    wide: bool,
}

const fn always_shown(name: &'static str, width: u16) -> ScreenColumn {
    ScreenColumn { name, width, wide: false }
}

const fn shown_when_wide(name: &'static str, width: u16) -> ScreenColumn {
    ScreenColumn { name, width, wide: true }
}

/// The columns in their order. A curve comes before its last value.
const COLUMNS: [ScreenColumn; 8] = [
    always_shown("step", 11),
    always_shown("loss", CURVE),
    always_shown("", 6),
    shown_when_wide("dev", DEV_CURVE),
    always_shown("dev %", 6),
    always_shown("time", 9),
    shown_when_wide("tokens/s", 8),
    shown_when_wide("memory", 9),
];

/// The width from which all columns are shown, in characters.
const WIDE: u16 = 100;

/// The least height at which the selected cell is shown below the table, in lines.
const TALL: u16 = 24;

/// A pressed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Ends the display.
    Quit,
    /// Selects a cell so many lines further up.
    Up(usize),
    /// Selects a cell so many lines further down.
    Down(usize),
    /// Another letter.
    Letter(char),
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The display continues.
    GoOn,
    /// The display ends.
    End,
}

/// The states by which cells can be selected, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum StateKind {
    Running,
    LeftBehind,
    Failed,
    Waiting,
    Done,
}

/// The state of the display.
#[derive(Debug)]
pub struct Screen {
    folder: String,
    snapshot: Snapshot,
    color: bool,
    /// Only cells of this kind are shown.
    only: Option<StateKind>,
    /// The id of the selected cell.
    selected: Option<String>,
}

impl Screen {
    /// Shows the sweep of a folder, in color or without.
    #[must_use]
    pub fn new(folder: String, snapshot: Snapshot, color: bool) -> Self {
        Self { folder, snapshot, color, only: None, selected: None }
    }

    /// Shows the current state of the sweep.
    pub fn show(&mut self, snapshot: Snapshot) {
        self.snapshot = snapshot;
    }

    /// Performs the action of a key.
    pub fn press_key(&mut self, key: Key) -> Then {
        match key {
            Key::Quit => return Then::End,
            Key::Up(lines) => self.select_row(|at, _| at.saturating_sub(lines)),
            Key::Down(lines) => self.select_row(|at, last| at.saturating_add(lines).min(last)),
            Key::Letter(letter) => {
                let kinds = [
                    ('a', None),
                    ('r', Some(StateKind::Running)),
                    ('f', Some(StateKind::Failed)),
                    ('w', Some(StateKind::Waiting)),
                    ('d', Some(StateKind::Done)),
                ];
                if let Some((_, only)) = kinds.into_iter().find(|(known, _)| *known == letter) {
                    self.only = only;
                }
            }
        }
        Then::GoOn
    }

    fn select_row(&mut self, to: impl Fn(usize, usize) -> usize) {
        let rows = self.rows();
        let id = rows.len().checked_sub(1).map(|last| rows[to(self.selected_row(&rows), last)].id.clone());
        self.selected = id;
    }

    /// Returns the cells that are shown, in order.
    fn rows(&self) -> Vec<&CellSnapshot> {
        let shown = |cell: &&CellSnapshot| self.only.is_none_or(|only| state_kind(&cell.state) == only);
        let mut rows: Vec<_> = self.snapshot.cells.iter().filter(shown).collect();
        rows.sort_by_key(|cell| state_kind(&cell.state));
        rows
    }

    /// Returns the selected cell's line; the first if it is not shown.
    fn selected_row(&self, rows: &[&CellSnapshot]) -> usize {
        let selected = |id: &String| rows.iter().position(|cell| cell.id == *id);
        self.selected.as_ref().and_then(selected).unwrap_or(0)
    }

    /// Draws everything.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let below = if area.height >= TALL { 10 } else { 0 };
        let decided = self.decision_lines();
        let [head, bar, decision, table, detail, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(decided.len() as u16),
            Constraint::Min(3),
            Constraint::Length(below),
            Constraint::Length(1),
        ])
        .areas(area);
        let rows = self.rows();
        let at = self.selected_row(&rows);
        frame.render_widget(self.header_line(), head);
        self.draw_bar(frame, bar);
        frame.render_widget(Paragraph::new(decided), decision);
        self.draw_table(frame, table, &rows, at);
        if let Some(cell) = rows.get(at).filter(|_| below > 0) {
            self.draw_detail(frame, detail, cell);
        }
        frame.render_widget(
            Line::from("↑ ↓ select   a all  r running  f failed  w waiting  d done   q end"),
            foot,
        );
    }

    fn header_line(&self) -> Line<'_> {
        let synthetic = if self.snapshot.synthetic { " (synthetic data)" } else { "" };
        Line::from(vec![
            Span::styled(visible(&self.snapshot.plan), Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(format!("{synthetic} in {}", visible(&self.folder))),
        ])
    }

    /// Returns what a sweep that grows until its question is answered has decided.
    fn decision_lines(&self) -> Vec<Line<'_>> {
        let lines = self.snapshot.decision.iter().flat_map(|decision| &decision.lines);
        lines.map(|line| Line::from(visible(line))).collect()
    }

    fn draw_bar(&self, frame: &mut Frame<'_>, area: Rect) {
        let counts = self.snapshot.counts;
        let named = [
            (counts.failed, "failed"),
            (counts.running, "running"),
            (counts.left_behind, "left by a dead process"),
            (counts.waiting, "waiting"),
        ];
        let so_far = if self.snapshot.search_continues { " so far" } else { "" };
        let mut label = format!("{} of {} done{so_far}", counts.done, counts.cells);
        if let Some(left_s) = self.snapshot.left_s {
            label += &format!(", about {} to go", format_clock(left_s));
        }
        for (count, name) in named.into_iter().filter(|(count, _)| *count > 0) {
            label += &format!(", {count} {name}");
        }
        let share = counts.done as f64 / counts.cells.max(1) as f64;
        let width = label.chars().count() as u16 + 1;
        let [text, bar] = Layout::horizontal([Constraint::Length(width), Constraint::Min(0)]).areas(area);
        frame.render_widget(Line::from(label), text);
        let gauge =
            Gauge::default().ratio(share).gauge_style(self.style_of(StateKind::Done)).use_unicode(true);
        frame.render_widget(gauge, bar);
    }

    fn draw_table(&self, frame: &mut Frame<'_>, area: Rect, rows: &[&CellSnapshot], at: usize) {
        let title = rows.iter().map(|cell| cell.title.chars().count()).max().unwrap_or(4).clamp(4, 60);
        let is_shown = |column: &&ScreenColumn| area.width >= WIDE || !column.wide;
        let shown: Vec<&ScreenColumn> = COLUMNS.iter().filter(is_shown).collect();
        let own = [Constraint::Length(7), Constraint::Min(title as u16)];
        let widths = own.into_iter().chain(shown.iter().map(|column| Constraint::Length(column.width)));
        let head = Row::new(["", "cell"].into_iter().chain(shown.iter().map(|column| column.name)))
            .style(Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED));
        let lines = rows.iter().map(|cell| {
            let columns = COLUMNS.iter().zip(columns_of(&cell.state));
            self.row(cell, columns.filter(|(column, _)| is_shown(column)).map(|(_, text)| text))
        });
        let table = Table::new(lines, widths)
            .header(head)
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        let mut state = TableState::default().with_selected((!rows.is_empty()).then_some(at));
        frame.render_stateful_widget(table, area, &mut state);
    }

    fn row<'a>(&self, cell: &'a CellSnapshot, columns: impl Iterator<Item = String>) -> Row<'a> {
        let kind = state_kind(&cell.state);
        let own = [Line::styled(kind.state_name(), self.style_of(kind)), Line::from(visible(&cell.title))];
        Row::new(own.into_iter().chain(columns.map(Line::from)))
    }

    fn draw_detail(&self, frame: &mut Frame<'_>, area: Rect, cell: &CellSnapshot) {
        let block = Block::bordered().title(format!(" {} ", visible(&cell.title)));
        let inside = block.inner(area);
        frame.render_widget(block, area);
        let text = |text: String| Paragraph::new(text).wrap(Wrap { trim: true });
        match &cell.state {
            CellState::Running { by, progress: Some(progress), .. } => {
                let [left, right] =
                    Layout::horizontal([Constraint::Length(34), Constraint::Min(20)]).areas(inside);
                frame.render_widget(text(format!("{progress}\n{}", visible(by))), left);
                self.draw_curve(frame, right, progress);
            }
            CellState::Running { by, progress: None, loaded, .. } => {
                let what = if *loaded { FIRST_STEPS } else { LOADING };
                frame.render_widget(text(format!("{what}\n{}", visible(by))), inside);
            }
            CellState::LeftBehind { by } => {
                let next = "the next process takes it over, from its last checkpoint if there is one";
                frame.render_widget(text(format!("{} has died; {next}", visible(by))), inside);
            }
            CellState::Failed { error } => {
                let lines: Vec<_> = error.lines().map(visible).collect();
                frame.render_widget(text(lines.join("\n")), inside);
            }
            CellState::Waiting => frame.render_widget(text("not started yet".into()), inside),
            CellState::Done { accuracy, total_s, .. } => {
                let scores: Vec<String> = accuracy
                    .iter()
                    .map(|(split, accuracy)| format!("{} {:.2} %", visible(split), 100.0 * accuracy))
                    .collect();
                frame.render_widget(
                    text(format!("{}\nin {}", scores.join(", "), format_clock(*total_s))),
                    inside,
                );
            }
        }
    }

    fn draw_curve(&self, frame: &mut Frame<'_>, area: Rect, progress: &CellProgress) {
        let points: Vec<(f64, f64)> = loss_points(progress).collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
        let values = points.iter().map(|(_, loss)| *loss);
        let (least, most) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
        let floor = if most > least { least } else { 0.0 };
        let line = Dataset::default()
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(self.style_of(StateKind::Running))
            .data(&points);
        let ends = |low: f64, high: f64| [format!("{low:.2}"), format!("{high:.2}")];
        let chart = Chart::new(vec![line])
            .x_axis(Axis::default().bounds([first.0, last.0]).title(format!("to step {}", last.0)))
            .y_axis(Axis::default().bounds([floor, most]).labels(ends(floor, most)).title("loss"));
        frame.render_widget(chart, area);
    }

    fn style_of(&self, kind: StateKind) -> Style {
        let color = match kind {
            StateKind::Running => Color::Cyan,
            StateKind::LeftBehind => Color::Yellow,
            StateKind::Failed => Color::Red,
            StateKind::Waiting => Color::Reset,
            StateKind::Done => Color::Green,
        };
        if self.color { Style::new().fg(color) } else { Style::new() }
    }
}

fn state_kind(state: &CellState) -> StateKind {
    match state {
        CellState::Waiting => StateKind::Waiting,
        CellState::Running { .. } => StateKind::Running,
        CellState::LeftBehind { .. } => StateKind::LeftBehind,
        CellState::Done { .. } => StateKind::Done,
        CellState::Failed { .. } => StateKind::Failed,
    }
}

impl StateKind {
    fn state_name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::LeftBehind => "left",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Done => "done",
        }
    }
}

/// The largest loss that is drawn. Above some 1e150 a chart's arithmetic is infinite, and its lines have no end.
const LARGEST_LOSS: f64 = 1e15;

/// Returns the points of the loss curve that can be drawn.
fn loss_points(progress: &CellProgress) -> impl Iterator<Item = (f64, f64)> {
    let points = progress.losses.iter().map(|&(step, loss)| (step as f64, loss));
    points.filter(|(_, loss)| loss.abs() <= LARGEST_LOSS)
}

/// Accuracy on dev after each epoch.
fn accuracy_points(progress: &CellProgress) -> impl Iterator<Item = (f64, f64)> {
    progress.dev_accuracy.iter().map(|&(epoch, accuracy)| (f64::from(epoch), accuracy))
}

/// Returns the texts of [`COLUMNS`].
fn columns_of(state: &CellState) -> [String; 8] {
    let memory = |mib: Option<f64>| mib.map_or(String::new(), |mib| format!("{mib:.0} MiB"));
    let percent =
        |accuracy: Option<f64>| accuracy.map_or(String::new(), |part| format!("{:.2}", 100.0 * part));
    match state {
        CellState::Running { progress: Some(progress), .. } => [
            format!("{}/{}", progress.step, progress.steps),
            draw_sparkline(&loss_points(progress).collect::<Vec<_>>(), CURVE.into()),
            format!("{:.3}", progress.loss_nats),
            draw_sparkline(&accuracy_points(progress).collect::<Vec<_>>(), DEV_CURVE.into()),
            percent(progress.dev_accuracy.last().map(|(_, accuracy)| *accuracy)),
            format!("-{}", format_clock(progress.left_s)),
            format_rate(progress.tokens_per_s),
            memory(progress.peak_rss_mib),
        ],
        CellState::Done { accuracy, total_s, peak_rss_mib } => {
            let dev = accuracy.iter().find(|(split, _)| split == "dev").map(|(_, accuracy)| *accuracy);
            let nothing = String::new;
            let [step, loss, last, curve, speed] = std::array::from_fn(|_| nothing());
            [step, loss, last, curve, percent(dev), format_clock(*total_s), speed, memory(*peak_rss_mib)]
        }
        _ => std::array::from_fn(|_| String::new()),
    }
}

#[cfg(test)]
mod tests;
