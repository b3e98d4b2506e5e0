//! The walk of `--debug`: one user takes the steps of its scenario one after the other, without its
//! pauses, after those of the setup.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use weir_engine::{ListRows, RequestList, UserPlan};
use weir_http::Prepared;
use weir_requests::scenario::{ScenarioStep, StepTurn, UserDraws};
use weir_text::setting::DEBUG;
use weir_text::units;

use crate::before::preflight::ExchangeTrace;
use crate::lone_user::{KeptResponse, LoneRequest, LoneStep, LoneUser};
use crate::prepare::load::PreparedLoad;

/// An exchange of `--debug`, or a step that its user leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedStep {
    /// Name of the step; empty if the run has no steps.
    pub name: String,
    /// The exchange; `None` if the step is left out.
    pub exchange: Option<ExchangeTrace>,
    /// Remarks on what follows from the response, a line each.
    pub notes: Vec<String>,
}

/// An exchange that was traced.
#[derive(Clone, Debug)]
pub(crate) struct TracedExchange {
    /// The exchange, without secrets.
    pub(crate) trace: ExchangeTrace,
    /// Its response, if that is complete.
    pub(crate) response: Option<KeptResponse>,
}

/// The way of one user.
struct UserWalk<'a> {
    load: &'a PreparedLoad,
    list: &'a RequestList,
    plan: &'a Arc<UserPlan>,
    /// Sends the request of a load once.
    send: &'a mut dyn FnMut(&PreparedLoad) -> Result<TracedExchange>,
    steps: Vec<TracedStep>,
}

/// Has one user of the load take its steps: the first one, or that with the number `user`, from 1.
/// Without scenarios it is the row with this number, and the redirects that it follows. `None` if
/// the requests of the load are no users'.
///
/// # Errors
/// When there is no such user.
pub(crate) fn walk(
    load: &PreparedLoad,
    user: Option<u64>,
    send: &mut dyn FnMut(&PreparedLoad) -> Result<TracedExchange>,
) -> Result<Option<Vec<TracedStep>>> {
    let Some(list) = load.requests.list.as_deref() else { return Ok(None) };
    let Some(plan) = &list.users else { return Ok(None) };
    let index =
        user.unwrap_or(1).checked_sub(1).with_context(|| format!("{DEBUG} counts from 1"))?;
    let scenario = list.sequence.row(index).filter(|_| plan.has_scenarios).or_else(|| {
        let is_row = !plan.has_scenarios && index < plan.scenarios.all.len() as u64;
        is_row.then_some(index)
    });
    let noun = if plan.has_scenarios { "user" } else { "row" };
    let scenario = scenario.with_context(|| {
        let number = index + 1;
        format!("{DEBUG} {number}: there is no {noun} {number}")
    })?;
    let mut walk = UserWalk { load, list, plan, send, steps: Vec::new() };
    walk.take_all(scenario as usize, index)?;
    Ok(Some(walk.steps))
}

