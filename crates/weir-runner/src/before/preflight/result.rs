//! The result of the preflight.

use weir_engine::{Job, ObserverFactory};
use weir_http::{BodyBudget, Interest};
use weir_io::Nanos;
use weir_result::document::Preflight;
use weir_result::{HttpPlan, MissExample, Note};

use super::trace::{ExchangeTrace, KEPT_BYTES};
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

    /// Returns the part of the response that is kept, and its memory: all of it for a trace, else
    /// the part that is checked.
    pub(super) fn interest(
        &self,
        checked: Interest,
        budget: &BodyBudget,
    ) -> (Interest, BodyBudget) {
        match self.trace {
            Some(_) => (Interest::Body, BodyBudget::new(KEPT_BYTES)),
            None => (checked, budget.clone()),
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
