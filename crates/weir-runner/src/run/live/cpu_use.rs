//! The CPU use of a worker, from its frames.

use std::collections::VecDeque;

use weir_io::Nanos;

/// Frames in one second.
const FRAMES: usize = 4;

/// CPU time of one worker at its frames of the last second, the latest last.
#[derive(Debug, Default)]
pub(super) struct CpuUse(VecDeque<(Nanos, u64)>);

impl CpuUse {
    /// Adds the CPU time that the worker had used at `at`, in nanoseconds.
    pub(super) fn add(&mut self, at: Nanos, busy_ns: u64) {
        if self.0.len() > FRAMES {
            self.0.pop_front();
        }
        self.0.push_back((at, busy_ns));
    }

    /// Returns the share of a CPU that the worker has used in the last second.
    pub(super) fn share(&self) -> Option<f64> {
        let (from, before_ns) = self.0.front()?;
        let (until, busy_ns) = self.0.back()?;
        let span_ns = until.since(*from);
        let used_ns = busy_ns.saturating_sub(*before_ns);
        // A backend without this figure has used nothing.
        (span_ns > 0 && *busy_ns > 0).then(|| (used_ns as f64 / span_ns as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_last_second() {
        let share = |percent: [u64; 2]| {
            let mut cpu = CpuUse::default();
            let mut busy_ns = 0;
            for quarter in 1..=8 {
                busy_ns += 10 * percent[usize::from(quarter > 4)];
                cpu.add(Nanos(quarter * 1_000), busy_ns);
            }
            cpu.share()
        };
        assert_eq!(share([90, 30]), Some(0.3));
        assert_eq!(share([0, 0]), None, "a backend without the figure");
        assert_eq!(CpuUse::default().share(), None);
    }
}
