//! One user: its place in its scenario, its times, its cookies and the values that it captured.

use weir_http::ReceivedResponse;
use weir_io::Nanos;
use weir_requests::expect::BodyDecoder;
use weir_requests::list::UserTexts;
use weir_requests::scenario::{
    AnsweredRequest, RedirectHop, ScenarioStep, SiteOrigin, StepTurn, UserDraws, UserMemory,
};
use weir_result::{MissKind, SlotPhase};

use super::UserMiss;
use crate::job::SharedValues;

/// A user. A worker keeps one for each seat, so its size bounds the memory of 100,000.
#[derive(Debug)]
pub(crate) struct User {
    pub(super) state: UserState,
    /// Index of its scenario.
    pub(super) scenario: u16,
    /// Phase in which it arrived.
    pub(super) phase: SlotPhase,
    /// The step that it takes next, or that is in flight.
    pub(super) turn: StepTurn,
    /// Kind of what the response to that step missed.
    pub(super) missed: Option<MissKind>,
    /// Its number and its random decisions.
    pub(crate) draws: UserDraws,
    /// Due time of its first step.
    pub(super) arrived_at: Nanos,
    /// True once its first request was sent.
    pub(super) has_sent: bool,
    /// Due time of the step in `turn`.
    pub(super) due_at: Nanos,
    /// Sum of the response times of its steps so far, in nanoseconds.
    pub(super) answered_ns: u64,
    /// First line of the request in flight.
    pub(super) line: Vec<u8>,
    /// Due time of the step, if `due_at` is that of a redirect.
    pub(super) step_due_at: Nanos,
    /// Redirects that the step has followed.
    pub(super) hops: u8,
    /// The redirect that the next request follows, or the one in flight.
    pub(super) hop: Option<RedirectHop>,
    /// True if the response to the request in flight was redirected.
    pub(super) is_redirected: bool,
    /// Version of the shared values that it has; `None` before the first.
    shared_version: Option<u32>,
    pub(crate) memory: UserMemory,
}

/// State of a seat and its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserState {
    /// The seat is free.
    Absent,
    /// It thinks, or its next step is due.
    Waiting,
    /// Its next step is due, and its connection cannot take a request.
    Blocked,
    /// Its request is in flight, or waits to be sent again.
    OnWire,
    /// It has ended, and begins again after a pause.
    Resting,
}

impl User {
    /// Returns a free seat, for a user of scenarios with this number of values.
    pub(super) fn absent(values: usize) -> User {
        User {
            state: UserState::Absent,
            scenario: 0,
            phase: SlotPhase::Tail,
            turn: StepTurn::default(),
            missed: None,
            draws: UserDraws { seed: 0, user: 0 },
            arrived_at: Nanos::MAX,
            has_sent: false,
            due_at: Nanos::MAX,
            answered_ns: 0,
            line: Vec::new(),
            step_due_at: Nanos::MAX,
            hops: 0,
            hop: None,
            is_redirected: false,
            shared_version: None,
            memory: UserMemory::new(values),
        }
    }

    /// Returns the due time of its step, also while it follows a redirect.
    pub(crate) fn step_due_at(&self) -> Nanos {
        self.step_due_at
    }

    /// Returns the values of the fields of its requests, with these cookies.
    pub(crate) fn texts<'a>(&'a self, cookies: &'a [u8]) -> UserTexts<'a> {
        self.memory.texts(self.draws, cookies)
    }

    /// Takes the values that all users share, unless it has these.
    pub(super) fn renew(&mut self, shared: &SharedValues) {
        let version = shared.version();
        if self.shared_version.replace(version) != Some(version) {
            self.memory.share(&shared.get());
        }
    }

    /// Keeps the first line of a request.
    pub(super) fn note_line(&mut self, request: &[u8]) {
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        self.line.clear();
        self.line.extend_from_slice(line);
    }

    /// Keeps the values of a response that a step captures, and the answer to its message.
    ///
    /// # Errors
    /// If one is missing.
    pub(super) fn keep_values(
        &mut self,
        step: &ScenarioStep,
        origin: &SiteOrigin,
        response: &ReceivedResponse<'_>,
        decoder: &mut BodyDecoder,
    ) -> Result<(), UserMiss> {
        let ScenarioStep { captures, answer, .. } = step;
        let request = AnsweredRequest { line: &self.line, origin };
        let kept = self.memory.keep_values(captures, answer.as_ref(), request, response, decoder);
        kept.map_err(UserMiss::of_value)
    }

    /// Begins a new user on the seat: nothing of the one before is left.
    pub(super) fn begin(
        &mut self,
        scenario: u16,
        draws: UserDraws,
        arrived_at: Nanos,
        phase: SlotPhase,
    ) {
        self.memory.clear();
        self.shared_version = None;
        self.scenario = scenario;
        self.phase = phase;
        self.missed = None;
        self.draws = draws;
        self.arrived_at = arrived_at;
        self.has_sent = false;
        self.answered_ns = 0;
    }
}
