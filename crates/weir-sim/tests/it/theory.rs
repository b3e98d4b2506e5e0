//! The expected results of worlds that are simple enough for a formula (METHOD 2.1 to 2.3). Pure
//! functions; times in seconds, rates per second, `p` a probability.

/// One stall of a server under an open load at a constant rate (METHOD 2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StallCurve {
    /// Latency without a stall (b).
    pub(crate) base_s: f64,
    /// Length of the stall (S).
    pub(crate) stall_s: f64,
    /// Length of the measured window (D), long enough for the backlog to drain inside it.
    pub(crate) window_s: f64,
    /// Rate of the load over the rate at which the backlog drains (ρ); zero drains at once.
    pub(crate) utilisation: f64,
}

impl StallCurve {
    /// Returns S / (1 − ρ): the time from the start of the stall for which requests are delayed.
    fn delayed_s(&self) -> f64 {
        self.stall_s / (1.0 - self.utilisation)
    }

    /// Returns L(u): the latency of the request due `since_s` after the start of the stall.
    pub(crate) fn latency(&self, since_s: f64) -> f64 {
        if (0.0..=self.delayed_s()).contains(&since_s) {
            self.base_s + self.stall_s - since_s * (1.0 - self.utilisation)
        } else {
            self.base_s
        }
    }

    /// Returns Q(p), the p-quantile of the latency.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let delayed =
            self.base_s + self.stall_s - (1.0 - p) * self.window_s * (1.0 - self.utilisation);
        delayed.max(self.base_s)
    }

    /// Returns the share of requests that the stall delayed.
    pub(crate) fn share_delayed(&self) -> f64 {
        self.delayed_s() / self.window_s
    }

    /// Returns the mean latency, `E[L]`.
    pub(crate) fn mean(&self) -> f64 {
        self.base_s + self.stall_s * self.delayed_s() / (2.0 * self.window_s)
    }

    /// Returns the longest latency.
    pub(crate) fn max(&self) -> f64 {
        self.base_s + self.stall_s
    }
}

/// V8: returns Q(p) under overload at `rate` of a server that completes `capacity`. The window
/// begins with the load, and every request is awaited.
pub(crate) fn overload_quantile(window_s: f64, rate: f64, capacity: f64, p: f64) -> f64 {
    p * window_s * (rate / capacity - 1.0)
}

/// V8: returns the latency of the request due `since_s` after the start of the load.
pub(crate) fn overload_latency(rate: f64, capacity: f64, since_s: f64) -> f64 {
    since_s * (rate / capacity - 1.0)
}

/// V11: returns Q(p) for a stall of `stall_s` whose middle is the window's end. Returns `None`
/// below the share `1 − S / (2D)` of requests that the stall did not affect. The base latency is
/// taken as zero.
pub(crate) fn end_stall_quantile(window_s: f64, stall_s: f64, p: f64) -> Option<f64> {
    (p > 1.0 - stall_s / (2.0 * window_s)).then_some(stall_s - (1.0 - p) * window_s)
}

/// M/M/1: returns the mean response time.
pub(crate) fn mm1_mean(arrival: f64, service: f64) -> f64 {
    1.0 / (service - arrival)
}

/// M/M/1: returns Q(p) of the response time.
pub(crate) fn mm1_quantile(arrival: f64, service: f64, p: f64) -> f64 {
    -(1.0 - p).ln() * mm1_mean(arrival, service)
}

/// D/M/1: returns σ, the share of arrivals that find the server busy: the root below one of
/// `σ = exp(−(1 − σ) / ρ)`.
pub(crate) fn dm1_sigma(utilisation: f64) -> f64 {
    assert!((0.0..1.0).contains(&utilisation), "a queue at utilisation {utilisation} grows");
    // Fixed-point iteration from below converges to the smaller root, the other being one; slowly
    // only when the utilisation is near one.
    let mut sigma = 0.0f64;
    for _ in 0..1_000_000 {
        let next = (-(1.0 - sigma) / utilisation).exp();
        if (next - sigma).abs() < 1e-15 {
            return next;
        }
        sigma = next;
    }
    sigma
}

