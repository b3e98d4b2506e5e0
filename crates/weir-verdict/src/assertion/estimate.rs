//! The number that a metric names in a document, and the data that its confidence is computed from.

use weir_stats::{SliceTail, mean_interval, percentile_interval, t_quantile};
use weir_text::setting::{CONNECTIONS, DURATION, GOODPUT, REQUESTS};

use super::confidence::{ConfidenceData, Estimate, Missing, Tail};
use super::metric::{AssertedMetric, Class, Figure, ThroughputRate, Time};
use super::path;
use super::scope::Scope;
use weir_result::ListOrder;
use weir_result::document::{Document, Metric as Times, SliceEntry};
use weir_result::histogram::{HIGHEST_NS, bucket_of};
use weir_result::quantile::{Bound, least_count};
use weir_text::units;

/// Reason why a name beyond those of the greatest weights has no confidence.
const WITHOUT_SLICES: &str = "only the names with the greatest weights have slices";

/// Returns the number that a metric names, over the requests of a scope.
pub(super) fn estimate(metric: &AssertedMetric, scope: &Scope<'_>) -> Result<Estimate, Missing> {
    match metric {
        AssertedMetric::Time(time, figure) => of_time(*time, *figure, scope),
        AssertedMetric::Rate(rate) => of_rate(*rate, scope),
        AssertedMetric::Share(class) => of_share(*class, scope),
        AssertedMetric::Count(class) => Ok(Estimate::fact(hits(*class, scope) as f64)),
        AssertedMetric::Under(limit_ns) => of_share_under(*limit_ns, scope),
        AssertedMetric::Goodput => of_goodput(scope.document),
        AssertedMetric::Path(path) => path::estimate(path, scope.document),
    }
}

fn of_time(time: Time, figure: Figure, scope: &Scope<'_>) -> Result<Estimate, Missing> {
    let times = scope.times(time).filter(|times| times.headline().count > 0);
    let why = match scope.is_of_name() {
        true => "no request with the name has such a time",
        false => "the run has no such time",
    };
    let times = times.ok_or_else(|| Missing::new(why.to_owned()))?;
    let summary = times.headline();
    let (ns, bound, why) = match figure {
        Figure::Percentile(p) => return of_percentile(time, times, p, scope),
        Figure::Max => {
            let bound = summary.percentile(100.0).map_or(Bound::Exact, |value| value.bound);
            let why = "a longer run may have a greater maximum; assert a percentile";
            (summary.max_ns.map(|ns| ns as f64), bound, why)
        }
        Figure::Min => {
            let why = "a longer run may have a lesser minimum; assert a percentile";
            (summary.min_ns.map(|ns| ns as f64), Bound::Exact, why)
        }
        Figure::Mean => {
            let why = "weir computes none for means; assert a percentile";
            (summary.mean_ns, summary.mean_bound, why)
        }
    };
    let ns = ns.ok_or_else(|| Missing::new("no request got a response".to_owned()))?;
    Ok(Estimate { bound, ..Estimate::without_confidence(ns, why) })
}

fn of_percentile(
    time: Time,
    times: &Times,
    p: f64,
    scope: &Scope<'_>,
) -> Result<Estimate, Missing> {
    let summary = times.headline();
    let Some(found) = summary.percentile(p) else {
        let noun = if time.is_of_connections() { "connection" } else { "request" };
        let why = match summary.count {
            1 => format!("1 {noun} has no p{p}"),
            count => format!("{} {noun}s have no p{p}", units::count(count)),
        };
        let advice = match time.is_of_connections() {
            true => {
                let needed = least_count(p);
                format!("it needs {} connections; use {CONNECTIONS} {needed}", units::count(needed))
            }
            false => needs_requests(p, summary.count, scope),
        };
        return Err(Missing { why, advice: Some(advice) });
    };
    let scarce = (p / 100.0).min(1.0 - p / 100.0);
    let tail = found.support.map(|support| {
        let effective = (support / scarce).min(summary.count as f64);
        let times = times.times.clone();
        Tail { p: p / 100.0, times, count: summary.count, effective }
    });
    let unknown = ConfidenceData::Unknown(match scope.is_of_name() && scope.slices.is_empty() {
        true => WITHOUT_SLICES,
        false => "the window has too few slices for this time",
    });
    let evidence = tail.map_or(unknown, |tail| ConfidenceData::Tail(Box::new(tail)));
    // Of a value that is known to lie in a range, no limit above the range is exceeded.
    let (ns, bound) = match (found.bound, found.range) {
        (Bound::Unknown, Some(range)) => (range.high_ns, Bound::Upper),
        (bound, _) => (found.ns, bound),
    };
    let client_ns = found.client_ns;
    Ok(Estimate { bound, client_ns, evidence, ..Estimate::fact(ns as f64) })
}

/// Formats the requests that a percentile needs, and their duration at the rate of this run.
fn needs_requests(p: f64, count: u64, scope: &Scope<'_>) -> String {
    let needed = least_count(p);
    let of = if scope.is_of_name() { " with this name" } else { "" };
    let requests = format!("it needs {} requests{of}", units::count(needed));
    let plan = &scope.document.plan;
    if plan.list.as_ref().is_some_and(|list| list.order == ListOrder::Once) {
        return requests;
    }
    let times = needed as f64 / count.max(1) as f64;
    if let Some(planned) = plan.load.requests {
        let all = if scope.is_of_name() { (planned as f64 * times).ceil() as u64 } else { needed };
        return format!("{requests}; use {REQUESTS} {all}");
    }
    let longer_s = (scope.document.throughput.window_s * times).ceil();
    if longer_s > 1e6 { requests } else { format!("{requests}; use {DURATION} {longer_s}s") }
}

