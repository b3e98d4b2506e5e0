//! The effort of a search: lengths of its trials, and the width of the interval.

use weir_result::study::SearchEffort;
use weir_stats::Goal;

use super::objective::Objective;

/// Requests of a full-length trial that may violate the strictest claim, at the limit. With fewer
/// the trial's share hardly differs from its neighbours' shares.
const VIOLATIONS_MIN: f64 = 20.0;

/// Longest full-length trial that follows from [`VIOLATIONS_MIN`], in seconds.
const FINAL_MAX_S: f64 = 60.0;

/// Returns the effort of a search that ends within minutes.
pub fn quick() -> SearchEffort {
    SearchEffort {
        initial_s: 5.0,
        final_s: 5.0,
        sum_s: 15.0,
        violations_min: VIOLATIONS_MIN,
        width: 0.1,
        warmup_s: 1.0,
        narrow_trials: 25,
        trials_max: 40,
    }
}

/// Returns the effort of METHOD 1.13 (`--precise`).
pub fn precise() -> SearchEffort {
    SearchEffort {
        initial_s: 7.5,
        final_s: 30.0,
        sum_s: 90.0,
        violations_min: VIOLATIONS_MIN,
        width: 0.02,
        warmup_s: 3.0,
        narrow_trials: 80,
        trials_max: 100,
    }
}

/// Returns the effort with trials long enough for the claims, if the highest rate is half of that
/// of a closed loop. `strictest` is the least share of requests that may violate a claim.
pub(super) fn long_enough(
    effort: SearchEffort,
    strictest: f64,
    closed_loop_rps: f64,
) -> SearchEffort {
    let needed_s = (effort.violations_min / (strictest * closed_loop_rps / 2.0)).min(FINAL_MAX_S);
    if needed_s <= effort.final_s {
        return effort;
    }
    // Whole seconds read better; shares have rounding errors.
    let factor = (needed_s - 1e-6).ceil() / effort.final_s;
    SearchEffort {
        initial_s: effort.initial_s * factor,
        final_s: effort.final_s * factor,
        sum_s: effort.sum_s * factor,
        ..effort
    }
}

/// Returns the goal of the statistical search; `strictest` as in [`long_enough`].
pub(super) fn goal(
    effort: &SearchEffort,
    objective: &Objective,
    strictest: f64,
    rate_max_rps: f64,
) -> Goal {
    Goal {
        // Below it, a full-length trial may not have one violation.
        rate_min_rps: 1.0 / (strictest * effort.final_s),
        initial_s: effort.initial_s,
        final_s: effort.final_s,
        sum_s: effort.sum_s,
        width: effort.width,
        rate_max_rps,
        // The run counts the trials, since it repeats some of them.
        trials_max: usize::MAX,
        ..Goal::of_shares(objective.shares_max())
    }
}

#[cfg(test)]
mod tests {
    use weir_result::Document;

    use super::*;

    #[test]
    fn slow_servers_get_longer_trials() {
        for (text, closed_loop_rps, final_s) in [
            ("p99 < 10ms", 20_000.0, 5.0),
            ("p99 < 10ms", 800.0, 5.0),
            ("p99 < 10ms", 200.0, 20.0),
            ("p99.9 < 10ms", 4_000.0, 10.0),
            ("p50 < 10ms and errors < 0.1%", 4_000.0, 10.0),
            ("p99 < 10ms", 2.0, 60.0),
        ] {
            let objective: Objective = text.parse().expect(text);
            let strictest = objective.strictest(&Document::default());
            let effort = long_enough(quick(), strictest, closed_loop_rps);
            assert_eq!(effort.final_s, final_s, "{text} at {closed_loop_rps}");
            assert_eq!((effort.initial_s, effort.sum_s), (final_s, 3.0 * final_s));
            assert!(long_enough(precise(), strictest, closed_loop_rps).final_s >= 30.0);
            let fixed = SearchEffort { violations_min: 0.0, ..quick() };
            assert_eq!(long_enough(fixed, strictest, closed_loop_rps), fixed);
        }
    }
}
