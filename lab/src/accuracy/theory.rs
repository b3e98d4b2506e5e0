//! Expected values by arithmetic (METHOD 2.2, 2.3). Pure functions; seconds and shares.

/// A stall of `stall_s` in a window of `window_s` at a constant rate, with the base latency
/// `base_s`, and a backlog that drains so that the rate is the share `load` of the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stall {
    pub(super) stall_s: f64,
    pub(super) window_s: f64,
    pub(super) base_s: f64,
    pub(super) load: f64,
}

impl Stall {
    /// Returns a stall of a server that otherwise takes no time.
    pub(super) fn of(stall_s: f64, window_s: f64) -> Stall {
        Stall { stall_s, window_s, base_s: 0.0, load: 0.0 }
    }

    /// Returns the share of requests that the stall delays.
    pub(super) fn delayed_share(self) -> f64 {
        self.stall_s / (self.window_s * (1.0 - self.load))
    }

    /// Returns Q(p) of the response time.
    pub(super) fn quantile_s(self, p: f64) -> f64 {
        let delay_s = self.stall_s - (1.0 - p) * self.window_s * (1.0 - self.load);
        self.base_s + delay_s.max(0.0)
    }

    pub(super) fn mean_s(self) -> f64 {
        self.base_s + self.stall_s * self.delayed_share() / 2.0
    }

    /// Returns Q(p) if the second half of the stall lies after the window's end: every delayed
    /// request in the window waits at least half of it (METHOD 2.1, V11).
    pub(super) fn end_quantile_s(self, p: f64) -> f64 {
        let is_delayed = p > 1.0 - self.stall_s / (2.0 * self.window_s);
        let delay_s = self.stall_s - (1.0 - p) * self.window_s;
        self.base_s + if is_delayed { delay_s } else { 0.0 }
    }
}

/// Returns the wait of a request that arrives `after_s` after the begin of an overload, at
/// `rate_rps` with `capacity_rps` (METHOD 2.1, V8).
pub(super) fn overload_wait_s(rate_rps: f64, capacity_rps: f64, after_s: f64) -> f64 {
    after_s * (rate_rps / capacity_rps - 1.0)
}

/// A queue of one server with the service rate `service_rps` (METHOD 2.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Queue {
    pub(super) kind: QueueKind,
    pub(super) rate_rps: f64,
    pub(super) service_rps: f64,
}

/// Kind of queue: arrivals, then service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueKind {
    /// Poisson arrivals, exponential service.
    Mm1,
    /// Uniform arrivals, exponential service.
    Dm1,
    /// Poisson arrivals, fixed service.
    Md1,
}

impl Queue {
    /// Returns the mean time in the system.
    pub(super) fn mean_s(self) -> f64 {
        let Queue { kind, rate_rps, service_rps } = self;
        let load = rate_rps / service_rps;
        match kind {
            QueueKind::Md1 => (1.0 + load / (2.0 * (1.0 - load))) / service_rps,
            QueueKind::Mm1 | QueueKind::Dm1 => 1.0 / self.decay_rps(),
        }
    }

    /// Returns Q(p) of the time in the system, if it has a simple form: if that time is
    /// exponential.
    pub(super) fn quantile_s(self, p: f64) -> Option<f64> {
        let is_exponential = self.kind != QueueKind::Md1;
        is_exponential.then(|| -(1.0 - p).ln() / self.decay_rps())
    }

    /// Returns µ(1 − σ), where σ is the probability that an arriving customer finds the server
    /// busy: ρ for Poisson arrivals, otherwise the root of σ = exp(−(1 − σ)/ρ).
    fn decay_rps(self) -> f64 {
        let load = self.rate_rps / self.service_rps;
        let mut busy = load;
        if self.kind == QueueKind::Dm1 {
            for _ in 0..1_000 {
                busy = (-(1.0 - busy) / load).exp();
            }
        }
        self.service_rps * (1.0 - busy)
    }
}

/// A distribution of delays that `weir serve --delay` supports, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    Uniform { least_ns: f64, most_ns: f64 },
    Exponential { mean_ns: f64 },
    Pareto { scale_ns: f64, alpha: f64 },
}

