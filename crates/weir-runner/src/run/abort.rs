//! Conditions that end a load early, over its finished intervals. This file decides when one has
//! held for long enough; it stops nothing.

use std::collections::VecDeque;

use weir_result::document::Aborted;
use weir_result::{Interval, Plan};
use weir_verdict::AbortCondition;

/// The conditions of a load, with the intervals for which they hold.
#[derive(Debug, Default)]
pub struct AbortWatch {
    conditions: Vec<HeldCondition>,
    /// End of the window in nanoseconds from t0, if the plan has one.
    window_ns: Option<u64>,
    /// The condition that ends the load.
    pub aborted: Option<Aborted>,
}

/// A condition, and the intervals up to the latest in which it held without a break.
#[derive(Debug)]
struct HeldCondition {
    condition: AbortCondition,
    /// Its values, as many as the required time takes at most.
    values: VecDeque<f64>,
    /// Time for which it has held, in nanoseconds.
    held_ns: u64,
}

impl AbortWatch {
    /// Returns the watch of the conditions over a load of this plan.
    pub fn new(conditions: Vec<AbortCondition>, plan: &Plan) -> AbortWatch {
        let of = |condition| HeldCondition { condition, values: VecDeque::new(), held_ns: 0 };
        AbortWatch {
            conditions: conditions.into_iter().map(of).collect(),
            window_ns: plan.load.length_ns(),
            aborted: None,
        }
    }

    /// True if there are no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Adds an interval of all workers. Returns true if a condition ends the load now, once.
    /// Intervals outside the window do not count.
    pub fn ends_with(&mut self, interval: &Interval) -> bool {
        let is_inside = match (u64::try_from(interval.start_ns), self.window_ns) {
            (Err(_), _) => false,
            (Ok(_), None) => true,
            (Ok(start_ns), Some(window_ns)) => start_ns + interval.length_ns <= window_ns,
        };
        if !is_inside || self.aborted.is_some() {
            return false;
        }
        let at_s = interval.end_ns() as f64 / 1e9;
        for watched in &mut self.conditions {
            if watched.has_held(interval) && self.aborted.is_none() {
                let values: Vec<f64> = watched.values.iter().copied().collect();
                self.aborted = Some(Aborted {
                    condition: watched.condition.to_string(),
                    at_s,
                    measured: watched.condition.in_words(&values),
                    values,
                });
            }
        }
        self.aborted.is_some()
    }
}

impl HeldCondition {
    /// Adds an interval. Returns true if the condition has held for the required time.
    fn has_held(&mut self, interval: &Interval) -> bool {
        let value = self.condition.value(interval);
        let Some(value) = value.filter(|value| self.condition.holds(*value)) else {
            self.values.clear();
            self.held_ns = 0;
            return false;
        };
        self.values.push_back(value);
        self.held_ns += interval.length_ns;
        self.held_ns >= self.condition.for_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn watch(conditions: &[&str], duration_ns: Option<u64>) -> AbortWatch {
        let parsed = conditions.iter().map(|text| text.parse().expect("a condition"));
        AbortWatch::new(
            parsed.collect(),
            &Plan::default().with_load(|load| load.duration_ns = duration_ns),
        )
    }

    fn interval(start_s: i64, completed: u64, bad: u64) -> Interval {
        let start_ns = start_s * SECOND as i64;
        Interval { start_ns, length_ns: SECOND, completed, bad, ..Interval::default() }
    }

    /// Returns the start, in seconds, of the interval with which the load ends.
    fn end(watch: &mut AbortWatch, bad: &[(i64, u64)]) -> Option<i64> {
        let mut all = bad.iter().map(|(start_s, bad)| (*start_s, interval(*start_s, 100, *bad)));
        all.find(|(_, interval)| watch.ends_with(interval)).map(|(start_s, _)| start_s)
    }

    #[test]
    fn a_condition_holds_in_each_second_without_a_break() {
        let condition = ["errors > 5% for 3s"];
        let mut broken = watch(&condition, None);
        assert_eq!(end(&mut broken, &[(0, 9), (1, 9), (2, 5), (3, 9), (4, 9), (5, 0)]), None);
        assert_eq!(broken.aborted, None);
        let mut unbroken = watch(&condition, None);
        let seconds = [(0, 9), (1, 0), (2, 6), (3, 8), (4, 20), (5, 50)];
        assert_eq!(end(&mut unbroken, &seconds), Some(4));
        let aborted = unbroken.aborted.clone().expect("it ended the load");
        assert_eq!((aborted.at_s, aborted.values), (5.0, vec![0.06, 0.08, 0.2]));
        assert_eq!(aborted.condition, condition[0]);
        assert!(!unbroken.ends_with(&interval(6, 100, 50)), "once");
    }

    #[test]
    fn a_second_without_requests_is_a_break_for_shares() {
        let mut watch = watch(&["errors > 5% for 2s"], None);
        for interval in [interval(0, 9, 9), interval(1, 0, 0), interval(2, 9, 9)] {
            assert!(!watch.ends_with(&interval), "{interval:?}");
        }
        assert!(watch.ends_with(&interval(3, 9, 9)));
    }

    #[test]
    fn warm_up_and_drain_do_not_count() {
        let condition = ["errors > 5% for 2s"];
        let mut warm = watch(&condition, Some(4 * SECOND));
        assert_eq!(end(&mut warm, &[(-2, 9), (-1, 9), (0, 9), (1, 9)]), Some(1));
        let mut late = watch(&condition, Some(4 * SECOND));
        assert_eq!(end(&mut late, &[(2, 0), (3, 9), (4, 9), (5, 9)]), None);
    }

    #[test]
    fn the_first_of_several_conditions_ends_the_load() {
        let mut watch = watch(&["errors > 90%", "rate < 200 for 2s", "errors > 5% for 3s"], None);
        assert_eq!(end(&mut watch, &[(0, 9), (1, 9), (2, 9)]), Some(1));
        assert_eq!(watch.aborted.map(|it| it.condition), Some("rate < 200 for 2s".to_owned()));
    }
}
