//! The line `Target`: the responses of the target to the requests sent to it (METHOD 1.9).

use crate::thresholds::{TARGET_DEGRADED, TARGET_FAILED};
use weir_result::document::{Accounting, Document, SliceEntry, TargetLine, TargetState};
use weir_result::{Callback, FailurePhase, MissKind, Outcomes, errno};
use weir_text::{units, words_of_kind};

const SECOND_NS: u64 = 1_000_000_000;

/// Error of a request that the peer returned each time it was sent.
const RETURNED: &str = "protocol_returned";

/// Begin of the kinds of failed streams.
const STREAM: &str = "stream_";

/// Derives the line.
pub(crate) fn of(document: &Document) -> TargetLine {
    let results = &document.results;
    let sent = results.planned.saturating_sub(results.outcomes.never_sent);
    // A stream that delivers is alive, however long it lasts.
    let good = document.results.not_failed();
    let failed = sent.saturating_sub(good);
    if sent == 0 && document.plan.is_idle() && document.connections.open_max > 0 {
        return held(document);
    }
    if sent == 0 {
        return unsent(document);
    }
    let failed_share = failed as f64 / sent as f64;
    let of_requests = state_of(failed_share, good > 0);
    let silent_share = silent_share(document);
    let of_time = state_of(silent_share, good > 0);
    let users = EndedUsers::of(document);
    let of_users = users.state();
    let state = of_requests.max(of_time).max(of_users);
    // The text names the greatest share.
    let text = match state {
        TargetState::Ok => String::new(),
        _ if silent_share > failed_share.max(users.share()) => silence(document, silent_share),
        _ if users.share() > failed_share => users.failure(most_frequent(document, sent)),
        _ => most_frequent(document, sent),
    };
    TargetLine { state, failed_share, text }
}

/// True if the target failed although few requests did: it fell silent, or failed users.
pub(crate) fn failed_otherwise(target: &TargetLine) -> bool {
    target.state == TargetState::Failed && target.failed_share < TARGET_FAILED
}

/// The users of scenarios who have ended. One request of many that fails ends a user.
struct EndedUsers {
    ended: u64,
    failed: u64,
}

impl EndedUsers {
    fn of(document: &Document) -> EndedUsers {
        let users = document.names.iter().filter(|name| name.is_of_users());
        users.fold(EndedUsers { ended: 0, failed: 0 }, |all, name| {
            let Outcomes { ok, bad_response, transport_error, timed_out, .. } =
                name.results.outcomes;
            let failed = bad_response + transport_error + timed_out;
            EndedUsers { ended: all.ended + ok + failed, failed: all.failed + failed }
        })
    }

    fn share(&self) -> f64 {
        self.failed as f64 / self.ended.max(1) as f64
    }

    fn state(&self) -> TargetState {
        state_of(self.share(), self.failed < self.ended || self.ended == 0)
    }

    /// Formats `100% of users failed: 20% of responses were 401`.
    fn failure(&self, why: String) -> String {
        format!("{} of users failed: {why}", units::short_percent(self.share()))
    }
}

/// State of a target with this share of failures.
pub(crate) fn state_of(failed_share: f64, has_success: bool) -> TargetState {
    match failed_share {
        _ if !has_success => TargetState::Failed,
        share if share >= TARGET_FAILED => TargetState::Failed,
        share if share >= TARGET_DEGRADED => TargetState::Degraded,
        _ => TargetState::Ok,
    }
}

/// State of a target whose connections were only held, by the share of them that ended. One may end
/// several times.
fn held(document: &Document) -> TargetLine {
    let connections = &document.connections;
    let lost = connections.lost();
    let failed_share = (lost as f64 / connections.requested.max(1) as f64).min(1.0);
    let state = state_of(failed_share, true);
    if state == TargetState::Ok {
        return TargetLine { state, failed_share, text: String::new() };
    }
    let ended = connections.failures.iter().filter(|of| of.phase != FailurePhase::Connect);
    let worst = ended.max_by_key(|of| of.count).map(|of| of.text.clone());
    let why =
        worst.or_else(|| refusal(document)).map_or_else(String::new, |why| format!(": {why}"));
    let lost = units::count(lost);
    let held = units::count(connections.requested);
    let text = format!("connections ended {lost} times, of {held} held{why}");
    TargetLine { state, failed_share, text }
}

