//! The result of the preflight.

use std::io;

use weir_engine::{Job, ObserverFactory};
use weir_http::Http1;
use weir_io::Nanos;
use weir_result::document::Preflight;
use weir_result::{HttpPlan, MissExample, Note};

use super::trace::ExchangeTrace;
use crate::prepare::draft::Draft;
use crate::prepare::messages::PreparedMessages;

/// Maximum bytes of a response that are read. The length of a longer body is in the head, or not
/// needed.
pub(super) const READ_MAX_BYTES: usize = 1 << 20;

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

    /// Returns the job of a draft with the server's choices.
    pub(crate) fn job(&self, draft: &Draft, observers: Vec<ObserverFactory>) -> Job {
        // Without a connection the load reports its failure, with either version.
        let http = self.http.or(draft.plan.http).unwrap_or(HttpPlan::Http11);
        let body_bytes = self.response.as_ref().and_then(|response| response.body_bytes);
        let job = draft.job(draft.is_open().then_some(http), body_bytes, observers);
        match self.messages.clone() {
            Some(messages) => messages.added_to(job),
            None => job,
        }
    }
}

/// Describes the final response head among the received bytes.
pub(super) fn describe(
    received: &[u8],
    body_bytes: Option<u64>,
    protocol: &Http1,
    elapsed_ns: u64,
) -> io::Result<Preflight> {
    let mut rest = received;
    while let Some(head) = weir_http::read_head(rest).map_err(io::Error::other)? {
        if (100..200).contains(&head.status) {
            rest = &rest[head.bytes..];
            continue;
        }
        let text = |name| head.header(name).map(|value| String::from_utf8_lossy(value).into());
        let unread = protocol.discardable();
        return Ok(Preflight {
            status: head.status,
            http_version: head.version.to_owned(),
            server: text("server"),
            location: text("location"),
            // The length of a body that is too long to read is in the head.
            body_bytes: body_bytes.or_else(|| {
                let is_known = (1..u64::MAX).contains(&unread);
                is_known.then(|| unread + (rest.len() - head.bytes) as u64)
            }),
            address: String::new(),
            elapsed_ns,
        });
    }
    Err(io::Error::other("the response head is incomplete"))
}
