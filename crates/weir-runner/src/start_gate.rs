//! A gate before the load: a run that waits there has its connections open and has sent nothing but
//! its checks.

use std::sync::{Arc, Mutex, PoisonError};

use weir_engine::Control;
use weir_io::{Clock, Nanos};

/// Holds a run before its load until a time is set. Clones are of one gate, for one run.
#[derive(Clone, Debug, Default)]
pub struct StartGate {
    held: Arc<Mutex<Option<HeldLoad>>>,
}

/// The load at a gate.
type HeldLoad = (Arc<Control>, Clock);

impl StartGate {
    /// True if the run is at the gate: its connections are open or have failed, and it awaits
    /// [`StartGate::begin_at`].
    pub fn is_reached(&self) -> bool {
        self.held().as_ref().is_some_and(|(control, _)| control.awaits_start())
    }

    /// Sets the start of the load, in nanoseconds of CLOCK_MONOTONIC. It does nothing unless the
    /// run is [at the gate](Self::is_reached), and the first call decides.
    pub fn begin_at(&self, monotonic_ns: u64) {
        if let Some((control, clock)) = self.held().filter(|(control, _)| control.awaits_start()) {
            control.begin_at(Nanos(monotonic_ns.saturating_sub(clock.epoch_monotonic_ns())));
        }
    }

    pub(crate) fn hold(&self, control: &Arc<Control>, clock: Clock) {
        let held = Some((Arc::clone(control), clock));
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    fn held(&self) -> Option<HeldLoad> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
