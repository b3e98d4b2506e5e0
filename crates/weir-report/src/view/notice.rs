//! The notes of a report with their texts: what a reader should know about the numbers.

use weir_text::setting::{REQUESTS, VERBOSE};
use weir_text::units;

/// A note of a report.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A note that the run attached to the document, or a rule's sentence that stands without a
    /// verdict.
    OfRun(String),
    /// The load waited for responses, so that a slow server also slows the sends.
    ClosedLoop,
    /// Kernel time stamps were not requested, because streams share connections.
    SharedStamps,
    /// Rules of the verdict, by id, that lacked data.
    NotJudged(Vec<String>),
    /// Findings that are left out.
    MoreFindings(u64),
    /// Legend of `≤`.
    UpperBounds {
        /// Complete responses per second.
        rate_rps: f64,
        /// Mean number of requests in flight, if it is known.
        in_flight: Option<f64>,
    },
    /// Legend of `>`.
    LowerBounds,
    /// Legend of `unknown`.
    Unknown,
    /// Legend of `~`.
    Uncertain {
        /// Percentiles with the mark, in percent, ascending; at least one.
        percentiles: Vec<f64>,
        /// Extent of a run that settles the last of them, if it is known.
        remedy: Option<Remedy>,
    },
}

/// Extent of a run that settles a percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Remedy {
    /// Number of requests.
    Requests(u64),
    /// Length of the window in seconds.
    Seconds(f64),
}

impl Notice {
    /// Formats the note. Foreign text is in it as it came.
    pub fn to_text(&self) -> String {
        match self {
            Notice::OfRun(text) => text.clone(),
            Notice::ClosedLoop => {
                "closed loop: latencies leave out the time a slow server delays sends".to_owned()
            }
            Notice::SharedStamps => {
                "client overhead after arrival is unknown: streams share their connection's kernel \
                 timestamps; use one stream per connection"
                    .to_owned()
            }
            Notice::NotJudged(rules) => {
                format!("not judged for lack of data: {}", rules.join(", "))
            }
            Notice::MoreFindings(count) => {
                let plural = if *count == 1 { "" } else { "s" };
                format!("{} more finding{plural}: {VERBOSE} shows all", units::count(*count))
            }
            Notice::UpperBounds { rate_rps, in_flight } => {
                let rate = units::round_rate(*rate_rps);
                let in_flight = in_flight.map(|n| format!(", {n:.1} requests in flight"));
                let in_flight = in_flight.unwrap_or_default();
                format!("≤: upper bound, client overhead included; at {rate}{in_flight}")
            }
            Notice::LowerBounds => {
                ">: lower bound; failed requests count as slower than any response".to_owned()
            }
            Notice::Unknown => {
                "unknown: falls on a failed request, and client overhead inflates it".to_owned()
            }
            Notice::Uncertain { percentiles, remedy } => uncertain(percentiles, *remedy),
        }
    }
}

fn uncertain(percentiles: &[f64], remedy: Option<Remedy>) -> String {
    let names: Vec<String> = percentiles.iter().map(|p| format!("p{p}")).collect();
    let (names, are) = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            (format!("{} and {last}", rest.join(", ")), "are")
        }
        _ => (names.concat(), "is"),
    };
    let text = format!("~: {names} {are} uncertain: too few independent samples");
    match remedy {
        Some(Remedy::Requests(count)) => format!("{text}; use {REQUESTS} {count}"),
        Some(Remedy::Seconds(seconds)) => format!("{text}; run ≥ {} s", seconds.ceil()),
        None => text,
    }
}