/// State of a target to which no measured request was sent: connecting failed, requests of the
/// warm-up kept the connections busy, or the run ended before.
fn unsent(document: &Document) -> TargetLine {
    let failed = |text| TargetLine { state: TargetState::Failed, failed_share: 1.0, text };
    let results = &document.results;
    if results.completed > 0 {
        let failed_share = 1.0 - results.good as f64 / results.completed as f64;
        let state = state_of(failed_share, results.good > 0);
        let share = units::short_percent(failed_share);
        let problem = match document.plan.expect {
            Some(_) => "missed an expectation",
            None => "have a status of 400 or above",
        };
        let text = format!("{share} of responses {problem}");
        let text = if state == TargetState::Ok { String::new() } else { text };
        return TargetLine { state, failed_share, text };
    }
    let failures = &document.connections.failures;
    let connecting = failures.iter().filter(|failure| failure.phase == FailurePhase::Connect);
    if let Some(worst) = connecting.max_by_key(|failure| failure.count) {
        return failed(format!("no connection: {}", worst.text));
    }
    if results.completed == 0
        && let Some(why) = refusal(document)
    {
        return failed(why);
    }
    let responses: u64 = document.series.iter().map(|entry| entry.completed).sum();
    let messages = document.results.messages.as_ref().map_or(0, |messages| messages.received);
    let is_silent = document.accounting.sent.warmup > 0 && responses == 0 && messages == 0;
    if !is_silent || document.run.interrupted {
        return TargetLine::default();
    }
    let lives = document.phases.iter().map(|of| of.drained_ns.saturating_sub(of.start_ns));
    let waited_ns = lives.max().unwrap_or(0).min(document.plan.load.timeout_ns);
    // Whole seconds: the time to close the sockets has no meaning here.
    let waited_ns =
        if waited_ns < SECOND_NS { waited_ns } else { waited_ns / SECOND_NS * SECOND_NS };
    failed(format!("no response within {}", units::short_duration(waited_ns)))
}

/// Returns the share of the window in which the target was silent.
pub(crate) fn silent_share(document: &Document) -> f64 {
    let window_s = document.throughput.window_s;
    let whole: Vec<&SliceEntry> =
        document.slices.iter().filter(|slice| slice.end_s <= window_s).collect();
    // Where nothing happens any more, a closed loop with a number of requests has no slices.
    let last_end_s = document.slices.last().map_or(window_s, |last| last.end_s);
    let is_closed = !document.plan.load.is_open_loop();
    let behind_s = if is_closed { (window_s - last_end_s).max(0.0) } else { 0.0 };
    let silent_s = silent_s(document, &whole, behind_s);
    if silent_s > 0.0 { silent_s / window_s } else { 0.0 }
}

/// Returns the seconds of these slices, and of the `behind_s` that follow without slices, in which
/// the target was silent: slices without a response although requests waited for one, in a run with
/// failures. A target that is gone gets few requests, so their share does not show it. Stretches
/// that a slow response explains do not count.
pub(crate) fn silent_s(document: &Document, whole: &[&SliceEntry], behind_s: f64) -> f64 {
    let results = &document.results;
    let in_flight =
        results.outcomes.in_flight_at_end.saturating_sub(document.results.open_streams());
    let lost = [results.outcomes.transport_error, results.outcomes.timed_out, in_flight];
    let has_failures = lost.iter().any(|count| *count > 0)
        || !document.connections.failures.is_empty()
        || refusal(document).is_some();
    let pauses = document.script.as_ref().and_then(|of| of.callbacks.get(&Callback::Delay));
    // A run without any response has a state of its own; connections rest in a script's delay().
    let has_counts = document.slices.iter().any(|slice| slice.completed > 0);
    if !has_failures || !has_counts || pauses.is_some_and(|usage| usage.calls > 0) {
        return 0.0;
    }
    // Without a response for longer than one takes, and than a user thinks.
    let slowest_ns = document.results.service_time.ok.max_ns.unwrap_or(0);
    let slowest_s = slowest_ns.saturating_add(longest_pause_ns(document)) as f64 / 1e9;
    let is_closed = !document.plan.load.is_open_loop();
    let is_silent = |slice: &SliceEntry| {
        let has_messages = slice.messages.as_ref().is_some_and(|messages| messages.received > 0);
        let is_awaited = is_closed || slice.in_flight > 0 || slice.backlog > 0;
        slice.completed == 0 && !has_messages && is_awaited
    };
    let stretches = whole.chunk_by(|a, b| is_silent(a) == is_silent(b));
    let mut silences: Vec<f64> = Vec::new();
    let mut is_last_silent = false;
    for (first, last) in stretches.filter_map(|of| Some((of.first()?, of.last()?))) {
        is_last_silent = is_silent(first);
        silences.extend(is_last_silent.then_some(last.end_s - first.start_s));
    }
    match silences.last_mut().filter(|_| is_last_silent) {
        Some(last) => *last += behind_s,
        None => silences.push(behind_s),
    }
    silences.into_iter().filter(|length_s| *length_s > slowest_s).sum()
}

/// Returns a time in which a user hardly ever only thinks, in nanoseconds: twice the greatest mean
/// pause, as a pause between two limits is at most.
fn longest_pause_ns(document: &Document) -> u64 {
    let scenarios = document.plan.users().into_iter().flat_map(|users| &users.scenarios);
    let pauses = scenarios.flat_map(|scenario| &scenario.steps).map(|step| step.think_mean_ns);
    pauses.max().unwrap_or(0).saturating_mul(2)
}

