//! Load generators: their names, places and versions. This module runs none of them.

use std::path::PathBuf;
use weir_result::Document;

use anyhow::Result;
use serde_json::Value;
use weir_result::document::{Results, Summary};
use weir_result::quantile::Bound;
use xtask::shell::{find_program, find_tool, target_dir};

use super::machine;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Weir,
    Wrk,
    Wrk2,
    Ab,
    H2load,
    Hey,
    Oha,
    Ghz,
    K6,
}

impl Peer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Weir => "weir",
            Peer::Wrk => "wrk",
            Peer::Wrk2 => "wrk2",
            Peer::Ab => "ab",
            Peer::H2load => "h2load",
            Peer::Hey => "hey",
            Peer::Oha => "oha",
            Peer::Ghz => "ghz",
            Peer::K6 => "k6",
        }
    }

    /// Returns the program's path, unless it is absent.
    pub(crate) fn find(self) -> Option<PathBuf> {
        if self == Peer::Weir {
            return Some(target_dir().ok()?.join("release").join("weir"));
        }
        find_program(self.name()).or_else(|| find_tool(self.name()))
    }

    /// Returns the program's version line, or that it is absent.
    pub(crate) fn version(self) -> Result<String> {
        let flag = match self {
            Peer::Wrk => "-v",
            Peer::Ab => "-V",
            // hey prints no version, but an error message, and ghz that of a release alone.
            Peer::Hey | Peer::Ghz => {
                return Ok(self.find().map_or("absent", |_| self.name()).to_owned());
            }
            _ => "--version",
        };
        self.find().map_or(Ok("absent".to_owned()), |program| machine::version(&program, flag))
    }
}

/// Returns the versions of the programs that a section measured, and the absent ones, in a sentence
/// or two.
pub(crate) fn versions(peers: &[Peer]) -> Result<String> {
    let (present, absent): (Vec<Peer>, Vec<Peer>) =
        peers.iter().partition(|peer| peer.find().is_some());
    let versions: Result<Vec<String>> = present.into_iter().map(Peer::version).collect();
    let mut text = format!("Programs: {}.", versions?.join(", "));
    if !absent.is_empty() {
        let absent: Vec<&str> = absent.into_iter().map(Peer::name).collect();
        text.push_str(&format!(" Not installed, so not measured: {}.", absent.join(", ")));
    }
    Ok(text)
}

/// Figures that a program printed; absent figures are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Printed {
    pub(crate) p50: Option<PrintedTime>,
    pub(crate) p99: Option<PrintedTime>,
    pub(crate) max: Option<PrintedTime>,
    pub(crate) requests: Option<u64>,
    pub(crate) errors: Option<u64>,
    pub(crate) rate_rps: Option<f64>,
    /// Message, if the program failed.
    pub(crate) failure: Option<String>,
}

/// A printed time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PrintedTime {
    pub(crate) ns: f64,
    /// True if the program printed the time as a lower bound.
    pub(crate) is_bound: bool,
}

impl Peer {
    /// Reads the program's output.
    pub(crate) fn read(self, text: &str) -> Printed {
        match self {
            Peer::Weir => weir(text),
            Peer::Wrk | Peer::Wrk2 => wrk(text),
            Peer::Ab => ab(text),
            Peer::H2load => h2load(text),
            // These print alike.
            Peer::Hey | Peer::Oha => hey(text),
            Peer::Ghz => ghz(text),
            Peer::K6 => k6(text),
        }
    }
}

fn weir(text: &str) -> Printed {
    match Document::from_json(text.as_bytes()) {
        Ok(document) => Printed {
            rate_rps: Some(document.results.completed_rps),
            ..figures(document.results.response_time.headline(), &document.results)
        },
        Err(error) => Printed { failure: Some(error.to_string()), ..Printed::default() },
    }
}

/// Returns the times and counts of weir's report.
fn figures(summary: &Summary, results: &Results) -> Printed {
    let percentile = |p| {
        let value = summary.percentile(p)?;
        Some(PrintedTime { ns: value.ns as f64, is_bound: value.bound == Bound::Lower })
    };
    Printed {
        p50: percentile(50.0),
        p99: percentile(99.0),
        max: percentile(100.0),
        requests: Some(results.outcomes.ok),
        errors: Some(results.planned - results.outcomes.ok),
        ..Printed::default()
    }
}

