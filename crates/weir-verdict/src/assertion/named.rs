//! Metrics of a document by their names, as assertions have them, for comparisons and histories.

use std::fmt;
use std::str::FromStr;

use super::confidence::Missing;
use super::estimate::estimate;
use super::metric::{AssertedMetric, AssertionError, Class, Figure, ThroughputRate, Time};
use super::scope::Scope;
use super::scoped::{ScopedMetric, split_name};
use super::unit::{Unit, in_words};
use weir_result::Plan;
use weir_result::document::Document;
use weir_result::quantile::Bound;
use weir_text::{brief, units};

/// A number of a document by its name: `p99`, `rate`, `errors`, `service.p50`, and of the requests
/// with one name `checkout: p99` (docs/CI.md).
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMetric {
    /// The metric as it was written, without the name of its requests.
    text: String,
    scoped: ScopedMetric,
}

/// A metric of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Value, in the metric's unit: nanoseconds, per second, bytes per second, or a share of 1.
    pub value: f64,
    /// Relation of the value to the true one.
    pub bound: Bound,
    /// Lowest value that the true one may have because of the bound; equal to `value` without one.
    pub low: f64,
    /// Highest value that the true one may have because of the bound; infinite if there is no
    /// upper limit.
    pub high: f64,
}

/// Direction in which a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Greater values are better: rates.
    Higher,
    /// Lesser values are better: times, errors.
    Lower,
    /// Neither: a field of the document.
    Neither,
}

impl FromStr for NamedMetric {
    type Err = AssertionError;

    /// Parses a name.
    fn from_str(text: &str) -> Result<NamedMetric, AssertionError> {
        let (of, metric) = split_name(text);
        let scoped = ScopedMetric::parse(of, metric).map_err(AssertionError)?;
        Ok(NamedMetric { text: metric.to_owned(), scoped })
    }
}

impl fmt::Display for NamedMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scoped.prefixed(self.text.clone()))
    }
}

impl NamedMetric {
    /// Checks that a plan has requests with the name that the metric is of, if it has one.
    ///
    /// # Errors
    /// When it has none; the message has the nearest name.
    pub fn check(&self, plan: &Plan) -> Result<(), AssertionError> {
        self.scoped.check(plan).map_err(|AssertionError(why)| {
            AssertionError(format!("'{}': {why}", brief(&self.to_string())))
        })
    }

    /// Returns the metric's value in a document.
    ///
    /// # Errors
    /// The reason why the document has none.
    pub fn measure(&self, document: &Document) -> Result<Measured, String> {
        let scope = self.scope(document);
        let estimate = scope.and_then(|scope| estimate(&self.scoped.metric, &scope));
        let estimate = estimate.map_err(|missing| missing.why)?;
        let value = estimate.value;
        let client = estimate.client_ns.unwrap_or(0) as f64;
        let (low, high) = match estimate.bound {
            Bound::Exact => (value, value),
            Bound::Upper => ((value - client).max(0.0), value),
            Bound::Lower => (value, f64::INFINITY),
            Bound::Unknown => (0.0, f64::INFINITY),
        };
        Ok(Measured { value, bound: estimate.bound, low, high })
    }

    /// Returns the ends of the metric's 95% interval within a run, in its unit; `None` if the
    /// document has none. The upper end is infinite if the interval is unbounded.
    pub fn interval(&self, document: &Document) -> Option<(f64, f64)> {
        let scope = self.scope(document).ok()?;
        match self.scoped.metric {
            AssertedMetric::Time(
                time @ (Time::RESPONSE | Time::SERVICE),
                Figure::Percentile(p),
            ) => {
                let found = scope.times(time)?.headline().percentile(p)?;
                let high = found.high_ns.map_or(f64::INFINITY, |ns| ns as f64);
                Some((found.low_ns? as f64, high))
            }
            AssertedMetric::Rate(rate) => {
                let interval = scope.rate_interval(rate)?;
                Some((interval.low_rps, interval.high_rps))
            }
            _ => None,
        }
    }

    /// Returns the number of measured requests that did not end as `ok`, of those that the metric
    /// is of; 0 if the document has none.
    pub fn failed(&self, document: &Document) -> u64 {
        self.scope(document).map_or(0, |scope| scope.results.failed())
    }

