//! Checks that every document passes: each planned request is accounted for once, in the classes
//! and in the histograms alike (METHOD 1.6, 1.7).
//!
//! The checks are cheap, and run on every document assembled, merged or read.

use std::fmt::Debug;

use super::latency::Latency;
use super::recorded::Recorded;
use super::results::Results;
use crate::counters::{
    MessageShare, OutcomeClass, OutcomePart, ResultCounts, Slice, StageLags, TlsCounts,
};
use crate::measurements::Measurements;
use crate::plan::{ListPlan, Plan};
use weir_stats::histogram::Histogram;

/// Numbers that do not add up: a fault of this program, exit code 70, and no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("broken invariant: {what}: {left} is not {right}")]
pub struct BrokenInvariant {
    what: String,
    left: String,
    right: String,
}

/// Runs all checks.
pub(super) fn check(plan: &Plan, recorded: &Recorded) -> Result<(), BrokenInvariant> {
    let measurements = &recorded.measurements;
    check_counts(plan, recorded)?;
    if let Some(tls) = &measurements.tls {
        check_handshakes(tls, &measurements.tls_handshake)?;
    }
    check_classes(measurements)?;
    if plan.has_due_times() {
        check_lags(measurements)?;
    }
    check_slices(measurements)?;
    check_names(plan, recorded)?;
    check_users(plan, measurements)?;
    check_messages(measurements)?;
    check_order(measurements)?;
    let results = &measurements.results;
    let times = [
        (Results::TIMES[0], results.response_time.by_class()),
        (Results::TIMES[1], results.service_time.by_class()),
    ];
    let messages = results.messages.iter();
    let of_messages =
        messages.flat_map(|of| Results::TIMES[2..].iter().copied().zip([&of.first, &of.gap]));
    let mut times = times
        .into_iter()
        .flat_map(|(name, of)| of.map(|of| (name, of)))
        .chain(of_messages)
        .chain(Latency::histograms(measurements));
    times.try_for_each(|(name, histogram)| check_sum(name, histogram))
}

fn check_counts(plan: &Plan, recorded: &Recorded) -> Result<(), BrokenInvariant> {
    let measurements = &recorded.measurements;
    let results = &measurements.results;
    let outcomes = &results.outcomes;
    let answered = outcomes.ok + outcomes.bad_response;
    equal("the six classes and the planned count", outcomes.total(), results.planned)?;
    for part in OutcomePart::ALL {
        let what = format!("{} requests and those of their class", part.name());
        at_most(&what, outcomes.part(*part), outcomes.of(part.whole()))?;
    }
    equal("status codes and answers", total(measurements.results.status.values()), answered)?;
    equal(
        "errors by kind and transport errors",
        total(recorded.kinds.errors.values()),
        outcomes.transport_error,
    )?;
    let missed = total(recorded.kinds.missed.values());
    match plan.expect {
        Some(_) => {
            equal("missed expectations by kind and bad answers", missed, outcomes.bad_response)?;
        }
        // Without expectations only a stream has a kind.
        None => {
            let bad = if plan.messages.is_some() { outcomes.bad_response } else { 0 };
            at_most("failed streams by kind and bad answers", missed, bad)?;
        }
    }
    at_most(
        "overdue requests and planned ones",
        measurements.overdue,
        measurements.results.planned,
    )?;
    at_most("good answers and completed ones", results.good, results.completed)?;
    let shares = &measurements.destinations;
    if !shares.is_empty() {
        let of_all = shares.iter().map(|share| share.outcomes.sent());
        let requests = of_all.fold(0, u64::saturating_add);
        let sent = measurements.results.planned - outcomes.never_sent;
        equal("requests over destinations and those not 'never sent'", requests, sent)?;
    }
    // A failed request may have failed before it was written.
    at_most("answered requests and sent ones", answered, measurements.sent.measured)?;
    let due = measurements.results.planned - outcomes.never_sent;
    at_most("sent requests and those not 'never sent'", measurements.sent.measured, due)
}

