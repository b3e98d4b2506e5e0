//! The users of scenarios: their names, their order, and how many of them connections carry.

use anyhow::{Result, anyhow};
use weir_engine::{ListedRequest, UserPlan};
use weir_requests::list::{Order, Sequence};
use weir_requests::scenario::{Scenario, ScenarioStep, Scenarios, SiteOrigin};
use weir_result::{ConnectionLoad, ScenarioPlan, StepPlan, UsersPlan};
use weir_text::setting::SCENARIO;

use super::weights::{WITH_INTERVALS_MAX, heaviest};
use crate::spec::url::Url;
use crate::spec::{ListSpec, RunSpec};

/// Adds the names of the scenarios to those of the requests. Returns those with slices: the
/// scenarios', and of the steps those that most users take.
pub(super) fn add_names(
    scenarios: &Scenarios,
    requests: &[ListedRequest],
    names: &mut Vec<String>,
) -> Vec<u16> {
    let steps = names.len();
    names.extend(scenarios.all.iter().map(|scenario| scenario.name.clone()));
    let weight = |scenario: &Scenario, step: &ScenarioStep| {
        let turns = f64::from(scenario.weight) * f64::from(step.repeat) * step.chance;
        (turns * 1_000.0).min(f64::from(u32::MAX)) as u32
    };
    let of_steps = scenarios
        .all
        .iter()
        .flat_map(|scenario| scenario.steps.iter().map(move |step| weight(scenario, step)));
    let weights: Vec<u32> = of_steps.collect();
    let own = scenarios.all.len().min(WITH_INTERVALS_MAX);
    let mut with_slices = heaviest(requests, &weights, steps, WITH_INTERVALS_MAX - own);
    with_slices.extend((steps as u16..).take(own));
    with_slices
}

/// Returns the order in which users of the scenarios arrive.
///
/// # Errors
/// When their weights have none.
pub(super) fn sequence(scenarios: &Scenarios) -> Result<Sequence> {
    let weights: Vec<u32> = scenarios.all.iter().map(|scenario| scenario.weight).collect();
    let sequence = Sequence::weighted(Order::Sequential, &weights);
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
    UsersPlan {
        at_a_time: at_a_time(spec),
        scenarios: scenarios.all.iter().map(scenario).collect(),
    }
}

/// Returns the users for the engine, with the cookies of the server of `url`.
pub(super) fn of(spec: &RunSpec, url: &Url, scenarios: Scenarios) -> UserPlan {
    UserPlan {
        scenarios,
        users: at_a_time(spec),
        origin: SiteOrigin { host: url.host.to_lowercase(), is_secure: url.is_secure },
    }
}

/// Returns the greatest number of users at a time.
fn at_a_time(spec: &RunSpec) -> u32 {
    spec.load.connections.most()
}

/// Returns a specification whose number of connections is that of sockets: with several streams on
/// each, so many users share one. Without scenarios it is the same.
pub(crate) fn on_streams(spec: &RunSpec) -> RunSpec {
    let mut on_wire = spec.clone();
    let streams = u32::from(spec.http.streams.unwrap_or(1).max(1));
    let is_scenario = spec.list.as_ref().is_some_and(ListSpec::has_users);
    if is_scenario && streams > 1 {
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
