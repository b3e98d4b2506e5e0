//! The users of scenarios: their names, their order, and how many of them connections carry.

use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use weir_engine::{ListedRequest, UserPlan};
use weir_requests::list::{Order, Sequence};
use weir_requests::scenario::{Scenario, ScenarioStep, Scenarios, SiteOrigin};
use weir_result::{ConnectionLoad, ScenarioPlan, StepPlan, UsersPlan};
use weir_text::setting::SCENARIO;

use super::weights::{WITH_INTERVALS_MAX, heaviest};
use crate::spec::RunSpec;
use crate::spec::url::Url;

/// Adds the names of redirected requests, if redirects are followed, and of the scenarios to those
/// of the requests of a list. Returns those with slices: the scenarios', and those of requests with
/// the greatest weights.
///
/// # Errors
/// When a scenario has the name of a step.
pub(super) fn add_names(
    scenarios: Option<&Scenarios>,
    spec: &RunSpec,
    requests: &[ListedRequest],
    weights: &[u32],
    names: &mut Vec<String>,
) -> Result<Vec<u16>> {
    let rows = names.len();
    if spec.request.redirects > 0 {
        names.extend_from_within(..);
        names[rows..].iter_mut().for_each(|name| *name += " (redirect)");
    }
    let Some(scenarios) = scenarios else {
        return Ok(heaviest(requests, weights, rows, WITH_INTERVALS_MAX));
    };
    let first = names.len() as u16;
    for Scenario { name, .. } in counted(scenarios) {
        ensure!(!names.contains(name), "a scenario and a step are named {name:?}: rename one");
    }
    names.extend(counted(scenarios).map(|scenario| scenario.name.clone()));
    let weight = |scenario: &Scenario, step: &ScenarioStep| {
        let turns = f64::from(scenario.weight) * f64::from(step.repeat) * step.chance;
        (turns * 1_000.0).min(f64::from(u32::MAX)) as u32
    };
    let mut weights = vec![0; requests.len()];
    for scenario in &scenarios.all {
        for step in &scenario.steps {
            weights[usize::from(step.row)] = weight(scenario, step);
        }
    }
    let own = scenarios.counted().min(WITH_INTERVALS_MAX);
    let mut with_slices = heaviest(requests, &weights, rows, WITH_INTERVALS_MAX - own);
    with_slices.extend((first..).take(own));
    Ok(with_slices)
}

/// Returns one scenario for each row of a list, of nothing but its request.
pub(super) fn of_rows(rows: usize) -> Scenarios {
    let step = |row: usize| ScenarioStep {
        row: row as u16, // There are fewer rows than 2^16.
        repeat: 1,
        chance: 1.0,
        ..ScenarioStep::default()
    };
    let scenario = |row| Scenario { weight: 1, steps: vec![step(row)], ..Scenario::default() };
    Scenarios { all: (0..rows).map(scenario).collect(), ..Scenarios::default() }
}

/// Returns the order in which users of the scenarios arrive.
///
/// # Errors
/// When their weights have none.
pub(super) fn sequence(scenarios: &Scenarios, order: Order) -> Result<Sequence> {
    let weights: Vec<u32> = scenarios.all.iter().map(|scenario| scenario.weight).collect();
    let sequence = Sequence::weighted(order, &weights);
    sequence.map_err(|error| anyhow!("{SCENARIO}: {error}"))
}

/// Returns the plan of the users.
pub(super) fn plan(spec: &RunSpec, scenarios: &Scenarios) -> UsersPlan {
    let step = |step: &ScenarioStep| StepPlan {
        name: step.name.clone(),
        turns: step.repeat,
        think_mean_ns: step.think.mean_ns(),
    };
    let scenario = |scenario: &Scenario| ScenarioPlan {
        name: scenario.name.clone(),
        weight: scenario.weight,
        steps: scenario.steps.iter().map(step).collect(),
    };
    UsersPlan { at_a_time: at_a_time(spec), scenarios: counted(scenarios).map(scenario).collect() }
}

/// Returns the scenarios as they count: of sessions the longest for all.
fn counted(scenarios: &Scenarios) -> impl Iterator<Item = &Scenario> {
    let are_sessions = scenarios.are_sessions;
    // The last one of those with most turns.
    let longest = scenarios.all.iter().max_by_key(|session| session.steps.len());
    let sessions = longest.into_iter().filter(move |_| are_sessions);
    sessions.chain(scenarios.all.iter().filter(move |_| !are_sessions))
}

/// Returns the users for the engine, with the cookies and redirects of the server of `url`.
pub(super) fn of(spec: &RunSpec, url: &Url, scenarios: Scenarios, has_scenarios: bool) -> UserPlan {
    // Without scenarios each stream has a request at a time.
    let streams = u32::from(spec.http.streams.unwrap_or(1));
    UserPlan {
        scenarios,
        users: if has_scenarios {
            at_a_time(spec)
        } else {
            at_a_time(spec).saturating_mul(streams)
        },
        origin: SiteOrigin {
            host: url.host.to_lowercase(),
            port: url.port(),
            is_secure: url.is_secure,
        },
        shared: Arc::default(),
        redirects: spec.request.redirects,
        has_scenarios,
    }
}

/// Returns the greatest number of users at a time.
fn at_a_time(spec: &RunSpec) -> u32 {
    spec.load.connections.most()
}

/// Returns a specification whose number of connections is that of sockets: with several streams on
/// each, so many users share one. Without users it is the same.
pub(crate) fn on_streams(spec: &RunSpec, has_users: bool) -> RunSpec {
    let mut on_wire = spec.clone();
    let streams = u32::from(spec.http.streams.unwrap_or(1).max(1));
    if has_users && streams > 1 {
        match &mut on_wire.load.connections {
            ConnectionLoad::Fixed(count) => *count = count.div_ceil(streams),
            ConnectionLoad::Growing { first, most } => {
                *first = first.div_ceil(streams);
                *most = most.div_ceil(streams);
            }
            // Refused by the checks of the specification.
            ConnectionLoad::Stages(_) => {}
        }
    }
    on_wire
}