/// D/M/1: returns the mean response time.
pub(crate) fn dm1_mean(arrival: f64, service: f64) -> f64 {
    1.0 / (service * (1.0 - dm1_sigma(arrival / service)))
}

/// D/M/1: returns Q(p) of the response time.
pub(crate) fn dm1_quantile(arrival: f64, service: f64, p: f64) -> f64 {
    -(1.0 - p).ln() * dm1_mean(arrival, service)
}

/// M/D/1: returns the mean response time.
pub(crate) fn md1_mean(arrival: f64, service: f64) -> f64 {
    let utilisation = arrival / service;
    1.0 / service + utilisation / (2.0 * service * (1.0 - utilisation))
}

/// M/G/1 (Pollaczek and Khinchine): returns the mean response time, from the first two moments of
/// the service time.
pub(crate) fn mg1_mean(arrival: f64, service_mean_s: f64, service_square_s2: f64) -> f64 {
    service_mean_s + arrival * service_square_s2 / (2.0 * (1.0 - arrival * service_mean_s))
}

/// Closed loop with one FIFO worker: returns the throughput of `conns` connections that wait
/// `think_s` between response and request. It is exact if nothing queues or the worker is always
/// busy.
pub(crate) fn closed_throughput(conns: u32, think_s: f64, service: f64) -> f64 {
    (f64::from(conns) / (think_s + 1.0 / service)).min(service)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: f64, expected: f64) {
        assert!((found - expected).abs() < 6e-5, "{found} is not {expected}");
    }

    /// The table of METHOD 2.2.
    #[test]
    fn stall_curve_gives_the_published_table() {
        let curve = |utilisation: f64| StallCurve {
            base_s: 0.0005,
            stall_s: 1.4,
            window_s: 30.0,
            utilisation,
        };
        let table = [
            (0.0, [0.0005, 0.0005, 0.8005, 1.1005, 1.3705, 1.3975]),
            (0.25, [0.0005, 0.2755, 0.9505, 1.1755, 1.3780, 1.39825]),
            (0.5, [0.2005, 0.6505, 1.1005, 1.2505, 1.3855, 1.3990]),
            (0.8, [0.9205, 1.1005, 1.2805, 1.3405, 1.3945, 1.3999]),
        ];
        for (utilisation, row) in table {
            for (p, expected) in [0.92, 0.95, 0.98, 0.99, 0.999, 0.9999].into_iter().zip(row) {
                check(curve(utilisation).quantile(p), expected);
            }
        }
        check(curve(0.5).share_delayed(), 2.8 / 30.0);
        check(curve(0.5).mean(), 0.0005 + 1.96 / 30.0);
        check(curve(0.5).max(), 1.4005);
        check(curve(0.5).latency(1.0), 0.9005);
        check(curve(0.5).latency(3.0), 0.0005);
    }

    /// The examples of METHOD 2.3.
    #[test]
    fn queues_give_the_published_values() {
        for (utilisation, sigma) in [(0.5, 0.2032), (0.8, 0.6286), (0.9, 0.8069)] {
            check(dm1_sigma(utilisation), sigma);
        }
        check(mm1_mean(800.0, 1000.0), 0.005);
        check(mm1_quantile(800.0, 1000.0, 0.99), 0.02303);
        check(dm1_mean(800.0, 1000.0), 0.00269);
        check(dm1_quantile(800.0, 1000.0, 0.99), 0.01240);
        check(md1_mean(800.0, 1000.0), 0.003);
        check(mg1_mean(800.0, 0.001, 2e-6), 0.005);
        check(closed_throughput(4, 0.001, 1000.0) / 1000.0, 1.0);
        check(closed_throughput(1, 0.001, 1000.0) / 1000.0, 0.5);
    }

    #[test]
    fn overload_and_end_stall_give_their_curves() {
        check(overload_quantile(10.0, 1200.0, 1000.0, 0.5), 1.0);
        check(overload_latency(1200.0, 1000.0, 10.0), 2.0);
        check(end_stall_quantile(10.0, 2.0, 0.95).expect("inside"), 1.5);
        assert_eq!(end_stall_quantile(10.0, 2.0, 0.9), None);
    }
}
