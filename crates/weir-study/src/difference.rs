//! From a statistical verdict to an answer: bounds are compared as bounds, and runs with failed
//! requests are never called better.

use weir_result::quantile::Bound;
use weir_result::study::{Answer, Comparison, Pairing};
use weir_result::{Better, Document, Measured, NamedMetric};
use weir_stats::{Verdict, median};

/// Runs of both systems.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs<'d> {
    /// Runs of the base.
    pub(crate) a: &'d [&'d Document],
    /// Runs of the new system.
    pub(crate) b: &'d [&'d Document],
}

/// An answer, with the reason why it is not what the figures alone say.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    pub(crate) why: Option<String>,
}

/// Returns the answer for one metric.
pub(crate) fn answer(
    metric: &NamedMetric,
    runs: Runs<'_>,
    verdict: Option<&Verdict>,
    comparison: &Comparison,
) -> Answered {
    let plain = |answer| Answered { answer, why: None };
    if comparison.pairing == Pairing::Single || !comparison.not_comparable.is_empty() {
        return plain(Answer::None);
    }
    let answer = match verdict {
        None | Some(Verdict::NotComparable(_)) => return plain(Answer::None),
        Some(Verdict::Undecided { .. }) => Answer::Undecided,
        Some(Verdict::Higher(_)) => directed(metric, true),
        Some(Verdict::Lower(_)) => directed(metric, false),
        Some(Verdict::BelowThreshold(_)) => Answer::BelowThreshold,
        Some(Verdict::Equivalent { .. }) => Answer::Equivalent,
    };
    if let Some(Ranges { a, b }) = Ranges::of(metric, runs).filter(Ranges::may_be_equal) {
        let why = match (a.is_bound, b.is_bound) {
            (true, true) => "both values are bounds, and the true ones may be equal".to_owned(),
            (is_of_a, _) => {
                let side = if is_of_a { &comparison.base } else { &comparison.new };
                format!("the value of {} is a bound, and the true ones may be equal", side.name)
            }
        };
        return Answered { answer: Answer::Undecided, why: Some(why) };
    }
    let (name, side) = match answer {
        Answer::Better => (&comparison.new.name, runs.b),
        Answer::Worse => (&comparison.base.name, runs.a),
        _ => return plain(answer),
    };
    match side.iter().filter(|run| run.failed() > 0).count() {
        0 => plain(answer),
        failed => {
            let why = format!("{name} had failed requests in {failed} of {} runs", side.len());
            Answered { answer: Answer::None, why: Some(why) }
        }
    }
}

fn directed(metric: &NamedMetric, is_higher: bool) -> Answer {
    match (metric.better(), is_higher) {
        (Better::Higher, true) | (Better::Lower, false) => Answer::Better,
        (Better::Higher, false) | (Better::Lower, true) => Answer::Worse,
        (Better::Neither, _) => Answer::Different,
    }
}

/// Ranges of the true medians of both sides.
pub(crate) struct Ranges {
    a: Range,
    b: Range,
}

/// Range of the true median of one side.
struct Range {
    low: f64,
    high: f64,
    is_bound: bool,
}

impl Ranges {
    /// Returns the ranges; `None` if a side has no value.
    pub(crate) fn of(metric: &NamedMetric, runs: Runs<'_>) -> Option<Ranges> {
        Some(Ranges { a: Range::of(metric, runs.a)?, b: Range::of(metric, runs.b)? })
    }

    /// True if a value is a bound.
    pub(crate) fn have_bounds(&self) -> bool {
        self.a.is_bound || self.b.is_bound
    }

    /// True if a bound leaves it open which side is greater: the ranges overlap.
    pub(crate) fn may_be_equal(&self) -> bool {
        self.have_bounds() && self.a.low <= self.b.high && self.b.low <= self.a.high
    }

    /// Returns the least relative change that the ranges allow; `None` if there is no ratio, or
    /// bounds allow that there is no change.
    pub(crate) fn least_change(&self) -> Option<f64> {
        if self.may_be_equal() {
            return None;
        }
        let (a, b) = match self.b.low > self.a.high {
            true => (self.a.high, self.b.low),
            false => (self.a.low, self.b.high),
        };
        (a > 0.0 && b > 0.0).then(|| b / a - 1.0)
    }
}

impl Range {
    fn of(metric: &NamedMetric, runs: &[&Document]) -> Option<Range> {
        let measured: Vec<_> = runs.iter().filter_map(|run| metric.measure(run).ok()).collect();
        let is_bound = measured.iter().any(|it| it.bound != Bound::Exact);
        let middle = |end: fn(&Measured) -> f64| {
            let mut ends: Vec<f64> = measured.iter().map(end).collect();
            median(&mut ends)
        };
        (!measured.is_empty()).then(|| Range {
            low: middle(|it| it.low),
            high: middle(|it| it.high),
            is_bound,
        })
    }
}
