//! Margin between the end of a sleep and its instant. Pure: the times are arguments.

use crate::backend::WaitPolicy;
use crate::time::Nanos;

/// The spin margin: the 90th percentile of recent wake-up lateness plus an allowance, within
/// bounds.
///
/// The estimate moves by steps of fixed size: nine up for each late sample, one down for each
/// other. It is in equilibrium if one sample in ten is late. A mean would be distorted by the rare
/// wake-up that another program delays by milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margin {
    lateness_ns: u64,
}

impl Margin {
    const START_NS: u64 = 18_000;
    const STEP_NS: u64 = 64;
    const ALLOWANCE_NS: u64 = 2_000;
    const MIN_NS: u64 = 3_000;
    const MAX_NS: u64 = 50_000;

    pub(crate) fn new() -> Margin {
        Margin { lateness_ns: Margin::START_NS }
    }

    /// Records the lateness of the end of one sleep, in nanoseconds.
    pub(crate) fn woke(&mut self, late_ns: u64) {
        self.lateness_ns = if late_ns > self.lateness_ns {
            (self.lateness_ns + 9 * Margin::STEP_NS).min(Margin::MAX_NS)
        } else {
            self.lateness_ns.saturating_sub(Margin::STEP_NS)
        };
    }

    /// Returns the margin before the instant, in nanoseconds.
    pub(crate) fn ns(self) -> u64 {
        (self.lateness_ns + Margin::ALLOWANCE_NS).clamp(Margin::MIN_NS, Margin::MAX_NS)
    }
}

/// Method of spending the next stretch of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitMethod {
    /// Poll once: the instant has come.
    Look,
    /// Poll repeatedly.
    Spin,
    /// Poll repeatedly until this time, which is before the instant.
    Attend(Nanos),
    /// Sleep in the kernel until this time.
    Sleep(Nanos),
    /// Sleep until this time, or until there are this many events.
    Gather(Nanos, u32),
}

impl WaitMethod {
    /// Returns the next pause at `now`, if no event has occurred yet.
    #[inline]
    pub(crate) fn plan(now: Nanos, until: Nanos, policy: WaitPolicy, margin: Margin) -> WaitMethod {
        if until <= now {
            return WaitMethod::Look;
        }
        match policy {
            WaitPolicy::Spin => WaitMethod::Spin,
            WaitPolicy::Sleep => WaitMethod::Sleep(until),
            WaitPolicy::Attentive { awake_until } if now < awake_until => {
                WaitMethod::Attend(awake_until.min(until))
            }
            WaitPolicy::Hybrid | WaitPolicy::Attentive { .. } => match until {
                Nanos::MAX => WaitMethod::Sleep(until),
                _ if until.since(now) <= margin.ns() => WaitMethod::Spin,
                _ => WaitMethod::Sleep(until.before(margin.ns())),
            },
            WaitPolicy::Gather { events, within_ns } => {
                WaitMethod::Gather(until.min(now.after(within_ns.into())), events)
            }
        }
    }

    /// Returns the planned wake-up time if the sleep ends a margin before the instant, so that its
    /// lateness can adjust the margin.
    pub(crate) fn teaches(self, policy: WaitPolicy) -> Option<Nanos> {
        match (self, policy) {
            (WaitMethod::Sleep(wake_at), WaitPolicy::Hybrid | WaitPolicy::Attentive { .. }) => {
                Some(wake_at)
            }
            _ => None,
        }
    }
}

impl WaitPolicy {
    /// Returns the policy of a wait whose first pause brought no event: rare events are not
    /// gathered.
    pub(crate) fn go_on(self) -> WaitPolicy {
        match self {
            WaitPolicy::Gather { .. } => WaitPolicy::Sleep,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_near_twenty_microseconds() {
        assert_eq!(Margin::new().ns(), 20_000);
    }

    #[test]
    fn settles_at_the_ninetieth_percentile() {
        let mut margin = Margin::new();
        // Lateness cycles through 5.0, 5.1, … 5.9 µs but for one in twenty of 4 ms.
        for i in 0..100_000u64 {
            let late = if i % 20 == 7 { 4_000_000 } else { 5_000 + 100 * (i % 10) };
            margin.woke(late);
        }
        let ns = margin.ns();
        assert!((7_000..=8_600).contains(&ns), "{ns}");
    }

    #[test]
    fn stays_within_its_bounds() {
        let mut margin = Margin::new();
        for _ in 0..10_000 {
            margin.woke(0);
        }
        assert_eq!(margin.ns(), 3_000);
        for _ in 0..10_000 {
            margin.woke(10_000_000);
        }
        assert_eq!(margin.ns(), 50_000);
        // The estimate leaves the bound at the usual speed, because it never exceeded it.
        for _ in 0..1_000 {
            margin.woke(0);
        }
        assert!(margin.ns() < 50_000);
    }

    #[test]
    fn a_pause_never_outlasts_the_instant() {
        let check = |now, until, policy, expected| {
            assert_eq!(WaitMethod::plan(Nanos(now), Nanos(until), policy, Margin::new()), expected);
        };
        check(100, 100, WaitPolicy::Sleep, WaitMethod::Look);
        check(101, 100, WaitPolicy::Spin, WaitMethod::Look);
        check(0, 100, WaitPolicy::Spin, WaitMethod::Spin);
        check(0, 100, WaitPolicy::Sleep, WaitMethod::Sleep(Nanos(100)));
        check(0, 20_000, WaitPolicy::Hybrid, WaitMethod::Spin);
        check(0, 20_001, WaitPolicy::Hybrid, WaitMethod::Sleep(Nanos(1)));
        check(0, u64::MAX, WaitPolicy::Hybrid, WaitMethod::Sleep(Nanos::MAX));
        check(0, u64::MAX, WaitPolicy::Spin, WaitMethod::Spin);
        let attentive = WaitPolicy::Attentive { awake_until: Nanos(500) };
        check(0, 100, attentive, WaitMethod::Attend(Nanos(100)));
        check(0, 90_000, attentive, WaitMethod::Attend(Nanos(500)));
        check(500, 90_500, attentive, WaitMethod::Sleep(Nanos(70_500)));
        let gather = WaitPolicy::Gather { events: 8, within_ns: 1_000 };
        check(0, 100, gather, WaitMethod::Gather(Nanos(100), 8));
        check(0, u64::MAX, gather, WaitMethod::Gather(Nanos(1_000), 8));
        check(101, 100, gather, WaitMethod::Look);
    }
}
