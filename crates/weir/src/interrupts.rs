//! The user's wish to end: a thread that waits for signals, and the run that it stops. One program
//! may carry out several runs, one after the other.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use weir_engine::Control;
use weir_io::{Clock, Signal, Signals};

use crate::exit::{self, NoThread};
use crate::output::Temporaries;
use crate::terminal;

/// What the thread that waits for signals shares with everybody else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts {
    received: Arc<OnceLock<Signal>>,
    stage: Arc<Mutex<Stage>>,
    temporaries: Temporaries,
}

/// The stages that a signal meets.
#[derive(Clone, Debug, Default)]
enum Stage {
    /// Nothing has been measured: the program ends.
    #[default]
    Ahead,
    /// A run, and the clock by which it is stopped. A second signal ends the program.
    Running { control: Arc<Control>, clock: Clock },
    /// The results are out: the program ends.
    Reported,
}

impl Interrupts {
    /// Has signals waited for from now on; for the program's first thread, before there are others.
    /// The first signal ends the run that is under way, or the program where there is none; the
    /// second one the program.
    ///
    /// # Errors
    /// When signals cannot be waited for.
    pub(crate) fn await_signals() -> Result<Interrupts> {
        let signals = Signals::block().context("signals cannot be waited for")?;
        let interrupts = Interrupts::default();
        let theirs = interrupts.clone();
        let wait = move || {
            while let Ok(signal) = signals.wait() {
                theirs.heed(signal);
            }
        };
        // This thread outlives the runs: nothing ends its wait.
        let builder = thread::Builder::new().name("weir-signals".to_owned());
        let _detached = builder.spawn(wait).map_err(NoThread)?;
        Ok(interrupts)
    }

    /// Which run a signal is to end from now on. One that came before ends it at once.
    pub(crate) fn watch_over(&self, control: &Arc<Control>, clock: Clock) {
        let mut stage = self.stage();
        *stage = Stage::Running { control: Arc::clone(control), clock };
        if self.received().is_some() {
            control.stop(clock.now());
        }
    }

    /// The results are out; what follows may be ended at any time.
    pub(crate) fn reported(&self) {
        *self.stage() = Stage::Reported;
    }

    /// The signal that came, if one did.
    pub(crate) fn received(&self) -> Option<Signal> {
        self.received.get().copied()
    }

    /// The files that must not be left behind.
    pub(crate) fn temporaries(&self) -> &Temporaries {
        &self.temporaries
    }

    fn heed(&self, signal: Signal) {
        let is_first = self.received.set(signal).is_ok();
        let stage = self.stage();
        let farewell = match &*stage {
            Stage::Running { control, clock } if is_first => return control.stop(clock.now()),
            Stage::Running { .. } => "abandoned without a report",
            Stage::Ahead => "interrupted before the load: nothing was measured",
            Stage::Reported => "interrupted after the report: done() of the script was not awaited",
        };
        // Nobody goes on to the next stage meanwhile, nor begins a file.
        let _none_left = self.temporaries.remove();
        terminal::say_lines(format_args!("\n{farewell}"));
        std::process::exit(exit::of_signal(signal).into());
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
