//! The result of the preflight.

use std::io;

use weir_http::{ExchangeProgress, SingleExchange};
use weir_io::Nanos;
use weir_result::document::Preflight;
use weir_result::{HttpPlan, MissExample, Note};

use super::trace::ExchangeTrace;
use crate::lone_user::KeptResponse;
use crate::prepare::load::{PreparedLoad, ServerFacts};
use crate::prepare::messages::PreparedMessages;

/// The result of the preflight.
#[derive(Debug, Default)]
pub(crate) struct PreflightResult {
    /// Response, if there was one.
    pub(crate) response: Option<Preflight>,
    /// Requests sent.
    pub(crate) sent: u64,
    /// Of them: requests that the server returned unprocessed.
    pub(crate) returned: u64,
    /// Warning for the user before the load.
    pub(crate) warning: Option<Note>,
    /// Result of the check against expectations; `None` if there are none, or the response was too
    /// long to be read.
    pub(crate) checked: Option<Result<(), MissExample>>,
    /// Messages that the response has, if the specification leaves it to the preflight.
    pub(crate) messages: Option<PreparedMessages>,
    /// HTTP version of the load, unless no handshake could decide it.
    pub(crate) http: Option<HttpPlan>,
    /// Trace of the exchange, for `--debug`.
    pub(crate) trace: Option<ExchangeTrace>,
    /// The response, if it is traced and complete.
    pub(crate) kept: Option<KeptResponse>,
    /// True if the response is a stream of events: its head alone was read.
    pub(crate) has_events: bool,
    /// True if the response to a request without TLS has status 400 and names HTTPS or SSL: nginx,
    /// Apache and Go do so on a port for TLS.
    pub(super) blames_scheme: bool,
}

impl PreflightResult {
    /// Adds a step of the exchange that began at `started` to the trace, if there is one.
    pub(super) fn step(&mut self, name: &'static str, started: Nanos, now: Nanos) {
        if let Some(trace) = &mut self.trace {
            trace.step(name, started, now);
        }
    }

    /// Takes over what an exchange over HTTP has come to, and checks its response.
    pub(super) fn take(&mut self, load: &PreparedLoad, exchange: &SingleExchange) {
        let progress = exchange.progress();
        self.sent += u64::from(progress.is_sent);
        self.returned += u64::from(progress.is_returned);
        self.has_events = exchange.is_event_stream();
        let response = exchange.response().filter(|_| progress.is_complete);
        let is_traced = self.trace.is_some();
        self.kept = response.as_ref().filter(|_| is_traced).map(KeptResponse::of);
        let checked = load.responses.expectations.as_ref().zip(response.as_ref());
        let missed = checked.map(|(checks, response)| checks.check_first(response));
        self.checked = missed.map(|missed| missed.map_or(Ok(()), Err));
    }

    /// Returns the decisions of the server that the load depends on.
    pub(crate) fn facts(&self) -> ServerFacts {
        ServerFacts {
            http: self.http,
            body_bytes: self.response.as_ref().and_then(|response| response.body_bytes),
            messages: self.messages.clone(),
        }
    }
}

/// Describes the response of an exchange as far as it has come, until `now`.
///
/// # Errors
/// When its head is incomplete.
pub(super) fn describe(
    exchange: &SingleExchange,
    started: Nanos,
    now: Nanos,
) -> io::Result<Preflight> {
    let head = exchange.head();
    let head = head.ok_or_else(|| io::Error::other("the response head is incomplete"))?;
    let text = |name| head.header(name).map(|value| String::from_utf8_lossy(value).into());
    let ExchangeProgress { begun_ns, is_complete, .. } = exchange.progress();
    let begun = begun_ns.filter(|_| !is_complete && head.version == "HTTP/2");
    Ok(Preflight {
        status: head.status,
        http_version: if head.status == 101 { "WebSocket" } else { head.version }.to_owned(),
        server: text("server"),
        location: text("location"),
        body_bytes: exchange.body_bytes(),
        address: String::new(),
        elapsed_ns: begun.map_or(now, Nanos).since(started),
    })
}
