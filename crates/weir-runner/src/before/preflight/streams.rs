//! The one request before the load over HTTP/2.

use std::io;
use std::sync::Arc;

use weir_http::h2::H2Client;
use weir_http::{
    BodyBudget, Interest, Multiplexed, ProtocolError, ReceivedResponse, Request, StreamEventKind,
};
use weir_io::{Backend, Nanos};
use weir_result::Http2Plan;
use weir_result::document::Preflight;

use super::event_stream::has_events;
use super::link::Link;
use super::result::{PreflightResult, READ_MAX_BYTES};
use crate::prepare::draft::Draft;
use crate::prepare::http;

/// Sends the request and describes the response, as soon as its head and the first bytes of a long
/// body have arrived. Counts the request in `result`, once it is sent.
///
/// # Errors
/// When there is no valid response: [`ProtocolError::BadPreface`] if the server does not begin with
/// the settings of HTTP/2.
pub(super) fn exchange<B: Backend>(
    link: &mut Link<B>,
    draft: &Draft,
    (request, http2): (&Arc<Request>, Http2Plan),
    started: Nanos,
    result: &mut PreflightResult,
) -> io::Result<Preflight> {
    let checks = draft.expectations.as_ref();
    let interest = checks.map_or(Interest::Head, |checks| checks.interest().max(Interest::Head));
    let mut client = client_of(draft, http2, (interest, &draft.body_budget));
    client.open(link.now().0);
    let (mut is_sent, mut received, mut begun, mut events) = (false, 0, None, Vec::new());
    loop {
        if !is_sent && client.capacity() > 0 {
            client.request(request, link.now().0);
            is_sent = true;
            result.sent += 1;
        }
        link.transmit(&mut client)?;
        let bytes = link.receive().map_err(|error| refusal(&client).unwrap_or(error))?;
        received += bytes.len();
        let read = client.receive(&bytes, link.now().0, &mut events);
        for event in events.drain(..) {
            match event.kind {
                StreamEventKind::Began { .. } => {
                    result.has_events = has_events(&client.head());
                    let response = describe(&client.head(), link.now().since(started));
                    if result.has_events {
                        return Ok(response);
                    }
                    begun = Some(response);
                }
                StreamEventKind::Response { .. } => {
                    let missed = checks.map(|checks| checks.check_first(&client.response(0)));
                    result.checked = missed.map(|missed| missed.map_or(Ok(()), Err));
                    result.has_events |= has_events(&client.response(0));
                    return Ok(describe(&client.response(0), link.now().since(started)));
                }
                failure => failed(&client, failure, result)?,
            }
        }
        read.map_err(io::Error::other)?;
        if let Some(error) = ended(&client, bytes.is_empty(), is_sent) {
            return Err(error);
        }
        if received > READ_MAX_BYTES
            && let Some(begun) = begun.take()
        {
            return Ok(begun);
        }
    }
}

/// Returns a client that keeps this part of a response, and reads calls by the expectations.
pub(super) fn client_of(
    draft: &Draft,
    http2: Http2Plan,
    (interest, budget): (Interest, &BodyBudget),
) -> H2Client {
    let mut client = H2Client::new(1, &http::options(http2));
    client.set_interest(interest, budget);
    let checks = draft.expectations.iter();
    checks.filter_map(|checks| checks.call_rules()).for_each(|it| client.set_calls(it));
    client
}

/// Returns the error of a stream that ends without a response.
///
/// # Errors
/// If the event is such an end.
pub(super) fn failed(
    client: &H2Client,
    event: StreamEventKind,
    result: &mut PreflightResult,
) -> io::Result<()> {
    match event {
        StreamEventKind::Began { .. } | StreamEventKind::Response { .. } => Ok(()),
        StreamEventKind::Failed(error) => Err(io::Error::other(error)),
        StreamEventKind::Reset(reason) => {
            Err(io::Error::other(format!("the server reset the stream: {}", reason.name)))
        }
        StreamEventKind::Returned => {
            result.returned += 1;
            let refused = || io::Error::other("the server refused the request");
            Err(refusal(client).unwrap_or_else(refused))
        }
    }
}

/// The error of a connection that ended, or that takes no request; `None` if it goes on.
pub(super) fn ended(client: &H2Client, is_closed: bool, is_sent: bool) -> Option<io::Error> {
    if is_closed && !client.is_open() {
        return Some(io::Error::other(ProtocolError::BadPreface));
    }
    let text = match is_closed {
        true => "the connection was closed before a response",
        false if !is_sent && client.is_retiring() => "the connection takes no request",
        false => return None,
    };
    Some(refusal(client).unwrap_or_else(|| io::Error::other(text)))
}

/// The error of a server that ended the connection or allows no streams; `None` if it did neither.
pub(super) fn refusal(client: &H2Client) -> Option<io::Error> {
    if let Some(reason) = client.goaway() {
        let text = format!("the server ended the connection (GOAWAY: {})", reason.name);
        return Some(io::Error::other(text));
    }
    let text = "the server allows no streams (MAX_CONCURRENT_STREAMS 0)";
    client.allows_no_streams().then(|| io::Error::other(text))
}

pub(super) fn describe(head: &ReceivedResponse<'_>, elapsed_ns: u64) -> Preflight {
    let text = |wanted: &str| {
        let mut fields = head.fields();
        let found = fields.find(|(name, _)| *name == wanted.as_bytes());
        found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    };
    Preflight {
        status: head.status,
        http_version: "HTTP/2".to_owned(),
        server: text("server"),
        location: text("location"),
        body_bytes: text("content-length").and_then(|value| value.parse().ok()),
        address: String::new(),
        elapsed_ns,
    }
}