fn of_rate(rate: ThroughputRate, scope: &Scope<'_>) -> Result<Estimate, Missing> {
    let rps = scope.rate(rate);
    let rps = rps.ok_or_else(|| Missing::new("names have no such rate".to_owned()))?;
    let count: fn(&SliceEntry) -> u64 = match rate {
        ThroughputRate::Completed => |slice| slice.completed,
        ThroughputRate::Good => |slice| slice.good,
        ThroughputRate::Sent | ThroughputRate::Bytes => {
            return Ok(Estimate::without_confidence(rps, "weir computes none for this rate"));
        }
    };
    let why = match scope.is_of_name() && scope.slices.is_empty() {
        true => WITHOUT_SLICES,
        false => "the window has too few slices",
    };
    Ok(Estimate {
        // Each name has its share of a rate that something else than the target limited.
        bound: scope.document.throughput.bound,
        is_rate: true,
        evidence: rate_evidence(rps, count, scope).unwrap_or(ConfidenceData::Unknown(why)),
        ..Estimate::fact(rps)
    })
}

/// The standard error of a rate by batch means over the slices that lie wholly in the window
/// (METHOD 1.7).
fn rate_evidence(
    rps: f64,
    count: fn(&SliceEntry) -> u64,
    scope: &Scope<'_>,
) -> Option<ConfidenceData> {
    const CONFIDENCE: f64 = 0.95;
    let window_s = scope.document.throughput.window_s;
    let whole = scope.slices.iter().filter(|slice| slice.end_s <= window_s);
    let rates: Vec<f64> =
        whole.map(|slice| count(slice) as f64 / (slice.end_s - slice.start_s)).collect();
    if rates.iter().all(|rate| *rate == 0.0) {
        return None;
    }
    let interval = mean_interval(&rates, CONFIDENCE)?;
    let df = (interval.slices - 1) as f64;
    let error_rps = interval.half_width / t_quantile((1.0 + CONFIDENCE) / 2.0, df);
    error_rps.is_finite().then_some(ConfidenceData::Rate { rps, error_rps, df })
}

/// A share of the planned requests, over the number of independent requests that they are worth:
/// failures come in bursts.
fn of_share(class: Class, scope: &Scope<'_>) -> Result<Estimate, Missing> {
    let planned = scope.results.planned;
    if planned == 0 {
        return Err(Missing::new("no request was planned".to_owned()));
    }
    if scope.results.in_progress == planned {
        return Err(Missing::new(format!("no user had ended at the end: raise {DURATION}")));
    }
    let hits = hits(class, scope) as f64;
    if scope.is_of_name() && scope.slices.is_empty() {
        return Ok(Estimate::without_confidence(hits / planned as f64, WITHOUT_SLICES));
    }
    let deff = design_effect(&scope.slices);
    let of = planned as f64 / deff;
    let evidence = ConfidenceData::Share { hits: hits / deff, of };
    Ok(Estimate { evidence, ..Estimate::fact(hits / planned as f64) })
}

/// The share of the planned requests with an `ok` response below a limit. Those in the limit's
/// bucket are not counted: buckets are a thousandth wide.
fn of_share_under(limit_ns: u64, scope: &Scope<'_>) -> Result<Estimate, Missing> {
    let planned = scope.results.planned;
    let times = scope.times(Time::RESPONSE).filter(|_| planned > 0);
    let times = times.ok_or_else(|| Missing::new("no request was planned".to_owned()))?;
    let limit = bucket_of(limit_ns.min(HIGHEST_NS));
    let below = times.times.ok.buckets().filter(|(bucket, _)| *bucket < limit);
    let hits = below.map(|(_, count)| count).sum::<u64>() as f64;
    let mut values = times.headline().percentiles.iter();
    let is_inflated = values.any(|value| matches!(value.bound, Bound::Upper | Bound::Unknown));
    let bound = if is_inflated { Bound::Lower } else { Bound::Exact };
    let deff = design_effect(&scope.slices);
    let evidence = ConfidenceData::Share { hits: hits / deff, of: planned as f64 / deff };
    Ok(Estimate { bound, evidence, ..Estimate::fact(hits / planned as f64) })
}

/// The share of the planned requests whose response met the goodput.
fn of_goodput(document: &Document) -> Result<Estimate, Missing> {
    let goodput = document.messages.as_ref().and_then(|messages| messages.goodput.as_ref());
    let goodput = goodput.ok_or_else(|| Missing {
        why: "the run has no goodput".to_owned(),
        advice: Some(format!("give its conditions: {GOODPUT} 'ttft < 500ms'")),
    })?;
    Ok(Estimate { bound: goodput.bound, ..Estimate::fact(goodput.share) })
}

/// Design effect of the failures: requests that are worth one independent one (METHOD 1.11).
fn design_effect(slices: &[SliceEntry]) -> f64 {
    let tails: Vec<SliceTail> = slices
        .iter()
        .map(|slice| {
            let beyond = slice.not_ok.count();
            SliceTail { count: slice.ok.count() + beyond, beyond }
        })
        .collect();
    // The effect comes from the failures seen; the percentile does not matter.
    percentile_interval(0.5, &tails, None).map_or(1.0, |interval| interval.deff)
}

/// Returns the number of requests of a class.
pub(super) fn hits(class: Class, scope: &Scope<'_>) -> u64 {
    let outcomes = scope.results.outcomes;
    match class {
        Class::Errors => scope.results.failed(),
        Class::Of(class) => outcomes.of(class),
        Class::Part(part) => outcomes.part(part),
        Class::Status(first, last) => {
            scope.results.status.range(first..=last).map(|(_, count)| count).sum()
        }
    }
}
