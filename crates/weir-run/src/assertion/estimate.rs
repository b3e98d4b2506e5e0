//! What a document knows of a metric: the number, and between which ends it lies.

use weir_stats::{SliceTail, percentile_interval};

use super::metric::{Class, Figure, Metric, Rate, Time};
use super::path;
use crate::document::{Accounting, Document, Metric as Times, RateInterval, SliceEntry};
use crate::quantile::{Bound, count_needed};
use crate::units;

/// Half the width of a 95% interval, in standard errors.
const Z: f64 = 1.959_963_984_540_054;

/// A number and its 95% interval within the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) low: f64,
    /// None when nothing bounds it.
    pub(super) high: Option<f64>,
    /// The value is only known to be at least this.
    pub(super) is_bound: bool,
    /// How the interval gets narrower.
    pub(super) kind: Kind,
}

/// What an interval is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Nothing: the number is what it is.
    Exact,
    /// Slices.
    Sampled,
    /// So many of so many independent requests.
    Share { hits: f64, of: f64 },
    /// Failures: nobody knows how long they would have taken.
    Failures,
}

/// Why a number is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) why: String,
    pub(super) advice: Option<String>,
}

impl Missing {
    pub(super) fn new(why: String) -> Missing {
        Missing { why, advice: None }
    }
}

impl Estimate {
    /// A number that has no interval.
    pub(super) fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: Some(value), is_bound: false, kind: Kind::Exact }
    }

    /// What this run had, whatever it stands for.
    pub(super) fn of_this_run(self) -> Estimate {
        Estimate::exact(self.value)
    }
}

/// What the document knows of a metric.
pub(super) fn estimate(metric: &Metric, document: &Document) -> Result<Estimate, Missing> {
    match metric {
        Metric::Time(time, figure) => of_time(*time, *figure, document),
        Metric::Rate(rate) => Ok(of_rate(*rate, document)),
        Metric::Share(class) => of_share(*class, document),
        Metric::Count(class) => Ok(Estimate::exact(hits(*class, &document.accounting) as f64)),
        Metric::Path(path) => path::estimate(path, document),
    }
}

fn of_time(time: Time, figure: Figure, document: &Document) -> Result<Estimate, Missing> {
    let latency = &document.latency;
    let times = match time {
        Time::Response => Some(&latency.response_time),
        Time::Service => Some(&latency.service_time),
        Time::SendLag => Some(&latency.send_lag),
        Time::SchedLag => Some(&latency.sched_lag),
        Time::ConnectionWait => Some(&latency.connection_wait),
        Time::FirstByte => Some(&latency.first_byte),
        Time::Connect => Some(&latency.connect),
        Time::TlsHandshake => latency.tls_handshake.as_ref(),
    };
    let times = times.filter(|times| times.headline().count > 0);
    let times = times.ok_or_else(|| Missing::new("the run has no such time".to_owned()))?;
    let summary = times.headline();
    let figure = match figure {
        Figure::Percentile(p) => return of_percentile(times, p, document),
        Figure::Max if times.all.is_some() => {
            let greatest = summary.max_ns.map(|ns| at_least(ns as f64));
            return greatest.ok_or_else(|| Missing::new("no request was measured".to_owned()));
        }
        Figure::Max => summary.max_ns.map(|ns| ns as f64),
        Figure::Min => summary.min_ns.map(|ns| ns as f64),
        Figure::Mean => summary.mean_ns,
    };
    figure.map(Estimate::exact).ok_or_else(|| Missing::new("no request was answered".to_owned()))
}

/// A number of which only a lower end is known.
fn at_least(value: f64) -> Estimate {
    Estimate { value, low: value, high: None, is_bound: true, kind: Kind::Failures }
}

fn of_percentile(times: &Times, p: f64, document: &Document) -> Result<Estimate, Missing> {
    let summary = times.headline();
    let Some(found) = summary.percentile(p) else {
        let unsupported = summary.unsupported.iter().find(|lacking| lacking.p == p);
        let needed = unsupported.map_or_else(|| count_needed(p), |lacking| lacking.needed_samples);
        return Err(Missing {
            why: format!("{} requests do not carry p{p}", units::count(summary.count)),
            advice: Some(needs(needed, summary.count, document)),
        });
    };
    let value = found.ns as f64;
    if found.bound == Bound::Lower {
        let low = found.low_ns.map_or(value, |low_ns| low_ns.min(found.ns) as f64);
        return Ok(Estimate { low, ..at_least(value) });
    }
    let Some(low_ns) = found.low_ns else {
        return Ok(Estimate::exact(value));
    };
    // Failures sort above every answer, so that they are what an open end falls on.
    let kind = match (found.high_ns, times.all.is_some()) {
        (None, true) => Kind::Failures,
        _ => Kind::Sampled,
    };
    let high = found.high_ns.map(|ns| ns as f64);
    Ok(Estimate { value, low: low_ns as f64, high, is_bound: false, kind })
}

