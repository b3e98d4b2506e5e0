//! The ladder of percentiles that HdrHistogram's tables have: finer with each halving of the share
//! beyond.

/// A line: the bucket that reaches a step.
pub(crate) struct LadderRow {
    /// Greatest value equivalent to the bucket's values.
    pub(crate) value: u64,
    /// Step that the bucket reaches; none in the last line, which stands for all values.
    pub(crate) step: Option<LadderStep>,
    /// Number of values up to and including the bucket.
    pub(crate) reached: u64,
}

/// A step on the ladder of percentiles: five steps of equal width, then five of half the width, and
/// so on. It is a whole number, since sums of widths would drift.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LadderStep(u32);

impl LadderStep {
    const PER_HALVING: u32 = 5;

    /// Returns the share of values beyond the step, as numerator and denominator.
    pub(crate) fn beyond(self) -> (u128, u128) {
        let halving = self.0 / LadderStep::PER_HALVING;
        let within = self.0 % LadderStep::PER_HALVING;
        let whole = u128::from(2 * LadderStep::PER_HALVING);
        (whole - u128::from(within), whole << halving)
    }

    /// True if no more lies beyond `reached` of `count` values than beyond this step.
    fn is_reached(self, reached: u64, count: u64) -> bool {
        let (beyond, all) = self.beyond();
        u128::from(count - reached) * all <= u128::from(count) * beyond
    }

    /// Returns the share of values up to the step, p, and 1 / (1 − p).
    pub(crate) fn share_and_inverse(self) -> (f64, f64) {
        let (beyond, all) = self.beyond();
        ((all - beyond) as f64 / all as f64, all as f64 / beyond as f64)
    }
}

/// Returns the lines of a histogram: a bucket has one for each step that it is the first to reach;
/// the last bucket has one for the first such step and one for all values. `values` are the
/// greatest values of the buckets with their counts, ascending; `count` is the sum of the counts.
pub(crate) fn rows(values: impl IntoIterator<Item = (u64, u64)>, count: u64) -> Vec<LadderRow> {
    let mut rows = Vec::new();
    let mut reached = 0;
    let mut last = 0;
    let mut step = LadderStep::default();
    for (value, times) in values {
        (reached, last) = (reached + times, value);
        while step.is_reached(reached, count) {
            rows.push(LadderRow { value, step: Some(step), reached });
            step.0 += 1;
            if reached == count {
                break;
            }
        }
    }
    rows.push(LadderRow { value: last, step: None, reached });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_share_and_its_inverse() {
        for (step, share, inverse) in [
            (0, 0.0, 1.0),
            (1, 0.1, 10.0 / 9.0),
            (5, 0.5, 2.0),
            (6, 0.55, 20.0 / 9.0),
            (10, 0.75, 4.0),
        ] {
            assert_eq!(LadderStep(step).share_and_inverse(), (share, inverse), "step {step}");
        }
        assert_eq!(LadderStep(77).share_and_inverse().1, 40_960.0);
    }
}
