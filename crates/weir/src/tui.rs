//! The screen of `--tui`: rate, percentiles, heat map, errors and connections while the load runs.
//!
//! It is an observer of the run. Drawing and keys are on the observer's thread, at the frames;
//! threads of the load do nothing for it.

mod draw;
mod glyphs;
mod heat;
mod screen;
mod state;

use std::io;

use anyhow::{Result, bail};
use weir_machine::sys;
use weir_result::{Interval, Note, Plan};
use weir_runner::{Frame, Observer, Phase, StudyProgress};

use crate::terminal::{self, warn};
use draw::View;
use glyphs::Glyphs;
use screen::{Key, Screen};
use state::State;

pub(crate) use screen::restore;

/// Returns the screen of a run.
///
/// # Errors
/// When there is no terminal to draw on.
pub(crate) fn observer() -> Result<Box<dyn Observer>> {
    if !screen::has_terminal() {
        bail!("--tui needs a terminal on standard error or standard output: leave --tui out");
    }
    if std::env::var_os("TERM").is_some_and(|name| name == "dumb") {
        bail!("--tui needs a terminal that moves the cursor, but TERM is dumb: leave --tui out");
    }
    Ok(Box::new(Tui { glyphs: Glyphs::of_environment(), ..Tui::default() }))
}

/// The screen, and the state that it shows.
#[derive(Default)]
struct Tui {
    glyphs: Glyphs,
    state: State,
    /// State at the pause, which is shown in place of the present one.
    paused: Option<State>,
    is_help_open: bool,
    /// Open during the load; in a study from the first load to the end, with [`restore`].
    screen: Option<Screen>,
    /// True between the loads of a study, when keys are not read.
    is_between: bool,
    /// True if the key that ends the run was pressed: it must not abandon the run when repeated.
    has_quit: bool,
}

impl Tui {
    /// Handles the keys pressed so far, and draws the state.
    fn refresh(&mut self) {
        let Some(screen) = &self.screen else { return };
        let keys = match screen.keys() {
            Ok(keys) => keys,
            Err(error) => return self.give_up(&error),
        };
        let is_anew = keys.contains(&Key::Redraw);
        keys.into_iter().for_each(|key| self.press(key));
        self.draw(is_anew);
    }

    /// Draws the state, on a cleared terminal if `is_anew`.
    fn draw(&mut self, is_anew: bool) {
        let view = View {
            state: self.paused.as_ref().unwrap_or(&self.state),
            glyphs: self.glyphs,
            is_paused: self.paused.is_some(),
            is_between: self.is_between,
            is_help_open: self.is_help_open,
        };
        if let Some(screen) = &mut self.screen
            && let Err(error) = screen.draw(&view, is_anew)
        {
            self.give_up(&error);
        }
    }

    /// Shows what happens between two loads of a study.
    fn between(&mut self, what: &str) {
        if self.is_between {
            what.clone_into(&mut self.state.phase);
            self.draw(false);
        }
    }

    /// Takes the terminal over, or its keys again.
    fn open(&mut self) -> io::Result<()> {
        match &mut self.screen {
            Some(screen) => screen.take_keys(),
            None => Screen::open().map(|screen| self.screen = Some(screen)),
        }
    }

    /// Closes a screen that failed. The run continues.
    fn give_up(&mut self, error: &io::Error) {
        self.screen = None;
        warn(format_args!("the screen of --tui failed: {error}; the run continues"));
    }

    fn press(&mut self, key: Key) {
        match key {
            Key::Quit if self.has_quit => {}
            Key::Quit | Key::Interrupt => {
                self.has_quit = true;
                let _always_allowed = sys::interrupt_self();
            }
            Key::Pause if self.paused.take().is_some() => {}
            Key::Pause => self.paused = Some(self.state.clone()),
            Key::Help => self.is_help_open = !self.is_help_open,
            Key::Redraw => {}
        }
    }
}

impl Observer for Tui {
    fn waiting(&mut self, failure: &str) {
        match self.screen {
            Some(_) => self.between("waiting for the server"),
            None => terminal::eprint_line(format_args!("waiting for the server: {failure}")),
        }
    }

    fn trial(&mut self, study: &StudyProgress) {
        let text = study.in_words();
        terminal::eprint_line(&text);
        self.state.trial = Some(text);
        self.between("next trial");
    }

    fn warning(&mut self, warning: &Note) {
        // While the screen is open, it is held back with all other output.
        warn(&warning.text);
    }

    fn phase(&mut self, phase: Phase, plan: &Plan) {
        if phase != Phase::Load {
            return self.between("checks");
        }
        let trial = self.state.trial.take();
        self.state = State::of(plan);
        self.state.trial = trial;
        self.is_between = false;
        if let Err(error) = self.open() {
            self.screen = None;
            warn(format_args!("--tui cannot use the terminal: {error}"));
        }
        self.refresh();
    }

    fn is_live(&self) -> bool {
        true
    }

    fn interval(&mut self, plan: &Plan, interval: &Interval) {
        self.state.interval(plan, interval);
    }

    fn frame(&mut self, plan: &Plan, frame: &Frame) {
        self.state.frame(plan, frame);
        self.refresh();
    }

    fn load_ended(&mut self) {
        if self.state.trial.is_none() {
            self.screen = None;
        }
        if let Some(screen) = &self.screen {
            // Until the next load nothing reads keys: Ctrl-C is a signal again.
            let _gone = screen.release_keys();
            (self.is_between, self.paused, self.is_help_open) = (true, None, false);
            self.between("trial ended");
        }
    }
}