    fn scope<'d>(&self, document: &'d Document) -> Result<Scope<'d>, Missing> {
        Scope::of(self.scoped.name.as_deref(), document)
    }

    /// Returns the direction in which the metric is better.
    pub fn better(&self) -> Better {
        match &self.scoped.metric {
            AssertedMetric::Rate(_) | AssertedMetric::Under(_) | AssertedMetric::Goodput => {
                Better::Higher
            }
            AssertedMetric::Path(_)
            | AssertedMetric::Share(Class::Status(100..=399, _))
            | AssertedMetric::Count(Class::Status(100..=399, _)) => Better::Neither,
            AssertedMetric::Time(..) | AssertedMetric::Share(_) | AssertedMetric::Count(_) => {
                Better::Lower
            }
        }
    }

    /// Returns the median of the times that the metric is a percentile of; `None` if it is none.
    pub fn median(&self) -> Option<NamedMetric> {
        let AssertedMetric::Time(_, Figure::Percentile(_)) = self.scoped.metric else {
            return None;
        };
        let time = self.text.rsplit_once("p").map(|(time, _)| time)?;
        self.scoped.prefixed(format!("{time}p50")).parse().ok()
    }

    /// True if the metric is a rate.
    pub fn is_rate(&self) -> bool {
        matches!(self.scoped.metric, AssertedMetric::Rate(_))
    }

    /// True if the metric is a time.
    pub fn is_time(&self) -> bool {
        self.scoped.metric.unit() == Unit::Nanoseconds
    }

    /// Unit of the metric's values, as a word for files: `ns`, `1/s`, `B/s`, `share`; empty for a
    /// plain number.
    pub fn unit(&self) -> &'static str {
        match self.scoped.metric.unit() {
            Unit::Nanoseconds => "ns",
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::BytesPerSecond => "B/s",
            Unit::Bytes => "B",
            Unit::Share => "share",
            Unit::Count | Unit::Number => "",
        }
    }

    /// Formats a value of the metric with its unit: `4.21 ms`, `20,000/s`, `0.12%`.
    pub fn print(&self, value: f64) -> String {
        match self.scoped.metric.unit() {
            Unit::PerSecond => units::round_rate(value),
            unit => unit.print(value),
        }
    }

    /// Formats a value of a run with its bound: `≤ 4.21 ms`, `≥ 71,000/s`.
    pub fn print_measured(&self, measured: &Measured) -> String {
        match (measured.bound, self.scoped.metric.unit()) {
            (Bound::Exact, _) => self.print(measured.value),
            (Bound::Lower, Unit::PerSecond) => {
                format!("≥ {}", units::rate_at_least(measured.value))
            }
            (bound, unit) => in_words(measured.value, bound, unit),
        }
    }

    /// Title of the metric in a table: `p99`, `Requests/s`, `checkout: p99`.
    pub fn title(&self) -> String {
        let title = match &self.scoped.metric {
            AssertedMetric::Rate(ThroughputRate::Completed) => "Requests/s".to_owned(),
            AssertedMetric::Rate(ThroughputRate::Good) => "Good/s".to_owned(),
            AssertedMetric::Rate(ThroughputRate::Sent) => "Sent/s".to_owned(),
            AssertedMetric::Rate(ThroughputRate::Bytes) => "Bytes/s".to_owned(),
            AssertedMetric::Share(Class::Errors) => "Errors".to_owned(),
            AssertedMetric::Time(Time::RESPONSE, Figure::Mean) => "Mean".to_owned(),
            AssertedMetric::Time(Time::RESPONSE, Figure::Max) => "Max".to_owned(),
            AssertedMetric::Time(Time::CONNECT, Figure::Percentile(p)) => format!("Connect p{p}"),
            AssertedMetric::Time(Time::SERVICE, Figure::Percentile(p)) => format!("Service p{p}"),
            AssertedMetric::Path(path)
                if path.last().is_some_and(|it| it == "connects_per_second") =>
            {
                "Connects/s".to_owned()
            }
            _ => self.text.clone(),
        };
        self.scoped.prefixed(title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &str) -> NamedMetric {
        name.parse().expect(name)
    }

    #[test]
    fn each_metric_has_its_direction() {
        for (name, better) in [
            ("p99", Better::Lower),
            ("service.mean", Better::Lower),
            ("rate", Better::Higher),
            ("bytes", Better::Higher),
            ("errors", Better::Lower),
            ("status.5xx", Better::Lower),
            ("status.200", Better::Neither),
            ("plan.load.connections", Better::Neither),
        ] {
            assert_eq!(metric(name).better(), better, "{name}");
        }
        assert!("p98".parse::<NamedMetric>().is_err());
    }

    #[test]
    fn a_metric_of_a_name_is_written_as_it_was_read() {
        for (text, title) in [
            ("checkout: p99", "checkout: p99"),
            ("GET /a: b: rate", "GET /a: b: Requests/s"),
            ("(other): service.p50", "(other): Service p50"),
        ] {
            let found = metric(text);
            assert_eq!((found.to_string().as_str(), found.title().as_str()), (text, title));
            assert_eq!(metric(&found.to_string()), found);
        }
        assert_eq!(metric("checkout: rate").better(), Better::Higher);
        assert!(metric("checkout: service.p50").is_time() && metric("checkout: rate").is_rate());
    }

    #[test]
    fn a_percentile_has_a_median() {
        for (name, median) in [
            ("p99", Some("p50")),
            ("service.p99.9", Some("service.p50")),
            ("response_time.p90", Some("response_time.p50")),
            ("checkout: p95", Some("checkout: p50")),
            ("rate", None),
            ("max", None),
        ] {
            assert_eq!(metric(name).median(), median.map(metric), "{name}");
        }
    }

    #[test]
    fn values_have_their_unit() {
        assert_eq!(metric("p99").print(4_210_000.0), "4.21 ms");
        assert_eq!(metric("rate").print(72_366.7), "72,367/s");
        let least = Measured { value: 72_366.7, bound: Bound::Lower, low: 0.0, high: 0.0 };
        assert_eq!(metric("rate").print_measured(&least), "≥ 72,366/s");
        assert_eq!(metric("errors").print(0.0012), "0.12%");
        let bound = Measured { value: 171_135.0, bound: Bound::Upper, low: 0.0, high: 171_135.0 };
        assert_eq!(metric("p99").print_measured(&bound), "≤ 172 µs");
    }
}
