//! The one exchange of `--debug` over HTTP: all that a run would measure of it, with its time. It
//! ends with the response, after the timeout, or with more messages than are shown.

use std::io;

use weir_http::{BodyBudget, ExchangeError, Interest, MessageFraming, SingleExchange};
use weir_io::{Backend, Nanos};
use weir_result::HttpPlan;
use weir_result::document::Preflight;

use super::message_log::{MessageLog, sent_messages};
use super::request::exchange_of;
use super::result::{PreflightResult, describe};
use super::trace::{ExchangeTrace, KEPT_BYTES};
use crate::link::{ExchangeStep, Link, is_late};
use crate::prepare::load::PreparedLoad;

/// Sends the request, and describes its response.
///
/// # Errors
/// When nothing arrives, or no valid response.
pub(super) fn exchange<B: Backend>(
    link: &mut Link<B>,
    load: &PreparedLoad,
    version: HttpPlan,
    started: Nanos,
    result: &mut PreflightResult,
) -> io::Result<Preflight> {
    let is_grpc = load.calls.is_some();
    // The next step needs its whole response.
    let is_step = load.requests.list.as_ref().is_some_and(|list| list.users.is_some());
    let log = MessageLog::default();
    let framing = if is_grpc { MessageFraming::Grpc } else { MessageFraming::EventStream };
    let format = log.format(framing);
    let budget = match is_step {
        true => load.responses.body_budget.clone(),
        false => BodyBudget::new(KEPT_BYTES),
    };
    let mut exchange =
        exchange_of(load, version, Interest::Body, &budget, Some(&format), link.now());
    let trace = result.trace.get_or_insert_default();
    let ended = link.exchange(&mut exchange, |exchange, step, now| match step {
        ExchangeStep::Sent(bytes) => {
            if exchange.progress().is_sent && trace.request.is_empty() {
                show_request(trace, load, exchange, bytes);
                trace.step("request sent", started, now);
            }
            false
        }
        ExchangeStep::Received => {
            if exchange.progress().begun_ns.is_some() {
                trace.step("first byte", started, now);
            }
            let is_listed = is_grpc || exchange.is_event_stream();
            let messages = exchange.messages().into_iter().filter(|_| is_listed);
            log.show(messages, load.grpc_method(), trace, started, now) && !is_step
        }
    });
    let progress = exchange.progress();
    let has_no_end = ended.as_ref().is_err_and(is_late) && progress.begun_ns.is_some();
    let fault = progress.fault.map(|fault| io::Error::other(ExchangeError::from(fault)));
    let failure = ended.err().filter(|_| !has_no_end).or(fault);
    let version = if let HttpPlan::Http2(_) = version { "HTTP/2" } else { "HTTP/1.1" };
    // The part before a failure of the response over HTTP/1, not of the connection, is shown.
    let is_shown = failure.as_ref().is_none_or(|error| {
        let is_of_response = error.get_ref().is_some_and(|cause| cause.is::<ExchangeError>());
        is_of_response && !progress.received.is_empty()
    });
    match exchange.response() {
        Some(response) if progress.is_complete && failure.is_none() => {
            trace.received(version, &response);
            trace.step("last byte", started, link.now());
        }
        part if is_shown => {
            let part = part.filter(|_| !progress.is_complete);
            trace.received_part(version, part, &progress.received);
        }
        _ => {}
    }
    if has_no_end {
        trace.end_is_late(is_grpc || exchange.is_event_stream(), load.plan.load.timeout_ns);
    }
    result.take(load, &exchange);
    failure.map_or(Ok(()), Err)?;
    describe(&exchange, started, link.now())
}

/// Shows the request, with the messages of a call whose schema is known.
fn show_request(
    trace: &mut ExchangeTrace,
    load: &PreparedLoad,
    exchange: &SingleExchange,
    bytes: &[u8],
) {
    let Some(request) = exchange.requested() else { return trace.sent_http1(bytes) };
    trace.sent_http2(request);
    if let Some(method) = load.grpc_method() {
        trace.request += &sent_messages(request.body(), method);
    }
}
