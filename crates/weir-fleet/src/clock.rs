//! The time of an agent's monotonic clock at an instant of the coordinator's, and back.
//!
//! A probe bounds the clock from both sides, whatever its ways took: the agent received it after it
//! was sent, and replied before the reply was back. Neither symmetric ways nor a distribution of
//! delays is assumed, only that the rates of the two clocks differ by a constant share, at most
//! 500 ppm, for as long as the probes of an estimate last.

/// Greatest difference of the rates of two clocks. Linux corrects a clock by at most 500 ppm
/// (adjtimex(2)).
const DRIFT_MAX: f64 = 500e-6;

/// Probes that are kept; beyond that the one with the longest round trip goes, but never the first
/// or the last: the time between them bounds the drift.
const KEPT_MAX: usize = 256;

/// One probe of an agent's clock. Times are nanoseconds of CLOCK_MONOTONIC, of the machine that
/// took them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockProbe {
    /// When the coordinator sent it.
    pub sent_ns: u64,
    /// When the agent received it.
    pub received_ns: u64,
    /// When the agent sent the reply.
    pub replied_ns: u64,
    /// When the coordinator received the reply.
    pub returned_ns: u64,
}

impl ClockProbe {
    /// Returns the time on the ways, both together, in nanoseconds.
    pub fn round_trip_ns(&self) -> u64 {
        let there_and_back = self.returned_ns.saturating_sub(self.sent_ns);
        there_and_back.saturating_sub(self.replied_ns.saturating_sub(self.received_ns))
    }
}

/// An instant on another clock, as bounds: both ends may be it. In nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSpan {
    /// Earliest time.
    pub low_ns: u64,
    /// Latest time.
    pub high_ns: u64,
}

impl ClockSpan {
    /// Returns the middle.
    pub fn middle_ns(&self) -> u64 {
        self.low_ns + (self.high_ns - self.low_ns) / 2
    }

    /// Returns the distance of an end from the middle.
    pub fn bound_ns(&self) -> u64 {
        (self.high_ns - self.low_ns).div_ceil(2)
    }
}

/// The knowledge of an agent's clock.
#[derive(Clone, Debug, Default)]
pub struct ClockEstimate {
    probes: Vec<ClockProbe>,
    /// It is the coordinator's own clock.
    is_same: bool,
}

/// Latest time that a clock can show, in nanoseconds: 73 years.
const LATEST_NS: u64 = 1 << 61;

impl ClockEstimate {
    /// Returns the estimate of a clock that is the coordinator's own.
    pub fn same() -> ClockEstimate {
        ClockEstimate { probes: Vec::new(), is_same: true }
    }

    /// True if the clock is the coordinator's own, so that no probe can tell more.
    pub fn is_same(&self) -> bool {
        self.is_same
    }

    /// Adds a probe. One whose times run backwards, or that no clock can show, is not kept.
    pub fn add(&mut self, probe: ClockProbe) {
        let is_backwards =
            probe.returned_ns < probe.sent_ns || probe.replied_ns < probe.received_ns;
        // No clock has run for so long, and differences of such times would not fit.
        if is_backwards || probe.returned_ns.max(probe.replied_ns) > LATEST_NS {
            return;
        }
        self.probes.push(probe);
        if self.probes.len() > KEPT_MAX {
            let inner = 1..self.probes.len() - 1;
            if let Some(worst) = inner.max_by_key(|index| self.probes[*index].round_trip_ns()) {
                self.probes.remove(worst);
            }
        }
    }

    /// Returns the number of probes that are kept.
    pub fn count(&self) -> usize {
        self.probes.len()
    }

    /// Returns the shortest round trip in nanoseconds; `None` without a probe.
    pub fn round_trip_min_ns(&self) -> Option<u64> {
        self.probes.iter().map(ClockProbe::round_trip_ns).min()
    }

    /// Returns what the agent's clock shows when the coordinator's shows `at_ns`. `None` without a
    /// probe, or if the probes contradict each other: a clock was set, or its rate has changed.
    pub fn agent_time(&self, at_ns: u64) -> Option<ClockSpan> {
        if self.is_same {
            return Some(ClockSpan { low_ns: at_ns, high_ns: at_ns });
        }
        self.to_agent()?.at(at_ns)
    }