/// How many requests a percentile needs, and how long that takes at the rate of this run.
fn needs(needed: u64, count: u64, document: &Document) -> String {
    let requests = format!("it needs {} requests", units::count(needed));
    let window_s = document.throughput.window_s;
    if document.plan.requests.is_some() {
        return format!("{requests}: -n {needed}");
    }
    let longer_s = (window_s * needed as f64 / count.max(1) as f64).ceil();
    if count == 0 || longer_s > 1e6 { requests } else { format!("{requests}: -d {longer_s}s") }
}

fn of_rate(rate: Rate, document: &Document) -> Estimate {
    let throughput = &document.throughput;
    let (value, interval) = match rate {
        Rate::Completed => (throughput.completed_rps, throughput.completed_interval),
        Rate::Good => (throughput.good_rps, throughput.good_interval),
        Rate::Sent => (throughput.sent_rps, None),
        Rate::Bytes => (throughput.bytes_per_second, None),
    };
    match interval {
        // Slices that are cut off at the end are not in the interval, but in the value.
        Some(RateInterval { low_rps, high_rps }) => Estimate {
            value,
            low: low_rps.min(value),
            high: Some(high_rps.max(value)),
            is_bound: false,
            kind: Kind::Sampled,
        },
        None => Estimate::exact(value),
    }
}

/// A share of the planned requests, with Wilson's interval (Wilson 1927) over as many independent
/// requests as they are worth: failures come in bursts.
fn of_share(class: Class, document: &Document) -> Result<Estimate, Missing> {
    let planned = document.accounting.planned;
    if planned == 0 {
        return Err(Missing::new("no request was planned".to_owned()));
    }
    let hits = hits(class, &document.accounting) as f64;
    let deff = design_effect(&document.slices);
    Ok(of_hits(hits / deff, planned as f64 / deff))
}

/// The share of `hits` among `of` independent requests.
pub(super) fn of_hits(hits: f64, of: f64) -> Estimate {
    let share = hits / of;
    let spread = Z * (share * (1.0 - share) / of + Z * Z / (4.0 * of * of)).sqrt();
    let (middle, scale) = (share + Z * Z / (2.0 * of), 1.0 + Z * Z / of);
    // Rounding must not leave the value outside its own interval.
    let low = ((middle - spread) / scale).clamp(0.0, share);
    let high = ((middle + spread) / scale).clamp(share, 1.0);
    let low = if hits == 0.0 { 0.0 } else { low };
    let kind = Kind::Share { hits, of };
    Estimate { value: share, low, high: Some(high), is_bound: false, kind }
}

/// How many requests are worth one independent one where failing is concerned (METHOD 1.11).
fn design_effect(slices: &[SliceEntry]) -> f64 {
    let count = |packed: &Option<crate::document::PackedHistogram>| {
        packed.as_ref().map_or(0, |packed| packed.exact.count)
    };
    let tails: Vec<SliceTail> = slices
        .iter()
        .map(|slice| {
            let beyond = count(&slice.not_ok);
            SliceTail { count: count(&slice.ok) + beyond, beyond }
        })
        .collect();
    // The effect is that of the failures seen; which percentile is asked for does not matter.
    percentile_interval(0.5, &tails, None).map_or(1.0, |interval| interval.deff)
}

fn hits(class: Class, accounting: &Accounting) -> u64 {
    match class {
        Class::Errors => accounting.planned.saturating_sub(accounting.ok),
        Class::BadResponse => accounting.bad_response,
        Class::TransportError => accounting.transport_error,
        Class::TimedOut => accounting.timed_out,
        Class::InFlightAtEnd => accounting.in_flight_at_end,
        Class::NeverSent => accounting.never_sent,
        Class::Status(first, last) => {
            accounting.status.range(first..=last).map(|(_, count)| count).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_wilsons_interval() {
        // Newcombe, Statistics in Medicine 1998, table I, method 3.
        for (hits, of, low, high) in [
            (81.0, 263.0, 0.2553, 0.3662),
            (15.0, 148.0, 0.0624, 0.1605),
            (0.0, 20.0, 0.0, 0.1611),
            (1.0, 29.0, 0.0061, 0.1718),
        ] {
            let estimate = of_hits(hits, of);
            let end = estimate.high.expect("a share has an end");
            assert!((estimate.low - low).abs() < 5e-5, "{hits} of {of}: {estimate:?}");
            assert!((end - high).abs() < 5e-5, "{hits} of {of}: {estimate:?}");
        }
        assert_eq!(of_hits(7.0, 7.0).high, Some(1.0));
    }
}
