//! The use that a worker makes of responses beyond their status and times, which decides the parts
//! that its lane keeps.

use weir_http::Interest;
use weir_script::Calls;

use crate::job::Job;

/// The use of a worker's responses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseNeeds {
    /// Part of each response that the script reads; `None` if it reads none.
    pub(crate) shows: Option<Interest>,
    /// True if responses are checked against expectations, or for failed streams.
    pub(crate) checks: bool,
    /// Part of each response that is kept, for the script or for the expectations.
    pub(crate) keeps: Interest,
    /// True if responses are split into messages.
    pub(crate) messages: bool,
    /// True if the peer may send messages by itself.
    pub(crate) pushes: bool,
    /// True if the backend may discard bodies.
    pub(crate) discards: bool,
}

impl ResponseNeeds {
    /// Returns the needs of a worker of `job`, with the functions that its script has, if there is
    /// one. Requests are independent `streams` or not.
    pub(crate) fn new(job: &Job, script: Option<&Calls>, streams: bool) -> ResponseNeeds {
        let shows = script.and_then(shown);
        let steps = job.users().map(|users| users.scenarios.interest());
        let checks = job.responses.expectations.as_ref().map(|checks| checks.interest());
        let messages = job.responses.messages.as_ref().map(|_| Interest::Head);
        let splits = job.responses.messages.as_ref().is_some_and(|rules| rules.format.is_some());
        let keeps = shows.max(checks).max(messages).max(steps).unwrap_or_default();
        let is_read = shows.is_some() || keeps != Interest::Status;
        ResponseNeeds {
            shows,
            checks: checks.is_some() || splits,
            keeps,
            messages: messages.is_some(),
            pushes: job.plan.websocket().is_some(),
            discards: job.responses.discard && job.target.tls.is_none() && !is_read && !streams,
        }
    }

    /// True if bodies are kept.
    pub(crate) fn keep_bodies(&self) -> bool {
        self.keeps == Interest::Body
    }
}

/// Returns the part of each response that a script reads; `None` if it reads none.
fn shown(calls: &Calls) -> Option<Interest> {
    calls.response.map(|wants| match (wants.fields, wants.body) {
        (_, true) => Interest::Body,
        (true, false) => Interest::Head,
        (false, false) => Interest::Status,
    })
}
