//! The server as it was watched during the run: counts of nginx, its access log, processes,
//! Prometheus metrics, and the output of commands. Times of the series are in seconds from t0,
//! negative before it. Nothing here opens a socket or a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The server as it was watched (`--watch-nginx` and other flags of the group "Server").
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerSection {
    /// Requests that weir put on the wire between the first reading and the last.
    pub weir: ServerLoad,
    /// Reason why the server's counts are not compared with weir's; absent if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// Counts of nginx; absent without `--watch-nginx`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nginx: Option<NginxSection>,
    /// Access log; absent without `--access-log`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_log: Option<AccessLogSection>,
    /// Processes, in the order of the flags; absent without `--watch-pid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessSection>,
    /// Prometheus metrics; absent without `--watch-prometheus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusSection>,
    /// Commands, in the order of the flags; absent without `--watch-command`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandSection>,
    /// Output of commands before the load; absent without `--capture`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<Capture>,
}

/// Requests of weir between the first reading of the server and the last: preflight, one-connection
/// probe, warm-up, window, tail and probe thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerLoad {
    /// Requests put on the wire, without those that the peer returned unprocessed.
    pub requests: u64,
    /// Of `requests`: those without a complete response. The server may have counted them or not.
    pub unanswered: u64,
    /// Requests sent in part or returned, which are not in `requests`. The server may have counted
    /// them or not.
    pub uncertain: u64,
    /// Complete responses by status code; empty without `--access-log`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<u16, u64>,
}

/// Readings of a watcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Polls {
    /// Readings begun, with the first and the last.
    pub begun: u64,
    /// Of `begun`: readings that failed.
    pub failed: u64,
    /// The first error; absent if none failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// nginx's stub_status page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NginxSection {
    /// URL of the page.
    pub url: String,
    /// Readings of the page.
    pub polls: Polls,
    /// Requests of weir's watchers to nginx that the difference of the counts includes.
    pub own_requests: u64,
    /// Requests that nginx counted between the first reading and the last, without those of weir's
    /// watchers; null if nginx was restarted or the last reading failed.
    pub requests: Option<u64>,
    /// `requests` less those of weir; null if it is not known.
    pub difference: Option<i64>,
    /// Connections that nginx accepted and did not handle; null if they are not known.
    pub dropped: Option<u64>,
    /// Reading before the run's first request.
    pub before: NginxSample,
    /// Reading after the run's last response; null if it failed.
    pub after: Option<NginxSample>,
    /// All readings in order of time.
    pub series: Vec<NginxSample>,
}

/// One reading of the stub_status page. It counts its own request and connection too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NginxSample {
    /// Time of the reading, in seconds from t0.
    pub at_s: f64,
    /// Open connections.
    pub active: u64,
    /// Accepted connections since nginx was started.
    pub accepts: u64,
    /// Handled connections since nginx was started.
    pub handled: u64,
    /// Requests since nginx was started.
    pub requests: u64,
    /// Connections on which nginx reads a request head.
    pub reading: u64,
    /// Connections on which nginx writes a response.
    pub writing: u64,
    /// Idle connections.
    pub waiting: u64,
}

/// Lines that were appended to the access log during the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccessLogSection {
    /// Path as the user named it.
    pub path: String,
    /// Reason why the lines are not known; absent if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Lines of requests, without those of weir's watchers.
    pub lines: u64,
    /// Lines of weir's watchers.
    pub own_lines: u64,
    /// Of `lines`: those without a request and a status where the combined format has them.
    pub unrecognised: u64,
    /// Of `lines`: by status code.
    pub status: BTreeMap<u16, u64>,
    /// `lines` less the requests of weir; null if they are not compared.
    pub difference: Option<i64>,
}

/// Processes of one name, or one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessSection {
    /// Number or name as the user gave it.
    pub name: String,
    /// Numbers of the processes, in ascending order; those at the end of the run.
    pub pids: Vec<u32>,
    /// Readings.
    pub polls: Polls,
    /// Mean CPU time of all of them over the readings that overlap the window, in CPUs: 1 is one
    /// CPU; null if it is not known.
    pub cpu_mean: Option<f64>,
    /// Greatest CPU time between two of these readings, in CPUs.
    pub cpu_max: Option<f64>,
    /// Greatest resident memory of all of them, in bytes. Shared pages count once per process.
    pub resident_max_bytes: u64,
    /// Readings in order of time.
    pub series: Vec<ProcessSample>,
}

