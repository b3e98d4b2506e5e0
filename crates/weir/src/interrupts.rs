//! The user's wish to end: a thread that waits for signals, and the run that it stops. One program
//! may carry out several runs, one after the other.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use weir_engine::Control;
use weir_io::{Clock, Signal, Signals};

use crate::exit;

/// What the thread that waits for signals shares with everybody else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts {
    received: Arc<OnceLock<Signal>>,
    running: Arc<Mutex<Option<Running>>>,
}

/// A run, and the clock by which it is stopped.
#[derive(Clone, Debug)]
struct Running {
    control: Arc<Control>,
    clock: Clock,
}

impl Interrupts {
    /// Has signals waited for from now on; for the program's first thread, before there are others.
    /// The first signal ends the run that is under way, the second one the program.
    ///
    /// # Errors
    /// When signals cannot be waited for.
    pub(crate) fn await_signals() -> Result<Interrupts> {
        let signals = Signals::block().context("signals cannot be waited for")?;
        let interrupts = Interrupts::default();
        let theirs = interrupts.clone();
        // This thread outlives the runs: nothing ends its wait.
        thread::spawn(move || {
            while let Ok(signal) = signals.wait() {
                if theirs.received.set(signal).is_err() {
                    eprintln!("\nabandoned without a report");
                    std::process::exit(exit::of_signal(signal).into());
                }
                theirs.stop();
            }
        });
        Ok(interrupts)
    }

    /// Which run a signal is to end from now on. One that came before ends it at once.
    pub(crate) fn watch_over(&self, control: &Arc<Control>, clock: Clock) {
        let running = Running { control: Arc::clone(control), clock };
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        if self.received().is_some() {
            self.stop();
        }
    }

    /// The signal that came, if one did.
    pub(crate) fn received(&self) -> Option<Signal> {
        self.received.get().copied()
    }

    fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(Running { control, clock }) = running {
            control.stop(clock.now());
        }
    }
}
