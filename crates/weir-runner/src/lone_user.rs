//! A user outside of the load, who takes steps one after the other: those of a setup, and those
//! that `--debug` shows. In the load the engine has the users.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use weir_engine::UserPlan;
use weir_http::ReceivedResponse;
use weir_machine::sys;
use weir_requests::expect::{BodyDecoder, Expectations, FirstBodies};
use weir_requests::list::{Template, Values};
use weir_requests::scenario::{
    AnsweredRequest, CaptureRule, MissingValue, Redirect, RedirectHop, StepTurn, UserDraws,
    UserMemory, ValueSource, path_of,
};
use weir_text::setting::REDIRECTS;

/// A user.
#[derive(Debug)]
pub(crate) struct LoneUser {
    plan: Arc<UserPlan>,
    draws: UserDraws,
    /// Its row of the table; empty without one.
    row: Vec<Box<[u8]>>,
    /// Greatest length of a body that it reads, in bytes.
    body_max_bytes: usize,
    pub(crate) memory: UserMemory,
}

/// A step that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoneStep<'a> {
    pub(crate) template: &'a Template,
    /// Messages that it adds to the conversation.
    pub(crate) message: Option<&'a Template>,
    /// True if its method is HEAD.
    pub(crate) is_head: bool,
    pub(crate) expectations: &'a Expectations,
    pub(crate) captures: &'a [CaptureRule],
    /// Place of the model's answer.
    pub(crate) answer: Option<&'a ValueSource>,
}

/// A request of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoneRequest<'a> {
    /// The bytes of an HTTP/1 request.
    pub(crate) bytes: &'a [u8],
    /// True if its method is HEAD.
    pub(crate) is_head: bool,
    /// Redirects that it has followed.
    pub(crate) hops: u8,
}

/// A response that outlives its exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptResponse {
    status: u16,
    head: Vec<u8>,
    body: Vec<u8>,
    is_cut: bool,
}

impl KeptResponse {
    /// Returns a copy of a response.
    pub(crate) fn of(response: &ReceivedResponse<'_>) -> KeptResponse {
        let ReceivedResponse { status, head, body, is_cut, .. } = *response;
        KeptResponse { status, head: head.to_vec(), body: body.to_vec(), is_cut }
    }

    fn received(&self) -> ReceivedResponse<'_> {
        let KeptResponse { status, head, body, is_cut } = self;
        ReceivedResponse { head, body, is_cut: *is_cut, ..ReceivedResponse::of_status(*status) }
    }
}

impl LoneUser {
    /// Returns a user with these decisions and this row of the table, who has taken no step, and
    /// reads bodies up to `body_max_bytes`.
    pub(crate) fn new(
        plan: &Arc<UserPlan>,
        draws: UserDraws,
        row: Vec<Box<[u8]>>,
        body_max_bytes: usize,
    ) -> LoneUser {
        let memory = UserMemory::new(plan.scenarios.values.len());
        LoneUser { plan: Arc::clone(plan), draws, row, body_max_bytes, memory }
    }

    /// Takes a step: has its request sent, follows its redirects, and keeps the cookies and values
    /// of the responses.
    ///
    /// # Errors
    /// Those of `send`, and when a response is another one than the step expects, or lacks a value.
    pub(crate) fn take(
        &mut self,
        step: &LoneStep<'_>,
        turn: StepTurn,
        send: &mut dyn FnMut(LoneRequest<'_>) -> Result<KeptResponse>,
    ) -> Result<()> {
        let UserPlan { origin, redirects, has_scenarios, .. } = &*Arc::clone(&self.plan);
        let LoneStep { is_head, .. } = *step;
        if let Some(message) = step.message {
            let values = values(self.draws, turn, &self.row);
            self.memory.add_message(message, self.draws, values);
        }
        let plain = self.rendered(step, turn, &[]);
        let mut hop: Option<RedirectHop> = None;
        let mut hops = 0;
        loop {
            let now_ns = sys::realtime_ns();
            let mut cookies = Vec::new();
            let path = hop.as_ref().map_or_else(|| path_of(&plain), RedirectHop::path);
            self.memory.jar.write(path, origin.is_secure, now_ns, &mut cookies);
            let mut bytes = Vec::new();
            match &hop {
                None => bytes = self.rendered(step, turn, &cookies),
                Some(hop) => hop.write(&plain, &cookies, &mut bytes),
            }
            let kept = send(LoneRequest { bytes: &bytes, is_head, hops })?;
            let response = kept.received();
            if *has_scenarios {
                self.memory.keep_cookies(&response, path_of(&bytes), origin, now_ns);
            }
            let redirect = Redirect::of(&response, &bytes, hop.as_ref(), origin);
            match redirect.filter(|_| *redirects > 0) {
                None => {
                    return self.read(step, AnsweredRequest { line: &bytes, origin }, &response);
                }
                Some(Redirect::Here(next)) if hops < *redirects => hop = Some(next),
                Some(Redirect::Here(_)) => bail!("it has more redirects ({REDIRECTS})"),
                Some(Redirect::Elsewhere(_)) => bail!("it redirects to another origin"),
            }
            hops += 1;
        }
    }

    /// Returns the bytes of a step's request with these cookies.
    fn rendered(&self, step: &LoneStep<'_>, turn: StepTurn, cookies: &[u8]) -> Vec<u8> {
        let texts = self.memory.texts(self.draws, cookies);
        let mut bytes = Vec::new();
        let values = values(self.draws, turn, &self.row);
        step.template.render(Values { user: Some(&texts), ..values }, &mut bytes);
        bytes
    }

    /// Checks the response to a step, and keeps the values that it captures.
    fn read(
        &mut self,
        step: &LoneStep<'_>,
        request: AnsweredRequest<'_>,
        response: &ReceivedResponse<'_>,
    ) -> Result<()> {
        let LoneStep { expectations, captures, answer, .. } = *step;
        let mut decoder = BodyDecoder::new(self.body_max_bytes);
        let first = FirstBodies::new(1);
        if let Err(miss) = expectations.check(response, &mut decoder, &first, 0) {
            let example = expectations.example(miss, response, &mut decoder);
            bail!("status {}, expected {}", example.status, example.expected);
        }
        let kept = self.memory.keep_values(captures, answer, request, response, &mut decoder);
        kept.map_err(|MissingValue { why, source }| {
            anyhow!("status {}, expected {source}, found {why}", response.status)
        })
    }
}

/// Returns the values of the fields that are not of users, in the request of a turn.
fn values(draws: UserDraws, turn: StepTurn, row: &[Box<[u8]>]) -> Values<'_> {
    Values { seed: draws.seed_of(turn), index: draws.user, row, user: None }
}
