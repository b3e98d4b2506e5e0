//! The numbers of a document that have a name of their own, and these names. A dotted name that is
//! none of these is a path into the document.

use super::path::SECTIONS;
use super::unit::{Unit, percentile_field};
use weir_result::document::{Latency, Results};
use weir_result::quantile::PERCENTILES;
use weir_result::{OutcomeClass, OutcomePart};
use weir_text::similar;
use weir_text::units::parse_duration_ns;

/// A number of a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AssertedMetric {
    /// A figure of a time.
    Time(Time, Figure),
    /// A count per second of the window.
    Rate(ThroughputRate),
    /// Requests of a class, as a share of the planned ones.
    Share(Class),
    /// Requests of a class.
    Count(Class),
    /// `ok` requests with a response time below this, in nanoseconds, as a share of the planned
    /// ones.
    Under(u64),
    /// Responses that met the conditions of the goodput, as a share of the planned requests.
    Goodput,
    /// A field of the document.
    Path(Vec<String>),
}

/// A time of the document's section `latency`, by its name there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(pub(super) &'static str);

impl Time {
    pub(super) const RESPONSE: Time = Time("response_time");
    pub(super) const SERVICE: Time = Time("service_time");
    pub(super) const CONNECT: Time = Time("connect");
    pub(super) const FIRST_MESSAGE: Time = Time("first_message");
    pub(super) const GAP: Time = Time("message_gap");
    /// Time per token of one response, by the server's count of tokens.
    pub(super) const PER_TOKEN: Time = Time("time_per_token");
    /// Mean gap of one response. It is in the section `messages`.
    pub(super) const MEAN_GAP: Time = Time("mean_gap");

    /// Returns the time of a name.
    pub(super) fn named(name: &str) -> Option<Time> {
        let long = SHORT_TIMES.iter().find(|(short, _)| short.eq_ignore_ascii_case(name));
        let name = long.map_or(name, |(_, long)| *long);
        if name == Time::MEAN_GAP.0 {
            return Some(Time::MEAN_GAP);
        }
        let mut names = Results::TIMES.iter().chain(Latency::NAMES);
        names.find(|known| **known == name).map(|known| Time(known))
    }

    /// True if it is measured once per connection, not once per request.
    pub(super) fn is_of_connections(self) -> bool {
        OF_CONNECTIONS.contains(&self.0)
    }

    /// True if failures have no effect on it.
    fn is_over_responses(self, figure: Figure) -> bool {
        let is_mean = matches!(figure, Figure::Mean | Figure::Min);
        OF_OK.contains(&self.0) || OF_RESPONSES.contains(&self.0) && is_mean
    }
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Figure {
    /// In percent; one of those that documents list.
    Percentile(f64),
    Max,
    Mean,
    Min,
}

/// A rate of the document's section `throughput`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThroughputRate {
    Completed,
    Good,
    Sent,
    Bytes,
}

/// A class of planned requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// All requests that did not end as `ok`.
    Errors,
    /// Those of one outcome.
    Of(OutcomeClass),
    /// A part of them.
    Part(OutcomePart),
    /// Responses with a status from the first to the last.
    Status(u16, u16),
}

/// Short names of times, and those that the field of language models has for them.
const SHORT_TIMES: [(&str, &str); 9] = [
    ("response", "response_time"),
    ("total", "response_time"),
    ("duration", "response_time"),
    ("first", "first_message"),
    ("service", "service_time"),
    ("gap", "message_gap"),
    ("ttft", "first_message"),
    ("itl", "message_gap"),
    ("tpot", "time_per_token"),
];

/// Times that are measured once per connection.
const OF_CONNECTIONS: [&str; 6] =
    ["connect", "connect_setup", "connect_window", "connect_grown", "tls_handshake", "opening"];

/// Times that only `ok` requests have.
const OF_OK: [&str; 6] =
    ["first_byte", "unlagged", "time_per_token", "first_reasoning", "first_answer", "mean_gap"];