    /// Returns what the coordinator's clock shows when the agent's shows `at_ns`; `None` as for
    /// [`ClockEstimate::agent_time`].
    pub fn coordinator_time(&self, at_ns: u64) -> Option<ClockSpan> {
        if self.is_same {
            return Some(ClockSpan { low_ns: at_ns, high_ns: at_ns });
        }
        let lower = |probe: &ClockProbe| (probe.received_ns, probe.sent_ns);
        let upper = |probe: &ClockProbe| (probe.replied_ns, probe.returned_ns);
        self.line(lower, upper)?.at(at_ns)
    }

    /// Returns the bounds of the drift: by how much the agent's clock is faster, as a share. `None`
    /// as for [`ClockEstimate::agent_time`].
    pub fn drift(&self) -> Option<(f64, f64)> {
        self.to_agent().map(|line| line.drift)
    }

    /// Returns the line from the coordinator's clock to the agent's.
    fn to_agent(&self) -> Option<OffsetLine> {
        let lower = |probe: &ClockProbe| (probe.returned_ns, probe.replied_ns);
        let upper = |probe: &ClockProbe| (probe.sent_ns, probe.received_ns);
        self.line(lower, upper)
    }

    /// Returns the line that maps one clock to the other, from the times that it is not below and
    /// not above.
    fn line(
        &self,
        lower: impl Fn(&ClockProbe) -> (u64, u64),
        upper: impl Fn(&ClockProbe) -> (u64, u64),
    ) -> Option<OffsetLine> {
        let origin = lower(self.probes.first()?);
        let relative = |(x, y): (u64, u64)| {
            let x = difference(x, origin.0);
            let y = difference(y, origin.1);
            (x as f64, (y - x) as f64)
        };
        let lower: Vec<_> = self.probes.iter().map(|probe| relative(lower(probe))).collect();
        let upper: Vec<_> = self.probes.iter().map(|probe| relative(upper(probe))).collect();
        let mut low = -DRIFT_MAX;
        let mut high = DRIFT_MAX;
        for (x_low, y_low) in &lower {
            for (x_high, y_high) in &upper {
                let span = x_high - x_low;
                let slope = (y_high - y_low) / span;
                if span > 0.0 {
                    high = high.min(slope);
                } else if span < 0.0 {
                    low = low.max(slope);
                }
            }
        }
        (low <= high).then_some(OffsetLine { origin, lower, upper, drift: (low, high) })
    }
}

/// Bounds of a line `offset(x)` between two clocks. Times are relative to the origin, so that
/// floating-point numbers hold them to less than a nanosecond.
struct OffsetLine {
    origin: (u64, u64),
    /// Points that the line is not below.
    lower: Vec<(f64, f64)>,
    /// Points that the line is not above.
    upper: Vec<(f64, f64)>,
    /// Least and greatest slope.
    drift: (f64, f64),
}

impl OffsetLine {
    fn at(&self, at_ns: u64) -> Option<ClockSpan> {
        let x = difference(at_ns, self.origin.0);
        let (slowest, fastest) = self.drift;
        let extend = |(from, offset): &(f64, f64), forward: f64, backward: f64| {
            let distance = x as f64 - from;
            offset + distance * if distance >= 0.0 { forward } else { backward }
        };
        let lows = self.lower.iter().map(|point| extend(point, slowest, fastest));
        let highs = self.upper.iter().map(|point| extend(point, fastest, slowest));
        let low = lows.fold(f64::NEG_INFINITY, f64::max).floor();
        let high = highs.fold(f64::INFINITY, f64::min).ceil();
        let absolute = |offset: f64| {
            let time = i128::from(self.origin.1) + i128::from(x) + offset as i128;
            u64::try_from(time.max(0)).ok()
        };
        (low <= high).then_some(ClockSpan { low_ns: absolute(low)?, high_ns: absolute(high)? })
    }
}