/// Reads the output of wrk and wrk2.
fn wrk(text: &str) -> Printed {
    let percentile = |names: [&str; 2]| {
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut pairs = words.filter(|words| words.len() == 2 && names.contains(&words[0]));
        time(pairs.next()?[1])
    };
    let latency = text.lines().find_map(|line| line.trim().strip_prefix("Latency  "));
    let max = latency.and_then(|line| time(line.split_whitespace().nth(2)?));
    let errors = text.lines().find_map(|line| line.trim().strip_prefix("Socket errors:"));
    let bad = after(text, "Non-2xx or 3xx responses:").map_or(0, |count| count as u64);
    Printed {
        p50: percentile(["50%", "50.000%"]),
        p99: percentile(["99%", "99.000%"]),
        max: percentile(["100.000%", ""]).or(max),
        requests: before(text, " requests in "),
        errors: Some(errors.map_or(0, sum) + bad),
        rate_rps: after(text, "Requests/sec:"),
        failure: None,
    }
}

fn ab(text: &str) -> Printed {
    let percentile = |name: &str| exact(after(text, name), 1e6);
    Printed {
        p50: percentile("\n  50% "),
        p99: percentile("\n  99% "),
        max: percentile("\n 100% "),
        requests: after(text, "Complete requests:").map(|count| count as u64),
        errors: after(text, "Failed requests:").map(|count| count as u64),
        rate_rps: after(text, "Requests per second:"),
        failure: None,
    }
}

fn h2load(text: &str) -> Printed {
    let requests = text.lines().find_map(|line| line.strip_prefix("requests: "));
    let count = |name: &str| before(requests?, name);
    let times = text.lines().find_map(|line| line.strip_prefix("time for request:"));
    let finished = text.lines().find(|line| line.starts_with("finished in "));
    Printed {
        max: times.and_then(|times| time(times.split_whitespace().nth(1)?)),
        requests: count(" succeeded"),
        errors: count(" failed").zip(count(" timeout")).map(|(failed, timeout)| failed + timeout),
        rate_rps: finished.and_then(|line| after(line, ", ")),
        ..Printed::default()
    }
}

fn hey(text: &str) -> Printed {
    let seconds = |name: &str| exact(after(text, name), 1e9);
    let errors = text.split_once("Error distribution:").map_or("", |(_, errors)| errors);
    let errors = errors.lines().skip(1).take_while(|line| line.trim().starts_with('['));
    Printed {
        p50: seconds("50% in"),
        p99: seconds("99% in"),
        max: seconds("Slowest:"),
        requests: after(text, "[200]").map(|count| count as u64),
        errors: Some(errors.filter_map(|line| before(line.split_once('[')?.1, "]")).sum()),
        rate_rps: after(text, "Requests/sec:"),
        failure: None,
    }
}

/// Reads the JSON of ghz. Statuses but OK are errors.
fn ghz(text: &str) -> Printed {
    let report: Value = serde_json::from_str(text).unwrap_or_default();
    let requests = report["statusCodeDistribution"]["OK"].as_u64();
    let errors = report["count"].as_u64().zip(requests).map(|(all, good)| all - good);
    Printed { requests, errors, rate_rps: report["rps"].as_f64(), ..Printed::default() }
}

/// Reads the counter of echoes that the script of k6 has.
fn k6(text: &str) -> Printed {
    let counter = text.lines().find_map(|line| line.trim().strip_prefix("echoes"));
    let words = counter.and_then(|line| line.split_once(':')).map_or("", |(_, words)| words);
    let [count, rate] = [0, 1].map(|at| words.split_whitespace().nth(at));
    Printed {
        requests: count.and_then(|count| count.parse().ok()),
        rate_rps: rate.and_then(|rate| rate.trim_end_matches("/s").parse().ok()),
        ..Printed::default()
    }
}

fn exact(number: Option<f64>, unit_ns: f64) -> Option<PrintedTime> {
    number.map(|number| PrintedTime { ns: number * unit_ns, is_bound: false })
}

/// Reads times such as `1.23ms`.
fn time(text: &str) -> Option<PrintedTime> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(digits);
    let unit_ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 6e10,
        _ => return None,
    };
    exact(number.parse().ok(), unit_ns)
}

/// Returns the number after `name`.
fn after(text: &str, name: &str) -> Option<f64> {
    let (_, after) = text.split_once(name)?;
    after.split_whitespace().next()?.parse().ok()
}

/// Returns the number before `name`.
fn before(text: &str, name: &str) -> Option<u64> {
    text.split_once(name)?.0.split_whitespace().last()?.parse().ok()
}

