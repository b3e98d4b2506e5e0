//! The terminal while weir draws on all of it: opened, read for keys, and restored whatever ends
//! the run.

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    is_raw_mode_enabled,
};

use super::draw::{self, View};

/// Most keys that are read at one time, so that a stuck key cannot hold a frame up.
const KEYS_MAX: usize = 64;

/// A key with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Ends the run; pressed again, it changes nothing.
    Quit,
    /// Ctrl-C: like the signal, the second one abandons the run.
    Interrupt,
    /// Stops the picture, or lets it run again.
    Pause,
    /// Opens or closes the list of keys.
    Help,
    /// Draws everything anew.
    Redraw,
}

/// The terminal in raw mode, with its alternate screen. Dropping it restores the terminal.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Box<dyn Write + Send>>>,
}

impl Screen {
    /// Takes the terminal over. From now on a panic restores it before its message.
    pub(super) fn open() -> io::Result<Screen> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        enable_raw_mode()?;
        let opened = execute!(output(), EnterAlternateScreen).and_then(|()| {
            let mut terminal = Terminal::new(CrosstermBackend::new(output()))?;
            terminal.hide_cursor()?;
            terminal.clear()?;
            Ok(Screen { terminal })
        });
        opened.inspect_err(|_| restore())
    }

    /// Returns the keys pressed since the last call. Without readable keys there are none.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for _ in 0..KEYS_MAX {
            match event::poll(Duration::ZERO)
                .and_then(|is_ready| is_ready.then(event::read).transpose())
            {
                Ok(Some(Event::Key(event))) => keys.extend(key_of(event)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        keys
    }

    /// Forgets what is on the terminal, so that the next picture is drawn whole.
    pub(super) fn clear(&mut self) {
        let _drawn_over = self.terminal.clear();
    }

    /// Draws a view, unless a panic or a signal has restored the terminal.
    pub(super) fn draw(&mut self, view: &View) -> io::Result<()> {
        if is_raw_mode_enabled()? {
            self.terminal.draw(|frame| draw::view(frame, view))?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal if a screen is open. Any thread may call this, at any time.
pub(crate) fn restore() {
    if is_raw_mode_enabled().unwrap_or(false) {
        let _gone = execute!(output(), LeaveAlternateScreen, Show);
        let _gone = disable_raw_mode();
    }
}

/// True if there is a terminal to draw on.
pub(super) fn has_terminal() -> bool {
    io::stderr().is_terminal() || io::stdout().is_terminal()
}

/// The stream that is drawn on: standard error, as for the progress line, if it is a terminal.
fn output() -> Box<dyn Write + Send> {
    match io::stderr().is_terminal() {
        true => Box::new(io::BufWriter::new(io::stderr())),
        false => Box::new(io::stdout()),
    }
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            KeyCode::Char('c') => Some(Key::Interrupt),
            KeyCode::Char('l') => Some(Key::Redraw),
            _ => None,
        };
    }
    match event.code {
        KeyCode::Char('q') => Some(Key::Quit),
        KeyCode::Char('p' | ' ') => Some(Key::Pause),
        KeyCode::Char('?' | 'h') => Some(Key::Help),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_meaning() {
        let none = KeyModifiers::NONE;
        for (code, modifiers, key) in [
            ('q', none, Some(Key::Quit)),
            ('c', KeyModifiers::CONTROL, Some(Key::Interrupt)),
            ('c', none, None),
            ('p', none, Some(Key::Pause)),
            (' ', none, Some(Key::Pause)),
            ('?', KeyModifiers::SHIFT, Some(Key::Help)),
            ('l', KeyModifiers::CONTROL, Some(Key::Redraw)),
            ('q', KeyModifiers::CONTROL, None),
        ] {
            let event = KeyEvent::new(KeyCode::Char(code), modifiers);
            assert_eq!(key_of(event), key, "{code} {modifiers:?}");
        }
    }
}
