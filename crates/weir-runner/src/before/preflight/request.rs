//! The request before the load over HTTP, whose response is described as soon as its head and the
//! beginning of a long body have arrived. `--debug` and WebSocket have ways of their own to look at
//! an exchange.

use std::io;
use std::sync::Arc;

use weir_http::h2::H2Client;
use weir_http::{BodyBudget, Http1, Interest, MessageFormat, Multiplexed, SingleExchange};
use weir_io::{Backend, Nanos};
use weir_result::HttpPlan;
use weir_result::document::Preflight;

use super::result::{PreflightResult, describe};
use crate::link::Link;
use crate::prepare::http;
use crate::prepare::load::PreparedLoad;

/// Maximum bytes of a response that are read. The length of a longer body is in the head, or not
/// needed.
const READ_MAX_BYTES: usize = 1 << 20;

/// Sends the request, and describes its response. Of a stream of events the head alone is read.
///
/// # Errors
/// When there is no valid response: [`weir_http::ProtocolError::BadPreface`] if the server does not
/// begin with the settings of HTTP/2.
pub(super) fn exchange<B: Backend>(
    link: &mut Link<B>,
    load: &PreparedLoad,
    version: HttpPlan,
    started: Nanos,
    result: &mut PreflightResult,
) -> io::Result<Preflight> {
    let interest =
        load.responses.expectations.as_ref().map_or(Interest::Status, |it| it.interest());
    let budget = &load.responses.body_budget;
    let mut exchange = exchange_of(load, version, interest, budget, None, link.now());
    let ended = link.exchange(&mut exchange, |exchange, _, _| {
        let progress = exchange.progress();
        let is_long = progress.received_bytes >= READ_MAX_BYTES && progress.begun_ns.is_some();
        is_long || exchange.is_event_stream()
    });
    result.take(load, &exchange);
    ended?;
    let response = describe(&exchange, started, link.now())?;
    let text = String::from_utf8_lossy(&exchange.progress().received).to_ascii_lowercase();
    let is_plain = load.target.tls.is_none() && response.status == 400;
    result.blames_scheme = is_plain && (text.contains("https") || text.contains("ssl"));
    Ok(response)
}

/// Returns the exchange of the request over a version of HTTP, which keeps a part of the response
/// and splits it into messages of `format`.
pub(super) fn exchange_of(
    load: &PreparedLoad,
    version: HttpPlan,
    interest: Interest,
    budget: &BodyBudget,
    format: Option<&MessageFormat>,
    now: Nanos,
) -> SingleExchange {
    let HttpPlan::Http2(http2) = version else {
        let mut protocol = Http1::new(1);
        protocol.set_interest(interest, budget);
        format.into_iter().for_each(|format| protocol.set_messages(format));
        let request = &load.requests.request;
        return SingleExchange::http1(protocol, Arc::clone(request.bytes()), request.traits());
    };
    let mut client = H2Client::new(1, &http::options(http2));
    // It is described by what is kept of it.
    client.set_interest(interest.max(Interest::Head), budget);
    let rules = load.responses.expectations.iter().filter_map(|checks| checks.call_rules());
    rules.for_each(|rules| client.set_calls(rules));
    format.into_iter().for_each(|format| client.set_messages(format));
    let mut exchange = SingleExchange::http2(client, now.0);
    exchange.request(&Arc::new(load.requests.request.request(load.target.scheme())));
    exchange
}
