//! A gate before the load: a run that waits there has its connections open and has sent nothing but
//! its checks.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use weir_engine::Control;
use weir_io::{Clock, Nanos};

/// Holds a run before its load until a time is set. Clones are of one gate, for one run.
#[derive(Clone, Debug, Default)]
pub struct StartGate {
    held: Arc<Mutex<Option<Arc<dyn HeldLoad>>>>,
}

/// A load that a gate holds.
pub trait HeldLoad: Debug + Send + Sync {
    /// True if its connections are open or have failed, and it awaits its start.
    fn awaits_start(&self) -> bool;

    /// Sets its start, in nanoseconds of CLOCK_MONOTONIC. The first call decides.
    fn begin_at(&self, monotonic_ns: u64);

    /// Lets it run until a time, in nanoseconds of CLOCK_MONOTONIC. Once that has come, no later
    /// one renews it.
    fn renew_lease(&self, _until_ns: u64) {}
}

/// The load of an engine.
#[derive(Debug)]
pub(crate) struct EngineLoad {
    pub(crate) control: Arc<Control>,
    pub(crate) clock: Clock,
}

impl HeldLoad for EngineLoad {
    fn awaits_start(&self) -> bool {
        self.control.awaits_start()
    }

    fn begin_at(&self, monotonic_ns: u64) {
        let after_ns = monotonic_ns.saturating_sub(self.clock.epoch_monotonic_ns());
        self.control.begin_at(Nanos(after_ns));
    }

    fn renew_lease(&self, until_ns: u64) {
        let after_ns = until_ns.saturating_sub(self.clock.epoch_monotonic_ns());
        self.control.renew_lease(self.clock.now(), Nanos(after_ns));
    }
}

impl StartGate {
    /// True if the run is at the gate: its connections are open or have failed, and it awaits
    /// [`StartGate::begin_at`].
    pub fn is_reached(&self) -> bool {
        self.held().is_some_and(|load| load.awaits_start())
    }

    /// Sets the start of the load, in nanoseconds of CLOCK_MONOTONIC. It does nothing unless the
    /// run is [at the gate](Self::is_reached), and the first call decides.
    pub fn begin_at(&self, monotonic_ns: u64) {
        if let Some(load) = self.held().filter(|load| load.awaits_start()) {
            load.begin_at(monotonic_ns);
        }
    }

    /// Lets the load run until a time, in nanoseconds of CLOCK_MONOTONIC, and not longer: it sends
    /// nothing afterwards, not even what fell due while its process did not run.
    pub fn renew_lease(&self, until_ns: u64) {
        if let Some(load) = self.held() {
            load.renew_lease(until_ns);
        }
    }

    /// Holds a load from now on.
    pub fn hold(&self, load: Arc<dyn HeldLoad>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(load);
    }

    fn held(&self) -> Option<Arc<dyn HeldLoad>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
