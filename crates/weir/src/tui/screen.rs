//! The terminal while weir draws on all of it: opened, read for keys, and restored whatever ends
//! the run.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use std::{mem, panic};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use weir_machine::sys::{self, HeldOutput, HeldText};

use super::draw::{self, View};

/// Most keys that are read at one time, so that a stuck key cannot hold a frame up.
const KEYS_MAX: usize = 64;

/// Most bytes of output during the load that are kept for after it.
const HELD_BYTES: usize = 256 << 10;

/// The terminal to restore. A terminal and the outputs belong to the process, and a
/// panic or a signal may restore them from any thread.
static OPEN: Mutex<Option<OpenScreen>> = Mutex::new(None);

/// Set once the hook of panics restores the terminal.
static HOOK: Once = Once::new();

/// A terminal that weir draws on.
#[derive(Debug)]
struct OpenScreen {
    terminal: File,
    /// Output of scripts, and messages; `None` until they are held back.
    held: Option<HeldOutput>,
}

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
    terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
}

impl Screen {
    /// Takes the terminal over. From now on a panic restores it before its message, and what is
    /// written to it by others is held back.
    pub(super) fn open() -> io::Result<Screen> {
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                restore();
                before(panic);
            }));
        });
        let terminal = terminal()?;
        enable_raw_mode()?;
        *lock() = Some(OpenScreen { terminal: terminal.try_clone()?, held: None });
        Screen::on(terminal).inspect_err(|_| restore())
    }

    fn on(mut terminal: File) -> io::Result<Screen> {
        // Text before the load stays before the screen.
        let _written_later = sys::flush_c_stdout();
        let held = HeldOutput::begin(HELD_BYTES)?;
        if let Some(open) = &mut *lock() {
            open.held = Some(held);
        }
        execute!(terminal, EnterAlternateScreen)?;
        let mut terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(terminal)))?;
        terminal.hide_cursor()?;
        let mut screen = Screen { terminal };
        screen.clear()?;
        Ok(screen)
    }

    /// Gives the terminal its usual mode back, with signals by keys, and keeps the picture.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(super) fn release_keys(&self) -> io::Result<()> {
        disable_raw_mode()
    }

    /// Reads keys again. Those that were pressed meanwhile come first.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(super) fn take_keys(&mut self) -> io::Result<()> {
        if lock().is_some() {
            enable_raw_mode()?;
            // The terminal has shown what was typed.
            self.clear()?;
        }
        Ok(())
    }

    /// Returns the keys pressed since the last call. Without readable keys there are none.
    ///
    /// # Errors
    /// When the terminal is gone: crossterm would then read its end again and again, and never
    /// return.
    pub(super) fn keys(&self) -> io::Result<Vec<Key>> {
        let mut keys = Vec::new();
        for _ in 0..KEYS_MAX {
            if has_hung_up() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            match event::poll(Duration::ZERO)
                .and_then(|is_ready| is_ready.then(event::read).transpose())
            {
                Ok(Some(Event::Key(event))) => keys.extend(key_of(event)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        Ok(keys)
    }

    /// Clears the terminal, so that the next picture is drawn whole. [`Terminal::clear`] would
    /// query the position of the cursor on standard output, and wait up to 2 s for the response.
    fn clear(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::new(0, 0, size.width, size.height))
    }

    /// Draws a view, on a cleared terminal if `is_anew`. Draws nothing once a panic or a signal has
    /// restored the terminal.
    pub(super) fn draw(&mut self, view: &View, is_anew: bool) -> io::Result<()> {
        if lock().is_none() {
            return Ok(());
        }
        if is_anew {
            self.clear()?;
        }
        self.terminal.draw(|frame| draw::view(frame, view)).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal if a screen is open, and prints what was held back. Any thread may call
/// this, at any time.
pub(crate) fn restore() {
    let open = mem::take(&mut *lock());
    let Some(OpenScreen { mut terminal, held }) = open else { return };
    let _gone = execute!(terminal, LeaveAlternateScreen, Show);
    let _gone = disable_raw_mode();
    // A script's text that the C library still holds precedes all later text.
    let _written_later = sys::flush_c_stdout();
    let text = held.map(HeldOutput::end).unwrap_or_default();
    let _gone = terminal.write_all(&printed(text));
}

/// Returns held text as it is printed: with a word on what was dropped, and a whole last line.
fn printed(HeldText { mut bytes, dropped }: HeldText) -> Vec<u8> {
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    let note = match dropped {
        0 => String::new(),
        _ => format!("note: {dropped} bytes of output during the load were dropped; redirect it\n"),
    };
    [note.into_bytes(), bytes].concat()
}

/// Locks the open terminal. Nothing panics with the lock.
fn lock() -> MutexGuard<'static, Option<OpenScreen>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if the terminal that is drawn on, or that keys come from, is gone.
fn has_hung_up() -> bool {
    let stdin = io::stdin();
    let gives_keys = stdin.is_terminal() && sys::has_hung_up(stdin.as_fd());
    let is_drawn_on = |open: &OpenScreen| sys::has_hung_up(open.terminal.as_fd());
    gives_keys || lock().as_ref().is_some_and(is_drawn_on)
}

/// True if there is a terminal to draw on.
pub(super) fn has_terminal() -> bool {
    io::stderr().is_terminal() || io::stdout().is_terminal()
}

/// Returns the terminal that is drawn on: standard error, as for the progress line, if it is one.
fn terminal() -> io::Result<File> {
    let stdout = io::stdout();
    let stderr = io::stderr();
    let output = if stderr.is_terminal() { stderr.as_fd() } else { stdout.as_fd() };
    Ok(File::from(output.try_clone_to_owned()?))
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    match (event.modifiers.contains(KeyModifiers::CONTROL), event.code) {
        (true, KeyCode::Char('c')) => Some(Key::Interrupt),
        (true, KeyCode::Char('l')) => Some(Key::Redraw),
        (false, KeyCode::Char('q')) => Some(Key::Quit),
        (false, KeyCode::Char('p' | ' ')) => Some(Key::Pause),
        (false, KeyCode::Char('?' | 'h')) => Some(Key::Help),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Set in the process that panics.
    const PANICS: &str = "WEIR_TEST_PANICS";

    #[test]
    fn a_panic_restores_the_terminal() {
        if std::env::var_os(PANICS).is_some() {
            drop(Screen::open().expect("script(1) gives a terminal"));
            mem::forget(Screen::open().expect("a second time"));
            sys::Stdout::new().write_all(b"text of a script").expect("memory");
            panic!("on purpose");
        }
        let this = std::env::current_exe().expect("a test runs");
        let test =
            format!("{} --exact tui::screen::tests::a_panic_restores_the_terminal", this.display());
        let line = format!("stty rows 24 cols 80; {PANICS}=1 {test} --nocapture; stty -a");
        let mut command = Command::new("script");
        command.args(["--quiet", "--command", &line, "/dev/null"]).env("TERM", "xterm");
        let output = command.stdin(Stdio::null()).output().expect("bsdutils is essential");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let at = |part: &str| text.rfind(part).unwrap_or_else(|| panic!("no {part:?} in {text:?}"));
        // The main screen and the cursor are back, then come the text and the message, each once.
        let order = ["\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h", "text of a script", "on purpose"];
        assert!(order.map(at).is_sorted(), "{text:?}");
        assert_eq!(text.matches("on purpose").count(), 1, "{text:?}");
        let modes: Vec<&str> = text[at("on purpose")..].split_whitespace().collect();
        assert!(
            ["echo", "icanon", "isig", "opost"].iter().all(|mode| modes.contains(mode)),
            "{text:?}"
        );
    }

    #[test]
    fn what_was_dropped_is_reported() {
        let held = |text: &str, dropped| HeldText { bytes: text.into(), dropped };
        assert_eq!(printed(held("", 0)), b"");
        assert_eq!(printed(held("a\nb", 0)), b"a\nb\n");
        let text = String::from_utf8(printed(held("b\n", 7))).expect("ASCII");
        assert!(text.starts_with("note: 7 bytes") && text.ends_with("\nb\n"), "{text}");
    }

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