/// Times that end with a response.
const OF_RESPONSES: [&str; 2] = ["response_time", "service_time"];

const FIGURES: [(&str, Figure); 3] =
    [("max", Figure::Max), ("mean", Figure::Mean), ("min", Figure::Min)];

const RATES: [(&str, ThroughputRate); 6] = [
    ("rate", ThroughputRate::Completed),
    ("rps", ThroughputRate::Completed),
    ("completed", ThroughputRate::Completed),
    ("good", ThroughputRate::Good),
    ("sent", ThroughputRate::Sent),
    ("bytes", ThroughputRate::Bytes),
];

/// Returns all classes but those of a status, with their names.
fn classes() -> impl Iterator<Item = (&'static str, Class)> {
    let failed = OutcomeClass::ALL.into_iter().filter(|class| *class != OutcomeClass::Ok);
    let failed = failed.map(|class| match class {
        OutcomeClass::TimedOut => ("timeouts", Class::Of(class)),
        _ => (class.name(), Class::Of(class)),
    });
    let parts = OutcomePart::ALL.iter().map(|part| (part.name(), Class::Part(*part)));
    std::iter::once(("errors", Class::Errors)).chain(failed).chain(parts)
}

/// Reference to the list of names.
const LIST: &str = "docs/CI.md lists all";

/// Error in the text of an assertion: a fragment that fits after "invalid value: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AssertionError(pub(super) String);

impl AssertedMetric {
    /// Parses the name of a metric. The error names the fault and a likely name.
    pub(super) fn parse(name: &str) -> Result<AssertedMetric, String> {
        if name.is_empty() {
            return Err("it names no metric; write it like 'p99 < 5ms'".to_owned());
        }
        let (class, is_count) = match name.strip_suffix(".count") {
            Some(class) => (class, true),
            None => (name, false),
        };
        let named = classes().find(|(known, _)| *known == class).map(|(_, class)| class);
        if let Some(class) = named.or_else(|| status(class)) {
            let of = if is_count { AssertedMetric::Count } else { AssertedMetric::Share };
            return Ok(of(class));
        }
        if let Some(rate) = find(&RATES, name) {
            return Ok(AssertedMetric::Rate(rate));
        }
        if let Some(limit) = name.strip_prefix("under ") {
            let limit_ns = parse_duration_ns(limit.trim()).map_err(|error| error.to_string())?;
            return Ok(AssertedMetric::Under(limit_ns));
        }
        if name == "goodput" {
            return Ok(AssertedMetric::Goodput);
        }
        if let Some(figure) = figure(name)? {
            return Ok(AssertedMetric::Time(Time::RESPONSE, figure));
        }
        let (first, rest) = name.split_once(['.', ' ']).unwrap_or((name, ""));
        match Time::named(first) {
            Some(time) => match figure(rest.trim())? {
                Some(figure) => Ok(AssertedMetric::Time(time, figure)),
                None => Err(format!("'{name}' is not known: write '{first}.p99', max or mean")),
            },
            None if SECTIONS.contains(&first) && !rest.is_empty() => Ok(named_field(name)
                .unwrap_or_else(|| {
                    AssertedMetric::Path(name.split('.').map(str::to_owned).collect())
                })),
            None => Err(unknown(name, first)),
        }
    }