/// One reading of processes: sums over all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessSample {
    /// Time of the reading, in seconds from t0.
    pub at_s: f64,
    /// CPU time since the reading before, in CPUs; null in the first one.
    pub cpu: Option<f64>,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Open descriptors; null if this user may not see them.
    pub descriptors: Option<u64>,
    /// Threads.
    pub threads: u64,
}

/// A page of Prometheus metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrometheusSection {
    /// URL of the page.
    pub url: String,
    /// Readings of the page.
    pub polls: Polls,
    /// Metrics, one entry for each set of labels.
    pub metrics: Vec<MetricSeries>,
}

/// Values of one metric over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricSeries {
    /// Name of the metric.
    pub name: String,
    /// Type as the page names it: `counter`, `gauge`, `histogram`, `summary`, else `untyped`.
    pub kind: String,
    /// Labels; empty if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Values in order of time.
    pub points: Vec<Point>,
}

/// A value at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Time of the reading, in seconds from t0.
    pub at_s: f64,
    /// Value; null if it is not a finite number.
    pub value: Option<f64>,
}

/// A command that was called about once per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandSection {
    /// The command, as the shell got it.
    pub command: String,
    /// Calls of the command.
    pub polls: Polls,
    /// Values of the last line of its output, by name; a single number has the name `value`.
    pub series: BTreeMap<String, Vec<Point>>,
}

/// Output of a command before the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capture {
    /// The command, as the shell got it.
    pub command: String,
    /// Exit status; null if a signal or the time limit ended it.
    pub exit_status: Option<i32>,
    /// Standard output and error, without credentials.
    pub output: String,
    /// True if the output was longer; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl ServerLoad {
    /// Number of requests by which a count of the server differs beyond those that it may or may
    /// not have counted. `uncertain` are further requests of that kind.
    pub fn unexplained(&self, counted: u64, uncertain: u64) -> u64 {
        let least = self.requests.saturating_sub(self.unanswered);
        let most = self.requests.saturating_add(self.uncertain).saturating_add(uncertain);
        least.saturating_sub(counted).max(counted.saturating_sub(most))
    }

    /// `counted` less the requests of weir.
    pub fn difference(&self, counted: u64) -> i64 {
        let size = i64::try_from(counted.abs_diff(self.requests)).unwrap_or(i64::MAX);
        if counted < self.requests { -size } else { size }
    }
}

impl AccessLogSection {
    /// Number of lines that weir's responses do not explain, the greatest of all status codes'; 0
    /// if the lines are not known. Every response has a line with its status. A request without one
    /// may have a line with any.
    pub fn unexplained(&self, load: &ServerLoad) -> u64 {
        if self.error.is_some() {
            return 0;
        }
        let of_total = load.unexplained(self.lines, 0);
        if self.unrecognised > 0 {
            return of_total;
        }
        let codes = load.status.iter().map(|(code, responses)| {
            responses.saturating_sub(self.status.get(code).copied().unwrap_or(0))
        });
        codes.max().unwrap_or(0).max(of_total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_a_response_explain_a_difference() {
        let load =
            ServerLoad { requests: 100, unanswered: 3, uncertain: 2, ..ServerLoad::default() };
        for (counted, uncertain, unexplained, difference) in [
            (100, 0, 0, 0),
            (97, 0, 0, -3),
            (96, 0, 1, -4),
            (102, 0, 0, 2),
            (105, 0, 3, 5),
            (105, 1, 2, 5),
            (0, 0, 97, -100),
        ] {
            assert_eq!(load.unexplained(counted, uncertain), unexplained, "{counted}");
            assert_eq!(load.difference(counted), difference, "{counted}");
        }
    }

    #[test]
    fn every_response_has_a_line_with_its_status() {
        let load = ServerLoad {
            requests: 10,
            status: BTreeMap::from([(200, 8), (404, 2)]),
            ..ServerLoad::default()
        };
        let check = |status: &[(u16, u64)], unexplained| {
            let lines = status.iter().map(|(_, count)| count).sum();
            let status = status.iter().copied().collect();
            let log = AccessLogSection { lines, status, ..AccessLogSection::default() };
            assert_eq!(log.unexplained(&load), unexplained, "{log:?}");
        };
        check(&[(200, 8), (404, 2)], 0);
        check(&[(200, 7), (404, 3)], 1);
        check(&[(200, 10)], 2);
        check(&[(200, 12), (404, 2)], 4);
        check(&[], 10);
    }
}
