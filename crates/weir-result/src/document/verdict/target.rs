//! The line `Target`: the responses of the target to the requests sent to it (METHOD 1.9).

use serde::{Deserialize, Serialize};

use super::super::{Accounting, Document};
use super::thresholds::{TARGET_DEGRADED, TARGET_FAILED};
use crate::errno;
use crate::failures::FailurePhase;
use crate::units;

const SECOND_NS: u64 = 1_000_000_000;

/// State of the target, with the most frequent failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetLine {
    /// State in one word.
    pub state: TargetState,
    /// Share of the measured requests that were sent and failed, 0 to 1: `bad_response`,
    /// `transport_error`, `timed_out` and `in_flight_at_end`.
    pub failed_share: f64,
    /// Most frequent failure, with its share; empty if the target is `ok`.
    pub text: String,
}

/// State of the target, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// Less than 0.1% of the requests failed.
    #[default]
    Ok,
    /// At least 0.1% of the requests failed.
    Degraded,
    /// At least half of the requests failed, or none succeeded.
    Failed,
}

impl TargetLine {
    pub(super) fn of(document: &Document) -> TargetLine {
        let accounting = &document.accounting;
        let sent = accounting.planned.saturating_sub(accounting.never_sent);
        let failed = sent.saturating_sub(accounting.ok);
        if sent == 0 {
            return unsent(document);
        }
        let failed_share = failed as f64 / sent as f64;
        let state = TargetState::of(failed_share, accounting.ok > 0);
        let text = match state {
            TargetState::Ok => String::new(),
            _ => most_frequent(document, sent),
        };
        TargetLine { state, failed_share, text }
    }
}

impl TargetState {
    fn of(failed_share: f64, has_success: bool) -> TargetState {
        match failed_share {
            _ if !has_success => TargetState::Failed,
            share if share >= TARGET_FAILED => TargetState::Failed,
            share if share >= TARGET_DEGRADED => TargetState::Degraded,
            _ => TargetState::Ok,
        }
    }
}

/// State of a target to which no measured request was sent: connecting failed, requests of the
/// warm-up kept the connections busy, or the run ended before.
fn unsent(document: &Document) -> TargetLine {
    let failed = |text| TargetLine { state: TargetState::Failed, failed_share: 1.0, text };
    let throughput = &document.throughput;
    if throughput.completed > 0 {
        let failed_share = 1.0 - throughput.good as f64 / throughput.completed as f64;
        let state = TargetState::of(failed_share, throughput.good > 0);
        let share = units::short_percent(failed_share);
        let text = format!("{share} of responses have a status of 400 or above");
        let text = if state == TargetState::Ok { String::new() } else { text };
        return TargetLine { state, failed_share, text };
    }
    let failures = &document.connections.failures;
    let connecting = failures.iter().filter(|failure| failure.phase == FailurePhase::Connect);
    if let Some(worst) = connecting.max_by_key(|failure| failure.count) {
        return failed(format!("no connection: {}", worst.text));
    }
    let responses: u64 = document.series.iter().map(|entry| entry.completed).sum();
    let is_silent = document.accounting.sent.warmup > 0 && responses == 0;
    if !is_silent || document.run.interrupted {
        return TargetLine::default();
    }
    let lives = document.phases.iter().map(|of| of.drained_ns.saturating_sub(of.start_ns));
    let waited_ns = lives.max().unwrap_or(0).min(document.plan.timeout_ns);
    // Whole seconds: the time to close the sockets has no meaning here.
    let waited_ns =
        if waited_ns < SECOND_NS { waited_ns } else { waited_ns / SECOND_NS * SECOND_NS };
    failed(format!("no response within {}", units::short_duration(waited_ns)))
}

/// Formats `3.1% timed out`, `100% of responses were 404`, `no response within 10 s`.
fn most_frequent(document: &Document, sent: u64) -> String {
    let accounting = &document.accounting;
    let Accounting { transport_error, timed_out, in_flight_at_end, .. } = *accounting;
    let share = |count: u64| units::short_percent(count as f64 / sent as f64);
    let answered = accounting.ok + accounting.bad_response;
    let unanswered = timed_out + in_flight_at_end;
    if answered == 0 && unanswered >= transport_error {
        let waited_ns = longest_wait_ns(document);
        return format!("no response within {}", units::short_duration(waited_ns));
    }
    let bad = accounting.status.iter().filter(|(code, _)| !document.plan.success.accepts(**code));
    let worst_status = bad.max_by_key(|(_, count)| **count);
    let worst_error = accounting.errors.iter().max_by_key(|(_, count)| **count);
    let mut causes = vec![
        (timed_out, format!("{} timed out", share(timed_out))),
        (in_flight_at_end, format!("{} got no response by the end", share(in_flight_at_end))),
    ];
    causes.extend(worst_status.map(|(code, count)| {
        let of_responses = units::short_percent(*count as f64 / answered.max(1) as f64);
        (accounting.bad_response, format!("{of_responses} of responses were {code}"))
    }));
    causes.extend(worst_error.map(|(kind, count)| {
        (transport_error, format!("{} failed: {}", share(*count), error_in_words(kind)))
    }));
    let worst = causes.into_iter().max_by_key(|(count, _)| *count);
    worst.map_or_else(String::new, |(_, text)| text)
}

/// Longest time that a response was awaited, in nanoseconds: the timeout, or until the run's own
/// end.
fn longest_wait_ns(document: &Document) -> u64 {
    let oldest = document.latency.service_time.headline().max_ns.unwrap_or(0);
    match document.accounting.timed_out {
        0 => oldest,
        _ => document.plan.timeout_ns,
    }
}

fn error_in_words(kind: &str) -> String {
    errno::text_of_name(kind).map_or_else(|| kind.replace('_', " "), str::to_owned)
}