    /// Returns what to use in the place of a metric that is kept for whole runs alone; `None` if
    /// each name of a list has it too.
    pub(super) fn why_of_whole_runs(&self) -> Option<&'static str> {
        match self {
            AssertedMetric::Time(Time::RESPONSE | Time::SERVICE, _)
            | AssertedMetric::Rate(ThroughputRate::Completed | ThroughputRate::Good)
            | AssertedMetric::Share(_)
            | AssertedMetric::Count(_)
            | AssertedMetric::Under(_) => None,
            AssertedMetric::Time(..) => Some("use p99 or service.p99"),
            AssertedMetric::Rate(_) => Some("use rate or good"),
            AssertedMetric::Goodput | AssertedMetric::Path(_) => Some("leave out the name"),
        }
    }

    /// Unit of the metric.
    pub(super) fn unit(&self) -> Unit {
        match self {
            AssertedMetric::Time(..) => Unit::Nanoseconds,
            AssertedMetric::Rate(ThroughputRate::Bytes) => Unit::BytesPerSecond,
            AssertedMetric::Rate(_) => Unit::PerSecond,
            AssertedMetric::Share(_) | AssertedMetric::Under(_) | AssertedMetric::Goodput => {
                Unit::Share
            }
            AssertedMetric::Count(_) => Unit::Count,
            AssertedMetric::Path(path) => Unit::of_field(path.last().map_or("", String::as_str)),
        }
    }

    /// True if it is over successful or complete responses alone, so that failures have no effect
    /// on it (METHOD 1.6).
    pub(super) fn is_over_responses(&self) -> bool {
        match self {
            AssertedMetric::Time(time, figure) => time.is_over_responses(*figure),
            AssertedMetric::Path(path) => {
                let is_of_times = ["latency", "results"].contains(&path[0].as_str());
                let time = path.get(1).filter(|_| is_of_times).map(String::as_str);
                time.is_some_and(|time| OF_OK.contains(&time) || OF_RESPONSES.contains(&time))
            }
            _ => false,
        }
    }

    /// True if it depends on clock readings, so that it never repeats exactly.
    pub(super) fn is_measured(&self) -> bool {
        matches!(
            self,
            AssertedMetric::Time(..) | AssertedMetric::Rate(_) | AssertedMetric::Under(_)
        )
    }
}

/// Fields that are metrics with a name of their own, and so have a bound and a confidence.
fn named_field(name: &str) -> Option<AssertedMetric> {
    match name.split('.').collect::<Vec<_>>()[..] {
        [section, time, field] | [section, time, "all", field] if is_of_times(section, time) => {
            let figure = match field {
                "max_ns" => Figure::Max,
                field => Figure::Percentile(percentile_field(field)?),
            };
            Some(AssertedMetric::Time(Time::named(time)?, figure))
        }
        ["messages", "goodput", "share"] => Some(AssertedMetric::Goodput),
        ["results", "completed_rps"] => Some(AssertedMetric::Rate(ThroughputRate::Completed)),
        ["results", "good_rps"] => Some(AssertedMetric::Rate(ThroughputRate::Good)),
        ["throughput", "sent_rps"] => Some(AssertedMetric::Rate(ThroughputRate::Sent)),
        _ => None,
    }
}

/// True if the section of a document has a time of this name.
fn is_of_times(section: &str, time: &str) -> bool {
    match section {
        "results" => Results::TIMES.contains(&time),
        section => section == "latency" && Latency::NAMES.contains(&time),
    }
}

fn find<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// Parses `status.404`, `status.5xx`.
fn status(name: &str) -> Option<Class> {
    let code = name.strip_prefix("status.")?;
    if let Some(class @ ("1" | "2" | "3" | "4" | "5")) = code.strip_suffix("xx") {
        let first = class.parse::<u16>().ok()? * 100;
        return Some(Class::Status(first, first + 99));
    }
    let code = code.parse().ok().filter(|code| (100..1000).contains(code))?;
    Some(Class::Status(code, code))
}