/// Returns the sum of all numbers of a line.
fn sum(line: &str) -> u64 {
    let words = line.split_whitespace().map(|word| word.trim_end_matches(','));
    words.filter_map(|word| word.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use weir_result::Outcomes;
    use weir_result::document::PercentileValue;

    use super::*;

    fn check(peer: Peer, text: &str, times_ms: [Option<f64>; 3], counts: [u64; 2], rate_rps: f64) {
        let [p50, p99, max] = times_ms.map(|ms| exact(ms, 1e6));
        let [requests, errors] = counts.map(Some);
        let rate_rps = Some(rate_rps);
        let printed = Printed { p50, p99, max, requests, errors, rate_rps, failure: None };
        assert_eq!(peer.read(text), printed);
    }

    #[test]
    fn wrk_and_wrk2_are_read() {
        let text = "    Latency     1.00ms    2.00ms  16.50ms   91.38%\n     50%   0.50ms\n     \
                    99%    1.50s \n  900 requests in 1.00s, 7.05MB read\n  Socket errors: connect \
                    1, read 2, write 0, timeout 3\n  Non-2xx or 3xx responses: 4\nRequests/sec: \
                    9.5";
        check(Peer::Wrk, text, [Some(0.5), Some(1500.0), Some(16.5)], [900, 10], 9.5);
        let text = " 50.000%    2.00ms\n 99.000%    4.00ms\n100.000%    8.00ms\n  7 requests in \
                    2.00s, 1B read\nRequests/sec:   3.5\n";
        check(Peer::Wrk2, text, [Some(2.0), Some(4.0), Some(8.0)], [7, 0], 3.5);
    }

    #[test]
    fn ab_is_read() {
        let text = "Complete requests:      37\nFailed requests:        2\nRequests per second:    \
                    18.5 [#/sec] (mean)\n\n  50%      1\n  99%      6\n 100%     47 (longest \
                    request)\n";
        check(Peer::Ab, text, [Some(1.0), Some(6.0), Some(47.0)], [37, 2], 18.5);
    }

    #[test]
    fn h2load_is_read() {
        let text = "finished in 1.07s, 10.50 req/s, 77.15KB/s\nrequests: 12 total, 12 started, 11 \
                    done, 10 succeeded, 1 failed, 1 errored, 2 timeout\ntime for request:       \
                    59us      6.00ms       369us       697us    96.00%\n";
        check(Peer::H2load, text, [None, None, Some(6.0)], [10, 3], 10.5);
    }

    #[test]
    fn ghz_and_k6_are_read() {
        let text =
            r#"{"count": 12, "rps": 8.5, "statusCodeDistribution": {"OK": 9, "Unknown": 3}}"#;
        check(Peer::Ghz, text, [None; 3], [9, 3], 8.5);
        let text = "    checks...: 3\n    echoes................: 49869  24758.5/s\n";
        let printed = Peer::K6.read(text);
        assert_eq!((printed.requests, printed.rate_rps), (Some(49_869), Some(24_758.5)));
        assert_eq!(Peer::K6.read("failed").requests, None);
    }

    #[test]
    fn hey_is_read() {
        let text = "  Slowest:\t0.5 secs\n  Requests/sec:\t8.5\n  50% in 0.002 secs\n  99% in 0.25 \
                    secs\nStatus code distribution:\n  [200]\t17 responses\n\nError \
                    distribution:\n  [6]\tGet: late\n  [1]\tGet: gone\n";
        check(Peer::Hey, text, [Some(2.0), Some(250.0), Some(500.0)], [17, 7], 8.5);
    }

    #[test]
    fn bounds_of_weir_are_read() {
        let five = PercentileValue::new(50.0, 5, Bound::Exact);
        let lower = PercentileValue::new(99.0, 9, Bound::Lower);
        let summary = Summary {
            count: 10,
            min_ns: None,
            max_ns: None,
            mean_ns: None,
            stdev_ns: None,
            mean_bound: Bound::Exact,
            percentiles: vec![five, lower],
            unsupported: Vec::new(),
        };
        let outcomes = Outcomes { ok: 3, ..Outcomes::default() };
        let printed = figures(&summary, &Results { planned: 10, outcomes, ..Results::default() });
        assert_eq!(printed.p50, exact(Some(5.0), 1.0));
        assert_eq!(printed.p99, Some(PrintedTime { ns: 9.0, is_bound: true }));
        assert_eq!((printed.requests, printed.errors), (Some(3), Some(7)));
    }
}
