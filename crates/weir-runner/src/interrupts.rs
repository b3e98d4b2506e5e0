//! Signals of the user, and the run that they end. One process may carry out several runs, one
//! after the other. Waiting for signals, and ending the process, is the caller's.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use std::time::Duration;

use weir_engine::Control;
use weir_io::Clock;
use weir_machine::sys::Signal;

use crate::patience::{Hurry, Patience};

/// State that a run shares with the thread that receives signals. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupts {
    received: Arc<OnceLock<Signal>>,
    watched: Arc<Mutex<WatchedRun>>,
    /// Set by a signal that ends a wait.
    pub(crate) hurry: Hurry,
}

/// The stage of a run at which a signal came that does not end it in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterruptStage {
    /// Nothing has been measured.
    #[default]
    Ahead,
    /// A run or a wait after it is in progress, and an earlier signal is ending it.
    Running,
    /// The results are being printed; the files are written.
    Printing,
    /// The results are reported.
    Reported,
}

/// The stage of the run, and what a signal ends.
#[derive(Clone, Debug, Default)]
struct WatchedRun {
    stage: InterruptStage,
    /// Control and clock of the load, while it lasts. Without them, a running stage is a wait.
    load: Option<(Arc<Control>, Clock)>,
}

impl Interrupts {
    /// Receives a signal. The first one ends the run in progress in order, and one after the load
    /// ends the wait in progress. Otherwise, calls `otherwise` with the stage; until that returns,
    /// no run and no stage begins.
    pub fn receive(&self, signal: Signal, otherwise: impl FnOnce(InterruptStage)) {
        let is_first = self.received.set(signal).is_ok();
        let watched = self.watched();
        match (watched.stage, &watched.load) {
            (_, Some((control, clock))) if is_first => control.stop(clock.now()),
            (InterruptStage::Running, None) if !self.hurry.set() => {}
            (stage, _) => otherwise(stage),
        }
    }

    /// Returns the first signal received, if any.
    pub fn received(&self) -> Option<Signal> {
        self.received.get().copied()
    }

    /// Begins a wait after the load: the next signal ends it, and nothing else.
    pub fn begin_wait(&self) {
        let mut watched = self.watched();
        self.hurry.reset();
        *watched = WatchedRun { stage: InterruptStage::Running, load: None };
    }

    /// Returns the limits of a wait that lasts at most this long. [`begin_wait`](Self::begin_wait)
    /// must have been called for a signal to end it.
    pub fn patience(&self, limit: Duration) -> Patience {
        Patience::new(limit, &self.hurry)
    }

    /// Enters a stage in which no load runs.
    pub fn enter(&self, stage: InterruptStage) {
        *self.watched() = WatchedRun { stage, load: None };
    }

    /// Sets the run that a signal ends from now on. A signal received earlier ends it at once.
    pub(crate) fn watch_over(&self, control: &Arc<Control>, clock: Clock) {
        let mut watched = self.watched();
        *watched =
            WatchedRun { stage: InterruptStage::Running, load: Some((Arc::clone(control), clock)) };
        if self.received().is_some() {
            control.stop(clock.now());
        }
    }

    fn watched(&self) -> MutexGuard<'_, WatchedRun> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the stage that a signal was reported in; `None` if it ended a run.
    fn stage(interrupts: &Interrupts, signal: Signal) -> Option<InterruptStage> {
        let mut reported = None;
        interrupts.receive(signal, |stage| reported = Some(stage));
        reported
    }

    #[test]
    fn the_first_signal_ends_the_run_and_the_second_does_not() {
        let interrupts = Interrupts::default();
        let control = Arc::new(Control::new(1, None));
        interrupts.watch_over(&control, Clock::start());
        assert_eq!(stage(&interrupts, Signal::Interrupt), None);
        assert_eq!(stage(&interrupts, Signal::Terminate), Some(InterruptStage::Running));
        assert_eq!(interrupts.received(), Some(Signal::Interrupt));
    }

    #[test]
    fn a_signal_after_the_load_ends_one_wait() {
        let interrupts = Interrupts::default();
        interrupts.watch_over(&Arc::new(Control::new(1, None)), Clock::start());
        assert_eq!(stage(&interrupts, Signal::Interrupt), None);
        for _ in 0..2 {
            interrupts.begin_wait();
            let patience = interrupts.patience(Duration::from_secs(60));
            assert!(patience.left().is_ok(), "an earlier signal ended something else");
            assert_eq!(stage(&interrupts, Signal::Interrupt), None);
            assert!(patience.left().is_err());
        }
        assert_eq!(stage(&interrupts, Signal::Interrupt), Some(InterruptStage::Running));
        interrupts.enter(InterruptStage::Printing);
        assert_eq!(stage(&interrupts, Signal::Interrupt), Some(InterruptStage::Printing));
    }

    #[test]
    fn a_signal_beside_a_run_is_the_caller_s() {
        let interrupts = Interrupts::default();
        assert_eq!(stage(&interrupts, Signal::HangUp), Some(InterruptStage::Ahead));
        interrupts.enter(InterruptStage::Reported);
        assert_eq!(stage(&interrupts, Signal::HangUp), Some(InterruptStage::Reported));
    }
}
