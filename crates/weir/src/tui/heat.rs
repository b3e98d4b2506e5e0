//! Latencies of one interval in steps of equal ratio: a column of the heat map.

use weir_result::SparseHistogram;
use weir_result::histogram::middle_of;

/// Steps per factor of two.
const STEPS_PER_OCTAVE: f64 = 8.0;

/// Responses by step of their latency: step and count, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeatSteps(Vec<(u16, u64)>);

impl HeatSteps {
    /// Returns the column of an interval's latencies.
    pub(super) fn of(latency: &SparseHistogram) -> HeatSteps {
        let mut steps: Vec<(u16, u64)> = Vec::new();
        for (bucket, count) in latency.buckets() {
            let step = step_of(middle_of(bucket));
            match steps.last_mut() {
                Some((last, sum)) if *last == step => *sum += count,
                _ => steps.push((step, count)),
            }
        }
        HeatSteps(steps)
    }

    /// Returns the least and the greatest step; `None` without a response.
    pub(super) fn ends(&self) -> Option<(u16, u16)> {
        Some((self.0.first()?.0, self.0.last()?.0))
    }

    /// Returns the responses of the steps from `from` on, `to` excluded.
    pub(super) fn count(&self, from: u16, to: u16) -> u64 {
        let begin = self.0.partition_point(|(step, _)| *step < from);
        let within = self.0[begin..].iter().take_while(|(step, _)| *step < to);
        within.map(|(_, count)| count).sum()
    }
}

/// Rows of a heat map: the steps that its columns use, shared out among the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    first: u16,
    /// Steps in one row, at least 1.
    steps: u16,
    /// Number of rows in use.
    pub(super) count: u16,
}

impl Rows {
    /// Shares the steps out among at most `most` rows; `None` without a response or a row.
    pub(super) fn of<'c>(columns: impl Iterator<Item = &'c HeatSteps>, most: u16) -> Option<Rows> {
        let ends = columns.filter_map(HeatSteps::ends);
        let (first, last) = ends.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)))?;
        let used = last - first + 1;
        let steps = used.div_ceil(most.max(1));
        (most > 0).then_some(Rows { first, steps, count: used.div_ceil(steps) })
    }

    /// Returns the steps of a row, counted from the fastest; the second one is excluded.
    pub(super) fn steps(self, row: u16) -> (u16, u16) {
        let from = self.first + row * self.steps;
        (from, from + self.steps)
    }

    /// Returns the latency at which a row begins, in nanoseconds.
    pub(super) fn begin_ns(self, row: u16) -> u64 {
        (f64::from(self.steps(row).0) / STEPS_PER_OCTAVE).exp2() as u64
    }
}

fn step_of(ns: u64) -> u16 {
    // A latency of 64 bits has at most 512 steps.
    ((ns.max(1) as f64).log2() * STEPS_PER_OCTAVE) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_every_step_once() {
        let columns =
            [HeatSteps(vec![(40, 3), (44, 1)]), HeatSteps(vec![(51, 2)]), HeatSteps::default()];
        for most in 1..20 {
            let rows = Rows::of(columns.iter(), most).expect("there are responses");
            assert!(rows.count <= most, "{rows:?}");
            let counts = (0..rows.count).map(|row| {
                let (from, to) = rows.steps(row);
                columns.iter().map(|column| column.count(from, to)).sum::<u64>()
            });
            assert_eq!(counts.sum::<u64>(), 6, "{rows:?}");
        }
        assert_eq!(Rows::of([].into_iter(), 5), None);
        assert_eq!(Rows::of(columns.iter(), 0), None);
    }

    #[test]
    fn a_row_begins_at_its_latency() {
        let column = HeatSteps(vec![(step_of(1 << 20), 1), (step_of(1 << 22), 1)]);
        let rows = Rows::of([column].iter(), 3).expect("two responses");
        // Six steps per row: the last row begins at step 172, 2^21.5 ns.
        assert_eq!((rows.begin_ns(0), rows.begin_ns(2)), (1 << 20, 2_965_820));
    }
}
