//! The parts of a run's report that only some readers want.

/// Parts of a report that only some readers want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// True for a compact histogram of the latencies.
    pub histogram: bool,
    /// True for rate and p99 over time, as sparklines.
    pub course: bool,
    /// True for the whole spectrum of latencies, not only a few percentiles.
    pub spectrum: bool,
    /// True for all findings, the machine, the workers, connect and first-byte times.
    pub verbose: bool,
    /// True for the grade and the findings.
    pub verdict: bool,
    /// True for every rule of the verdict with its figure.
    pub rules: bool,
    /// True for plots.
    pub plots: bool,
}
