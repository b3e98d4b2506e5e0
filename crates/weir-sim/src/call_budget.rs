//! The end of runs that would not end: a panic after too many calls and steps.

use weir_io::Nanos;

use crate::world::World;

/// Counts of the calls of the backend and of the steps of the world, both named calls here.
#[derive(Debug, Default)]
pub(crate) struct CallBudget {
    calls: u64,
    /// Of `calls`: since the time last moved.
    idle_calls: u64,
    /// The latest time of a call.
    busy_until: Nanos,
}

impl CallBudget {
    /// Counts a call at `at`, and panics in a run that does not end.
    pub(crate) fn count(&mut self, at: Nanos, world: &World) {
        self.calls += 1;
        if at > self.busy_until {
            self.busy_until = at;
            self.idle_calls = 0;
        }
        self.idle_calls += 1;
        assert!(
            self.idle_calls <= world.limits.idle_calls && self.calls <= world.limits.calls,
            "the simulated run does not end: {} calls, {} of them since {}, seed {}",
            self.calls,
            self.idle_calls,
            self.busy_until,
            world.seed.0
        );
    }
}
