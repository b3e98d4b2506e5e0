//! From a statistical verdict to an answer: bounds are compared as bounds, and runs with failed
//! requests are never called better.

use weir_result::Document;
use weir_result::quantile::Bound;
use weir_result::study::{Answer, Comparison, Pairing};
use weir_stats::{Difference, EffectVerdict, median};
use weir_text::setting::METRIC;
use weir_verdict::{Better, Measured, NamedMetric};

use crate::wording::UNKNOWN;

/// Runs of both systems.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs<'d> {
    /// Runs of the base.
    pub(crate) a: &'d [&'d Document],
    /// Runs of the new system.
    pub(crate) b: &'d [&'d Document],
}

/// Returns the answer for one metric, and the reason why it is not what the figures alone say.
pub(crate) fn answer(
    metric: &NamedMetric,
    runs: Runs<'_>,
    verdict: Option<&EffectVerdict>,
    comparison: &Comparison,
) -> (Answer, Option<String>) {
    let plain = |answer| (answer, None);
    if comparison.pairing == Pairing::Single || !comparison.not_comparable.is_empty() {
        return plain(Answer::None);
    }
    let answer = match verdict {
        None | Some(EffectVerdict::NotComparable) => return plain(Answer::None),
        Some(EffectVerdict::Undecided { .. }) => Answer::Undecided,
        Some(EffectVerdict::Higher(_)) => directed(metric, true),
        Some(EffectVerdict::Lower(_)) => directed(metric, false),
        Some(EffectVerdict::BelowThreshold(_)) => Answer::BelowThreshold,
        Some(EffectVerdict::Equivalent { .. }) => Answer::Equivalent,
    };
    if let Some(ranges) = Ranges::of(metric, runs).filter(Ranges::may_be_equal) {
        return (Answer::Undecided, Some(ranges.why_open(metric, comparison)));
    }
    let (name, side) = match answer {
        Answer::Better => (&comparison.new.name, runs.b),
        Answer::Worse => (&comparison.base.name, runs.a),
        _ => return plain(answer),
    };
    match side.iter().filter(|run| metric.failed(run) > 0).count() {
        0 => plain(answer),
        failed => {
            let why = format!("{name} had failed requests in {failed} of {} runs", side.len());
            (Answer::None, Some(why))
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
    a: Measured,
    b: Measured,
}

impl Ranges {
    /// Returns the ranges; `None` if a side has no value.
    pub(crate) fn of(metric: &NamedMetric, runs: Runs<'_>) -> Option<Ranges> {
        Some(Ranges { a: median_of(metric, runs.a)?, b: median_of(metric, runs.b)? })
    }

    /// Returns the ranges; `None` if a run has no value.
    pub(crate) fn of_all(metric: &NamedMetric, runs: Runs<'_>) -> Option<Ranges> {
        let mut all = runs.a.iter().chain(runs.b);
        Ranges::of(metric, runs).filter(|_| all.all(|run| metric.measure(run).is_ok()))
    }

    /// True if a value is a bound.
    pub(crate) fn have_bounds(&self) -> bool {
        self.a.bound != Bound::Exact || self.b.bound != Bound::Exact
    }

    /// True if both true values have an upper limit.
    pub(crate) fn are_finite(&self) -> bool {
        self.a.high.is_finite() && self.b.high.is_finite()
    }

    /// The reason why the true values may be equal, and what to do.
    fn why_open(&self, metric: &NamedMetric, comparison: &Comparison) -> String {
        let what = match (self.a.bound, self.b.bound) {
            (Bound::Exact, _) => format!("the value of {} is a bound", comparison.new.name),
            (_, Bound::Exact) => format!("the value of {} is a bound", comparison.base.name),
            _ => "both values are bounds".to_owned(),
        };
        let remedy = match metric.is_rate() {
            true => &format!("a time can decide: {METRIC} p50"),
            false => "docs/READING.md names the causes of bounds",
        };
        format!("{what}, so that the true ones may be equal; {remedy}")
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

fn median_of(metric: &NamedMetric, runs: &[&Document]) -> Option<Measured> {
    let measured: Vec<_> = runs.iter().filter_map(|run| metric.measure(run).ok()).collect();
    let middle = |end: fn(&Measured) -> f64| {
        let mut ends: Vec<f64> = measured.iter().map(end).collect();
        median(&mut ends)
    };
    let value = middle(|it| it.value);
    let low = middle(|it| it.low);
    let high = middle(|it| it.high);
    let bounds = [Bound::Lower, Bound::Upper, Bound::Unknown];
    let count = |bound: &Bound| measured.iter().filter(|it| it.bound == *bound).count();
    let bound = match low == value && value == high {
        true => Bound::Exact,
        false => bounds.into_iter().max_by_key(count)?,
    };
    (!measured.is_empty()).then_some(Measured { value, bound, low, high })
}

/// Returns the values of both sides as texts with their bounds: the difference's values, so that
/// the texts agree with it, or the medians without a difference.
pub(crate) fn values_in_words(
    metric: &NamedMetric,
    runs: Runs<'_>,
    difference: Option<&Difference>,
) -> [String; 2] {
    let text = |runs: &[&Document], value: Option<f64>| {
        let measured =
            median_of(metric, runs).map(|it| Measured { value: value.unwrap_or(it.value), ..it });
        measured.map_or_else(|| UNKNOWN.to_owned(), |it| metric.print_measured(&it))
    };
    [text(runs.a, difference.map(|it| it.a)), text(runs.b, difference.map(|it| it.b))]
}
