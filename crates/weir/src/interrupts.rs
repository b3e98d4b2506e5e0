//! Signals of the user: a thread that waits for them, and the run that they stop. One process may
//! carry out several runs, one after the other.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use weir_engine::Control;
use weir_io::{Clock, Signal, Signals};

use crate::errors::NoThread;
use crate::exit;
use crate::output::Temporaries;
use crate::terminal;

/// State shared by the thread that waits for signals and the rest of the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts {
    received: Arc<OnceLock<Signal>>,
    stage: Arc<Mutex<Stage>>,
    temporaries: Temporaries,
}

/// The stage of the program, which decides the effect of a signal.
#[derive(Clone, Debug, Default)]
enum Stage {
    /// Nothing has been measured: a signal ends the program.
    #[default]
    Ahead,
    /// A run is in progress: the first signal stops it by this clock, a second one ends the
    /// program.
    Running { control: Arc<Control>, clock: Clock },
    /// The results are written: a signal ends the program.
    Reported,
}

impl Interrupts {
    /// Starts the thread that waits for signals. The program's first thread calls this before there
    /// are others. The first signal ends the run in progress, or the program if there is none; the
    /// second one ends the program.
    ///
    /// # Errors
    /// When signals cannot be waited for.
    pub(crate) fn await_signals() -> Result<Interrupts> {
        let signals = Signals::block().context("signals cannot be waited for")?;
        let interrupts = Interrupts::default();
        let theirs = interrupts.clone();
        let wait = move || {
            while let Ok(signal) = signals.wait() {
                theirs.receive(signal);
            }
        };
        // This thread outlives the runs: nothing ends its wait.
        let builder = thread::Builder::new().name("weir-signals".to_owned());
        let _detached = builder.spawn(wait).map_err(NoThread)?;
        Ok(interrupts)
    }

    /// Sets the run that a signal ends from now on. A signal received earlier ends it at once.
    pub(crate) fn watch_over(&self, control: &Arc<Control>, clock: Clock) {
        let mut stage = self.stage();
        *stage = Stage::Running { control: Arc::clone(control), clock };
        if self.received().is_some() {
            control.stop(clock.now());
        }
    }

    /// Marks the results as written: from now on a signal ends the program.
    pub(crate) fn reported(&self) {
        *self.stage() = Stage::Reported;
    }

    /// The first signal received, if any.
    pub(crate) fn received(&self) -> Option<Signal> {
        self.received.get().copied()
    }

    /// The files that are removed when a signal ends the program.
    pub(crate) fn temporaries(&self) -> &Temporaries {
        &self.temporaries
    }

    fn receive(&self, signal: Signal) {
        let is_first = self.received.set(signal).is_ok();
        let stage = self.stage();
        let message = match &*stage {
            Stage::Running { control, clock } if is_first => return control.stop(clock.now()),
            Stage::Running { .. } => "abandoned without a report",
            Stage::Ahead => "interrupted before the load: nothing was measured",
            Stage::Reported => "interrupted after the report: done() of the script was not awaited",
        };
        // Until the exit, the locks keep other threads from the next stage and from new files.
        let _none_left = self.temporaries.remove();
        terminal::say_lines(format_args!("\n{message}"));
        std::process::exit(exit::of_signal(signal).into());
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
