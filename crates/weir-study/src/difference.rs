//! From a statistical verdict to an answer: bounds are compared as bounds, and runs with failed
//! requests are never called better.

use weir_result::quantile::Bound;
use weir_result::study::{Answer, Comparison, Pairing};
use weir_result::{Better, Document, NamedMetric};
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
    if is_undecided_by_bounds(metric, runs) {
        let why = "both values are bounds, and the true ones may be equal".to_owned();
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

/// True if a bound leaves it open which side is greater: the ranges of the true values overlap.
pub(crate) fn is_undecided_by_bounds(metric: &NamedMetric, runs: Runs<'_>) -> bool {
    let (Some(a), Some(b)) = (range(metric, runs.a), range(metric, runs.b)) else { return false };
    (a.is_bound || b.is_bound) && a.low <= b.high && b.low <= a.high
}

/// Range of the true median of one side.
struct Range {
    low: f64,
    high: f64,
    is_bound: bool,
}

fn range(metric: &NamedMetric, runs: &[&Document]) -> Option<Range> {
    let measured: Vec<_> = runs.iter().filter_map(|run| metric.measure(run).ok()).collect();
    let mut lows: Vec<f64> = measured.iter().map(|it| it.low).collect();
    let mut highs: Vec<f64> = measured.iter().map(|it| it.high).collect();
    let is_bound = measured.iter().any(|it| it.bound != Bound::Exact);
    (!measured.is_empty()).then(|| Range {
        low: median(&mut lows),
        high: median(&mut highs),
        is_bound,
    })
}