impl Law {
    /// Returns the share of delays up to `ns`.
    pub(super) fn share(self, ns: f64) -> f64 {
        match self {
            Law::Uniform { least_ns, most_ns } => {
                ((ns - least_ns) / (most_ns - least_ns)).clamp(0.0, 1.0)
            }
            Law::Exponential { mean_ns } => 1.0 - (-ns.max(0.0) / mean_ns).exp(),
            Law::Pareto { scale_ns, alpha } => {
                if ns <= scale_ns {
                    0.0
                } else {
                    1.0 - (scale_ns / ns).powf(alpha)
                }
            }
        }
    }

    /// Formats the law as a value of `--delay`.
    pub(super) fn flag(self) -> String {
        match self {
            Law::Uniform { least_ns, most_ns } => format!("uniform:{least_ns}ns..{most_ns}ns"),
            Law::Exponential { mean_ns } => format!("exp:{mean_ns}ns"),
            Law::Pareto { scale_ns, alpha } => format!("pareto:{scale_ns}ns,{alpha}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-3, "{value} is not {expected}");
    }

    /// The table of METHOD 2.2, with its precision.
    #[test]
    fn stalls_are_those_of_the_method() {
        let stall = |load| Stall { stall_s: 1.4, window_s: 30.0, base_s: 0.0005, load };
        check(stall(0.0).quantile_s(0.92), 0.0005);
        check(stall(0.0).quantile_s(0.98), 0.8005);
        check(stall(0.0).quantile_s(0.9999), 1.3975);
        check(stall(0.25).quantile_s(0.95), 0.2756);
        check(stall(0.5).quantile_s(0.99), 1.2507);
        check(stall(0.8).quantile_s(0.92), 0.9209);
        check(stall(0.5).delayed_share(), 2.0 * 1.4 / 30.0);
    }

    /// Gil Tene's ^Z rule (METHOD 2.1, V7).
    #[test]
    fn half_the_time_stalled() {
        let stall = Stall { stall_s: 5.0, window_s: 10.0, base_s: 0.0, load: 0.0 };
        check(stall.quantile_s(0.9), 0.8 * 5.0);
        check(stall.quantile_s(0.75), 0.5 * 5.0);
        check(stall.quantile_s(0.5), 0.0);
    }

    #[test]
    fn a_stall_at_the_end_is_seen_from_its_middle_on() {
        let stall = Stall { stall_s: 1.0, window_s: 10.0, base_s: 0.0, load: 0.0 };
        check(stall.end_quantile_s(0.949), 0.0);
        check(stall.end_quantile_s(0.951), 0.51);
        check(stall.end_quantile_s(0.99), 0.9);
    }

    /// The table of METHOD 2.3.
    #[test]
    fn queues_are_those_of_the_method() {
        let queue = |kind| Queue { kind, rate_rps: 800.0, service_rps: 1_000.0 };
        let p99 = |kind| queue(kind).quantile_s(0.99).expect("it has one");
        check(queue(QueueKind::Mm1).mean_s(), 0.005);
        check(p99(QueueKind::Mm1), 0.023_03);
        check(queue(QueueKind::Dm1).mean_s() * 1e2, 0.269_2);
        check(p99(QueueKind::Dm1) * 1e2, 1.240);
        check(queue(QueueKind::Md1).mean_s(), 0.003);
        assert_eq!(queue(QueueKind::Md1).quantile_s(0.99), None);
    }

    #[test]
    fn overload_grows() {
        check(overload_wait_s(1_500.0, 1_000.0, 10.0), 5.0);
    }

    #[test]
    fn laws_are_distributions() {
        let uniform = Law::Uniform { least_ns: 1e6, most_ns: 5e6 };
        check(uniform.share(2e6), 0.25);
        check(Law::Exponential { mean_ns: 2e6 }.share(2e6), 0.632_12);
        check(Law::Pareto { scale_ns: 1e6, alpha: 1.5 }.share(4e6), 0.875);
        assert_eq!(uniform.flag(), "uniform:1000000ns..5000000ns");
    }
}
