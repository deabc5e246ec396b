//! Tests of the display as text.

use frostline_sweep::CellCounts;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

fn running_state(step: u64) -> CellState {
    let losses = (1..=step / 10).map(|point| (10 * point, 2.5 / point as f64)).collect();
    let progress = CellProgress {
        step,
        steps: 400,
        epoch: 5,
        loss_nats: 0.4567,
        tokens_per_s: 12_345.0,
        left_s: 75.0,
        peak_rss_mib: Some(812.4),
        losses,
        dev_accuracy: vec![(1, 0.81), (2, 0.88), (3, 0.86), (4, 0.9123)],
    };
    CellState::Running {
        by: "frostline work on node-7 (process 4711)".into(),
        seen_s: Some(3.0),
        loaded: true,
        progress: Some(progress),
    }
}

fn test_snapshot() -> Snapshot {
    let loading = CellState::Running {
        by: "frostline sweep on node-1 (process 9)".into(),
        seen_s: None,
        loaded: false,
        progress: None,
    };
    let done = CellState::Done {
        accuracy: vec![("dev".into(), 0.9636), ("test".into(), 0.95)],
        total_s: 123.0,
        peak_rss_mib: Some(700.0),
    };
    let failed = CellState::Failed { error: "no memory\nfor 3 GiB \u{1b}[31m of activations".into() };
    let left = CellState::LeftBehind { by: "frostline work on node-2 (process 1)".into() };
    let states = [
        ("none", done),
        ("first-2", running_state(120)),
        ("first-4", failed),
        ("all", CellState::Waiting),
        ("odd", loading),
        ("even", left),
    ];
    let cells = states.map(|(policy, state)| CellSnapshot {
        id: policy.into(),
        title: format!("en {policy} seed 42"),
        state,
    });
    let counts = CellCounts { cells: 6, done: 1, failed: 1, running: 2, left_behind: 1, waiting: 1 };
    let (plan, cells) = ("paper".into(), cells.into());
    Snapshot {
        plan,
        synthetic: true,
        counts,
        search_continues: false,
        decision: None,
        left_s: Some(3725.0),
        cells,
    }
}

fn draw_screen(screen: &Screen, [width, height]: [u16; 2]) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|frame| screen.draw(frame)).expect("drawn");
    let lines = terminal.backend().to_string();
    lines.lines().map(|line| line.trim_matches('"').trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_tall_terminal_shows_the_selected_cell() {
    let mut screen = Screen::new("study".into(), test_snapshot(), true);
    insta::assert_snapshot!("running", draw_screen(&screen, [120, 26]));
    screen.press_key(Key::Letter('f'));
    insta::assert_snapshot!("failed", draw_screen(&screen, [120, 24]));
}

#[test]
fn a_small_terminal_shows_the_cells_alone() {
    let screen = Screen::new("study".into(), test_snapshot(), false);
    insta::assert_snapshot!("small", draw_screen(&screen, [80, 12]));
    // The display works at any size.
    for size in [[1, 1], [20, 3], [300, 100]] {
        draw_screen(&screen, size);
    }
}

/// Returns the colors of everything on a wide terminal.
fn drawn_colors(color: bool) -> Vec<Color> {
    let screen = Screen::new("study".into(), test_snapshot(), color);
    let mut terminal = Terminal::new(TestBackend::new(120, 26)).expect("a terminal");
    terminal.draw(|frame| screen.draw(frame)).expect("drawn");
    let cells = &terminal.backend().buffer().content;
    let mut found: Vec<Color> = cells.iter().flat_map(|cell| [cell.fg, cell.bg]).collect();
    found.dedup();
    found
}

#[test]
fn without_color_nothing_has_one() {
    assert!(drawn_colors(false).iter().all(|color| *color == Color::Reset), "{:?}", drawn_colors(false));
    assert!(drawn_colors(true).contains(&Color::Red) && drawn_colors(true).contains(&Color::Cyan));
}

#[test]
fn the_selected_cell_stays_selected_while_cells_move() {
    let mut screen = Screen::new("study".into(), test_snapshot(), true);
    screen.press_key(Key::Down(1));
    assert_eq!(screen.selected.as_deref(), Some("odd"));
    let mut next = test_snapshot();
    next.cells[4].state = CellState::Waiting;
    screen.show(next);
    let rows = screen.rows();
    assert_eq!(rows[screen.selected_row(&rows)].id, "odd");
    screen.press_key(Key::Down(usize::MAX));
    assert_eq!(screen.selected.as_deref(), Some("none"));
    screen.press_key(Key::Up(usize::MAX));
    assert_eq!(screen.selected.as_deref(), Some("first-2"));
    assert_eq!(screen.press_key(Key::Quit), Then::End);
}

#[test]
fn a_cell_that_takes_its_first_steps_does_not_load() {
    let mut now = test_snapshot();
    let mut shown = |is_loaded| {
        let CellState::Running { loaded, .. } = &mut now.cells[4].state else { panic!("it runs") };
        *loaded = is_loaded;
        let mut screen = Screen::new("study".into(), now.clone(), true);
        screen.press_key(Key::Down(1));
        draw_screen(&screen, [120, 26])
    };
    assert!(shown(false).contains(LOADING));
    let later = shown(true);
    assert!(later.contains(FIRST_STEPS) && !later.contains(LOADING), "{later}");
}

#[test]
fn a_kind_without_cells_shows_an_empty_table() {
    let mut only = test_snapshot();
    only.cells.truncate(1);
    let mut screen = Screen::new("study".into(), only, true);
    screen.press_key(Key::Letter('r'));
    screen.press_key(Key::Down(1));
    assert!(!draw_screen(&screen, [100, 30]).contains("en none"));
}

#[test]
fn numbers_of_any_size_are_drawn() {
    let large = [f64::MAX, f64::MIN, 1e308, -1e308, f64::INFINITY, f64::NAN, 0.5];
    for (first, last) in large.iter().flat_map(|first| large.map(|last| (*first, last))) {
        let losses = vec![(1, first), (2, last), (u64::MAX, first)];
        let progress = CellProgress {
            step: u64::MAX,
            steps: u64::MAX,
            epoch: u32::MAX,
            loss_nats: last,
            tokens_per_s: last,
            left_s: last,
            peak_rss_mib: Some(last),
            losses,
            dev_accuracy: vec![(1, last), (u32::MAX, 0.5)],
        };
        let by = "a process".into();
        let state = CellState::Running { by, seen_s: Some(last), loaded: true, progress: Some(progress) };
        let cells = vec![CellSnapshot { id: "a1".into(), title: "en none".into(), state }];
        let counts = CellCounts { cells: 1, running: 1, ..CellCounts::default() };
        let snapshot = Snapshot { cells, counts, left_s: Some(last), ..test_snapshot() };
        assert!(draw_screen(&Screen::new("study".into(), snapshot, true), [120, 26]).contains("loss"));
    }
}