/// Formats `no response for 50% of the window: connection refused`.
fn silence(document: &Document, share: f64) -> String {
    let worst = document.connections.failures.iter().max_by_key(|failure| failure.count);
    let why = worst.map(|failure| failure.text.clone()).or_else(|| refusal(document));
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("no response for {} of the window{why}", units::short_percent(share))
}

/// Formats `20% of responses are streams that failed (stream error)`. If no event has a token, the
/// place may be wrong: it says what the first event is.
fn failed_stream(accounting: &Accounting, kind: &str, count: u64, answered: u64) -> String {
    let share = units::short_percent(count as f64 / answered.max(1) as f64);
    match accounting.miss_examples.get(kind) {
        Some(example) if kind == "stream_without_token" && !example.found.is_empty() => {
            let expected = &example.expected;
            let found = &example.found;
            format!("{share} of responses: no event has {expected}; the first event is {found}")
        }
        _ => format!("{share} of responses are streams that failed ({})", words_of_kind(kind)),
    }
}

/// How the server refused streams of HTTP/2 or ended connections, by the name of the standard.
fn refusal(document: &Document) -> Option<String> {
    let connections = &document.connections;
    if connections.without_streams > 0 {
        return Some("the server allows no streams (MAX_CONCURRENT_STREAMS 0)".to_owned());
    }
    let (reason, _) = connections.goaways.iter().max_by_key(|(_, count)| **count)?;
    let frame = document.plan.connection_end().frame;
    Some(format!("the server ended connections ({frame}: {reason})"))
}

/// Returns the error status that all bad responses have; `None` if they are of several kinds. It
/// says more than the expectation that it misses.
fn only_error_status(document: &Document) -> Option<u16> {
    let results = &document.results;
    let mut errors =
        results.status.iter().filter(|(code, _)| !document.plan.success.accepts(**code));
    let (code, count) = errors.next()?;
    (*count == results.outcomes.bad_response && errors.next().is_none()).then_some(*code)
}

/// Formats `3.1% timed out`, `100% of responses were 404`, `no response within 10 s`.
fn most_frequent(document: &Document, sent: u64) -> String {
    let results = &document.results;
    let Outcomes { transport_error, timed_out, in_flight_at_end, .. } = results.outcomes;
    let in_flight_at_end = in_flight_at_end.saturating_sub(results.open_streams());
    let share = |count: u64| units::short_percent(count as f64 / sent as f64);
    let answered = results.outcomes.ok + results.outcomes.bad_response;
    let unanswered = timed_out + in_flight_at_end;
    let is_silent = answered == 0 && results.open_streams() == 0;
    if is_silent && unanswered >= transport_error {
        let waited_ns = match timed_out {
            0 => document.results.service_time.headline().max_ns.unwrap_or(0),
            _ => document.plan.load.timeout_ns,
        };
        return format!("no response within {}", units::short_duration(waited_ns));
    }
    let is_bad = |code| document.plan.expect.is_none() && !document.plan.success.accepts(code);
    let bad = results.status.iter().filter(|(code, _)| is_bad(**code));
    let worst_miss = results.missed.iter().max_by_key(|(_, count)| **count);
    let worst_status = bad.max_by_key(|(_, count)| **count);
    let worst_error = results.errors.iter().max_by_key(|(_, count)| **count);
    let mut causes = vec![
        (timed_out, format!("{} timed out", share(timed_out))),
        (in_flight_at_end, format!("{} got no response by the end", share(in_flight_at_end))),
    ];
    causes.extend(worst_status.map(|(code, count)| {
        let of_responses = units::short_percent(*count as f64 / answered.max(1) as f64);
        let missed: u64 = results.missed.values().sum();
        let bad = results.outcomes.bad_response.saturating_sub(missed);
        (bad, format!("{of_responses} of responses were {code}"))
    }));
    causes.extend(worst_miss.map(|(kind, count)| {
        if kind.starts_with(STREAM) {
            return (*count, failed_stream(&document.accounting, kind, *count, answered));
        }
        let bad = results.outcomes.bad_response;
        let share = units::short_percent(bad as f64 / answered.max(1) as f64);
        let only_error = only_error_status(document).filter(|_| kind == MissKind::Status.name());
        let problem = match only_error {
            Some(code) => format!("were {code}"),
            None => format!("missed an expectation ({})", words_of_kind(kind)),
        };
        (bad, format!("{share} of responses {problem}"))
    }));
    let unended = document.results.unended_streams();
    causes.push((unended, format!("{} ended without the end mark of others", share(unended))));
    causes.extend(worst_error.map(|(kind, count)| {
        let goaway = refusal(document).filter(|_| kind == RETURNED);
        let why = goaway.unwrap_or_else(|| {
            errno::text_of_name(kind).map_or_else(|| kind.replace('_', " "), str::to_owned)
        });
        (transport_error, format!("{} failed: {why}", share(*count)))
    }));
    let worst = causes.into_iter().max_by_key(|(count, _)| *count);
    worst.map_or_else(String::new, |(_, text)| text)
}