/// The signed distance of two times. Clocks count from the start of a machine: it fits.
fn difference(time: u64, origin: u64) -> i64 {
    i64::try_from(i128::from(time) - i128::from(origin)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A clock that is `ahead_ns` ahead and runs at its own rate.
    fn clock(at_ns: u64, ahead_ns: u64, drift: f64) -> u64 {
        (ahead_ns + at_ns).saturating_add_signed((at_ns as f64 * drift) as i64)
    }

    /// A probe sent at `at_ns` with those times on its two ways.
    fn probe(at_ns: u64, there_ns: u64, back_ns: u64, drift: f64) -> ClockProbe {
        let ahead = 777_777_000 * MS;
        let received = at_ns + there_ns;
        let replied = at_ns + there_ns + 5_000;
        ClockProbe {
            sent_ns: at_ns,
            received_ns: clock(received, ahead, drift),
            replied_ns: clock(replied, ahead, drift),
            returned_ns: replied + back_ns,
        }
    }

    #[test]
    fn times_that_no_clock_shows_are_not_kept() {
        let mut estimate = ClockEstimate::default();
        estimate.add(probe(MS, 1_000, 1_000, 0.0));
        for (received_ns, replied_ns) in [(0, u64::MAX), (u64::MAX, u64::MAX), (1 << 62, 1 << 62)] {
            estimate.add(ClockProbe { received_ns, replied_ns, ..probe(2 * MS, 0, 0, 0.0) });
        }
        assert_eq!(estimate.count(), 1);
        assert!(estimate.agent_time(3 * MS).is_some());
    }

    #[test]
    fn one_sided_delays_widen_the_bounds_and_do_not_shift_them() {
        let mut estimate = ClockEstimate::default();
        for index in 0..64 {
            estimate.add(probe(1_000 * MS + index * 30 * MS, 900_000, 20_000, 0.0));
        }
        let truth = clock(3_500 * MS, 777_777_000 * MS, 0.0);
        let span = estimate.agent_time(3_500 * MS).expect("bounds");
        assert!(span.low_ns <= truth && truth <= span.high_ns, "{span:?} without {truth}");
        assert!(span.high_ns - truth >= 900_000, "the way there is unknown: {span:?}");
        assert_eq!(estimate.round_trip_min_ns(), Some(920_000));
    }

    #[test]
    fn a_drift_is_followed_in_both_directions() {
        for drift in [0.0, 40e-6, -180e-6] {
            let mut estimate = ClockEstimate::default();
            for index in 0..64 {
                let delay = 20_000 + (index * 7_919 % 64) * 1_000;
                estimate.add(probe(1_000 * MS + index * 30 * MS, delay, delay / 2, drift));
            }
            let at_ns = 5_000 * MS;
            let truth = clock(at_ns, 777_777_000 * MS, drift);
            let span = estimate.agent_time(at_ns).expect("bounds");
            assert!(span.low_ns <= truth && truth <= span.high_ns, "{drift}: {span:?} {truth}");
            assert!(span.bound_ns() < 100_000, "{drift}: {span:?}");
            let back = estimate.coordinator_time(truth).expect("bounds");
            assert!(back.low_ns <= at_ns + 1 && at_ns <= back.high_ns + 1, "{drift}: {back:?}");
            let (low, high) = estimate.drift().expect("bounds");
            assert!(low <= drift && drift <= high, "{drift}: {low}..{high}");
        }
    }

    #[test]
    fn a_clock_that_was_set_has_no_bounds() {
        let mut estimate = ClockEstimate::default();
        assert_eq!(estimate.agent_time(0), None);
        estimate.add(probe(1_000 * MS, 20_000, 20_000, 0.0));
        let stepped = probe(1_100 * MS, 20_000, 20_000, 0.0);
        estimate.add(ClockProbe {
            received_ns: stepped.received_ns + 50 * MS,
            replied_ns: stepped.replied_ns + 50 * MS,
            ..stepped
        });
        assert_eq!(estimate.agent_time(1_200 * MS), None);
    }

    #[test]
    fn few_probes_are_kept_and_the_best_are_among_them() {
        let mut estimate = ClockEstimate::default();
        for index in 0..1_000 {
            let delay = if index == 500 { 1_000 } else { 100_000 + index };
            estimate.add(probe(index * MS, delay, delay, 0.0));
        }
        assert_eq!((estimate.count(), estimate.round_trip_min_ns()), (KEPT_MAX, Some(2_000)));
        let backwards = ClockProbe { sent_ns: 9, received_ns: 0, replied_ns: 0, returned_ns: 8 };
        estimate.add(backwards);
        assert_eq!(estimate.count(), KEPT_MAX);
    }
}