fn check_classes(measurements: &Measurements) -> Result<(), BrokenInvariant> {
    let outcomes = &measurements.results.outcomes;
    let unresolved = outcomes.timed_out + outcomes.in_flight_at_end;
    let response = &measurements.results.response_time;
    equal("response times and ok requests", response.ok.count(), outcomes.ok)?;
    equal("response times and bad answers", response.bad.count(), outcomes.bad_response)?;
    equal("times of failure and errors", response.failed_at.count(), outcomes.transport_error)?;
    let censored = unresolved + outcomes.never_sent;
    equal("ages and unresolved requests", response.censored.count(), censored)?;
    let service = &measurements.results.service_time;
    equal("service times and ok requests", service.ok.count(), outcomes.ok)?;
    equal("service times and bad answers", service.bad.count(), outcomes.bad_response)?;
    at_most("service failures and errors", service.failed_at.count(), outcomes.transport_error)?;
    // A closed loop keeps one time, which includes ages of requests never sent.
    at_most("service ages and unresolved requests", service.censored.count(), censored)?;
    equal("first bytes and ok requests", measurements.first_byte.count(), outcomes.ok)
}

/// Every handshake has a time and parameters.
fn check_handshakes(tls: &TlsCounts, times: &Histogram) -> Result<(), BrokenInvariant> {
    let handshakes = tls.handshakes();
    equal("TLS handshakes and their times", handshakes, times.count())?;
    let negotiated = total(tls.negotiated.iter().map(|parameters| &parameters.handshakes));
    equal("TLS handshakes by parameters and in all", negotiated, handshakes)?;
    at_most("repeated hellos and full handshakes", tls.hello_retry_requests, tls.full)?;
    at_most("sessions not resumed and full handshakes", tls.not_resumed, tls.full)?;
    at_most("TLS handshakes in the window and in all", tls.in_window, handshakes)
}

/// Open loop: every slot has a lag or, if it was never sent, a bound of it.
fn check_lags(measurements: &Measurements) -> Result<(), BrokenInvariant> {
    let lag = &measurements.send_lag;
    let sent = lag.ok.count();
    equal(
        "send lags and planned requests",
        sent + lag.censored.count(),
        measurements.results.planned,
    )?;
    equal("scheduling lags and send lags", measurements.sched_lag.count(), sent)?;
    equal("connection waits and send lags", measurements.connection_wait.count(), sent)?;
    let by_stage = &measurements.stage_lags;
    if by_stage.is_empty() {
        return Ok(());
    }
    let count = |of: fn(&StageLags) -> &Histogram| {
        total(by_stage.iter().map(|lags| &of(lags).exact().count))
    };
    equal("send lags over stages and in all", count(|lags| &lags.send_lag), sent)?;
    equal("scheduling lags over stages and in all", count(|lags| &lags.sched_lag), sent)
}

/// If there are slices, every measured request is in one.
fn check_slices(measurements: &Measurements) -> Result<(), BrokenInvariant> {
    if measurements.slices.is_empty() {
        return Ok(());
    }
    let sum = |of: fn(&Slice) -> &Histogram| {
        total(measurements.slices.iter().map(|slice| &of(slice).exact().count))
    };
    let outcomes = &measurements.results.outcomes;
    equal("ok requests over slices and in all", sum(|slice| &slice.ok), outcomes.ok)?;
    let failed = measurements.results.planned - outcomes.ok;
    equal("failed requests over slices and in all", sum(|slice| &slice.not_ok), failed)?;
    for slice in &measurements.slices {
        let all = slice.ok.count().saturating_add(slice.not_ok.count());
        equal("classes and times of a slice", slice.outcomes.total(), all)?;
        equal("ok requests and their times in a slice", slice.outcomes.ok, slice.ok.count())?;
    }
    for class in OutcomeClass::ALL {
        let counts: Vec<u64> =
            measurements.slices.iter().map(|slice| slice.outcomes.of(class)).collect();
        let what = format!("{} requests over slices and in all", class.name());
        equal(&what, total(&counts), outcomes.of(class))?;
    }
    Ok(())
}

