//! The requests of a setup, prepared: they are sent before the load, and all users share the values
//! that they capture.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use weir_engine::UserPlan;
use weir_requests::expect::Expectations;
use weir_requests::list::Template;
use weir_requests::scenario::{CaptureRule, Setup, StepTurn, UserDraws};

use super::request::{Common, RowPlace};
use super::rows;
use crate::lone_user::{LoneStep, LoneUser};
use crate::prepare::expect::ExpectationParser;

/// Greatest length of a response that is read, in bytes.
pub(crate) const SETUP_BODY_MAX_BYTES: usize = 1 << 20;

/// A setup, prepared.
#[derive(Clone, Debug)]
pub(crate) struct PreparedSetup {
    requests: Vec<SetupRequest>,
    /// Values that they capture, the first of those that the scenarios name.
    values: usize,
    /// Time after which it is made again, in nanoseconds; `None` for never.
    pub(crate) refresh_ns: Option<u64>,
    /// The users.
    users: Arc<UserPlan>,
    /// Seed of the random values of templates.
    seed: u64,
    /// First row of the table; empty without one.
    row: Vec<Box<[u8]>>,
}

/// A request of a setup.
#[derive(Clone, Debug)]
pub(crate) struct SetupRequest {
    pub(crate) name: String,
    template: Arc<Template>,
    /// True if its method is HEAD.
    is_head: bool,
    expectations: Arc<Expectations>,
    captures: Vec<CaptureRule>,
}

impl PreparedSetup {
    /// Returns the user who makes it once. Its random values are no user's of the load.
    pub(crate) fn user(&self) -> LoneUser {
        let draws = UserDraws { seed: !self.seed, user: 0 };
        LoneUser::new(&self.users, draws, self.row.clone(), SETUP_BODY_MAX_BYTES)
    }

    /// Returns the requests in order, each with its turn.
    pub(crate) fn turns(&self) -> impl Iterator<Item = (StepTurn, &SetupRequest)> {
        (0..).map(|step| StepTurn { step, visit: 0 }).zip(&self.requests)
    }

    /// Returns the values for all users, once `user` has made it.
    pub(crate) fn values_of(&self, user: &LoneUser) -> Vec<Box<[u8]>> {
        let captured = user.memory.captured[..self.values].iter();
        captured.map(|value| value.clone().unwrap_or_default()).collect()
    }

    /// Gives values to all users: each one's next request has them.
    pub(crate) fn share(&self, values: Vec<Box<[u8]>>) {
        self.users.shared.set(values);
    }
}

impl SetupRequest {
    /// Returns the step of the user who makes the setup.
    pub(crate) fn step(&self) -> LoneStep<'_> {
        LoneStep {
            template: &self.template,
            message: None,
            is_head: self.is_head,
            expectations: &self.expectations,
            captures: &self.captures,
            answer: None,
        }
    }
}

/// Prepares the setup of a list, whose rows have this place in messages, for its users; `None` if
/// there is none.
///
/// # Errors
/// When a request cannot be sent.
pub(super) fn prepare(
    setup: &Setup,
    place: &str,
    common: &Common,
    expectations: &ExpectationParser,
    users: &Option<Arc<UserPlan>>,
) -> Result<Option<Arc<PreparedSetup>>> {
    let Some(users) = users.as_ref().filter(|_| !setup.steps.is_empty()) else {
        return Ok(None);
    };
    let mut requests = Vec::new();
    for (row, captures) in &setup.steps {
        let at = |error: anyhow::Error| anyhow!("{}: {error:#}", rows::at(place, row.position));
        let marked = common.mark(row).map_err(at)?;
        let path = match common.place(&marked).map_err(at)? {
            RowPlace::Here(path) => path,
            RowPlace::Elsewhere(origin) => return Err(at(common.elsewhere(&origin))),
        };
        let request = common.request(marked, &path).map_err(at)?;
        let template = request.template.ok_or_else(|| at(anyhow!("it has no template")))?;
        requests.push(SetupRequest {
            name: row.name.clone().unwrap_or_default(),
            template,
            is_head: request.method == "HEAD",
            expectations: expectations.of_row(&row.expect).map_err(at)?,
            captures: captures.clone(),
        });
    }
    let numbers = requests.iter().flat_map(|request: &SetupRequest| &request.captures);
    let count = numbers.map(|rule| rule.value + 1).max().unwrap_or_default();
    let table = common.templates.table.as_ref();
    Ok(Some(Arc::new(PreparedSetup {
        values: count,
        requests,
        refresh_ns: setup.refresh_ns,
        users: Arc::clone(users),
        seed: common.spec.templates.seed,
        row: table.map(|rows| rows.table.row(0).to_vec()).unwrap_or_default(),
    })))
}
