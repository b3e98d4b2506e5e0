//! Time in all of weir: nanoseconds on one monotonic clock since the run's epoch.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

use weir_machine::sys::monotonic_ns;

/// An instant, in nanoseconds since the run's epoch (METHOD 1.1). Monotonic, never wall-clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The epoch itself.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than every instant of a run: "never".
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Returns the span from `earlier` to here in nanoseconds, zero if `earlier` is not earlier.
    #[inline]
    pub fn since(self, earlier: Nanos) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the instant `span_ns` nanoseconds later; saturates at [`Nanos::MAX`].
    #[inline]
    pub fn after(self, span_ns: u64) -> Nanos {
        Nanos(self.0.saturating_add(span_ns))
    }

    /// Returns the instant `span_ns` nanoseconds earlier; saturates at zero.
    #[inline]
    pub fn before(self, span_ns: u64) -> Nanos {
        Nanos(self.0.saturating_sub(span_ns))
    }
}

impl Add<Duration> for Nanos {
    type Output = Nanos;
    fn add(self, span: Duration) -> Nanos {
        self.after(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The one clock of a run: `CLOCK_MONOTONIC` counted from an epoch that all threads share.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch_ns: u64,
}

impl Clock {
    /// Creates a clock whose epoch is now.
    pub fn start() -> Clock {
        Clock { epoch_ns: monotonic_ns() }
    }

    /// Returns the time since the epoch.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(monotonic_ns() - self.epoch_ns)
    }

    /// Returns the epoch on `CLOCK_MONOTONIC`, for comparison with another process of this host.
    pub fn epoch_monotonic_ns(&self) -> u64 {
        self.epoch_ns
    }
}