/// If there are names, they add up to the whole: every class, status, error and bucket.
fn check_names(plan: &Plan, recorded: &Recorded) -> Result<(), BrokenInvariant> {
    let measurements = &recorded.measurements;
    let names = &measurements.names;
    let of_requests = plan.list.as_ref().map_or(names.len(), ListPlan::request_names);
    if names.is_empty() {
        return Ok(());
    }
    let mut sum = ResultCounts::default();
    names.iter().take(of_requests).for_each(|name| sum.add(name));
    for name in names {
        equal(
            "the six classes and the planned count of a name",
            name.outcomes.total(),
            name.planned,
        )?;
    }
    equal("planned requests over names and in all", sum.planned, measurements.results.planned)?;
    same("outcomes over names and in all", &sum.outcomes, &measurements.results.outcomes)?;
    same("status codes over names and in all", &sum.status, &measurements.results.status)?;
    let name_kinds = recorded.name_kinds.iter().take(of_requests);
    let missed = name_kinds.flat_map(|kinds| kinds.missed.values());
    let missed = total(missed);
    equal(
        "missed expectations over names and in all",
        missed,
        total(recorded.kinds.missed.values()),
    )?;
    let all = &measurements.results;
    equal("completed answers over names and in all", sum.completed, all.completed)?;
    equal("good answers over names and in all", sum.good, all.good)?;
    for (what, of_names, of_all) in [
        ("response times", &sum.response_time, &all.response_time),
        ("service times", &sum.service_time, &all.service_time),
    ] {
        for (of_names, of_all) in of_names.by_class().into_iter().zip(of_all.by_class()) {
            if !of_names.agrees_with(of_all) {
                let [left, right] = [of_names, of_all].map(|times| format!("{:?}", times.exact()));
                return Err(broken(&format!("{what} over names and in all"), left, right));
            }
        }
    }
    Ok(())
}

/// If there are users, each of those who began took each turn of its scenario, or did not for a
/// reason that was counted.
fn check_users(plan: &Plan, measurements: &Measurements) -> Result<(), BrokenInvariant> {
    let Some(list) = plan.list.as_ref().filter(|list| !list.scenarios().is_empty()) else {
        return Ok(());
    };
    let mut steps = measurements.steps.iter();
    let names = measurements.names.iter().skip(list.request_names());
    for (users, scenario) in names.zip(list.scenarios()) {
        let begun = users.planned.saturating_sub(users.outcomes.never_sent);
        for (step, counts) in scenario.steps.iter().zip(steps.by_ref()) {
            let turns = begun.saturating_mul(step.turns.into());
            equal("turns at a step and those of its users", counts.turns(), turns)?;
            at_most("users who failed at a step and its requests", counts.failed, counts.reached)?;
        }
    }
    Ok(())
}