impl UserWalk<'_> {
    /// Takes the steps of the setup, and those of a scenario as the user with this number; ends
    /// with the first that fails.
    fn take_all(&mut self, scenario: usize, user: u64) -> Result<()> {
        let shared = match &self.load.setup {
            None => Vec::new(),
            Some(setup) => {
                let setup = Arc::clone(setup);
                let mut user = setup.user();
                for (turn, request) in setup.turns() {
                    let name = format!("setup: {}", request.name);
                    if !self.take(&mut user, &name, &request.step(), turn) {
                        return Ok(());
                    }
                }
                setup.values_of(&user)
            }
        };
        let draws = UserDraws { seed: self.list.seed, user };
        let table = self.list.table.as_ref();
        let row = table.map(|table| table.row(draws.seed, user, user).to_vec());
        let checks = self.load.responses.expectations.as_ref();
        let body_max_bytes = checks.map_or(0, |checks| checks.body_max_bytes());
        let mut own = LoneUser::new(self.plan, draws, row.unwrap_or_default(), body_max_bytes);
        own.memory.share(&shared);
        self.take_scenario(&mut own, scenario, draws)
    }

    fn take_scenario(
        &mut self,
        user: &mut LoneUser,
        scenario: usize,
        draws: UserDraws,
    ) -> Result<()> {
        let plan = Arc::clone(self.plan);
        let scenario = &plan.scenarios.all[scenario];
        let name = |step: &ScenarioStep| match scenario.name.is_empty() {
            true => step.name.clone(),
            false => format!("{}: {}", scenario.name, step.name),
        };
        let mut last = None;
        loop {
            let captured = &user.memory.captured;
            let next = scenario.next(last, draws, captured, |step| {
                let step = &scenario.steps[usize::from(step)];
                self.steps.push(TracedStep {
                    name: name(step),
                    notes: vec![left_out(step, &plan, captured)],
                    ..TracedStep::default()
                });
            });
            let Some(turn) = next else { return Ok(()) };
            let step = &scenario.steps[usize::from(turn.step)];
            let lone = lone_step(self.load, self.list, step).context("a step has no request")?;
            if !self.take(user, &name(step), &lone, turn) {
                return Ok(());
            }
            let pause_ns = scenario.think_ns(turn, draws);
            let pause = || format!("a pause of {}, skipped here", units::duration(pause_ns));
            self.note((pause_ns > 0).then(pause));
            last = Some(turn);
        }
    }

    /// Takes a step. Returns false if it fails, which the last exchange has as its problem then.
    fn take(
        &mut self,
        user: &mut LoneUser,
        name: &str,
        step: &LoneStep<'_>,
        turn: StepTurn,
    ) -> bool {
        let UserWalk { load, send, steps, .. } = self;
        let begin = steps.len();
        let taken = user.take(step, turn, &mut |LoneRequest { bytes, hops, .. }| {
            let load = load.with_request(Prepared::raw(bytes)?);
            let TracedExchange { mut trace, response } = send(&load)?;
            // The step has expectations of its own.
            let problem = trace.problem.take().filter(|_| response.is_none());
            let mark = if hops > 0 { " (redirect)" } else { "" };
            let name = format!("{name}{mark}").trim_start().to_owned();
            let exchange = Some(trace);
            steps.push(TracedStep { name, exchange, ..TracedStep::default() });
            let reason = || problem.unwrap_or_else(|| "no whole response".to_owned());
            response.ok_or_else(|| anyhow!(reason()))
        });
        let is_taken = taken.is_ok();
        if steps.len() == begin {
            let exchange = Some(ExchangeTrace::default());
            let name = name.to_owned();
            steps.push(TracedStep { name, exchange, ..TracedStep::default() });
        }
        match taken {
            Ok(()) => self.note(captured(step, self.plan)),
            Err(error) => {
                let last = steps.last_mut().and_then(|step| step.exchange.as_mut());
                let problem = Some(match name {
                    "" => format!("{error:#}"),
                    name => format!("step {name:?}: {error:#}"),
                });
                last.into_iter().for_each(|exchange| exchange.problem = problem.clone());
            }
        }
        self.hide(user);
        is_taken
    }

    /// Adds a note to the last exchange.
    fn note(&mut self, note: Option<String>) {
        self.steps.last_mut().into_iter().for_each(|step| step.notes.extend(note.clone()));
    }

    /// Takes the values of a user, which are secrets, out of all that was traced.
    fn hide(&mut self, user: &LoneUser) {
        for exchange in self.steps.iter_mut().filter_map(|step| step.exchange.as_mut()) {
            let ExchangeTrace { request, response, messages, problem, .. } = exchange;
            let messages = messages.iter_mut().map(|message| &mut message.text);
            for text in [request, response].into_iter().chain(messages).chain(problem) {
                user.memory.hide(&self.plan.scenarios.values, text);
            }
        }
    }
}

/// Returns a step of a scenario as a user alone takes it; `None` if it has no request.
fn lone_step<'a>(
    load: &'a PreparedLoad,
    list: &'a RequestList,
    step: &'a ScenarioStep,
) -> Option<LoneStep<'a>> {
    let ListRows::Prepared(rows) = &list.rows else { return None };
    let row = rows.get(usize::from(step.row))?;
    Some(LoneStep {
        template: row.template.as_ref()?,
        message: row.message.as_deref(),
        is_head: row.request.traits().head,
        expectations: load.responses.expectations.as_ref()?.of(step.row),
        captures: &step.captures,
        answer: step.answer.as_ref(),
    })
}

/// Names the values that a step has captured.
fn captured(step: &LoneStep<'_>, plan: &UserPlan) -> Option<String> {
    let names = step.captures.iter().map(|rule| plan.scenarios.values[rule.value].as_str());
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| format!("captured {}", names.join(", ")))
}

/// Says why a user with these values leaves a step out.
fn left_out(step: &ScenarioStep, plan: &UserPlan, captured: &[Option<Box<[u8]>>]) -> String {
    let Some(when) = step.when.as_ref().filter(|when| !when.is_met(captured)) else {
        return format!("left out: chance {}", step.chance);
    };
    let name = &plan.scenarios.values[when.value];
    match &when.equals {
        None => format!("left out: the user has no {name}"),
        Some(text) => format!("left out: {name} is not {text:?}"),
    }
}
