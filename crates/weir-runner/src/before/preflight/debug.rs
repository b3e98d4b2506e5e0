//! The one exchange of `--debug` over HTTP: all that a run would measure of it, with its time. It
//! ends with the response, after the timeout, or with more messages than are shown.

use std::io;
use std::sync::Arc;

use weir_http::h2::H2Client;
use weir_http::{
    BodyBudget, Http1, Interest, MessageFraming, Multiplexed, ReceivedResponse, Request,
    StreamEventKind, unfinished_response,
};
use weir_io::{Backend, Nanos};
use weir_result::Http2Plan;
use weir_result::document::Preflight;

use super::event_stream::{begins_events, has_events};
use super::link::{Link, is_late};
use super::message_log::{MessageLog, sent_messages};
use super::result::{PreflightResult, describe};
use super::streams;
use super::trace::{ExchangeTrace, KEPT_BYTES};
use crate::prepare::draft::Draft;

/// Sends the request over HTTP/1, and describes its response.
///
/// # Errors
/// When nothing arrives, or no valid response.
pub(super) fn http1<B: Backend>(
    link: &mut Link<B>,
    draft: &Draft,
    started: Nanos,
    result: &mut PreflightResult,
) -> io::Result<Preflight> {
    const VERSION: &str = "HTTP/1.1";
    let trace = result.trace.get_or_insert_default();
    let (mut protocol, log) = (Http1::new(1), MessageLog::default());
    protocol.set_interest(Interest::Body, &BodyBudget::new(KEPT_BYTES));
    protocol.set_messages(&log.format(MessageFraming::EventStream));
    protocol.request(draft.request.traits());
    result.sent += 1;
    link.send(draft.request.bytes())?;
    trace.sent_http1(draft.request.bytes());
    trace.step("request sent", started, link.now());
    let (mut received, mut responses, mut is_late_end) = (Vec::new(), Vec::new(), false);
    while responses.is_empty() {
        let bytes = match link.receive() {
            Err(error) if is_late(&error) && !received.is_empty() => {
                is_late_end = true;
                break;
            }
            read => read?,
        };
        let now = link.now();
        trace.step("first byte", started, now);
        let read = match bytes.len() {
            0 => protocol.end_of_stream(&mut responses),
            _ => protocol.receive(&bytes, &mut responses),
        };
        let room = KEPT_BYTES.saturating_sub(received.len()).min(bytes.len());
        received.extend_from_slice(&bytes[..room]);
        result.has_events = begins_events(&received);
        let messages = protocol.messages().iter().filter(|_| result.has_events).copied();
        let is_full = log.show(messages, None, trace, (started, now));
        let is_over = bytes.is_empty() && responses.is_empty();
        if is_full || is_over || read.is_err() {
            trace.received_part(VERSION, unfinished_response(&protocol), &received);
            read.map_err(io::Error::other)?;
            if is_over {
                return Err(io::Error::other("the connection was closed before a response"));
            }
            break;
        }
    }
    if is_late_end {
        trace.received_part(VERSION, unfinished_response(&protocol), &received);
        trace.end_is_late(result.has_events, draft.plan.load.timeout_ns);
    }
    if !responses.is_empty() {
        ended(draft, VERSION, &protocol.response(0), started, link.now(), result);
    }
    let body_bytes = responses.first().map(|response| response.body_bytes);
    describe(&received, body_bytes, &protocol, link.now().since(started))
}

/// Sends the request over HTTP/2, and describes its response.
///
/// # Errors
/// When nothing arrives, or no valid response.
pub(super) fn http2<B: Backend>(
    link: &mut Link<B>,
    draft: &Draft,
    (request, http2): (&Arc<Request>, Http2Plan),
    started: Nanos,
    result: &mut PreflightResult,
) -> io::Result<Preflight> {
    let (is_grpc, log) = (draft.calls.is_some(), MessageLog::default());
    let mut client =
        streams::client_of(draft, http2, (Interest::Body, &BodyBudget::new(KEPT_BYTES)));
    client.set_messages(&log.format(framing(is_grpc)));
    client.open(link.now().0);
    let (mut sent, mut begun, mut events) = (None, None, Vec::new());
    loop {
        if sent.is_none() && client.capacity() > 0 {
            sent = Some(client.request(request, link.now().0));
            result.sent += 1;
        }
        link.transmit(&mut client)?;
        let trace = result.trace.get_or_insert_default();
        if sent.is_some() && trace.request.is_empty() {
            show_request(trace, draft, request);
            trace.step("request sent", started, link.now());
        }
        let unfinished = |client: &H2Client, trace: &mut ExchangeTrace| {
            let part = sent.and_then(|id| client.unfinished(id));
            trace.received_part("HTTP/2", part, &[]);
        };
        let bytes = match link.receive() {
            Ok(bytes) => bytes,
            Err(error) => {
                let Some(begun) = begun.filter(|_| is_late(&error)) else {
                    return Err(streams::refusal(&client).unwrap_or(error));
                };
                unfinished(&client, trace);
                trace.end_is_late(result.has_events || is_grpc, draft.plan.load.timeout_ns);
                return Ok(begun);
            }
        };
        let now = link.now();
        let read = client.receive(&bytes, now.0, &mut events);
        let has = |is: fn(&StreamEventKind) -> bool| events.iter().any(|event| is(&event.kind));
        let is_complete = has(|kind| matches!(kind, StreamEventKind::Response { .. }));
        if has(|kind| matches!(kind, StreamEventKind::Began { .. })) {
            trace.step("first byte", started, now);
            result.has_events = has_events(&client.head());
            begun = Some(streams::describe(&client.head(), now.since(started)));
        }
        result.has_events |= is_complete && has_events(&client.response(0));
        let is_listed = result.has_events || is_grpc;
        let messages = client.messages().iter().filter(|_| is_listed).map(|it| it.message);
        if log.show(messages, draft.grpc_method(), trace, (started, now))
            && let Some(begun) = begun.take()
        {
            unfinished(&client, trace);
            return Ok(begun);
        }
        if is_complete {
            ended(draft, "HTTP/2", &client.response(0), started, now, result);
            return Ok(streams::describe(&client.response(0), now.since(started)));
        }
        let mut ends = events.drain(..);
        ends.try_for_each(|event| streams::failed(&client, event.kind, result))?;
        read.map_err(io::Error::other)?;
        if let Some(error) = streams::ended(&client, bytes.is_empty(), sent.is_some()) {
            return Err(error);
        }
    }
}

fn framing(is_grpc: bool) -> MessageFraming {
    if is_grpc { MessageFraming::Grpc } else { MessageFraming::EventStream }
}

/// Shows the request, with the messages of a call whose schema is known.
fn show_request(trace: &mut ExchangeTrace, draft: &Draft, request: &Request) {
    trace.sent_http2(request);
    if let Some(method) = draft.grpc_method() {
        trace.request += &sent_messages(request.body(), method);
    }
}

/// Shows a response that is complete, and checks it.
fn ended(
    draft: &Draft,
    version: &str,
    response: &ReceivedResponse<'_>,
    started: Nanos,
    now: Nanos,
    result: &mut PreflightResult,
) {
    let trace = result.trace.get_or_insert_default();
    trace.received(version, response);
    trace.step("last byte", started, now);
    let checked = draft.expectations.as_ref().map(|checks| checks.check_first(response));
    result.checked = checked.map(|missed| missed.map_or(Ok(()), Err));
}