/// If messages are measured, every slot of M has a first one or an age, and every further message a
/// gap.
fn check_messages(measurements: &Measurements) -> Result<(), BrokenInvariant> {
    let (Some(messages), Some(all)) = (&measurements.messages, &measurements.results.messages)
    else {
        return Ok(());
    };
    let with = all.first.count();
    let slots = with.saturating_add(all.without.count());
    equal("first messages, or ages, and planned requests", slots, measurements.results.planned)?;
    let gaps = all.gap.count();
    equal("messages, and first ones and gaps", messages.measured, with.saturating_add(gaps))?;
    let ok = measurements.results.outcomes.ok;
    equal("messages per response and ok requests", messages.per_response.count(), ok)?;
    let in_flight = measurements.results.outcomes.in_flight_at_end;
    at_most("open streams and requests in flight at the end", all.open, in_flight)?;
    at_most("responses that met the goodput and ok requests", all.good_due, ok)?;
    at_most("responses without an end mark and ok requests", all.unmarked, ok)?;
    for (what, times) in [
        ("counts of tokens and ok requests", &messages.tokens.per_response),
        ("times per token and ok requests", &measurements.time_per_token),
        ("first messages of the reasoning and ok requests", &measurements.first_reasoning),
        ("first messages of the answer and ok requests", &measurements.first_answer),
    ] {
        at_most(what, times.count(), ok)?;
    }
    let totals = all.totals.as_deref().copied().unwrap_or_default();
    let counted = messages.tokens.per_response.count();
    equal("responses with tokens and counts of tokens", totals.responses, counted)?;
    at_most("tokens of the reasoning and of responses", totals.reasoning, totals.output)?;
    for times in &messages.tokens.first_by_prompt {
        at_most("first messages by length of the prompt and ok requests", times.count(), ok)?;
    }
    let shares = || measurements.slices.iter().filter_map(|slice| slice.messages.as_ref());
    let sum = |of: fn(&MessageShare) -> &Histogram| total(shares().map(|it| &of(it).exact().count));
    equal("first messages over slices and in all", sum(|share| &share.first), with)?;
    equal("gaps over slices and in all", sum(|share| &share.gap), gaps)?;
    let received = total(shares().map(|share| &share.received));
    equal("messages received over slices and in all", received, all.received)?;
    let tokens = total(shares().map(|share| &share.tokens));
    equal("tokens received over slices and in all", tokens, messages.tokens.received)?;
    let good = total(shares().map(|share| &share.good_due));
    at_most("responses that met the goodput over slices and in all", good, all.good_due)?;
    let tokens = shares().filter_map(|share| share.per_token.as_ref());
    let tokens = total(tokens.map(|times| &times.exact().count));
    at_most("times per token over slices and ok requests", tokens, ok)
}

fn same<T: PartialEq + Debug>(what: &str, left: &T, right: &T) -> Result<(), BrokenInvariant> {
    if left == right {
        Ok(())
    } else {
        Err(broken(what, format!("{left:?}"), format!("{right:?}")))
    }
}

/// Checks a sum: the middle of a bucket is at most a 2,048th away from any value in it. The sums
/// therefore agree to 0.1%, however few values there are. Clipped values are in no bucket of their
/// own.
fn check_sum(what: &str, histogram: &Histogram) -> Result<(), BrokenInvariant> {
    let exact = histogram.exact();
    let middles = histogram.middle_sum_ns();
    let sum = exact.sum_ns;
    if exact.clipped > 0 || middles.abs_diff(sum) <= sum / 1000 + u128::from(exact.count) {
        return Ok(());
    }
    let what = format!("{what}: the sum over its buckets and the exact sum, in ns");
    Err(broken(&what, middles.to_string(), sum.to_string()))
}

/// Checks that intervals follow each other: merging finds other parts' intervals by their start.
fn check_order(measurements: &Measurements) -> Result<(), BrokenInvariant> {
    let pairs = measurements.intervals.windows(2);
    match pairs.map(|pair| (pair[0].start_ns, pair[1].start_ns)).find(|(a, b)| a >= b) {
        None => Ok(()),
        Some((a, b)) => {
            Err(broken("intervals in order of time", b.to_string(), format!("later than {a}")))
        }
    }
}

/// Adds with saturation: the sum stays at the greatest number, which equals no count.
fn total<'n>(numbers: impl IntoIterator<Item = &'n u64>) -> u64 {
    numbers.into_iter().fold(0, |sum: u64, number| sum.saturating_add(*number))
}

fn equal(what: &str, left: u64, right: u64) -> Result<(), BrokenInvariant> {
    if left == right { Ok(()) } else { Err(broken(what, left.to_string(), right.to_string())) }
}

fn at_most(what: &str, left: u64, right: u64) -> Result<(), BrokenInvariant> {
    if left <= right {
        return Ok(());
    }
    Err(broken(what, left.to_string(), format!("at most {right}")))
}

fn broken(what: &str, left: String, right: String) -> BrokenInvariant {
    BrokenInvariant { what: what.to_owned(), left, right }
}
