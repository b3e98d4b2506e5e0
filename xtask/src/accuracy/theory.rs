//! What must come, by arithmetic (METHOD 2.2, 2.3). Pure functions; seconds and shares.

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
    /// The share of requests that the stall delays.
    pub(super) fn delayed_share(self) -> f64 {
        self.stall_s / (self.window_s * (1.0 - self.load))
    }

    /// Q(p) of the response time.
    pub(super) fn quantile_s(self, p: f64) -> f64 {
        let delay_s = self.stall_s - (1.0 - p) * self.window_s * (1.0 - self.load);
        self.base_s + delay_s.max(0.0)
    }

    pub(super) fn mean_s(self) -> f64 {
        self.base_s + self.stall_s * self.delayed_share() / 2.0
    }

    /// Q(p) where the second half of the stall lies behind the window's end: nobody in the window
    /// waits less than half of it (METHOD 2.1, V11).
    pub(super) fn end_quantile_s(self, p: f64) -> f64 {
        let is_delayed = p > 1.0 - self.stall_s / (2.0 * self.window_s);
        let delay_s = self.stall_s - (1.0 - p) * self.window_s;
        self.base_s + if is_delayed { delay_s } else { 0.0 }
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
}