/// Parses `p99.9`, `max`; an error if it is a percentile that documents do not list.
fn figure(name: &str) -> Result<Option<Figure>, String> {
    if let Some(figure) = find(&FIGURES, name) {
        return Ok(Some(figure));
    }
    let Some(digits) =
        name.strip_prefix('p').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    else {
        return Ok(None);
    };
    let listed = digits.parse::<f64>().ok().filter(|p| PERCENTILES.contains(p));
    match listed {
        Some(100.0) => Ok(Some(Figure::Max)),
        Some(p) => Ok(Some(Figure::Percentile(p))),
        None => {
            let names: Vec<String> = PERCENTILES.iter().map(|p| format!("p{p}")).collect();
            Err(format!("'{name}' is not among the percentiles of a document: {}", names.join(" ")))
        }
    }
}

fn unknown(name: &str, first: &str) -> String {
    if name.starts_with("status.") {
        return format!("'{name}' is no status: write status.404 or status.5xx");
    }
    let names = classes().map(|(name, _)| name);
    let names = names.chain(RATES.iter().map(|(name, _)| *name));
    let names = names.chain(SHORT_TIMES.iter().map(|(name, _)| *name));
    let names = names.chain(Results::TIMES).chain(Latency::NAMES.iter().copied());
    let names = names.chain(SECTIONS.iter().copied());
    match similar(first, names) {
        Some(known) if known == first && SECTIONS.contains(&first) => {
            format!("'{name}' is a section: name a field of it, 'throughput.window_s'; {LIST}")
        }
        Some(known) if known == first => {
            format!("'{name}' is not known: '{first}' has no parts but '.count' of a class; {LIST}")
        }
        Some(known) => {
            let suggestion = name.replacen(first, known, 1);
            format!("'{name}' is not known: did you mean '{suggestion}'? {LIST}")
        }
        None => format!("'{name}' is not known: write p99, rate, errors or the like; {LIST}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, expected) in [
            ("p99", AssertedMetric::Time(Time::RESPONSE, Figure::Percentile(99.0))),
            ("p99.90", AssertedMetric::Time(Time::RESPONSE, Figure::Percentile(99.9))),
            ("p100", AssertedMetric::Time(Time::RESPONSE, Figure::Max)),
            ("service_time.mean", AssertedMetric::Time(Time::SERVICE, Figure::Mean)),
            ("TTFT.p99", AssertedMetric::Time(Time::FIRST_MESSAGE, Figure::Percentile(99.0))),
            ("itl.p50", AssertedMetric::Time(Time::GAP, Figure::Percentile(50.0))),
            ("tpot.mean", AssertedMetric::Time(Time::PER_TOKEN, Figure::Mean)),
            ("under 50ms", AssertedMetric::Under(50_000_000)),
            ("gap p99", AssertedMetric::Time(Time::GAP, Figure::Percentile(99.0))),
            ("first.p50", AssertedMetric::Time(Time::FIRST_MESSAGE, Figure::Percentile(50.0))),
            ("total max", AssertedMetric::Time(Time::RESPONSE, Figure::Max)),
            ("goodput", AssertedMetric::Goodput),
            ("messages.goodput.share", AssertedMetric::Goodput),
            ("rps", AssertedMetric::Rate(ThroughputRate::Completed)),
            ("sent", AssertedMetric::Rate(ThroughputRate::Sent)),
            ("errors", AssertedMetric::Share(Class::Errors)),
            ("status.5xx.count", AssertedMetric::Count(Class::Status(500, 599))),
            (
                "results.response_time.p99_9_ns",
                AssertedMetric::Time(Time::RESPONSE, Figure::Percentile(99.9)),
            ),
            (
                "results.service_time.p95_ns",
                AssertedMetric::Time(Time::SERVICE, Figure::Percentile(95.0)),
            ),
            ("results.service_time.all.max_ns", AssertedMetric::Time(Time::SERVICE, Figure::Max)),
            ("results.good_rps", AssertedMetric::Rate(ThroughputRate::Good)),
            (
                "plan.load.connections",
                AssertedMetric::Path(["plan", "load", "connections"].map(str::to_owned).to_vec()),
            ),
        ] {
            assert_eq!(AssertedMetric::parse(name), Ok(expected), "{name}");
        }
    }
}
