//! The loop between the keys, the folder and the terminal.

use std::ffi::OsStr;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use anyhow::{Context as _, Result};
use frostline_sweep::{Ending, WatchedSweep, shown_path};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::screen::{Key, Screen, Then};
use crate::snapshot_thread::read_snapshots;

/// How long a key may wait for an answer.
const TICK: Duration = Duration::from_millis(100);

/// Shows a folder until a key ends it.
pub(crate) fn run(mut watched: WatchedSweep, every: Duration) -> Result<Ending> {
    let color = has_color(std::env::var_os("NO_COLOR").as_deref());
    let screen = Screen::new(shown_path(watched.folder()), watched.take_snapshot(), color);
    let terminal = ratatui::try_init().context("the terminal cannot be used; try `--once`")?;
    let ended = follow_keys(terminal, screen, watched, every);
    ratatui::restore();
    ended
}

/// Returns whether colors are wanted, by the value of `NO_COLOR`: any that is not empty forbids them.
fn has_color(no_color: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty)
}

fn follow_keys(
    mut terminal: DefaultTerminal,
    mut screen: Screen,
    watched: WatchedSweep,
    every: Duration,
) -> Result<Ending> {
    let snapshots = read_snapshots(watched, every);
    loop {
        terminal.draw(|frame| screen.draw(frame))?;
        if event::poll(TICK)?
            && let Event::Key(key) = event::read()?
            && let Some(key) = key_of_event(key)
            && screen.press_key(key) == Then::End
        {
            return Ok(Ending::Done);
        }
        match snapshots.try_recv() {
            Ok(snapshot) => screen.show(snapshot),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                anyhow::bail!("the folder is no longer read; start `watch` again")
            }
        }
    }
}

fn key_of_event(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('c') if control => Key::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Key::Quit,
        KeyCode::Up | KeyCode::Char('k') => Key::Up(1),
        KeyCode::Down | KeyCode::Char('j') => Key::Down(1),
        KeyCode::PageUp => Key::Up(10),
        KeyCode::PageDown => Key::Down(10),
        KeyCode::Home => Key::Up(usize::MAX),
        KeyCode::End => Key::Down(usize::MAX),
        KeyCode::Char(letter) => Key::Letter(letter),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_forbids_colors_unless_it_is_empty() {
        for (value, expected) in [(None, true), (Some(""), true), (Some("1"), false), (Some("0"), false)] {
            assert_eq!(has_color(value.map(OsStr::new)), expected, "{value:?}");
        }
    }
}
